"""Two arguments or configs side by side: where they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ramet._diff.change import ABSENT
from ramet._diff.digest import IGNORED, tokens
from ramet._graph import Argument, FrozenDict, FrozenList, Key, Ref, Slice

__all__ = ["Difference", "by_key", "class_of", "differences", "equal"]

Same = Callable[[Argument, Argument], bool]
Difference = tuple[str, Argument, Argument]


def equal(old: Argument, new: Argument) -> bool:
    """Whether both are the same data: 1 is not 1.0, and NaN is NaN."""
    return old is new or tokens(old) == tokens(new)


def differences(
    old: Argument, new: Argument, same: Same = equal, told: Same = lambda _old, _new: False, *, name: str = ""
) -> Iterator[Difference]:
    """Where the two differ, as deep inside as can be said: a dotted key, what stood there and what stands there.

    Args:
        old: frozen data.
        new: frozen data.
        same: whether two parts that are not taken apart are the same.
        told: whether two parts are told elsewhere, and passed over here.
        name: what the whole is called; the dotted keys begin with it.
    """
    waiting: list[Difference] = [(name, old, new)]
    while waiting:
        what, one, other = waiting.pop()
        if one is other and same is equal:
            continue
        if told(one, other):
            continue
        parts = _parts(what, one, other)
        if parts is not None:
            waiting.extend(reversed(parts))
        elif not same(one, other):
            yield what, one, other


def _parts(what: str, one: Argument, other: Argument) -> list[Difference] | None:
    """Both taken apart; None for what is one thing."""
    if isinstance(one, FrozenDict) and isinstance(other, FrozenDict):
        if class_of(one) != class_of(other):
            return None
        return [(_dotted(what, key), old, new) for key, old, new in by_key(one, other)]
    before, after = _items(one), _items(other)
    if type(one) is type(other) and len(before) == len(after) and any(map(_says_more, (*before, *after))):
        return [(f"{what}[{place}]", *pair) for place, pair in enumerate(zip(before, after, strict=True))]
    return None


def class_of(value: FrozenDict) -> Argument:
    """The class of an object whose config this is; None for any other dict."""
    return value.get("class_name") if "class_name" in value and "config" in value else None


def by_key(one: FrozenDict, other: FrozenDict) -> list[tuple[Key, Argument, Argument]]:
    """What both say under each key, in an order that is the same from either side."""
    keys = list(one) if list(one) == list(other) else sorted({*one, *other}, key=lambda key: (str(type(key)), str(key)))
    return [(key, one.get(key, ABSENT), other.get(key, ABSENT)) for key in keys if key not in IGNORED]


def _items(value: Argument) -> tuple[Argument, ...]:
    if isinstance(value, tuple):
        return value
    if isinstance(value, Slice):
        return (value.start, value.stop, value.step)
    return value.items if isinstance(value, FrozenList) else ()


def _says_more(item: Argument) -> bool:
    """Whether a list with this in it is worth taking apart: `(3, 3)` is one thing, a list of tensors or dicts is several."""
    return isinstance(item, tuple | FrozenList | FrozenDict | Slice | Ref)


def _dotted(what: str, key: Key) -> str:
    if not isinstance(key, str):
        return f"{what}[{key!r}]"
    return f"{what}.{key}" if what else key
