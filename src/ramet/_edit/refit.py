"""Adapting weights to a resized input: positions are followed from the input to the weights that belong to them."""

from __future__ import annotations

import math
import random
from typing import Any

import keras
import numpy as np

from ramet._build import (
    SAME,
    Axis,
    CombinesPaddingError,
    LayerEffect,
    TrackedTensor,
    WeightAxis,
    array_runner,
    concrete_shape,
    effect_of_layer,
    known_output_axes,
    lost_axis,
    propagate,
    take_positions,
    tensor_arguments,
    unchanged_positions,
)
from ramet._edit.patch import made_twice, patch, weights_are_quantized
from ramet._edit.plans import AdaptedWeight
from ramet._edit.session import EditSession, inside_first
from ramet._edit.settings import differing_axes, weights_do_not_fit
from ramet._keras import layers as keras_layers
from ramet._keras import quantization, structure
from ramet._report import with_article
from ramet._weights import is_inexact, refresh
from ramet.errors import EditError, WeightsDoNotFitError


class Refit:
    """Follow the positions of a resized input through a model, and fit the weights of the layers that need it.

    Which rows of a kernel belong to which values of an input cannot be read off its shape: a kernel after a `Flatten` that
    is padded at its end is scrambled, and a `(4, 6)` input for a `(6, 4)` one fits without a word. So every axis of every
    new tensor is tracked: each of its positions refers to the old positions it comes from. The methods are called while the
    graphs are rebuilt, `before` and `after` each call, because only then all tensors around a call are known. Layers are
    fitted in place just before their call, according to the policy for weights that no longer fit.
    """

    def __init__(self, session: EditSession, policy: str) -> None:
        self.policy = policy
        self._session = session
        self._tracked: dict[int, tuple[Any, TrackedTensor]] = {}  # by the id of a new tensor, which is kept alive
        self._fits: dict[int, tuple[Any, ...]] = {}  # by the id of a layer, the positions it was fitted to
        self._visited: set[int] = set()
        self._fitted: dict[int, tuple[Any, str]] = {}  # layers whose weights were changed, and models around them
        self._around: list[tuple[Any, str]] = []  # nested models that are being rebuilt
        self._effect: LayerEffect | None = None  # of the call in progress
        functions = [structure.function_of(op) for op in inside_first(session.twin)]
        self._calls = [call for function in functions if function is not None for call in structure.calls_of(function)]

    def track(self, tensor: Any, tracked: TrackedTensor) -> None:
        """Record the positions of a new tensor."""
        if not tracked.same:
            self._tracked[id(tensor)] = (tensor, tracked)

    def _of(self, tensor: Any) -> TrackedTensor:
        found = self._tracked.get(id(tensor))
        return unchanged_positions(tensor) if found is None else found[1]

    def inputs_for(self, model: Any, args: Any, kwargs: Any, fitting: Any) -> Any:
        """Return the inputs to rebuild a nested model on, tracked like its arguments; None if nothing changed."""
        given = keras.tree.flatten(args[0] if args else kwargs.get("inputs"))
        own = structure.inputs_of(structure.function_of(model))
        if fitting is None:
            if all(tensor is None or self._of(tensor).same for tensor in given):
                return None
            fitting = keras.tree.map_structure(lambda old: structure.input_like(old, old.shape), own)
        for new, tensor in zip(keras.tree.flatten(fitting), given, strict=False):
            if tensor is not None:
                self.track(new, self._of(tensor))
        return fitting

    def enter(self, model: Any, path: str) -> None:
        """Enter a nested model that is rebuilt."""
        self._around.append((model, path))

    def leave(self) -> None:
        """Leave the nested model that was entered last."""
        self._around.pop()

    def before(self, call: Any, path: str, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Fit the weights of a layer to the positions of its arguments."""
        self._visited.add(id(call))
        self._effect = None
        if not isinstance(op, keras.Layer) or structure.function_of(op) is not None or not op.built or not op.weights:
            return
        tracked = [self._of(tensor) for tensor in tensor_arguments(op, args, kwargs)]
        effect = self._effect = effect_of_layer(op, [one.axes for one in tracked], self.policy)
        if effect is None:
            if not all(one.same for one in tracked) or id(op) in self._fitted:
                self._check_unknown(op, path, tracked, args, kwargs)
            return
        positions = tuple(use.positions.key() for use in effect.uses)
        if self._fits.setdefault(id(op), positions) != positions:
            raise self._cannot(
                path,
                f"'{path}' is called several times, and each call would need other weights",
                fix="give each call a layer of its own first, or pass weights='fresh' with a shape that suits all calls.",
            )
        if id(op) not in self._fitted and any(not use.positions.same for use in effect.uses):
            self._fit(op, path, effect, args, kwargs)

    def after(self, call: Any, path: str, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: Any) -> None:
        """Record the positions of the outputs of a call."""
        run, tensors = array_runner(op, args, kwargs)
        tracked = [self._of(tensor) for tensor in tensors]
        if not tracked or all(one.same for one in tracked):
            return
        flat = [tensor for tensor in keras.tree.flatten(outputs) if isinstance(tensor, keras.KerasTensor)]
        function = structure.function_of(op)
        if function is not None:
            for tensor, inner in zip(flat, keras.tree.flatten(structure.outputs_of(function)), strict=True):
                self.track(tensor, self._of(inner))
            return
        known = self._effect.outputs if self._effect is not None else None
        if known is None and not getattr(op, "weights", ()):
            known = known_output_axes(op, [one.axes for one in tracked])
        if known is not None:
            before = [concrete_shape(one.shape) for one in call.outputs] if op is call.operation else []
            for number, tensor in enumerate(flat):
                axes = known[number] if number < len(known) else (SAME,) * len(tensor.shape)
                self.track(tensor, _sized(tensor, axes, before[number] if number < len(before) else None))
            return
        self._effect = None
        try:
            found = propagate(run, tracked, [str(tensor.dtype) for tensor in tensors], path, self.policy)
        except CombinesPaddingError as error:
            raise self._cannot(
                path,
                f"'{path}' combines the values along axis {error.axis}, so new values change its result, which "
                "weights='pad' must not do",
                fix="resize this axis first, in an edit of its own with weights='refuse', or choose another policy.",
            ) from None
        if found is None or len(found) != len(flat):
            lost = lost_axis(f"ramet cannot follow positions through '{path}'")
            found = [_sized(tensor, (SAME, *[lost] * (len(tensor.shape) - 1)), None) for tensor in flat]
        for tensor, positions in zip(flat, found, strict=True):
            self.track(tensor, positions)

    def finish(self) -> None:
        """Refuse a layer whose weights were fitted for one call although another call still needs the old ones."""
        for call in self._calls:
            if id(call.operation) in self._fitted and id(call) not in self._visited and not call.is_input:
                path = self._fitted[id(call.operation)][1]
                raise self._cannot(
                    path,
                    f"'{path}' is also called on an input of the old shape, and would need both old and new weights",
                    fix="give each call a layer of its own first.",
                )

    def _fit(self, layer: Any, path: str, effect: LayerEffect, args: Any, kwargs: Any) -> None:
        uses: dict[int, list[WeightAxis]] = {}
        for use in effect.uses:
            if not use.positions.same:
                uses.setdefault(id(use.variable), []).append(use)
        held = _variables(layer, path)
        paths = {id(variable): where for where, variable in held}
        for key, of_variable in uses.items():
            self._check_policy(paths[key], of_variable)
        shapes = _build_config(layer, args, kwargs)
        if shapes is None:
            raise self._cannot(path, f"'{path}' does not record the shapes it was built with")
        seed = random.getrandbits(32) if self.policy == "fresh" else 0
        as_is, changed = made_twice(layer, path, {}, shapes, seed=seed)
        old_shapes = {id(variable): tuple(variable.shape) for _, variable in held}
        pairs = zip(held, _variables(changed, path), strict=False)
        fresh = {id(old): keras.ops.convert_to_numpy(new) for (_, old), (_, new) in pairs}

        def fit(old: Any, new: Any, where: str) -> Any:
            if id(old) not in uses:
                raise self._cannot(path, f"it is not known which positions '{where}' belongs to")
            return keras.ops.convert_to_numpy(new) if self.policy == "fresh" else _value(old, uses[id(old)])

        successors = patch(layer, as_is, changed, path, fit=fit)
        for where, old in held:  # the same number of positions can still be other positions
            if id(old) in uses and id(old) not in {id(one) for one in successors.values()}:
                value = fresh.get(id(old)) if self.policy == "fresh" else _value(old, uses[id(old)])
                if value is None or tuple(value.shape) != tuple(old.shape):
                    raise self._cannot(path, f"there are no new weights for '{where}'")
                successors[id(old)] = old
                old.assign(value)
        now = {id(variable): variable for _, variable in _variables(layer, path)}
        for key, old in successors.items():
            self._record(now[key], old, paths[id(old)], old_shapes[id(old)], uses[id(old)])
        structure.set_build_config(layer, shapes)
        refresh(layer)
        self._mark_fitted(layer, path)

    def _record(self, new: Any, old: Any, path: str, shape: tuple[int, ...], uses: list[WeightAxis]) -> None:
        """Record that a weight was adapted; without uses, because of its shape."""
        axes = tuple(sorted(use.axis for use in uses)) or differing_axes(shape, tuple(new.shape))
        self._session.adapted.append(AdaptedWeight(path, shape, tuple(new.shape), self.policy, axes))
        self._session.successors[id(new)] = None if self.policy == "fresh" else old
        if self.policy != "fresh":
            self._session.slot_fits[id(new)] = lambda slot: _fit_array(slot, uses, filled=False)

    def _check_policy(self, path: str, uses: list[WeightAxis]) -> None:
        """Refuse weights that the policy, or any policy, cannot fit."""
        variable = uses[0].variable
        old = tuple(variable.shape)
        known = {use.axis: len(use.positions.sources) for use in reversed(uses) if use.positions.sources is not None}
        new = tuple(known.get(axis, size) for axis, size in enumerate(old))
        if self._session.is_tied(variable):
            raise self._cannot(path, f"'{path}' is tied to a weight of another layer")
        if self.policy == "fresh":
            return
        reason = next((use.positions.lost for use in uses if use.positions.lost is not None), None)
        if reason is not None:
            layer = path.rpartition("/")[0]
            raise WeightsDoNotFitError(
                f"Cannot resize the input of '{self._session.model.name}': the positions that '{path}' {old} has weights "
                "for cannot be traced back to old positions.",
                found=reason,
                fix=f"pass weights='fresh' for new weights there, replace the layer that loses the positions, or first insert a "
                f"global pooling layer before '{layer}'.",
                path=path,
            )
        if self.policy == "refuse":
            why = "the shapes differ" if old != new else "it has weights for other positions"
            fix = "choose a policy: resize_input(shape, weights='mean'), 'slice', 'pad', 'repeat' or 'fresh'."
            raise weights_do_not_fit(path, old, new, why, fix=fix)
        if self.policy == "pad" and any(map(_leaves_out, uses)):
            why = "some of the values it has weights for no longer reach it"
            fix = "choose another policy: 'slice', 'mean', 'repeat', 'fresh'."
            expected = "all old values among the new ones, for weights='pad'"
            raise weights_do_not_fit(path, old, new, why, fix=fix, expected=expected)
        objection = next((use.positions.objection for use in uses if use.positions.objection is not None), None)
        if objection is None and self.policy == "mean" and not is_inexact(variable.dtype):
            objection = f"'mean' needs floats, and these are {variable.dtype}"
        if objection is not None:
            others = [repr(name) for name in ("slice", "pad", "mean", "repeat", "fresh") if name != self.policy]
            raise weights_do_not_fit(path, old, new, objection, fix=f"choose another policy: {', '.join(others)}.")

    def _check_unknown(self, layer: Any, path: str, tracked: list[TrackedTensor], args: Any, kwargs: Any) -> None:
        """Handle a layer without a rule: it can only keep its weights, or get fresh ones."""
        if id(layer) in self._fitted:
            raise self._cannot(
                path,
                f"'{path}' is called several times, and each call would need other weights",
                fix="give each call a layer of its own first.",
            )
        shapes = _build_config(layer, args, kwargs)
        if shapes is None:
            return  # it is called unchanged, and refuses what it does not accept
        try:
            as_is, changed = made_twice(layer, path, {}, shapes, seed=random.getrandbits(32))
        except EditError:
            return  # the same
        ours, theirs = ([tuple(v.shape) for _, v in _variables(one, path)] for one in (layer, changed))
        # The same number of values in another shape fits the same weights, but scrambled.
        if ours == theirs and _changed_count(tracked, "old") != _changed_count(tracked, "new"):
            return
        if quantization.mode_of(layer) is not None:
            raise weights_are_quantized(path, str(quantization.mode_of(layer)))
        if self.policy != "fresh":
            raise self._cannot(
                path,
                f"it is not known which weights of '{path}', {with_article(type(layer).__name__)}, belong to which positions",
            )
        held = [(where, old, tuple(old.shape)) for where, old in _variables(layer, path)]
        successors = patch(layer, as_is, changed, path)
        now = {id(successors[id(v)]): v for _, v in _variables(layer, path) if id(v) in successors}
        for where, old, shape in held:
            if id(old) in now:
                self._record(now[id(old)], old, where, shape, [])
        structure.set_build_config(layer, shapes)
        self._mark_fitted(layer, path)

    def _mark_fitted(self, layer: Any, path: str) -> None:
        """Record that the weights of a layer were changed, and with it those of the models around it."""
        self._fitted |= {id(one): (one, where) for one, where in [(layer, path), *self._around]}

    def _cannot(self, path: str, why: str, fix: str | None = None) -> WeightsDoNotFitError:
        return WeightsDoNotFitError(
            f"Cannot resize the input of '{self._session.model.name}': {why}.",
            fix=fix or f"pass weights='fresh', or replace '{path}' by a new layer.",
            path=path,
        )


def _changed_count(tracked: list[TrackedTensor], side: str) -> int:
    """Return the number of positions along the axes that changed."""
    return math.prod(getattr(one, side)[k] for one in tracked for k, axis in enumerate(one.axes) if not axis.same)


def _leaves_out(use: WeightAxis) -> bool:
    """Return whether weights for some old positions are no longer needed."""
    sources = use.positions.sources
    shrinks = use.positions.objection is not None  # which is the better message
    return sources is not None and not shrinks and len(np.unique(sources[sources >= 0])) < use.positions.length


def _sized(tensor: Any, axes: tuple[Axis, ...], before: tuple[int, ...] | None) -> TrackedTensor:
    """Return a tracked tensor with known axes and all sizes filled in."""
    new = [
        size if axis.sources is None else len(axis.sources)
        for size, axis in zip(concrete_shape(tensor.shape), axes, strict=True)
    ]
    sizes = before if before is not None and len(before) == len(new) else new
    old = [axis.length if axis.sources is not None else size for size, axis in zip(sizes, axes, strict=True)]
    return TrackedTensor(tuple(old), tuple(new), axes)


def _variables(layer: Any, path: str) -> list[tuple[str, Any]]:
    """Return every weight of a layer and of the layers inside it, with its path."""
    found: list[tuple[str, Any]] = []
    seen: set[int] = set()
    waiting = [(layer, path)]
    while waiting:
        op, where = waiting.pop()
        if id(op) in seen:
            continue
        seen.add(id(op))
        found += [(f"{where}/{variable.name}", variable) for variable in keras_layers.own_variables(op)]
        waiting += [(part, f"{where}/{part.name}") for part in reversed(structure.layers_of(op))]
    return found


def _value(variable: Any, uses: list[WeightAxis]) -> Any:
    return _fit_array(keras.ops.convert_to_numpy(variable), uses, filled=True)


def _fit_array(array: Any, uses: list[WeightAxis], *, filled: bool) -> Any:
    for use in uses:
        array = take_positions(array, use.axis, use.positions, use.fill if filled else 0.0)
    return array


def _build_config(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Return the build config of the layer for these arguments, in the form of its own build config."""
    old = layer.get_build_config() or {}
    if "input_shape" in old:
        given = args[0] if args else next(iter(kwargs.values()), None)
        return {"input_shape": keras.tree.map_structure(lambda tensor: tuple(tensor.shape), given)}
    if "shapes_dict" in old:
        named = structure.arguments_by_name(layer, args, kwargs)
        shapes = {
            name: tuple(named[name.removesuffix("_shape")].shape)
            for name in old["shapes_dict"]
            if hasattr(named.get(name.removesuffix("_shape")), "shape")
        }
        return {"shapes_dict": {**old["shapes_dict"], **shapes}}
    return None
