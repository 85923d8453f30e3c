"""Give layers the same masks in both generations of Keras, or refuse the model.

Most masks are the same in both, and such models are not changed. Elsewhere the mask of the source is computed by operations,
from the tensors that created it, and passed to the layer that uses it: `LSTM(...)(x, mask=not_equal(words, 0))`. A mask that
only the target would use is taken away by copying the tensor.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ramet._port.draft import Argument, Call, Layer, Model, Tensor, map_leaves, tensors_in
from ramet._port.masks import (
    ATTENTION,
    RECURRENT,
    REPLACING,
    Follower,
    Generation,
    Mask,
    Masks,
    attention_arguments,
    first_argument,
    flat_masks,
    is_computable,
    is_operation,
    makes_masks,
    masks_inside,
    nested_key,
    takes_mask,
)
from ramet._port.notes import Notes
from ramet._port.padding import padding_reaches_output
from ramet._port.version_rules import is_before
from ramet._port.writing import calls_in_run_order

_NUMPY = "keras.src.ops.numpy"
_LARGE = {"float16": -65504.0}


def make_masks_explicit(model: Model, notes: Notes, *, source: Generation, target: str = "") -> bool:
    """Change the calls of a model so that every layer uses the same mask in the target; return whether any was changed.

    Args:
        model: A model in the classes of Keras 3: after it was translated from Keras 2, or before it is translated to it.
        notes: Gets what was changed, and reasons to refuse the file.
        source: The generation of Keras that wrote the file.
        target: The release of Keras 3 that loads the target, such as "3.8"; empty for Keras 2.
    """
    if not makes_masks(model):
        return False
    inputs: Masks = [None] * (len(list(tensors_in(model.inputs))) if model.is_functional else 1)
    models = _Models(source, target, notes)
    _Level(model, "", models).run(inputs)
    return models.is_changed


def refuse_masked_values(model: Model, target: str, notes: Notes, path: str = "", inputs: Masks | None = None) -> None:
    """Refuse a layer whose values come with a mask: releases before 3.12 lay it over the scores without the axis it lacks.

    Args:
        model: A model of Keras 3.
        target: A release before 3.12.
        notes: Gets the refusals.
        path: The path of a nested model.
        inputs: The masks of its inputs.
    """
    if not model.is_functional:
        return
    follower = Follower(model, 3, path)
    follower.follow(inputs or [None] * len(list(tensors_in(model.inputs))))
    for layer in model.layers:
        where = f"{path}/{layer.name}" if path else layer.name
        for call in layer.calls:
            given = call.args[0] if call.args else None
            if layer.model is not None:
                masks = [follower.masks.get(tensor) for tensor in call.tensors()]
                refuse_masked_values(layer.model, target, notes, where, masks)
            elif layer.class_name not in ("AdditiveAttention", "Attention") or not isinstance(given, list):
                continue
            elif call.kwargs.get("mask") is None and not call.kwargs.get("use_causal_mask"):
                values = given[1] if len(given) > 1 else None
                if isinstance(values, Tensor) and follower.masks.get(values) is not None:
                    reason = f"{layer.class_name}: Keras {target} cannot compute it with a mask of the values"
                    notes.refuse(where, reason, "port for Keras 3.12 or newer, or change the layer.")


@dataclass(slots=True)
class _Models:
    """What is known about all models that are inside each other.

    Attributes:
        source: The generation of Keras that wrote the file.
        target: The release of Keras 3 that loads the target; empty for Keras 2.
        notes: Gets notes and refusals.
        nested: The masks of the outputs of nested models in source and target, by model and masks of the inputs.
        calls: All calls as they were, by the number of the layer in memory and that of the call.
        levels: The first level of each model, by its number in memory.
        is_changed: Whether a call was changed.
    """

    source: Generation
    target: str
    notes: Notes
    nested: dict[Any, tuple[Masks, Masks]] = field(default_factory=dict)
    calls: dict[tuple[int, int], Call] = field(default_factory=dict)
    levels: dict[int, _Level] = field(default_factory=dict)
    is_changed: bool = False

    @property
    def loses_nested(self) -> bool:
        """Whether masks end at nested models in the target."""
        return bool(self.target) and is_before(self.target, "3.7")

    @property
    def keeps_attention(self) -> bool:
        """Whether a MultiHeadAttention can stay as it is if its masks are the same."""
        # Keras 3 also removes them from the tensors; before 3.10, it creates two operations of the same name for them.
        return not self.target or (self.source == 3 and not is_before(self.target, "3.10"))


class _Level:
    """One model, called with some masks."""

    def __init__(self, model: Model, path: str, models: _Models) -> None:
        self._model, self._path, self._models = model, path, models
        # A nested model that is called with and without masks can be changed for the first of these calls only.
        first = models.levels.setdefault(id(model), self)
        self._is_first = first is self
        self._made: dict[Mask, Tensor] = {} if self._is_first else first._made
        self._copies: dict[Tensor, Tensor] = {} if self._is_first else first._copies
        self._specs = {tensor: spec for layer in model.layers for tensor, spec in layer.specs.items()}
        known = {tensor: mask for mask, tensor in self._made.items()}
        self._source = Follower(model, models.source, path)
        generation: Generation = 3 if models.target else 2
        self._target = Follower(model, generation, path, computed=known, loses_nested=models.loses_nested)
        self._source.computed = self._target.computed
        self._names = {layer.name for layer in model.layers}
        # Attention whose query is masked: the layer, its output, and the mask.
        self._queries: list[tuple[Layer, Tensor, Mask]] = []

    def run(self, inputs: Masks) -> tuple[Masks, Masks]:
        """Change the calls of the model; return the masks of its outputs in source and target."""
        return self._run_functional(inputs) if self._model.is_functional else self._run_sequential(inputs)

    @property
    def _is_within_3(self) -> bool:
        return self._models.source == 3 and bool(self._models.target)

    def _run_functional(self, inputs: Masks) -> tuple[Masks, Masks]:
        self._source.masks = dict(zip(tensors_in(self._model.inputs), inputs, strict=False))
        self._target.masks = dict(self._source.masks)
        by_name = {layer.name: layer for layer in self._model.layers}
        calls = [
            (by_name[name], number, self._before(by_name[name], number))
            for name, number in calls_in_run_order(self._model)
            if by_name[name].class_name != "InputLayer"
        ]
        for layer, number, before in calls:
            call = layer.calls[number]
            self._give(layer, number, call, before)
            source, target = self._outputs(layer, before, call, Tensor(layer.name, number))
            self._source.finish(layer, number, before, source)
            self._target.finish(layer, number, call, target)
        outputs = list(tensors_in(self._model.outputs))
        for layer, tensor, mask in self._queries:
            if padding_reaches_output(calls, outputs, tensor, mask, self._source):
                reason = "its outputs at masked positions reach those of the model; there, Keras 2 attends to everything alike, Keras 3 to nothing"
                fix = "use dropout=0.0 in this layer of the original, and do not return its scores."
                self._models.notes.refuse(self._where(layer), reason, fix)
        return [self._source.masks.get(one) for one in outputs], [self._target.masks.get(one) for one in outputs]

    def _before(self, layer: Layer, number: int) -> Call:
        """Return a call as it was before it was changed."""
        call = layer.calls[number]
        return self._models.calls.setdefault((id(layer), number), Call(list(call.args), dict(call.kwargs)))

    def _run_sequential(self, inputs: Masks) -> tuple[Masks, Masks]:
        masks = inputs, list(inputs)
        layers = [layer for layer in self._model.layers if layer.class_name != "InputLayer"]
        for number, layer in enumerate(layers):
            tensor = Tensor("", number)
            call = Call([tensor])
            for follower, found in zip((self._source, self._target), masks, strict=True):
                follower.masks[tensor] = found[0] if found else None
            old, new = self._source.masks[tensor], self._target.masks[tensor]
            is_other = old != new and (_uses_mask(layer) or layer.model is not None)
            if is_other or (layer.class_name == "Softmax" and (old or new)):
                self._refuse(layer, "a Sequential model cannot pass it one")
            masks = self._outputs(layer, call, call, Tensor(layer.name))
        return masks

    def _outputs(self, layer: Layer, before: Call, call: Call, output: Tensor) -> tuple[Masks, Masks]:
        """Return the masks of the outputs of a call in source and target, after the call was changed."""
        if layer.model is not None:
            inside = masks_inside(flat_masks(self._target.given(layer, call)))
            key = nested_key(layer.model, inside)
            if key not in self._models.nested:
                self._models.nested[key] = _Level(layer.model, self._where(layer), self._models).run(inside)
            self._source.nested[key], self._target.nested[key] = self._models.nested[key]
        elif layer.class_name == "TimeDistributed":
            self._time_distributed(layer, call)
        return self._source.outputs(layer, before, output), self._target.outputs(layer, call, output)

    def _time_distributed(self, layer: Layer, call: Call) -> None:
        """Change the calls inside a model that is applied to every step."""
        inner = layer.config.get("layer")
        if not isinstance(inner, Layer) or inner.model is None:
            return
        inside = masks_inside(flat_masks(self._target.given(layer, call))[:1])
        key = ("steps", nested_key(inner.model, inside))
        if key not in self._models.nested:
            path = f"{self._where(layer)}/{inner.name}"
            self._models.nested[key] = _Level(inner.model, path, self._models).run(inside)

    # Giving layers their masks.

    def _give(self, layer: Layer, number: int, call: Call, before: Call) -> None:
        """Change a call so that the layer gets the mask of the source."""
        if is_operation(layer):
            return
        if layer.class_name == "MultiHeadAttention":
            self._give_attention_mask(layer, number, call, before)
            return
        wanted, found = self._source.given(layer, before), self._target.given(layer, call)
        is_masked = any(flat_masks(wanted)) or any(flat_masks(found))
        if layer.class_name in REPLACING and is_masked:
            if self._models.source == 2:
                self._strip(call)
            elif not self._models.target:
                self._refuse(layer, f"{layer.class_name} replaces masked values in Keras 3 only")
        elif layer.class_name == "Softmax" and is_masked and not self._is_within_3:
            self._give_softmax(layer, call, flat_masks(wanted))
        elif layer.class_name == "GroupNormalization" and any(flat_masks(wanted)) and not self._is_within_3:
            self._refuse(layer, "GroupNormalization uses masks in Keras 2 only")
        elif flat_masks(wanted) != flat_masks(found) and (_uses_mask(layer) or layer.model is not None):
            self._pass(layer, call, wanted)

    def _pass(self, layer: Layer, call: Call, wanted: Argument) -> None:
        """Pass a mask by name, or remove that of the target if there is none in the source."""
        masks = flat_masks(wanted)
        if not self._can_compute(layer, masks):
            return
        if None in masks:
            self._strip(call)
        if any(masks):
            first = masks[0] if layer.class_name in RECURRENT | {"Bidirectional"} else wanted
            call.kwargs["mask"] = map_leaves(first, lambda mask: mask and self._tensor(mask))
            self._note(layer, "the mask that it uses is now passed to it by name")
        else:
            self._note(layer, "its input is copied, without a mask, which it has in the target only")

    def _can_compute(self, layer: Layer, masks: Masks) -> bool:
        """Return whether masks can be passed to a layer; refuse the layer otherwise."""
        reason = None
        if not all(mask is None or is_computable(mask) for mask in masks):
            reason = "it is known only inside another model"
        elif not self._is_first:
            reason = "the model around it is called with different masks"
        if reason is not None:
            self._refuse(layer, reason)
        return reason is None

    def _give_softmax(self, layer: Layer, call: Call, wanted: Masks) -> None:
        """Express a masked softmax as Keras 2 computes it: with a large negative number added to what is masked."""
        source = first_argument(call)
        if not self._can_compute(layer, wanted) or not isinstance(source, Tensor):
            return
        mask = wanted[0] if wanted else None
        if mask is None:
            self._strip(call)
            return
        if self._models.source == 3:
            self._refuse(layer, "Keras 3 writes zeros where everything is masked")
            return
        call.kwargs.pop("mask", None)
        dtype = self._specs.get(source, (None, None))[1] or "float32"
        kept = self._cast(self._tensor(mask), dtype)
        removed = self._operation("Subtract", [1.0, kept], dtype)
        large = self._operation("Multiply", [removed, _LARGE.get(dtype, -1e9)], dtype)
        call.args = [self._operation("Add", [self._copy(source), large], dtype, like=source), *call.args[1:]]
        self._note(layer, "its mask is now added to its input, as Keras 2 does")

    def _give_attention_mask(self, layer: Layer, number: int, call: Call, before: Call) -> None:
        """Pass the masks of query, value and key as one `attention_mask`.

        Keras 3 would also remove them from the tensors, for whatever reads these later.
        """
        wanted = self._source.attention_masks(before)
        if not self._models.target:
            # tf_keras takes them from the tensors.
            for key in ("query_mask", "value_mask", "key_mask"):
                call.kwargs.pop(key, None)
        found = self._target.attention_masks(call)
        if not any(wanted.values()) and not any(found.values()):
            return
        query = wanted.get("query")
        if query is not None and (layer.config.get("dropout") or before.kwargs.get("return_attention_scores")):
            # Then Keras 3 computes the softmax by itself, with zeros where everything is masked.
            self._queries.append((layer, Tensor(layer.name, number), query))
        if (self._models.keeps_attention and wanted == found) or not self._can_compute(layer, list(wanted.values())):
            return
        for position, key in enumerate(("query", "value", "key")):
            tensor = attention_arguments(call).get(key)
            if isinstance(tensor, Tensor) and position < len(call.args):
                call.args[position] = self._copy(tensor)
            elif isinstance(tensor, Tensor):
                call.kwargs[key] = self._copy(tensor)
        parts = [
            self._operation("ExpandDims", [self._tensor(mask)], "bool", axis=2 if key == "query" else 1)
            for key, mask in wanted.items()
            if mask is not None
        ]
        explicit = call.kwargs.get("attention_mask")
        parts = parts if explicit is None else [explicit, *parts]
        if not any(wanted.values()):
            return
        whole = parts[0]
        for part in parts[1:]:
            whole = self._operation("LogicalAnd", [whole, part], "bool")
        call.kwargs["attention_mask"] = whole
        for key in ("query_mask", "value_mask", "key_mask"):
            call.kwargs.pop(key, None)
        self._note(layer, "the masks that it uses are now passed to it as its attention_mask")

    def _strip(self, call: Call) -> None:
        """Replace the tensors of the first argument that have a mask in Keras 3 by copies, which have none."""

        def change(leaf: Any) -> Any:
            is_masked = isinstance(leaf, Tensor) and self._target.masks.get(leaf) is not None
            return self._copy(leaf) if is_masked else leaf

        if call.args:
            call.args[0] = map_leaves(call.args[0], change)

    # Operations.

    def _copy(self, tensor: Tensor) -> Tensor:
        if self._target.masks.get(tensor) is None:
            return tensor
        if tensor not in self._copies:
            self._copies[tensor] = self._operation(
                "Copy", [tensor], self._specs.get(tensor, (None, None))[1], like=tensor
            )
        return self._copies[tensor]

    def _tensor(self, mask: Mask) -> Tensor:
        """Return a tensor with the values of a mask."""
        if mask.kind == "tensor" and mask.tensor is not None:
            return mask.tensor
        if mask not in self._made:
            self._made[mask] = made = self._compute(mask)
            self._target.computed[made] = mask
        return self._made[mask]

    def _compute(self, mask: Mask) -> Tensor:
        if mask.kind in ("not equal", "any not equal"):
            found = self._operation("NotEqual", [mask.tensor, mask.value], "bool", like=mask.tensor)
            return found if mask.kind == "not equal" else self._operation("Any", [found], "bool", axis=-1)
        tensors = [self._tensor(part) for part in mask.parts]
        if mask.kind == "joined":
            return self._operation("Concatenate", [tensors], "bool", axis=1)
        if mask.kind == "any":
            return self._operation("Any", tensors, "bool", axis=-1)
        whole = tensors[0]
        for tensor in tensors[1:]:
            whole = self._operation(
                "LogicalAnd" if mask.kind == "all" else "LogicalOr", [whole, tensor], "bool", like=whole
            )
        return whole

    def _cast(self, tensor: Tensor, dtype: str) -> Tensor:
        made = self._operation("Cast", [tensor], dtype, module="keras.src.ops.core", like=tensor)
        self._model.layers[-1].config["dtype"] = dtype
        return made

    def _operation(
        self,
        class_name: str,
        args: list[Argument],
        dtype: str | None,
        *,
        module: str = _NUMPY,
        like: Tensor | None = None,
        **settings: Any,
    ) -> Tensor:
        """Add an operation to the model; return its output, with the shape of the tensor `like`."""
        base = "mask_" + re.sub(r"(?<!^)(?=[A-Z])", "_", class_name).lower()
        name, number = base, 0
        while name in self._names:
            number += 1
            name = f"{base}_{number}"
        self._names.add(name)
        layer = Layer(name, class_name, module, {"name": name, **settings}, [Call(args)], registered_name=class_name)
        layer.specs = {tensor: self._specs[tensor] for tensor in tensors_in(args) if tensor in self._specs}
        self._model.layers.append(layer)
        made = Tensor(name)
        self._specs[made] = (self._specs.get(like, (None, None))[0] if like is not None else None, dtype)
        return made

    # Notes.

    def _where(self, layer: Layer) -> str:
        return f"{self._path}/{layer.name}" if self._path else layer.name

    def _note(self, layer: Layer, text: str) -> None:
        self._models.is_changed = True
        self._models.notes.add("translated", self._where(layer), text)

    def _refuse(self, layer: Layer, reason: str) -> None:
        fix = "pass the mask explicitly in the original (mask=...), and save it again."
        self._models.notes.refuse(self._where(layer), f"its mask differs between Keras 2 and Keras 3: {reason}", fix)


def _uses_mask(layer: Layer) -> bool:
    """Return whether a layer computes something else if its input has another mask."""
    if layer.class_name == "TimeDistributed":
        inner = layer.config.get("layer")
        return isinstance(inner, Layer) and takes_mask(inner)
    return (
        layer.class_name in RECURRENT | ATTENTION
        or layer.class_name in ("Bidirectional", "GlobalAveragePooling1D")
        or not layer.is_of_keras
    )
