"""`drop_dropout`: without the layers that do nothing but at training."""

from __future__ import annotations

import keras

from ramet._edit.edit import Edit
from ramet._edit.plan import Skip, Step, Touch
from ramet._edit.scene import Scene
from ramet._edit.updating import update
from ramet._keras import structure
from ramet._select import Candidate

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
    touched, skipped = [], []
    for candidate in scene.find(edit):
        layer = scene.op(candidate.path)
        if isinstance(layer, _LAYERS):
            found = _family(candidate, scene)
            if isinstance(found, Skip):
                skipped.append(found)
            elif found is not None:
                touched.append(found)
        elif isinstance(layer, keras.Layer) and structure.function_of(layer) is None:  # a graph has layers for it
            rates = {name: 0.0 for name in _RATES if _has_rate(candidate.op.config, name)}
            if rates:
                said = " and ".join(rates)
                touched.append(Touch(candidate.path, f"{candidate.op.class_name}, {said} set to 0", detail=rates))
    return Step(edit, tuple(touched), tuple(skipped))


def _family(candidate: Candidate, scene: Scene) -> Touch | Skip | None:
    """What happens to a layer that does nothing but drop or add noise; None if its holder's own rate decides."""
    path, holder = candidate.path, scene.holder(candidate.path)
    if structure.function_of(holder) is None:
        if isinstance(holder, keras.layers.Wrapper):
            return _silenced(candidate, scene)
        if any(hasattr(holder, name) or hasattr(holder, f"_{name}") for name in _RATES):
            return None
        return Skip(path, f"it is made and called by the code of a {type(holder).__name__}")
    calls = scene.calls(path).values()
    if any(
        structure.arguments_by_name(c.operation, c.arguments.args, c.arguments.kwargs).get("training") for c in calls
    ):
        return Skip(path, "it is called with training=True: it acts at inference, too")
    if any(len(call.input_tensors) != 1 or len(call.outputs) != 1 for call in calls):
        return _silenced(candidate, scene)
    return Touch(path, f"{candidate.op.class_name}, removed", claims=frozenset({"layer"}), detail="remove")


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Remove, or set rates to 0."""
    for item in step.touched:
        if item.detail == "remove":
            for call in scene.calls(item.path).values():
                scene.orders.at(call).keep = (0,)
            scene.changed_inside(item.path)
        else:
            update(scene, item.path, dict(item.detail))


def _silenced(candidate: Candidate, scene: Scene) -> Touch:
    name = "stddev" if isinstance(scene.op(candidate.path), keras.layers.GaussianNoise) else "rate"
    return Touch(candidate.path, f"{candidate.op.class_name}, {name} set to 0", detail={name: 0.0})


def _has_rate(config: object, name: str) -> bool:
    value = getattr(config, "get", lambda _: None)(name)
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
