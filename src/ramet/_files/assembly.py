"""The graph of a model, assembled from its config and its weights file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ramet._files.calls import functional_calls, sequential_calls
from ramet._files.draft import DraftOp, WeightTree, draft_ops
from ramet._files.json_data import Json
from ramet._files.keras_2 import legacy_variables, legacy_weights
from ramet._files.keras_layers import is_trainable, variable_names
from ramet._files.limits import Limits
from ramet._files.listing import ArraySpec, Listing
from ramet._files.serialized import SerializedLayer, freeze_config
from ramet._graph import FrozenDict, Graph, Op, VariableSpec, lint
from ramet._report import escape
from ramet.errors import GraphError

# Wrappers that hold the very variable of the layer inside: both save it.
_SHARES_WITH_INNER = frozenset({"SpectralNormalization"})


@dataclass(frozen=True, slots=True)
class AssembledModel:
    """A graph, and what it was made from.

    Attributes:
        graph: The graph of the model.
        arrays: Paths of arrays in the weights file, by the path of the variable.
        configs: Serialized layers, by the path of the op; the path of the model itself is empty.
    """

    graph: Graph
    arrays: dict[str, str]
    configs: dict[str, dict[str, Json]]


def assemble(root: SerializedLayer | None, listing: Listing, limits: Limits, *, legacy: bool = False) -> AssembledModel:
    """Assemble the model in a config and a weights file.

    Args:
        root: The model in the config; None for weights without a config.
        listing: The weights file; an empty listing if there is none.
        limits: The limits on what is read.
        legacy: Whether the weights file is in the format of Keras 2, which names weights instead of numbering them.
    """
    tree = WeightTree(Listing() if legacy else listing)
    if legacy and root is None:
        drafts, named = legacy_weights(listing)
    else:
        drafts = draft_ops(root, tree)
        named = legacy_variables(drafts, listing) if legacy else {}
    arrays: dict[str, str] = {}
    ops: dict[int, Op] = {}
    # From the last draft to the first: the ops inside an op come after it, and an op needs them.
    for draft in reversed(drafts):
        found = named.get(draft.path, []) if legacy else _numbered(draft, tree)
        ops[id(draft)] = _op(draft, ops, _variables(draft, found, arrays), limits)
    top = ops[id(drafts[0])]
    assert top.graph is not None, "the root is a model"
    graph = top.graph.with_changes(root=top.with_changes(graph=None))
    problems = lint(graph)
    if problems:
        raise GraphError(
            f"Cannot read the model: {escape(problems[0].message)}", path=problems[0].path or None, problems=problems
        )
    configs = {draft.path: draft.layer.raw for draft in drafts if draft.layer is not None}
    return AssembledModel(graph, {path: arrays[path] for path, _ in graph.variables() if path in arrays}, configs)


def _op(draft: DraftOp, ops: dict[int, Op], variables: tuple[VariableSpec, ...], limits: Limits) -> Op:
    layer = draft.layer
    if draft.same_as is not None:
        return Op(draft.id, draft.kind, draft.class_name, same_as=draft.same_as, name=draft.name)
    settings = _settings(layer) if layer else {"config": None, "no_config": "only its weights are known"}
    graph = _graph(draft, ops, limits) if draft.kind == "model" else None
    children = () if graph is not None else tuple(ops[id(child)] for child in draft.called + draft.extras)
    if draft.class_name in _SHARES_WITH_INNER:
        children = tuple(_tied(child, variables, draft.path) for child in children)
    return Op(
        draft.id or draft.name,
        draft.kind,
        draft.class_name,
        variables=variables,
        graph=graph,
        children=children,
        name=draft.name,
        **settings,
    )


def _tied(child: Op, owned: tuple[VariableSpec, ...], path: str) -> Op:
    """Tie the variables that the owner of an op has, too."""
    names = {(spec.id, spec.shape) for spec in owned}
    specs = [
        spec.with_changes(tied=f"{path}/{spec.id}") if (spec.id, spec.shape) in names else spec
        for spec in child.variables
    ]
    return child.with_changes(variables=tuple(specs))


def _graph(draft: DraftOp, ops: dict[int, Op], limits: Limits) -> Graph:
    called = {child.id: ops[id(child)] for child in draft.called}
    extras = tuple(ops[id(child)] for child in draft.extras)
    layer = draft.layer
    found = None
    kind: Literal["functional", "sequential", "subclassed"] = "subclassed"
    if layer is not None and layer.is_functional:
        kind = "functional"
        found = functional_calls(draft, layer, called, limits)
    elif layer is not None and layer.is_sequential:
        kind = "sequential"
        found = sequential_calls(draft, called)
    if found is None:
        return Graph(draft.name, draft.class_name, kind, tuple(called.values()), extras=extras)
    ids = {call.op for call in found[0]}
    busy = tuple(op for op in called.values() if op.id in ids)
    idle = tuple(op for op in called.values() if op.id not in ids)
    return Graph(draft.name, draft.class_name, kind, busy, *found, idle + extras)


def _settings(layer: SerializedLayer) -> dict[str, Any]:
    config = None
    if layer.is_functional or (layer.is_sequential and layer.config.get("layers")):
        # The rest of such a config is its layers and calls, which are in the graph.
        config = FrozenDict((("name", layer.name), ("trainable", layer.config.get("trainable") is not False)))
    elif isinstance(layer.raw.get("config"), dict):
        config = freeze_config(layer.config)
    return {
        "module": layer.module,
        "registered_name": layer.text("registered_name") or layer.class_name,
        "config": config,
        "no_config": None if config is not None else "the file has no config of it",
        "trainable": layer.config.get("trainable") is not False,
        # The dtype of an input is that of its values, not a policy.
        "dtype_policy": None if layer.kind == "input" else _policy_name(layer.config.get("dtype")),
    }


def _policy_name(dtype: Any) -> str | None:
    if isinstance(dtype, str):
        return dtype
    config = dtype.get("config") if isinstance(dtype, dict) else None
    if not isinstance(config, dict):
        return None
    name, mode, source = (config.get(key) for key in ("name", "mode", "source_name"))
    if isinstance(mode, str) and isinstance(source, str):
        return f"{mode}_from_{source}"
    return name if isinstance(name, str) else None


def _numbered(draft: DraftOp, tree: WeightTree) -> list[tuple[str, str, ArraySpec]]:
    """Return the op's own variables as name, path in the file and spec."""
    found = [] if draft.group is None else tree.arrays(draft.group)
    config = draft.layer.config if draft.layer else {}
    names = variable_names(draft.class_name, config, [key for key, _, _ in found])
    return [(name, real, spec) for name, (_, real, spec) in zip(names, found, strict=True)]


def _variables(
    draft: DraftOp, found: list[tuple[str, str, ArraySpec]], arrays: dict[str, str]
) -> tuple[VariableSpec, ...]:
    """Return the specs of an op's variables, and add the paths of their arrays to `arrays`."""
    if draft.same_as is not None:
        return ()
    config = draft.layer.config if draft.layer else {}
    weight = not draft.is_state
    trainable = weight and config.get("trainable") is not False
    specs = []
    for name, real, spec in found:
        arrays[f"{draft.path}/{name}" if draft.path else name] = real
        own = trainable and is_trainable(name, config)
        specs.append(VariableSpec(name, spec.shape, spec.dtype, trainable=own, weight=weight))
    return tuple(specs)
