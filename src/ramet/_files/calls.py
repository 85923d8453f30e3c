"""The calls of a functional or Sequential model, from its config, in an order that can be run."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

from ramet._files.draft import DraftOp
from ramet._files.json_data import Json, misfit, walk_json, wrong_value
from ramet._files.limits import Limits
from ramet._files.serialized import SerializedLayer, freeze_arguments, map_json, parse_shape
from ramet._files.values import KnownTensor, mask_kinds, output_values
from ramet._graph import Argument, Call, FrozenDict, FrozenList, Op, Ref, call_id, refs
from ramet.errors import HostileFileError, ModelFileError

# The calls of a model in an order that can be run, and its inputs and outputs, nested as it takes and returns them.
ModelCalls: TypeAlias = tuple[tuple[Call, ...], Argument, Argument]
# Arguments of a call, by position and by name.
_Arguments: TypeAlias = tuple[tuple[Argument, ...], FrozenDict]

_CONSTANT = "_CONSTANT_VALUE"
_HISTORY = "a layer, the number of a call and the number of an output"


def functional_calls(draft: DraftOp, layer: SerializedLayer, ops: dict[str, Op], limits: Limits) -> ModelCalls:
    """Return the calls that the config of a functional model lists; `ops` are the ops inside, by id."""
    callees = _callees(draft, layer)
    _find_first_numbers(callees, layer)
    tensors = _Tensors(callees, limits)
    arguments: dict[str, _Arguments] = {}
    for callee in callees.values():
        for number, (raw, position) in enumerate(_inbound(callee.draft), 1):
            arguments[call_id(callee.draft.id, number)] = _read_arguments(raw, position, tensors)
    position = f"{layer.position}.config"
    inputs = _read_structure(layer.config.get("input_layers"), f"{position}.input_layers", tensors)
    outputs = _read_structure(layer.config.get("output_layers"), f"{position}.output_layers", tensors)
    calls: dict[str, Call] = {}
    for own_id, op_id in _sorted_calls(callees, arguments, layer):
        args, kwargs = arguments.get(own_id, ((), FrozenDict()))
        used = tensors.counts[own_id]
        values = output_values(ops[op_id], own_id, (args, kwargs), used, tensors.known, calls)
        calls[own_id] = Call(own_id, op_id, args, kwargs, *values)
    for own_id, kinds in mask_kinds(tuple(calls.values()), ops).items():
        calls[own_id] = calls[own_id].with_changes(mask_kinds=kinds)
    return tuple(calls.values()), inputs, outputs


def sequential_calls(draft: DraftOp, ops: dict[str, Op]) -> ModelCalls | None:
    """Return the calls of a Sequential model, each with the output of the one before; None for a model without an input."""
    if not draft.sequence or draft.sequence[0].kind != "input":
        return None
    known: dict[Ref, KnownTensor] = {}
    counts: Counter[str] = Counter()
    calls: dict[str, Call] = {}
    args: tuple[Argument, ...] = ()
    for item, following in itertools.zip_longest(draft.sequence, draft.sequence[1:]):
        counts[item.id] += 1
        own_id = call_id(item.id, counts[item.id])
        if following is not None:
            # The next layer was built with the shape of this output.
            build = following.layer.raw.get("build_config") if following.layer else None
            known[Ref(own_id)] = parse_shape(build.get("input_shape") if isinstance(build, dict) else None), None
        values = output_values(ops[item.id], own_id, args, 0, known, calls)
        calls[own_id] = Call(own_id, item.id, args, FrozenDict(), *values)
        results = tuple(Ref(own_id, number) for number in range(len(calls[own_id].outputs)))
        args = (results[0] if len(results) == 1 else FrozenList(results),)
    first = next(iter(calls))
    return tuple(calls.values()), FrozenList((Ref(first),)), FrozenList(tuple(refs(args)))


def _inbound(draft: DraftOp) -> list[tuple[Json, str]]:
    """Return the serialized calls of a layer, each with its position."""
    assert draft.layer is not None, "the layers of a functional model are in its config"
    position = f"{draft.layer.position}.inbound_nodes"
    found = draft.layer.raw.get("inbound_nodes", [])
    if not isinstance(found, list):
        raise misfit("a list of calls", found, position)
    return [(raw, f"{position}[{number}]") for number, raw in enumerate(found) if raw or draft.kind != "input"]


# Tensors, which configs name by layer, number of the call and number of the output.


@dataclass
class _Callee:
    """One op of a functional model, and how often it is called.

    Attributes:
        draft: The op.
        calls: The number of calls that the config lists.
        offset: The number of its first call among the outputs of the model: 1 for a nested functional model, else 0.
        first: The number of its first call among the arguments of calls.
    """

    draft: DraftOp
    calls: int
    offset: int = 0
    first: int = 0


def _callees(draft: DraftOp, layer: SerializedLayer) -> dict[str, _Callee]:
    callees: dict[str, _Callee] = {}
    for child in draft.called:
        if child.name in callees:
            raise ModelFileError(
                f"Cannot read the model: two layers of '{draft.name}' are called {child.name!a}.",
                path=f"{layer.position}.config.layers",
            )
        count = 1 if child.kind == "input" else len(_inbound(child))
        callees[child.name] = _Callee(child, count, 1 if _is_functional(child) else 0)
    return callees


def _is_functional(draft: DraftOp) -> bool:
    """Return whether Keras counts the calls of a nested model from 1 among the outputs of the outer one."""
    if draft.layer is None or draft.kind != "model" or draft.class_name == "Sequential":
        return False
    return draft.layer.is_functional or any(child.kind == "input" for child in draft.called + draft.extras)


def _find_first_numbers(callees: dict[str, _Callee], layer: SerializedLayer) -> None:
    """Find out whether a Keras 2 file counts the calls of nested models from 1, as since TensorFlow 2.2, or from 0.

    Every call leads to an output, so the highest number anywhere is that of the last call.
    """
    calls = [raw for callee in callees.values() for raw, _ in _inbound(callee.draft) if isinstance(raw, list)]
    if not calls:
        return
    highest: dict[str, int] = {}
    for item in walk_json([*calls, layer.config.get("output_layers")]):
        if is_history(item):
            highest[item[0]] = max(highest.get(item[0], 0), item[1])
    for name, callee in callees.items():
        if callee.draft.kind == "model":
            callee.first = callee.offset = 1 if highest.get(name) == callee.calls else 0


class _Tensors:
    """The outputs of the calls of one model: their number, and the shapes and dtypes in the config.

    Attributes:
        callees: The ops of the model, by name.
        counts: The number of outputs of each call that are used.
        known: Shape and dtype of each tensor, as far as the config contains them.
    """

    def __init__(self, callees: dict[str, _Callee], limits: Limits) -> None:
        self.callees = callees
        self._limits = limits
        self.counts: Counter[str] = Counter()
        self.known: dict[Ref, KnownTensor] = {}

    def ref(self, history: Json, position: str, *, among_outputs: bool = False) -> Ref:
        """Return the output that `[layer, call, output]` names.

        Args:
            history: The list of three.
            position: Its position in the config.
            among_outputs: Whether it is among the inputs and outputs of the model, where Keras counts the calls of
                nested functional models from 1.
        """
        if not is_history(history):
            raise misfit(_HISTORY, history, position)
        name, number, output = history[:3]
        callee = self.callees.get(name)
        if callee is None:
            raise wrong_value(position, f"names the layer {name!a}, which does not exist")
        first = callee.offset if among_outputs else callee.first
        if number >= first:
            number -= first
        if number == callee.calls and number > 0:
            # The model is functional, but only its weights show that.
            number -= 1
        if number == 0 and callee.calls == 0:
            callee.calls = 1
        if number >= callee.calls:
            raise wrong_value(position, f"names call {number} of {name!a}, which has {callee.calls}")
        if output >= self._limits.outputs:
            raise wrong_value(position, f"names output {output:,}", HostileFileError)
        ref = Ref(call_id(callee.draft.id, number + 1), output)
        self.counts[ref.call] = max(self.counts[ref.call], output + 1)
        return ref

    def note(self, ref: Ref, shape: Json, dtype: Json) -> None:
        """Remember the shape and dtype that a config contains for a tensor where it is used."""
        parsed = parse_shape(shape)
        known_shape, known_dtype = self.known.get(ref, (None, None))
        name = dtype if isinstance(dtype, str) else None
        self.known[ref] = (known_shape if parsed is None else parsed, known_dtype or name)


def is_history(value: Json) -> bool:
    """Return whether a value is the name of a layer and two numbers."""
    return (
        isinstance(value, list)
        and len(value) >= 3
        and isinstance(value[0], str)
        and all(type(number) is int and 0 <= number < 2**31 for number in value[1:3])
    )


# The arguments of calls, from the `inbound_nodes` of layers: in the format of Keras 3, and in that of Keras 2.


def _read_arguments(raw: Json, position: str, tensors: _Tensors) -> _Arguments:
    if isinstance(raw, dict) and "args" in raw:
        return _read_keras_3(raw, position, tensors)
    if isinstance(raw, list | dict):
        return _read_keras_2(raw, position, tensors)
    raise misfit("a call", raw, position)


def _read_structure(raw: Json, position: str, tensors: _Tensors) -> Argument:
    """Return the inputs or outputs of a model, nested as the model takes or returns them."""

    def leaf(item: Json) -> Argument:
        if not is_history(item):
            raise misfit("a structure of layers and numbers", item, position)
        return tensors.ref(item, position, among_outputs=True)

    return map_json(raw, is_history, leaf)


def _read_keras_3(raw: dict[str, Json], position: str, tensors: _Tensors) -> _Arguments:
    def ref_of(tensor: dict[str, Json]) -> Ref:
        ref = tensors.ref(tensor["keras_history"], position)
        tensors.note(ref, tensor.get("shape"), tensor.get("dtype"))
        return ref

    args, kwargs = raw["args"], raw.get("kwargs")
    by_position = freeze_arguments(args, ref_of)
    if not isinstance(by_position, FrozenList):
        raise misfit("a list of arguments", args, f"{position}.args")
    by_name = freeze_arguments({} if kwargs is None else kwargs, ref_of)
    if not isinstance(by_name, FrozenDict):
        raise misfit("arguments by name", kwargs, f"{position}.kwargs")
    return by_position.items, by_name


def _read_keras_2(raw: Json, position: str, tensors: _Tensors) -> _Arguments:
    """Read lists of `[layer, call, output, arguments]`, or such lists in a dict."""
    named: dict[str, Json] = {}

    def is_argument(item: Json) -> bool:
        constant = isinstance(item, list) and len(item) >= 3 and item[0] == _CONSTANT
        return constant or is_history(item)

    def leaf(item: Json) -> Argument:
        if not is_argument(item):
            raise misfit(_HISTORY, item, position)
        if len(item) > 3 and isinstance(item[3], dict):
            named.update(item[3])
        if item[0] == _CONSTANT:
            return freeze_arguments(item[2], lambda _: None)
        return tensors.ref(item, position)

    first = map_json(raw, is_argument, leaf)
    if isinstance(first, FrozenList) and len(first) == 1:
        first = first[0]

    def is_tensor(item: Json) -> bool:
        # Among arguments by name, a tensor is the name of its layer and two numbers.
        return is_history(item) and item[0] in tensors.callees

    by_name = map_json(named, is_tensor, lambda item: tensors.ref(item, position) if is_tensor(item) else item)
    assert isinstance(by_name, FrozenDict), "a dict is frozen to a dict"
    return (first,), by_name


def _sorted_calls(
    callees: dict[str, _Callee], arguments: dict[str, _Arguments], layer: SerializedLayer
) -> Iterator[tuple[str, str]]:
    """Yield the ids of all calls and of their ops in an order that can be run.

    Producers come first, the calls of one op in the order they were made, otherwise in the order of the layers.
    """
    ranks: dict[str, tuple[int, int, str]] = {}
    before: dict[str, set[str]] = {}
    for index, callee in enumerate(callees.values()):
        previous = None
        for number in range(callee.calls):
            own_id = call_id(callee.draft.id, number + 1)
            ranks[own_id] = (index, number, callee.draft.id)
            before[own_id] = {ref.call for ref in refs(arguments.get(own_id, ()))} | ({previous} if previous else set())
            previous = own_id
    sorter = TopologicalSorter(before)
    try:
        sorter.prepare()
    except CycleError:
        raise ModelFileError(
            "Cannot read the model: its calls depend on each other in a cycle.", path=f"{layer.position}.config.layers"
        ) from None
    ready: list[tuple[int, int, str, str]] = []
    while sorter.is_active():
        for own_id in sorter.get_ready():
            heapq.heappush(ready, (*ranks[own_id], own_id))
        _, _, op_id, own_id = heapq.heappop(ready)
        sorter.done(own_id)
        yield own_id, op_id
