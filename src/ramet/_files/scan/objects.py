"""Objects in a config: which class or function of which module a load would find and run."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._files.scan.finding import Finding, Severity
from ramet._files.scan.names import (
    ADDED_PACKAGES,
    KERAS_PACKAGES,
    MODEL_CLASSES,
    is_known_name,
    is_model_module,
    is_python_builtin,
    is_standard_library,
)
from ramet._files.scan.place import Place

__all__ = ["judge_object"]

_PLAIN = frozenset({"__keras_tensor__", "__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__"})
_IMPORTED = (
    "Keras before 3.9 imports it from any module, whatever safe_mode says; later ones look in their registry only."
)
_NOT_CHECKED = "It does not look at it."
# Functions of Keras that turn its own guard off.
_GUARDS = frozenset({"enable_unsafe_deserialization", "set_global_attribute"})


def judge_object(place: Place) -> Iterator[Finding]:
    """What a load would do with an object that stands in a config."""
    value = place.value
    class_name = value.get("class_name")
    if not isinstance(class_name, str) or class_name in _PLAIN:
        return
    if class_name == "__lambda__":
        yield _code(place)
    elif class_name == "__typespec__":
        yield from _named(place, str(value.get("spec_name")), functions=False)
    elif class_name == "function":
        name = value.get("config")
        yield from _named(place, name if isinstance(name, str) else str(value.get("registered_name")), functions=True)
    elif "config" in value or "module" in value:
        yield from _named(place, class_name, functions=False)


def _code(place: Place) -> Finding:
    refused = "Refused." if not place.legacy else "Ignored by Keras before 3.11.3 for this format; refused since."
    return Finding(
        "unsafe",
        "lambda",
        "The file brings compiled Python code, a lambda.",
        "Loading turns it into a function; calling the model, which loading may do, runs it.",
        place.at,
        place.path,
        refused,
        ("CVE-2024-3660", "CVE-2025-9905") if place.legacy else ("CVE-2024-3660",),
    )


def _named(place: Place, name: str, *, functions: bool) -> Iterator[Finding]:
    module, registered = place.value.get("module"), place.value.get("registered_name")
    word = "function" if functions else "class"
    if place.key == "optimizer_config":
        # TensorFlow 2.11 and later call their own optimizers so.
        name = name.removeprefix("Custom>")
    if isinstance(registered, str) and ">" in registered:
        yield _custom(place, word, registered, "the registry")
        return
    if module is None or not isinstance(module, str) or not module:
        # The old format names classes without modules; and so does Keras for what was made in a script or notebook.
        if "module" in place.value or not (is_known_name(name) if functions else name in MODEL_CLASSES):
            yield _custom(place, word, name, "a script, or the registry")
        return
    package = module.partition(".")[0]
    if functions and module == "builtins":
        yield from _builtin(place, name)
    elif package in KERAS_PACKAGES:
        yield from _of_keras(place, module, name, functions=functions)
    elif is_standard_library(module):
        yield _finding(place, "unsafe", word, module, name, "It belongs to Python itself, and to no model.")
    elif package in ADDED_PACKAGES:
        yield _finding(place, "trust", word, module, name, f"Keras imports the package {package}, if it is installed.")
    else:
        yield _custom(place, word, f"{module}.{name}", f"the module {module}")


def _builtin(place: Place, name: str) -> Iterator[Finding]:
    """A function without a module: one of Keras' own by name, or a user's; or one of Python, which no model needs."""
    if is_known_name(name):
        return
    if is_python_builtin(name):
        yield _finding(place, "unsafe", "function", "builtins", name, "It is one of Python's own functions.")
    else:
        yield _custom(place, "function", name, "the registry")


def _of_keras(place: Place, module: str, name: str, *, functions: bool) -> Iterator[Finding]:
    registered = place.value.get("registered_name")
    if not is_model_module(module, name, functions=functions):
        advisories = ("CVE-2025-9906",) if name in _GUARDS else ("CVE-2025-8747", "CVE-2025-9906")
        yield Finding(
            "unsafe",
            "function" if functions else "class",
            f"The config names {module}.{name}, which is no part of a model.",
            "Loading looks it up, and may call it with arguments from the file: to download, to write, to load another "
            "model, or to turn safe_mode off.",
            place.at,
            place.path,
            "Keras before 3.11 does not look at it; later ones refuse the best known of these functions.",
            advisories,
        )
    elif isinstance(registered, str) and registered not in (name, place.value.get("class_name"), ""):
        yield _custom(place, "class", registered, "the registry, in place of one of Keras")


def _custom(place: Place, word: str, name: str, source: str) -> Finding:
    return Finding(
        "trust",
        word,
        f"The model needs the {word} {name}, which is not of Keras.",
        f"Loading runs it, from {source}. The file brings no code for it.",
        place.at,
        place.path,
        _IMPORTED,
        ("CVE-2025-1550",),
    )


def _finding(place: Place, severity: Severity, word: str, module: str, name: str, why: str) -> Finding:
    return Finding(
        severity,
        word,
        f"The config names the {word} {module}.{name}.",
        f"Loading may import {module} and call it with arguments from the file. {why}",
        place.at,
        place.path,
        _IMPORTED if severity == "unsafe" else _NOT_CHECKED,
        ("CVE-2025-1550",) if severity == "unsafe" else (),
    )
