"""`resize_input`: another input shape, and weights that are made to fit it."""

from __future__ import annotations

import random
from typing import Any

import keras

from ramet._edit import Edit, Step, Touch
from ramet._keras import structure
from ramet._surgery.patch import patch
from ramet._surgery.probe import made_twice
from ramet._surgery.scene import Scene
from ramet.errors import EditError, WeightsDoNotFitError


def touch(edit: Edit, scene: Scene) -> Step:
    """The input."""
    function = structure.function_of(scene.twin)
    if function is None:
        raise EditError(
            f"Cannot resize the input of '{scene.model.name}': it has no call graph.",
            fix="a subclassed model takes inputs of other shapes as they come; build a fresh one for other weights.",
        )
    names = [tensor.name for tensor in keras.tree.flatten(structure.inputs_of(function))]
    if (edit["input"] is None and len(names) > 1) or edit["input"] not in (None, *names):
        raise EditError(
            f"Cannot resize the input of '{scene.model.name}': it has the inputs {', '.join(map(repr, names))}.",
            fix="say which: resize_input(shape, input='name').",
        )
    name = edit["input"] or names[0]
    old = next(t for t in keras.tree.flatten(structure.inputs_of(function)) if t.name == name)
    shape = tuple(edit["shape"])
    if len(shape) != len(old.shape) - 1:
        raise EditError(
            f"Cannot resize '{name}' to {shape}: it needs {len(old.shape) - 1} sizes, without the batch.",
            expected=f"a shape like {tuple(old.shape[1:])}",
            fix="pass as many sizes; None for any.",
            path=name,
        )
    what = f"shape {tuple(old.shape[1:])} becomes {shape}"
    return Step(edit, (Touch(name, what, claims=frozenset({"shape"}), detail=(name, shape)),))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Rebuild on a new input; layers that refuse what arrives are fitted, by the policy."""
    name, shape = step.touched[0].detail
    own = structure.inputs_of(structure.function_of(scene.twin)) if scene.inputs is None else scene.inputs

    def resized(tensor: Any) -> Any:
        if scene.inputs is not None and tensor.name != name:
            return tensor
        return structure.input_like(tensor, (tensor.shape[0], *(shape if tensor.name == name else tensor.shape[1:])))

    scene.inputs = keras.tree.map_structure(resized, own)
    refit = _Refit(scene, edit["weights"])
    scene.orders.refit = refit


class _Refit:
    """Fits the weights of a layer that refused its input to what it was given."""

    def __init__(self, scene: Scene, policy: str) -> None:
        self._scene, self._policy = scene, policy

    def __call__(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if not isinstance(layer, keras.Layer) or isinstance(layer, keras.Model) or not layer.weights:
            return False
        shapes = _build_config(layer, args, kwargs)
        if shapes is None:
            return False
        try:
            as_it_is, changed = made_twice(layer, layer.name, {}, shapes, seed=random.getrandbits(32))
        except EditError:
            return False  # no weights would help
        try:
            self._scene.successors |= patch(layer, as_it_is, changed, layer.name, policy=self._policy)
        except WeightsDoNotFitError as error:
            if self._policy != "refuse":
                raise
            raise WeightsDoNotFitError(
                error.summary,
                expected=error.expected,
                found=error.found,
                fix="say what shall happen to them: resize_input(shape, weights='mean'), 'slice', 'pad' or 'repeat'.",
                path=error.path,
            ) from error
        structure.set_build_config(layer, shapes)
        return True


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
