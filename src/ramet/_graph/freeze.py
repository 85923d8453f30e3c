"""Conversion of live nested data to frozen data, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ramet._graph.argument import KEYS, PLAIN, Argument, Constant, FrozenDict, FrozenList, Ref, Slice, fold, parts_of

_LEAVES = (Ref, Constant)
_FROZEN = (FrozenList, FrozenDict, Slice)


def _describe(value: object) -> Argument:
    return Constant("object", f"{type(value).__module__}.{type(value).__qualname__}")


def freeze(value: object, leaf: Callable[[Any], object] = _describe) -> Argument:
    """Return a value as frozen data: containers by exact class, plain constants unchanged, all else as `leaf` returns it.

    Args:
        value: Nested lists, tuples, dicts and slices of anything; frozen data is returned unchanged.
        leaf: Called with everything that is neither a plain constant nor a container of exactly Python's own class: a
            tensor, an array, a named tuple, a dict with keys that are not plain data. Its result is frozen in turn, so it
            may return a list for a list-like object. By default, a `Constant` with the name of the class.
    """

    def simple(item: object) -> object:
        # A few rounds at most: each turns an object into something simpler.
        for _ in range(8):
            if type(item) in PLAIN or isinstance(item, _LEAVES) or _parts(item) is not None:
                return item
            item = leaf(item)
        raise TypeError(f"the leaf function did not turn a {type(item).__qualname__} into frozen data")

    def parts(item: object) -> Iterable[object] | None:
        inner = _parts(item)
        return None if inner is None else [simple(part) for part in inner]

    return fold(simple(value), parts, _join)


def freeze_dict(value: Mapping[Any, object], leaf: Callable[[Any], object] = _describe) -> FrozenDict:
    """Return keyword arguments or a config as frozen data; see `freeze`."""
    frozen = freeze(dict(value), leaf)
    if not isinstance(frozen, FrozenDict):
        raise TypeError("the keys of a frozen dict must be plain data")
    return frozen


def thaw(value: Argument, leaf: Callable[[Ref | Constant], object] = lambda leaf: leaf) -> Any:
    """Return frozen data as Python's own lists, dicts and slices, with `leaf(...)` for every ref and constant."""

    def join(item: Argument, parts: list[Any]) -> Any:
        if isinstance(item, tuple):
            return tuple(parts)
        if isinstance(item, FrozenList):
            return parts
        if isinstance(item, FrozenDict):
            return dict(zip(item, parts, strict=True))
        if isinstance(item, Slice):
            return slice(*parts)
        return leaf(item) if isinstance(item, _LEAVES) else item

    return fold(value, parts_of, join)


def _parts(item: Any) -> Iterable[object] | None:
    kind = type(item)
    if kind is tuple or kind is list:
        return item  # type: ignore[no-any-return]
    if kind is dict:
        return item.values() if all(type(key) in KEYS for key in item) else None
    if kind is slice:
        return (item.start, item.stop, item.step)
    return parts_of(item) if kind in _FROZEN else None


def _join(item: Any, parts: list[Argument]) -> Argument:
    kind = type(item)
    if kind is tuple:
        return tuple(parts)
    if kind is list or kind is FrozenList:
        return FrozenList(tuple(parts))
    if kind is dict or kind is FrozenDict:
        return FrozenDict(tuple(zip(item, parts, strict=True)))
    if kind is slice or kind is Slice:
        return Slice(*parts)
    return item  # type: ignore[no-any-return]
