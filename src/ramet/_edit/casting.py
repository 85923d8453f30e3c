"""`cast`: another dtype policy, for float weights. Quantised ones become float again; to quantise is another edit."""

from __future__ import annotations

from typing import Any

import keras

from ramet._edit.edit import Edit
from ramet._edit.order import inside_first
from ramet._edit.plan import Step, Touch
from ramet._edit.quantizing import check_dequantises, dequantise
from ramet._edit.scene import Scene
from ramet._edit.updating import policy_of, update
from ramet._keras import layers, policies, quantization
from ramet._select import anything
from ramet.errors import EditError


def touch(edit: Edit, scene: Scene) -> Step:
    """Every layer that matches. Models are not cast themselves, so those with weights of their own are refused."""
    wanted = policy_of(edit["policy"], "cast")
    if edit.selector == anything():
        _check_no_own_weights(scene.twin, wanted, scene.twin.name)
    found = {candidate.path: candidate for candidate in scene.find(edit)}
    touched = []
    for path, candidate in found.items():
        layer = scene.op(path)
        if isinstance(layer, keras.Model):
            _check_no_own_weights(layer, wanted, path)
        if not isinstance(layer, keras.Layer) or isinstance(layer, keras.Model) or scene.is_input(path):
            continue
        above = [name for name in scene.ancestors(path) if not isinstance(scene.op(name), keras.Model)]
        if any(name in found for name in above):
            continue  # it goes with the layer that it is inside of
        _check_floats(layer, wanted, path, scene)
        quantised = [part for part in _parts(layer) if quantization.mode_of(part) is not None]
        for part in quantised:
            check_dequantises(part, scene.path_of(part))
        modes = ", ".join(dict.fromkeys(str(quantization.mode_of(part)) for part in quantised))
        what = f"{candidate.op.class_name}, {wanted.name}{f', float weights in the place of {modes}' if modes else ''}"
        touched.append(Touch(path, what, claims=frozenset({"dtype policy"})))
    return Step(edit, tuple(touched))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Change the policy of each layer, and the numbers of those whose variables have another dtype."""
    wanted = policy_of(edit["policy"], "cast")
    policy = keras.dtype_policies.serialize(wanted)
    for item in step.touched:
        layer = scene.op(item.path)
        make_float(scene, item.path)
        try:
            update(scene, item.path, {"dtype": policy})
            for inner in reversed(inside_first(layer)[:-1]):  # the outer ones first: some decided for what is inside
                if isinstance(inner, keras.Layer) and policies.effective(inner).name != wanted.name:
                    update(scene, scene.path_of(inner), {"dtype": policy})
                scene.orders.touch(inner)
        except EditError as error:
            error.add_note(
                "Or make the model anew in this dtype and bring its weights over, ramet.transfer(model, new)."
            )
            raise


def make_float(scene: Scene, path: str) -> None:
    """Give a layer, and all inside it, float weights where they are quantised."""
    parts = _parts(scene.op(path))
    quantised = [part for part in parts if quantization.mode_of(part) is not None]
    for part in quantised:
        dequantise(scene, scene.path_of(part))
    if quantised:
        for part in parts:  # a map of policies still speaks of quantised layers
            if isinstance(policies.held_policy(part), keras.dtype_policies.DTypePolicyMap):
                policies.put_policy(part, policies.effective(part))


def _check_no_own_weights(model: Any, wanted: Any, path: str) -> None:
    """Refuse to cast a model, or a layer on its own, whose weights do not all belong to layers inside."""
    held = [v for v in layers.own_variables(model) if _is_float(v.dtype) and v.dtype != wanted.variable_dtype]
    if held:
        raise EditError(
            f"Cannot cast '{path}' to {wanted.name!r}: '{held[0].path}' belongs to none of the layers inside.",
            found=f"a {type(model).__name__} with weights of its own, {held[0].dtype}",
            fix="cast the layers inside, e.cast(policy, selector); or put the weight, or a layer on its own, into a layer of a model.",
            path=path,
        )


def _check_floats(layer: Any, wanted: Any, path: str, scene: Scene) -> None:
    """Refuse to round float weights to integers."""
    if all(_is_float(one.variable_dtype) for one in policies.parts_of(wanted)):
        return
    for part in _parts(layer):
        held = [v for v in layers.own_variables(part) if _is_float(v.dtype)]
        if held:
            raise EditError(
                f"Cannot cast '{path}' to {wanted.name!r}: its weights would be rounded to integers.",
                found=f"'{scene.path_of(part)}/{held[0].name}' is {held[0].dtype}",
                fix="cast to a float dtype; to quantise, use e.quantize(selector, 'int8').",
                path=path,
            )


def _is_float(dtype: Any) -> bool:
    return "float" in str(keras.backend.standardize_dtype(dtype))


def _parts(layer: Any) -> list[Any]:
    return [part for part in inside_first(layer) if isinstance(part, keras.Layer)]
