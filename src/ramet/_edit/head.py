"""`swap_head`: another number of classes."""

from __future__ import annotations

from typing import Any

import keras

from ramet._edit.edit import Edit
from ramet._edit.plan import Step, Touch
from ramet._edit.scene import Scene
from ramet._edit.updating import update
from ramet._keras import lora, quantization, structure
from ramet._weights import check_policy
from ramet.errors import EditError

# Between the head and the output may stand what gives each class its place or its probability.
_BEHIND = (
    keras.layers.Activation,
    keras.layers.Softmax,
    keras.layers.Flatten,
    keras.layers.Reshape,
    keras.layers.Dropout,
    keras.layers.Identity,
    keras.layers.GlobalAveragePooling1D,
    keras.layers.GlobalAveragePooling2D,
    keras.layers.GlobalAveragePooling3D,
    keras.layers.GlobalMaxPooling1D,
    keras.layers.GlobalMaxPooling2D,
    keras.layers.GlobalMaxPooling3D,
)
_WIDTHS = ("units", "filters")


def touch(edit: Edit, scene: Scene) -> Step:
    """The layer that makes the classes, and what behind it names their number."""
    check_policy(edit["weights"])
    if not isinstance(scene.model, keras.Model):
        raise EditError(
            f"Cannot swap the head of '{scene.model.name}': it is a layer, and only a model has a head.",
            fix="change the width of a layer inside with update(selector, units=...), or edit the model around it.",
        )
    path = _head(edit, scene)
    layer = scene.op(path)
    width = _width(layer)
    _check_plain(layer, path)
    classes = edit["classes"]
    if isinstance(classes, bool) or not isinstance(classes, int) or classes < 1:
        raise EditError(
            f"Cannot swap the head for {classes!r} classes: that is no number of classes.", fix="pass an int."
        )
    old = getattr(layer, width)
    claims = frozenset({f"setting {width}", "setting activation"})
    touched = [Touch(path, f"{type(layer).__name__}, {width} {old} becomes {classes}", claims=claims, detail=width)]
    for other in _behind(path, scene):
        target = getattr(scene.op(other), "target_shape", None)
        if target is not None and old in target:
            shape = tuple(classes if size == old else size for size in target)
            what = f"Reshape, target_shape becomes {shape}"
            touched.append(Touch(other, what, claims=frozenset({"setting target_shape"}), detail=shape))
    return Step(edit, tuple(touched))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Another width, with new weights or the old ones made to fit."""
    head, *others = step.touched
    layer = scene.op(head.path)
    _check_plain(layer, head.path)
    old = list(layer.weights)
    update(scene, head.path, settings_of(step), policy=edit["weights"])
    if edit["weights"] == "fresh":
        _begin_anew(layer, old, scene)
    for item in others:
        update(scene, item.path, {"target_shape": item.detail})


def settings_of(step: Step) -> dict[str, Any]:
    """The new settings of the head."""
    settings: dict[str, Any] = {step.touched[0].detail: step.edit["classes"]}
    if step.edit["activation"] is not None:
        settings["activation"] = step.edit["activation"]
    return settings


def _check_plain(layer: Any, path: str) -> None:
    """Refuse a head whose new weights would be quantised zeros, or random and frozen."""
    mode = quantization.mode_of(layer)
    if mode is not None:
        raise EditError(
            f"Cannot swap the head at '{path}': it is quantised to {mode}.",
            fix=f"make it float first, model = ramet.edit(model, e.cast('float32', {path!r})), and quantise at the end.",
            path=path,
        )
    if lora.is_enabled(layer):
        raise EditError(
            f"Cannot swap the head at '{path}': it has LoRA enabled, and its new kernel would be random and frozen.",
            fix=f"merge first, model = ramet.edit(model, e.merge_lora({path!r})).",
            path=path,
        )


def _begin_anew(layer: Any, old: list[Any], scene: Scene) -> None:
    """As many classes as before are still other classes: nothing of the old head stays."""
    kept = {id(variable) for variable in old}
    for variable in layer.weights:
        if id(variable) in kept:
            initializer = getattr(layer, f"{variable.name}_initializer", None)
            if initializer is not None:
                # One that has drawn draws the same again.
                initializer = type(initializer).from_config(initializer.get_config())
                variable.assign(initializer(variable.shape, dtype=variable.dtype))
                scene.successors[id(variable)] = None  # and nothing of its optimizer slots


def _head(edit: Edit, scene: Scene) -> str:
    if edit.selector is not None:
        found = scene.find(edit)
        if len(found) != 1 or _width(scene.op(found[0].path)) is None:
            raise EditError(
                f"Cannot swap the head of '{scene.model.name}': {edit.selector!r} is not one layer with units or filters.",
                found=", ".join(f"'{candidate.path}'" for candidate in found[:5]),
                fix="name the one layer that makes the classes.",
            )
        return str(found[0].path)
    function = structure.function_of(scene.twin)
    if function is None:
        raise _no_head(scene, "it has no call graph to follow back from its output")
    outputs = keras.tree.flatten(structure.outputs_of(function))
    if len(outputs) != 1:
        raise _no_head(scene, f"it has {len(outputs)} outputs")
    return _followed_back(outputs[0], "", scene)


def _followed_back(tensor: Any, prefix: str, scene: Scene) -> str:
    """The last layer with a width on the way to an output, also inside the model that makes the output."""
    call = structure.producing_call(tensor)
    while call is not None:
        op = call.operation
        path = f"{prefix}{structure.name_of(op)}"
        if _width(op) is not None:
            return path
        inner = structure.function_of(op)
        if inner is not None:
            results = keras.tree.flatten(structure.outputs_of(inner))
            if len(results) != 1:
                raise _no_head(scene, f"'{path}' has {len(results)} outputs")
            call, prefix = structure.producing_call(results[0]), f"{path}/"
            continue
        if not isinstance(op, _BEHIND) or len(call.input_tensors) != 1:
            raise _no_head(scene, f"its output comes from '{path}', a {type(op).__name__}")
        call = structure.producing_call(call.input_tensors[0])
    raise _no_head(scene, "no layer with units or filters leads to its output")


def _behind(path: str, scene: Scene) -> list[str]:
    """The ops that follow the head in its graph."""
    prefix = path.rpartition("/")[0]
    found: list[str] = []
    waiting = list(scene.calls(path).values())
    while waiting:
        for following in structure.calls_following(waiting.pop().operation):
            name = f"{prefix}/{structure.name_of(following.operation)}".lstrip("/")
            if name not in found and isinstance(following.operation, _BEHIND):
                found.append(name)
                waiting.append(following)
    return found


def _width(op: Any) -> Any:
    return next((name for name in _WIDTHS if isinstance(getattr(op, name, None), int)), None)


def _no_head(scene: Scene, why: str) -> EditError:
    return EditError(
        f"Cannot find the head of '{scene.model.name}': {why}.",
        fix="say which layer it is: swap_head(classes, head='logits').",
    )
