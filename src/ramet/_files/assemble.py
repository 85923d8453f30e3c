"""From the parts of a file to a graph."""

from __future__ import annotations

from typing import Any

from ramet._files.frozen import freeze_settings
from ramet._files.legacy import legacy_variables, legacy_weights
from ramet._files.level import functional_level, sequential_level
from ramet._files.limits import Limits
from ramet._files.listing import ArraySpec, Listing
from ramet._files.part import Part, parts_below
from ramet._files.record import Record
from ramet._files.text import Json
from ramet._files.variable import is_trainable, variable_names
from ramet._files.weight_tree import WeightTree
from ramet._graph import FrozenDict, Graph, GraphError, Op, VariableSpec, escape, lint

__all__ = ["Assembled", "assemble"]

# Wrappers that hold the very variable of the layer inside: both save it.
_SHARES_WITH_INNER = frozenset({"SpectralNormalization"})


class Assembled:
    """A graph, and where the numbers of its variables lie.

    Attributes:
        graph: of the model.
        arrays: by the path of a variable, the path of its array in the weights file.
        records: by the path of an op, what the config says of it; the model itself has an empty path.
    """

    def __init__(self, graph: Graph, arrays: dict[str, str], records: dict[str, dict[str, Json]]) -> None:
        self.graph = graph
        self.arrays = arrays
        self.records = records


def assemble(root: Record | None, listing: Listing, limits: Limits, *, legacy: bool = False) -> Assembled:
    """The graph of the model that a config and a weights file tell of.

    Args:
        root: the model in the config; None for weights alone.
        listing: the weights file; an empty one where there is none.
        limits: how much they may hold.
        legacy: whether the weights file is of Keras 2, which names weights instead of counting them.
    """
    tree = WeightTree(Listing() if legacy else listing)
    if legacy and root is None:
        parts, named = legacy_weights(listing)
    else:
        parts = parts_below(root, tree)
        named = legacy_variables(parts, listing) if legacy else {}
    arrays: dict[str, str] = {}
    ops: dict[int, Op] = {}
    # From the last part to the first: what is inside a part comes after it, and an op needs its inside.
    for part in reversed(parts):
        found = named.get(part.path, []) if legacy else _numbered(part, tree)
        ops[id(part)] = _op(part, ops, _variables(part, found, arrays), limits)
    top = ops[id(parts[0])]
    assert top.graph is not None, "the root is a model"
    graph = top.graph.with_changes(root=top.with_changes(graph=None))
    problems = lint(graph)
    if problems:
        raise GraphError(
            f"Cannot read the model: {escape(problems[0].message)}", path=problems[0].path or None, problems=problems
        )
    records = {part.path: part.record.raw for part in parts if part.record is not None}
    return Assembled(graph, {path: arrays[path] for path, _ in graph.variables() if path in arrays}, records)


def _op(part: Part, ops: dict[int, Op], variables: tuple[VariableSpec, ...], limits: Limits) -> Op:
    record = part.record
    if part.same_as is not None:
        return Op(part.id, part.kind, part.class_name, same_as=part.same_as, name=part.name)
    settings: dict[str, Any] = (
        _settings(record) if record else {"config": None, "no_config": "only its weights are known"}
    )
    graph = _graph(part, ops, limits) if part.kind == "model" else None
    children = () if graph is not None else tuple(ops[id(child)] for child in part.called + part.extras)
    if part.class_name in _SHARES_WITH_INNER:
        children = tuple(_tied(child, variables, part.path) for child in children)
    return Op(
        part.id or part.name,
        part.kind,
        part.class_name,
        variables=variables,
        graph=graph,
        children=children,
        name=part.name,
        **settings,
    )


def _tied(child: Op, owned: tuple[VariableSpec, ...], path: str) -> Op:
    """The op with those variables tied that its owner has, too: they are told at the owner first."""
    names = {(spec.id, spec.shape) for spec in owned}
    specs = [
        spec.with_changes(tied=f"{path}/{spec.id}") if (spec.id, spec.shape) in names else spec
        for spec in child.variables
    ]
    return child.with_changes(variables=tuple(specs))


def _graph(part: Part, ops: dict[int, Op], limits: Limits) -> Graph:
    called = {child.id: ops[id(child)] for child in part.called}
    extras = tuple(ops[id(child)] for child in part.extras)
    record = part.record
    if record is not None and record.is_functional:
        level = functional_level(part, record, called, limits)
        idle = tuple(op for op in called.values() if op.id in level.idle)
        busy = tuple(op for op in called.values() if op.id not in level.idle)
        return Graph(
            part.name, part.class_name, "functional", busy, level.calls, level.inputs, level.outputs, idle + extras
        )
    if record is not None and record.is_sequential:
        row = sequential_level(part, called, limits)
        held = tuple(called.values())
        if row is None:
            return Graph(part.name, part.class_name, "sequential", held, extras=extras)
        return Graph(part.name, part.class_name, "sequential", held, row.calls, row.inputs, row.outputs, extras)
    return Graph(part.name, part.class_name, "subclassed", tuple(called.values()), extras=extras)


def _settings(record: Record) -> dict[str, Any]:
    config, reason = None, "the file has no config of it"
    if record.is_functional or (record.is_sequential and record.setting("layers")):
        # The rest of such a config is its layers and calls, which the graph says.
        config = FrozenDict((("name", record.name), ("trainable", record.setting("trainable") is not False)))
    elif record.config is not None:
        config = freeze_settings(record.config)
    return {
        "module": record.module,
        "registered_name": record.text("registered_name") or record.class_name,
        "config": config,
        "no_config": None if config is not None else reason,
        "trainable": record.setting("trainable") is not False,
        # An input's dtype is that of its values, and not a policy.
        "dtype_policy": None if record.kind == "input" else _policy(record.setting("dtype")),
    }


def _policy(dtype: Any) -> str | None:
    """The name of a dtype policy."""
    if isinstance(dtype, str):
        return dtype
    config = dtype.get("config") if isinstance(dtype, dict) else None
    if not isinstance(config, dict):
        return None
    name, mode, source = (config.get(key) for key in ("name", "mode", "source_name"))
    if isinstance(mode, str) and isinstance(source, str):
        return f"{mode}_from_{source}"
    return name if isinstance(name, str) else None


def _numbered(part: Part, tree: WeightTree) -> list[tuple[str, str, ArraySpec]]:
    """The op's own variables: name, path in the file, what it is."""
    found = [] if part.group is None else tree.arrays(part.group)
    config = part.record.config if part.record else None
    names = variable_names(part.class_name, config or {}, [key for key, _, _ in found])
    return [(name, real, spec) for name, (_, real, spec) in zip(names, found, strict=True)]


def _variables(part: Part, found: list[tuple[str, str, ArraySpec]], arrays: dict[str, str]) -> tuple[VariableSpec, ...]:
    if part.same_as is not None:
        return ()
    config = (part.record.config if part.record else None) or {}
    weight = not part.is_state
    trainable = weight and config.get("trainable") is not False
    specs = []
    for name, real, spec in found:
        arrays[f"{part.path}/{name}" if part.path else name] = real
        own = trainable and is_trainable(name, config)
        specs.append(VariableSpec(name, spec.shape, spec.dtype, trainable=own, weight=weight))
    return tuple(specs)
