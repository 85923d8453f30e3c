"""The calls in a model of Keras 2: operations of TensorFlow, and what Keras 3 needs between two layers.

`translate_calls` replaces the operations of a functional model, whose shapes and dtypes it finds on the way;
`convert_between_layers` does the rest for a Sequential model, which has no operations.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ramet._port.draft import OPERATION_CLASSES, Argument, Call, Layer, Model, Tensor, map_leaves, tensors_in
from ramet._port.notes import Notes
from ramet._port.shapes import Spec, is_read_as_bias, output_specs
from ramet._port.tf_ops import Constant, Dim, Known, OpCall, Step, Untranslatable, translate_op
from ramet._port.tf_ops_base import Builder, leaves, made_of
from ramet._port.tf_ops_known import known_dtype
from ramet._port.writing import write_layer

_CONVOLUTION = re.compile(r"(?:Depthwise|Separable)?Conv([123])D(?:Transpose)?")
# Layers that return floats in Keras 2 and keep the dtype of integers in Keras 3.
_FLOATING = frozenset(
    {
        "CenterCrop",
        "RandomBrightness",
        "RandomContrast",
        "RandomFlip",
        "RandomRotation",
        "RandomTranslation",
        "RandomZoom",
        "Resizing",
        "LayerNormalization",
        "UnitNormalization",
    }
)
_WITHOUT_ROUNDING = "put Rescaling(1.0) before it in the original, which then returns floats, too."
_WITHOUT_CROPPING = "crop less in the original, or leave out this output."
_MASKS = frozenset({"attention_mask", "mask"})
_LOOKUPS = frozenset({"IntegerLookup", "StringLookup", "TextVectorization"})


def translate_calls(model: Model, path: str, notes: Notes, spend: Callable[[Any], None]) -> None:
    """Replace the operations of a functional model by those of Keras 3, in place.

    Args:
        model: The model, whose layers were translated.
        path: Its path.
        notes: Gets what was translated, and reasons to refuse the file.
        spend: Counts the elements that an operation takes or makes, and raises `Untranslatable` if they are too many.
    """
    _Operations(model, path, notes, spend).translate()


def convert_between_layers(model: Model, path: str, notes: Notes) -> None:
    """Add the layers that a Sequential model needs where Keras 3 has other dtypes and shapes between two layers."""
    specs: list[Spec] = []
    layers: list[Layer] = []
    taken = {layer.name for layer in model.layers}

    def add(layer: Layer, conversion: _Conversion) -> None:
        name = base = f"{layer.name}_{conversion.name}"
        while name in taken:
            name = f"{base}_{len(taken)}"
        taken.add(name)
        # A Sequential model holds layers only. Rescaling computes with floats.
        config = {"scale": 1.0, "offset": 0.0} if conversion.class_name == "Cast" else conversion.config
        class_name = "Rescaling" if conversion.class_name == "Cast" else conversion.class_name
        made = Layer(name, class_name, "keras.layers", {"name": name, **config})
        layers.append(made)
        notes.add("translated", f"{path}/{layer.name}" if path else layer.name, conversion.reason)

    for layer in model.layers:
        if layer.class_name == "InputLayer":
            specs = [Spec(tuple(layer.config.get("batch_shape") or ()), layer.config.get("dtype"))]
            layers.append(layer)
            continue
        found = specs[0] if specs else Spec()
        reason = _rounding(layer, found)
        if reason is not None:
            notes.refuse(f"{path}/{layer.name}" if path else layer.name, reason, _WITHOUT_ROUNDING)
        for conversion in _conversions_before(layer, found):
            add(layer, conversion)
            found = Spec(found.shape, "float32" if conversion.class_name == "Cast" else found.dtype)
        layers.append(layer)
        specs = _specs_of(layer, [found], {}) or []
        reason = _nothing_left(layer, specs[0] if specs else Spec())
        if reason is not None:
            notes.refuse(f"{path}/{layer.name}" if path else layer.name, reason, _WITHOUT_CROPPING)
        for conversion in _conversions_after(layer):
            add(layer, conversion)
    model.layers = layers


@dataclass(frozen=True)
class _Conversion:
    """An operation or a layer between two layers, without which Keras 3 has another dtype or shape there."""

    name: str
    class_name: str
    module: str
    config: dict[str, Any]
    reason: str


def _cast_to_float(reason: str) -> _Conversion:
    return _Conversion("cast", "Cast", "keras.src.ops.core", {"dtype": "float32"}, reason)


def _conversions_before(layer: Layer, spec: Spec) -> Iterator[_Conversion]:
    """Yield what the inputs of a layer must pass, given what is known about them."""
    is_smooth = layer.class_name == "UpSampling2D" and layer.config.get("interpolation", "nearest") != "nearest"
    if (layer.class_name in _FLOATING or is_smooth) and (spec.dtype or "").startswith(("int", "uint", "bool")):
        yield _cast_to_float(f"its input is cast from {spec.dtype} to float32, as in Keras 2")
    is_split = layer.class_name == "TextVectorization" and layer.config.get("split") is not None
    if is_split and _returns_floats(layer) and len(spec.shape or ()) == 2:
        # Keras 3 expects an axis in the result that is not there when the model runs.
        reason = "its input loses the axis of size 1, so that Keras 3 knows the shape of its result"
        yield _Conversion("flat", "Reshape", "keras.layers", {"target_shape": [], "dtype": "string"}, reason)


def _rounding(layer: Layer, spec: Spec) -> str | None:
    """Return why a layer has other results in Keras 3, if it rounds in Keras 2."""
    if not layer.class_name.startswith("GlobalAveragePooling") or not (spec.dtype or "").startswith(("int", "uint")):
        return None
    return f"its input is {spec.dtype}: averages of integers are rounded in Keras 2, and floats in Keras 3"


def _conversions_after(layer: Layer) -> Iterator[_Conversion]:
    """Yield what the output of a layer must pass."""
    if _returns_floats(layer):
        yield _cast_to_float("its result is cast to float32, as in Keras 2")


def _returns_floats(layer: Layer) -> bool:
    """Return whether a layer returns counts, as floats in Keras 2 and as integers in Keras 3."""
    return layer.class_name in _LOOKUPS and layer.config.get("output_mode", "int") != "int"


def _is_operation(layer: Layer) -> bool:
    is_function = layer.class_name == "Lambda" and layer.config.get("function_type") == "function"
    return layer.class_name in OPERATION_CLASSES or is_function


class _Operations:
    """Translates the operations of one functional model, and finds the shapes of its tensors on the way."""

    def __init__(self, model: Model, path: str, notes: Notes, spend: Callable[[Any], None]) -> None:
        self._model, self._path, self._notes, self._spend = model, path, notes, spend
        self._layers = {layer.name: layer for layer in model.layers}
        self._specs: dict[Tensor, Spec] = {}
        self._known: dict[Tensor, Any] = {}
        # The operations that have been replaced.
        self._done: set[str] = set()
        self._known_dtypes: dict[Tensor, str] = {}
        self._replaced: dict[Tensor, Tensor] = {}
        # Known values that layers take as tensors.
        self._made: dict[Tensor, Tensor] = {}
        self._added: list[Layer] = []
        self._numbers: dict[str, int] = {}
        # The layers that are called with the outputs of a layer; found once, when something is refused.
        self._readers: dict[str, list[str]] | None = None

    def translate(self) -> None:
        """Replace every operation by layers of Keras 3."""
        # As they were: the first call of an operation replaces its layer, and others may follow.
        operations = {layer.name: dataclasses.replace(layer) for layer in self._model.layers if _is_operation(layer)}
        for name, number in _in_order(self._model):
            layer = operations.get(name) or self._layers[name]
            call = layer.calls[number]
            is_operation = name in operations
            # Operations compute with known values; layers take only tensors.
            current = self._current if is_operation else self._tensor
            dtypes = [self._known_dtypes[one] for one in call.tensors() if one in self._known_dtypes]
            call.args = map_leaves(call.args, current)
            call.kwargs = map_leaves(call.kwargs, current)
            if is_operation:
                self._operation(layer, number, call, dtypes)
                continue
            self._prepare_inputs(layer, call)
            self._make_masks_tensors(layer, call)
            self._order_summands(layer, call)
            self._note_specs(layer, number, call)
            if (reason := _nothing_left(layer, self._spec(Tensor(name, number)))) is not None:
                self._refuse(layer, reason, _WITHOUT_CROPPING)
            for conversion in _conversions_after(layer):
                result = Tensor(layer.name, number)
                self._replaced[result] = self._convert(layer, conversion, result)
        self._model.outputs = map_leaves(self._model.outputs, self._tensor)
        gone = {tensor.layer for tensor in self._known} - {tensor.layer for tensor in self._specs}
        self._model.layers = [layer for layer in self._model.layers if layer.name not in gone] + self._added

    def _prepare_inputs(self, layer: Layer, call: Call) -> None:
        """Cast integers for layers that return floats in Keras 2, and refuse convolutions with more axes than in Keras 3."""
        source = call.args[0] if call.args else None
        spec = self._spec(source) if isinstance(source, Tensor) else Spec(None, None)
        reason = _rounding(layer, spec)
        if reason is not None:
            self._refuse(layer, reason, _WITHOUT_ROUNDING)
        for conversion in _conversions_before(layer, spec):
            call.args[0] = self._convert(layer, conversion, call.args[0])
        match = _CONVOLUTION.fullmatch(layer.class_name)
        if match and spec.shape is not None and len(spec.shape) != int(match[1]) + 2:
            reason = (
                f"its input has {len(spec.shape)} axes, and a {layer.class_name} of Keras 3 takes {int(match[1]) + 2}"
            )
            self._refuse(layer, reason, "reshape the input in the original, or use TimeDistributed.")

    def _convert(self, layer: Layer, conversion: _Conversion, source: Argument) -> Tensor:
        """Return the result of an added operation or layer."""
        name = self._free_name(f"{layer.name}_{conversion.name}")
        made = Layer(name, conversion.class_name, conversion.module, {"name": name, **conversion.config})
        made.registered_name = None if conversion.module == "keras.layers" else conversion.class_name
        made.calls = [Call([source])]
        self._layers[name] = made
        self._added.append(made)
        self._note_specs(made, 0, made.calls[0])
        self._notes.add("translated", self._where(layer), conversion.reason)
        return Tensor(name)

    def _tensor(self, leaf: Any) -> Any:
        """Return a tensor for a tensor; one whose values are known, such as `tf.range(4)`, becomes one with these values."""
        found = self._current(leaf)
        if not isinstance(leaf, Tensor) or isinstance(found, Tensor):
            return found
        if leaf in self._made:
            return self._made[leaf]
        layer = self._layers[leaf.layer]
        made = self._constant(layer, found, self._known_dtypes[leaf])
        if made is None:
            return leaf
        self._notes.add("translated", self._where(layer), f"{layer.source or layer.name} is now a constant or a count")
        self._made[leaf] = made
        return made

    def _constant(self, layer: Layer, value: Any, dtype: str) -> Tensor | None:
        """Return a tensor with values that are known; refuse the layer if there is none to make it from."""
        inputs = [one for one in tensors_in(self._model.inputs) if self._spec(one).dtype != "string"]
        builder = Builder(lambda one: self._spec(one).shape, lambda one: self._spec(one).dtype)
        try:
            self._spend([value])
            if not inputs or self._spec(inputs[0]).shape is None:
                raise Untranslatable("its result is a constant, and the model has no input to make it from")
            made_of(builder, value, dtype, inputs[0])
        except Untranslatable as error:
            self._refuse(layer, str(error))
            return None
        return Tensor(self._make(layer.name, builder.steps)[-1].name)

    def _order_summands(self, layer: Layer, call: Call) -> None:
        """Exchange the inputs of a sum if Keras 3 on TensorFlow may take the second one for a bias of another axis."""
        given = call.args[0] if call.args else None
        if layer.class_name not in ("Add", "Average") or not isinstance(given, list):
            return
        shapes = [self._spec(one).shape if isinstance(one, Tensor) else None for one in given]
        rank = max((len(shape) for shape in shapes if shape), default=0)
        aligned = [shape and (*shape[:1], *[1] * (rank - len(shape)), *shape[1:]) for shape in shapes]
        if len(set(aligned)) < 2 or not any(is_read_as_bias(aligned[0], other) for other in aligned[1:]):
            return
        if len(given) == 2 and not is_read_as_bias(aligned[1], aligned[0]):
            call.args[0] = given[::-1]
            text = "its inputs are exchanged: Keras 3 on TensorFlow could add the second one along another axis"
            self._notes.add("rewritten", self._where(layer), text)
            return
        text = "if the sizes of several axes are equal, Keras 3 on TensorFlow adds its inputs along other axes"
        self._notes.add("caution", self._where(layer), text)

    def _make_masks_tensors(self, layer: Layer, call: Call) -> None:
        """Replace the constants among the masks of a call: Keras 3 takes tensors, and ramet follows them."""
        for key in _MASKS & call.kwargs.keys():
            value = call.kwargs[key]
            if isinstance(value, list) and all(isinstance(leaf, bool | int | float) for leaf in leaves(value)):
                made = self._constant(layer, map_leaves(value, bool), "bool")
                call.kwargs[key] = value if made is None else made

    def _current(self, leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        if leaf in self._known:
            return self._known[leaf]
        return self._replaced.get(leaf, leaf)

    def _operation(self, layer: Layer, number: int, call: Call, dtypes: list[str]) -> None:
        try:
            self._spend([call.args, call.kwargs])
            steps = translate_op(
                layer.class_name,
                layer.config,
                call,
                lambda one: self._spec(one).shape,
                lambda one: self._spec(one).dtype,
            )
            made = steps.outputs if isinstance(steps, Known) else [[step.args, step.kwargs] for step in steps]
            self._spend(made)
        except Untranslatable as error:
            is_own = layer.class_name == "Lambda"
            way = f"write the function again and pass it: --function {self._where(layer)}=module:name."
            self._refuse(layer, str(error), *([way] if is_own else []))
            self._specs[Tensor(layer.name, number)] = Spec(None, None)
            return
        if isinstance(steps, Known):
            for index, value in enumerate(steps.outputs):
                self._known[Tensor(layer.name, number, index)] = value
                self._known_dtypes[Tensor(layer.name, number, index)] = known_dtype(steps, dtypes)
            return
        self._add_steps(layer, number, steps)

    def _add_steps(self, layer: Layer, number: int, steps: list[OpCall]) -> None:
        # The first call that is translated keeps the name of the layer.
        own = None if layer.name in self._done else self._layers[layer.name]
        self._done.add(layer.name)
        outputs = self._make(layer.name, steps, own)
        last = outputs[-1]
        if number or last is not own:
            for tensor in list(self._specs):
                if tensor.layer == last.name:
                    self._replaced[Tensor(layer.name, number, tensor.output)] = tensor
        path = self._where(layer)
        names = ", ".join(dict.fromkeys(step.class_name for step in steps))
        self._notes.add("translated", path, f"{layer.source or layer.name} is now {names}")

    def _make(self, base: str, steps: list[OpCall], last: Layer | None = None) -> list[Layer]:
        """Add a layer for each step; the last step may take the place of a layer."""
        outputs: list[Layer] = []
        for index, step in enumerate(steps):
            if last is not None and index == len(steps) - 1:
                made = last
            else:
                made = Layer(self._free_name(f"{base}_{step.class_name.lower()}"), "", None, {})
                self._layers[made.name] = made
                self._added.append(made)

            def resolve(leaf: Any) -> Any:
                if isinstance(leaf, Step):
                    return Tensor(outputs[leaf.index].name, 0, leaf.output)
                if isinstance(leaf, Constant):
                    return leaf.serialized()
                return leaf

            args, kwargs = map_leaves(step.args, resolve), map_leaves(step.kwargs, resolve)
            made.class_name, made.module, made.build_config = step.class_name, step.module, None
            made.registered_name = None if step.module == "keras.layers" else step.class_name
            made.config = {**map_leaves(step.config, resolve), "name": made.name}
            new_call = Call(args, kwargs)
            made.calls = [new_call]
            outputs.append(made)
            self._note_specs(made, 0, new_call)
        return outputs

    def _free_name(self, base: str) -> str:
        base = re.sub(r"[^A-Za-z0-9_.]", "_", base)
        name = base
        while name in self._layers:
            self._numbers[base] = self._numbers.get(base, 1) + 1
            name = f"{base}_{self._numbers[base]}"
        return name

    def _spec(self, tensor: Tensor) -> Spec:
        return self._specs.get(tensor, Spec(None, None))

    def _note_specs(self, layer: Layer, number: int, call: Call) -> None:
        for tensor in call.tensors():
            spec = self._spec(tensor)
            shape = spec.shape and tuple(size if type(size) is int else None for size in spec.shape)
            layer.specs[tensor] = (shape, spec.dtype)
        args = map_leaves(call.args, lambda leaf: self._spec(leaf) if isinstance(leaf, Tensor) else leaf)
        kwargs = map_leaves(call.kwargs, lambda leaf: self._spec(leaf) if isinstance(leaf, Tensor) else leaf)
        found = _specs_of(layer, args, kwargs)
        for index, spec in enumerate(found or [Spec(None, None)]):
            tensor = Tensor(layer.name, number, index)
            # An unknown size is known to be that of this tensor: so it is recognized in other shapes.
            shape = spec.shape and tuple(
                Dim(tensor, axis) if size is None else size for axis, size in enumerate(spec.shape)
            )
            self._specs[tensor] = Spec(shape, spec.dtype)

    def _where(self, layer: Layer) -> str:
        return f"{self._path}/{layer.name}" if self._path else layer.name

    def _refuse(self, layer: Layer, reason: str, fix: str = "replace the operation in the original.") -> None:
        around = [f"{tensor.layer}" for call in layer.calls for tensor in call.tensors()]
        if self._readers is None:
            self._readers = {}
            for one in self._model.layers:
                for tensor in (tensor for call in one.calls for tensor in call.tensors()):
                    self._readers.setdefault(tensor.layer, []).append(one.name)
        after = self._readers.get(layer.name, [])
        where = f" (after {', '.join(dict.fromkeys(around)) or 'nothing'}, before {', '.join(dict.fromkeys(after)) or 'the output'})"
        self._notes.refuse(self._where(layer), f"{reason}{where}", fix)


def _nothing_left(layer: Layer, result: Spec) -> str | None:
    """Return why Keras 3 cannot load a cropping layer, if nothing is left of its input."""
    if not layer.class_name.startswith("Cropping") or result.shape is None:
        return None
    if not any(isinstance(size, int) and size < 1 for size in result.shape[1:]):
        return None
    return "it crops its whole input, which Keras 3 does not allow"


def _specs_of(layer: Layer, args: list[Argument], kwargs: dict[str, Argument]) -> list[Spec] | None:
    """Return the shapes and dtypes of the outputs of a call, also of a nested model."""
    if layer.model is None:
        if not layer.is_of_keras:
            return None
        config = {key: write_layer(value) if isinstance(value, Layer) else value for key, value in layer.config.items()}
        return output_specs(layer.class_name, config, args, kwargs)
    model = layer.model
    given = [leaf for leaf in _flat(Call(args, {})) if isinstance(leaf, Spec)]
    if not model.is_functional:
        specs: list[Spec] | None = given
        for inner in model.layers:
            if inner.class_name != "InputLayer" and specs is not None:
                specs = _specs_of(inner, list(specs), {})
        return specs
    found = dict(zip(tensors_in(model.inputs), given, strict=False))
    by_name = {inner.name: inner for inner in model.layers}

    def spec(leaf: Any) -> Any:
        return found.get(leaf, Spec()) if isinstance(leaf, Tensor) else leaf

    for name, number in _in_order(model):
        inner, call = by_name[name], by_name[name].calls[number]
        if inner.class_name == "InputLayer":
            continue
        made = _specs_of(inner, map_leaves(call.args, spec), map_leaves(call.kwargs, spec))
        for index, one in enumerate(made or [Spec()]):
            found[Tensor(name, number, index)] = one
    return [found.get(tensor, Spec()) for tensor in tensors_in(model.outputs)]


def _flat(call: Call) -> Iterator[Argument]:
    found: list[Any] = []
    map_leaves([call.args, call.kwargs], found.append)
    yield from found


def _in_order(model: Model) -> list[tuple[str, int]]:
    """Return all calls of a functional model in an order that can be run."""
    by_name = {layer.name: layer for layer in model.layers}
    done: dict[tuple[str, int], None] = {}
    for start in [(layer.name, number) for layer in model.layers for number in range(len(layer.calls))]:
        waiting = [(start, False)]
        while waiting:
            key, is_ready = waiting.pop()
            if key in done or (key[0] not in by_name):
                continue
            if is_ready:
                done[key] = None
                continue
            waiting.append((key, True))
            calls = by_name[key[0]].calls
            if key[1] < len(calls):
                waiting += [
                    ((tensor.layer, tensor.call), False)
                    for tensor in calls[key[1]].tensors()
                    if (tensor.layer, tensor.call) != key
                ]
    return [key for key in done if key[1] < len(by_name[key[0]].calls)]
