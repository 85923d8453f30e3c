"""`freeze`, `unfreeze` and `cast`: flags and dtype policies on all levels."""

from __future__ import annotations

from typing import Any

import keras

from ramet._edit import Edit, Skip, Step, Touch
from ramet._keras import exchange
from ramet._surgery.order import inside_first
from ramet._surgery.scene import Scene
from ramet._surgery.updating import update
from ramet.errors import EditError


def touch_trainable(edit: Edit, scene: Scene) -> Step:
    """Every layer or model that matches; what is inside one goes with it."""
    word = "frozen" if edit.kind == "freeze" else "trainable"
    touched = [
        Touch(candidate.path, f"{candidate.op.class_name}, {word}", claims=frozenset())
        for candidate in scene.find(edit)
        if isinstance(scene.op(candidate.path), keras.Layer) and not scene.is_input(candidate.path)
    ]
    return Step(edit, tuple(touched))


def carry_out_trainable(edit: Edit, step: Step, scene: Scene) -> None:
    """Note the flags: they are set at the end, on what then stands at these places."""
    scene.flags += [(item.path, edit.kind == "unfreeze") for item in step.touched]


def set_flags(scene: Scene) -> None:
    """Set the flags. What is trained must stand in models that are: their own flags follow, those of others do not."""
    for path, trainable in scene.flags:
        scene.successor(scene.op(path)).trainable = trainable
        if trainable:
            above = [scene.op(name) for name in scene.ancestors(path)]
            for holder in (*above, scene.twin):
                exchange.own_flag(scene.successor(holder), trainable=True)


def touch_cast(edit: Edit, scene: Scene) -> Step:
    """Every layer that matches; a model has no numbers of its own."""
    policy = edit["policy"]
    try:
        keras.dtype_policies.get(policy)
    except (TypeError, ValueError) as error:
        raise EditError(
            f"Cannot cast to {policy!r}: Keras knows no such dtype policy.",
            found=str(error).splitlines()[0],
            fix="pass a name like 'mixed_bfloat16', 'float16', 'float64', or a keras.dtype_policies.DTypePolicy.",
        ) from error
    touched, skipped = [], []
    for candidate in scene.find(edit):
        layer = scene.op(candidate.path)
        if not isinstance(layer, keras.Layer) or isinstance(layer, keras.Model) or scene.is_input(candidate.path):
            continue
        if any(
            isinstance(above, keras.Layer) and not isinstance(above, keras.Model) for above in _above(scene, candidate)
        ):
            continue  # it goes with the layer that it is inside of
        if getattr(layer, "quantization_mode", None) is not None:
            skipped.append(Skip(candidate.path, f"quantised to {layer.quantization_mode}"))
            continue
        claims = frozenset({"dtype policy"})
        touched.append(Touch(candidate.path, f"{candidate.op.class_name}, {_name(policy)}", claims=claims))
    return Step(edit, tuple(touched), tuple(skipped))


def carry_out_cast(edit: Edit, step: Step, scene: Scene) -> None:
    """Change the policy of each layer, and the numbers of those whose variables have another dtype."""
    wanted = keras.dtype_policies.get(edit["policy"])
    policy = keras.dtype_policies.serialize(wanted)
    for item in step.touched:
        layer = scene.op(item.path)
        try:
            update(scene, item.path, {"dtype": policy})
            for inner in reversed(inside_first(layer)[:-1]):  # the outer ones first: some decided for what is inside
                if isinstance(inner, keras.Layer) and inner.dtype_policy.name != _name(wanted):
                    update(scene, scene.path_of(inner), {"dtype": policy})
                scene.orders.touch(inner)
        except EditError as error:
            error.add_note(
                "Or make the model anew in this dtype and bring its weights over, ramet.transfer(model, new)."
            )
            raise


def _above(scene: Scene, candidate: Any) -> list[Any]:
    return [scene.op(path) for path in scene.ancestors(candidate.path)]


def _name(policy: Any) -> str:
    return str(getattr(policy, "name", policy))
