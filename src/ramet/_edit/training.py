"""What edits leave to train: a plan says so where that is nothing, or nothing that the outputs depend on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

from ramet._edit.order import inside_first
from ramet._edit.plan import Step
from ramet._edit.scene import Scene
from ramet._keras import layers, lora, structure

_FLAGS = frozenset({"freeze", "unfreeze", "lora", "quantize"})
# After these, what is trained is not known before they are carried out.
_NEW_LAYERS = frozenset({"replace", "wrap", "insert_before", "insert_after", "splice"})


def notes_on_training(steps: list[Step], scene: Scene) -> Iterator[str]:
    """What `fit` would make of the model after these edits, where that is not what one expects."""
    kinds = {step.edit.kind for step in steps if step.touched}
    if not kinds & _FLAGS or kinds & _NEW_LAYERS:
        return
    trained = _trained_after(steps, scene)
    if not trained:
        yield "nothing is left to train: every weight is frozen, so fit() would change none of them."
        return
    function = structure.function_of(scene.twin)
    if function is None:
        if kinds & {"freeze", "lora"}:
            yield _unknown(trained, scene)
    elif not any(id(op) in trained for op in _reached(function)):
        names = _listed([scene.path_of(op) for op in trained.values()])
        yield (
            f"no weight that stays trainable leads to an output ({names}): "
            "on torch fit() fails, on the other backends it changes nothing."
        )


def _unknown(trained: dict[int, Any], scene: Scene) -> str:
    names = _listed([scene.path_of(op) or scene.model.name for op in trained.values()])
    return (
        f"trainable afterwards: {names}. The model has no call graph, so whether its loss depends on them is not known; "
        "if it does not, fit() fails on torch."
    )


def _trained_after(steps: list[Step], scene: Scene) -> dict[int, Any]:
    """By id, the layers that own a variable which is trained after the edits."""
    root = scene.twin
    every = [op for op in inside_first(root) if isinstance(op, keras.Layer)]
    flags = {id(op): bool(op.trainable) for op in every}
    state = {id(v): bool(v.trainable) for op in every for v in layers.own_variables(op)}
    fixed = {id(v) for op in every if lora.is_enabled(op) for v in lora.targets(op)}
    adapted: dict[int, bool] = {}  # layers that get low-rank matrices, and whether these are trained

    def set_below(op: Any, *, trainable: bool) -> None:
        for part in inside_first(op):
            flags[id(part)] = trainable
            if id(part) in adapted:
                adapted[id(part)] = trainable
            if isinstance(part, keras.Layer):
                state.update({id(v): trainable and id(v) not in fixed for v in layers.own_trainable(part)})

    def open_above(path: str) -> None:
        for above in (*map(scene.op, scene.ancestors(path)), root):
            flags[id(above)] = True

    for step in steps:
        kind = step.edit.kind
        touched = [scene.op(touch.path) for touch in step.touched if kind in _FLAGS]
        if kind in ("lora", "quantize"):
            fixed |= {
                id(v) for op in touched for v in _base_weights(op) if kind == "lora" or step.edit["mode"] != "float8"
            }
            state.update(dict.fromkeys(fixed, False))
        if kind == "lora":
            if step.edit["freeze_rest"] and touched:
                kept = {id(m): m.trainable for op in every for m in lora.matrices(op)}
                before = dict(adapted)
                set_below(root, trainable=False)
                adapted |= before
                state |= kept
                for op in every:
                    flags[id(op)] = flags[id(op)] or any(kept.get(id(m)) for m in lora.matrices(op))
            for touch, op in zip(step.touched, touched, strict=True):
                adapted[id(op)] = flags[id(op)] = True
                open_above(touch.path)
        elif kind in ("freeze", "unfreeze"):
            for touch, op in zip(step.touched, touched, strict=True):
                set_below(op, trainable=kind == "unfreeze")
                if kind == "unfreeze":
                    open_above(touch.path)
    if not flags[id(root)]:
        return {}
    return {
        id(op): op
        for op in sorted(every, key=scene.order_of)
        if flags[id(op)] and (adapted.get(id(op)) or any(state[id(v)] for v in layers.own_variables(op)))
    }


def _base_weights(layer: Any) -> list[Any]:
    """The weights that are quantised, or updated by low-rank matrices: all but the bias."""
    return [v for v in layers.own_trainable(layer) if v.name in ("kernel", "embeddings", "reverse_embeddings")]


def _reached(function: Any) -> Iterator[Any]:
    """Every op that a gradient from the outputs arrives at: integers and stopped gradients end its way."""
    waiting = list(keras.tree.flatten(structure.outputs_of(function)))
    seen: set[int] = set()
    while waiting:
        tensor = waiting.pop()
        call = structure.producing_call(tensor)
        if call is None or id(tensor) in seen or "float" not in str(tensor.dtype):
            continue
        seen.add(id(tensor))
        op = call.operation
        inner = structure.function_of(op)
        if type(op).__name__ == "StopGradient":
            continue
        if inner is None:
            yield from inside_first(op)
        else:
            waiting += keras.tree.flatten(structure.outputs_of(inner))
        waiting += call.input_tensors


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
