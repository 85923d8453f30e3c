"""Files that hold a model, or a part of one, in a format that is not read: what they are, and the way out."""

from __future__ import annotations

import os
from pathlib import Path

from ramet._files import Json
from ramet._report import escape
from ramet.errors import ModelFileError

_KERAS_COPY = "port the Keras model that it was made from."
_CONVERTED = {
    ".onnx": "a model of ONNX",
    ".pt": "a model of PyTorch",
    ".pth": "a model of PyTorch",
    ".safetensors": "a file of weights without a model",
    ".tflite": "a model of TensorFlow Lite",
}
_YAML = {".yaml", ".yml"}
# The text of to_yaml() has tuples of Python, which full_load reads, and safe_load does not.
_TO_JSON = "import json, yaml; json.dump(yaml.full_load(open('model.yaml')), open('model.json', 'w'))"
_PICKLES = {".joblib", ".p", ".pickle", ".pkl", ".sav"}
# Pickles of protocol 2 and later begin with its number.
_PICKLE_STARTS = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))
_CHECKPOINT = "a checkpoint of TensorFlow, which contains weights, but no model"
_FROM_CHECKPOINT = (
    "load the weights into the model in tf_keras, save it with model.save('model.h5'), and port that file."
)
_HDF5 = b"\x89HDF\r\n\x1a\n"
_GRAPH_FILE = "saved_model.pb"
_PARTS = (_GRAPH_FILE, "fingerprint.pb", "keras_metadata.pb")


def check_format(path: Path) -> None:
    """Refuse a file or folder of a well-known kind that cannot be ported, with a way out for this kind.

    This runs on the path that was given, because the way out may be next to it. A path without anything is not refused.
    """
    what, fix = _folder(path) if path.is_dir() else _file(path)
    if what:
        raise ModelFileError(f"Cannot port '{escape(path.name)}': it is {what}.", fix=fix, path=str(path))


def _file(path: Path) -> tuple[str, str]:
    suffix, start = path.suffix.lower(), _start(path)
    if not path.exists() and path.with_name(f"{path.name}.index").exists():
        return _CHECKPOINT, _FROM_CHECKPOINT
    if start == _HDF5:  # Keras 1 wrote HDF5 whatever the extension
        return "", ""
    if suffix in _YAML:
        return "YAML", f'convert it to JSON, python -c "{_TO_JSON}", and port model.json with its weights.'
    if suffix in _PICKLES or start.startswith(_PICKLE_STARTS):
        fix = "if you trust its author, load it with the version of Keras that wrote it, and save it as .h5 or .keras."
        return "a pickle, which is a program that runs when it is loaded", fix
    if suffix in _CONVERTED:
        return _CONVERTED[suffix], _KERAS_COPY
    if path.name in _PARTS:
        return _part_of(path.absolute().parent)
    if path.name.startswith("variables."):
        what, fix = _part_of(path.absolute().parent.parent)
        if what:
            return what, fix
    if suffix == ".pb":
        return "a graph of TensorFlow without a Keras model", _KERAS_COPY
    if suffix == ".index" or ".data-0" in suffix:
        return _CHECKPOINT.replace("a checkpoint", "a part of a checkpoint"), _FROM_CHECKPOINT
    return "", ""


def _start(path: Path) -> bytes:
    if not path.is_file():  # opening a pipe would wait forever
        return b""
    try:
        with path.open("rb") as file:
            return file.read(len(_HDF5))
    except (OSError, ValueError):  # reported when it is opened
        return b""


def _folder(path: Path) -> tuple[str, str]:
    if (path / _GRAPH_FILE).exists() or (path / "config.json").exists():
        return "", ""
    if path.name in ("assets", "variables"):
        return _part_of(path.absolute().parent)
    try:
        inside = sorted(Path(entry.path) for entry in os.scandir(path) if entry.is_dir())
    except OSError:  # reported when it is opened
        return "", ""
    found = next((folder for folder in inside if (folder / _GRAPH_FILE).is_file()), None)
    if found is None and (path / "checkpoint").exists():
        return _CHECKPOINT, _FROM_CHECKPOINT
    if found is None:
        fix = "pass a SavedModel, which has a file saved_model.pb, or an unpacked .keras file, which has config.json."
        return "a folder that contains no model", fix
    return "a folder around a SavedModel", f"pass the SavedModel itself: ramet port {escape(str(found))} new.keras."


def _part_of(folder: Path) -> tuple[str, str]:
    """Return what a part of a SavedModel is; nothing if the folder is none, since the name alone says little."""
    if (folder / _GRAPH_FILE).is_file():
        return "a part of a SavedModel", f"pass the whole folder: ramet port {escape(str(folder))} new.keras."
    return "", ""


def check_not_converted(config: Json, name: str) -> None:
    """Refuse the JSON of TensorFlow.js, which is next to files with weights in a format of its own."""
    if not isinstance(config, dict) or not ("modelTopology" in config or "weightsManifest" in config):
        return
    fix = _KERAS_COPY
    if config.get("format") != "graph-model":
        fix = (
            "convert it to a file of Keras: tensorflowjs_converter --input_format=tfjs_layers_model --output_format=keras "
            f"{escape(name)} model.h5."
        )
    raise ModelFileError(f"Cannot port '{escape(name)}': it is a model of TensorFlow.js.", fix=fix)
