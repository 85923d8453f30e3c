"""Which plan a class gets: the user's word first, then Keras', then the library's it comes from, then the general rule."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from ramet._copy.atoms import is_shared_class
from ramet._copy.callables import FUNCTION_PLANS
from ramet._copy.classes import hides_attributes, slot_names
from ramet._copy.containers import CONTAINER_BASES, CONTAINER_PLANS, SlottedPlan
from ramet._copy.keras_plans import keras_plan
from ramet._copy.numpy_plans import numpy_plan
from ramet._copy.objects import CustomPlan, RefusePlan, generic_plan, is_plain
from ramet._copy.plan import Assembly, IntPlan, Plan, Share, ShareByWish
from ramet._copy.stdlib import stdlib_plan
from ramet._copy.weak import weak_plan

CopyFunction = Callable[[Any, Callable[[Any], Any]], Any]

_SHARE = Share()
_HIDDEN = RefusePlan("its class has a property in the place of __dict__, so what it holds cannot be seen")
_registered: dict[type, Plan] = {}
_known: weakref.WeakKeyDictionary[type, Plan] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def register(cls: type, how: str | CopyFunction) -> None:
    """The user's word on a class and its subclasses."""
    plan: Plan
    if how == "share":
        plan = ShareByWish()
    elif how == "refuse":
        plan = RefusePlan(f"{cls.__name__} is registered as not to be copied")
    else:
        plan = CustomPlan(how)  # type: ignore[arg-type]  # the caller checked that it is callable
    with _lock:
        _registered[cls] = plan
        _known.clear()


def plan_for(cls: type) -> Plan:
    """The plan for a class, remembered for as long as the class lives."""
    plan = _known.get(cls)
    if plan is None:
        plan = _choose(cls)
        with _lock:
            _known[cls] = plan
    return plan


def _choose(cls: type) -> Plan:
    for base in cls.__mro__:
        if base in _registered:
            return _registered[base]
        if "__ramet_copy__" in base.__dict__:
            return CustomPlan(lambda old, copy: old.__ramet_copy__(copy))
    if cls is int:
        return IntPlan()
    exact = CONTAINER_PLANS.get(cls) or FUNCTION_PLANS.get(cls)
    if exact is not None:
        return exact  # type: ignore[no-any-return]
    if not is_shared_keras(cls):
        plan = keras_plan(cls)
        if plan is not None:
            return plan
    for library in _libraries():
        plan = library(cls)
        if plan is not None:
            return plan
    if is_shared_class(cls):
        return _SHARE
    for base, container in CONTAINER_BASES + tuple(FUNCTION_PLANS.items()):
        if issubclass(cls, base):
            if hides_attributes(cls):
                return _HIDDEN
            slots = slot_names(cls)
            if slots and isinstance(container, Assembly):
                return RefusePlan("it cannot change once it is made, but its class keeps attributes in __slots__")
            return SlottedPlan(container, slots) if slots else container
    return _HIDDEN if is_plain(cls) and hides_attributes(cls) else generic_plan(cls)


def is_shared_keras(cls: type) -> bool:
    """Policies, specs and layouts: Keras' classes of values that nothing changes."""
    return cls.__module__.partition(".")[0] == "keras" and is_shared_class(cls) and not _is_variable(cls)


def _is_variable(cls: type) -> bool:
    import keras

    return issubclass(cls, keras.Variable)


def _libraries() -> list[Callable[[type], Plan | None]]:
    """The plans of the libraries that are loaded. What is not loaded has no objects."""
    chosen: list[Callable[[type], Plan | None]] = [stdlib_plan, weak_plan, numpy_plan]
    if "torch" in sys.modules:
        from ramet._copy.torch_plans import torch_plan

        chosen.append(torch_plan)
    if "jax" in sys.modules:
        from ramet._copy.jax_plans import jax_plan

        chosen.append(jax_plan)
    if "tensorflow" in sys.modules:
        from ramet._copy.tensorflow_plans import tensorflow_plan

        chosen.append(tensorflow_plan)
    return chosen
