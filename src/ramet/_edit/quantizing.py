"""`quantize`, and its way back: layers quantised by Keras' own method, and float weights made from quantised ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

from ramet._copy import clone
from ramet._edit.edit import Edit
from ramet._edit.order import inside_first
from ramet._edit.patch import patch
from ramet._edit.plan import Skip, Step, Touch
from ramet._edit.probe import made_twice
from ramet._edit.round_trip import RoundTrip, round_trip
from ramet._edit.scene import Scene
from ramet._keras import layers, policies, quantization, structure
from ramet._select import anything
from ramet.errors import EditError


def touch(edit: Edit, scene: Scene) -> Step:
    """Every layer that matches, or stands inside one that does, and that Keras can quantise."""
    mode = edit["mode"]
    _check_mode(mode)
    meant = set() if edit.selector == anything() else {candidate.path for candidate in scene.find(edit)}
    touched, skipped, notes = [], [], []
    for path, layer in leaves(edit, scene):
        reason = quantization.objection(layer, mode) or _refusal(layer, mode)
        if reason is not None:
            if layer.weights or not layer.built or path in meant:  # others go without saying
                skipped.append(Skip(path, reason))
            continue
        tied = any(scene.is_tied(variable) for variable in layers.own_variables(layer))
        what = f"{type(layer).__name__}, quantised to {mode}{', no longer tied' if tied else ''}"
        touched.append(Touch(path, what, claims=frozenset({"dtype policy"})))
    if not touched and edit.required:
        raise EditError(
            f"Cannot quantise '{scene.model.name}' to {mode}: no layer that matches can be quantised.",
            found="; ".join(f"'{skip.path}': {skip.reason}" for skip in skipped[:5]) or "no layer with weights",
            fix="select other layers, or pass required=False.",
        )
    if any(_holders(scene, item.path) for item in touched):
        notes.append(
            "layers inside other layers are saved by a DTypePolicyMap on the layer around them; "
            "Keras loads such a file, but cannot save the loaded model again."
        )
    return Step(edit, tuple(touched), tuple(skipped), tuple(notes))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Quantise each layer as Keras does, and let the layers around it say so in their configs."""
    for item in step.touched:
        layer = scene.op(item.path)
        try:
            quantization.quantize(layer, edit["mode"])
        except (TypeError, ValueError, NotImplementedError) as error:
            raise EditError(
                f"Cannot quantise '{item.path}' to {edit['mode']}: {type(layer).__name__} refuses it.",
                found=" ".join(str(error).split())[:200],
                fix="select other layers.",
                path=item.path,
            ) from error
        scene.changed_inside(item.path)
    outermost = {id(holders[-1]): holders[-1] for item in step.touched if (holders := _holders(scene, item.path))}
    for holder in outermost.values():
        _tell_config(holder, scene)


def leaves(edit: Edit, scene: Scene) -> Iterator[tuple[str, Any]]:
    """The layers that hold no others, among those that an edit means and inside them; each once."""
    seen: set[int] = set()
    for candidate in scene.find(edit):
        op = scene.op(candidate.path)
        if not isinstance(op, keras.Layer):
            continue
        for layer in sorted(inside_first(op), key=scene.order_of):
            if id(layer) in seen or not isinstance(layer, keras.Layer) or structure.layers_of(layer):
                continue
            seen.add(id(layer))
            path = scene.path_of(layer)
            if not scene.is_input(path):
                yield path, layer


def dequantise(scene: Scene, path: str) -> None:
    """Give a quantised layer of the twin the float weights that its quantised ones stand for, and its float policy back."""
    layer = scene.op(path)
    check_dequantises(layer, path)
    values = quantization.dequantised(layer)
    enabled, source = getattr(layer, "lora_enabled", False), quantization.source_policy(layer)
    policies.put_policy(layer, policies.effective(layer))
    settings: dict[str, Any] = {"dtype": keras.dtype_policies.serialize(keras.dtype_policies.get(source))}
    if "quantization_config" in layer.get_config():
        settings["quantization_config"] = None
    as_it_is, changed = made_twice(layer, path, settings)
    order = layers.keys_of(layers.own_variables(changed))
    scene.successors |= patch(layer, as_it_is, changed, path, policy="fresh", quantised=True)
    for variable in layers.own_variables(layer):
        if variable.name in values:
            variable.assign(keras.ops.cast(values[variable.name], variable.dtype))
            variable.trainable = layer.trainable and not enabled  # LoRA keeps the base frozen
            layers.list_as_trainable(layer, variable, order)
            scene.successors[id(variable)] = None
    scene.orders.touch(layer)
    scene.changed_inside(path)


def check_dequantises(layer: Any, path: str) -> None:
    """Refuse a quantised layer whose float weights cannot be told."""
    if not quantization.can_dequantise(layer):
        mode = quantization.mode_of(layer)
        known = "" if mode in ("gptq", "awq") else f" of a {type(layer).__name__}"
        raise EditError(
            f"Cannot make float weights for '{path}': it is quantised to {mode}, and how its weights are kept is not known.",
            found=f"weights{known} quantised to {mode}",
            fix="start from the float model; a quantised one cannot be turned back here.",
            path=path,
        )


def _check_mode(mode: Any) -> None:
    known = [name for name in quantization.modes() if name not in quantization.CALIBRATED]
    if mode in quantization.CALIBRATED and mode in quantization.modes():
        raise EditError(
            f"Cannot quantise to {mode}: it needs calibration data.",
            expected=", ".join(map(repr, known)),
            fix=f"make a twin and calibrate that: twin = ramet.clone(model); twin.quantize({mode!r}, config=...).",
        )
    if mode not in known:
        raise EditError(
            f"Cannot quantise to {mode!r}: Keras {keras.__version__} knows no such mode.",
            expected=", ".join(map(repr, known)),
            fix="pass one of these.",
        )


def _refusal(layer: Any, mode: str) -> str | None:
    """What a user's layer says to being quantised, tried on a copy; Keras' own are known."""
    if not quantization.is_foreign(layer):
        return None
    try:
        quantization.quantize(clone(layer), mode)
    except Exception as error:  # noqa: BLE001  # a user's class may raise anything
        return f"{type(layer).__name__} refuses: {' '.join(str(error).split())[:120]}"
    return None


def _holders(scene: Scene, path: str) -> list[Any]:
    """The layers around a layer that call it by their own code, the nearest first; wrappers save what they hold."""
    above = [scene.op(name) for name in scene.ancestors(path)]
    held = [op for op in above if structure.function_of(op) is None and not isinstance(op, keras.Model)]
    return [op for op in held if not isinstance(op, keras.layers.Wrapper)]


def _tell_config(holder: Any, scene: Scene) -> None:
    """Where the config of a layer does not say that layers inside it are quantised, let its policy say so, if that helps."""
    if _is_saved(holder, scene):
        return
    inner = [part for part in inside_first(holder) if isinstance(part, keras.Layer)]
    quantised = {part.path: policies.effective(part) for part in inner if quantization.mode_of(part) is not None}
    around = [part for part in inner if structure.layers_of(part)]
    before = [(part, policies.held_policy(part)) for part in around]
    told = keras.dtype_policies.DTypePolicyMap(policies.effective(holder).name, quantised)
    for part in around:
        policies.put_policy(part, told)
    if not _is_saved(holder, scene):
        for part, policy in before:
            policies.put_policy(part, policy)


def _is_saved(holder: Any, scene: Scene) -> bool:
    now = round_trip(holder)
    if now.error is not None or not now.differences:
        return now.error is None
    original = scene.original_of(holder)
    return not now.lost(RoundTrip() if original is None else round_trip(original))
