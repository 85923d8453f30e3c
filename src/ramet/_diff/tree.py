"""The ops of a model as a tree of nodes, and signatures that show which of them are alike."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ramet._diff.values import IGNORED_KEYS, tokens
from ramet._graph import Call, Graph, Op, Ref

_NAMES = IGNORED_KEYS | {"name"}
_FLAGS = _NAMES | {"trainable", "dtype"}

View: TypeAlias = Literal["identical", "exact", "loose", "rough"]


@dataclass(slots=True, eq=False)
class Node:
    """One occurrence of an op in the nesting of a model.

    Attributes:
        path: The path below the model; "" for the model itself.
        op: The op.
        parent: The node that holds it; None for the model itself.
        number: The position among its siblings.
        graph: The graph inside it, if it is a model.
        children: The nodes directly inside it.
        by_id: The same nodes by the ids of their ops. If ids are not unique, which `lint` reports, the first one counts.
        first: The first node of the same object: this one, unless the op is shared.
    """

    path: str
    op: Op
    parent: Node | None = None
    number: int = 0
    graph: Graph | None = None
    children: list[Node] = field(default_factory=list)
    by_id: dict[str, Node] = field(default_factory=dict)
    first: Node = field(init=False)

    def __post_init__(self) -> None:
        self.first = self

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of the op in the graph around it."""
        around = self.around
        return () if around is None else around.calls_of(self.op.id)

    @property
    def around(self) -> Graph | None:
        """The graph around it, if that has calls."""
        graph = None if self.parent is None else self.parent.graph
        return graph if graph is not None and graph.calls else None

    def producer(self, ref: Ref) -> Node | None:
        """Return the node inside it that produces a value."""
        call = None if self.graph is None else self.graph._index.calls.get(ref.call)
        return None if call is None else self.by_id.get(call.op)


class OpTree:
    """All nodes of a model, each before its children.

    Attributes:
        graph: The model.
        nodes: The nodes; the model itself comes first.
        root: The node of the model itself.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.root = Node("", graph.root or Op(graph.name, "model", graph.class_name), graph=graph)
        self.nodes: list[Node] = []
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            self.nodes.append(node)
            held = node.graph.held if node.graph is not None else node.op.children
            prefix = f"{node.path}/" if node.parent is not None else ""
            node.children = [Node(prefix + op.id, op, node, number, op.graph) for number, op in enumerate(held)]
            node.by_id = {child.op.id: child for child in reversed(node.children)}
            waiting.extend(reversed(node.children))
        # If paths are not unique, which `lint` reports, the first node counts.
        by_path = {node.path: node for node in reversed(self.nodes)}
        for node in self.nodes:
            if node.op.same_as is not None:
                node.first = by_path.get(node.op.same_as, node)


@dataclass(frozen=True, slots=True)
class Signature:
    """Numbers that are equal for ops that are alike, from the strictest meaning of "alike" to the loosest.

    Attributes:
        identical: Everything is equal, including names, all the way down.
        exact: Everything but names is equal: class, settings, variables, children.
        loose: Class and settings are equal; flags, dtypes and shapes of variables may differ.
        rough: The class is equal.
    """

    identical: int
    exact: int
    loose: int
    rough: int


class Signatures(dict[Node, Signature]):
    """The signatures of the nodes of two models.

    One table hands out the numbers for both models, so that equal numbers mean equal ops: unlike hashes, they cannot collide.
    """

    def __init__(self, *trees: OpTree) -> None:
        super().__init__()
        self._numbers: dict[tuple[object, ...], int] = {}
        for tree in trees:
            # Children come after their parent.
            for node in reversed(tree.nodes):
                self[node] = self._signature(node)

    def alike(self, one: Node, other: Node, view: View) -> bool:
        """Return whether two nodes have the same number in one meaning of "alike"."""
        return bool(getattr(self[one], view) == getattr(self[other], view))

    def _number(self, *key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _signature(self, node: Node) -> Signature:
        op = node.op
        children = [self[child] for child in node.children]
        rough = self._number("rough", op.kind, op.class_name)
        nameless = self._number("config", op.no_config, *tokens(op.config, _NAMES))
        settings = self._number("settings", op.no_config, *tokens(op.config, _FLAGS))
        shapes = tuple((spec.id, spec.shape, spec.dtype, spec.trainable, spec.weight) for spec in op.variables)
        flags = (op.module, op.registered_name, op.trainable, op.dtype_policy, op.built, *tokens(op.flags))
        stub = op.same_as is not None
        exact = self._number("exact", rough, nameless, stub, *flags, shapes, *(child.exact for child in children))
        names = tuple(spec.id for spec in op.variables)
        loose = self._number("loose", rough, settings, names, *(child.loose for child in children))
        wiring = None if node.graph is None else self._wiring(node.graph)
        identical = self._number(
            "identical", exact, op.id, op.name, op.same_as, op.variables,
            self._number("config", *tokens(op.config)), wiring, *(child.identical for child in children),
        )  # fmt: skip
        return Signature(identical, exact, loose, rough)

    def _wiring(self, graph: Graph) -> int:
        calls = tuple(
            self._number(
                "call", call.id, call.outputs, call.mask_kinds, *tokens((call.args, call.kwargs, call.structure))
            )
            for call in graph.calls
        )
        ends = tokens((graph.inputs, graph.outputs))
        return self._number("wiring", graph.name, graph.class_name, graph.kind, len(graph.ops), calls, *ends)


def has_automatic_name(op: Op) -> bool:
    """Return whether an op has a name that Keras generates, such as `conv2d` or `conv2d_3`, which identifies little."""
    name = re.sub(r"\W+", "", op.class_name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    snake_case = re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
    return re.sub(r"_[0-9]+$", "", op.name) == snake_case
