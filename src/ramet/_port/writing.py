"""Write a draft as the config of a Keras 3 model.

The layers are sorted as Keras 3 sorts them when it creates the model: the weights file names their groups by class and
position, so another order would give the weights of one layer to another.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from ramet._port.draft import Argument, Call, Layer, Model, Tensor, tensors_in

_CallKey: TypeAlias = tuple[str, int]


def write_layer(layer: Layer) -> dict[str, Any]:
    """Return a layer or model as Keras 3 serializes it, without calls."""
    if layer.model is not None:
        return write_model(layer.model, layer)
    config = {key: _setting(value) for key, value in layer.config.items()}
    written = {
        "module": layer.module,
        "class_name": layer.class_name,
        "config": config,
        "registered_name": layer.registered_name,
    }
    if layer.build_config is not None:
        written["build_config"] = layer.build_config
    return written


def _setting(value: Any) -> Any:
    if isinstance(value, Layer):
        return write_layer(value)
    if isinstance(value, list):
        return [_setting(item) for item in value]
    return value


def write_model(model: Model, layer: Layer | None = None) -> dict[str, Any]:
    """Return a model as Keras 3 serializes it; `layer` is the draft of the layer that it is inside another model."""
    config: dict[str, Any] = {"name": model.name, **model.config}
    if not model.is_functional:
        config["layers"] = [write_layer(inner) for inner in model.layers]
        head = {"module": "keras", "class_name": "Sequential", "registered_name": None}
    else:
        sort_layers(model)
        config["layers"] = [_called_layer(inner) for inner in model.layers]
        config["input_layers"] = _ends(model, model.inputs)
        config["output_layers"] = _ends(model, model.outputs)
        head = {
            "module": "keras.src.models.functional",
            "class_name": "Functional",
            "registered_name": "Functional",
        }
    if layer is not None and layer.class_name not in ("Functional", "Sequential"):
        head = {"module": layer.module, "class_name": layer.class_name, "registered_name": layer.registered_name}
    return {**head, "config": config}


def _called_layer(layer: Layer) -> dict[str, Any]:
    calls = [] if layer.class_name == "InputLayer" else [_write_call(layer, call) for call in layer.calls]
    return {**write_layer(layer), "name": layer.name, "inbound_nodes": calls}


def _write_call(layer: Layer, call: Call) -> dict[str, Any]:
    specs = layer.specs or {}
    return {
        "args": [_argument(value, specs) for value in call.args],
        "kwargs": {key: _argument(value, specs) for key, value in call.kwargs.items()},
    }


def _argument(value: Argument, specs: dict[Tensor, Any]) -> Any:
    if isinstance(value, Tensor):
        shape, dtype = specs.get(value, (None, None))
        config = {
            # Keras creates a placeholder of this shape and then takes the tensor that the history names.
            "shape": list(shape) if shape is not None else [None],
            "dtype": dtype or "float32",
            "keras_history": [value.layer, value.call, value.output],
        }
        return {"class_name": "__keras_tensor__", "config": config}
    if isinstance(value, slice):
        parts = {key: _argument(getattr(value, key), specs) for key in ("start", "stop", "step")}
        return {"class_name": "__slice__", "config": parts}
    if value is ...:
        return {"class_name": "__ellipsis__", "config": {}}
    if isinstance(value, list | tuple):
        return [_argument(item, specs) for item in value]
    if isinstance(value, dict):
        return {key: _argument(item, specs) for key, item in value.items()}
    return value


def _ends(model: Model, structure: Argument) -> Any:
    """Return inputs or outputs; among these, Keras 3 counts the calls of nested functional models from 1."""
    nested = {layer.name for layer in model.layers if layer.model is not None and layer.model.is_functional}

    def write(value: Argument) -> Any:
        if isinstance(value, Tensor):
            return [value.layer, value.call + (value.layer in nested), value.output]
        if isinstance(value, list | tuple):
            return [write(item) for item in value]
        return {key: write(item) for key, item in value.items()}

    return write(structure)


def sort_layers(model: Model) -> None:
    """Sort the layers of a functional model as Keras 3 does, without those that no output depends on."""
    _, layer_depths, first_seen = _depths(model)
    for tensor in tensors_in(model.inputs):
        if tensor.layer not in layer_depths:
            layer_depths[tensor.layer] = 0
            first_seen[tensor.layer] = -1
    used = sorted(layer_depths, key=lambda name: (-layer_depths[name], first_seen[name]))
    by_name = {layer.name: layer for layer in model.layers}
    model.layers = [by_name[name] for name in used]


def calls_in_run_order(model: Model) -> list[_CallKey]:
    """Return the calls of a functional model in the order in which Keras makes them when it runs the model."""
    depths, _, _ = _depths(model)
    # Sorting keeps calls of the same depth in the order in which they were found, as Keras does.
    return sorted(depths, key=lambda key: -depths[key])


def _depths(model: Model) -> tuple[dict[_CallKey, int], dict[str, int], dict[str, int]]:
    """Return how many calls depend on each call, one after the other; the same for layers; and when each was first seen."""
    by_name = {layer.name: layer for layer in model.layers}
    order, first_seen = _calls_in_order(model, by_name)
    depths: dict[_CallKey, int] = {}
    layer_depths: dict[str, int] = {}
    known = set(order)
    for key in reversed(order):
        depth = max(depths.get(key, 0), layer_depths.get(key[0], 0))
        layer_depths[key[0]] = depths[key] = depth
        for tensor in by_name[key[0]].calls[key[1]].tensors():
            before = (tensor.layer, tensor.call)
            if before in known:
                depths[before] = max(depth + 1, depths.get(before, 0))
    return depths, layer_depths, first_seen


def _calls_in_order(model: Model, by_name: dict[str, Layer]) -> tuple[list[_CallKey], dict[str, int]]:
    """Return all calls in the order of a depth-first search from the outputs, and when each layer was first seen."""
    order: list[_CallKey] = []
    first_seen: dict[str, int] = {}
    finished: set[_CallKey] = set()
    for output in tensors_in(model.outputs):
        waiting: list[tuple[_CallKey, bool]] = [((output.layer, output.call), False)]
        while waiting:
            key, is_done = waiting.pop()
            if is_done:
                if key not in finished:
                    finished.add(key)
                    order.append(key)
                continue
            if key in finished:
                continue
            first_seen.setdefault(key[0], len(first_seen))
            waiting.append((key, True))
            inputs = list(by_name[key[0]].calls[key[1]].tensors())
            waiting.extend(((tensor.layer, tensor.call), False) for tensor in reversed(inputs))
    return order, first_seen
