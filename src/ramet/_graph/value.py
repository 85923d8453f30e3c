"""What a call gives, and what an op keeps: outputs and variables, described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ramet._graph.argument import Ref, Shape
from ramet._graph.frozen import Changeable

__all__ = ["HUGE", "UNRECORDED", "Mask", "Value", "VariableSpec"]

HUGE = 2**63
UNRECORDED: Literal["unrecorded"] = "unrecorded"
Mask: TypeAlias = Ref | Literal["unrecorded"] | None


@dataclass(frozen=True, slots=True)
class Value(Changeable):
    """One output of a call.

    Attributes:
        shape: None for a dimension that is free; None altogether where it is not known, as of an output that no call
            takes in a graph that was read from a file.
        dtype: of the values; "unknown" where it is not known.
        sparse: whether it is a sparse tensor.
        ragged: whether it is a ragged tensor.
        optional: whether None may stand in its place (inputs only).
        name: of the tensor, where it has one worth keeping.
        mask: the mask that travels with it: the output of a call of this graph, or `UNRECORDED` for one that exists
            when the model runs but that no call of the graph makes. None is an empty slot.
    """

    shape: Shape | None
    dtype: str
    sparse: bool = False
    ragged: bool = False
    optional: bool = False
    name: str | None = None
    mask: Mask = None


@dataclass(frozen=True, slots=True)
class VariableSpec(Changeable):
    """One variable of an op. Its path is the path of the op plus its id.

    Attributes:
        id: unique in its op; its name, unless another variable of the op has the same one.
        shape: None where it is not known yet.
        dtype: of the variable.
        trainable: the variable's own flag.
        weight: False for state that counts as no parameter: random seeds, metrics.
        tied: the path, from the root, of the first variable that is the very same object.
        name: what Keras calls it; the id when left out.
    """

    id: str
    shape: Shape | None
    dtype: str
    trainable: bool = True
    weight: bool = True
    tied: str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.id)

    @property
    def size(self) -> int:
        """How many numbers it holds; 0 where that is not known yet, and `HUGE` for more than any machine could hold."""
        if self.shape is None or not all(self.shape):
            return 0
        total = 1
        for length in self.shape:
            total *= length or 0
            if total >= HUGE:
                # A shape read from a file may say anything: numbers without end take time without end.
                return HUGE
        return total
