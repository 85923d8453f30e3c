"""One use of an op."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ramet._graph.argument import EMPTY, Argument, FrozenDict, Ref, refs
from ramet._graph.frozen import Frozen
from ramet._graph.value import Value

__all__ = ["Call", "MaskKind", "call_id", "split_call_id", "without_first"]

MaskKind: TypeAlias = Literal["implicit", "explicit"]

_NUMBERED = re.compile(r"(?s)(.*?)(#+)([1-9][0-9]{0,17})")


def call_id(op: str, number: int = 1) -> str:
    """The id of the n-th call of an op: `conv_1`, then `conv_1#2`.

    A '#' in the op's own id is doubled, so that no two ids can meet.
    """
    escaped = op.replace("#", "##")
    return escaped if number == 1 else f"{escaped}#{number}"


def split_call_id(text: str) -> tuple[str, int] | None:
    """The id of the op and the number of the call, or None for what is no id of a call."""
    op, number = text, 1
    found = _NUMBERED.fullmatch(text)
    if found and len(found[2]) % 2:
        op, number = found[1] + found[2][:-1], int(found[3])
    op = op.replace("##", "#")
    return (op, number) if call_id(op, number) == text else None


def without_first(text: str) -> str:
    """What a user means by `conv_1#1`: the first call, whose id has no number."""
    found = _NUMBERED.fullmatch(text)
    return found[1] + found[2][:-1] if found and len(found[2]) % 2 and found[3] == "1" else text


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Frozen):
    """One use of an op. The refs in its arguments are the edges of the graph; no others are stored.

    Attributes:
        id: `conv_1` for the first call of the op `conv_1`, `conv_1#2` for the second.
        op: the id of the op.
        args: as passed by position.
        kwargs: as passed by name.
        outputs: one value each, in order.
        structure: how the outputs are nested, with the position of a value at each leaf: 0 for a single output, (0, 1)
            for a pair, a dict of positions for a dict.
        mask_kinds: for each argument that is a mask, by position or name: whether Keras found it ("implicit") or the
            user passed it ("explicit").
    """

    id: str
    op: str
    args: tuple[Argument, ...] = ()
    kwargs: FrozenDict = EMPTY
    outputs: tuple[Value, ...] = ()
    structure: Argument = 0
    mask_kinds: tuple[tuple[int | str, MaskKind], ...] = ()

    def __post_init__(self) -> None:
        # The order of these says nothing: one form for one meaning.
        kinds = tuple(sorted(self.mask_kinds, key=lambda pair: (isinstance(pair[0], str), pair[0])))
        object.__setattr__(self, "mask_kinds", kinds)

    def __repr__(self) -> str:
        return f"<Call {self.id!r} of {self.op!r}>"

    def refs(self) -> Iterator[Ref]:
        """The refs among its arguments, in order, as often as they stand there."""
        return refs((self.args, self.kwargs))

    def argument(self, place: int | str) -> Argument:
        """The argument at a position or under a name; None when there is none."""
        if isinstance(place, str):
            return self.kwargs.get(place)
        return self.args[place] if 0 <= place < len(self.args) else None

    def mask_kind(self, place: int | str) -> MaskKind | None:
        """Whether an argument is an implicit or an explicit mask; None when it is no mask."""
        return dict(self.mask_kinds).get(place)
