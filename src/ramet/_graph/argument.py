"""Arguments as frozen data: what a call was given, what a config says, how inputs and outputs are nested.

Plain constants and tuples stand for themselves. A list is a `FrozenList`, a dict a `FrozenDict`, a slice a `Slice`;
a tensor is a `Ref` to the call that makes it; an array or any other object is a `Constant` that says what it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Literal, TypeAlias

from ramet._graph.fold import fold
from ramet._graph.frozen import Frozen

__all__ = [
    "EMPTY",
    "Argument",
    "Constant",
    "FrozenDict",
    "FrozenList",
    "Key",
    "Ref",
    "Shape",
    "Slice",
    "leaves",
    "map_leaves",
    "map_refs",
    "refs",
]

Shape: TypeAlias = tuple[int | None, ...]
Key: TypeAlias = str | int | float | bool | bytes | None
Plain: TypeAlias = bool | int | float | complex | str | bytes | EllipsisType | None
Argument: TypeAlias = "Plain | Ref | Constant | Slice | FrozenList | FrozenDict | tuple[Argument, ...]"

# Compared by exact class: numpy's float64 is a subclass of float, and an IntEnum member of int, and neither would come
# back from a file as what it was.
PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, EllipsisType})
KEYS = frozenset({str, int, float, bool, bytes, type(None)})


@dataclass(frozen=True, slots=True)
class Ref:
    """One output of a call, by the id of the call."""

    call: str
    output: int = 0

    def __str__(self) -> str:
        return self.call if self.output == 0 else f"{self.call}[{self.output}]"


@dataclass(frozen=True, slots=True)
class Constant:
    """What is known of an argument that is no plain data: an array, or any other object.

    Attributes:
        kind: "array" or "object".
        class_name: the class of the object.
        shape: the shape of an array.
        dtype: the dtype of an array.
        digest: the SHA-256 of the bytes of an array.
        summary: a short text for a reader, when there is more to say.
    """

    kind: Literal["array", "object"]
    class_name: str
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    digest: str | None = None
    summary: str | None = None

    @classmethod
    def array(cls, class_name: str, shape: Iterable[int], dtype: str, data: bytes) -> Constant:
        """The constant that stands for an array with these bytes."""
        digest = hashlib.sha256(data).hexdigest()
        return cls("array", class_name, tuple(shape), dtype, digest)

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

    def __getitem__(self, place: int) -> Argument:
        return self.items[place]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FrozenDict(Frozen):
    """A dict as data. The order of its keys belongs to it: a dict of outputs is read in that order."""

    pairs: tuple[tuple[Key, Argument], ...] = ()
    _at: dict[Key, Argument] = field(init=False)

    def __post_init__(self) -> None:
        at = dict(self.pairs)
        object.__setattr__(self, "_at", at)
        if len(at) != len(self.pairs):
            raise ValueError("a frozen dict cannot hold a key twice")
        if not all(type(key) in KEYS for key in at):
            raise TypeError("the keys of a frozen dict are plain data")

    def __iter__(self) -> Iterator[Key]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self.pairs)

    def __contains__(self, key: object) -> bool:
        return key in self._at

    def __getitem__(self, key: Key) -> Argument:
        return self._at[key]

    def get(self, key: Key, default: Argument = None) -> Argument:
        """The value under the key, or the default."""
        return self._at.get(key, default)

    def values(self) -> tuple[Argument, ...]:
        """The values, in order."""
        return tuple(self._at.values())


EMPTY = FrozenDict()


def parts_of(value: Argument) -> tuple[Argument, ...] | None:
    """What a container holds, in order; None for a leaf."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, FrozenList):
        return value.items
    if isinstance(value, FrozenDict):
        return value.values()
    if isinstance(value, Slice):
        return (value.start, value.stop, value.step)
    return None


def with_parts(value: Argument, parts: list[Argument]) -> Argument:
    """A container like this one that holds these parts; a leaf as it is."""
    if isinstance(value, tuple):
        return tuple(parts)
    if isinstance(value, FrozenList):
        return FrozenList(tuple(parts))
    if isinstance(value, FrozenDict):
        return FrozenDict(tuple(zip(value, parts, strict=True)))
    if isinstance(value, Slice):
        return Slice(*parts)
    return value


def leaves(value: Argument) -> Iterator[Argument]:
    """Everything in it that is not a container, in order."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        parts = parts_of(item)
        if parts is None:
            yield item
        else:
            waiting.extend(reversed(parts))


def refs(value: Argument) -> Iterator[Ref]:
    """The refs in it, in order, as often as they stand there."""
    return (leaf for leaf in leaves(value) if isinstance(leaf, Ref))


def map_leaves(value: Argument, change: Callable[[Argument], Argument]) -> Argument:
    """The same nesting with `change(leaf)` for every leaf."""

    def join(item: Argument, parts: list[Argument]) -> Argument:
        return change(item) if parts_of(item) is None else with_parts(item, parts)

    return fold(value, parts_of, join)


def map_refs(value: Argument, change: Callable[[Ref], Argument]) -> Argument:
    """The same data with `change(ref)` for every ref."""
    return map_leaves(value, lambda leaf: change(leaf) if isinstance(leaf, Ref) else leaf)
