"""Arguments as frozen data: what a call receives, what a config contains, how inputs and outputs are nested.

`freeze` converts live data to it, and `thaw` converts it back.

Plain constants and tuples represent themselves. A list is a `FrozenList`, a dict a `FrozenDict`, a slice a `Slice`. A tensor
is a `Ref` to the call that produces it. An array or any other object is a `Constant` that describes it.

Nothing in this file recurses: arguments may be nested deeper than Python's stack allows.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any, Literal, Self, TypeAlias, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

Shape: TypeAlias = tuple[int | None, ...]
Key: TypeAlias = str | int | float | bool | bytes | None
Plain: TypeAlias = bool | int | float | complex | str | bytes | EllipsisType | None
Argument: TypeAlias = "Plain | Ref | Constant | Slice | FrozenList | FrozenDict | tuple[Argument, ...]"

# Compared by exact class: numpy's float64 is a subclass of float, and an IntEnum member of int, and neither would come
# back from a file as what it was.
PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, EllipsisType})
KEYS = frozenset({str, int, float, bool, bytes, type(None)})


class TooDeepError(Exception):
    """The data is nested deeper than the limit."""


def fold(
    root: Item,
    parts: Callable[[Item], Iterable[Item] | None],
    join: Callable[[Item, list[Result]], Result],
    *,
    limit: int | None = None,
) -> Result:
    """Return `join(root, results of its parts)`, computed from the leaves up without recursion.

    Args:
        root: The item to start from.
        parts: Returns the parts of an item, or None for a leaf.
        join: Takes an item and the results of its parts (an empty list for a leaf).
        limit: The largest allowed depth; deeper data raises `TooDeepError`.
    """
    inner = parts(root)
    if inner is None:
        return join(root, [])
    # The stack of a recursive function, kept on the heap: user data may be nested deeper than Python's limit.
    frames: list[tuple[Item, Iterator[Item], list[Result]]] = [(root, iter(inner), [])]
    while True:
        item, rest, done = frames[-1]
        for part in rest:
            inner = parts(part)
            if inner is not None:
                if len(frames) == limit:
                    raise TooDeepError
                frames.append((part, iter(inner), []))
                break
            done.append(join(part, []))
        else:
            frames.pop()
            result = join(item, done)
            if not frames:
                return result
            frames[-1][2].append(result)


class Changeable:
    """A frozen dataclass that makes changed copies of itself."""

    __slots__ = ()

    def with_changes(self, **changes: Any) -> Self:
        """Return the same value with other fields: `call.with_changes(op="conv_2")`."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]  # subclasses are dataclasses


class Frozen(Changeable):
    """A value of any depth, equal to another if both have the same JSON.

    Python's own comparison would recurse, treat 1, 1.0 and True as the same argument, and NaN as different from itself.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return self._text() == other._text()

    def __hash__(self) -> int:
        return hash(self._text())

    def __repr__(self) -> str:
        from ramet._graph.render import render

        return f"{type(self).__name__}({render(self, repr, limit=400)})"  # type: ignore[arg-type]  # others override this

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def _text(self) -> str:
        from ramet._graph.json_write import text_of

        return text_of(self)


@dataclass(frozen=True, slots=True)
class Ref:
    """One output of a call, by the id of the call."""

    call: str
    output: int = 0

    def __str__(self) -> str:
        return self.call if self.output == 0 else f"{self.call}[{self.output}]"


@dataclass(frozen=True, slots=True)
class Constant:
    """The description of an argument that is not plain data: an array, or any other object.

    Attributes:
        kind: "array" or "object".
        class_name: The class of the object.
        shape: The shape of an array.
        dtype: The dtype of an array.
        digest: The SHA-256 of the bytes of an array.
        summary: A short text for a reader, if there is more to know.
    """

    kind: Literal["array", "object"]
    class_name: str
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    digest: str | None = None
    summary: str | None = None

    @classmethod
    def array(cls, class_name: str, shape: Iterable[int], dtype: str, data: bytes) -> Constant:
        """Return the constant that describes an array with these bytes."""
        return cls("array", class_name, tuple(shape), dtype, hashlib.sha256(data).hexdigest())

    def __str__(self) -> str:
        if self.kind == "array":
            return f"<array {self.shape} {self.dtype}>"
        return f"<{self.summary or self.class_name}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Slice(Frozen):
    """A slice, as in `x[:, 1:n]`."""

    start: Argument = None
    stop: Argument = None
    step: Argument = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FrozenList(Frozen):
    """A list as data."""

    items: tuple[Argument, ...] = ()

    def __iter__(self) -> Iterator[Argument]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Argument:
        return self.items[index]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FrozenDict(Frozen):
    """A dict as data. The order of its keys is part of it: a dict of outputs is read in that order."""

    pairs: tuple[tuple[Key, Argument], ...] = ()
    _by_key: dict[Key, Argument] = field(init=False)

    def __post_init__(self) -> None:
        by_key = dict(self.pairs)
        object.__setattr__(self, "_by_key", by_key)
        if len(by_key) != len(self.pairs):
            raise ValueError("a frozen dict cannot contain a key twice")
        if not all(type(key) in KEYS for key in by_key):
            raise TypeError("the keys of a frozen dict must be plain data")

    def __iter__(self) -> Iterator[Key]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self.pairs)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __getitem__(self, key: Key) -> Argument:
        return self._by_key[key]

    def get(self, key: Key, default: Argument = None) -> Argument:
        """Return the value of the key, or the default."""
        return self._by_key.get(key, default)

    def values(self) -> tuple[Argument, ...]:
        """Return the values, in order."""
        return tuple(self._by_key.values())


EMPTY = FrozenDict()


def parts_of(value: Argument) -> tuple[Argument, ...] | None:
    """Return the contents of a container, in order; None for a leaf."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, FrozenList):
        return value.items
    if isinstance(value, FrozenDict):
        return value.values()
    if isinstance(value, Slice):
        return (value.start, value.stop, value.step)
    return None


def leaves(value: Argument) -> Iterator[Argument]:
    """Yield everything in a value that is not a container, in order."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        parts = parts_of(item)
        if parts is None:
            yield item
        else:
            waiting.extend(reversed(parts))


def refs(value: Argument) -> Iterator[Ref]:
    """Yield every ref in a value, in order, with repetitions."""
    return (leaf for leaf in leaves(value) if isinstance(leaf, Ref))


def map_leaves(value: Argument, change: Callable[[Argument], Argument]) -> Argument:
    """Return the same nesting with `change(leaf)` for every leaf."""
    return fold(value, parts_of, lambda item, parts: change(item) if parts_of(item) is None else _join(item, parts))


def _join(item: Any, parts: list[Argument]) -> Argument:
    """Return frozen data: a container of the same kind with other contents; a leaf is returned unchanged."""
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


# From live data, and back.


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
            if type(item) in PLAIN or isinstance(item, Ref | Constant) or _live_parts(item) is not None:
                return item
            item = leaf(item)
        raise TypeError(f"the leaf function did not turn a {type(item).__qualname__} into frozen data")

    def parts(item: object) -> Iterable[object] | None:
        inner = _live_parts(item)
        return None if inner is None else [simple(part) for part in inner]

    return fold(simple(value), parts, _join)


def _live_parts(item: Any) -> Iterable[object] | None:
    kind = type(item)
    if kind is tuple or kind is list:
        return item  # type: ignore[no-any-return]
    if kind is dict:
        return item.values() if all(type(key) in KEYS for key in item) else None
    if kind is slice:
        return (item.start, item.stop, item.step)
    return parts_of(item) if isinstance(item, FrozenList | FrozenDict | Slice) else None


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
        return leaf(item) if isinstance(item, Ref | Constant) else item

    return fold(value, parts_of, join)
