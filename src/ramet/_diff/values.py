"""Comparing frozen data, such as configs and arguments of calls: whether two values are equal, and where they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ramet._diff.change import ABSENT
from ramet._graph import Argument, FrozenDict, FrozenList, Key, Ref, Slice, parts_of

# Not a setting: the address of an object in the process that wrote the config.
IGNORED_KEYS = frozenset({"shared_object_id"})

Same = Callable[[Argument, Argument], bool]
Difference = tuple[str, Argument, Argument]


def tokens(value: Argument, ignored: frozenset[str] = frozenset()) -> list[object]:
    """Return a flat list that is equal for equal values only; `ignored` keys of dicts are left out.

    Python's own comparison recurses, and takes 1, 1.0 and True for equal.
    """
    found: list[object] = []
    waiting: list[Argument] = [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        found.append(kind)
        if isinstance(item, FrozenDict):
            pairs = [pair for pair in item.pairs if pair[0] not in ignored]
            found.append(len(pairs))
            found.extend((type(key), key) for key, _ in pairs)
            waiting.extend(part for _, part in reversed(pairs))
        elif kind is tuple or kind is FrozenList or kind is Slice:
            parts = parts_of(item) or ()
            found.append(len(parts))
            waiting.extend(reversed(parts))
        else:
            # As text, NaN equals NaN, and 0.0 is not -0.0.
            found.append(repr(item) if kind is float or kind is complex else item)
    return found


def equal(old: Argument, new: Argument) -> bool:
    """Return whether two values are the same data: 1 is not 1.0, and NaN equals NaN."""
    return old is new or tokens(old) == tokens(new)


def differences(
    old: Argument, new: Argument, same: Same = equal, skip: Same = lambda _old, _new: False, *, name: str = ""
) -> Iterator[Difference]:
    """Yield the innermost parts that differ: a dotted key, the old part and the new one.

    Args:
        old: Frozen data.
        new: Frozen data.
        same: Compares two parts that cannot be taken apart.
        skip: Returns true for two parts whose differences are reported elsewhere.
        name: The name of the whole, with which the dotted keys begin.
    """
    waiting: list[Difference] = [(name, old, new)]
    while waiting:
        what, one, other = waiting.pop()
        if (one is other and same is equal) or skip(one, other):
            continue
        parts = _parts(what, one, other)
        if parts is not None:
            waiting.extend(reversed(parts))
        elif not same(one, other):
            yield what, one, other


def _parts(what: str, one: Argument, other: Argument) -> list[Difference] | None:
    """Return the parts of both values in pairs; None if they are compared as a whole."""
    if isinstance(one, FrozenDict) and isinstance(other, FrozenDict):
        if class_of(one) != class_of(other):
            return None
        return [(_dotted(what, key), old, new) for key, old, new in pair_by_key(one, other)]
    before, after = parts_of(one) or (), parts_of(other) or ()
    if type(one) is not type(other) or len(before) != len(after):
        return None
    # `(3, 3)` is one value, a list of dicts is several.
    if any(isinstance(item, Ref) or parts_of(item) is not None for item in (*before, *after)):
        return [(f"{what}[{place}]", *pair) for place, pair in enumerate(zip(before, after, strict=True))]
    return None


def class_of(value: FrozenDict) -> Argument:
    """Return the class name if the dict is the serialized config of an object, else None."""
    return value.get("class_name") if "class_name" in value and "config" in value else None


def pair_by_key(one: FrozenDict, other: FrozenDict) -> list[tuple[Key, Argument, Argument]]:
    """Return every key with both values, in an order that does not depend on which dict comes first."""
    keys = list(one) if list(one) == list(other) else sorted({*one, *other}, key=lambda key: (str(type(key)), str(key)))
    return [(key, one.get(key, ABSENT), other.get(key, ABSENT)) for key in keys if key not in IGNORED_KEYS]


def _dotted(what: str, key: Key) -> str:
    if not isinstance(key, str):
        return f"{what}[{key!r}]"
    return f"{what}.{key}" if what else key
