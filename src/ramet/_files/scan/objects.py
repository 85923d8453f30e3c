"""Objects in a config: find the class or function that loading would find, as Keras does, and check the list."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._files.scan.finding import Finding, Severity
from ramet._files.scan.names import (
    ADDED_PACKAGES,
    KERAS_PACKAGES,
    MODEL_CLASSES,
    is_class,
    is_function,
    is_known_name,
    is_no_class_of_keras,
    is_python_builtin,
    is_standard_library,
    is_tensor_type,
)
from ramet._files.scan.place import Place
from ramet._graph import shortened

__all__ = ["judge_object"]

_PLAIN = frozenset({"__keras_tensor__", "__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__"})
# Names of tensor types in HDF5 files of Keras 2.
_TYPE_SPECS = frozenset({"tf.TensorSpec", "tf.RaggedTensorSpec", "tf.SparseTensorSpec", "tf.IndexedSlicesSpec"})
_IMPORTED = (
    "Keras before 3.9 imports it from any module, whatever safe_mode says; later ones look in their registry only."
)
_NOT_CHECKED = "Not checked."
# Functions of Keras that turn its own guard off.
_GUARDS = frozenset({"enable_unsafe_deserialization", "set_global_attribute"})


def judge_object(place: Place) -> Iterator[Finding]:
    """What a load would do with an object that stands in a config."""
    value = place.value
    class_name = value["class_name"]
    if not isinstance(class_name, str):
        yield _odd(place, "class", "The config holds an object whose class has no name, only data in its place.")
    elif class_name in _PLAIN:
        if value.get("module") is not None or value.get("registered_name") is not None:
            yield _odd(place, "class", f"The config gives the plain value {class_name} a module or a registered name.")
    elif class_name == "TypeSpec" and place.legacy:
        if value.get("type_spec") not in _TYPE_SPECS:
            yield _custom(place, "class", str(value.get("type_spec")), "TensorFlow's registry of types")
    elif class_name == "CompositeTensor" and place.legacy:
        return
    elif class_name == "__lambda__":
        yield _code(place)
    elif class_name == "__typespec__":
        # tf_keras creates an object of the class that this names, registered or not.
        module, name = value.get("module"), value.get("spec_name")
        if not is_tensor_type(str(module), str(name)) or value.get("registered_name") is not None:
            yield _odd(place, "class", f"The config names {shortened(f'{module}.{name}')} as the type of a tensor.")
    elif class_name == "function":
        yield from _named(place, value.get("config"), "function")
    else:
        yield from _named(place, class_name, "class")


def _named(place: Place, name: object, word: str) -> Iterator[Finding]:
    """Judge both names of an object: the one for Keras' registry, and the one for a module."""
    module, registered = place.value.get("module"), place.value.get("registered_name")
    if not isinstance(name, str) or not isinstance(module, str | None) or not isinstance(registered, str | None):
        yield _odd(place, word, f"The config names a {word} by something that is no text.")
        return
    if place.key == "optimizer_config":
        # TensorFlow 2.11 and later call their own optimizers so.
        name = name.removeprefix("Custom>")
    if "." in name and ">" not in name:
        yield _odd(place, word, f"The config names the {word} {shortened(name)}, with a dot in its name.")
        return
    if word == "class" and is_no_class_of_keras(name) and (place.legacy or not module):
        yield _odd(place, word, f"The config names '{name}' as a class, which is something else in Keras.")
        return
    found = list(_in_module(place, module or "", name, word))
    yield from found
    if found or not registered or registered in (name, "function", place.value["class_name"]):
        return
    yield _custom(place, word, registered, "the registry, in place of what the module holds")


def _in_module(place: Place, module: str, name: str, word: str) -> Iterator[Finding]:
    package = module.partition(".")[0]
    if not module:
        yield from _bare(place, name, word)
    elif module == "builtins" and word == "function":
        yield from _builtin(place, name)
    elif package in KERAS_PACKAGES:
        yield from _of_keras(place, module, name, word)
    elif package == "tensorflow" and word == "class" and (is_class(module, name) or is_tensor_type(module, name)):
        return
    elif is_standard_library(module):
        yield _finding(place, "unsafe", word, module, name, "It belongs to Python itself, and to no model.")
    elif package in ADDED_PACKAGES:
        yield _finding(place, "trust", word, module, name, f"Keras imports the package {package}, if it is installed.")
    else:
        registered = place.value.get("registered_name")
        own = registered if registered and ">" in registered else f"{module}.{name}"
        yield _custom(place, word, own, f"the module {shortened(module)}")


def _bare(place: Place, name: str, word: str) -> Iterator[Finding]:
    """Judge a name without a module, as Keras 2 writes it, and Keras 3 for classes from a script or a notebook."""
    if "module" in place.value or not (is_known_name(name) if word == "function" else name in MODEL_CLASSES):
        registered = place.value.get("registered_name")
        yield _custom(
            place, word, registered if registered and ">" in registered else name, "a script, or the registry"
        )


def _builtin(place: Place, name: str) -> Iterator[Finding]:
    """A function without a module: one of Keras' own by name, or a user's; or one of Python, which no model needs."""
    if is_known_name(name):
        return
    if is_python_builtin(name):
        yield _finding(place, "unsafe", "function", "builtins", name, "It is one of Python's own functions.")
    else:
        yield _custom(place, "function", name, "the registry")


def _of_keras(place: Place, module: str, name: str, word: str) -> Iterator[Finding]:
    if is_function(module, name) if word == "function" else is_class(module, name):
        return
    wrong = is_class(module, name) if word == "function" else is_function(module, name)
    resolved = shortened(f"{module}.{name}")
    what = f"The config names {resolved}, which is no {word}." if wrong else (
        f"The config names {resolved}, which is no part of a model."
    )  # fmt: skip
    yield Finding(
        "unsafe",
        word,
        what,
        "Loading looks it up, and may import it or call it with arguments from the file: to download, to write, to load "
        "another model, or to turn safe_mode off.",
        place.at,
        place.path,
        "Not checked before Keras 3.11; later versions refuse the best known of these functions.",
        ("CVE-2025-9906",) if name in _GUARDS else ("CVE-2025-8747", "CVE-2025-9906"),
    )


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


def _odd(place: Place, word: str, what: str) -> Finding:
    """Judge what Keras never writes, and what different readers may read in different ways."""
    effect = "Keras has never written such a name; what a load makes of it differs between its versions."
    return Finding("unsafe", word, what, effect, place.at, place.path, _NOT_CHECKED)


def _custom(place: Place, word: str, name: str, source: str) -> Finding:
    return Finding(
        "trust",
        word,
        f"The model needs the {word} {shortened(name)}, which is not of Keras.",
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
        f"The config names the {word} {shortened(f'{module}.{name}')}.",
        f"Loading may import {shortened(module)} and call it with arguments from the file. {why}",
        place.at,
        place.path,
        _IMPORTED if severity == "unsafe" else _NOT_CHECKED,
        ("CVE-2025-1550",) if severity == "unsafe" else (),
    )
