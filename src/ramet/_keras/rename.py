"""Another name for an op in place, with the paths of its variables."""

from __future__ import annotations

from typing import Any

import keras

from ramet._keras import calls, names, rewire, structure


def rename_op(op: Any, name: str) -> None:
    """Give an op another name; every path that leads through it says so, and an input's tensor is called like it."""
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

    waiting, seen = [op], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        for attribute in (names.PATH, names.PARENT_PATH):
            if attribute in part.__dict__:
                part.__dict__[attribute] = moved(part.__dict__[attribute])
        waiting.extend(getattr(part, names.LAYERS, None) or ())
    for variable in op.variables:
        variable.__dict__[names.PATH] = moved(variable.path)


def named_by_key(function: Any, op: Any) -> bool:
    """Whether a functional model takes its inputs in a dict that calls an input by its name."""
    taken = getattr(function, names.INPUTS)
    found = calls.history(taken[op.name]) if isinstance(taken, dict) and op.name in taken else None
    return found is not None and found[0] is op


def rename_key(function: Any, old: str, new: str) -> None:
    """Let a functional model take an input by another key."""
    taken = getattr(function, names.INPUTS)
    function.__dict__[names.INPUTS] = {new if key == old else key: tensor for key, tensor in taken.items()}


def name_outputs(function: Any) -> None:
    """The outputs of a functional model are called like the ops that make them."""
    if isinstance(function, keras.Model):  # a keras.Function names no outputs
        found = [calls.history(tensor) for tensor in function.outputs]
        rewire.set_output_names(function, [structure.name_of(one[0]) for one in found if one is not None])
