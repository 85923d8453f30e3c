"""Layers that bring code, or read files, by what stands in their settings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ramet._files.scan.finding import Finding
from ramet._files.scan.names import is_known_name, is_python_builtin
from ramet._files.scan.place import Place
from ramet._files.text import Json

__all__ = ["judge_layer", "judge_name", "judge_text"]

_VOCABULARIES = frozenset({"StringLookup", "IntegerLookup", "IndexLookup", "TextVectorization"})
_ADDRESS = re.compile(r"(?i)\s*(?:[a-z][a-z0-9+.-]{1,20}://|\\\\[\w.-]+\\)")
_FILE = re.compile(r"\s*(?:/[\w.+~-]+/[^\s]|~[\w-]*/|[A-Za-z]:[\\/]|\.\.[\\/])|[^\n]{0,500}[\\/]\.\.[\\/]")
# Fields whose text is the name of a function or an object of Keras.
_NAMES = re.compile(
    r"(?:\w+_)?(?:activation|initializer|regularizer|constraint)|optimizer|loss|metrics|weighted_metrics"
)


def judge_layer(place: Place) -> Iterator[Finding]:
    """What a load would do with a layer of Keras that is more than arithmetic."""
    value = place.value
    class_name, config = value.get("class_name"), value.get("config")
    if not isinstance(config, dict) or not isinstance(class_name, str):
        return
    if class_name == "Lambda":
        yield from _lambda(place, config)
    elif class_name == "TFSMLayer":
        yield _external_model(place, config)
    elif class_name == "TorchModuleWrapper":
        yield _pickle(place)
    elif class_name in ("JaxLayer", "FlaxLayer"):
        yield _wrapped(place, class_name)
    elif class_name in _VOCABULARIES and isinstance(config.get("vocabulary"), str):
        yield _vocabulary(place, config["vocabulary"])


def judge_name(place: Place) -> Iterator[Finding]:
    """What a load would do with the name of a function: one of Keras' own, or one that must be registered."""
    text = place.value
    if not _NAMES.fullmatch(place.key) or is_known_name(text) or not text or place.owner in ("", "Variable"):
        return
    unsafe = is_python_builtin(text) or "." in text
    yield Finding(
        "unsafe" if unsafe else "trust",
        "function",
        f"The model needs '{text}' as its {place.key}, which is not of Keras.",
        "Loading looks it up by name, and the model runs it. The file brings no code for it.",
        place.at,
        place.path,
        "It does not look at it.",
    )


def judge_text(place: Place) -> Iterator[Finding]:
    """What a text in a config may reach: a file, or an address on a network."""
    text = place.value
    if _ADDRESS.match(text):
        kind, what = "address", f"The config holds the address '{_short(text)}'."
    elif _FILE.match(text):
        kind, what = "file", f"The config holds the path of a file, '{_short(text)}'."
    else:
        return
    yield Finding(
        "trust",
        kind,
        what,
        f"What reads it is up to {place.owner or 'the object that takes it'}.",
        place.at,
        place.path,
        "It does not look at it.",
    )


def _lambda(place: Place, config: dict[str, Json]) -> Iterator[Finding]:
    """The forms of Keras 2, where code is a list; objects that say they are lambdas are judged where they stand."""
    for key in ("function", "output_shape", "mask"):
        value = config.get(key)
        is_code = isinstance(value, list) and value and isinstance(value[0], str) and key != "mask"
        if is_code or (isinstance(value, str) and config.get(f"{key}_type", "") == "lambda"):
            yield Finding(
                "unsafe",
                "lambda",
                f"The Lambda layer brings compiled Python code as its {key}.",
                "Loading turns it into a function and runs it.",
                f"{place.at}.config.{key}",
                place.path,
                "Ignored by Keras before 3.11.3 for HDF5 files; refused since." if place.legacy else "Refused.",
                ("CVE-2024-3660", "CVE-2025-9905"),
            )
        elif isinstance(value, str) and key != "mask":
            yield Finding(
                "unsafe" if is_python_builtin(value) else "trust",
                "function",
                f"The Lambda layer runs '{value}', a function found by its name.",
                "Loading looks it up, and calls it when the model is called.",
                f"{place.at}.config.{key}",
                place.path,
                "It does not look at it.",
                ("CVE-2025-1550",),
            )


def _external_model(place: Place, config: dict[str, Json]) -> Finding:
    return Finding(
        "unsafe",
        "saved model",
        f"A TFSMLayer loads the TensorFlow SavedModel at '{_short(str(config.get('filepath')))}'.",
        "Loading reads that folder; its graph may read and write files when it runs.",
        f"{place.at}.config.filepath",
        place.path,
        "Refused since Keras 3.13.2; before, it does not look at it.",
        ("CVE-2026-1462",),
    )


def _pickle(place: Place) -> Finding:
    return Finding(
        "unsafe",
        "pickle",
        "A TorchModuleWrapper brings a pickled torch module.",
        "Loading unpickles it, which runs whatever the pickle says.",
        f"{place.at}.config.module",
        place.path,
        "Refused since Keras 3.11.3; before, it does not look at it.",
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
        "It looks at the functions, as everywhere.",
    )


def _vocabulary(place: Place, file: str) -> Finding:
    return Finding(
        "unsafe",
        "file",
        f"The vocabulary is read from '{_short(file)}', not from the model file.",
        "Loading opens that file or address; what stands in it becomes part of the model, and can be read from it.",
        f"{place.at}.config.vocabulary",
        place.path,
        "Refused since Keras 3.12; before, it does not look at it.",
        ("CVE-2025-12058",),
    )


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
