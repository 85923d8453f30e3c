"""The copier: copy the object graph of live Keras objects.

A model, layer, optimizer, metric or loss (or a collection of them) goes in; its twin comes out: the same classes, values and
sharing, and nothing mutable in common with the original. `copy_model` walks Python objects instead of configs. A copy rule per
class defines how its instances are copied, and `register_copy` lets users add rules. `ramet.clone` is built on it.

    model            `copy_model`: the walk, then values and the finish step; refusal: errors with a path
    walk, copier     the walk over the objects, in Python; _compiled: the compiled version for common objects
    rule, rules      the base classes of copy rules, and the choice of the rule for a class
    atoms            values that are shared
    attributes, containers, functions, objects    rules for Python objects
    keras_rules, numpy_rules, jax_rules, torch_rules, tensorflow_rules, stdlib_rules    rules for libraries
    values           values of variables, copied together
    finish           ids and other identities, `name=` and `seed=`
    shared_globals   warnings about globals that both models use

Names are imported on first use: `ramet --version` calls `why_python_walk` and must not import Keras.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ramet._copy._compiled import uses_compiled_walk, why_python_walk

if TYPE_CHECKING:
    from ramet._copy.model import copy_model
    from ramet._copy.rules import register_copy

__all__ = ["copy_model", "register_copy", "uses_compiled_walk", "why_python_walk"]

_MODULES = {"copy_model": "model", "register_copy": "rules"}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'ramet._copy' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"ramet._copy.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
