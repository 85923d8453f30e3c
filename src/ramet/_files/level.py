"""One level of a model: its calls, put into an order that can be run."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence

from ramet._files.history import Callee, Tensors, is_history
from ramet._files.inbound import read_call_arguments, read_structure
from ramet._files.limits import Limits
from ramet._files.mask import mask_kinds
from ramet._files.part import Part
from ramet._files.problem import ModelFileError, misfit
from ramet._files.record import Record
from ramet._files.text import Json
from ramet._files.value import values_of
from ramet._graph import Argument, Call, FrozenDict, FrozenList, Op, Ref, call_id, refs

__all__ = ["Level", "functional_level", "sequential_level"]


class Level:
    """The calls of one functional or Sequential model.

    Attributes:
        calls: in an order that can be run.
        inputs: as the model takes them.
        outputs: as the model returns them.
        idle: ids of ops that the config lists and that nothing calls.
    """

    def __init__(self, calls: Sequence[Call], inputs: Argument, outputs: Argument, idle: frozenset[str]) -> None:
        self.calls = tuple(calls)
        self.inputs = inputs
        self.outputs = outputs
        self.idle = idle


def functional_level(part: Part, record: Record, ops: dict[str, Op], limits: Limits) -> Level:
    """The calls that the config of a functional model lists.

    Args:
        part: the model.
        record: what its config says.
        ops: the ops inside, by id.
        limits: how much it may hold.
    """
    callees = _callees(part, record)
    _note_first_numbers(callees, record)
    tensors = Tensors(callees, limits)
    taken: dict[str, tuple[tuple[Argument, ...], FrozenDict]] = {}
    for callee in callees.values():
        for number, (raw, place) in enumerate(_inbound(callee.part)):
            taken[call_id(callee.part.id, number + 1)] = read_call_arguments(raw, place, tensors)
    place = f"{record.place}.config"
    inputs = read_structure(record.setting("input_layers"), f"{place}.input_layers", tensors)
    outputs = read_structure(record.setting("output_layers"), f"{place}.output_layers", tensors)
    calls: list[Call] = []
    made: dict[str, Call] = {}
    for own_id, op_id in _ordered(callees, taken, record):
        args, kwargs = taken.get(own_id, ((), FrozenDict()))
        values = values_of(ops[op_id], own_id, (args, kwargs), tensors, made)
        made[own_id] = Call(own_id, op_id, args, kwargs, *values)
        calls.append(made[own_id])
    kinds = mask_kinds(calls, ops)
    told = [call.with_changes(mask_kinds=kinds[call.id]) if call.id in kinds else call for call in calls]
    idle = frozenset(callee.part.id for callee in callees.values() if callee.calls == 0)
    return Level(told, inputs, outputs, idle)


def sequential_level(part: Part, ops: dict[str, Op], limits: Limits) -> Level | None:
    """The calls of a row of layers, each with what the one before made; None for a row without an input."""
    row = [part.called[place] for place in part.order]
    if not row or row[0].kind != "input":
        return None
    tensors = Tensors({}, limits)
    counts: dict[str, int] = {}
    calls: list[Call] = []
    made: dict[str, Call] = {}
    args: tuple[Argument, ...] = ()
    for item, following in itertools.zip_longest(row, row[1:]):
        counts[item.id] = counts.get(item.id, 0) + 1
        own_id = call_id(item.id, counts[item.id])
        if following is not None:
            tensors.note(Ref(own_id), _built_with(following), None)
        values = values_of(ops[item.id], own_id, (args, FrozenDict()), tensors, made)
        made[own_id] = Call(own_id, item.id, args, FrozenDict(), *values)
        calls.append(made[own_id])
        results = tuple(Ref(own_id, number) for number in range(len(made[own_id].outputs)))
        args = (results[0] if len(results) == 1 else FrozenList(results),)
    return Level(calls, FrozenList((Ref(calls[0].id),)), FrozenList(tuple(refs(args))), frozenset())


def _callees(part: Part, record: Record) -> dict[str, Callee]:
    callees: dict[str, Callee] = {}
    for child in part.called:
        if child.name in callees:
            raise ModelFileError(
                f"Cannot read the model: two layers of '{part.name}' are called {child.name!a}.",
                path=f"{record.place}.config.layers",
            )
        count = 1 if child.kind == "input" else len(_inbound(child))
        callees[child.name] = Callee(child, count, 1 if _is_functional(child) else 0)
    return callees


def _note_first_numbers(callees: dict[str, Callee], record: Record) -> None:
    """Find out whether a file of Keras 2 counts the calls of nested models from 1, as since TensorFlow 2.2, or from 0.

    Every call leads to an output, so that the highest number of all is that of the last call.
    """
    waiting: list[Json] = [
        raw for callee in callees.values() for raw, _ in _inbound(callee.part) if isinstance(raw, list)
    ]
    if not waiting:
        return
    waiting.append(record.setting("output_layers"))
    highest: dict[str, int] = {}
    while waiting:
        item = waiting.pop()
        if is_history(item):
            highest[item[0]] = max(highest.get(item[0], 0), item[1])
        if isinstance(item, dict | list):
            waiting += item.values() if isinstance(item, dict) else item
    for name, callee in callees.items():
        if callee.part.kind == "model":
            callee.first = callee.offset = 1 if highest.get(name) == callee.calls else 0


def _is_functional(part: Part) -> bool:
    """Whether Keras counts the calls of a nested model from 1 among the outputs of the outer one."""
    if part.record is None or part.kind != "model" or part.class_name == "Sequential":
        return False
    inside = part.called + part.extras
    return part.record.is_functional or any(child.kind == "input" for child in inside)


def _inbound(part: Part) -> list[tuple[object, str]]:
    assert part.record is not None, "the layers of a functional model are in its config"
    place = f"{part.record.place}.inbound_nodes"
    found = part.record.raw.get("inbound_nodes", [])
    if not isinstance(found, list):
        raise misfit("a list of calls", found, place)
    return [(raw, f"{place}[{number}]") for number, raw in enumerate(found) if raw or part.kind != "input"]


def _built_with(part: Part) -> object:
    """The shape that a layer was built with."""
    build = part.record.raw.get("build_config") if part.record else None
    return build.get("input_shape") if isinstance(build, dict) else None


def _ordered(
    callees: dict[str, Callee], taken: dict[str, tuple[tuple[Argument, ...], FrozenDict]], record: Record
) -> list[tuple[str, str]]:
    """The ids of all calls and of their ops: producers first, the calls of one op as made, else as the layers stand."""
    places: dict[str, tuple[int, int, str]] = {}
    before: dict[str, set[str]] = {}
    for position, callee in enumerate(callees.values()):
        previous = None
        for number in range(callee.calls):
            own_id = call_id(callee.part.id, number + 1)
            places[own_id] = (position, number, callee.part.id)
            before[own_id] = {ref.call for ref in refs(taken.get(own_id, ()))} | ({previous} if previous else set())
            previous = own_id
    after: dict[str, list[str]] = {own_id: [] for own_id in places}
    for own_id, needed in before.items():
        for other in needed:
            after[other].append(own_id)
    missing = {own_id: len(needed) for own_id, needed in before.items()}
    ready = [(places[own_id], own_id) for own_id, count in missing.items() if count == 0]
    heapq.heapify(ready)
    order: list[tuple[str, str]] = []
    while ready:
        (_, _, op_id), own_id = heapq.heappop(ready)
        order.append((own_id, op_id))
        for other in after[own_id]:
            missing[other] -= 1
            if missing[other] == 0:
                heapq.heappush(ready, (places[other], other))
    if len(order) < len(places):
        raise ModelFileError(
            "Cannot read the model: some of its calls wait for each other.",
            path=f"{record.place}.config.layers",
        )
    return order
