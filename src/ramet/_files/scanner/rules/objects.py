"""Objects in a config: resolve the class or function as loading would, and compare it with the list of Keras.

Python resolves a name to anything that is importable, so a deny list always lags behind. Only names on the generated
list (`keras_names.json`) pass; everything else is reported: as unsafe if Keras or Python itself owns it, and as a matter
of trust if it is code of the user or of another package.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Literal, TypeAlias

from ramet._files.scanner import names
from ramet._files.scanner.finding import Finding
from ramet._files.scanner.rule import NOT_CHECKED, ConfigValue, Rule
from ramet._report import abbreviate

_Word: TypeAlias = Literal["class", "function"]

_PLAIN = frozenset({"__keras_tensor__", "__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__"})
# Names of tensor types in HDF5 files of Keras 2.
_TYPE_SPECS = frozenset({"tf.TensorSpec", "tf.RaggedTensorSpec", "tf.SparseTensorSpec", "tf.IndexedSlicesSpec"})
_IMPORTED = (
    "Keras before 3.9 imports it from any module, whatever safe_mode is; later versions use their registry only."
)
# Functions of Keras that turn off its own guard.
_GUARDS = frozenset({"enable_unsafe_deserialization", "set_global_attribute"})


def _is_named(value: ConfigValue) -> bool:
    """Return whether an object is a class or function by name, and not one of the values that Keras writes its own way."""
    name = value.class_name
    if not isinstance(name, str) or name in _PLAIN or name in ("__lambda__", "__typespec__"):
        return False
    return not (value.legacy and name in ("TypeSpec", "CompositeTensor"))


def _unusual_object(value: ConfigValue) -> Iterator[Finding]:
    """Find plain values and tensor types that Keras would not write like this."""
    name, fields = value.class_name, value.value
    if not isinstance(name, str):
        yield _never_written(value, "class", "The config contains an object whose class name is not a string.")
    elif name in _PLAIN:
        if fields.get("module") is not None or fields.get("registered_name") is not None:
            what = f"The config gives the plain value {name} a module or a registered name."
            yield _never_written(value, "class", what)
    elif name == "TypeSpec" and value.legacy:
        if fields.get("type_spec") not in _TYPE_SPECS:
            yield _not_of_keras(value, "class", str(fields.get("type_spec")), "TensorFlow's registry of types")
    elif name == "__typespec__":
        # tf_keras creates an object of the class that this names, registered or not.
        module, spec = fields.get("module"), fields.get("spec_name")
        if not names.is_tensor_type(str(module), str(spec)) or fields.get("registered_name") is not None:
            what = f"The config names {abbreviate(f'{module}.{spec}')} as the type of a tensor."
            yield _never_written(value, "class", what)


def _named_object(value: ConfigValue) -> Iterator[Finding]:
    """Check both names of a class or function: the one in Keras' registry, and the one in a module."""
    if not _is_named(value):
        return
    is_function_object = value.class_name == "function"
    word: _Word = "function" if is_function_object else "class"
    name = value.value.get("config") if is_function_object else value.class_name
    module, registered = value.value.get("module"), value.value.get("registered_name")
    if not isinstance(name, str) or not isinstance(module, str | None) or not isinstance(registered, str | None):
        yield _never_written(value, word, f"The config names a {word} by something that is not a string.")
        return
    if value.key == "optimizer_config":
        # TensorFlow 2.11 and later write their own optimizers with this prefix.
        name = name.removeprefix("Custom>")
    if "." in name and ">" not in name:
        yield _never_written(value, word, f"The config names the {word} {abbreviate(name)}, with a dot in its name.")
        return
    if word == "class" and names.is_no_class_of_keras(name) and (value.legacy or not module):
        what = f"The config names '{name}' as a class, but Keras has something else under that name."
        yield _never_written(value, word, what)
        return
    found = list(_in_module(value, module or "", name, word))
    yield from found
    if not found and registered and registered not in (name, "function", value.class_name):
        yield _not_of_keras(value, word, registered, "Keras' registry, instead of the module")


def _in_module(value: ConfigValue, module: str, name: str, word: _Word) -> Iterator[Finding]:
    package = module.partition(".")[0]
    registered = value.value.get("registered_name")
    registered = registered if registered and ">" in registered else ""
    if not module:
        # As Keras 2 writes it, and Keras 3 for classes from a script or a notebook.
        known = names.is_known_name(name) if word == "function" else names.is_class_name(name)
        if "module" in value.value or not known:
            yield _not_of_keras(value, word, registered or name, "your own code or Keras' registry")
    elif module == "builtins" and word == "function":
        # A function without a module: one of Keras' own by name, or a user's; or one of Python, which no model needs.
        if not names.is_known_name(name):
            if names.is_python_builtin(name):
                yield _importing(value, "unsafe", word, module, name, "It is a built-in function of Python.")
            else:
                yield _not_of_keras(value, word, name, "Keras' registry")
    elif package in names.KERAS_PACKAGES:
        yield from _in_keras(value, module, name, word)
    elif (
        package == "tensorflow"
        and word == "class"
        and (names.is_class(module, name) or names.is_tensor_type(module, name))
    ):
        return
    elif package in sys.stdlib_module_names:
        why = "It belongs to Python's standard library, which no model needs."
        yield _importing(value, "unsafe", word, module, name, why)
    elif package in names.ADDED_PACKAGES:
        why = f"Keras imports the package {package}, if it is installed."
        yield _importing(value, "trust", word, module, name, why)
    else:
        yield _not_of_keras(value, word, registered or f"{module}.{name}", f"the module {abbreviate(module)}")


def _in_keras(value: ConfigValue, module: str, name: str, word: _Word) -> Iterator[Finding]:
    if names.is_function(module, name) if word == "function" else names.is_class(module, name):
        return
    is_other = names.is_class(module, name) if word == "function" else names.is_function(module, name)
    reason = f"which is not a {word}" if is_other else "which is not part of a model"
    yield value.finding(
        "unsafe",
        word,
        f"The config names {abbreviate(f'{module}.{name}')}, {reason}.",
        "Loading looks it up, and may import it or call it with arguments from the file: to download, to write, to load "
        "another model, or to turn safe_mode off.",
        "Not checked before Keras 3.11; later versions refuse the best known of these functions.",
        ("CVE-2025-9906",) if name in _GUARDS else ("CVE-2025-8747", "CVE-2025-9906"),
    )


def _never_written(value: ConfigValue, word: _Word, what: str) -> Finding:
    """Return a finding about something that Keras never writes, and that readers may interpret in different ways."""
    effect = "Keras has never written such a name; the effect of loading it differs between versions."
    return value.finding("unsafe", word, what, effect)


def _not_of_keras(value: ConfigValue, word: _Word, name: str, source: str) -> Finding:
    return value.finding(
        "trust",
        word,
        f"The model needs the {word} {abbreviate(name)}, which is not part of Keras.",
        f"Loading takes this {word} from {source} and runs it. The file does not contain its code.",
        _IMPORTED,
        ("CVE-2025-1550",),
        name=name if ">" in name else name.rpartition(".")[2],
    )


def _importing(
    value: ConfigValue, severity: Literal["unsafe", "trust"], word: _Word, module: str, name: str, why: str
) -> Finding:
    return value.finding(
        severity,
        word,
        f"The config names the {word} {abbreviate(f'{module}.{name}')}.",
        f"Loading may import {abbreviate(module)} and call it with arguments from the file. {why}",
        _IMPORTED if severity == "unsafe" else NOT_CHECKED,
        ("CVE-2025-1550",) if severity == "unsafe" else (),
    )


UNUSUAL_OBJECT = Rule(
    "object that Keras does not write",
    "object",
    _unusual_object,
    example={"class_name": "__slice__", "config": {}, "module": "this"},
    harmless={"class_name": "__slice__", "config": {}},
)
NAMED_OBJECT = Rule(
    "class or function",
    "object",
    _named_object,
    example={"class_name": "function", "config": "system", "module": "os", "registered_name": "system"},
    harmless={"class_name": "Dense", "config": {}, "module": "keras.layers", "registered_name": None},
)
