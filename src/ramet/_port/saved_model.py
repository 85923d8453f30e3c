"""SavedModels that Keras 2 wrote: the config, the weights of each layer and the vocabularies, read without TensorFlow.

`model.save("folder")` of Keras 2 writes the computation as a graph of TensorFlow and, next to it, what Keras needs to rebuild
the model: the configs of all layers. Only the configs and the values are read here, and nothing is run. A SavedModel without
configs, such as one of `tf.saved_model.save`, is not a Keras model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ramet._files import Limits, cannot_read, read_json, walk_json
from ramet._port.checkpoint import Array, file_size, read_file
from ramet._port.lookup_tables import TABLE_ATTRIBUTES, NoVocabulary, TableLayer, TableReader, Vocabulary
from ramet._port.object_graph import Kind, ObjectGraph, no_keras_model
from ramet._port.protobuf import FieldBudget, Message, broken
from ramet.errors import ModelFileError, OutOfBudgetError

_GRAPH_FILE = "saved_model.pb"
# TensorFlow 2.5 and newer; before, the metadata was part of the graph.
_METADATA_FILE = "keras_metadata.pb"
_INDEX_FILE = "variables/variables.index"
_PREFIX = "_tf_keras_"
_METRIC = "_tf_keras_metric"
# What Keras adds to a layer when it saves it, and what belongs to training.
_NOT_PARTS = {
    "keras_api",
    "layer_metrics",
    "layer_regularization_losses",
    "metrics",
    "non_trainable_variables",
    "optimizer",
    "regularization_losses",
    "signatures",
    "states",
    "trainable_variables",
    "variables",
}
# TextVectorization keeps its vocabulary in a layer of its own, which does not occur in its config.
_VOCABULARY_LAYERS = ("_lookup_layer", "_index_lookup_layer")


@dataclass(frozen=True, slots=True)
class SavedLayer:
    """A layer of a SavedModel.

    Attributes:
        class_name: The name of its class, as in its config; empty if the file does not contain it.
        attribute: The attribute through which the layer around it holds it: "cell", "forward_layer", "cells.0", "layer-1".
        node: The number of the object. A layer that is used in several models has several paths, and one number.
    """

    class_name: str
    attribute: str
    node: int


@dataclass(frozen=True, slots=True)
class SavedModel:
    """The content of a SavedModel of Keras 2.

    Paths are names of layers below the model, joined with "/": "encoder/dense", "bidirectional/forward_lstm/lstm_cell".
    Layers of the same name in the same place, such as the cells of a stack, have "#2", "#3" after theirs.

    Attributes:
        config: The model's config, `{"class_name": "Functional", "config": {...}}`, with tuples as lists.
        training_config: The arguments of `compile` as JSON; None if the model was not compiled.
        keras_version: The version of Keras that wrote the model, such as "2.15.0"; empty if the file does not contain it.
        layers: All layers by path, outer ones first.
        variables: The variables of each layer by path, then by their own names, in the order in which the layer made them.
            Layers without variables are left out. The variables of the model itself have the path "".
        vocabularies: The vocabularies of lookup layers by path, also by the path of a TextVectorization layer around one.
        missing: By path of a layer, the reason why a variable or a vocabulary of it cannot be read.
        optimizer: The variables of the optimizer, by their full names.
        full_names: The full name of each variable, "dense/kernel", by the path of its layer and its own name.
        doubts: By path of a layer, what its config contains and the graph does not.
    """

    config: dict[str, Any]
    training_config: dict[str, Any] | None
    keras_version: str
    layers: dict[str, SavedLayer]
    variables: dict[str, dict[str, Array]]
    vocabularies: dict[str, Vocabulary]
    missing: dict[str, str]
    optimizer: dict[str, Array]
    full_names: dict[tuple[str, str], str]
    doubts: dict[str, str]


def is_saved_model(path: str | Path) -> bool:
    """Return whether a path is a SavedModel: a folder with a `saved_model.pb`."""
    try:
        return (Path(path) / _GRAPH_FILE).is_file()
    except (OSError, ValueError):
        return False


def read_saved_model(path: str | Path, limits: Limits) -> SavedModel:
    """Read the configs of a SavedModel that Keras 2 wrote, and find its weights and vocabularies.

    Args:
        path: The folder.
        limits: The limits on sizes and counts.

    Raises:
        ModelFileError: A file is missing or broken, or the SavedModel does not contain a Keras model.
    """
    directory = Path(path)
    has_metadata = (directory / _METADATA_FILE).exists()
    names = (_GRAPH_FILE, _INDEX_FILE, *([_METADATA_FILE] if has_metadata else []))
    # The object graph is in the checkpoint, too; it is about as large as that in the graph file.
    limits = limits.within(sum(file_size(directory / name) for name in names))
    graph = ObjectGraph(directory, limits)
    texts = _metadata_file(directory, limits) if has_metadata else _metadata_in_graph(graph)
    _check_kinds(texts, graph)
    identifier, root = texts.get(0, ("", ""))
    described = read_json(root, _METADATA_FILE, limits, legacy=True) if root and identifier != _METRIC else None
    config = _model_config(described)
    if config is None or not isinstance(described, dict):
        raise no_keras_model(directory, _own_class(described))
    training, version = described.get("training_config"), described.get("keras_version")
    found = _Layers(directory, graph, texts, limits)
    return SavedModel(
        config,
        training if isinstance(training, dict) else None,
        version if isinstance(version, str) else "",
        found.layers,
        found.variables,
        found.vocabularies,
        found.missing,
        _optimizer(graph),
        found.full_names,
        _doubts(config, graph, list(found.layers)),
    )


def _metadata_file(directory: Path, limits: Limits) -> dict[int, tuple[str, str]]:
    """Return the kind and the JSON of each Keras object, by the number of the object."""
    metadata = Message(read_file(directory / _METADATA_FILE, limits), FieldBudget(_METADATA_FILE, limits))
    found: dict[int, tuple[str, str]] = {}
    for item in metadata.scan(1):
        if item.number(2) in found:
            raise cannot_read(_METADATA_FILE, "it describes an object twice")
        found[item.number(2)] = item.text(4), item.text(5)
    return found


def _metadata_in_graph(graph: ObjectGraph) -> dict[int, tuple[str, str]]:
    found: dict[int, tuple[str, str]] = {}
    for node, item in enumerate(graph.objects):
        if item.kind is Kind.USER_OBJECT and item.body is not None and item.body.text(1).startswith(_PREFIX):
            found[node] = item.body.text(1), item.body.text(3)
    return found


def _check_kinds(texts: dict[int, tuple[str, str]], graph: ObjectGraph) -> None:
    """Refuse metadata that belongs to another model, such as that of an older one in the same folder."""
    for node, (kind, _) in texts.items():
        if kind == _METRIC:
            continue
        item = graph.objects[node] if node < len(graph.objects) else None
        if item is None or item.kind is not Kind.USER_OBJECT or item.body is None or item.body.text(1) != kind:
            raise cannot_read(
                _METADATA_FILE,
                f"it does not belong to '{_GRAPH_FILE}', which has no such layers",
                ModelFileError,
                fix="copy all files of the SavedModel again, or save the model again.",
            )


# Nearly every model computes one of these.
_PRODUCTS = ("BatchMatMulV2", "Conv2D", "Conv3D", "Einsum", "MatMul")
# The operations of activations, one of which occurs.
_ACTIVATIONS = {
    "elu": ("Elu",),
    "exponential": ("Exp",),
    "selu": ("Selu",),
    "sigmoid": ("Sigmoid",),
    "softmax": ("Softmax", "Exp"),
    "softplus": ("Softplus",),
    "softsign": ("Softsign",),
    "tanh": ("Tanh",),
}


def _doubts(config: Any, graph: ObjectGraph, paths: list[str]) -> dict[str, str]:
    """Return the activations that do not occur in the graph, by path: the files may have been saved at different times."""
    found: dict[str, str] = {}
    if not any(map(graph.has_operation, _PRODUCTS)):
        return found  # saved with save_traces=False, without the computation
    for item in walk_json(config):
        settings = item.get("config") if isinstance(item, dict) else None
        if not isinstance(settings, dict) or not isinstance(item.get("class_name"), str):
            continue
        name, activation = settings.get("name"), settings.get("activation")
        operations = _ACTIVATIONS.get(activation, ()) if isinstance(activation, str) else ()
        if not operations or not isinstance(name, str) or any(map(graph.has_operation, operations)):
            continue
        path = next((path for path in paths if path.rpartition("/")[2] == name), name)
        found[path] = (
            f"activation={activation!r} is in '{_METADATA_FILE}', and not in the graph of '{_GRAPH_FILE}': these files may be "
            "of different models; as in Keras, the former decides"
        )
    return found


def _own_class(described: Any) -> str:
    """Return the class of a model that is described without its layers, or nothing if it is one of Keras."""
    name = described.get("class_name") if isinstance(described, dict) else None
    return name if isinstance(name, str) and name not in ("Functional", "Model", "Sequential") else ""


def _model_config(described: Any) -> dict[str, Any] | None:
    """Return the config of a model from its metadata; None if it has none, as models that are classes of the user."""
    if not isinstance(described, dict):
        return None
    # `model_config` is the same, but with layers that get their vocabulary from a table.
    for found in (described, described.get("model_config")):
        if not isinstance(found, dict) or not isinstance(found.get("class_name"), str):
            continue
        config = found.get("config")
        layers = config.get("layers") if isinstance(config, dict) else config
        if isinstance(layers, list):
            return {"class_name": found["class_name"], "config": config}
    return None


def _optimizer(graph: ObjectGraph) -> dict[str, Array]:
    """Return the variables of the optimizer: those it holds, and the slots of older optimizers."""
    first = dict(graph.stored[0].children).get("optimizer")
    found: dict[str, Array] = {}
    names = _FreeNames()
    waiting = deque([first] if first is not None else [])
    # An optimizer of Keras 2 also refers to the model.
    seen = {0, *waiting}
    while waiting:
        item = graph.stored[waiting.popleft()]
        value = item.value("VARIABLE_VALUE")
        if value is not None and value[1] in graph.checkpoint:
            full, key = value
            found[names.take(full or key)] = graph.checkpoint.array(key)
        for node in (*(node for _, node in item.children), *item.slots):
            graph.budget.spend()
            if node not in seen:
                seen.add(node)
                waiting.append(node)
    return found


@dataclass(slots=True)
class _Contents:
    """What one layer holds: variables, tables and layers as the attribute and the number of the object."""

    name: str
    class_name: str
    table: TableLayer
    variables: list[tuple[str, int]] = field(default_factory=list)
    tables: list[tuple[str, int]] = field(default_factory=list)
    layers: list[tuple[str, int]] = field(default_factory=list)


class _Layers:
    """The layers of a SavedModel by path, with their variables and vocabularies."""

    def __init__(self, directory: Path, graph: ObjectGraph, texts: dict[int, tuple[str, str]], limits: Limits) -> None:
        self._graph = graph
        self._texts = texts
        self._limits = limits
        self._tables = TableReader(directory, graph)
        self._read: dict[int, Vocabulary | str] = {}
        self.layers: dict[str, SavedLayer] = {}
        self.variables: dict[str, dict[str, Array]] = {}
        self.vocabularies: dict[str, Vocabulary] = {}
        self.missing: dict[str, str] = {}
        self.full_names: dict[tuple[str, str], str] = {}
        self._contents: dict[int, _Contents] = {}
        waiting = deque([0])
        while waiting:
            node = waiting.popleft()
            if node not in self._contents:
                self._contents[node] = self._look_inside(node)
                waiting.extend(inner for _, inner in self._contents[node].layers)
        self._add_unnamed_variables()
        for path, node, attribute in self._paths():
            self._add(path, node, attribute)

    def _look_inside(self, layer: int) -> _Contents:
        """Return what a layer holds, directly or in lists, dicts and other objects that are not layers."""
        contents = self._describe(layer)
        seen = {layer}
        children = [child for child in self._graph.objects[layer].children if child[0] not in _NOT_PARTS]
        waiting = children[::-1]
        while waiting:
            self._graph.budget.spend()
            attribute, node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            item = self._graph.objects[node]
            if node in self._texts:
                if self._texts[node][0] != _METRIC:
                    contents.layers.append((attribute, node))
            elif item.kind is Kind.VARIABLE:
                contents.variables.append((attribute, node))
            elif attribute in TABLE_ATTRIBUTES:
                contents.tables.append((attribute, node))
            elif item.kind in (Kind.USER_OBJECT, Kind.NONE):
                inside = [(f"{attribute}.{name}", inner) for name, inner in item.children]
                if len(attribute) > self._limits.name:
                    raise cannot_read(_GRAPH_FILE, "its objects are nested too deeply")
                waiting.extend(reversed(inside))
        return contents

    def _describe(self, node: int) -> _Contents:
        _, text = self._texts[node]
        found = read_json(text, _METADATA_FILE, self._limits, legacy=True) if text else {}
        if not isinstance(found, dict):
            raise broken(_METADATA_FILE, "the description of a layer is not an object")
        config = found.get("config")
        config = config if isinstance(config, dict) else {}
        name, class_name, encoding = found.get("name"), found.get("class_name"), config.get("encoding")
        table = TableLayer(
            config.get("invert") is True,
            "IntegerLookup" in str(class_name),
            encoding if isinstance(encoding, str) else "utf-8",
        )
        name = name if isinstance(name, str) and name else f"layer_{node}"
        return _Contents(name, class_name if isinstance(class_name, str) else "", table)

    def _add_unnamed_variables(self) -> None:
        """Add variables that no attribute refers to: `self.add_weight(...)` without an assignment.

        Every layer lists its variables and those of the layers inside it. The innermost layer that lists one owns it.
        """
        owned = {node for contents in self._contents.values() for _, node in contents.variables}
        for layer, contents in reversed(self._contents.items()):
            listed = self._graph.objects[layer].child("variables")
            for number, node in self._graph.objects[listed].children if listed is not None else ():
                self._graph.budget.spend()
                if node not in owned and self._graph.objects[node].kind is Kind.VARIABLE:
                    owned.add(node)
                    contents.variables.append((f"variables.{number}", node))

    def _paths(self) -> Iterator[tuple[str, int, str]]:
        """Yield the path of each layer, its number and its attribute, outer layers first.

        A layer of several models is visited once for each path to it. A layer inside itself is not.
        """
        length = 0
        waiting: deque[tuple[str, int, str, frozenset[int]]] = deque([("", 0, "", frozenset([0]))])
        names = _FreeNames()
        while waiting:
            path, node, attribute, outer = waiting.popleft()
            yield path, node, attribute
            for inner_attribute, inner in self._contents[node].layers:
                if inner in outer:
                    continue
                name = self._contents[inner].name
                own = names.take(f"{path}/{name}" if path else name)
                length += len(own)
                if len(names) > self._limits.objects or length > self._limits.names:
                    raise cannot_read(_GRAPH_FILE, "it has too many layers", OutOfBudgetError)
                if len(outer) >= self._limits.group_depth:
                    raise cannot_read(
                        _GRAPH_FILE, f"layers are nested more than {self._limits.group_depth} levels deep"
                    )
                self._graph.budget.spend(len(outer))
                waiting.append((own, inner, inner_attribute, outer | {inner}))

    def _add(self, path: str, node: int, attribute: str) -> None:
        contents = self._contents[node]
        if node:
            self.layers[path] = SavedLayer(contents.class_name, attribute, node)
        variables: dict[str, Array] = {}
        names = _FreeNames()
        for label, number in contents.variables:
            self._graph.budget.spend()
            stored = self._graph.stored_for(number)
            value = stored.value("VARIABLE_VALUE") if stored is not None else None
            if value is None or value[1] not in self._graph.checkpoint:
                self.missing[path] = f"the value of its variable '{label}' is not in the checkpoint"
                continue
            full, key = value
            name = full.rpartition("/")[2].partition(":")[0]
            # TensorFlow calls every variable without a name so.
            if name in ("", "Variable") or name in names:
                name = label
            own = names.take(name)
            variables[own] = self._graph.checkpoint.array(key)
            self.full_names[path, own] = full
        if variables:
            self.variables[path] = variables
        for _, number in contents.tables:
            self._add_vocabulary(path, number, contents.table)
        if attribute in _VOCABULARY_LAYERS:
            above = path.rpartition("/")[0]
            if path in self.vocabularies:
                self.vocabularies[above] = self.vocabularies[path]
            elif path in self.missing:
                self.missing[above] = self.missing[path]

    def _add_vocabulary(self, path: str, node: int, layer: TableLayer) -> None:
        if node not in self._read:
            try:
                self._read[node] = self._tables.read(node, layer)
            except NoVocabulary as error:
                self._read[node] = f"its vocabulary {error}"
        found = self._read[node]
        if isinstance(found, str):
            self.missing[path] = found
        else:
            self.vocabularies[path] = found


class _FreeNames:
    """Names that are unique: the second of the same name has "#2" after it."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def __len__(self) -> int:
        return len(self._taken)

    def take(self, name: str) -> str:
        """Return the name, or the name with a number if it is taken."""
        own = name
        while own in self._taken:
            # Counting from the last number keeps many layers of one name cheap.
            self._last[name] = self._last.get(name, 1) + 1
            own = f"{name}#{self._last[name]}"
        self._taken.add(own)
        return own
