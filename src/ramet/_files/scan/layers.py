"""Layers that bring code, or read files, by what stands in their settings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ramet._files.scan.finding import Finding
from ramet._files.scan.names import (
    is_known_name,
    is_no_class_of_keras,
    is_python_builtin,
    is_tensor_member,
    is_tensorflow_operation,
)
from ramet._files.scan.place import Place
from ramet._files.text import Json
from ramet._graph import shortened

__all__ = ["judge_layer", "judge_name", "judge_text", "name_field", "reaches"]

_VOCABULARIES = frozenset({"StringLookup", "IntegerLookup", "IndexLookup", "TextVectorization"})
# Layers of Keras 2 that call a function of TensorFlow, or a property or method of its tensors.
_OPERATIONS = frozenset(
    {"ClassMethod", "InstanceMethod", "InstanceProperty", "SlicingOpLambda", "TFOpLambda", "TensorFlowOpLayer"}
)
# Settings of text layers that are placeholder tokens.
_TOKENS = frozenset({"mask_token", "mask_value", "oov_token"})
# Keys under which configs name layers of the graph and their arguments. Strings there open nothing; objects there are judged
# as elsewhere.
_GRAPH = frozenset({"inbound_nodes", "input_layers", "keras_history", "output_layers"})
_GRAPH_DEPTH = 10
# Settings of cell wrappers in Keras 2 that are functions.
_FUNCTIONS = ("dropout_fn", "residual_fn")
_ADDRESS = re.compile(r"(?i)\s*(?:[a-z][a-z0-9+.-]{1,20}://|\\\\[\w.-]+\\)")
_FILE = re.compile(r"\s*(?:/[\w.+~-]+/[^\s]|~[\w-]*/|[A-Za-z]:[\\/]|\.\.[\\/])|[^\n]{0,500}[\\/]\.\.[\\/]")
# Fields whose text is the name of a function or an object of Keras.
_NAMES = re.compile(
    r"(?:\w+_)?(?:activation|initializer|regularizer|constraint)|optimizer|loss|metrics|weighted_metrics"
)

# Settings that have one name, or names by output, in lists or not.
_COMPILE = frozenset({"loss", "metrics", "weighted_metrics"})
_COMPILE_DEPTH = 4
_LONGEST_NAME = 100


def name_field(place: Place) -> str:
    """Return the setting, if its strings are names of functions or objects of Keras; otherwise an empty string.

    Settings of `compile` may have names by output: `{"loss": {"out": "mse"}, "metrics": {"out": ["mae"]}}`.
    """
    if len(place.key) < _LONGEST_NAME and _NAMES.fullmatch(place.key):
        return place.key
    around = place.around
    for _ in range(_COMPILE_DEPTH):
        if around is None or (isinstance(around.value, dict) and "class_name" in around.value):
            break
        if around.key in _COMPILE:
            return around.key
        around = around.around
    return ""


def is_reference(place: Place) -> bool:
    """Return whether a string is at a position where a config names layers of the graph or their arguments."""
    if place.key in _GRAPH:
        return True
    around = place.around
    for _ in range(_GRAPH_DEPTH):
        if around is None or (isinstance(around.value, dict) and "class_name" in around.value):
            return False
        if around.key in _GRAPH:
            return True
        around = around.around
    return False


def reaches(text: str) -> bool:
    """Return whether a string looks like an address or the path of a file."""
    return _ADDRESS.match(text) is not None or _FILE.match(text) is not None


def judge_layer(place: Place) -> Iterator[Finding]:
    """What a load would do with a layer of Keras that is more than arithmetic."""
    value = place.value
    class_name, config = value.get("class_name"), value.get("config")
    if not isinstance(class_name, str):
        return
    config = config if isinstance(config, dict) else {}
    yield from _code(place, config, class_name)
    if class_name == "TFSMLayer":
        yield _external_model(place, config)
    elif class_name == "TorchModuleWrapper":
        yield _pickle(place)
    elif class_name in ("JaxLayer", "FlaxLayer"):
        yield _wrapped(place, class_name)
    elif class_name in _OPERATIONS:
        name = _operation_name(config)
        if not name or not (is_tensorflow_operation(name) or is_tensor_member(name.removeprefix("RaggedTensor."))):
            yield _operation(place, class_name, name)


def judge_name(place: Place) -> Iterator[Finding]:
    """What a load would do with the name of a function: one of Keras' own, or one that must be registered."""
    text = place.value
    field = name_field(place)
    if not field or is_known_name(text) or is_reference(place) or place.owner == "Variable":
        return
    unsafe = is_python_builtin(text) or is_no_class_of_keras(text) or "." in text
    yield Finding(
        "unsafe" if unsafe else "trust",
        "function",
        f"The model needs '{shortened(text)}' as its {field}, which is not of Keras.",
        "Loading looks it up by name, and the model runs it. The file brings no code for it.",
        place.at,
        place.path,
        "Not checked.",
    )


def judge_text(place: Place) -> Iterator[Finding]:
    """What a text in a config may reach: a file, or an address on a network."""
    text = place.value
    if place.key == "vocabulary" and (place.owner in _VOCABULARIES or place.around is None):
        yield _vocabulary(place, text)
        return
    if place.key in _TOKENS or is_reference(place):
        return
    if _ADDRESS.match(text):
        kind, what = "address", f"The config holds the address '{shortened(text)}'."
    elif _FILE.match(text):
        kind, what = "file", f"The config holds the path of a file, '{shortened(text)}'."
    else:
        return
    yield Finding(
        "trust",
        kind,
        what,
        f"What reads it is up to {place.owner or 'the object that takes it'}.",
        place.at,
        place.path,
        "Not checked.",
    )


def _code(place: Place, config: dict[str, Json], class_name: str) -> Iterator[Finding]:
    """Judge functions in the form of Keras 2: code in a list, or a name, with its type in another setting.

    Functions that are objects of their own are judged where they stand.
    """
    fields = {key.removesuffix("_type") for key in config if key.endswith("_type")}
    fields.update(("function", "output_shape") if class_name == "Lambda" else _FUNCTIONS)
    for key in sorted(fields & config.keys()):
        value, kind = config[key], config.get(f"{key}_type")
        is_function = class_name == "Lambda" or key in _FUNCTIONS
        is_code = isinstance(value, list) and value and isinstance(value[0], str) and is_function
        if is_code or kind == "lambda":
            yield Finding(
                "unsafe",
                "lambda",
                f"The {class_name} layer brings compiled Python code as its {key}.",
                "Loading turns it into a function and runs it.",
                f"{place.at}.config.{key}",
                place.path,
                "Ignored by Keras before 3.11.3 for HDF5 files; refused since." if place.legacy else "Refused.",
                ("CVE-2024-3660", "CVE-2025-9905"),
            )
        elif is_function and value is not None and (isinstance(value, str) or key in _FUNCTIONS):
            name = str(value)
            yield Finding(
                "unsafe" if is_python_builtin(name) or is_no_class_of_keras(name) else "trust",
                "function",
                f"The {class_name} layer runs '{shortened(name)}', a function found by its name.",
                "Loading looks it up, and calls it when the model is called.",
                f"{place.at}.config.{key}",
                place.path,
                "Not checked.",
                ("CVE-2025-1550",),
            )


def _external_model(place: Place, config: dict[str, Json]) -> Finding:
    return Finding(
        "unsafe",
        "saved model",
        f"A TFSMLayer loads the TensorFlow SavedModel at '{shortened(str(config.get('filepath')))}'.",
        "Loading reads that folder; its graph may read and write files when it runs.",
        f"{place.at}.config.filepath",
        place.path,
        "Refused since Keras 3.13.2; not checked before.",
        ("CVE-2026-1462",),
    )


def _operation_name(config: dict[str, Json]) -> str:
    """Return the function, property or method of TensorFlow that a layer of Keras 2 calls; empty if it is unknown."""
    parts = [config[key] for key in ("function", "cls_symbol", "method_name", "attr_name") if key in config]
    return ".".join(parts) if all(isinstance(part, str) for part in parts) else ""


def _operation(place: Place, class_name: str, name: str) -> Finding:
    return Finding(
        "trust",
        "function",
        f"A {class_name} runs a function of TensorFlow{f', {shortened(name)!r}' if name else ''}.",
        "Keras 2 looks it up by name, and the model runs it; some functions of TensorFlow read and write files.",
        place.at,
        place.path,
        "Not checked.",
    )


def _pickle(place: Place) -> Finding:
    return Finding(
        "unsafe",
        "pickle",
        "A TorchModuleWrapper brings a pickled torch module.",
        "Loading unpickles it, which runs whatever the pickle says.",
        f"{place.at}.config.module",
        place.path,
        "Refused since Keras 3.11.3; not checked before.",
        ("CVE-2025-49655",),
    )


def _wrapped(place: Place, class_name: str) -> Finding:
    return Finding(
        "trust",
        "class",
        f"A {class_name} wraps functions or modules of JAX.",
        "Loading looks them up by name, and the model runs them.",
        place.at,
        place.path,
        "The functions are checked, as everywhere.",
    )


def _vocabulary(place: Place, file: str) -> Finding:
    return Finding(
        "unsafe",
        "file",
        f"The vocabulary is read from '{shortened(file)}', not from the model file.",
        "Loading opens that file or address; what stands in it becomes part of the model, and can be read from it.",
        place.at,
        place.path,
        "Refused since Keras 3.12; not checked before.",
        ("CVE-2025-12058",),
    )
