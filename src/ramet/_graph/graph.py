"""A model as frozen data."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar, get_args

from ramet._graph.argument import Argument, Frozen, Ref
from ramet._graph.index import Index, reach, sort
from ramet._graph.nodes import Call, Op, Value, VariableSpec
from ramet._report import Document, Result, attempt
from ramet.errors import FormatError, GraphError, UnknownPathError

GraphKind: TypeAlias = Literal["functional", "sequential", "subclassed", "layer"]
GRAPH_KINDS: frozenset[str] = frozenset(get_args(GraphKind))

# Number of names compared in search of the closest: enough to help, and quick.
_COMPARED = 5_000
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Graph(Result, Frozen):
    """Ops, calls and values of one model, as frozen data without weights: the result of `ramet.capture`.

    Nested models are graphs inside it. Printing it shows a table; in a notebook it is a picture. Two graphs are equal
    if they have the same JSON. `graph.with_changes(name="b")` returns a changed copy.

    Attributes:
        name: The name of the model.
        class_name: The name of its class.
        kind: `"functional"`, `"sequential"`, `"subclassed"` or `"layer"`. A subclassed model, and a layer on its own,
            have no call graph: their ops are a tree, and there are no calls, inputs or outputs.
        ops: The ops that are called, in the model's order.
        calls: The calls, in an order that can be run. In the graph of a live model, its inputs come first, in their order.
        inputs: Refs to the inputs, nested as the model takes them.
        outputs: Refs to the outputs, nested as the model returns them.
        extras: Ops that the model holds but does not call.
        root: The model itself as an op, in the outermost graph only: its config, flags and own variables. A nested
            model has these on the op that holds its graph.

    >>> import keras, ramet
    >>> layers = [keras.layers.Dense(3, name="a"), keras.layers.ReLU(name="b")]
    >>> graph = ramet.capture(keras.Sequential([keras.Input((4,), name="x"), *layers], name="net"))
    >>> graph
    <Graph 'net': Sequential, 3 ops, 3 calls>
    >>> graph.op("a").class_name, graph.call("a").outputs[0].shape, graph.parameters
    ('Dense', (None, 3), 15)
    >>> [call.id for call in graph.consumers("a")]
    ['b']
    >>> graph == ramet.Graph.from_json(graph.to_json())
    True
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

    def _summary(self) -> str:
        return f"{self.name!r}: {self.class_name}, {len(self.ops)} ops, {len(self.calls)} calls"

    def __report__(self) -> Document:
        from ramet._graph.text import graph_document

        return graph_document(self)

    def to_html(self) -> str:
        """Return the page of `ramet.draw`: the model to explore, in one file that works from disk."""
        from ramet._graph.text import draw_picture

        # Drawing may not be installed, or fail.
        return attempt(lambda: str(draw_picture(self).to_html())) or Result.to_html(self)

    def _html(self) -> str:
        from ramet._graph.text import draw_picture, fits_notebook

        drawing = attempt(lambda: draw_picture(self)._repr_html_() or "") if fits_notebook(self) else None
        return drawing or Result._html(self)

    def __reduce__(self) -> tuple[object, ...]:
        # Through JSON, which is flat: pickle itself recurses.
        return Graph.from_json, (self.to_json(),)

    def to_json(self) -> str:
        """Return the graph as JSON: the same text for equal graphs, one line per op and call.

        >>> from ramet import Graph
        >>> print(Graph("net", "Functional").to_json())
        {"ramet": "graph", "version": 1,
         "graphs": [
          {"name": "net", "class_name": "Functional", "kind": "functional"}]}
        <BLANKLINE>
        """
        from ramet._graph.json_write import to_json

        return to_json(self)

    @staticmethod
    def from_json(text: str) -> Graph:
        """Return the graph that `to_json` wrote as this text.

        Nothing in the text is trusted: every field has a type, and every number a range.

        Raises:
            FormatError: The text is not the JSON of a graph; the error locates the problem.
        """
        from ramet._graph.json_read import from_json

        if not isinstance(text, str | bytes):
            raise FormatError(
                f"Cannot read a graph from an object of class {type(text).__name__}: it is not text.",
                fix="pass the text that to_json() returned.",
            )
        return from_json(text)

    @property
    def has_calls(self) -> bool:
        """True if there is a call graph; a subclassed model or a layer on its own has none."""
        return self.kind not in ("subclassed", "layer")

    @property
    def held(self) -> tuple[Op, ...]:
        """All ops directly in the graph: those that are called, then the others."""
        return self.ops + self.extras if self.extras else self.ops

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the graph's JSON, the same for equal graphs."""
        if self._index.fingerprint is None:
            from ramet._graph.json_write import fingerprint

            self._index.fingerprint = fingerprint(self)
        return self._index.fingerprint

    def _text(self) -> str:
        return self.fingerprint

    # Ops, calls and edges of this graph alone.

    def op(self, op_id: str) -> Op:
        """Return the op with this id.

        Raises:
            UnknownPathError: The graph has no such op; the error lists the closest ids.
        """
        return self._look_up(self._index.ops, op_id, "op")

    def call(self, call_id: str) -> Call:
        """Return the call with this id.

        Raises:
            UnknownPathError: The graph has no such call; the error lists the closest ids.
        """
        return self._look_up(self._index.calls, call_id, "call")

    def calls_of(self, op_id: str) -> tuple[Call, ...]:
        """Return the calls of the op with this id, in order."""
        return self._index.calls_of.get(op_id, ())

    def value(self, ref: Ref) -> Value:
        """Return the value that a ref points to.

        Raises:
            UnknownPathError: The graph has no such call.
            GraphError: The call has no such output.
        """
        outputs = self.call(ref.call).outputs
        if not 0 <= ref.output < len(outputs):
            raise GraphError(
                f"Cannot read output {ref.output} of the call '{ref.call}': it has {len(outputs)}.", path=ref.call
            )
        return outputs[ref.output]

    def consumers(self, source: Ref | str) -> tuple[Call, ...]:
        """Return the calls that use a value, or any value of the call with this id; each once, in order."""
        if isinstance(source, Ref):
            return self._index.consumers.get(source, ())
        return self._calls_at(self._index.after[self._position(source)])

    def producers(self, call_id: str) -> tuple[Call, ...]:
        """Return the calls whose values a call uses; each once, in the order of its arguments."""
        return self._calls_at(self._index.before[self._position(call_id)])

    def output_numbers(self, ref: Ref) -> tuple[int, ...]:
        """Return the positions of a value in the flat list of the graph's outputs; () if it is not an output."""
        return self._index.output_refs.get(ref, ())

    def order(self) -> tuple[Call, ...]:
        """Return all calls, producers before consumers, otherwise in their current order.

        Raises:
            GraphError: Some calls form a cycle.
        """
        done, stuck = sort(self._index.before, self._index.after)
        if stuck:
            names = [self.calls[position].id for position in stuck]
            raise GraphError(f"Cannot order the calls of '{self.name}': some of them form a cycle.", closest=names)
        return self._calls_at(done)

    def ancestors_of(self, *calls: Ref | str) -> tuple[Call, ...]:
        """Return these calls and all calls that they depend on, in order."""
        return self._calls_at(reach(map(self._position, calls), self._index.before))

    def reachable_from(self, *sources: Ref | str) -> tuple[Call, ...]:
        """Return these calls and all calls that depend on them, in order; a ref denotes the calls that use it."""
        starts: list[int] = []
        for source in sources:
            own = self._position(source)
            used = (self._index.positions[call.id] for call in self.consumers(source))
            starts += used if isinstance(source, Ref) else (own,)
        return self._calls_at(reach(starts, self._index.after))

    def _position(self, call: Ref | str) -> int:
        name = call.call if isinstance(call, Ref) else call
        return self._look_up(self._index.positions, name, "call")

    def _calls_at(self, positions: Iterable[int]) -> tuple[Call, ...]:
        return tuple(self.calls[position] for position in positions)

    def _look_up(self, known: Mapping[str, _Found], name: str, kind: str) -> _Found:
        try:
            return known[name]
        except KeyError:
            raise UnknownPathError(
                f"Cannot find the {kind} '{name}': the graph '{self.name}' has no {kind} with this id.",
                closest=_closest(name, known),
                path=name,
            ) from None

    # Paths through all levels.

    def walk(self) -> Iterator[tuple[str, Op]]:
        """Yield every op with its path, in order, through nested models and layers that hold layers.

        An op comes before the ops inside it. Stubs are empty, so they are not entered.
        """
        levels: list[tuple[str, Iterator[Op]]] = [("", iter(self.held))]
        while levels:
            prefix, ops = levels[-1]
            for op in ops:
                path = prefix + op.id
                yield path, op
                inside = op.inside
                if inside:
                    levels.append((f"{path}/", iter(inside)))
                    break
            else:
                levels.pop()

    def variables(self) -> Iterator[tuple[str, VariableSpec]]:
        """Yield every variable with its path, in order: the model's own first, then those of its ops."""
        if self.root is not None:
            for spec in self.root.variables:
                yield spec.id, spec
        for path, op in self.walk():
            for spec in op.variables:
                yield f"{path}/{spec.id}", spec

    def find(self, path: str, *, follow: bool = True) -> Op:
        """Return the op at a path, which may lead through any occurrence of a shared op.

        Args:
            path: The ids of the ops from below the root down, joined by `/`.
            follow: Whether a stub at the end of the path is replaced by the first occurrence of the op.

        Raises:
            UnknownPathError: There is no op at this path; the error lists the closest paths.
        """
        parts = path.split("/")
        jumped: set[str] = set()
        depth = 0
        op: Op | None = None
        while True:
            op = self._inside(op, parts, depth)
            depth += 1
            if op.same_as is not None and (follow or depth < len(parts)):
                # Start again at the first occurrence of this op. Two stubs that name each other would loop forever.
                if op.same_as in jumped:
                    raise self._unknown(path, f"'{op.same_as}' refers to itself")
                jumped.add(op.same_as)
                parts = [*op.same_as.split("/"), *parts[depth:]]
                depth, op = 0, None
            elif depth == len(parts):
                return op

    def _inside(self, op: Op | None, parts: list[str], depth: int) -> Op:
        inner = self if op is None else op.graph
        if inner is not None:
            known = inner._index.ops
        else:
            known = {} if op is None else {child.id: child for child in reversed(op.children)}
        found = known.get(parts[depth])
        if found is None:
            holder = f"'{'/'.join(parts[:depth])}'" if depth else f"the model '{self.name}'"
            prefix = "/".join([*parts[:depth], ""])
            near = [prefix + name for name in _closest(parts[depth], known)]
            raise self._unknown("/".join(parts), f"{holder} has no op '{parts[depth]}'", near)
        return found

    def _unknown(self, path: str, reason: str, near: Sequence[str] = ()) -> UnknownPathError:
        return UnknownPathError(f"Cannot find '{path}' in '{self.name}': {reason}.", closest=near, path=path)

    @property
    def parameters(self) -> int:
        """Number of parameters, tied ones counted once."""
        return sum(spec.size for _, spec in self.variables() if spec.weight and spec.tied is None)


def _closest(name: str, known: Mapping[str, object]) -> list[str]:
    return difflib.get_close_matches(name, list(itertools.islice(known, _COMPARED)), n=3)
