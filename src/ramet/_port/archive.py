"""Write a `.keras` archive of Keras 3: config, metadata, weights and assets."""

from __future__ import annotations

import contextlib
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ramet._files import snake_case
from ramet._port.draft import Layer, Model
from ramet._port.placement import Values, saved_key
from ramet._port.variables import inner_layers

if TYPE_CHECKING:
    import numpy as np

Read: TypeAlias = "Callable[[str], np.ndarray[Any, Any]]"
_DATE = (1980, 1, 1, 0, 0, 0)
_WEIGHTS = "model.weights.h5"


def saved_groups(model: Model) -> Iterator[tuple[str, Layer]]:
    """Yield every layer of a model with the group in which Keras 3 saves it: `layers/dense_1`, `layers/lstm/cell`.

    In the list of a model's layers and in other lists, groups are named after classes, with a number. Operations are not
    layers, and are not counted.
    """
    waiting: list[tuple[Model, str]] = [(model, "layers")]
    while waiting:
        inner, group = waiting.pop()
        for layer, name in _numbered(layer for layer in inner.layers if is_layer(layer)):
            for path, one in _groups_in(layer, f"{group}/{name}"):
                yield path, one
                if one.model is not None:
                    waiting.append((one.model, f"{path}/layers"))


def empty_groups(model: Model) -> set[str]:
    """Return the groups of all layers: each has a group for its variables, even if it has none, and so has the model."""
    found = {""}
    for group, layer in saved_groups(model):
        found.add(group)
        if layer.class_name == "MultiHeadAttention":
            found |= {f"{group}/{inner}" for inner in ("_dropout_layer", "_softmax")}
        if layer.class_name == "TextVectorization":
            found.add(f"{group}/_lookup_layer")
        found |= {
            f"{group}/{key}" for key, value in layer.config.items() if key == "activation" and isinstance(value, Layer)
        }
    return found


def is_layer(layer: Layer) -> bool:
    """Return whether something in a functional model is a layer, not an operation."""
    return not (layer.module or "").startswith(("keras.src.ops", "keras.src.activations"))


def _numbered(layers: Iterator[Layer]) -> Iterator[tuple[Layer, str]]:
    counts: dict[str, int] = {}
    for layer in layers:
        class_name = ("Functional" if layer.model.is_functional else "Sequential") if layer.model else layer.class_name
        if layer.model is not None and layer.class_name not in ("Functional", "Sequential"):
            class_name = layer.class_name
        base = snake_case(class_name)
        number = counts[base] = counts.get(base, -1) + 1
        yield layer, f"{base}_{number}" if number else base


def _groups_in(layer: Layer, group: str) -> Iterator[tuple[str, Layer]]:
    yield group, layer
    inside = inner_layers(layer)
    lists = [inner for attribute, inner in inside if attribute == "cells"]
    for inner, name in _numbered(iter(lists)):
        yield from _groups_in(inner, f"{group}/cells/{name}")
    for attribute, inner in inside:
        if attribute != "cells":
            yield from _groups_in(inner, f"{group}/{attribute}")


def target_arrays(model: Model) -> dict[str, Values]:
    """Return the values of all variables by the path at which Keras 3 saves them: `layers/dense/vars/0`."""
    found = {}
    for group, layer in saved_groups(model):
        for (inner, number), source in sorted(layer.arrays.items()):
            found["/".join(filter(None, (group, inner, "vars", saved_key(layer, number))))] = source
            if layer.class_name == "TextVectorization":
                found[f"{group}/_lookup_layer/vars/{saved_key(layer, number)}"] = source
        wrapped = layer.config.get("layer")
        if layer.class_name == "SpectralNormalization" and isinstance(wrapped, Layer) and ("", 0) in wrapped.arrays:
            found[f"{group}/vars/0"] = wrapped.arrays["", 0]  # Keras saves the kernel twice
    return found


def write_archive(
    path: Path,
    config: dict[str, Any],
    metadata: dict[str, Any],
    write_weights: Callable[[Any], None],
    assets: dict[str, Callable[[], bytes]] | None = None,
) -> None:
    """Write an archive. Weights are not compressed, so that they can be read in place.

    Args:
        path: The file to write.
        config: The serialized model.
        metadata: The content of `metadata.json`.
        write_weights: Is called with a file to write the HDF5 weights to.
        assets: Other members, by name.
    """
    with zipfile.ZipFile(path, "w") as archive:
        _add(archive, "metadata.json", json.dumps(metadata).encode())
        _add(archive, "config.json", json.dumps(config).encode())
        with _beside(path) as weights:
            write_weights(weights)
            archive.write(weights, _WEIGHTS)
        for name, read in (assets or {}).items():
            _add(archive, name, read())


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _DATE)
    info.external_attr = 0o600 << 16
    archive.writestr(info, data)


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside another one: HDF5 must be able to go back, an archive cannot.

    The folder around it is private, so that nobody can put a link in its place.
    """
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".ramet-") as folder:
        yield Path(folder) / _WEIGHTS


def write_h5_weights(target: Path, arrays: dict[str, Values], groups: set[str], read: Read) -> None:
    """Write the weights file of Keras 3, one array at a time.

    Args:
        target: The file to write.
        arrays: The values by path.
        groups: The groups of layers, which exist even if they have no variables.
        read: Reads an array of the source.
    """
    import h5py

    with h5py.File(target, "w") as file:
        for group in sorted(groups):
            file.require_group(f"{group}/vars".removeprefix("/"))
        for path, source in arrays.items():
            values = values_of(source, read)
            dataset = file.create_dataset(path, data=values)
            if values.dtype.name == "bfloat16" or values.dtype == "V2":
                # HDF5 has no such numbers; Keras recognizes them by this attribute.
                dataset.attrs["dtype"] = "bfloat16"


def values_of(source: Values, read: Read) -> np.ndarray[Any, Any]:
    """Return the values of a variable, converted if necessary."""
    import numpy as np

    parts = [read(path) for path in source.paths]
    return parts[0] if source.convert is None else np.asarray(source.convert(*parts), order="C")
