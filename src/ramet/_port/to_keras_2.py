"""Rewrite a model of Keras 3 for tf_keras 2.15 and later: its config, and how it was compiled.

`keras_2_config` reads the config of a `.keras` file into a draft, translates layers and operations in place, and writes the
draft as tf_keras does. The files are written by `to_keras_2_weights`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from ramet._files import Json
from ramet._port.archive import saved_groups
from ramet._port.draft import Argument, Call, Layer, Model, Tensor, map_leaves, tensors_in
from ramet._port.explicit_masks import make_masks_explicit
from ramet._port.notes import Notes
from ramet._port.reading import read_model, read_specs
from ramet._port.releases import known_versions, release_of
from ramet._port.to_keras_2_compile import keras_2_compile
from ramet._port.to_keras_2_ops import UntranslatableError, is_operation, translate_operation
from ramet._port.to_keras_2_rules import RULES
from ramet._port.to_keras_2_settings import RESIZED_INTEGERS, is_integer, is_keras_layer, translate_settings
from ramet._port.to_keras_2_weights import write_keras_2_archive, write_keras_2_h5
from ramet._port.variables import inner_layers, own_slots
from ramet._port.version_rules import KEEP_INTEGERS
from ramet._port.vocabularies import vocabularies_into_settings
from ramet._port.writing import sort_layers

__all__ = ["keras_2_compile", "keras_2_config", "write_keras_2_archive", "write_keras_2_h5"]

_Config: TypeAlias = dict[str, Any]

_CONSTANT = "_CONSTANT_VALUE"
_STATES = frozenset({"Bidirectional", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "GRU", "LSTM", "RNN", "SimpleRNN"})
# Activations that tf_keras has as an operation only.
_ACTIVATION_OPS = {
    "hard_sigmoid": "HardSigmoid",
    "hard_silu": "HardSilu",
    "hard_swish": "HardSilu",
    "hard_tanh": "HardTanh",
    "log_sigmoid": "LogSigmoid",
    "log_softmax": "LogSoftmax",
    "squareplus": "Squareplus",
    "tanh_shrink": "TanhShrink",
}


def keras_2_config(
    config: dict[str, Json], notes: Notes, members: Mapping[str, Callable[[], bytes]] | None = None
) -> tuple[Model, _Config]:
    """Translate the config of a Keras 3 model for tf_keras.

    Args:
        config: The content of `config.json`.
        notes: Gets what was changed, and reasons to refuse the file.
        members: The other files in the archive, by name, which contain vocabularies.

    Returns:
        The draft of the model in the classes of tf_keras, in which `Layer.arrays` contains the paths of weights in the
        file of Keras 3, and the config in the form of HDF5 files.
    """
    model = read_model(config)
    read_specs(model, config)
    for group, layer in saved_groups(model):
        slots = own_slots(layer) if is_keras_layer(layer) else None
        for slot in slots or ():
            path = "/".join(filter(None, (group, slot.group, "vars", str(slot.number))))
            layer.arrays[slot.group, slot.number] = path
    vocabularies_into_settings(model, members or {}, notes)
    make_masks_explicit(model, notes, source=3)
    _translate_model(model, "", notes)
    return model, write_model(model)


# Translation of the draft.


def _translate_model(model: Model, path: str, notes: Notes) -> None:
    _freeze(model)
    if model.class_name not in ("Functional", "Sequential", "Model"):
        fix = "save it as a functional or Sequential model, or pass its class for tf_keras with --import."
        if not notes.allows(model.class_name):
            notes.refuse(path, f"the model is of a class of its own, {model.class_name!a}", fix)
    replaced: dict[Tensor, Tensor] = {}
    layers: list[Layer] = []
    taken = {layer.name for layer in model.layers}
    for layer in model.layers:
        where = f"{path}/{layer.name}" if path else layer.name
        if is_operation(layer) or _is_activation_op(layer, model):
            layers += _translate_calls(layer, where, taken, replaced, notes)
            continue
        _translate_layer(layer, where, notes)
        layers.append(layer)
    model.layers = layers
    if not model.is_functional:
        _check_sequential(model, path, notes)
        return

    def change(leaf: Any) -> Any:
        return replaced.get(leaf, leaf) if isinstance(leaf, Tensor) else leaf

    for layer in model.layers:
        for call in layer.calls:
            call.args, call.kwargs = map_leaves(call.args, change), map_leaves(call.kwargs, change)
    model.inputs, model.outputs = map_leaves(model.inputs, change), map_leaves(model.outputs, change)
    # HDF5 files are loaded by the order of layers, which must be that in which tf_keras sorts them.
    sort_layers(model)


def _freeze(model: Model) -> None:
    """Freeze the layers of a frozen model: tf_keras does not save whether a Sequential model is trainable."""
    if model.config.get("trainable") is not False:
        return
    waiting = list(model.layers)
    while waiting:
        layer = waiting.pop()
        if layer.model is not None:
            layer.model.config["trainable"] = False
            waiting += layer.model.layers
        elif not is_operation(layer) and layer.class_name != "InputLayer":
            layer.config["trainable"] = False
            waiting += [inner for _, inner in inner_layers(layer)]


def _translate_layer(layer: Layer, path: str, notes: Notes) -> None:
    """Translate a layer, the layers in its settings and its calls."""
    if layer.model is not None:
        _translate_model(layer.model, path, notes)
        layer.calls = [_translate_call(layer, call, path, notes) for call in layer.calls]
        return
    if layer.class_name == "Bidirectional":
        _translate_bidirectional(layer, path)
    for _, inner in inner_layers(layer):
        _translate_layer(inner, f"{path}/{inner.name}", notes)
    translate_settings(layer, path, notes)
    layer.calls = [_translate_call(layer, call, path, notes) for call in layer.calls]


def _translate_bidirectional(layer: Layer, path: str) -> None:
    """Remove the prefixes of the two layers, which tf_keras adds itself, and the second one if it is as usual."""
    forward, backward = layer.config.get("layer"), layer.config.get("backward_layer")
    for inner, prefix in ((forward, "forward_"), (backward, "backward_")):
        if isinstance(inner, Layer):
            inner.name = inner.source = inner.name.removeprefix(prefix)
            inner.config["name"] = inner.name
    if isinstance(forward, Layer) and isinstance(backward, Layer):
        mirrored = {**forward.config, "go_backwards": not forward.config.get("go_backwards")}
        if backward.class_name == forward.class_name and backward.config == mirrored:
            layer.backward = backward
            del layer.config["backward_layer"]


def _translate_call(layer: Layer, call: Call, path: str, notes: Notes) -> Call:
    """Return a call with the first argument by position and all others by name, in the order of their names."""
    if layer.class_name == "InputLayer":
        return call
    named = dict(call.kwargs)
    args = list(call.args)
    names = _argument_names(layer)
    if len(args) > 1:
        if len(args) > len(names):
            notes.refuse(path, "its calls have arguments that are not known", "name them in the original.")
        named |= dict(zip(names[1:], args[1:], strict=False))
    first = args[0] if args else named.pop(names[0] if names else "inputs", None)
    named = {key: named[key] for key in sorted(named) if named[key] is not None}
    # Keras 3 writes the argument into every call and replaces it by that of the model; tf_keras would obey it.
    if named.pop("training", None) is True and not layer.class_name.startswith("Random"):
        notes.add("dropped", path, "training=True of its call: Keras 3 replaces it by that of the model")
    states = named.pop("initial_state", None) if layer.class_name in _STATES else None
    if states is not None:
        # As tf_keras writes it: the states follow the sequences.
        first = [first, *(states if isinstance(states, list) else [states])]
    for key in ("query_mask", "value_mask", "key_mask"):
        if key in named and layer.class_name == "MultiHeadAttention":
            notes.refuse(path, f"MultiHeadAttention of tf_keras has no argument {key}", "use attention_mask instead.")
    return Call([first], named)


def _argument_names(layer: Layer) -> list[str]:
    name = "keras.Model" if layer.model is not None else f"keras.layers.{layer.class_name}"
    if layer.model is not None:
        return ["inputs", "training", "mask"]
    for version in reversed(known_versions()):
        found = release_of(version).find(name)
        if found is not None:
            return found.positional()
    return ["inputs"]


def _is_activation_op(layer: Layer, model: Model) -> bool:
    """Return whether a layer only applies an activation that is an operation in tf_keras."""
    return model.is_functional and layer.class_name == "Activation" and _activation_name(layer) in _ACTIVATION_OPS


def _activation_name(layer: Layer) -> str | None:
    value = layer.config.get("activation")
    name = value.get("config") if isinstance(value, dict) and value.get("class_name") == "function" else value
    return name if isinstance(name, str) else None


def _translate_calls(
    layer: Layer, path: str, taken: set[str], replaced: dict[Tensor, Tensor], notes: Notes
) -> list[Layer]:
    """Return the layers that replace an operation, and store which tensors replace its outputs."""
    operation = layer
    if layer.class_name == "Activation":
        function = str(_activation_name(layer))
        operation = Layer(layer.name, _ACTIVATION_OPS[function], "keras.src.ops.nn", {}, specs=layer.specs)
        notes.add("translated", path, f"activation='{function}' is now made of operations of TensorFlow")
    made: list[Layer] = []
    for number, call in enumerate(layer.calls):
        try:
            rule = RULES.get(operation.class_name)
            names = itertools.chain([layer.name] if number == 0 else (), _free_names(layer.name, taken))
            layers, outputs = translate_operation(operation, call, rule, names)
        except UntranslatableError as error:
            reason = f"{operation.class_name}: {error}"
            notes.refuse(path, reason, "replace the operation in the original, or keep the file for Keras 3.")
            return [layer]
        made += layers
        replaced |= {Tensor(layer.name, number, output): tensor for output, tensor in enumerate(outputs)}
    return made


def _free_names(name: str, taken: set[str]) -> Iterator[str]:
    for number in itertools.count(1):
        candidate = f"{name}_step_{number}"
        if candidate not in taken:
            taken.add(candidate)
            yield candidate


def _check_sequential(model: Model, path: str, notes: Notes) -> None:
    for layer in model.layers:
        if is_operation(layer):
            where = f"{path}/{layer.name}" if path else layer.name
            notes.refuse(where, "a Sequential model of tf_keras has no operations", "use a functional model.")
    given = model.layers[0].config.get("dtype") if model.layers else None
    if is_integer(given):
        kept = itertools.takewhile(lambda layer: layer.class_name in KEEP_INTEGERS, model.layers)
        for layer in (layer for layer in kept if layer.class_name == "Resizing"):
            notes.refuse(f"{path}/{layer.name}" if path else layer.name, *RESIZED_INTEGERS)


# Writing the draft as tf_keras does.


def write_model(model: Model) -> _Config:
    """Return a model as tf_keras writes it to HDF5 files."""
    config: _Config = {"name": model.name}
    if not model.is_functional:
        config["layers"] = [write_layer(layer) for layer in model.layers]
        if model.build_input_shape is not None and not _has_input(model):
            config["build_input_shape"] = model.build_input_shape
        return {"class_name": "Sequential", "config": config}
    config["trainable"] = model.config.get("trainable", True)
    nested = {layer.name for layer in model.layers if layer.model is not None}
    config["layers"] = [
        {**write_layer(layer), "name": layer.name, "inbound_nodes": _write_calls(layer, nested)}
        for layer in model.layers
    ]
    config["input_layers"] = _write_ends(model.inputs, nested)
    config["output_layers"] = _write_ends(model.outputs, nested)
    class_name = model.class_name if model.class_name != "Model" else "Functional"
    class_name = _registered(class_name, model.registered_name)
    return {"class_name": class_name, "config": config}


def _has_input(model: Model) -> bool:
    return any(layer.class_name == "InputLayer" for layer in model.layers)


def write_layer(layer: Layer) -> _Config:
    """Return a layer or model as tf_keras writes it to HDF5 files, without calls."""
    if layer.model is not None:
        return write_model(layer.model)
    class_name = _registered(layer.class_name, layer.registered_name)
    return {"class_name": class_name, "config": {key: _write_setting(item) for key, item in layer.config.items()}}


def _registered(class_name: str, registered_name: str | None) -> str:
    """Return the name of a class as HDF5 files have it: `my_package>MyLayer` for one of the user."""
    return registered_name if registered_name is not None and ">" in registered_name else class_name


def _write_setting(value: Any) -> Any:
    if isinstance(value, Layer):
        return write_layer(value)
    if isinstance(value, list):
        return [_write_setting(item) for item in value]
    return value


def _write_calls(layer: Layer, nested: set[str]) -> list[Any]:
    if layer.class_name == "InputLayer":
        return []
    is_op = layer.class_name in ("SlicingOpLambda", "TFOpLambda")
    return [_write_call(call, nested, is_op=is_op) for call in layer.calls]


def _write_call(call: Call, nested: set[str], *, is_op: bool) -> Any:
    """Return a call: each tensor of the first argument has all other arguments as its fourth element."""
    named = {key: _write_argument(value, nested) for key, value in call.kwargs.items()}

    def write(value: Argument) -> Any:
        if isinstance(value, list | tuple) and (not value or any(True for _ in tensors_in(value))):
            return [write(item) for item in value]
        if isinstance(value, dict):
            return {key: write(item) for key, item in value.items()}
        if isinstance(value, Tensor):
            return [*_history(value, nested), named]
        return [_CONSTANT, -1, value, named]

    first = call.args[0] if call.args else None
    written = write(first)
    return written if is_op or isinstance(first, list | dict) else [written]


def _history(tensor: Tensor, nested: set[str]) -> list[Any]:
    # Calls of nested models are counted from 1: the first one was made when the model itself was created.
    return [tensor.layer, tensor.call + (tensor.layer in nested), tensor.output]


def _write_argument(value: Argument, nested: set[str]) -> Any:
    if isinstance(value, Tensor):
        return _history(value, nested)
    if isinstance(value, list | tuple):
        return [_write_argument(item, nested) for item in value]
    if isinstance(value, dict):
        return {key: _write_argument(item, nested) for key, item in value.items()}
    return value


def _write_ends(ends: Argument, nested: set[str]) -> Any:
    written = _write_argument(ends, nested)
    return [written] if isinstance(ends, Tensor) else written
