"""`freeze` and `unfreeze`: what is trained, on all levels."""

from __future__ import annotations

import dataclasses
from typing import Any

import keras

from ramet._edit.edit import Edit
from ramet._edit.order import inside_first
from ramet._edit.plan import Step, Touch
from ramet._edit.scene import Scene
from ramet._keras import exchange, layers, lora, structure
from ramet._select import anything

# What `Scene.flags` says of a place. The last one that speaks of a variable counts.
FREEZE = "freeze"
UNFREEZE = "unfreeze"
BASE_FROZEN = "all but low-rank matrices are frozen"
ADAPTERS = "low-rank matrices are trained"


def touch_trainable(edit: Edit, scene: Scene) -> Step:
    """Every layer or model that matches; what is inside one goes with it."""
    word = "frozen" if edit.kind == "freeze" else "trainable"
    whole = _is_whole(edit, scene)
    touched = []
    for candidate in scene.find(dataclasses.replace(edit, required=False) if whole else edit):
        op = scene.op(candidate.path)
        if not isinstance(op, keras.Layer) or scene.is_input(candidate.path):
            continue
        kept = edit.kind == "unfreeze" and lora.is_enabled(op)
        what = f"{candidate.op.class_name}, {word}{', but for the weights that LoRA updates' if kept else ''}"
        touched.append(Touch(candidate.path, what, claims=frozenset()))
    return Step(edit, tuple(touched), notes=(f"the weights of '{scene.twin.name}' itself: {word}",) if whole else ())


def carry_out_trainable(edit: Edit, step: Step, scene: Scene) -> None:
    """Note the flags: they are set at the end, on what then stands at these places."""
    paths = [""] if _is_whole(edit, scene) else []
    paths += [item.path for item in step.touched]
    scene.flags += [(path, FREEZE if edit.kind == "freeze" else UNFREEZE) for path in paths]


def _is_whole(edit: Edit, scene: Scene) -> bool:
    """Whether everything is meant, and there are weights that belong to none of the layers inside."""
    return edit.selector == anything() and bool(layers.own_variables(scene.twin))


def set_flags(scene: Scene) -> None:
    """Set the flags. What is trained must stand in models that are: their own flags follow, those of others do not."""
    for path, what in scene.flags:
        op = scene.successor(scene.op_or_twin(path))
        if what == BASE_FROZEN:
            _freeze_base(op)
            continue
        if what == ADAPTERS:
            exchange.own_flag(op, trainable=True)
            for matrix in (matrix for layer in _layers(op) for matrix in lora.matrices(layer)):
                matrix.trainable = True
        else:
            _set(op, trainable=what == UNFREEZE)
            # Keras sets the flag of every variable that was trained once, those that LoRA froze among them.
            for base in (base for layer in _layers(op) if lora.is_enabled(layer) for base in lora.targets(layer)):
                base.trainable = False
        if what != FREEZE:
            above = [scene.op(name) for name in scene.ancestors(path)] if path else []
            for holder in (*above, scene.twin):
                exchange.own_flag(scene.successor(holder), trainable=True)


def _set(root: Any, *, trainable: bool) -> None:
    """Set the flag of a layer, of everything inside it, and of their variables.

    TensorFlow ignores an assignment of the value that an attribute has already. Keras would then leave the flags of the
    variables as they are, so the flags of the layers are turned round first.
    """
    same = [layer for layer in _layers(root) if layer.trainable == trainable]
    for layer in same:
        exchange.own_flag(layer, trainable=not trainable)
    root.trainable = trainable
    for layer in same:
        exchange.own_flag(layer, trainable=trainable)


def _freeze_base(root: Any) -> None:
    """Freeze everything but low-rank matrices, which stay as they are."""
    trained = [m for layer in _layers(root) for m in lora.matrices(layer) if m.trainable]
    kept = {id(matrix) for matrix in trained}
    flags = {id(layer): layer.trainable for layer in _layers(root)}
    _set(root, trainable=False)
    for matrix in trained:
        matrix.trainable = True
    around: set[int] = set()
    for layer in _layers(root):  # what is inside comes first
        parts = {id(part) for part in structure.inside(layer)} | set(map(id, lora.matrices(layer)))
        if flags[id(layer)] and parts & (around | kept):
            around.add(id(layer))
            exchange.own_flag(layer, trainable=True)


def _layers(root: Any) -> list[Any]:
    return [op for op in inside_first(root) if isinstance(op, keras.Layer)]
