"""Capture a live model of any kind as a frozen graph, without calling anything."""

from __future__ import annotations

from typing import Any

import keras

from ramet._graph import UNRECORDED, Argument, Call, Graph, Mask, Op, Ref, Value, VariableSpec, call_id
from ramet._keras import structure
from ramet._keras.calls import sort_calls
from ramet._keras.frozen import freeze_argument, op_kind, op_settings
from ramet._keras.masks import mask_kinds, recorded_mask, taken_masks
from ramet._keras.names import check_version
from ramet._keras.tree import OpLocation, locations_below, variables_at
from ramet.errors import NotAModelError


def capture_model(model: Any) -> Graph:
    """Return the graph of a live model or layer."""
    check_version()
    if not isinstance(model, keras.Layer):
        raise NotAModelError(
            f"Cannot capture an object of class {type(model).__name__}: it is not a model or layer.",
            expected="a Keras model or layer",
            fix="pass a model, or a layer on its own.",
        )
    locations = locations_below(model)
    variables = _variables(locations)
    built: dict[int, Op] = {}
    # In reverse, because ops inside an op come after it, and must be captured before it.
    for location in reversed(locations):
        built[id(location)] = _op(location, variables.get(id(location), ()), built)
    top, root = locations[0], built[id(locations[0])]
    return _graph_of(top, built, root=root.with_changes(graph=None, children=()))


def live_calls(model: Any) -> dict[str, Any]:
    """Return the live calls of a model with a call graph, by the ids that its captured graph gives them."""
    top = next(iter(locations_below(model)))
    calls = sort_calls(structure.calls_of(structure.function_of(model)))
    ids = _call_ids(calls, {id(child.op): child.id for child in top.called})
    return {ids[id(call)]: call for call in calls}


def _op(location: OpLocation, variables: tuple[VariableSpec, ...], built: dict[int, Op]) -> Op:
    op = location.op
    if location.same_as is not None:
        return Op(location.id, op_kind(op), type(op).__name__, same_as=location.same_as, name=structure.name_of(op))
    settings = op_settings(op)
    if isinstance(op, keras.Model):
        return Op(
            location.id,
            "model",
            variables=variables,
            graph=_graph_of(location, built),
            name=structure.name_of(op),
            **settings,
        )
    children = tuple(built[id(child)] for child in location.called + location.extras)
    return Op(location.id, op_kind(op), variables=variables, children=children, name=structure.name_of(op), **settings)


def _graph_of(location: OpLocation, built: dict[int, Op], root: Op | None = None) -> Graph:
    model = location.op
    function = structure.function_of(model)
    ops = tuple(built[id(child)] for child in location.called)
    extras = tuple(built[id(child)] for child in location.extras)
    name, class_name = structure.name_of(model), type(model).__name__
    if function is None:
        kind = "sequential" if isinstance(model, keras.Sequential) else "subclassed"
        if not isinstance(model, keras.Model):
            kind = "layer"
        return Graph(name, class_name, kind, ops=ops, extras=extras, root=root)  # type: ignore[arg-type]
    ids = {id(child.op): child.id for child in location.called}
    calls = sort_calls(structure.calls_of(function))
    call_ids = _call_ids(calls, ids)
    recorded = _Recorded(calls, call_ids)
    return Graph(
        name,
        class_name,
        "sequential" if isinstance(model, keras.Sequential) else "functional",
        ops=ops,
        calls=tuple(_call(call, call_ids[id(call)], ids[id(call.operation)], recorded) for call in calls),
        inputs=freeze_argument(structure.inputs_of(function), recorded.ref_of),
        outputs=freeze_argument(structure.outputs_of(function), recorded.ref_of),
        extras=extras,
        root=root,
    )


def _call_ids(calls: list[Any], ids: dict[int, str]) -> dict[int, str]:
    counts: dict[int, int] = {}
    found = {}
    for call in calls:
        op = id(call.operation)
        counts[op] = counts.get(op, 0) + 1
        found[id(call)] = call_id(ids[op], counts[op])
    return found


class _Recorded:
    """The calls of one graph, by the tensors they make."""

    def __init__(self, calls: list[Any], call_ids: dict[int, str]) -> None:
        self._refs = {
            id(tensor): Ref(call_ids[id(call)], index) for call in calls for index, tensor in enumerate(call.outputs)
        }
        # Even without sparse inputs, Keras marks the product of a tensor and a number as sparse.
        self.has_sparse_inputs = any(tensor.sparse for call in calls if call.is_input for tensor in call.outputs)
        self._masks = taken_masks(calls)

    def ref_of(self, tensor: Any) -> Ref | None:
        return self._refs.get(id(tensor))

    def mask_of(self, tensor: Any) -> Mask:
        mask = structure.mask_of(tensor)
        if mask is None:
            return None
        recorded = recorded_mask(mask, self._refs, self._masks)
        return UNRECORDED if recorded is None else self.ref_of(recorded)


def _call(call: Any, own_id: str, op_id: str, recorded: _Recorded) -> Call:
    op = call.operation
    is_input = isinstance(op, keras.layers.InputLayer)
    outputs = tuple(_value(tensor, op, recorded, is_input=is_input) for tensor in call.outputs)
    return Call(
        own_id,
        op_id,
        args=() if is_input else freeze_argument(tuple(call.arguments.args), recorded.ref_of),  # type: ignore[arg-type]
        kwargs=freeze_argument({} if is_input else dict(call.arguments.kwargs), recorded.ref_of),  # type: ignore[arg-type]
        outputs=outputs,
        structure=_structure(op, len(outputs)),
        mask_kinds=mask_kinds(call),
    )


def _value(tensor: Any, op: Any, recorded: _Recorded, *, is_input: bool) -> Value:
    return Value(
        tuple(tensor.shape),
        str(tensor.dtype),
        sparse=bool(tensor.sparse) and recorded.has_sparse_inputs,
        ragged=bool(getattr(tensor, "ragged", False)),
        optional=bool(is_input and getattr(op, "optional", False)),
        name=tensor.name if is_input else None,
        mask=recorded.mask_of(tensor),
    )


def _structure(op: Any, count: int) -> Argument:
    """Return how the outputs of an op are nested.

    Keras records it for models only; the outputs of other ops are a single tensor or a list.
    """
    function = structure.function_of(op)
    if function is None:
        return 0 if count == 1 else freeze_argument(list(range(count)))
    numbers = iter(range(count))
    return freeze_argument(keras.tree.map_structure(lambda _: next(numbers), structure.outputs_of(function)))


def _variables(locations: list[OpLocation]) -> dict[int, tuple[VariableSpec, ...]]:
    """Return the variables that each op owns; a variable that was found before refers to its first path."""
    first: dict[int, str] = {}
    found: dict[int, tuple[VariableSpec, ...]] = {}
    for location in locations:
        specs = []
        for own_id, variable, is_weight in variables_at(location):
            path = f"{location.path}/{own_id}".lstrip("/")
            tied = first.setdefault(id(variable), path)
            specs.append(
                VariableSpec(
                    own_id,
                    None if variable.shape is None else tuple(variable.shape),
                    str(variable.dtype),
                    trainable=bool(variable.trainable),
                    weight=is_weight,
                    tied=None if tied == path else tied,
                    name=variable.name,
                )
            )
        found[id(location)] = tuple(specs)
    return found
