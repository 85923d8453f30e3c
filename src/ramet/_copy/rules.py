"""Choose the copy rule of a class.

Rules are chosen by the class of an object and not by the backend in use: lookup layers hold TensorFlow objects on JAX
and torch. The first match wins: rules of the user (`register_copy`, `__ramet_copy__`), Keras' classes, the classes of
other libraries, shared classes, containers, and the generic rule. To add rules for another library, write a module with
a function like `numpy_rule` and add it to `_libraries`.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from ramet._copy.atoms import is_shared_class
from ramet._copy.attributes import hides_attributes, slot_names
from ramet._copy.containers import CONTAINER_BASES, CONTAINER_RULES, SlottedRule
from ramet._copy.functions import FUNCTION_RULES
from ramet._copy.keras_rules import keras_rule
from ramet._copy.numpy_rules import numpy_rule
from ramet._copy.objects import CustomRule, RefuseRule, generic_rule, is_plain
from ramet._copy.rule import AssemblyRule, CopyRule, IntRule, ShareOnRequestRule, ShareRule
from ramet._copy.stdlib_rules import stdlib_rule, weak_rule
from ramet.errors import ArgumentError, shown

CopyFunction = Callable[[Any, Callable[[Any], Any]], Any]
_SHARE = ShareRule()
_HIDDEN = RefuseRule("its class defines __dict__ as a property, which hides its attributes")
_registered: dict[type, CopyRule] = {}
_known: weakref.WeakKeyDictionary[type, CopyRule] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def register_copy(cls: type, how: str | CopyFunction) -> None:
    """Set how objects of a class, and of its subclasses, are copied.

    Args:
        cls: The class. For a class of your own, a method `__ramet_copy__(self, copy)` does the same.
        how: `"share"`: the twin uses the same objects. `"refuse"`: cloning fails, and the error names the path of the
            object. Or a function `how(obj, copy)` that returns the new object; `copy(part)` returns the twin of a part,
            complete except for values of variables and for objects that refer to `obj`: these are filled in later.

    Raises:
        ArgumentError: `cls` is not a class, or `how` is not a valid rule.

    >>> import ramet
    >>> class Connection:
    ...     pass
    >>> ramet.register_copy(Connection, "share")
    """
    if not isinstance(cls, type):
        raise ArgumentError(
            f"Cannot register {cls!r}: it is not a class.",
            fix="pass the class itself, not its name or an instance of it.",
        )
    rule: CopyRule
    choice: Any = how  # may be anything, even an array, whose comparison has no truth value
    if callable(choice):
        rule = CustomRule(choice)
    elif isinstance(choice, str) and choice == "share":
        rule = ShareOnRequestRule()
    elif isinstance(choice, str) and choice == "refuse":
        rule = RefuseRule(f"{cls.__name__} is registered as not to be copied")
    else:
        raise ArgumentError(
            f"Cannot register {cls.__name__} with {shown(how)}: unknown copy rule.",
            expected="'share', 'refuse', or a function how(obj, copy)",
            fix="pass one of these.",
        )
    with _lock:
        _registered[cls] = rule
        _known.clear()


def rule_for(cls: type) -> CopyRule:
    """Return the copy rule for a class, cached as long as the class exists."""
    rule = _known.get(cls)
    if rule is None:
        rule = _choose(cls)
        with _lock:
            _known[cls] = rule
    return rule


def _choose(cls: type) -> CopyRule:
    for base in cls.__mro__:
        if base in _registered:
            return _registered[base]
        if "__ramet_copy__" in base.__dict__:
            return CustomRule(lambda old, copy: old.__ramet_copy__(copy))
    if cls is int:
        return IntRule()
    exact = CONTAINER_RULES.get(cls) or FUNCTION_RULES.get(cls)
    if exact is not None:
        return exact  # type: ignore[no-any-return]
    if not _is_shared_keras(cls):
        rule = keras_rule(cls)
        if rule is not None:
            return rule
    for library in _libraries():
        rule = library(cls)
        if rule is not None:
            return rule
    if is_shared_class(cls):
        return _SHARE
    for base, container in CONTAINER_BASES + tuple(FUNCTION_RULES.items()):
        if issubclass(cls, base):
            if hides_attributes(cls):
                return _HIDDEN
            slots = slot_names(cls)
            if slots and isinstance(container, AssemblyRule):
                return RefuseRule("it is immutable, but its class keeps attributes in __slots__")
            return SlottedRule(container, slots) if slots else container
    return _HIDDEN if is_plain(cls) and hides_attributes(cls) else generic_rule(cls)


def _is_shared_keras(cls: type) -> bool:
    """Return whether a class of Keras has immutable instances: policies, specs and layouts."""
    return cls.__module__.partition(".")[0] == "keras" and is_shared_class(cls) and not _is_variable(cls)


def _is_variable(cls: type) -> bool:
    import keras

    return issubclass(cls, keras.Variable)


def _libraries() -> list[Callable[[type], CopyRule | None]]:
    """Return the rules of the libraries that are loaded. A library that is not loaded has no objects."""
    chosen: list[Callable[[type], CopyRule | None]] = [stdlib_rule, weak_rule, numpy_rule]
    if "torch" in sys.modules:
        from ramet._copy.torch_rules import torch_rule

        chosen.append(torch_rule)
    if "jax" in sys.modules:
        from ramet._copy.jax_rules import jax_rule

        chosen.append(jax_rule)
    if "tensorflow" in sys.modules:
        from ramet._copy.tensorflow_rules import tensorflow_rule

        chosen.append(tensorflow_rule)
    return chosen
