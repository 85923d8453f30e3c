"""A thing that can be called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from ramet._graph.argument import EMPTY, FrozenDict
from ramet._graph.frozen import Frozen
from ramet._graph.value import VariableSpec

if TYPE_CHECKING:
    from ramet._graph.graph import Graph

__all__ = ["Op", "OpKind"]

OpKind: TypeAlias = Literal["input", "layer", "model", "operation"]
OP_KINDS: frozenset[str] = frozenset(get_args(OpKind))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Op(Frozen):
    """A thing that can be called: an input, a layer, a nested model, a raw operation.

    Attributes:
        id: unique among its siblings; its name, unless a sibling has the same one.
        kind: "input", "layer", "model" or "operation".
        class_name: the name of its class.
        module: where the class comes from.
        registered_name: what Keras' registry calls the class.
        config: its settings, or None, and then `no_config` says why.
        trainable: the op's own flag.
        dtype_policy: the name of the policy.
        built: whether it has been built.
        flags: further settings that no config tells; sorted by name.
        variables: its own ones, without those of what is inside it.
        graph: what is inside a model.
        children: what is inside a wrapper, a composite layer or any other layer that holds layers.
        same_as: the path, from the root, of the place where this very object stands first. Such an op is a stub: what
            is inside it is told there.
        name: what Keras calls it; the id when left out.
    """

    id: str
    kind: OpKind
    class_name: str
    module: str | None = None
    registered_name: str | None = None
    config: FrozenDict | None = None
    no_config: str | None = None
    trainable: bool = True
    dtype_policy: str | None = None
    built: bool = True
    flags: FrozenDict = EMPTY
    variables: tuple[VariableSpec, ...] = ()
    graph: Graph | None = None
    children: tuple[Op, ...] = ()
    same_as: str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.id)
        # The order of these says nothing: one form for one meaning.
        if len(self.flags) > 1:
            pairs = sorted(self.flags.pairs, key=lambda pair: str(pair[0]))
            object.__setattr__(self, "flags", FrozenDict(tuple(pairs)))

    def __repr__(self) -> str:
        return f"<Op {self.id!r}: {self.class_name}>"

    @property
    def inside(self) -> tuple[Op, ...]:
        """The ops directly inside it, whether it is a model or a layer that holds layers."""
        return self.children if self.graph is None else self.graph.held
