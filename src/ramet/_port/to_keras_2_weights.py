"""Write model files of tf_keras: HDF5, and `.keras` archives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ramet._port.archive import Read, saved_groups, values_of, write_archive
from ramet._port.draft import Layer, Model
from ramet._port.notes import Notes
from ramet._port.placement import Arrays, Values
from ramet._port.variables import Slot, all_slots, own_slots, saved_order
from ramet._report import joined

if TYPE_CHECKING:
    import h5py

_Config: TypeAlias = dict[str, Any]

KERAS_VERSION = "2.15.0"
# HDF5 does not store more in the header of an object.
_HEADER_LIMIT = 64512
_CELLS = {"LSTM": "lstm_cell", "GRU": "gru_cell", "SimpleRNN": "simple_rnn_cell"}
_CELLS |= {f"ConvLSTM{rank}D": f"conv_lstm{rank}d_cell" for rank in (1, 2, 3)}
_PARTS = {f"{part}_dense": f"_{part}_dense" for part in ("key", "output", "query", "value")}
# The group of the weights that belong to no layer of an HDF5 file.
_TOP_LEVEL = "top_level_model_weights"
# State that tf_keras does not get: of training, and of random numbers.
_STATE = ("optimizer", "loss_tracker", "compile_metrics", "_metrics", "metrics")


def check_weights(model: Model, values: dict[str, Values], arrays: Arrays, notes: Notes) -> None:
    """Compare the weights that the model needs with those in the file, and refuse the file if they differ.

    Args:
        model: The draft that `keras_2_config` returns.
        values: The weights of the file, by their path in a file of Keras 3.
        arrays: Gets the fate of what is left out.
        notes: Gets what is left out, and reasons to refuse the file.
    """
    used: set[str] = set()
    for layer in model.layers:
        slots = all_slots(layer)
        names = [layer.name, *(owner for slot in slots or () for owner in slot.owners)]
        odd = next((name for name in names if not _is_group_name(name)), None)
        if odd is not None:
            reason = f"the name {odd!a} cannot be that of a group of weights"
            notes.refuse(layer.name, reason, "rename the layer in the original; Keras does not allow most such names.")
            continue
        if slots is None:
            reason = "its variables are not known"
            notes.refuse(layer.name, reason, "replace the layer in the original, or keep the file for Keras 3.")
            continue
        for slot in slots:
            path = _path(slot)
            used.add(path)
            if path not in values:
                reason = f"the file has no weights for its {slot.name} ({path})"
                notes.refuse(layer.name, reason, "save the original again.")
    left = [path for path in values if path not in used]
    state = [path for path in left if path.startswith(_STATE)]
    random = [path for path in left if "/seed_generator/" in f"/{path}"]
    if state:
        notes.add("left out", "", f"the state of the optimizer and of metrics ({len(state)} arrays)")
    for paths, what in ((state, "state of the optimizer or of a metric"), (random, "state of a random generator")):
        for source in (source for path in paths for source in values[path].paths):
            arrays.leave_out(source, what)
    unknown = [path for path in left if path not in state and path not in random]
    if unknown:
        reason = f"the file has weights that no layer of the model needs in tf_keras: {joined(unknown, 3)}"
        notes.refuse("", reason, "keep the file for Keras 3.")


def _is_group_name(name: str) -> bool:
    """Return whether HDF5 can have a group of this name among the layers of a model."""
    return name not in ("", ".", _TOP_LEVEL) and not re.search("[/\0\ud800-\udfff]", name)


def _path(slot: Slot) -> str:
    """Return the path of a variable in the file of Keras 3."""
    return str(slot.layer.arrays.get((slot.group, slot.number), f"{slot.layer.name}/{slot.name}"))


# HDF5.


def write_keras_2_h5(
    path: Path, model: Model, config: _Config, training: _Config | None, arrays: dict[str, Values], read: Read
) -> None:
    """Write a model file in the HDF5 format of Keras 2.

    Args:
        path: The file to write.
        model: The draft that `keras_2_config` returns.
        config: The config that it returns.
        training: The result of `keras_2_compile`, or None.
        arrays: The weights of the source, by their path in a file of Keras 3.
        read: Reads an array of the source.
    """
    import h5py

    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = KERAS_VERSION
        file.attrs["backend"] = "tensorflow"
        file.attrs["model_config"] = json.dumps(config)
        if training is not None:
            file.attrs["training_config"] = json.dumps(training)
        group = file.create_group("model_weights")
        group.attrs["keras_version"] = KERAS_VERSION
        group.attrs["backend"] = "tensorflow"
        layers = [layer for layer in model.layers if model.is_functional or layer.class_name != "InputLayer"]
        _write_names(group, "layer_names", [layer.name for layer in layers])
        for layer in layers:
            _write_weights(group.create_group(layer.name), layer, arrays, read)
        _write_names(group.create_group(_TOP_LEVEL), "weight_names", [])


def _write_weights(group: h5py.Group, layer: Layer, arrays: dict[str, Values], read: Read) -> None:
    slots = saved_order(layer) or []
    names: list[str] = []
    for slot in slots:
        name = _weight_name(slot, layer)
        number = 0
        while f"{name}:{number}" in names:
            number += 1
        names.append(f"{name}:{number}")
        group.create_dataset(names[-1], data=values_of(arrays[_path(slot)], read))
    _write_names(group, "weight_names", names)


def _weight_name(slot: Slot, outermost: Layer) -> str:
    """Return the name that tf_keras gives to a variable: `bidirectional/forward_lstm/lstm_cell/kernel`."""
    owners = list(slot.owners)
    if outermost.model is not None and len(owners) > 1:
        del owners[0]  # nested models are not part of the names
    if slot.group == "cell":
        # In a Bidirectional, the last two owners are the two names of the same layer.
        if len(owners) > 2 and owners[-2].endswith(owners[-1]):
            del owners[-1]
        owners.append(_CELLS.get(slot.layer.class_name, "cell"))
    return "/".join([*owners, slot.name])


def _write_names(group: h5py.Group, key: str, names: list[str]) -> None:
    """Write names as an attribute, or as several if they are too long for one."""
    import numpy as np

    data = np.asarray([name.encode() for name in names], dtype=bytes if names else "S1")
    parts = 1
    while any(part.nbytes > _HEADER_LIMIT for part in np.array_split(data, parts)):
        parts += 1
    if parts == 1:
        group.attrs[key] = data
        return
    for number, part in enumerate(np.array_split(data, parts)):
        group.attrs[f"{key}{number}"] = part


# Archives.


def write_keras_2_archive(
    path: Path, model: Model, config: _Config, training: _Config | None, arrays: dict[str, Values], read: Read
) -> None:
    """Write a `.keras` archive as tf_keras does.

    Args:
        path: The file to write.
        model: The draft that `keras_2_config` returns.
        config: The config that it returns.
        training: The result of `keras_2_compile`, or None.
        arrays: The weights of the source, by their path in a file of Keras 3.
        read: Reads an array of the source.
    """
    written = archive_config(config)
    if training is not None:
        written["compile_config"] = _compile_config(training)
    metadata = {"keras_version": KERAS_VERSION, "date_saved": "1980-01-01@00:00:00"}

    def write(target: Path) -> None:
        import h5py

        with h5py.File(target, "w") as file:
            file.create_group("vars")
            for group, layer in saved_groups(model):
                file.require_group(f"{group}/vars")
                if layer.model is not None:
                    continue
                for slot, where in _archive_slots(layer, group):
                    file.require_group(where)[str(slot.number)] = values_of(arrays[_path(slot)], read)

    write_archive(path, written, metadata, write)


def _compile_config(training: _Config) -> _Config:
    """Return how a model was compiled in the form of archives."""
    legacy = training["optimizer_config"]
    name = legacy["class_name"].removeprefix("Custom>")
    optimizer = {**legacy, "module": "keras.optimizers", "class_name": name, "registered_name": None}
    made = {key: value for key, value in training.items() if key != "optimizer_config"}
    return {"optimizer": optimizer, **made, "run_eagerly": None, "steps_per_execution": None, "jit_compile": None}


def _archive_slots(layer: Layer, group: str) -> Iterator[tuple[Slot, str]]:
    for slot in own_slots(layer) or ():
        inner = _PARTS.get(slot.group, slot.group)
        yield slot, "/".join(filter(None, (group, inner, "vars")))


def archive_config(config: _Config) -> _Config:
    """Return a config in the form of archives, in which every object names its module."""
    class_name, inner = config["class_name"], dict(config["config"])
    head: _Config = {"module": "keras.layers", "class_name": class_name, "registered_name": None}
    if class_name == "Sequential":
        head["module"] = "keras"
    elif class_name == "Functional":
        head |= {"module": "tf_keras.src.engine.functional", "registered_name": "Functional"}
    elif class_name in ("SlicingOpLambda", "TFOpLambda"):
        head |= {"module": "tf_keras.src.layers.core.tf_op_layer", "registered_name": class_name}
    elif ">" in class_name:
        head = {"module": None, "class_name": class_name.rpartition(">")[2], "registered_name": class_name}
    for key, value in inner.items():
        if key in ("layers", "cells") and isinstance(value, list):
            inner[key] = [_archive_layer(item) for item in value]
        elif isinstance(value, dict) and _is_object(value) and "module" not in value:
            inner[key] = archive_config(value)
    return {**head, "config": inner}


def _is_object(value: _Config) -> bool:
    return isinstance(value.get("class_name"), str) and isinstance(value.get("config"), dict)


def _archive_layer(layer: _Config) -> _Config:
    calls: _Config = {key: layer[key] for key in ("name", "inbound_nodes") if key in layer}
    return {**archive_config(layer), **calls}
