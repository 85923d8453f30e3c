"""The public constructors of selectors. They check their arguments; the classes are in `selector.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ramet._select.criteria import freeze_settings
from ramet._select.selector import (
    Anything,
    Feeds,
    Named,
    Nth,
    OfClass,
    Reads,
    Selector,
    Where,
    WithConfig,
    as_selector,
)
from ramet.errors import ArgumentError, shown


def anything() -> Selector:
    """Select every op of a model, at every level: inputs, layers, nested models, and what is inside them.

    Returns:
        A `ramet.Selector`.

    >>> import keras, ramet
    >>> block = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(3, name="a")], name="block")
    >>> model = keras.Sequential([keras.Input((4,), name="y"), block])
    >>> ramet.select(model, ramet.anything()).paths
    ('y', 'block', 'block/x', 'block/a')
    """
    return Anything()


def named(*globs: str) -> Selector:
    """Select the ops with a path that matches one of the globs: `named("encoder/*/query")`.

    In a glob, `*` matches any text, including `/`, `?` matches one character and `[ab]` one of these; case matters. A
    glob without `/` is compared with the last part of the path, the op's own name, at any depth. A shared op is found
    by any of its paths. A full path always finds the op at that path, whatever characters it contains. Wherever a
    selector is expected, a string is short for `named`.

    Args:
        *globs: Globs over paths, at least one.

    Returns:
        A `ramet.Selector`.

    Raises:
        ArgumentError: There is no glob, or one is not a string or is empty.

    >>> import keras, ramet
    >>> block = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(3, name="query")], name="block")
    >>> model = keras.Sequential([keras.Input((4,), name="y"), block, keras.layers.Dense(2, name="head")])
    >>> ramet.select(model, ramet.named("query", "head")).paths
    ('block/query', 'head')
    >>> ramet.select(model, ramet.named("block/*")).paths
    ('block/x', 'block/query')
    """
    _require_any("named", globs, 'named("block4*")')
    given: tuple[object, ...] = globs  # users pass anything
    for glob in given:
        if not isinstance(glob, str) or not glob:
            reason = "it is not a string" if not isinstance(glob, str) else "it is empty"
            raise ArgumentError(
                f"Cannot select by the name {shown(glob)}: {reason}.",
                expected="globs over paths, such as 'encoder/*' or 'conv?'",
                fix='write named("...") with a name; to select every op, write anything().',
            )
    return Named(globs)


def of_class(*classes: type | str) -> Selector:
    """Select the ops of one of these classes or their subclasses: `of_class(keras.layers.Conv2D)`, `of_class("Conv2D")`.

    A model read from a file does not record base classes: there, only ops of the class itself are found. Wherever a
    selector is expected, a class is short for `of_class`.

    Args:
        *classes: Classes, at least one. A string is the name of a class, `module.Name`, or the name that a class is
            registered by, `package>Name`.

    Returns:
        A `ramet.Selector`.

    Raises:
        ArgumentError: There is no class, or an argument is neither a class nor the name of one.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.ReLU(name="b")])
    >>> ramet.select(model, ramet.of_class(keras.layers.Dense)).paths
    ('a',)
    >>> ramet.select(model, ramet.of_class("Dense", "ReLU")).paths
    ('a', 'b')
    """
    _require_any("of_class", classes, "of_class(keras.layers.Dense)")
    given: tuple[object, ...] = classes  # users pass anything
    for item in given:
        if not isinstance(item, type | str) or not item:
            raise ArgumentError(
                f"Cannot select by the class {_describe(item)}: it is neither a class nor the name of one.",
                expected="classes or names, as separate arguments",
                fix="pass a class, not a function that creates layers (keras.layers.InputLayer for keras.Input).",
            )
    return OfClass(classes)


def where(predicate: Callable[[Any], object]) -> Selector:
    """Select the ops for which the predicate returns true: `where(lambda op: op.trainable)`.

    Args:
        predicate: A function of one argument: the live layer or operation; in a model read from a file, the `ramet.Op`
            that describes it.

    Returns:
        A `ramet.Selector`. A recipe cannot store it.

    Raises:
        ArgumentError: The predicate is not a function.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.ReLU(name="b")])
    >>> ramet.select(model, ramet.where(lambda op: getattr(op, "units", 0) > 2)).paths
    ('a',)
    """
    given: object = predicate
    if not callable(given) or isinstance(given, Selector):
        raise ArgumentError(
            f"Cannot select by {_describe(predicate)}: it is not a function.",
            fix="pass a function of one argument: where(lambda op: ...).",
        )
    return Where(predicate)


def with_config(settings: Mapping[str, object] | None = None, /, **named: object) -> Selector:
    """Select the ops whose config contains all of these settings: `with_config(units=64, activation="relu")`.

    Lists equal tuples, and 1 equals 1.0. A string also matches a function, an object or a dtype policy with this name,
    however Keras stores it: `with_config(kernel_regularizer="l2", dtype="mixed_bfloat16")`. An object is compared by
    its class and config.

    Args:
        settings: Settings as a dict; a key with dots reaches into nested configs: `{"layer.units": 3}`.
        **named: Settings by name.

    Returns:
        A `ramet.Selector`.

    Raises:
        ArgumentError: There is no setting, or `settings` is not a dict with strings as keys.

    >>> import keras, ramet
    >>> layers = [keras.layers.Dense(3, activation="relu", name="a"), keras.layers.Dense(3, name="b")]
    >>> model = keras.Sequential([keras.Input((4,)), *layers])
    >>> ramet.select(model, ramet.with_config(units=3)).paths
    ('a', 'b')
    >>> ramet.select(model, ramet.with_config(units=3, activation="relu")).paths
    ('a',)
    """
    given: object = settings
    if given is not None and not (isinstance(given, Mapping) and all(isinstance(key, str) for key in given)):
        raise ArgumentError(
            f"Cannot select by the config {_describe(settings)}: it is not a dict of settings by name.",
            fix='write with_config(units=64), or with_config({"layer.units": 64}).',
        )
    together = {**(settings or {}), **named}
    _require_any("with_config", together, "with_config(units=64)")
    return WithConfig(freeze_settings(together))


def nth(*numbers: int) -> Selector:
    """Select ops by position, counted from 0 in the model's order, or from its end with -1.

    It counts the matches of the selector to its left in an `&`: `of_class("Dense") & nth(-1)` is the last `Dense`. On
    its own it counts all ops. A position beyond the end matches nothing.

    Args:
        *numbers: Positions, at least one.

    Returns:
        A `ramet.Selector`.

    Raises:
        ArgumentError: There is no position, or one is not an integer.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), *(keras.layers.Dense(3, name=name) for name in "abc")])
    >>> ramet.select(model, ramet.of_class("Dense") & ramet.nth(0, -1)).paths
    ('a', 'c')
    """
    _require_any("nth", numbers, "nth(0)")
    given: tuple[object, ...] = numbers  # users pass anything
    for number in given:
        if not isinstance(number, int) or isinstance(number, bool):
            raise ArgumentError(
                f"Cannot select by the position {_describe(number)}: it is not an integer.",
                fix="write nth(0) for the first, nth(-1) for the last, nth(0, 2) for several.",
            )
    return Nth(numbers)


def reads(selector: object) -> Selector:
    """Select the ops that use a value of an op that matches: the ops right after it.

    A value that is passed to a nested model is used by the model, by its input, and by the ops inside that use the
    input. An explicit mask counts as a value; a mask that Keras found by itself does not. The ops inside a layer or a
    subclassed model have no calls, so they have no neighbors.

    Args:
        selector: A selector, a glob over paths, a class, a layer of the model, or a list of these.

    Returns:
        A `ramet.Selector`.

    Raises:
        ArgumentError: `selector` is none of these.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.ReLU(name="b")])
    >>> ramet.select(model, ramet.reads("a")).paths
    ('b',)
    """
    return Reads((as_selector(selector),))


def feeds(selector: object) -> Selector:
    """Select the ops whose value is used by an op that matches: the ops right before it.

    The output of a nested model is produced by the model and by the op inside that computes it. Otherwise like
    `ramet.reads`.

    Args:
        selector: A selector, a glob over paths, a class, a layer of the model, or a list of these.

    Returns:
        A `ramet.Selector`.

    Raises:
        ArgumentError: `selector` is none of these.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.ReLU(name="b")])
    >>> ramet.select(model, ramet.feeds(keras.layers.ReLU)).paths
    ('a',)
    """
    return Feeds((as_selector(selector),))


def _require_any(name: str, given: object, example: str) -> None:
    if not given:
        raise ArgumentError(
            f"Cannot make a selector with {name}(): it needs at least one argument.",
            fix=f"write {example}; to select every op, write anything().",
        )


def _describe(thing: object) -> str:
    """Return a short description of an argument, never a dump."""
    if isinstance(thing, str | int | float | None):
        return repr(thing)
    return getattr(thing, "__qualname__", None) or f"an object of class {type(thing).__qualname__}"
