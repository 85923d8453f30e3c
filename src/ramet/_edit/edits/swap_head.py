"""`swap_head`: change the number of classes of a model."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import keras

from ramet._edit.base import Edit, SelectorLike, WeightPolicy, is_integer
from ramet._edit.plans import PlanItems, Step, Touch
from ramet._edit.session import BUILD_FIRST, EditSession
from ramet._edit.settings import adapted_weights, update_settings
from ramet._keras import lora, quantization, structure
from ramet._report import with_article
from ramet._weights import check_policy
from ramet.errors import EditError

# Layers that may come between the head and the output: they keep the classes apart.
_AFTER_HEAD = (
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


@dataclass(frozen=True, repr=False)
class SwapHead(Edit):
    """Change the number of classes of a model: the layer that produces them gets another width and new weights.

    Everything else keeps its weights. A `Reshape` after the head whose target shape contains the old number of classes
    follows. With several outputs, or without a call graph, name the layer with `head`.

    Args:
        classes: The number of classes.
        head: The layer that produces the classes; by default the last one with units or filters before the output.
        activation: A new activation, such as `"softmax"`; the old one by default.
        weights: `"fresh"` for newly initialized weights, or how to adapt the old ones: `"slice"`, `"pad"`, `"mean"`,
            `"repeat"` or `"refuse"`, as in `ramet.edits.resize_input`.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")])
    >>> new = ramet.edit(model, e.swap_head(classes=10, activation="softmax"))
    >>> new.output_shape, new.get_layer("b").activation.__name__
    ((None, 10), 'softmax')
    """

    kind = "swap_head"
    preserves_function = False
    adds_layers = False

    classes: int
    head: SelectorLike = field(default=None, kw_only=True)
    activation: Any = field(default=None, kw_only=True)
    weights: WeightPolicy = field(default="fresh", kw_only=True)

    def plan(self, session: EditSession) -> PlanItems:
        """Plan the new width of the head, and of reshapes after it that contain the old number of classes."""
        check_policy(self.weights)
        if not isinstance(session.model, keras.Model):
            raise EditError(
                f"Cannot swap the head of '{session.model.name}': it is a layer, and only a model has a head.",
                fix="change the width of a layer inside with update(selector, units=...), or edit the model around it.",
            )
        path = self._find_head(session)
        layer = session.op(path)
        width = _width(layer)
        _check_plain(layer, path)
        if not is_integer(self.classes) or self.classes < 1:
            raise EditError(
                f"Cannot swap the head for {self.classes!r} classes: not a positive number.",
                fix="pass a positive integer.",
            )
        old = getattr(layer, width)
        what = f"{type(layer).__name__}, {width} {old} -> {self.classes}"
        claims = frozenset({f"setting {width}", "setting activation"})
        yield Touch(path, what, claims=claims, detail=width)
        for other in _ops_after(path, session):
            target = getattr(session.op(other), "target_shape", None)
            if target is not None and old in target:
                shape = tuple(self.classes if size == old else size for size in target)
                what = f"Reshape, target_shape -> {shape}"
                yield Touch(other, what, claims=frozenset({"setting target_shape"}), detail=shape)

    def preview(self, step: Step, steps: list[Step], session: EditSession) -> Step:
        path = step.touched[0].path
        adapted = adapted_weights(session.op(path), path, self._settings(step), self.weights)
        return dataclasses.replace(step, adapted=tuple(adapted))

    def apply(self, step: Step, session: EditSession) -> None:
        head, *others = step.touched
        layer = session.op(head.path)
        _check_plain(layer, head.path)
        old = list(layer.weights)
        update_settings(session, head.path, self._settings(step), policy=self.weights)
        if self.weights == "fresh":
            _initialize_again(layer, old, session)
        for item in others:
            update_settings(session, item.path, {"target_shape": item.detail})

    def _settings(self, step: Step) -> dict[str, Any]:
        """Return the new settings of the head."""
        settings: dict[str, Any] = {step.touched[0].detail: self.classes}
        if self.activation is not None:
            settings["activation"] = self.activation
        return settings

    def _find_head(self, session: EditSession) -> str:
        if self.head is not None:
            found = session.find(self.head, required=True)
            if len(found) != 1 or _width(session.op(found[0].path)) is None:
                raise EditError(
                    f"Cannot swap the head of '{session.model.name}': {self.head!r} does not match exactly one layer with "
                    "units or filters.",
                    found=", ".join(f"'{candidate.path}'" for candidate in found[:5]),
                    fix="name the one layer that produces the classes.",
                )
            return str(found[0].path)
        function = structure.function_of(session.twin)
        if function is None and isinstance(session.twin, keras.Sequential):
            raise _no_head(session, "it is not built", BUILD_FIRST)
        if function is None:
            raise _no_head(session, "it has no call graph to follow back from its output")
        outputs = keras.tree.flatten(structure.outputs_of(function))
        if len(outputs) != 1:
            raise _no_head(session, f"it has {len(outputs)} outputs")
        return _follow_back(outputs[0], session)


def _check_plain(layer: Any, path: str) -> None:
    """Refuse a head whose new weights would be quantized zeros, or random and frozen."""
    mode = quantization.mode_of(layer)
    if mode is not None:
        raise EditError(
            f"Cannot swap the head at '{path}': it is quantized to {mode}.",
            fix=f"make it float first, model = ramet.edit(model, e.cast('float32', {path!r})), and quantize at the end.",
            path=path,
        )
    if lora.is_enabled(layer):
        raise EditError(
            f"Cannot swap the head at '{path}': it has LoRA enabled, and its new kernel would be random and frozen.",
            fix=f"merge first, model = ramet.edit(model, e.merge_lora({path!r})).",
            path=path,
        )


def _initialize_again(layer: Any, old: list[Any], session: EditSession) -> None:
    """Initialize weights that kept their shape: the same number of classes can still be other classes."""
    kept = {id(variable) for variable in old}
    for variable in layer.weights:
        if id(variable) in kept:
            initializer = getattr(layer, f"{variable.name}_initializer", None)
            if initializer is not None:
                # A used initializer would draw the same values again.
                initializer = type(initializer).from_config(initializer.get_config())
                variable.assign(initializer(variable.shape, dtype=variable.dtype))
                session.successors[id(variable)] = None  # fresh optimizer slots, too


def _follow_back(tensor: Any, session: EditSession) -> str:
    """Return the path of the last layer with a width before an output, also inside nested models."""
    call, prefix = structure.producing_call(tensor), ""
    while call is not None:
        op = call.operation
        path = f"{prefix}{structure.name_of(op)}"
        if _width(op) is not None:
            return path
        inner = structure.function_of(op)
        if inner is not None:
            results = keras.tree.flatten(structure.outputs_of(inner))
            if len(results) != 1:
                raise _no_head(session, f"'{path}' has {len(results)} outputs")
            call, prefix = structure.producing_call(results[0]), f"{path}/"
            continue
        if not isinstance(op, _AFTER_HEAD) or len(call.input_tensors) != 1:
            raise _no_head(session, f"its output comes from '{path}', {with_article(type(op).__name__)}")
        call = structure.producing_call(call.input_tensors[0])
    raise _no_head(session, "no layer with units or filters leads to its output")


def _ops_after(path: str, session: EditSession) -> list[str]:
    """Return the paths of the ops that follow the head in its graph."""
    prefix = path.rpartition("/")[0]
    found: list[str] = []
    waiting = list(session.calls(path).values())
    while waiting:
        for following in structure.calls_following(waiting.pop().operation):
            name = f"{prefix}/{structure.name_of(following.operation)}".lstrip("/")
            if name not in found and isinstance(following.operation, _AFTER_HEAD):
                found.append(name)
                waiting.append(following)
    return found


def _width(op: Any) -> Any:
    return next((name for name in _WIDTHS if isinstance(getattr(op, name, None), int)), None)


def _no_head(
    session: EditSession, why: str, fix: str = "name the layer: swap_head(classes, head='logits')."
) -> EditError:
    return EditError(f"Cannot find the head of '{session.model.name}': {why}.", fix=fix)


swap_head = SwapHead
