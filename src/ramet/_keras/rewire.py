"""Writing a new call graph into a functional model that keeps its class, flags and everything else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from ramet._keras import calls, names

_TRACKED = (names.TRACKER, names.LAYERS)
# What a functional model knows of its calls.
GRAPH_ATTRIBUTES = (
    names.INPUTS,
    names.OUTPUTS,
    "_inputs",
    "_outputs",
    names.NODES,
    names.NODES_BY_DEPTH,
    "_operations",
    "_operations_by_depth",
    names.NNX_OPS,
)


def forget_calls(ops: list[Any], dropped: set[int], instead: dict[int, list[Any]] | None = None) -> None:
    """Take calls out of the lists of their ops, and tell the tensors of the others their new positions.

    Args:
        ops: The ops.
        dropped: The ids of the calls to forget.
        instead: By the id of a call, those of the same op that were made in its place: they stand there from now on, after
            the call itself if that is not forgotten.
    """
    instead = instead or {}
    moved = {id(call) for made in instead.values() for call in made}
    for op in ops:
        for call in calls.inbound(op):
            if id(call) in dropped:
                calls.forget_outputs(call)
        kept: list[Any] = []
        for call in calls.inbound(op):
            if id(call) not in dropped and id(call) not in moved:
                kept.append(call)
            kept += instead.get(id(call), ())
        following = [call for call in calls.outbound(op) if id(call) not in dropped]
        for attribute, items in ((names.INBOUND, kept), (names.OUTBOUND, following)):
            held = op.__dict__[attribute]
            calls.empty(held)
            calls.put(held, items)
        for position, call in enumerate(kept):
            for index, tensor in enumerate(call.outputs):
                if calls.history(tensor) is not None:
                    calls.set_history(tensor, tensor, op, position, index)


def name_calls(function: Any) -> None:
    """The keys under which a functional model knows its calls, by the positions that these have now."""
    position = {id(call): number for op in function.operations for number, call in enumerate(calls.inbound(op))}
    known = [call for level in getattr(function, names.NODES_BY_DEPTH).values() for call in level]
    function.__dict__[names.NODES] = {calls.node_key(call.operation, position[id(call)]) for call in known}


def adopt_graph(model: Any, donor: Any) -> None:
    """Give a functional model the calls, inputs and outputs of another, whose layers it then holds.

    A `keras.Function` has calls and nothing else: it is no layer, so it holds no layers and names no outputs.
    """
    old_ops = {id(op) for op in model.operations}
    for attribute in GRAPH_ATTRIBUTES:
        if attribute in donor.__dict__:
            model.__dict__[attribute] = donor.__dict__[attribute]
    if not isinstance(model, keras.Model):
        return
    _depend_like(model, donor)
    set_output_names(model, list(donor.output_names))
    _hold(model, donor.layers, old_ops)


def set_output_names(model: Any, output_names: list[str]) -> None:
    """Name the outputs of a functional model. A class may keep the names elsewhere, behind a property."""
    held = model.__dict__.get("output_names")
    if held is None:
        model.output_names = output_names
    else:
        held[:] = output_names


def _depend_like(model: Any, donor: Any) -> None:
    """TensorFlow: a checkpoint refers to the new graph, by the names of the attributes, and lets the old one go."""
    ours, theirs = (one.__dict__.get(names.TF_DEPENDENCY_NAMES) for one in (model, donor))
    if ours is None or theirs is None:
        return
    for attribute in set(GRAPH_ATTRIBUTES) & set(ours):
        if attribute in theirs:
            ours[attribute] = theirs[attribute]
        else:
            del ours[attribute]
    references = model.__dict__[names.TF_DEPENDENCIES]
    kept = [one for one in references if one.name in ours]
    calls.empty(references)
    calls.put(references, [type(one)(one.name, ours[one.name]) for one in kept])


def adopt_sequence(model: Any, donor: Any) -> None:
    """Give a Sequential the calls of a functional model, whose layers it then holds, the input first."""
    adopt_graph(getattr(model, names.FUNCTIONAL), donor)
    _hold(model, donor.layers, {id(layer) for layer in model.__dict__[names.LAYERS]})


def _hold(model: Any, layers: list[Any], old: set[int]) -> None:
    """Hold some layers instead of others, by id; what the model held besides, it still holds."""
    tracker = model.__dict__[names.TRACKER]
    store = getattr(tracker, names.STORES)["layers"][1]
    held = model.__dict__[names.LAYERS]  # in some models of older Keras a list of its own
    for items in (store, held) if held is not store else (store,):
        extras = [layer for layer in list(items) if id(layer) not in old]
        if items is held or len(extras) < len(items):
            calls.empty(items)
            calls.put(items, [*layers, *extras])
    getattr(tracker, names.STORED_IDS)["layers"] = {id(layer) for layer in store}


@contextlib.contextmanager
def unused_inputs_allowed(inputs: list[Any]) -> Iterator[None]:
    """Let a functional model be made on inputs that lead to no output: Keras 3.12 refuses those that nothing takes."""
    ops = [found[0] for found in map(calls.history, inputs) if found is not None]
    unused = [op.__dict__[names.OUTBOUND] for op in ops if not calls.outbound(op)]
    for following in unused:
        calls.put(following, [None])
    try:
        yield
    finally:
        for following in unused:
            calls.empty(following)


def is_input_tensor(tensor: Any) -> bool:
    """Whether a tensor is the output of an input layer."""
    found = calls.history(tensor)
    return found is not None and isinstance(found[0], keras.layers.InputLayer)


def replace_parts(model: Any, replaced: dict[int, Any]) -> None:
    """Attributes of a model that hold tensors of its old graph, or layers that gave way, hold the new ones."""
    holders = [model.__dict__]
    if "_modules" in model.__dict__:  # torch keeps layers apart from other attributes
        holders.append(model.__dict__["_modules"])
    for holder in holders:
        for name, value in list(holder.items()):
            if name not in GRAPH_ATTRIBUTES and name not in _TRACKED:
                _replace_in(holder, name, value, replaced)


def _replace_in(holder: Any, key: Any, value: Any, replaced: dict[int, Any]) -> None:
    """One value, or the parts of a list or dict; backbones keep their pyramids of outputs in such."""
    if id(value) in replaced:
        holder[key] = replaced[id(value)]
    elif isinstance(value, dict) and all(isinstance(name, str) for name in value):
        for name, part in list(value.items()):
            if id(part) in replaced:
                dict.__setitem__(value, name, replaced[id(part)])
    elif isinstance(value, list):
        for index, part in enumerate(list(value)):
            if id(part) in replaced:
                list.__setitem__(value, index, replaced[id(part)])
    elif isinstance(value, tuple) and not hasattr(value, "_fields") and any(id(part) in replaced for part in value):
        holder[key] = type(value)(replaced.get(id(part), part) for part in value)


def is_sequence(function: Any) -> bool:
    """Whether a functional model is nothing but layers one after the other."""
    if len(function.operations) != len(function.layers) or len(function.inputs) != 1 or len(function.outputs) != 1:
        return False
    tensor = function.outputs[0]
    steps = 0
    while tensor is not function.inputs[0]:
        call = calls.producer(tensor)
        if call is None or len(call.input_tensors) != 1 or len(call.arguments.args) != 1:
            return False
        tensor, steps = call.input_tensors[0], steps + 1
    return steps == len(function.layers) - 1


def is_optional(tensor: Any) -> bool:
    """Whether a tensor is an input in whose place None may stand."""
    found = calls.history(tensor)
    return found is not None and bool(getattr(found[0], "optional", False))


def set_optimizer(model: Any, optimizer: Any) -> None:
    """Another optimizer in the place of a compiled model's, in its settings too; compiled functions are dropped."""
    model.optimizer = optimizer
    settings = getattr(model.__dict__.get(names.COMPILE_CONFIG), "config", None)
    if settings is not None:
        settings["optimizer"] = optimizer
    state = {layer: layer.trainable for layer in _all_layers(model)}
    model.__dict__[names.COMPILED_TRAINABLE] = state
    for name, value in names.RUNNING.items():
        if name in model.__dict__:
            model.__dict__[name] = value


def _all_layers(model: Any) -> list[Any]:
    found: dict[int, Any] = {}
    waiting = [model]
    while waiting:
        layer = waiting.pop()
        if id(layer) not in found:
            found[id(layer)] = layer
            waiting.extend(getattr(layer, names.LAYERS, None) or ())
    return list(found.values())


def rename(op: Any, name: str) -> None:
    """Another name for an op; its variables keep their paths."""
    op.__dict__["name"] = name


def take_compiled(model: Any, old: Any) -> None:
    """What `compile()` left on one model stands on another; the one that had it is no longer used."""
    for name in names.COMPILED:
        if name in old.__dict__:
            setattr(model, name, old.__dict__[name])
