"""Why Keras does not load a file, in a sentence: its own errors print whole configs, or name a line of its code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ramet._cli.terminal import one_line
from ramet._files import is_known_name
from ramet.errors import ModelFileError

__all__ = ["load_problem"]

_LONGEST = 200
# Raw TensorFlow operations in a functional model of Keras 2.
_RAW_OPERATIONS = frozenset({"TFOpLambda", "SlicingOpLambda", "TensorFlowOpLayer", "ClassMethod", "InstanceMethod"})

_SETTINGS = (
    re.compile(r"Unrecognized keyword arguments? passed to (?P<cls>\w+): \{(?P<keys>[^}]*)\}"),
    re.compile(r"(?P<cls>\w+)\.__init__\(\) got an unexpected keyword argument (?P<keys>'\w+')"),
    re.compile(r"(?P<cls>)Argument\(s\) not recognized: \{(?P<keys>[^}]*)\}"),
)
_UNKNOWN = (
    re.compile(r"Unknown (?P<kind>[\w ]+?): '?(?P<name>[\w.>]+)'?"),
    re.compile(r"Could not locate (?P<kind>class|function) '(?P<name>[^']+)'"),
    re.compile(r"Could not deserialize (?P<kind>class|function) '(?P<name>[^']+)'"),
    re.compile(r"(?P<kind>)Could not deserialize '(?P<name>[^']+)'"),
    re.compile(r"Could not interpret (?P<kind>\w+) identifier: (?P<name>\w+)"),
)
_KEY = re.compile(r"'(\w+)'")


def load_problem(
    path: Path, file: Any, version: str, error: Exception, load_layers: Callable[[], Any]
) -> ModelFileError:
    """The error to raise for a file that Keras refused.

    Args:
        path: of the file.
        file: the file, opened by `read_archive`.
        version: of the Keras that refused it.
        error: what it raised.
        load_layers: loads the file without its compile settings; tells whether these alone are at fault.
    """
    config: Any = file.config
    found, layer, name = _reason(str(error), config)
    try:
        load_layers()
    except Exception as second:  # noqa: BLE001  # Keras raises anything
        found, layer, name = _reason(str(second), config)
        what, compiled = "the model in it", False
    else:
        what, compiled = "the settings it was compiled with", True
    old = file.kind == "legacy model" or file.metadata.get("keras_version", "").startswith("2.")
    fixes = ["add --no-compile to load its layers and weights without optimizer, loss and metrics"] if compiled else []
    if name and name not in _RAW_OPERATIONS:
        fixes.append(f"if '{name}' is yours, give the module that defines it with --import")
    if old and not compiled:
        fixes.append(
            "Keras 2 wrote the file: load it with the package tf_keras, or build the model in code and call "
            f"model.load_weights('{path.name}')"
        )
    return ModelFileError(
        f"Cannot load '{one_line(path.name)}': Keras {version} does not take {what}.",
        found=one_line(found),
        fix=one_line("; or ".join(fixes) or "see what the file holds with `ramet show`, and save it again.").rstrip(".")
        + ".",
        path=one_line(layer) if layer else str(path),
    )


def _reason(text: str, config: Any) -> tuple[str, str, str]:
    """A sentence, the layer it is about, and the class or function that Keras does not know; each empty if not known."""
    for pattern in _SETTINGS:
        if match := pattern.search(text):
            class_name, keys = match["cls"], _KEY.findall(match["keys"])
            layer = _layer_with(config, class_name, keys)
            owner = f"the layer '{layer}' ({class_name})" if layer else class_name or "the optimizer"
            settings = ", ".join(f"'{key}'" for key in keys)
            plural = "settings" if len(keys) > 1 else "setting"
            return f"{owner} has the {plural} {settings}, which this Keras does not know", layer, ""
    for pattern in _UNKNOWN:
        if match := pattern.search(text):
            name, kind = match["name"].rpartition(".")[2], match["kind"] or "object"
            layer = _layer_with(config, name, [])
            if name in _RAW_OPERATIONS:
                return f"the layer '{layer}' is a raw TensorFlow operation ({name}) of Keras 2", layer, name
            place = f" (layer '{layer}')" if layer else ""
            if is_known_name(name):
                return f"Keras does not find its own {kind} '{name}' by what the file says{place}", layer, ""
            return f"Keras knows no {kind} '{name}'{place}", layer, name
    if "Invalid Functional model configuration" in text:
        return "Keras cannot follow its call graph: it numbers the calls of nested models in another way", "", ""
    return _first_sentence(text), "", ""


def _first_sentence(text: str) -> str:
    """The innermost reason that an error gives, without the configs around it."""
    for mark in ("Exception encountered:", "Example error message for object"):
        text = text.rpartition(mark)[2]
    text = re.split(r"config=\{|Full object config|List of objects|\n\n", text.strip())[0]
    sentence = re.split(r"(?<=[.!?])\s+(?=[A-Z])", " ".join(text.split()))[0].rstrip(" .:,")
    return sentence if len(sentence) <= _LONGEST else f"{sentence[: _LONGEST - 3]}..."


def _layer_with(config: Any, class_name: str, keys: list[str]) -> str:
    """The name of the first layer of a class that has all of these settings; empty where there is none."""
    waiting = [config]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            settings = value.get("config")
            if value.get("class_name") == class_name and isinstance(settings, dict) and set(keys) <= settings.keys():
                name = settings.get("name")
                return name if isinstance(name, str) else ""
            waiting += reversed(list(value.values()))
        elif isinstance(value, list):
            waiting += reversed(value)
    return ""
