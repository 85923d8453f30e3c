"""What stands for a selector, wherever one is asked for."""

from __future__ import annotations

from ramet._select.kind import Anything, Exactly, Named, OfClass
from ramet._select.selector import Not, Or, Selector
from ramet.errors import ArgumentError

__all__ = ["as_selector"]


def as_selector(thing: object) -> Selector:
    """The selector that a thing stands for.

    A string is `named`, a class `of_class`, a live layer or operation itself and no other; a list or tuple is any of what
    it holds.
    """
    if isinstance(thing, list | tuple):
        several: list[Selector] = []
        for item in thing:
            selector = _single(item)
            several += selector.parts if isinstance(selector, Or) else (selector,)
        if len(several) == 1:
            return several[0]
        return Or(tuple(several)) if several else Not(Anything())
    return _single(thing)


def _single(thing: object) -> Selector:
    if isinstance(thing, Selector):
        return thing
    if isinstance(thing, str) and thing:
        return Named((thing,))
    if isinstance(thing, type):
        return OfClass((thing,))
    # A live op by its look, for the data side does not know Keras: it has a name and can be called. Functions have
    # `__name__` only.
    if callable(thing) and isinstance(getattr(thing, "name", None), str):
        return Exactly((thing,))
    function = callable(thing)
    raise ArgumentError(
        f"Cannot select by {thing!r}: it is empty."
        if isinstance(thing, str)
        else f"Cannot select by an object of class {type(thing).__qualname__}: it does not say which ops are meant.",
        expected="a selector, a path or glob, a class, a layer of the model, or a list of these",
        fix="write where(function)." if function else 'write named("..."), of_class(...) or where(function).',
    )
