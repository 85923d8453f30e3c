"""The public verbs, each a few lines. The live side is imported when a verb is called, not before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ramet.errors import ArgumentError

T = TypeVar("T")


def clone(
    model: T,
    *,
    name: str | None = None,
    seed: int | None = None,
    compile: bool = True,
    share: Iterable[Any] = (),
) -> T:
    """An exact, independent twin of a model.

    Kept: class, graph, names, config, every flag, every bit of state (weights, statistics, random generators, RNN
    states, tables, metrics, optimizer), what is shared inside, attributes set by hand, device and sharding. Not kept:
    compiled functions, which the twin makes for itself, and gradients left on torch parameters. The original is not
    changed, and nothing that can change is common to both.

    Args:
        model: A model of any kind, a layer (it comes without its calls), an optimizer (alone, it goes on optimising the
            same variables; together with its model, the twin's), a metric or a loss, or a list, tuple or dict of them:
            what they share is shared among their twins.
        name: Another name. Every variable path of the twin then begins with it, so that original and twin can live
            inside one model.
        seed: Reseed every random generator and initialiser, each by its path: distinct, and repeatable.
        compile: `False` for a twin without optimizer, loss and metrics.
        share: Objects that stay the very same in the twin. An op of a functional model that is shared has the calls of
            both models from then on.

    Raises:
        NotAModelError: `model` is nothing that can be cloned.
        CannotCopyError: something inside cannot be copied; the error says where it stands.
        StateElsewhereError: another thread runs the model, and its values are not all in place.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> twin = ramet.clone(model)
    >>> bool((twin.layers[0].kernel.numpy() == model.layers[0].kernel.numpy()).all())
    True
    """
    from ramet._twin.clone import clone as make_twin

    return make_twin(model, name=name, seed=seed, keep_compiled=compile, share=share)  # type: ignore[no-any-return]


def register_copy(cls: type, how: str | Callable[[Any, Callable[[Any], Any]], Any]) -> None:
    """Say how objects of a class, and of its subclasses, are copied.

    Args:
        cls: The class. For one of your own, a method `__ramet_copy__(self, copy)` does the same.
        how: `"share"`: the twin uses the very same objects. `"refuse"`: cloning fails and says where one stands. Or a
            function `how(obj, copy)` that returns the new object; `copy(part)` gives the twin of a part, which may still
            be empty at that time.

    >>> import ramet
    >>> class Connection:
    ...     pass
    >>> ramet.register_copy(Connection, "share")
    """
    if not isinstance(cls, type):
        raise ArgumentError(
            f"Cannot register {cls!r}: it is not a class.", fix="pass the class, not an instance of it."
        )
    if not callable(how) and how not in ("share", "refuse"):
        raise ArgumentError(
            f"Cannot register {cls.__name__} with {how!r}: there is no such plan.",
            expected="'share', 'refuse', or a function how(obj, copy)",
            fix="pass one of these.",
        )
    from ramet._twin.plans import register

    register(cls, how)
