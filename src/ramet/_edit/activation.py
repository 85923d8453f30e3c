"""`split_activation`: a layer's activation as a layer of its own."""

from __future__ import annotations

from typing import Any

import keras

from ramet._edit.edit import Edit
from ramet._edit.naming import free_name
from ramet._edit.plan import Skip, Step, Touch
from ramet._edit.scene import Scene
from ramet._edit.updating import update
from ramet._keras import structure

# Classes, and what is made of them, that apply their activation last, to their output.
_LAST = (
    keras.layers.Dense,
    keras.layers.EinsumDense,
    keras.layers.Conv1D,
    keras.layers.Conv2D,
    keras.layers.Conv3D,
    keras.layers.Conv1DTranspose,
    keras.layers.Conv2DTranspose,
    keras.layers.Conv3DTranspose,
    keras.layers.DepthwiseConv1D,
    keras.layers.DepthwiseConv2D,
    keras.layers.SeparableConv1D,
    keras.layers.SeparableConv2D,
)


def touch(edit: Edit, scene: Scene) -> Step:
    """Every dense or convolutional layer with an activation."""
    touched, skipped = [], []
    for candidate in scene.find(edit):
        layer = scene.op(candidate.path)
        activation = getattr(layer, "activation", None)
        if not isinstance(layer, keras.Layer) or activation is None or is_linear(activation):
            continue
        if not isinstance(layer, _LAST):
            if not isinstance(layer, keras.layers.Activation):
                skipped.append(Skip(candidate.path, f"a {candidate.op.class_name} uses its activation inside"))
            continue
        if "call" in type(layer).__dict__ and not type(layer).__module__.startswith("keras."):
            skipped.append(Skip(candidate.path, f"{candidate.op.class_name} has a call of its own"))
            continue
        if structure.function_of(scene.holder(candidate.path)) is None:
            skipped.append(Skip(candidate.path, "it is called by the code of the layer it is inside of"))
            continue
        name = getattr(activation, "__name__", type(activation).__name__)
        claims = frozenset({"setting activation"})
        touched.append(Touch(candidate.path, f"{candidate.op.class_name}, {name} as a layer after it", claims=claims))
    return Step(edit, tuple(touched), tuple(skipped))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Take the activation out of each layer, and call it afterwards."""
    for item in step.touched:
        layer = scene.op(item.path)
        taken = scene.names_beside(item.path) | scene.names_given(item.path)
        name = free_name(f"{layer.name}_activation", taken)
        scene.give_name(item.path, name)
        after = keras.layers.Activation(layer.activation, name=name, dtype=layer.dtype_policy)
        update(scene, item.path, {"activation": "linear"})
        for call in scene.calls(item.path).values():
            # What other edits put after the layer comes after its activation.
            scene.orders.at(call).after.setdefault(0, []).insert(0, after)


def is_linear(activation: Any) -> bool:
    """Whether an activation changes nothing."""
    return activation is None or activation is keras.activations.linear
