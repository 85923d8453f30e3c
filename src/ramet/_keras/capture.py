"""The tree of ops below a live model, each with its path, and the capture of any model as a frozen graph.

Nothing is called.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import keras

from ramet._graph import UNRECORDED, Argument, Call, Graph, Mask, Op, Ref, Value, VariableSpec, call_id
from ramet._keras import structure
from ramet._keras.calls import sort_calls
from ramet._keras.frozen import freeze_argument, op_kind, op_settings
from ramet._keras.masks import mask_kinds, recorded_mask, taken_masks
from ramet._keras.names import check_version
from ramet.errors import NotAModelError


@dataclass
class OpLocation:
    """One location in the tree of ops.

    Attributes:
        op: The live op.
        id: Unique among its siblings.
        path: From below the root.
        called: The ops of its call graph, or the layers it holds if it has none.
        extras: Other layers that a model with a call graph holds.
        same_as: The first path of the op, if it occurred before.
    """

    op: Any
    id: str
    path: str
    called: list[OpLocation] = field(default_factory=list)
    extras: list[OpLocation] = field(default_factory=list)
    same_as: str | None = None


def locations_below(root: Any) -> list[OpLocation]:
    """Return all locations in reading order, the root first. The inside of an op always comes after it."""
    first: dict[int, str] = {}
    top = OpLocation(root, structure.name_of(root), "")
    found = []
    waiting = [top]
    while waiting:
        location = waiting.pop()
        found.append(location)
        if id(location.op) in first:
            location.same_as = first[id(location.op)]
            continue
        first[id(location.op)] = location.path
        called, extras = _inside(location.op)
        ids = unique_ids([structure.name_of(op) for op in called + extras])
        children = [
            OpLocation(op, name, f"{location.path}/{name}".lstrip("/"))
            for op, name in zip(called + extras, ids, strict=True)
        ]
        location.called, location.extras = children[: len(called)], children[len(called) :]
        waiting.extend(reversed(children))
    return found


def _inside(op: Any) -> tuple[list[Any], list[Any]]:
    function = structure.function_of(op)
    held = structure.layers_of(op)
    if function is None:
        return held if isinstance(op, keras.Sequential) else structure.once(held), []
    called = list(function.operations)
    known = {id(item) for item in called}
    return called, [layer for layer in structure.once(held) if id(layer) not in known]


def variables_at(location: OpLocation) -> list[tuple[str, Any, bool]]:
    """Return the variables that an op owns, each with its id and whether it is a weight; none where the op occurs again."""
    owned = [] if location.same_as is not None else list(structure.variables_of(location.op))
    ids = unique_ids([variable.name.replace("/", "_") for variable, _ in owned])
    return [(own_id, variable, is_weight) for own_id, (variable, is_weight) in zip(ids, owned, strict=True)]


def unique_ids(names: list[str]) -> list[str]:
    """Return the names, with `#2` appended to the second of the same name."""
    taken: set[str] = set()
    ids = []
    for name in names:
        candidate, count = name, 1
        while candidate in taken:
            count += 1
            candidate = f"{name}#{count}"
        taken.add(candidate)
        ids.append(candidate)
    return ids


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
    calls = _calls_in_order(structure.function_of(model))
    ids = _call_ids(calls, {id(child.op): child.id for child in top.called})
    return {ids[id(call)]: call for call in calls}


def _op(location: OpLocation, variables: tuple[VariableSpec, ...], built: dict[int, Op]) -> Op:
    op = location.op
    if location.same_as is not None:
        return Op(location.id, op_kind(op), type(op).__name__, same_as=location.same_as, name=structure.name_of(op))
    settings = op_settings(op) | {"name": structure.name_of(op), "variables": variables}
    if isinstance(op, keras.Model):
        return Op(location.id, "model", graph=_graph_of(location, built), **settings)
    children = tuple(built[id(child)] for child in location.called + location.extras)
    return Op(location.id, op_kind(op), children=children, **settings)


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
    calls = _calls_in_order(function)
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


def _calls_in_order(function: Any) -> list[Any]:
    """Return the calls of a functional model: its inputs first, in their order, then the others as Keras runs them.

    Keras lists the calls of each depth, and so the inputs, in the reverse of the order in which it found them.
    """
    calls = {id(call): call for call in structure.calls_of(function)}
    made = [structure.producing_call(tensor) for tensor in function.inputs]
    inputs = {id(call): call for call in made if id(call) in calls and call.is_input}
    return sort_calls(list((inputs | calls).values()))


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
