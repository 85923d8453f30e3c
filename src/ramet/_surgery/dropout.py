"""`drop_dropout`: without the layers that do nothing but at training."""

from __future__ import annotations

import keras

from ramet._edit import Edit, Step, Touch
from ramet._keras import structure
from ramet._surgery.scene import Scene
from ramet._surgery.updating import update

_LAYERS = (
    keras.layers.Dropout,
    keras.layers.SpatialDropout1D,
    keras.layers.SpatialDropout2D,
    keras.layers.SpatialDropout3D,
    keras.layers.GaussianDropout,
    keras.layers.AlphaDropout,
    keras.layers.GaussianNoise,
)
_RATES = ("dropout", "recurrent_dropout")


def touch(edit: Edit, scene: Scene) -> Step:
    """Layers of the dropout family, removed where there is a call graph; rates set to 0 inside other layers."""
    touched = []
    for candidate in scene.find(edit):
        layer = scene.op(candidate.path)
        if not isinstance(layer, keras.Layer):
            continue
        claims = frozenset({"layer"})
        if isinstance(layer, _LAYERS):
            if structure.function_of(scene.holder(candidate.path)) is not None and _passes_on(candidate.path, scene):
                touched.append(
                    Touch(candidate.path, f"{candidate.op.class_name}, removed", claims=claims, detail="remove")
                )
            elif structure.function_of(scene.holder(candidate.path)) is not None:
                touched.append(_silenced(candidate.path, candidate.op.class_name, layer))
            continue
        rates = {name: 0.0 for name in _RATES if _has_rate(candidate.op.config, name)}
        if rates:
            said = " and ".join(rates)
            touched.append(Touch(candidate.path, f"{candidate.op.class_name}, {said} set to 0", detail=rates))
    return Step(edit, tuple(touched))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Remove, or set rates to 0."""
    for item in step.touched:
        if item.detail == "remove":
            for call in scene.calls(item.path).values():
                scene.orders.at(call).keep = (0,)
            scene.changed_inside(item.path)
        else:
            update(scene, item.path, dict(item.detail))


def _passes_on(path: str, scene: Scene) -> bool:
    return all(len(call.input_tensors) == 1 and len(call.outputs) == 1 for call in scene.calls(path).values())


def _silenced(path: str, class_name: str, layer: object) -> Touch:
    name = "stddev" if isinstance(layer, keras.layers.GaussianNoise) else "rate"
    return Touch(path, f"{class_name}, {name} set to 0", detail={name: 0.0})


def _has_rate(config: object, name: str) -> bool:
    value = getattr(config, "get", lambda _: None)(name)
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
