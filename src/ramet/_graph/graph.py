"""A model as frozen data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from ramet._graph import order, walk
from ramet._graph.argument import Argument, Ref, refs
from ramet._graph.call import Call
from ramet._graph.frozen import Frozen
from ramet._graph.index import Index
from ramet._graph.notebook import Shown, graph_html
from ramet._graph.op import Op
from ramet._graph.problem import GraphError
from ramet._graph.value import Value, VariableSpec

__all__ = ["Graph", "GraphKind"]

GraphKind: TypeAlias = Literal["functional", "sequential", "subclassed", "layer"]
GRAPH_KINDS: frozenset[str] = frozenset(get_args(GraphKind))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Graph(Shown, Frozen):
    """Ops, calls and values of one model; nested models are graphs inside.

    Attributes:
        name: the model's name.
        class_name: the name of its class.
        kind: "functional", "sequential", "subclassed" or "layer". A subclassed model, and a layer on its own, have no
            call graph: their ops are a tree, and there are no calls, inputs or outputs.
        ops: what the calls call, in the model's order.
        calls: in the order in which Keras runs them.
        inputs: refs to the inputs, nested as the model takes them.
        outputs: refs to the outputs, nested as the model returns them.
        extras: ops that the model holds and does not call.
        root: the model itself as an op, for the outermost graph: its config, flags and own variables. A nested model
            has these on the op that holds its graph.
    """

    name: str
    class_name: str
    kind: GraphKind = "functional"
    ops: tuple[Op, ...] = ()
    calls: tuple[Call, ...] = ()
    inputs: Argument = None
    outputs: Argument = None
    extras: tuple[Op, ...] = ()
    root: Op | None = None
    _index: Index = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", Index(self.held, self.calls, self.outputs))

    def _line(self) -> str:
        return f"{self.name!r}: {self.class_name}, {len(self.ops)} ops, {len(self.calls)} calls"

    def __str__(self) -> str:
        from ramet._graph.text import text

        return text(self)

    def _html(self) -> str:
        return graph_html(self)

    def __reduce__(self) -> tuple[object, ...]:
        # By way of JSON, which is flat: pickle itself recurses.
        from ramet._graph.decode import from_json
        from ramet._graph.encode import to_json

        return from_json, (to_json(self),)

    @property
    def has_calls(self) -> bool:
        """Whether there is a call graph; a subclassed model or a layer on its own has none."""
        return self.kind not in ("subclassed", "layer")

    @property
    def held(self) -> tuple[Op, ...]:
        """All ops directly in the graph: those that are called, then the others."""
        return self.ops + self.extras if self.extras else self.ops

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the graph's JSON. Equal graphs have equal ones."""
        if self._index.fingerprint is None:
            from ramet._graph.encode import fingerprint

            self._index.fingerprint = fingerprint(self)
        return self._index.fingerprint

    def _text(self) -> str:
        return self.fingerprint

    # One graph: its ops, calls and edges.

    def op(self, op_id: str) -> Op:
        """The op with this id."""
        return walk.look_up(self._index.ops, op_id, "op", self.name)

    def call(self, call_id: str) -> Call:
        """The call with this id."""
        return walk.look_up(self._index.calls, call_id, "call", self.name)

    def calls_of(self, op_id: str) -> tuple[Call, ...]:
        """The calls of the op with this id, in order."""
        return self._index.calls_of.get(op_id, ())

    def value(self, ref: Ref) -> Value:
        """The value a ref points at."""
        outputs = self.call(ref.call).outputs
        if not 0 <= ref.output < len(outputs):
            raise GraphError(
                f"Cannot read output {ref.output} of the call '{ref.call}': it has {len(outputs)}.", path=ref.call
            )
        return outputs[ref.output]

    def consumers(self, place: Ref | str) -> tuple[Call, ...]:
        """The calls that take a value, or any value of the call with this id; each once, in order."""
        if isinstance(place, Ref):
            return self._index.consumers.get(place, ())
        return self._at(self._index.after[self._position(place)])

    def producers(self, call_id: str) -> tuple[Call, ...]:
        """The calls whose values a call takes; each once, in the order of its arguments."""
        return self._at(self._index.before[self._position(call_id)])

    def output_numbers(self, ref: Ref) -> tuple[int, ...]:
        """Which outputs of the graph the value is, counted flat; none for a value that stays inside."""
        return self._index.output_refs.get(ref, ())

    def order(self) -> tuple[Call, ...]:
        """All calls, producers before consumers, and otherwise in the order they have."""
        done, stuck = order.sort(self._index.before, self._index.after)
        if stuck:
            names = [self.calls[place].id for place in stuck]
            raise GraphError(
                f"Cannot order the calls of '{self.name}': some of them wait for each other.", closest=names
            )
        return self._at(done)

    def ancestors_of(self, *places: Ref | str) -> tuple[Call, ...]:
        """These calls and all that they need, in order."""
        return self._at(order.reach(map(self._position, places), self._index.before))

    def reachable_from(self, *places: Ref | str) -> tuple[Call, ...]:
        """These calls and all that needs them, in order; for a ref, the calls that take it and all that needs those."""
        starts: list[int] = []
        for place in places:
            own = self._position(place)
            taken = isinstance(place, Ref)
            starts += (self._index.positions[call.id] for call in self.consumers(place)) if taken else (own,)
        return self._at(order.reach(starts, self._index.after))

    def input_calls(self) -> tuple[Call, ...]:
        """The calls that the graph's inputs are, in the order of the inputs."""
        return tuple(self.call(ref.call) for ref in refs(self.inputs))

    def _position(self, place: Ref | str) -> int:
        name = place.call if isinstance(place, Ref) else place
        return walk.look_up(self._index.positions, name, "call", self.name)

    def _at(self, places: Iterable[int]) -> tuple[Call, ...]:
        return tuple(self.calls[place] for place in places)

    # All levels: paths.

    def walk(self) -> Iterator[tuple[str, Op]]:
        """Every op with its path, in order, through nested graphs and layers that hold layers."""
        return walk.walk(self)

    def variables(self) -> Iterator[tuple[str, VariableSpec]]:
        """Every variable with its path, in order."""
        return walk.variables(self)

    def find(self, path: str, *, follow: bool = True) -> Op:
        """The op at a path. The path may lead through a place where a shared op stands again.

        Args:
            path: the names of the ops from below the root down.
            follow: whether an op that stands first elsewhere is answered with the op there, or with its stub here.
        """
        return walk.find(self, path, follow=follow)

    @property
    def parameters(self) -> int:
        """How many numbers its weights hold, tied ones counted once."""
        return sum(spec.size for _, spec in self.variables() if spec.weight and spec.tied is None)
