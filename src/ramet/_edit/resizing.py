"""`resize_input`: another input shape, and weights that are made to fit it, position by position."""

from __future__ import annotations

import math
import random
from typing import Any

import keras
import numpy as np

from ramet._build import (
    SAME,
    Answer,
    Axis,
    CombinesPaddingError,
    Tracked,
    Use,
    answer_for,
    arguments_of_layer,
    fitted,
    followed,
    known_outputs,
    lost,
    resized_input,
    runner,
    sizes_of,
    untouched,
)
from ramet._edit.edit import Edit
from ramet._edit.order import inside_first
from ramet._edit.patch import patch
from ramet._edit.plan import AdaptedWeight, Step, Touch
from ramet._edit.probe import made_twice
from ramet._edit.scene import Scene
from ramet._keras import layers as parts_of
from ramet._keras import quantization, structure
from ramet._weights import check_policy, is_inexact, needs_refresh, refresh
from ramet.errors import ArgumentError, EditError, WeightsDoNotFitError


def touch(edit: Edit, scene: Scene) -> Step:
    """The input."""
    check_policy(edit["weights"])
    function = structure.function_of(scene.twin)
    if function is None:
        raise EditError(
            f"Cannot resize the input of '{scene.model.name}': it has no call graph.",
            fix="a layer or subclassed model takes inputs of other shapes as they come; build a fresh one for other weights.",
        )
    tensors = keras.tree.flatten(structure.inputs_of(function))
    names = [structure.input_name(tensor) for tensor in tensors]
    wanted = edit["input"]
    found = [t for t, name in zip(tensors, names, strict=True) if wanted is None or wanted in (name, t.name)]
    if len(found) != 1:
        raise EditError(
            f"Cannot resize the input of '{scene.model.name}': it has the inputs {', '.join(map(repr, names))}.",
            fix="say which: resize_input(shape, input='name').",
        )
    (old,) = found
    name = structure.input_name(old)
    shape = _checked(edit["shape"], name, old)
    what = f"shape {tuple(old.shape[1:])} becomes {shape}"
    return Step(edit, (Touch(name, what, claims=frozenset({"shape"}), detail=(old.name, shape)),))


def _checked(shape: tuple[Any, ...], name: str, old: Any) -> tuple[int | None, ...]:
    if len(shape) != len(old.shape) - 1:
        raise EditError(
            f"Cannot resize '{name}' to {shape}: it needs {len(old.shape) - 1} sizes, without the batch.",
            expected=f"a shape like {tuple(old.shape[1:])}",
            fix="pass as many sizes; None for any.",
            path=name,
        )
    for size in shape:
        if size is not None and (isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1):
            raise ArgumentError(
                f"Cannot resize '{name}' to {shape}: {size!r} is not a size.",
                expected="whole numbers from 1 on; None for any size",
                fix=f"pass a shape like {tuple(old.shape[1:])}.",
                path=name,
            )
    return tuple(None if size is None else int(size) for size in shape)


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Note the new input. Layers are fitted while the calls are made anew, each before it is called."""
    name, shape = step.touched[0].detail
    own = structure.inputs_of(structure.function_of(scene.twin)) if scene.inputs is None else scene.inputs
    refit = scene.orders.refit
    if not isinstance(refit, Refit):
        refit = scene.orders.refit = Refit(scene, edit["weights"])
    if refit.policy != edit["weights"]:
        raise EditError(
            f"Cannot resize two inputs of '{scene.model.name}' at once with weights='{refit.policy}' and "
            f"weights='{edit['weights']}'.",
            fix="pass the same policy, or resize one after the other: edit(edit(model, a), b).",
            path=step.touched[0].path,
        )

    def resized(tensor: Any) -> Any:
        if scene.inputs is not None and tensor.name != name:
            return tensor
        new = structure.input_like(tensor, (tensor.shape[0], *(shape if tensor.name == name else tensor.shape[1:])))
        if tensor.name == name:
            refit.track(new, resized_input(tensor.shape, new.shape, edit["weights"]))
        return new

    scene.inputs = keras.tree.map_structure(resized, own)


class Refit:
    """Follows the positions of a resized input through a model, and fits the weights of the layers that need it.

    Args:
        scene: The model that is edited.
        policy: What happens to weights that no longer fit.
    """

    def __init__(self, scene: Scene, policy: str) -> None:
        self.policy = policy
        self._scene = scene
        self._tracked: dict[int, tuple[Any, Tracked]] = {}  # by the id of a new tensor, which is held
        self._fits: dict[int, tuple[Any, ...]] = {}  # by the id of a layer, the positions it was fitted to
        self._visited: set[int] = set()
        self._fitted: dict[int, tuple[Any, str]] = {}  # layers whose weights were changed, and models around them
        self._around: list[tuple[Any, str]] = []  # nested models that are being rebuilt
        self._answer: Answer | None = None
        functions = [structure.function_of(op) for op in inside_first(scene.twin)]
        self._calls = [call for function in functions if function is not None for call in structure.calls_of(function)]

    def track(self, tensor: Any, tracked: Tracked) -> None:
        """Note the positions of a new tensor."""
        if not tracked.same:
            self._tracked[id(tensor)] = (tensor, tracked)

    def _of(self, tensor: Any) -> Tracked:
        found = self._tracked.get(id(tensor))
        return untouched(tensor) if found is None else found[1]

    # Nested models.

    def inputs_for(self, model: Any, args: Any, kwargs: Any, fitting: Any) -> Any:
        """The inputs that a nested model is rebuilt on, tracked as what it is called on; None if nothing changed."""
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
        """A nested model is rebuilt from here on."""
        self._around.append((model, path))

    def leave(self) -> None:
        """The nested model is rebuilt."""
        self._around.pop()

    # Calls.

    def before(self, call: Any, path: str, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Fit the weights of a layer to the positions of what it is about to be called on."""
        self._visited.add(id(call))
        self._answer = None
        if not isinstance(op, keras.Layer) or structure.function_of(op) is not None or not op.built or not op.weights:
            return
        tracked = [self._of(tensor) for tensor in arguments_of_layer(op, args, kwargs)]
        answer = self._answer = answer_for(op, [one.axes for one in tracked], self.policy)
        if answer is None:
            if not all(one.same for one in tracked) or id(op) in self._fitted:
                self._check_unknown(op, path, tracked, args, kwargs)
            return
        positions = tuple(use.positions.key() for use in answer.uses)
        if self._fits.setdefault(id(op), positions) != positions:
            raise self._cannot(
                path,
                f"'{path}' is called several times, and would need other weights at each",
                fix="give the calls layers of their own before, or pass weights='fresh' with a shape that suits all.",
            )
        if id(op) not in self._fitted and any(not use.positions.same for use in answer.uses):
            self._fit(op, path, answer, args, kwargs)

    def after(self, call: Any, path: str, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: Any) -> None:
        """Note the positions of what a call gave."""
        run, tensors = runner(op, args, kwargs)
        tracked = [self._of(tensor) for tensor in tensors]
        if not tracked or all(one.same for one in tracked):
            return
        flat = [tensor for tensor in keras.tree.flatten(outputs) if isinstance(tensor, keras.KerasTensor)]
        function = structure.function_of(op)
        if function is not None:
            for tensor, inner in zip(flat, keras.tree.flatten(structure.outputs_of(function)), strict=True):
                self.track(tensor, self._of(inner))
            return
        known = self._answer.outputs if self._answer is not None else None
        if known is None and not op_weights(op):
            known = known_outputs(op, [one.axes for one in tracked])
        if known is not None:
            before = [sizes_of(one.shape) for one in call.outputs] if op is call.operation else []
            for number, tensor in enumerate(flat):
                axes = known[number] if number < len(known) else (SAME,) * len(tensor.shape)
                self.track(tensor, _sized(tensor, axes, before[number] if number < len(before) else None))
            return
        self._answer = None
        try:
            found = followed(run, tracked, [str(tensor.dtype) for tensor in tensors], path, self.policy)
        except CombinesPaddingError as error:
            raise self._cannot(
                path,
                f"'{path}' combines the values along axis {error.axis}, so that new ones change its result, and "
                "weights='pad' cannot keep it",
                fix="resize this axis first, in an edit of its own with weights='refuse', or choose another policy.",
            ) from None
        for number, tensor in enumerate(flat):
            if found is not None and len(found) == len(flat):
                self.track(tensor, found[number])
            else:
                axes = (SAME, *[lost(f"ramet cannot follow what '{path}' does")] * (len(tensor.shape) - 1))
                self.track(tensor, _sized(tensor, axes, None))

    def finish(self) -> None:
        """Refuse a layer whose weights were fitted for one call while another call still needs the old ones."""
        for call in self._calls:
            if id(call.operation) in self._fitted and id(call) not in self._visited and not call.is_input:
                path = self._fitted[id(call.operation)][1]
                raise self._cannot(
                    path,
                    f"'{path}' is also called on something that keeps its shape, and would need both weights",
                    fix="give the calls layers of their own before.",
                )

    # Weights.

    def _fit(self, layer: Any, path: str, answer: Answer, args: Any, kwargs: Any) -> None:
        uses: dict[int, list[Use]] = {}
        for use in answer.uses:
            if not use.positions.same:
                uses.setdefault(id(use.variable), []).append(use)
        owners = {id(v): f"{where}/{v.name}" for where, v in _variables(layer, path)}
        for key, of_variable in uses.items():
            self._check(owners[key], of_variable)
        seed = random.getrandbits(32) if self.policy == "fresh" else 0
        as_it_is, changed = made_twice(layer, path, {}, self._shapes(layer, path, args, kwargs), seed=seed)
        held = [variable for _, variable in _variables(layer, path)]
        old_shapes = {id(variable): tuple(variable.shape) for variable in held}
        fresh = dict(zip([id(v) for v in held], _values_in(changed), strict=False))

        def fit(old: Any, new: Any, where: str) -> Any:
            if id(old) not in uses:
                raise self._cannot(path, f"ramet cannot tell which positions '{where}' belongs to")
            return keras.ops.convert_to_numpy(new) if self.policy == "fresh" else _value(old, uses[id(old)])

        successors = patch(layer, as_it_is, changed, path, fit=fit)
        for old in held:  # as many positions as before may be others
            if id(old) in uses and id(old) not in {id(one) for one in successors.values()}:
                value = fresh.get(id(old)) if self.policy == "fresh" else _value(old, uses[id(old)])
                if value is None or tuple(value.shape) != tuple(old.shape):
                    raise self._cannot(path, f"ramet cannot put new weights into '{owners[id(old)]}'")
                successors[id(old)] = old
                old.assign(value)
        for key, old in successors.items():
            new = next(v for _, v in _variables(layer, path) if id(v) == key)
            self._note(new, old, owners[id(old)], old_shapes[id(old)], uses[id(old)])
        structure.set_build_config(layer, self._shapes(layer, path, args, kwargs))
        if needs_refresh(layer):
            refresh(layer)
        self._fitted[id(layer)] = (layer, path)
        self._fitted |= {id(model): (model, where) for model, where in self._around}

    def _note(self, new: Any, old: Any, path: str, shape: tuple[int, ...], uses: list[Use]) -> None:
        scene = self._scene
        axes = tuple(sorted(use.axis for use in uses))
        scene.adapted.append(AdaptedWeight(path, shape, tuple(new.shape), self.policy, axes))
        if self.policy == "fresh":
            scene.successors[id(new)] = None
            return
        scene.successors[id(new)] = old
        scene.slot_fits[id(new)] = lambda slot: _fit_array(slot, uses, filled=False)

    def _shapes(self, layer: Any, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        shapes = _build_config(layer, args, kwargs)
        if shapes is None:
            raise self._cannot(path, f"'{path}' does not say what shapes it was built with")
        return shapes

    def _check(self, path: str, uses: list[Use]) -> None:
        """Refuse what the policy, or no policy, can do."""
        variable = uses[0].variable
        old = tuple(variable.shape)
        new = tuple(
            next((_count(use) for use in uses if use.axis == n and not use.positions.lost), size)
            for n, size in enumerate(old)
        )
        if self._scene.is_tied(variable):
            raise self._cannot(path, f"'{path}' is tied to a weight of another layer")
        if self.policy == "fresh":
            return
        reason = next((use.positions.lost for use in uses if use.positions.lost is not None), None)
        if reason is not None:
            layer = path.rpartition("/")[0]
            raise WeightsDoNotFitError(
                f"Cannot resize the input of '{self._scene.model.name}': the positions that '{path}' {old} has weights "
                "for no longer correspond to the old ones.",
                found=reason,
                fix=f"pass weights='fresh' to begin anew there, replace the layer that is named, or put a global pooling layer "
                f"before '{layer}' first.",
                path=path,
            )
        if self.policy == "refuse":
            differ = "the shapes differ" if old != new else "the positions it has weights for are others now"
            raise WeightsDoNotFitError(
                f"Cannot put {old} into '{path}', which is {new}: {differ}.",
                expected=f"shape {new}",
                found=f"shape {old}",
                fix="say what happens to them: resize_input(shape, weights='mean'), 'slice', 'pad', 'repeat' or 'fresh'.",
                path=path,
            )
        gone = next((use for use in uses if self.policy == "pad" and _leaves_out(use)), None)
        if gone is not None:
            raise WeightsDoNotFitError(
                f"Cannot put {old} into '{path}', which is {new}: some of the values it has weights for do not arrive any "
                "more.",
                expected="the old values among the new ones, for weights='pad'",
                fix="choose another policy: 'slice', 'mean', 'repeat', 'fresh'.",
                path=path,
            )
        objection = next((use.positions.objection for use in uses if use.positions.objection is not None), None)
        if objection is None and self.policy == "mean" and not is_inexact(variable.dtype):
            objection = f"'mean' needs floats, and these are {variable.dtype}"
        if objection is not None:
            others = ", ".join(
                f"'{name}'" for name in ("slice", "pad", "mean", "repeat", "fresh") if name != self.policy
            )
            raise WeightsDoNotFitError(
                f"Cannot put {old} into '{path}', which is {new}: {objection}.",
                expected=f"shape {new}",
                found=f"shape {old}",
                fix=f"choose another policy: {others}.",
                path=path,
            )

    def _check_unknown(self, layer: Any, path: str, tracked: list[Tracked], args: Any, kwargs: Any) -> None:
        """A layer that no rule is about: it may only keep its weights, or get fresh ones."""
        if id(layer) in self._fitted:
            raise self._cannot(path, f"'{path}' is called several times, and would need other weights at each")
        shapes = _build_config(layer, args, kwargs)
        if shapes is None:
            return  # it is called as it is, and says itself what it does not take
        try:
            as_it_is, changed = made_twice(layer, path, {}, shapes, seed=random.getrandbits(32))
        except EditError:
            return  # the same
        ours, theirs = ([tuple(v.shape) for _, v in _variables(one, path)] for one in (layer, changed))
        # As many values in another shape fit into the same weights, and are scrambled there.
        if ours == theirs and _changed_count(tracked, "old") != _changed_count(tracked, "new"):
            return
        if quantization.mode_of(layer) is not None:
            raise EditError(
                f"Cannot change the weights of '{path}': it is quantised to {quantization.mode_of(layer)}.",
                fix="first make it float, model = ramet.edit(model, e.cast('float32')); quantise again at the end.",
                path=path,
            )
        if self.policy != "fresh":
            raise self._cannot(
                path,
                f"ramet cannot tell which weights of '{path}', a {type(layer).__name__}, belong to which positions",
            )
        olds = [(where, variable, tuple(variable.shape)) for where, variable in _variables(layer, path)]
        successors = patch(layer, as_it_is, changed, path, policy="fresh")
        for where, variable, shape in olds:
            new = next((v for _, v in _variables(layer, path) if successors.get(id(v)) is variable), None)
            if new is not None:
                self._scene.adapted.append(
                    AdaptedWeight(
                        f"{where}/{variable.name}", shape, tuple(new.shape), "fresh", _differing(shape, new.shape)
                    )
                )
                self._scene.successors[id(new)] = None
        structure.set_build_config(layer, shapes)
        self._fitted[id(layer)] = (layer, path)

    def _cannot(self, path: str, why: str, fix: str | None = None) -> WeightsDoNotFitError:
        return WeightsDoNotFitError(
            f"Cannot resize the input of '{self._scene.model.name}': {why}.",
            fix=fix or f"pass weights='fresh', or replace '{path}' by a layer that is built anew.",
            path=path,
        )


def op_weights(op: Any) -> bool:
    """Whether an op has weights of its own or inside."""
    return bool(getattr(op, "weights", ()))


def _changed_count(tracked: list[Tracked], side: str) -> int:
    """How many positions there are along the axes that changed."""
    return math.prod(getattr(one, side)[k] for one in tracked for k, axis in enumerate(one.axes) if not axis.same)


def _leaves_out(use: Use) -> bool:
    """Whether weights for some old positions are not needed any more."""
    sources = use.positions.sources
    shrinks = use.positions.objection is not None  # that says it better
    return sources is not None and not shrinks and len(np.unique(sources[sources >= 0])) < use.positions.length


def _count(use: Use) -> int:
    assert use.positions.sources is not None, "asked only where positions are known"
    return len(use.positions.sources)


def _differing(old: tuple[int, ...], new: Any) -> tuple[int, ...]:
    return tuple(n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)


def _sized(tensor: Any, axes: tuple[Axis, ...], before: tuple[int, ...] | None) -> Tracked:
    """A tensor whose axes are known, with all sizes filled in."""
    new = [
        size if axis.sources is None else len(axis.sources)
        for size, axis in zip(sizes_of(tensor.shape), axes, strict=True)
    ]
    old = [
        axis.length if axis.sources is not None else size
        for size, axis in zip(before if before is not None and len(before) == len(new) else new, axes, strict=True)
    ]
    return Tracked(tuple(old), tuple(new), axes)


def _variables(layer: Any, path: str) -> list[tuple[str, Any]]:
    """Every weight of a layer and of what is inside it, with the path of its owner."""
    found: list[tuple[str, Any]] = []
    seen: set[int] = set()
    waiting = [(layer, path)]
    while waiting:
        op, where = waiting.pop()
        if id(op) in seen:
            continue
        seen.add(id(op))
        found += [(where, variable) for variable in parts_of.own_variables(op)]
        waiting += [(part, f"{where}/{part.name}") for part in reversed(structure.layers_of(op))]
    return found


def _values_in(layer: Any) -> list[Any]:
    return [keras.ops.convert_to_numpy(variable) for _, variable in _variables(layer, "")]


def _value(variable: Any, uses: list[Use]) -> Any:
    return _fit_array(keras.ops.convert_to_numpy(variable), uses, filled=True)


def _fit_array(array: Any, uses: list[Use], *, filled: bool) -> Any:
    for use in uses:
        array = fitted(array, use.axis, use.positions, use.fill if filled else 0.0)
    return array


def _build_config(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """What the layer would be built with for these arguments, in the form in which it says what it was built with."""
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
