"""The constructors of selectors: what a user writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ramet._select.convert import as_selector
from ramet._select.kind import Anything, Feeds, Named, Nth, OfClass, Reads, Where, WithConfig
from ramet._select.selector import Selector
from ramet._select.setting import freeze_settings
from ramet.errors import ArgumentError, shown

__all__ = ["anything", "feeds", "named", "nth", "of_class", "reads", "where", "with_config"]


def anything() -> Selector:
    """Every op of a model, at every level."""
    return Anything()


def named(*globs: str) -> Selector:
    """The ops whose path one of the globs matches: `named("encoder/*/query")`.

    `*` stands for any text, across `/` too, `?` for one character, `[ab]` for one of these; upper and lower case differ.
    A glob without `/` is compared with the last part of the path, the op's own name, at any depth. A shared op may be
    meant by any of its paths, and a path written out always means the op that stands there, whatever characters are in it.
    """
    _at_least_one("named", globs, 'named("block4*")')
    for glob in _as_passed(globs):
        if not isinstance(glob, str) or not glob:
            raise ArgumentError(
                f"Cannot select by the name {shown(glob)}: it is {'not a string' if not isinstance(glob, str) else 'empty'}.",
                expected="globs over paths, such as 'encoder/*' or 'conv?'",
                fix='write named("...") with a name; for every op, anything().',
            )
    return Named(globs)


def of_class(*classes: type | str) -> Selector:
    """The ops of one of these classes or of their subclasses: `of_class(keras.layers.Conv2D)`, `of_class("Conv2D")`.

    A string is the name of a class, `module.Name`, or the name it is registered by, `package>Name`. In a model read from
    a file nothing is known of subclasses: there, only the class itself is found.
    """
    _at_least_one("of_class", classes, "of_class(keras.layers.Dense)")
    for item in _as_passed(classes):
        if not isinstance(item, type | str) or not item:
            raise ArgumentError(
                f"Cannot select by the class {_shown(item)}: it is neither a class nor the name of one.",
                expected="classes or names, one by one",
                fix="pass a class; a function that makes layers is none (for keras.Input it is keras.layers.InputLayer).",
            )
    return OfClass(classes)


def where(predicate: Callable[[Any], object]) -> Selector:
    """The ops of which the predicate holds: `where(lambda op: op.trainable)`.

    It is called with the live layer or operation; in a model read from a file, with the `Op` that describes it.
    """
    given: object = predicate
    if not callable(given) or isinstance(given, Selector):
        raise ArgumentError(
            f"Cannot select by {_shown(predicate)}: it cannot be called with an op.",
            fix="pass a function of one argument, where(lambda op: ...).",
        )
    return Where(predicate)


def with_config(settings: Mapping[str, object] | None = None, /, **named: object) -> Selector:
    """The ops whose config has all of these settings: `with_config(units=64, activation="relu")`.

    Lists and tuples are alike, 1 and 1.0, too. A string also means a function, an object or a dtype policy by its name,
    whichever way Keras writes it down: `with_config(kernel_regularizer="l2", dtype="mixed_bfloat16")`. An object is compared
    by its class and config.

    Args:
        settings: The same as a dict; a key with dots reaches into what an op is made with: `{"layer.units": 3}`.
        named: Settings by name.
    """
    given: object = settings
    if given is not None and not (isinstance(given, Mapping) and all(isinstance(key, str) for key in given)):
        raise ArgumentError(
            f"Cannot select by the config {_shown(settings)}: it is no dict of settings by name.",
            fix='write with_config(units=64), or with_config({"layer.units": 64}).',
        )
    together = {**(settings or {}), **named}
    _at_least_one("with_config", together, "with_config(units=64)")
    return WithConfig(freeze_settings(together))


def nth(*numbers: int) -> Selector:
    """The ops with these numbers, counted from 0 in the model's order, or from its end with -1.

    Counted is what stands to the left of it in an `&`: `of_class("Dense") & nth(-1)` is the last `Dense`. On its own it
    counts all ops. A number that is not reached matches nothing.
    """
    _at_least_one("nth", numbers, "nth(0)")
    for number in _as_passed(numbers):
        if not isinstance(number, int) or isinstance(number, bool):
            raise ArgumentError(
                f"Cannot count to {_shown(number)}: it is not a whole number.",
                fix="write nth(0) for the first, nth(-1) for the last, nth(0, 2) for several.",
            )
    return Nth(numbers)


def reads(selector: object) -> Selector:
    """The ops that take a value of an op that matches: what comes right after it.

    A value that goes into a nested model is taken by the model, by its input, and by the ops inside that take the input.
    An explicit mask is a value like any other; one that Keras found by itself is none. What is inside a layer or a
    subclassed model has no calls, so no neighbours.
    """
    return Reads(as_selector(selector))


def feeds(selector: object) -> Selector:
    """The ops whose value an op that matches takes: what comes right before it.

    The output of a nested model is made by the model and by the op inside that makes it. Otherwise as `reads`.
    """
    return Feeds(as_selector(selector))


def _as_passed(given: tuple[object, ...]) -> tuple[object, ...]:
    """The same, believing no annotation: users pass anything."""
    return given


def _at_least_one(name: str, given: object, example: str) -> None:
    if not given:
        raise ArgumentError(
            f"Cannot make a selector of {name}(): it says nothing about the ops that are meant.",
            fix=f"write {example}; for every op, anything().",
        )


def _shown(thing: object) -> str:
    """A short name for what was passed: never a dump."""
    if isinstance(thing, str | int | float | None):
        return repr(thing)
    return getattr(thing, "__qualname__", None) or f"an object of class {type(thing).__qualname__}"
