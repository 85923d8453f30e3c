"""Changing settings of layers in place, adapting their weights, and checking that the change has an effect."""

from __future__ import annotations

import random
import warnings
from typing import Any

import keras
import numpy as np

from ramet._copy import copy_model
from ramet._edit.patch import Fit, fresh_value, made_twice, paired_layers, patch
from ramet._edit.plans import AdaptedWeight
from ramet._edit.session import EditSession
from ramet._keras import layers, policies, quantization, structure, suppress_config_warnings
from ramet._weights import adapt, blocks_of
from ramet.errors import EditError, NoEffectWarning, WeightsDoNotFitError

CONVOLUTIONS = (keras.layers.Conv1D, keras.layers.Conv2D, keras.layers.Conv3D)
TRANSPOSED = (keras.layers.Conv1DTranspose, keras.layers.Conv2DTranspose, keras.layers.Conv3DTranspose)
DEPTHWISE = (keras.layers.DepthwiseConv1D, keras.layers.DepthwiseConv2D)
SEPARABLE = (keras.layers.SeparableConv1D, keras.layers.SeparableConv2D)


def update_settings(session: EditSession, path: str, settings: dict[str, Any], *, policy: str = "refuse") -> None:
    """Change settings of the twin's layer at a path, and record that its calls must be made again."""
    layer = session.op(path)
    # Fresh weights are drawn anew each time. Otherwise nothing is drawn, and no generator may advance.
    seed = random.getrandbits(32) if policy == "fresh" else 0
    as_is, changed = made_twice(layer, path, settings, seed=seed)
    successors = patch(layer, as_is, changed, path, fit=_weight_fit(session, layer, changed, policy, settings))
    session.successors |= dict.fromkeys(successors) if policy == "fresh" else successors
    with suppress_config_warnings():
        before, after, now = (one.get_config() for one in (as_is, changed, layer))
    for name, value in settings.items():  # if the config contains the new value, a file will, too
        if now.get(name) != after.get(name):
            raise cannot_update(path, f"with {name}={value!r} its config still has {now.get(name)!r}")
    session.updated.append(path)
    session.changed_settings += [(before.get(name), after.get(name)) for name in settings]
    session.changes.redo(layer)
    session.changed.append(path)


def dtype_policy(policy: Any, verb: str) -> Any:
    """Return the dtype policy that was passed, in any form; refuse one that Keras does not know or that quantizes."""
    try:
        found = keras.dtype_policies.get(policy)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(policy, str) and policy in quantization.modes():
            raise _quantizes(policy, policy, verb) from error
        raise EditError(
            f"Cannot {verb} to {policy!r}: Keras has no such dtype policy.",
            found=str(error).splitlines()[0],
            fix="pass a name like 'mixed_bfloat16', 'float16', 'float64', or a keras.dtype_policies.DTypePolicy.",
        ) from error
    quantized = next((one for one in policies.parts_of(found) if one.quantization_mode is not None), None)
    if quantized is not None:
        raise _quantizes(quantized.name, quantized.quantization_mode, verb)
    missing = policies.unavailable(found)
    if missing is not None:
        raise EditError(
            f"Cannot {verb} to {found.name!r}: {keras.backend.backend()} is not configured for {missing} and would use "
            "fewer bits.",
            fix="call jax.config.update('jax_enable_x64', True) before anything is computed, or choose a narrower dtype.",
        )
    return found


def _quantizes(name: str, mode: str, verb: str) -> EditError:
    fix = f"use e.quantize(selector, {mode!r})."
    if mode in quantization.CALIBRATED:
        fix = f"make a twin and calibrate it: twin = ramet.clone(model); twin.quantize({mode!r}, config=...)."
    return EditError(
        f"Cannot {verb} to {name!r}: that would round the weights instead of quantizing them.",
        found=f"a policy that quantizes to {mode}",
        fix=fix,
    )


def cannot_update(path: str, why: str) -> EditError:
    """Return the error for a layer whose settings cannot be changed."""
    return EditError(f"Cannot update '{path}': {why}.", fix="replace the layer by one with the settings.", path=path)


# Weights of another shape.

_FRESH = "pass weights='fresh', or replace the layer."


def adapted_weights(layer: Any, path: str, settings: dict[str, Any], policy: str) -> list[AdaptedWeight]:
    """Return the weights of a layer whose shape other settings would change. Nothing is changed."""
    if not layer.built or not layer.weights:
        return []
    as_is, changed = made_twice(layer, path, settings)
    found = []
    for where, ours, theirs in paired_layers(as_is, changed, path):
        held, made = layers.own_variables(ours), layers.own_variables(theirs)
        by_key = dict(zip(layers.variable_keys(held), held, strict=True))
        for key, after in zip(layers.variable_keys(made), made, strict=True):
            old, new = tuple(by_key.get(key, after).shape), tuple(after.shape)
            if old != new and policy != "refuse":
                found.append(AdaptedWeight(f"{where}/{after.name}", old, new, policy, differing_axes(old, new)))
    return found


def differing_axes(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes along which two shapes differ; all of them if the number of axes differs."""
    if len(old) != len(new):
        return tuple(range(len(new)))
    return tuple(axis for axis, (a, b) in enumerate(zip(old, new, strict=True)) if a != b)


def _weight_fit(session: EditSession, layer: Any, changed: Any, policy: str, settings: dict[str, Any]) -> Fit:
    """Return a function that computes the value of a weight whose shape other settings change."""
    pairs = [(ours, theirs) for _, ours, theirs in paired_layers(layer, changed, "")]
    owners = {id(v): (ours, theirs) for ours, theirs in pairs for v in layers.own_variables(ours)}

    def fit(old: Any, new: Any, path: str) -> Any:
        shape, wanted = tuple(old.shape), tuple(new.shape)
        if shape == wanted:
            return fresh_value(old, new, path)
        if policy == "fresh":
            value = fresh_value(old, new, path)
        else:
            before, after = owners.get(id(old), (None, None))
            blocks: dict[int, int] = {}
            offsets: dict[int, int] = {}
            if after is not None and policy != "refuse":
                if "groups" in settings and getattr(before, "groups", None) != settings["groups"]:
                    raise weights_do_not_fit(path, shape, wanted, "other groups take other channels", fix=_FRESH)
                blocks = blocks_of(after, old.name, len(wanted)) | _channel_blocks(after, old.name, wanted)
                if policy in ("pad", "slice"):
                    offsets = _kernel_offsets(before, after, old.name, shape, wanted, path)

            def make(array: Any) -> Any:
                return adapt(_shifted(array, offsets), wanted, policy, path=path, blocks=blocks)

            session.slot_fits[id(new)] = make  # slots of the optimizer are adapted in the same way
            value = make(keras.ops.convert_to_numpy(old))
        session.adapted.append(AdaptedWeight(path, shape, wanted, policy, differing_axes(shape, wanted)))
        return value

    return fit


def _channel_blocks(layer: Any, name: str, new: tuple[int, ...]) -> dict[int, int]:
    """Return, by axis with several values for each channel, the number of channels, which stays the same."""
    if isinstance(layer, DEPTHWISE) and name == "bias":
        return {0: int(layer.kernel.shape[-2])}
    if isinstance(layer, SEPARABLE) and name == "pointwise_kernel":
        return {len(new) - 2: int(layer.depthwise_kernel.shape[-2])}
    return {}


def _kernel_offsets(
    before: Any, after: Any, name: str, old: tuple[int, ...], new: tuple[int, ...], path: str
) -> dict[int, int]:
    """Return, by axis of a convolution kernel of another size, where in the larger kernel the smaller one starts.

    A convolution with `padding="same"` looks around a position, a causal one looks back from it: padded at its end, the
    kernel would look at other neighbors.
    """
    if not hasattr(after, "kernel_size") or "kernel" not in name or name == "pointwise_kernel":
        return {}
    spatial = [axis for axis in range(len(after.kernel_size)) if old[axis] != new[axis]]
    if not spatial or after.padding == "valid" or len(old) != len(new):
        return {}
    unit_strides = all(step == 1 for one in (before, after) for step in one.strides)
    if "Transpose" in type(after).__name__ or not unit_strides:
        why = "with these strides and this padding, a kernel of another size looks at other neighbors"
        raise weights_do_not_fit(path, old, new, why, fix=_FRESH)
    offsets = {}
    for axis in spatial:
        rate = after.dilation_rate[axis]
        lefts = [
            rate * (size - 1) if after.padding == "causal" else rate * (size - 1) // 2
            for size in (old[axis], new[axis])
        ]
        if (lefts[1] - lefts[0]) % rate:
            why = "the center of the kernel would move by a fraction of a step"
            raise weights_do_not_fit(path, old, new, why, fix=_FRESH)
        offsets[axis] = (lefts[1] - lefts[0]) // rate
    return offsets


def _shifted(value: Any, offsets: dict[int, int]) -> Any:
    """Return an array padded or cut at the start of some axes, so that only its end is left to adapt."""
    for axis, offset in offsets.items():
        if offset > 0:
            value = np.pad(value, [(offset, 0) if n == axis else (0, 0) for n in range(value.ndim)])
        elif offset < 0:
            value = np.take(value, np.arange(-offset, value.shape[axis]), axis)
    return value


def weights_do_not_fit(
    path: str, old: tuple[int, ...], new: tuple[int, ...], why: str, *, fix: str, expected: str | None = None
) -> WeightsDoNotFitError:
    """Return the error for a weight that cannot be adapted to another shape."""
    return WeightsDoNotFitError(
        f"Cannot adapt weights of shape {old} to '{path}' of shape {new}: {why}.",
        expected=expected or f"shape {new}",
        found=f"shape {old}",
        fix=fix,
        path=path,
    )


# Settings without effect.


def warn_without_effect(session: EditSession) -> None:
    """Warn about changed settings without effect, as far as the layers can be run on made-up inputs.

    A layer that is held by the code of another one need not be called at all: its owner may have taken the activation out
    of it in its constructor. So layer and owner are run before and after the edit. If a changed setting changes the output
    of the layer but not the output of its owner, it has no effect.
    """
    for path in dict.fromkeys(session.updated):
        holder = session.holder(path)
        if structure.function_of(holder) is not None or isinstance(holder, keras.Sequential):
            continue
        if _computes_the_same(session, session.op(path)) is False and _computes_the_same(session, holder):
            name = type(holder).__name__
            warnings.warn(
                f"The changed setting of '{path}' has no effect: {name} computes the same outputs as before.\n"
                f"  fix: find out what {name} uses instead of the layer, and change that.",
                NoEffectWarning,
                stacklevel=5,
            )


def _computes_the_same(session: EditSession, op: Any) -> bool | None:
    """Return whether an op computes the same as before the edit; None if it cannot be run on made-up inputs."""
    old, new = session.original_of(op), session.successor(op)
    for integers in (False, True):
        try:
            inputs = _made_up_inputs(old, integers=integers)
            first, second = (keras.tree.flatten(copy_model(one)(*inputs)) for one in (old, new))
            first, second = (list(map(keras.ops.convert_to_numpy, outputs)) for outputs in (first, second))
        except Exception:  # noqa: BLE001  # a user's layer may refuse made-up inputs
            continue
        return len(first) == len(second) and all(map(np.array_equal, first, second))
    return None


def _made_up_inputs(op: Any, *, integers: bool) -> list[Any]:
    """Return random inputs of the shapes that a layer was built with: floats, or integers for lookup layers."""
    built = op.get_build_config() or {}
    shapes = [built["input_shape"]] if built.get("input_shape") else list(built["shapes_dict"].values())
    rng = np.random.default_rng(0)

    def made(shape: tuple[int | None, ...]) -> Any:
        sizes = tuple(2 if size is None else size for size in shape)
        return rng.integers(0, 2, sizes).astype("int32") if integers else rng.normal(size=sizes).astype("float32")

    return [keras.tree.map_shape_structure(made, shape) for shape in shapes]
