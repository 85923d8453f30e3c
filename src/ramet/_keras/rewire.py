"""Write a new call graph into a functional model, and rename ops, in place.

An edited or rebuilt model keeps its class, flags, optimizer and every other attribute. So the new graph is built
separately by `keras.Model(inputs, outputs)`, and only that model's attributes about its calls (`GRAPH_ATTRIBUTES`) are
moved over; the donor is discarded. Recreating the model from a config was not an option: everything that the config does
not describe would be lost. Three records must agree afterwards: the lists of calls that ops keep, the history on tensors,
which is a position in these lists, and the keys of the model, made from ids and positions. `forget_calls` and `name_calls`
restore the agreement when calls disappear.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from ramet._keras import calls, names, structure

# Attributes of a functional model about its calls.
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
    """Remove calls from the lists of their ops, and update the positions in the histories of the other calls' tensors.

    Args:
        ops: The ops.
        dropped: The ids of the calls to forget.
        instead: By the id of a call, the calls of the same op that replace it: they take its position, or follow it if it is
            not forgotten.
    """
    instead = instead or {}
    moved = {id(call) for made in instead.values() for call in made}
    for op in ops:
        kept: list[Any] = []
        for call in calls.inbound(op):
            if id(call) in dropped:
                for tensor in call.outputs:
                    tensor.__dict__.pop(names.HISTORY, None)
            elif id(call) not in moved:
                kept.append(call)
            kept += instead.get(id(call), ())
        following = [call for call in calls.outbound(op) if id(call) not in dropped]
        calls.refill(op.__dict__[names.INBOUND], kept)
        calls.refill(op.__dict__[names.OUTBOUND], following)
        for position, call in enumerate(kept):
            for index, tensor in enumerate(call.outputs):
                if calls.history(tensor) is not None:
                    calls.set_history(tensor, tensor, op, position, index)


def name_calls(function: Any) -> None:
    """Set the keys under which a functional model keeps its calls, by their current positions."""
    position = {id(call): number for op in function.operations for number, call in enumerate(calls.inbound(op))}
    known = [call for level in getattr(function, names.NODES_BY_DEPTH).values() for call in level]
    function.__dict__[names.NODES] = {calls.node_key(call.operation, position[id(call)]) for call in known}


def adopt_graph(model: Any, donor: Any) -> None:
    """Give a functional model the calls, inputs and outputs of another, whose layers it then holds.

    A `keras.Function` has calls and nothing else: it is not a layer, so it holds no layers and names no outputs.
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
    """Make TensorFlow's checkpoints refer to the new graph, by the names of the attributes, and drop the old one."""
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
    calls.refill(references, [type(one)(one.name, ours[one.name]) for one in kept])


def adopt_sequence(model: Any, donor: Any) -> None:
    """Give a Sequential the calls of a functional model, whose layers it then holds, the input first."""
    adopt_graph(getattr(model, names.FUNCTIONAL), donor)
    _hold(model, donor.layers, {id(layer) for layer in model.__dict__[names.LAYERS]})


def _hold(model: Any, layers: list[Any], old: set[int]) -> None:
    """Replace the layers with these ids that a model holds by others; everything else that it holds stays."""
    tracker = model.__dict__[names.TRACKER]
    store = getattr(tracker, names.STORES)["layers"][1]
    held = model.__dict__[names.LAYERS]  # a separate list in some models of older Keras
    for items in (store, held) if held is not store else (store,):
        extras = [layer for layer in list(items) if id(layer) not in old]
        if items is held or len(extras) < len(items):
            calls.refill(items, [*layers, *extras])
    getattr(tracker, names.STORED_IDS)["layers"] = {id(layer) for layer in store}


@contextlib.contextmanager
def allow_unused_inputs(inputs: list[Any]) -> Iterator[None]:
    """Allow inputs that lead to no output: Keras 3.12 refuses inputs without consumers."""
    ops = [found[0] for found in map(calls.history, inputs) if found is not None]
    unused = [op.__dict__[names.OUTBOUND] for op in ops if not calls.outbound(op)]
    for following in unused:
        calls.put(following, [None])
    try:
        yield
    finally:
        for following in unused:
            calls.refill(following, [])


def replace_parts(model: Any, replaced: dict[int, Any]) -> None:
    """Replace tensors of the old graph, and layers that were replaced, in the attributes of a model."""
    # torch stores layers separately from other attributes.
    for holder in (model.__dict__, model.__dict__.get("_modules", {})):
        for name, value in list(holder.items()):
            if name not in (*GRAPH_ATTRIBUTES, names.TRACKER, names.LAYERS):
                _replace_in(holder, name, value, replaced)


def _replace_in(holder: Any, key: Any, value: Any, replaced: dict[int, Any]) -> None:
    """Replace one value, or the parts of a list or dict; backbones keep their pyramids of outputs in dicts."""
    if id(value) in replaced:
        holder[key] = replaced[id(value)]
    elif isinstance(value, list) or (isinstance(value, dict) and all(isinstance(name, str) for name in value)):
        kind: Any = dict if isinstance(value, dict) else list
        for name, part in list(value.items() if isinstance(value, dict) else enumerate(value)):
            if id(part) in replaced:
                kind.__setitem__(value, name, replaced[id(part)])
    elif isinstance(value, tuple) and not hasattr(value, "_fields") and any(id(part) in replaced for part in value):
        holder[key] = type(value)(replaced.get(id(part), part) for part in value)


def set_name(op: Any, name: str) -> None:
    """Rename an op; its variables keep their paths."""
    op.__dict__["name"] = name


def rename_op(op: Any, name: str) -> None:
    """Rename an op, with every path that leads through it; the tensor of an input gets the same name."""
    old = op.name
    op.__dict__["name"] = name
    if isinstance(op, keras.layers.InputLayer):
        for call in calls.inbound(op):
            for tensor in call.outputs:
                tensor.__dict__["name"] = name
    if not isinstance(op, keras.Layer):
        return
    before = op.__dict__.get(names.PATH)
    if before is None:
        return
    above = before.rpartition("/")[0] if before.rpartition("/")[2] == old else None
    after = before if above is None else f"{above}/{name}".lstrip("/")
    _move(op, before, after)


def _move(op: Any, before: str, after: str) -> None:
    def moved(path: str | None) -> str | None:
        if path == before:
            return after
        return f"{after}{path.removeprefix(before)}" if path is not None and path.startswith(f"{before}/") else path

    for part in structure.layer_tree(op):
        for attribute in (names.PATH, names.PARENT_PATH):
            if attribute in part.__dict__:
                part.__dict__[attribute] = moved(part.__dict__[attribute])
    for variable in op.variables:
        variable.__dict__[names.PATH] = moved(variable.path)


def named_by_key(function: Any, op: Any) -> bool:
    """Return whether a functional model takes its inputs in a dict with the name of this input as a key."""
    taken = getattr(function, names.INPUTS)
    found = calls.history(taken[op.name]) if isinstance(taken, dict) and op.name in taken else None
    return found is not None and found[0] is op


def rename_key(function: Any, old: str, new: str) -> None:
    """Rename the key under which a functional model takes an input."""
    taken = getattr(function, names.INPUTS)
    function.__dict__[names.INPUTS] = {new if key == old else key: tensor for key, tensor in taken.items()}


def name_outputs(function: Any) -> None:
    """Name the outputs of a functional model after the ops that make them."""
    if isinstance(function, keras.Model):  # a keras.Function names no outputs
        found = [calls.history(tensor) for tensor in function.outputs]
        set_output_names(function, [structure.name_of(one[0]) for one in found if one is not None])
