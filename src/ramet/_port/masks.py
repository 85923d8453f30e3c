"""Follow masks through a model, by the rules of Keras 2 and by those of Keras 3.

Masks are not part of a config: `Embedding(mask_zero=True)` and `Masking` create them, layers pass them on, and layers such
as LSTM use them. The two generations differ in many layers between. Where `Add` has two masks, Keras 3 keeps positions that
either of them keeps, and Keras 2 those that both keep; `Rescaling` passes masks on in Keras 3 only; `MultiHeadAttention` of
Keras 3 removes the masks of its inputs, also for the layers that read them later. `explicit_masks` compares both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ramet._port.draft import OPERATION_CLASSES, Argument, Call, Layer, Model, Tensor, map_leaves, tensors_in
from ramet._port.variables import walk_layers
from ramet._port.writing import calls_in_run_order

Generation: TypeAlias = Literal[2, 3]

RECURRENT = frozenset({"ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "GRU", "LSTM", "RNN", "SimpleRNN"})
ATTENTION = frozenset({"AdditiveAttention", "Attention"})
# Merging layers that replace masked values in Keras 3.
REPLACING = frozenset({"Maximum", "Minimum", "Multiply"})
_MERGES = frozenset({"Add", "Average", "Subtract"}) | REPLACING
# Layers that pass the mask of their input on, in both generations and in Keras 3 only.
_PASS_ON = frozenset(
    """
    Activation ActivityRegularization AlphaDropout BatchNormalization Dense Dropout ELU GaussianDropout GaussianNoise
    GroupNormalization LayerNormalization LeakyReLU PReLU ReLU Softmax SpatialDropout1D SpatialDropout2D SpatialDropout3D
    UnitNormalization
    """.split()  # noqa: SIM905  # a list of quoted names would be several times as long
)
_PASS_ON_IN_KERAS_3 = frozenset({"Identity", "Normalization", "Rescaling"})
# Layers and operations of which some return the tensor that they were given, if there is nothing to do. On JAX, it then still
# has its mask.
_MAY_CHANGE_NOTHING = frozenset(
    """
    AveragePooling1D AveragePooling2D AveragePooling3D CenterCrop Cropping1D Cropping2D Cropping3D MaxPooling1D MaxPooling2D
    MaxPooling3D Permute Reshape Resizing UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D ZeroPadding2D ZeroPadding3D
    BroadcastTo Cast GetItem Pad Repeat Squeeze StopGradient Swapaxes Tile Transpose
    """.split()  # noqa: SIM905
)

MaskKind: TypeAlias = Literal[
    "not equal", "any not equal", "all", "either", "joined", "any", "tensor", "input", "own", "unknown"
]


@dataclass(frozen=True, slots=True)
class Mask:
    """A mask, by how it is computed. Two equal masks have the same values.

    Attributes:
        kind: "not equal" to a value, for each element of `tensor`, as for Embedding; "any not equal", along the last axis, as for
            Masking; "all" or "either" of `parts`; `parts` "joined" along the second axis; "any" of the only part along the
            last axis; the values of a "tensor"; the mask of an "input" of a nested model, `value` being its number; the "own" of
            the layer whose output is `tensor`, which cannot be computed elsewhere; or "unknown".
    """

    kind: MaskKind
    tensor: Tensor | None = None
    value: Any = None
    parts: tuple[Mask, ...] = ()
    where: str = ""


UNKNOWN = Mask("unknown")
Masks: TypeAlias = "list[Mask | None]"


def makes_masks(model: Model) -> bool:
    """Return whether any layer of a model, at any depth, creates a mask or is given one."""
    return any(
        layer.class_name == "Masking"
        or bool(layer.config.get("mask_zero"))
        or any("mask" in key for call in layer.calls for key in call.kwargs)
        for _, layer in walk_layers(model)
    )


def is_operation(layer: Layer) -> bool:
    """Return whether something in a functional model is an operation rather than a layer."""
    return layer.class_name in OPERATION_CLASSES or (layer.module or "").startswith(
        ("keras.src.ops.", "keras.src.activations.")
    )


def takes_mask(layer: Layer) -> bool:
    """Return whether the call of a layer inside another one takes a mask."""
    return (
        layer.model is not None
        or layer.class_name in RECURRENT
        or layer.class_name in ("Bidirectional", "GlobalAveragePooling1D", "Softmax", "TimeDistributed")
    )


def first_argument(call: Call) -> Argument:
    """Return the argument of a call whose masks a layer passes on."""
    return call.args[0] if call.args else next(iter(call.kwargs.values()), None)


def attention_arguments(call: Call) -> dict[str, Argument]:
    """Return query, value and key of a call of MultiHeadAttention, those that it has."""
    named = dict(zip(("query", "value", "key"), call.args, strict=False))
    return {**named, **{key: call.kwargs[key] for key in ("query", "value", "key") if call.kwargs.get(key) is not None}}


@dataclass(slots=True)
class Follower:
    """The masks of the tensors of one model, by the rules of one generation.

    Attributes:
        model: The model.
        generation: 2 or 3.
        path: The path of the model, for masks that nothing but a layer of it knows.
        masks: The mask of each tensor; a tensor without an entry has none.
        nested: The masks of the outputs of nested models, by the number of the model and which inputs have masks.
        computed: Tensors that are known to contain a mask.
        loses_nested: Whether masks end at nested models, as in Keras before 3.7.
    """

    model: Model
    generation: Generation
    path: str = ""
    masks: dict[Tensor, Mask | None] = field(default_factory=dict)
    nested: dict[Any, Masks] = field(default_factory=dict)
    computed: dict[Tensor, Mask] = field(default_factory=dict)
    loses_nested: bool = False

    def follow(self, inputs: Masks) -> Masks:
        """Follow the masks from the inputs to the outputs of the model, and return those of the outputs."""
        if not self.model.is_functional:
            masks = inputs
            layers = [layer for layer in self.model.layers if layer.class_name != "InputLayer"]
            for number, layer in enumerate(layers):
                tensors = [Tensor("", number, output) for output in range(max(len(masks), 1))]
                self.masks |= dict(zip(tensors, masks, strict=False))
                masks = self.outputs(layer, Call([tensors[0] if len(tensors) == 1 else tensors]), Tensor(layer.name))
            return masks
        self.masks |= dict(zip(tensors_in(self.model.inputs), inputs, strict=False))
        by_name = {layer.name: layer for layer in self.model.layers}
        for name, number in calls_in_run_order(self.model):
            layer = by_name[name]
            if layer.class_name == "InputLayer":
                continue
            call = layer.calls[number]
            self.finish(layer, number, call, self.outputs(layer, call, Tensor(name, number)))
        return [self.masks.get(tensor) for tensor in tensors_in(self.model.outputs)]

    def finish(self, layer: Layer, number: int, call: Call, outputs: Masks) -> None:
        """Store the masks of the outputs of a call."""
        found = self._computed_mask(layer, call) if is_operation(layer) else None
        if found is not None:
            self.computed.setdefault(Tensor(layer.name, number), found)
        self.masks |= {Tensor(layer.name, number, output): mask for output, mask in enumerate(outputs)}
        if layer.class_name == "MultiHeadAttention" and self.generation == 3:
            self.masks |= dict.fromkeys(tensors_in(list(attention_arguments(call).values())))

    def given(self, layer: Layer, call: Call) -> Argument:
        """Return the masks of the first argument of a call, in its structure, or those that the call names."""
        explicit = call.kwargs.get("mask")
        if explicit is not None:
            return map_leaves(
                explicit,
                lambda leaf: self.computed.get(leaf, Mask("tensor", leaf)) if isinstance(leaf, Tensor) else None,
            )
        states = call.kwargs.get("initial_state")
        if states is not None and self.generation == 3 and (layer.class_name in RECURRENT or _is_bidirectional(layer)):
            return None  # Keras 3 looks for the mask of an only tensor
        return map_leaves(first_argument(call), lambda leaf: self.masks.get(leaf) if isinstance(leaf, Tensor) else None)

    def _computed_mask(self, layer: Layer, call: Call) -> Mask | None:
        """Return the mask that an operation computes, if it is one that layers create, too.

        Keras 3 writes the masks that layers use as operations, and passes them by name.
        """
        first, second = (*call.args, None, None)[:2]
        if layer.class_name == "NotEqual" and isinstance(first, Tensor) and isinstance(second, int | float):
            return Mask("not equal", first, second)
        inside = self.computed.get(first) if isinstance(first, Tensor) else None
        if (
            layer.class_name == "Any"
            and layer.config.get("axis") in (-1, [-1])
            and inside
            and inside.kind == "not equal"
        ):
            return Mask("any not equal", inside.tensor, inside.value)
        if layer.class_name == "Squeeze" and layer.config.get("axis") == -1:
            return inside
        other = self.computed.get(second) if isinstance(second, Tensor) else None
        if layer.class_name in ("LogicalAnd", "LogicalOr") and inside and other:
            parts = tuple(dict.fromkeys((inside, other)))
            return (
                parts[0]
                if len(parts) == 1
                else Mask("all" if layer.class_name == "LogicalAnd" else "either", parts=parts)
            )
        return None

    def attention_masks(self, call: Call) -> dict[str, Mask | None]:
        """Return the masks that a call of MultiHeadAttention uses, for query, value and key."""
        found: dict[str, Mask | None] = {}
        for key, tensor in attention_arguments(call).items():
            explicit = call.kwargs.get(f"{key}_mask")
            if isinstance(explicit, Tensor) and key != "query":  # whose mask Keras 3 takes from the tensor
                found[key] = self.computed.get(explicit, Mask("tensor", explicit))
            else:
                found[key] = self.masks.get(tensor) if isinstance(tensor, Tensor) else None
        return found

    def outputs(self, layer: Layer, call: Call, output: Tensor) -> Masks:
        """Return the masks of the outputs of a call; outputs beyond the end of the list have none."""
        given = self.given(layer, call)
        flat = flat_masks(given)
        name, config = layer.class_name, layer.config
        source = first_argument(call)
        if layer.model is not None:
            return self._nested(layer, call, flat, output)
        if not layer.is_of_keras:
            # Whatever a class of the user does, it does it in both generations.
            known = tuple(mask for mask in flat if mask)
            return [Mask("own", output, None, known, self.path)] if known else []
        if name == "Embedding" and config.get("mask_zero") and isinstance(source, Tensor):
            return [Mask("not equal", source, 0)]
        if name == "Masking" and isinstance(source, Tensor):
            return [Mask("any not equal", source, config.get("mask_value", 0.0))]
        if name == "TimeDistributed":
            return [self._time_distributed(layer, call, flat[0] if flat else None)]
        if not any(flat):
            return []
        if is_operation(layer) or name in _MAY_CHANGE_NOTHING:
            return [UNKNOWN] if self.generation == 3 and name in _MAY_CHANGE_NOTHING else []
        if name in RECURRENT:
            return [flat[0] if config.get("return_sequences") else None]
        if _is_bidirectional(layer):
            return _bidirectional(layer, flat[0])
        if name == "MultiHeadAttention":
            return [self.masks.get(source) if isinstance(source, Tensor) else None]
        if name in ATTENTION:
            return [flat[0]]
        if name in _MERGES:
            return [self._merged(name, flat)]
        if name == "Concatenate":
            return [self._concatenated(layer, source, flat)]
        if name in _PASS_ON or (name in _PASS_ON_IN_KERAS_3 and self.generation == 3):
            return list(flat)
        return []

    def _nested(self, layer: Layer, call: Call, given: Masks, output: Tensor) -> Masks:
        """Return the masks of the outputs of a nested model, computed from the tensors around it if possible."""
        model = layer.model
        assert model is not None, "only nested models are followed"
        if self.loses_nested:
            return []
        inside = masks_inside(given)
        key = nested_key(model, inside)
        if key not in self.nested:
            follower = Follower(model, self.generation, f"{self.path}/{layer.name}", nested=self.nested)
            self.nested[key] = follower.follow(inside)
        arguments = list(tensors_in(first_argument(call)))
        inputs = list(tensors_in(model.inputs)) if model.is_functional else [Tensor("")]
        outside = dict(zip(inputs, arguments, strict=False))
        return [
            mask and _seen_from_outside(mask, outside, given, Tensor(output.layer, output.call, number))
            for number, mask in enumerate(self.nested[key])
        ]

    def _time_distributed(self, layer: Layer, call: Call, given: Mask | None) -> Mask | None:
        inner = layer.config.get("layer")
        if self.generation == 3 or not isinstance(inner, Layer):
            return given
        source = first_argument(call)
        # The inner layer sees all steps as samples, so its mask has one axis less.
        follower = Follower(Model("", "Sequential", [inner]), 2, self.path, {source: given}, self.nested)
        made = follower.outputs(inner, Call([source]), Tensor(layer.name, 0, 0))
        mask = made[0] if made else None
        if mask is None:
            # Reduced to samples and steps, whatever was used inside.
            return given and (given if rank_of(given, layer) == 2 else Mask("any", parts=(given,)))
        return Mask("own", Tensor(layer.name), None, (), self.path) if _has_kind(mask, "joined") else mask

    def _merged(self, name: str, given: Masks) -> Mask | None:
        known = tuple(dict.fromkeys(mask for mask in given if mask is not None))
        if self.generation == 2:
            return known[0] if len(known) == 1 else Mask("all", parts=known)
        if None in given:
            return None
        return known[0] if len(known) == 1 else Mask("either", parts=known)

    def _concatenated(self, layer: Layer, source: Argument, given: Masks) -> Mask | None:
        known = tuple(dict.fromkeys(mask for mask in given if mask is not None))
        tensors = list(tensors_in(source))
        shape = next((layer.specs[one][0] for one in tensors if one in layer.specs and layer.specs[one][0]), None)
        axis = layer.config.get("axis", -1)
        if axis == -1 or (shape is not None and axis == len(shape) - 1):
            if self.generation == 2:
                return known[0] if len(known) == 1 else Mask("all", parts=known)
            if None in given:
                return UNKNOWN  # everything is kept, by a mask
            return known[0] if len(known) == 1 else Mask("either", parts=known)
        if axis == 1 and None not in given:
            return Mask("joined", parts=tuple(mask for mask in given if mask is not None))
        return UNKNOWN


def masks_inside(given: Masks) -> Masks:
    """Return the masks of the inputs of a nested model as the model itself knows them."""
    return [None if mask is None else Mask("input", None, number) for number, mask in enumerate(given)]


def nested_key(model: Model, inside: Masks) -> Any:
    """Return the key of `Follower.nested` for a nested model that is called with some masks."""
    return (id(model), *(mask is not None for mask in inside))


def rank_of(mask: Mask, layer: Layer) -> int | None:
    """Return the number of axes of a mask; None if it is not known."""
    if mask.kind in ("not equal", "any not equal", "tensor") and mask.tensor in layer.specs:
        shape = layer.specs[mask.tensor][0]
        return None if shape is None else len(shape) - (mask.kind == "any not equal")
    if mask.kind in ("all", "either", "joined"):
        return next((found for part in mask.parts if (found := rank_of(part, layer)) is not None), None)
    if mask.kind == "any":
        inside = rank_of(mask.parts[0], layer)
        return None if inside is None else inside - 1
    return None


def tensors_of(mask: Mask) -> Iterator[Tensor]:
    """Yield the tensors from which a mask is computed."""
    if mask.tensor is not None:
        yield mask.tensor
    for part in mask.parts:
        yield from tensors_of(part)


def is_computable(mask: Mask) -> bool:
    """Return whether a mask can be computed from tensors of the model around the layer that needs it."""
    return mask.kind not in ("input", "own", "unknown") and all(map(is_computable, mask.parts))


def _has_kind(mask: Mask, kind: str) -> bool:
    return mask.kind == kind or any(_has_kind(part, kind) for part in mask.parts)


def _seen_from_outside(mask: Mask, outside: dict[Tensor, Tensor], given: Masks, output: Tensor) -> Mask:
    """Return a mask inside a nested model as one of the tensors and masks that the model is called with."""
    if mask.kind == "input":
        found: Mask | None = given[mask.value]
        assert found is not None, "only inputs with masks have one inside"
        return found
    if mask.kind in ("own", "unknown"):
        return mask if mask.kind == "unknown" else Mask("own", output, None, (), mask.where)
    if mask.tensor is not None and mask.tensor not in outside:
        return Mask("own", output, (mask.kind, mask.tensor, mask.value), (), mask.where)
    tensor = None if mask.tensor is None else outside[mask.tensor]
    parts = tuple(_seen_from_outside(part, outside, given, output) for part in mask.parts)
    return Mask(mask.kind, tensor, mask.value, parts)


def _is_bidirectional(layer: Layer) -> bool:
    return layer.class_name == "Bidirectional"


def _bidirectional(layer: Layer, given: Mask | None) -> Masks:
    inner = layer.config.get("layer")
    mask = given if isinstance(inner, Layer) and inner.config.get("return_sequences") else None
    return [mask, mask] if layer.config.get("merge_mode", "concat") is None else [mask]


def flat_masks(masks: Argument) -> Masks:
    """Return masks in nested lists and dicts as one list."""
    found: Masks = []
    map_leaves(masks, found.append)
    return found
