"""From a draft of a Keras 1 or 2 model to one of Keras 3: settings, operations, inputs and names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ramet._port.draft import OPERATION_CLASSES, Argument, Call, Layer, Model, tensors_in
from ramet._port.keras_2_calls import convert_between_layers, translate_calls
from ramet._port.masks import RECURRENT, Follower
from ramet._port.notes import Notes
from ramet._port.placement import scaled_gates
from ramet._port.reading import rename_tensors
from ramet._port.settings import is_hard_sigmoid, made_of_layers, modernize, policy_name, translate_settings
from ramet._port.tf_ops import Constant, Untranslatable
from ramet._port.variables import inner_layers, walk_layers

# Elements of all constants that operations take or make. Files with more were made to exhaust memory or time.
_MOST_ELEMENTS = 2**22
_OF_OPERATION = re.compile(r"concatenate(_\d+)?")
# Layers that do the same in training and in inference; others are assumed to differ.
_SAME_IN_TRAINING = frozenset({"Activation", "Conv1D", "Conv2D", "Conv3D", "Dense", "Embedding", "LayerNormalization"})
# Layers of Keras 2 that pass their inputs on and add them to the losses or metrics of the model.
_ADDING = frozenset({"AddLoss", "AddMetric"})


def modernize_model(model: Model, notes: Notes, *, is_keras_1: bool) -> None:
    """Give all layers the classes and settings of the last version of Keras 2, in place."""
    for path, layer in walk_layers(model):
        if layer.model is None:
            modernize(layer, path, notes, is_keras_1=is_keras_1)


def translate_model(model: Model, notes: Notes) -> None:
    """Translate a model from Keras 2 to Keras 3 in place, after `modernize_model` and after its weights were placed."""
    _Translation(notes).model(model, "", is_root=True)


def serialized_function(name: str) -> dict[str, str]:
    """Return a function by its registered name, as Keras 3 serializes it."""
    return {"module": "builtins", "class_name": "function", "config": name, "registered_name": "function"}


def express_hard_sigmoid(model: Model, target: str, notes: Notes) -> None:
    """Express the hard sigmoid of Keras 2 for releases before 3.10, in which an activation cannot be made of layers.

    For the gates of a recurrent layer, the one of Keras 3 does the same if all weights of the gate are 1.2 times as large.
    """
    for path, layer in walk_layers(model):
        for key in ("activation", "recurrent_activation"):
            if not is_hard_sigmoid(layer.config.get(key)):
                continue
            if key == "activation":
                reason = f"the hard sigmoid of Keras 2 cannot be expressed in Keras {target}"
                notes.refuse(path, reason, "port the file to Keras 3.10 or newer.")
                continue
            layer.config[key] = "hard_sigmoid"
            for place, values in layer.arrays.items():
                layer.arrays[place] = scaled_gates(values, layer.class_name)
            notes.remove("translated", path, made_of_layers(key))
            text = "weights of its gates times 1.2, for the hard sigmoid of Keras 3; training from here differs"
            notes.add("translated", path, text)


def _count_elements(values: Any) -> int:
    """Return the number of elements of nested lists, tuples, dicts and constants; of an empty one, too, as it takes space."""
    found, waiting = 0, [values]
    while waiting:
        one = waiting.pop()
        items: Sequence[Any] = (
            (one.value,) if isinstance(one, Constant) else [*one.values()] if isinstance(one, dict) else one
        )
        found += max(len(items), 1)
        waiting += [item for item in items if isinstance(item, list | tuple | dict | Constant)]
    return found


class _Translation:
    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._spent = 0

    def _spend(self, values: Any) -> None:
        """Count the elements that one more operation takes or makes, and refuse it if all of them are too many."""
        self._spent += _count_elements(values)
        if self._spent > _MOST_ELEMENTS:
            raise Untranslatable("the operations of the model compute with too many constants")

    def model(self, model: Model, path: str, *, is_root: bool = False) -> None:
        """Translate a model and everything in it."""
        if model.is_functional:
            self._drop_losses(model, path)
            self._express_called_inputs(model, path)
        self._rename(model, path)
        model.config = {key: value for key, value in model.config.items() if key in ("trainable", "dtype")}
        if "dtype" in model.config:
            model.config["dtype"] = policy_name(model.config["dtype"], "float32")
        if not model.is_functional:
            self._add_input(model, is_root=is_root)
        _complete_inputs(model)
        for layer in model.layers:
            self.layer(layer, f"{path}/{layer.name}" if path else layer.name)
        if model.is_functional:
            translate_calls(model, path, self._notes, self._spend)
        else:
            convert_between_layers(model, path, self._notes)

    def _drop_losses(self, model: Model, path: str) -> None:
        """Remove what only the losses and metrics need that the model adds by itself."""
        by_name = {layer.name: layer for layer in model.layers}
        adding = [layer for layer in model.layers if layer.class_name in _ADDING]
        if not adding:
            return
        reached = {tensor.layer for tensor in tensors_in(model.outputs)}
        waiting = list(reached)
        while waiting:
            for call in by_name[waiting.pop()].calls:
                new = {tensor.layer for tensor in call.tensors()} - reached
                reached |= new
                waiting += new
        for layer in adding:
            where = f"{path}/{layer.name}" if path else layer.name
            what = "loss" if layer.class_name == "AddLoss" else "metric"
            self._notes.add(
                "left out", where, f"the {what} that the model adds by itself; compile it again before training"
            )
            layer.class_name, layer.config = "Identity", {"name": layer.name}
        self._notes.trains_alike = False
        model.layers = [layer for layer in model.layers if layer.name in reached or layer.class_name == "InputLayer"]

    def _express_called_inputs(self, model: Model, path: str) -> None:
        """Replace input layers that are called on a tensor, as in `for layer in other.layers: x = layer(x)`.

        They return the tensor and its mask. Keras 3 cannot call them, and Keras 2 does not load the files it writes.
        """
        for layer in model.layers:
            if layer.class_name == "InputLayer" and any(call.args for call in layer.calls):
                where = f"{path}/{layer.name}" if path else layer.name
                why = "the input layer of another model, which returns its input, is now Activation('linear')"
                self._notes.add("translated", where, why)
                dtype = layer.config.get("dtype")
                dtype = dtype if isinstance(dtype, str) and dtype.startswith(("float", "bfloat")) else "float32"
                layer.class_name = "Activation"
                layer.config = {"name": layer.name, "trainable": True, "dtype": dtype, "activation": "linear"}

    def layer(self, layer: Layer, path: str) -> None:
        """Translate a layer and the layers inside it."""
        if layer.model is not None:
            self.model(layer.model, path)
            layer.class_name, layer.module, layer.registered_name = self._model_class(layer)
            layer.model.name = layer.name
            self._clean_calls(layer, path)
            return
        for _, inner in inner_layers(layer):
            self.layer(inner, f"{path}/{inner.name}")
        if layer.class_name in OPERATION_CLASSES:
            return
        if layer.class_name == "Lambda":
            self._lambda(layer, path)
            return
        translate_settings(layer, path, self._notes)
        self._clean_calls(layer, path)

    def _clean_calls(self, layer: Layer, path: str) -> None:
        for call in layer.calls:
            # None is what Keras passes anyway, and some arguments have another name in Keras 3.
            call.kwargs = {key: value for key, value in call.kwargs.items() if not _is_none(value)}
            if layer.class_name in RECURRENT | {"Bidirectional"}:
                self._split_states(layer, call, path)
            self._check_training(layer, call, path)

    def _check_training(self, layer: Layer, call: Call, path: str) -> None:
        """Handle `training=` in a call, which Keras 2 obeys and Keras 3 replaces by the mode in which the model runs."""
        mode = call.kwargs.pop("training", None)
        if layer.class_name in _SAME_IN_TRAINING or not isinstance(mode, bool | int):
            return
        if mode:
            reason = "it is called with training=True, which Keras 3 ignores when the model predicts"
            self._notes.refuse(
                path, reason, "write a layer of your own that calls it in training mode, and pass --import."
            )
        else:
            text = "training=False in its call: the same when the model predicts; in fit(), Keras 3 trains it, unless frozen"
            self._notes.add("left out", path, text)

    def _split_states(self, layer: Layer, call: Call, path: str) -> None:
        """Pass the states of a recurrent layer by name: Keras 2 writes them behind the inputs, in one list."""
        inputs = call.args[0] if call.args else None
        if not isinstance(inputs, list) or len(inputs) < 2:
            return
        states = inputs[1:]
        constants = layer.config.get("num_constants")
        if constants:
            reason = "it is called with constants for its cell, which Keras 3 does not have"
            self._notes.refuse(path, reason, "give the cell its constants in the original, as weights or inputs.")
        call.args = [inputs[0]]
        call.kwargs["initial_state"] = states

    @staticmethod
    def _model_class(layer: Layer) -> tuple[str, str | None, str | None]:
        if layer.class_name in ("Functional", "Sequential"):
            return layer.class_name, None, None
        return layer.class_name, layer.module, layer.registered_name

    def _lambda(self, layer: Layer, path: str) -> None:
        function = self._notes.function_for(path)
        if function is not None:
            layer.module, layer.registered_name = "keras.layers", None
            layer.config = {
                "name": layer.name,
                "trainable": layer.config.get("trainable", True),
                "dtype": policy_name(layer.config.get("dtype"), "float32"),
                "function": serialized_function(function),
                "arguments": layer.config.get("arguments") or {},
            }
            return
        kind = layer.config.get("function_type")
        name = layer.config.get("function")
        if isinstance(name, dict) and name.get("class_name") == "function":
            name = name.get("config")
            kind = "function"
        if kind == "function" and isinstance(name, str):
            layer.config["function_type"], layer.config["function"] = "function", name
            return  # translated as an operation, if it is a known one
        self._notes.refuse(
            path,
            "its function is Python code in the file, which is not run or translated",
            f"write the function again and pass it: --function {path}=module:name.",
        )

    def _rename(self, model: Model, path: str) -> None:
        """Replace `/` in the names of layers, which Keras 3 does not allow."""
        if "/" in model.name and not path:
            self._notes.add("renamed", "", f"was {model.name!a}; Keras 3 does not allow '/' in names")
            model.name = model.name.replace("/", "_")
        taken = {layer.name for layer in model.layers}
        names: dict[str, str] = {}
        numbers: dict[str, int] = {}
        masked = _masked_layers(model) if model.is_functional else frozenset()
        # Keras 3 counts the operations on masks in all models of a process, so that any number may be taken.
        joins_masks = any(layer.name in masked and layer.class_name == "Concatenate" for layer in model.layers)
        for layer in model.layers:
            is_taken = joins_masks and _OF_OPERATION.fullmatch(layer.name)
            if "/" not in layer.name and not is_taken:
                continue
            name = base = f"{layer.name}_layer" if is_taken else layer.name.replace("/", "_")
            while name in taken:
                numbers[base] = numbers.get(base, 1) + 1
                name = f"{base}_{numbers[base]}"
            taken.add(name)
            names[layer.name] = name
            if path == "":
                self._notes.renamed[layer.name] = name
            why = (
                "Keras 3 gives this name to an operation on its masks"
                if is_taken
                else "Keras 3 does not allow '/' in names"
            )
            self._notes.add("renamed", f"{path}/{name}" if path else name, f"was {layer.name!a}; {why}")
        for layer in model.layers:
            if names:
                for call in layer.calls:
                    call.args = rename_tensors(call.args, names)
                    call.kwargs = rename_tensors(call.kwargs, names)
            layer.name = layer.config["name"] = names.get(layer.name, layer.name)
        if names and model.is_functional:
            model.inputs, model.outputs = rename_tensors(model.inputs, names), rename_tensors(model.outputs, names)

    def _add_input(self, model: Model, *, is_root: bool) -> None:
        """Give a Sequential model an input layer, if its first layer has the shape of the inputs."""
        if not model.layers or model.layers[0].class_name == "InputLayer":
            return
        first: Layer = model.layers[0]
        found = _input_of(first)
        if found is None and isinstance(model.build_input_shape, list) and is_root:
            found = ([None, *model.build_input_shape[1:]], "float32")
        if found is None:
            if is_root:
                reason = "the Sequential model was made without an input shape, and the file does not contain any"
                fix = "in Keras 2, put an Input(shape=...) before its layers, and save it again."
                self._notes.refuse("", reason, fix)
            return
        shape, dtype = found
        name = f"{first.name}_input"
        config = {"name": name, "batch_shape": shape, "dtype": dtype, "sparse": False}
        model.layers.insert(0, Layer(name, "InputLayer", "keras.layers", config, [Call([])]))


def _masked_layers(model: Model) -> frozenset[str]:
    """Return the names of the layers of a functional model whose outputs have a mask."""
    follower = Follower(model, 2)
    follower.follow([None for _ in tensors_in(model.inputs)])
    return frozenset(tensor.layer for tensor, mask in follower.masks.items() if mask is not None)


def _input_of(layer: Layer) -> tuple[Any, str] | None:
    """Return the shape and dtype of the inputs that a first layer contains."""
    while True:
        shape = layer.config.get("batch_input_shape")
        if layer.class_name == "InputLayer":
            shape = shape or layer.config.get("batch_shape")
        if isinstance(shape, list):
            dtype = policy_name(layer.config.get("dtype"), "float32")
            return shape, "float32" if dtype.startswith("mixed_") else dtype
        if layer.model is None or not layer.model.layers:
            inside = [inner for _, inner in inner_layers(layer)]
            if layer.config.get("input_dim") and layer.class_name == "Dense":
                return [None, layer.config["input_dim"]], "float32"
            if not inside or layer.class_name == "TimeDistributed":
                return None
            layer = inside[0]
            continue
        inner = layer.model
        if inner.is_functional:
            first = next(tensors_in(inner.inputs), None)
            layer = next(
                (one for one in inner.layers if first is not None and one.name == first.layer), inner.layers[0]
            )
        else:
            layer = inner.layers[0]


def _complete_inputs(model: Model) -> None:
    """Give inputs the sizes that a Normalization after them has statistics for: Keras 3 must know these sizes."""
    by_name = {layer.name: layer for layer in model.layers if layer.class_name == "InputLayer"}
    for number, layer in enumerate(model.layers):
        if layer.class_name != "Normalization" or ("", 0) not in layer.arrays:
            continue
        if model.is_functional:
            reads = [
                by_name[tensor.layer] for call in layer.calls for tensor in call.tensors() if tensor.layer in by_name
            ]
        else:
            reads = [one for one in model.layers[max(number - 1, 0) : number] if one.class_name == "InputLayer"]
        axes = layer.config.get("axis", -1)
        sizes = layer.arrays["", 0].shape
        for one in reads:
            shape = one.config.get("batch_shape", one.config.get("batch_input_shape"))
            kept = [axes] if type(axes) is int else axes if isinstance(axes, list) else []
            if (
                isinstance(shape, list)
                and len(kept) == len(sizes)
                and all(-len(shape) <= axis < len(shape) for axis in kept)
            ):
                for axis, size in zip(kept, sizes, strict=True):
                    shape[axis] = size if shape[axis] is None else shape[axis]


def _is_none(value: Argument) -> bool:
    return value is None or (isinstance(value, list) and bool(value) and all(item is None for item in value))
