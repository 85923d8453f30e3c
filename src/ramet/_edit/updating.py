"""`update`: a setting changed, really in force: in the call, in training, in the saved file."""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np

from ramet._edit.edit import Edit
from ramet._edit.patch import patch
from ramet._edit.plan import AdaptedWeight, Skip, Step, Touch
from ramet._edit.probe import made_twice
from ramet._edit.scene import Scene
from ramet._keras import layers as parts_of
from ramet._keras import lora, policies, quantization, reading_configs
from ramet._weights import adapt, blocks_of, check_policy
from ramet.errors import EditError, WeightsDoNotFitError

# A config says it only where there is one.
_UNSAID = {"activity_regularizer"}


def touch(edit: Edit, scene: Scene) -> Step:
    """Every layer that matches and has these settings with other values."""
    check_policy(edit["weights"])
    settings = dict(edit["settings"])
    touched, skipped = [], []
    for candidate in scene.find(edit):
        config = candidate.op.config
        if not isinstance(scene.op(candidate.path), keras.Layer) or config is None:
            reason = candidate.op.no_config or "a raw operation has no settings to change"
            raise _cannot(candidate.path, f"it cannot say its settings ({reason})")
        _check_settings(scene.op(candidate.path), settings, candidate.path)
        known = {str(key) for key, _ in config.pairs} | _UNSAID
        for name in settings:
            if name not in known:
                raise EditError(
                    f"Cannot update '{candidate.path}': a {candidate.op.class_name} has no setting '{name}'.",
                    closest=difflib.get_close_matches(name, sorted(known), n=3),
                    fix="use a name that its get_config() says, or select other layers.",
                    path=candidate.path,
                )
        changed = [f"{name}={value!r}" for name, value in settings.items()]
        if candidate.op.kind == "model":
            skipped.append(Skip(candidate.path, "a model's settings are its layers'"))
            continue
        claims = frozenset(f"setting {name}" for name in settings)
        touched.append(Touch(candidate.path, f"{candidate.op.class_name}, {', '.join(changed)}", claims=claims))
    return Step(edit, tuple(touched), tuple(skipped))


def policy_of(policy: Any, verb: str) -> Any:
    """The dtype policy that was asked for; one that Keras does not know or that quantises is refused.

    Args:
        policy: A name, a policy, a map of policies, or the config of one.
        verb: What was asked for, for messages.
    """
    try:
        found = keras.dtype_policies.get(policy)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(policy, str) and policy in quantization.modes():
            raise _quantises(policy, policy, verb) from error
        raise EditError(
            f"Cannot {verb} to {policy!r}: Keras knows no such dtype policy.",
            found=str(error).splitlines()[0],
            fix="pass a name like 'mixed_bfloat16', 'float16', 'float64', or a keras.dtype_policies.DTypePolicy.",
        ) from error
    quantised = next((one for one in policies.parts_of(found) if one.quantization_mode is not None), None)
    if quantised is not None:
        raise _quantises(quantised.name, quantised.quantization_mode, verb)
    missing = policies.unavailable(found)
    if missing is not None:
        raise EditError(
            f"Cannot {verb} to {found.name!r}: {keras.backend.backend()} is not set up for {missing} and would use fewer bits.",
            fix="jax.config.update('jax_enable_x64', True) before anything is computed, or choose a narrower dtype.",
        )
    return found


def _quantises(name: str, mode: str, verb: str) -> EditError:
    way = f"use e.quantize(selector, {mode!r})."
    if mode in quantization.CALIBRATED:
        way = f"make a twin and calibrate that: twin = ramet.clone(model); twin.quantize({mode!r}, config=...)."
    return EditError(
        f"Cannot {verb} to {name!r}: that would round the weights instead of quantising them.",
        found=f"a policy that quantises to {mode}",
        fix=way,
    )


def _check_settings(layer: Any, settings: dict[str, Any], path: str) -> None:
    """Refuse settings that no config alone can bring into force."""
    if "dtype" in settings:
        policy_of(settings["dtype"], f"update '{path}'")
        if quantization.mode_of(layer) is not None:
            raise EditError(
                f"Cannot update the dtype of '{path}': it is quantised to {quantization.mode_of(layer)}.",
                fix="use e.cast(policy, selector), which gives it float weights.",
                path=path,
            )
    for name in ("lora_rank", "lora_alpha"):
        if name in settings:
            way = "e.merge_lora() first, then e.lora" if lora.is_enabled(layer) else "e.lora"
            raise EditError(
                f"Cannot update '{path}' with {name}={settings[name]!r}: LoRA is enabled, not configured.",
                fix=f"use {way}(selector, rank=..., alpha=...).",
                path=path,
            )


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Change each layer in place."""
    for item in step.touched:
        update(scene, item.path, dict(edit["settings"]), policy=edit["weights"])


def update(scene: Scene, path: str, settings: dict[str, Any], *, policy: str = "refuse") -> None:
    """Change settings of the twin's layer at a path, and have its calls made again."""
    layer = scene.op(path)
    # Fresh values are drawn each time; where none are taken, no generator moves.
    seed = random.getrandbits(32) if policy == "fresh" else 0
    as_it_is, changed = made_twice(layer, path, settings, seed=seed)
    successors = patch(layer, as_it_is, changed, path, fit=_Fit(scene, layer, changed, policy, settings))
    if policy == "fresh":
        successors = dict.fromkeys(successors)
    scene.successors |= successors
    _check_in_force(layer, changed, settings, path)
    with reading_configs():
        before, after = as_it_is.get_config(), changed.get_config()
    scene.updated.append(path)
    scene.changed_settings += [(before.get(name), after.get(name)) for name in settings]
    scene.orders.touch(layer)
    scene.changed_inside(path)


def weights_adapted(layer: Any, path: str, settings: dict[str, Any], policy: str) -> list[AdaptedWeight]:
    """The weights of a layer that other settings would give another shape. Nothing is changed."""
    if not layer.built or not layer.weights:
        return []
    as_it_is, changed = made_twice(layer, path, settings)
    found = []
    for where, before, after in _pairs(as_it_is, changed, path):
        old, new = tuple(before.shape), tuple(after.shape)
        if old != new and policy != "refuse":
            found.append(AdaptedWeight(f"{where}/{after.name}", old, new, policy, _differing(old, new)))
    return found


def _pairs(one: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    waiting = [(one, other, path)]
    while waiting:
        ours, theirs, where = waiting.pop(0)
        mine, yours = parts_of.own_variables(ours), parts_of.own_variables(theirs)
        by_key = dict(zip(parts_of.keys_of(mine), mine, strict=True))
        for key, variable in zip(parts_of.keys_of(yours), yours, strict=True):
            if key in by_key:
                yield where, by_key[key], variable
        inner, outer = parts_of.layers_by_place(ours), parts_of.layers_by_place(theirs)
        waiting += [(inner[name], outer[name], f"{where}/{inner[name].name}") for name in inner if name in outer]


def _differing(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    if len(old) != len(new):
        return tuple(range(len(new)))
    return tuple(axis for axis, (a, b) in enumerate(zip(old, new, strict=True)) if a != b)


class _Fit:
    """Makes the value of a weight that has another shape under other settings."""

    def __init__(self, scene: Scene, layer: Any, changed: Any, policy: str, settings: dict[str, Any]) -> None:
        self._scene, self._policy, self._settings = scene, policy, settings
        self._owners = {id(v): (ours, theirs) for ours, theirs in _owners(layer, changed) for v in _own(ours)}

    def __call__(self, old: Any, new: Any, path: str) -> Any:
        shape = tuple(new.shape)
        value = keras.ops.convert_to_numpy(old)
        if tuple(old.shape) == shape:  # another dtype
            return value
        before, after = self._owners.get(id(old), (None, None))
        make = self._maker(before, after, old.name, tuple(old.shape), shape, path)
        fresh = keras.ops.convert_to_numpy(new)
        result = fresh if self._policy == "fresh" else make(value)
        axes = _differing(tuple(old.shape), shape)
        self._scene.adapted.append(AdaptedWeight(path, tuple(old.shape), shape, self._policy, axes))
        if self._policy != "fresh":
            self._scene.slot_fits[id(new)] = make
        return result

    def _maker(
        self, before: Any, after: Any, name: str, old: tuple[int, ...], new: tuple[int, ...], path: str
    ) -> Callable[[Any], Any]:
        """What makes an array of the new shape from one of the old shape."""
        blocks: dict[int, int] = {}
        offsets: dict[int, int] = {}
        if after is not None and self._policy not in ("refuse", "fresh"):
            if "groups" in self._settings and getattr(before, "groups", None) != self._settings["groups"]:
                raise _no_way(path, old, new, "other groups see other channels")
            blocks = blocks_of(after, name, len(new))
            blocks |= _per_channel(after, name, old, new)
            offsets = _centred(before, after, name, old, new, path) if self._policy in ("pad", "slice") else {}
        return lambda value: adapt(_shifted(value, offsets, new), new, self._policy, path=path, blocks=blocks)


def _own(layer: Any) -> list[Any]:
    return parts_of.own_variables(layer)


def _owners(layer: Any, changed: Any) -> list[tuple[Any, Any]]:
    """Each layer with its counterpart, for the layers in attributes too."""
    found, waiting = [], [(layer, changed)]
    while waiting:
        ours, theirs = waiting.pop()
        found.append((ours, theirs))
        inner, outer = parts_of.layers_by_place(ours), parts_of.layers_by_place(theirs)
        waiting += [(inner[name], outer[name]) for name in inner if name in outer]
    return found


def _per_channel(layer: Any, name: str, old: tuple[int, ...], new: tuple[int, ...]) -> dict[int, int]:
    """An axis with several values for each channel, where there are as many channels as before."""
    depthwise = isinstance(layer, keras.layers.DepthwiseConv1D | keras.layers.DepthwiseConv2D)
    separable = isinstance(layer, keras.layers.SeparableConv1D | keras.layers.SeparableConv2D)
    if depthwise and name == "bias":
        return {0: int(layer.kernel.shape[-2])}
    if separable and name == "pointwise_kernel":
        return {len(new) - 2: int(layer.depthwise_kernel.shape[-2])}
    return {}


def _centred(
    before: Any, after: Any, name: str, old: tuple[int, ...], new: tuple[int, ...], path: str
) -> dict[int, int]:
    """By axis of a convolution kernel of another size, at which place of the larger one the smaller one begins.

    A convolution with `padding="same"` reads around a position, a causal one up to it: padded at its end, the kernel
    would read other neighbours.
    """
    if not hasattr(after, "kernel_size") or "kernel" not in name or name == "pointwise_kernel":
        return {}
    spatial = [axis for axis in range(len(after.kernel_size)) if old[axis] != new[axis]]
    if not spatial or after.padding == "valid" or len(old) != len(new):
        return {}
    straight = all(step == 1 for one in (before, after) for step in one.strides)
    if "Transpose" in type(after).__name__ or not straight:
        raise _no_way(
            path, old, new, "with these strides and this padding, a kernel of another size reads other neighbours"
        )
    offsets = {}
    for axis in spatial:
        rate = after.dilation_rate[axis]
        lefts = [
            rate * (size - 1) if after.padding == "causal" else rate * (size - 1) // 2
            for size in (old[axis], new[axis])
        ]
        if (lefts[1] - lefts[0]) % rate:
            raise _no_way(path, old, new, "the middle of the kernel would move by a part of a step")
        offsets[axis] = (lefts[1] - lefts[0]) // rate
    return offsets


def _shifted(value: Any, offsets: dict[int, int], new: tuple[int, ...]) -> Any:
    """The array, begun so much before or after along some axes that what comes next adds or drops at the end only."""
    for axis, offset in offsets.items():
        if offset > 0:
            value = np.pad(value, [(offset, 0) if n == axis else (0, 0) for n in range(value.ndim)])
        elif offset < 0:
            value = np.take(value, np.arange(-offset, value.shape[axis]), axis)
    return value


def _no_way(path: str, old: tuple[int, ...], new: tuple[int, ...], why: str) -> WeightsDoNotFitError:
    return WeightsDoNotFitError(
        f"Cannot put {old} into '{path}', which is {new}: {why}.",
        expected=f"shape {new}",
        found=f"shape {old}",
        fix="pass weights='fresh', or replace the layer.",
        path=path,
    )


def _check_in_force(layer: Any, changed: Any, settings: dict[str, Any], path: str) -> None:
    """The layer says of itself what the changed one says: then a file will say it, too."""
    with reading_configs():
        ours, theirs = layer.get_config(), changed.get_config()
    for name, value in settings.items():
        if ours.get(name) != theirs.get(name):
            raise _cannot(path, f"with {name}={value!r} its config still says {ours.get(name)!r}")


def _cannot(path: str, why: str) -> EditError:
    return EditError(f"Cannot update '{path}': {why}.", fix="replace the layer by one with the settings.", path=path)
