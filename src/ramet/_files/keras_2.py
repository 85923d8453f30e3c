"""Models and weights of Keras 2.

In its HDF5 format, weights are saved under the names of layers, and the config is an attribute. Configs are translated to
the format of Keras 3, so that what is the same in both does not look like a difference; settings that only one of them has
stay as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from ramet._files.calls import is_history
from ramet._files.draft import UNKNOWN, DraftOp
from ramet._files.json_data import Json, map_objects
from ramet._files.keras_layers import class_inside
from ramet._files.listing import ArraySpec, Listing
from ramet._files.scanner.names import is_class_name, layer_classes
from ramet._report import escape
from ramet.errors import ModelFileError

# By the path of an op: name, path in the file, spec.
_Variables: TypeAlias = dict[str, list[tuple[str, str, ArraySpec]]]

_WEIGHTS = "model_weights"
_TOP_LEVEL = "top_level_model_weights"


def names_weights(listing: Listing) -> bool:
    """Return whether a weights file names its layers and weights, as `save_weights("w.h5")` of Keras 2 does."""
    root = listing.group(_root(listing))
    return "layer_names" in root.name_lists or any(
        "weight_names" in group.name_lists for group in listing.groups.values()
    )


def legacy_weights(listing: Listing) -> tuple[list[DraftOp], _Variables]:
    """Return the layers and variables of a weights file without a config.

    Each layer lists its weights by name: `lstm/lstm_cell/kernel:0`. Between the name of the layer and that of the weight
    are the layers inside it; nested models leave their own name out.

    Returns:
        The model, then its layers, each before those inside it; and the variables of each, by its path.
    """
    drafts = [DraftOp(None, "weights", UNKNOWN, "model", None)]
    found = _NamedWeights(drafts, listing)
    for layer, group, names in _layers(listing):
        outer = drafts[0] if layer == _TOP_LEVEL else found.inside(drafts[0], layer)
        for name in names:
            *above, _ = name.removeprefix(f"{layer}/").split("/")
            owner = outer
            # Only for weights that exist: their depth is limited, the length of a listed name is not.
            exists = _array_path(group, name) in listing.arrays
            for step in filter(None, above if layer != _TOP_LEVEL and exists else ()):
                owner = found.inside(owner, step)
            found.add(owner, layer, group, name)
    return drafts, found.variables


def legacy_variables(drafts: list[DraftOp], listing: Listing) -> _Variables:
    """Return the variables of each op, by its path.

    The file has them under the name of the outermost layer, each with a name of its own: `inner/dense/kernel:0`. The last
    part is the name of the variable, the one before that of its layer. Layers that occur only in these names, such as the
    cell of an LSTM, are added to the drafts.
    """
    by_layer: dict[str, dict[str, DraftOp]] = {}
    for draft in drafts[1:]:
        # The ops of each outermost layer, and itself, by their names; the first of a name counts.
        by_layer.setdefault(draft.path.split("/", 1)[0], {}).setdefault(draft.name, draft)
    found = _NamedWeights(drafts, listing)
    for layer, group, names in _layers(listing):
        named = by_layer.get(layer.replace("/", "_"), {})
        for name in names:
            owner = _owner_of(name.split("/")[:-1], named, found) or named.get(layer)
            owner = owner or (drafts[0] if layer == _TOP_LEVEL else None)
            if owner is not None:
                found.add(owner, layer, group, name)
    return found.variables


class _NamedWeights:
    """Variables by the path of their op. Layers that occur only in names of variables are added to the drafts."""

    def __init__(self, drafts: list[DraftOp], listing: Listing) -> None:
        self.variables: _Variables = {}
        self._drafts = drafts
        self._inner: dict[str, DraftOp] = {}
        self._listing = listing
        self._broken = {problem.path for problem in listing.problems}
        self._taken: Counter[tuple[str, str]] = Counter()

    def inside(self, owner: DraftOp, name: str, class_name: str = UNKNOWN) -> DraftOp:
        """Return the layer of a name inside another, which may be new."""
        own_id = name.replace("/", "_") or "unnamed"
        path = f"{owner.path}/{own_id}" if owner.path else own_id
        if path not in self._inner:
            self._inner[path] = DraftOp(None, name, class_name, "layer", None, id=own_id, path=path)
            owner.called.append(self._inner[path])
            self._drafts.append(self._inner[path])
        return self._inner[path]

    def add(self, owner: DraftOp, layer: str, group: str, name: str) -> None:
        """Add a weight that a layer lists, with a name that is unique in its op; raise if the file does not contain it."""
        real = _array_path(group, name)
        if real not in self._listing.arrays:
            if real in self._broken:
                return
            raise _missing_weight(layer, group, name)
        label = name.rpartition("/")[2].partition(":")[0] or "unnamed"
        self._taken[owner.path, label] += 1
        number = self._taken[owner.path, label]
        own = label if number == 1 else f"{label}#{number}"
        self.variables.setdefault(owner.path, []).append((own, real, self._listing.arrays[real]))


def legacy_layers(listing: Listing) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the outermost layers of a file in the order of the model: the name, and the name and path of each weight.

    Raises:
        ModelFileError: A weight is listed, but missing.
    """
    found = []
    for layer, group, names in _layers(listing):
        weights = [(name, _array_path(group, name)) for name in names]
        for name, path in weights:
            if path not in listing.arrays:
                raise _missing_weight(layer, group, name)
        found.append((layer, weights))
    return found


def _missing_weight(layer: str, group: str, name: str) -> ModelFileError:
    return ModelFileError(
        f"Cannot read the weights of the layer '{escape(layer)}': '{escape(name)}' is listed, but missing.",
        fix="save the weights again.",
        path=group,
    )


def _array_path(group: str, name: str) -> str:
    return f"{group}/{name}".replace("//", "/")


def _root(listing: Listing) -> str:
    return _WEIGHTS if _WEIGHTS in listing.groups else ""


def _layers(listing: Listing) -> list[tuple[str, str, Sequence[str]]]:
    """Return the outermost layers in the order of the model: name, group, names of its weights."""
    root = _root(listing)
    listed = listing.group(root).name_lists.get("layer_names", ())
    found: list[tuple[str, str, Sequence[str]]] = []
    for layer in dict.fromkeys([*listed, *listing.group(root).groups]):
        group = f"{root}/{layer}" if root else layer
        if group in listing.groups:
            found.append((layer, group, listing.group(group).name_lists.get("weight_names", ())))
    return found


def _owner_of(above: list[str], named: dict[str, DraftOp], weights: _NamedWeights) -> DraftOp | None:
    """Return the op that the names before that of a variable lead to, or None.

    Args:
        above: The names before that of the variable.
        named: An outermost layer and the ops inside it, by name.
        weights: The weights found before, to which the op may be added.
    """
    index = next((index for index in range(len(above) - 1, -1, -1) if above[index] in named), None)
    if index is None:
        return None
    owner = named[above[index]]
    class_name = class_inside(owner.class_name)
    if class_name is None or index + 1 == len(above) or not above[index + 1] or owner.same_as is not None:
        return owner
    return weights.inside(owner, above[index + 1], class_name)


# Translation of configs.

# Modules of layers and models in Keras 2: `keras.engine.functional`, `tf_keras.src.layers.core.dense`.
_OLD_MODULE = re.compile(
    r"(?:tf_keras|keras|tensorflow\.keras|tensorflow\.python\.keras)(?:\.src)?\.(?:engine|layers|models)\b.*"
)
_ROLES = re.compile(r"(?:\w+_)?(initializer|regularizer|constraint)")
_POLICIES = frozenset({"Policy", "PolicyV1", "DTypePolicy"})


def to_keras_3(config: dict[str, Json], *, version: str) -> dict[str, Json]:
    """Translate the config of a model to what Keras 3 would have written for the same model.

    Args:
        config: The config of a model in the HDF5 format, or in an archive of Keras 2.
        version: The version of Keras that wrote it; empty if the file does not contain it, as before Keras 2.
    """
    is_old = not version.startswith("3")

    def change(fields: dict[str, Json]) -> Json:
        fields = {key: _with_module(key, value) for key, value in fields.items()}
        return _layer(fields, is_old=is_old) if isinstance(fields.get("class_name"), str) else fields

    translated: dict[str, Json] = map_objects(config, change)
    return translated


def _with_module(key: str, value: Json) -> Json:
    """Add the module to an initializer, regularizer or constraint; Keras before 2.13 does not write it."""
    role = _ROLES.fullmatch(key)
    if role is None or not is_class_name(_class_of(value)) or "module" in value:
        return value
    return {"module": f"keras.{role[1]}s", **value, "registered_name": None}


def _class_of(value: Json) -> str:
    """Return the class name of a serialized object; empty for anything else."""
    found = value.get("class_name") if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def _layer(fields: dict[str, Json], *, is_old: bool) -> dict[str, Json]:
    """Translate a layer or a model."""
    class_name, config, module = fields["class_name"], fields.get("config"), fields.get("module")
    is_own = module in (None, "keras") or (isinstance(module, str) and _OLD_MODULE.fullmatch(module) is not None)
    if not isinstance(config, dict | list) or not is_own:
        return fields
    if class_name in ("Functional", "Model") and isinstance(config, dict) and "input_layers" in config:
        names = {"module": "keras.src.models.functional", "class_name": "Functional", "registered_name": "Functional"}
        return {**fields, **names, "config": _unwrapped(config) if is_old else config}
    if class_name == "Sequential":
        return {**fields, "module": "keras", "registered_name": None, "config": _sequence(config)}
    if class_name not in layer_classes() or not isinstance(config, dict):
        return fields
    return {**fields, "module": "keras.layers", "registered_name": None, "config": _settings(class_name, config)}


def _unwrapped(config: dict[str, Json]) -> dict[str, Json]:
    """Unwrap a single input or output of a functional model: Keras 2 always writes lists."""
    result = dict(config)
    for key in ("input_layers", "output_layers"):
        value = result.get(key)
        if isinstance(value, list) and len(value) == 1 and is_history(value[0]):
            result[key] = value[0]
    return result


def _sequence(config: Json) -> Json:
    """Remove the input shape from the layers of a Sequential model with an input layer, which contains it, too."""
    layers = config if isinstance(config, list) else config.get("layers")
    if not isinstance(layers, list) or not layers or not all(isinstance(layer, dict) for layer in layers):
        return config
    if layers[0].get("class_name") != "InputLayer":
        return config
    result = []
    for layer in layers:
        settings = layer.get("config")
        if isinstance(settings, dict):
            settings = {key: value for key, value in settings.items() if key != "batch_input_shape"}
        result.append({**layer, "config": settings})
    return result if isinstance(config, list) else {**config, "layers": result}


def _settings(class_name: str, config: dict[str, Json]) -> dict[str, Json]:
    if class_name == "InputLayer":
        return {("batch_shape" if key == "batch_input_shape" else key): value for key, value in config.items()}
    dtype: Json = config.get("dtype")
    if _class_of(dtype) in _POLICIES:
        inner = dtype.get("config")
        dtype = inner.get("name") if isinstance(inner, dict) else None
    if not isinstance(dtype, str):
        return config
    policy = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": dtype}, "registered_name": None}
    return {**config, "dtype": policy}
