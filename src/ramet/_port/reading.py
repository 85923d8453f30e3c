"""Read the config of a model into a draft: of Keras 1 and 2, and of Keras 3."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any

from ramet._files import Json, is_history, items_of, misfit, walk_json
from ramet._port.draft import OPERATION_CLASSES, Argument, Call, Layer, Model, Tensor, map_leaves, tensors_in
from ramet._port.variables import walk_layers
from ramet.errors import ModelFileError, OutOfBudgetError, PortError

_MODELS = frozenset({"Functional", "Model", "Sequential"})
_CONSTANT = "_CONSTANT_VALUE"
_TENSOR = "__keras_tensor__"
# Levels of nested lists and objects in a config. Models nested ten levels deep need 50; the port recurses into them.
_DEPTH = 120
# Layers of a cycle that a message names.
_SHOWN = 5
# Calls of layers, with all calls inside a nested model again for each call of it. A small file can describe any number.
_CALLS = 200_000
# Characters in the paths of all layers, which nested models with long names multiply.
_PATHS = 32 * 2**20


def read_model(raw: Json, position: str = "config") -> Model:
    """Return the draft of a serialized functional or Sequential model.

    Raises:
        ModelFileError: The config is not that of a model, or not consistent.
    """
    check_depth(raw, position)
    layer = read_layer(raw, position)
    if layer.model is None:
        raise PortError(
            f"Cannot port the model: its class {layer.class_name!a} is your own, and creates its layers in code.",
            expected="a functional or Sequential model",
            fix="load it with the version of Keras that wrote it, and load its weights into the class for Keras 3.",
        )
    _check_size(layer.model)
    return layer.model


def check_depth(raw: Json, position: str = "config") -> None:
    """Refuse a config that is nested deeper than the port can follow."""
    level = [raw]
    for _ in range(_DEPTH):
        level = [item for value in level for item in items_of(value) or ()]
        if not level:
            return
    raise OutOfBudgetError(
        f"Cannot port the model: its config has more than {_DEPTH} levels of nested lists and objects.",
        fix="treat the file as broken or hostile.",
        path=position,
    )


def _check_size(model: Model) -> None:
    """Refuse a model with more calls, or longer paths of layers, than a file of its size can mean."""

    def number_of_calls(inner: Model) -> int:
        # A layer of a Sequential model has no calls of its own; it is called once.
        return sum(
            max(len(layer.calls), 1) * (1 if layer.model is None else number_of_calls(layer.model))
            for layer in inner.layers
        )

    if number_of_calls(model) > _CALLS:
        raise OutOfBudgetError(
            f"Cannot port the model: with all calls of its nested models, it has more than {_CALLS:,} calls of layers.",
            fix="treat the file as broken or hostile.",
        )
    waiting, length = [(model, 0)], 0
    while waiting:
        inner, prefix = waiting.pop()
        length += sum(prefix + len(layer.name) for layer in inner.layers)
        waiting += [(layer.model, prefix + len(layer.name)) for layer in inner.layers if layer.model is not None]
        if length > _PATHS:
            raise OutOfBudgetError(
                f"Cannot port the model: the paths of its layers have more than {_PATHS:,} characters.",
                fix="treat the file as broken or hostile.",
            )


def read_layer(raw: Json, position: str) -> Layer:
    """Return the draft of a serialized layer or model, without its calls."""
    if not isinstance(raw, dict) or not isinstance(raw.get("class_name"), str):
        raise misfit("a layer", raw, position)
    class_name: str = raw["class_name"]
    config = raw.get("config")
    if isinstance(config, list) and class_name == "Sequential":
        config = {"layers": config}  # Keras 1 and early Keras 2
    if not isinstance(config, dict):
        raise misfit("the settings of a layer", config, f"{position}.config")
    name = raw.get("name", config.get("name"))
    if name is not None and not isinstance(name, str):
        raise misfit("a name", name, f"{position}.name")
    layer = Layer(name or "", class_name, _text(raw.get("module")), dict(config), source=name or "")
    layer.registered_name = _text(raw.get("registered_name"))
    layer.build_config = raw.get("build_config")
    if isinstance(config.get("layers"), list) and (class_name in _MODELS or "input_layers" in config):
        layer.model = _read_inner(layer, f"{position}.config")
    elif class_name in _MODELS:
        raise misfit("a list of layers", config.get("layers"), f"{position}.config.layers")
    else:
        for key, value in config.items():
            layer.config[key] = _read_inner_layers(key, value, f"{position}.config.{key}")
        if class_name == "Bidirectional" and not isinstance(layer.config.get("backward_layer"), Layer):
            layer.backward = _copy_of_forward(layer.config.get("layer"), position)
    return layer


def _copy_of_forward(forward: Any, position: str) -> Layer | None:
    """Return the second layer of a Bidirectional. One inside another would double the number of layers at each level."""
    if not isinstance(forward, Layer):
        return None
    if any(inner.class_name == "Bidirectional" for _, inner in walk_layers(Model("", "Sequential", [forward]))):
        raise ModelFileError("Cannot read the model: a Bidirectional layer is inside another one.", path=position)
    return copy.deepcopy(forward)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _read_inner_layers(key: str, value: Json, position: str) -> Any:
    """Replace layers in a setting by drafts: the layer of a wrapper, the cells of an RNN."""
    if key in ("layer", "backward_layer", "cell") and isinstance(value, dict) and "class_name" in value:
        return read_layer(value, position)
    if key == "cells" and isinstance(value, list):
        return [read_layer(item, f"{position}[{number}]") for number, item in enumerate(value)]
    return value


def _read_inner(layer: Layer, position: str) -> Model:
    config = dict(layer.config)
    raw_layers = config.pop("layers")
    layers = [read_layer(raw, f"{position}.layers[{number}]") for number, raw in enumerate(raw_layers)]
    for inner, raw in zip(layers, raw_layers, strict=True):
        settings = raw.get("config")
        own = _text(settings.get("name")) if isinstance(settings, dict) else None
        inner.source = inner.name = inner.name or own or ""
    ins, outs = config.pop("input_layers", None), config.pop("output_layers", None)
    model = Model(layer.name, layer.class_name, layers, config=config, registered_name=layer.registered_name)
    model.build_input_shape = config.pop("build_input_shape", None)
    if layer.class_name == "Sequential" and ins is None:
        names = Counter(inner.name for inner in layers if inner.name)
        twice = next((name for name, times in names.items() if times > 1), None)
        if twice is not None:
            raise ModelFileError(f"Cannot read the model: two layers are called {twice!a}.", path=position)
        return model
    if layer.class_name == "Model":
        model.class_name = layer.class_name = "Functional"
    graph = _Graph(layers, raw_layers, (ins, outs), position)
    model.inputs = graph.structure(ins, f"{position}.input_layers")
    model.outputs = graph.structure(outs, f"{position}.output_layers")
    graph.check([model.inputs, model.outputs])
    return model


class _Graph:
    """The calls of one functional model, with all calls numbered from 0."""

    def __init__(self, layers: list[Layer], raw: list[Json], ends: tuple[Json, Json], position: str) -> None:
        self._by_name: dict[str, Layer] = {}
        self._position = position
        nodes: dict[str, list[Json]] = {}
        for layer, fields in zip(layers, raw, strict=True):
            if layer.name in self._by_name:
                raise ModelFileError(f"Cannot read the model: two layers are called {layer.name!a}.", path=position)
            self._by_name[layer.name] = layer
            found = fields.get("inbound_nodes", [])
            if not isinstance(found, list):
                raise misfit("a list of calls", found, f"{position}.layers")
            nodes[layer.name] = found
        self._is_keras_3 = any(isinstance(node, dict) and "args" in node for found in nodes.values() for node in found)
        self._first = self._find_first_numbers(nodes, ends)
        ends_in = {item[0] for item in walk_json(ends[0]) if is_history(item)}
        for name, layer in self._by_name.items():
            # Keras 2 can call an input layer of another model on a tensor; it is no input of this model then.
            if layer.class_name == "InputLayer" and (name in ends_in or not nodes[name] or self._is_keras_3):
                layer.calls = [Call([])]
            else:
                layer.calls = [self._call(layer, node) for node in nodes[name]]

    def structure(self, raw: Json, position: str) -> Argument:
        """Return the inputs or outputs of the model."""
        found = self._structure(raw)

        def check(leaf: Any) -> Any:
            if not isinstance(leaf, Tensor):
                raise misfit("a list of tensors", leaf, position)
            return leaf

        map_leaves(found, check)
        if next(tensors_in(found), None) is None:
            raise misfit("a list of tensors", raw, position)
        return found

    def check(self, ends: Argument) -> None:
        """Check that all tensors are outputs of calls that exist, and that no call depends on itself."""
        for tensor in (*tensors_in(ends), *(one for layer in self._by_name.values() for one in _tensors_of(layer))):
            if tensor.call >= len(self._by_name[tensor.layer].calls):
                reason = f"the layer {tensor.layer!a} is used after call {tensor.call}, but has fewer calls"
                raise ModelFileError(f"Cannot read the model: {reason}.", path=self._position)
        before = {
            (name, number): {(tensor.layer, tensor.call) for tensor in call.tensors()}
            for name, layer in self._by_name.items()
            for number, call in enumerate(layer.calls)
        }
        try:
            TopologicalSorter(before).prepare()
        except CycleError as error:
            names = " -> ".join(ascii(name) for name, _ in list(reversed(error.args[1]))[:_SHOWN])
            raise ModelFileError(
                f"Cannot read the model: its layers form a cycle, {names}.", path=self._position
            ) from None

    def _structure(self, raw: Json) -> Argument:
        if self._is_keras_3 or is_history(raw):
            return self._map(raw, among_ends=True)
        found = self._map(raw, among_ends=True)
        # Keras 2 always writes a list.
        return found[0] if isinstance(found, list) and len(found) == 1 else found

    def _find_first_numbers(self, nodes: dict[str, list[Json]], ends: tuple[Json, Json]) -> dict[str, int]:
        """Return the number of the first call of each nested model.

        Keras 2 counts the calls of nested models from 1 since TensorFlow 2.2, and from 0 before that. Every call leads to
        an output, so the highest number anywhere is that of the last call. Keras 3 counts from 1 only among the outputs.
        """
        highest: dict[str, int] = {}
        for item in walk_json([*nodes.values(), ends[1]]):
            if is_history(item):
                highest[item[0]] = max(highest.get(item[0], 0), item[1])
        first: dict[str, int] = {}
        for name, layer in self._by_name.items():
            if layer.model is not None and not self._is_keras_3:
                first[name] = 1 if highest.get(name) == len(nodes[name]) else 0
        return first

    def _tensor(self, history: Json, *, among_ends: bool = False) -> Tensor:
        name, number, output = history[:3]
        layer = self._by_name.get(name)
        if layer is None:
            raise ModelFileError(
                f"Cannot read the model: a call names the layer {name!a}, which does not exist.", path=self._position
            )
        if among_ends and self._is_keras_3 and layer.model is not None and layer.model.is_functional:
            number -= 1
        return Tensor(name, max(number - self._first.get(name, 0), 0), output)

    def _map(self, raw: Json, *, among_ends: bool = False) -> Argument:
        if is_history(raw) and (among_ends or raw[0] in self._by_name):
            return self._tensor(raw, among_ends=among_ends)
        if isinstance(raw, list):
            return [self._map(item, among_ends=among_ends) for item in raw]
        if isinstance(raw, dict):
            return {key: self._map(item, among_ends=among_ends) for key, item in raw.items()}
        return raw

    def _call(self, layer: Layer, raw: Json) -> Call:
        if isinstance(raw, dict) and "args" in raw:
            args, kwargs = raw["args"], raw.get("kwargs") or {}
            if not isinstance(args, list) or not isinstance(kwargs, dict):
                raise misfit("the arguments of a call", raw, f"{self._position}.layers")
            return Call(self._argument(args), {key: self._argument(item) for key, item in kwargs.items()})
        named: dict[str, Json] = {}
        first = self._first_argument(raw, named)
        # The first argument of an operation may be a list with one tensor.
        keeps = layer.class_name in OPERATION_CLASSES
        if keeps and isinstance(raw, list) and len(raw) >= 3 and (is_history(raw) or raw[0] == _CONSTANT):
            return Call([first], self._map(named))
        if not keeps and isinstance(first, list) and len(first) == 1:
            first = first[0]
        return Call([first], self._map(named))

    def _first_argument(self, raw: Json, named: dict[str, Json]) -> Argument:
        is_constant = isinstance(raw, list) and len(raw) >= 3 and raw[0] == _CONSTANT
        if is_constant or is_history(raw):
            if len(raw) > 3 and isinstance(raw[3], dict):
                named.update(raw[3])
            return raw[2] if is_constant else self._tensor(raw)
        if isinstance(raw, list):
            return [self._first_argument(item, named) for item in raw]
        if isinstance(raw, dict):
            return {key: self._first_argument(item, named) for key, item in raw.items()}
        raise misfit("a call", raw, f"{self._position}.layers")

    def _argument(self, raw: Json) -> Argument:
        """Return an argument in the format of Keras 3, with drafts for tensors, slices and `...`."""
        if isinstance(raw, list):
            return [self._argument(item) for item in raw]
        if not isinstance(raw, dict):
            return raw
        kind, config = raw.get("class_name"), raw.get("config")
        if kind == _TENSOR and isinstance(config, dict) and is_history(config.get("keras_history")):
            return self._tensor(config["keras_history"])
        if kind == "__slice__" and isinstance(config, dict):
            return slice(*(self._argument(config.get(key)) for key in ("start", "stop", "step")))
        if kind == "__ellipsis__":
            return ...
        return {key: self._argument(item) for key, item in raw.items()}


def _tensors_of(layer: Layer) -> Iterator[Tensor]:
    for call in layer.calls:
        yield from call.tensors()


def rename_tensors(value: Argument, names: dict[str, str]) -> Argument:
    """Return arguments in which tensors refer to layers by their new names."""

    def change(leaf: Any) -> Any:
        if isinstance(leaf, Tensor) and leaf.layer in names:
            return Tensor(names[leaf.layer], leaf.call, leaf.output)
        return leaf

    return map_leaves(value, change)


def read_specs(model: Model, raw: Json) -> None:
    """Store shape and dtype of all tensors that the calls of a model name, in the model and those inside it."""
    waiting: list[tuple[Model, Json]] = [(model, raw)]
    while waiting:
        inner, fields = waiting.pop()
        for layer, written in zip(inner.layers, fields["config"]["layers"], strict=True):
            for item in walk_json(written.get("inbound_nodes", [])):
                found = item.get("config") if isinstance(item, dict) else None
                if not isinstance(found, dict) or not is_history(found.get("keras_history")):
                    continue
                shape, dtype = found.get("shape"), found.get("dtype")
                known = tuple(shape) if isinstance(shape, list) else None
                layer.specs[Tensor(*found["keras_history"][:3])] = (known, dtype if isinstance(dtype, str) else None)
            if layer.model is not None:
                waiting.append((layer.model, written))
