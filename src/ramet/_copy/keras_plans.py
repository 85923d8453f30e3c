"""Keras' own classes: attributes into a bare object, with the attributes that need more than a copy.

Three kinds of attribute are special: those that hold identities (ids, positions), those that belong to the running or
compiled original, and the list of calls, of which a twin takes its own and no others.
"""

from __future__ import annotations

from typing import Any

import keras

from ramet._copy.attributes import AttributesPlan
from ramet._copy.copier import Copier
from ramet._copy.handlers import Emptied, Later, Value
from ramet._copy.plan import Plan
from ramet._copy.values import start_copying
from ramet._copy.values_by_name import Handler
from ramet._keras import calls, kinds, names


def keras_plan(cls: type) -> Plan | None:
    """The plan for a class of Keras' or a subclass of one, or None."""
    if not kinds.is_keras_class(cls):
        return None
    if issubclass(cls, keras.KerasTensor):
        return TensorPlan(cls, {names.HISTORY: _LATER}, topic="tensors")
    if issubclass(cls, keras.Variable):
        return VariablePlan(cls, {names.VALUE: Value()}, is_state=True, topic="variables")
    if issubclass(cls, keras.Operation):
        return AttributesPlan(cls, _op_handlers(cls), is_state=True, topic="ops")
    if kinds.is_call_class(cls):
        return AttributesPlan(cls, topic="calls")
    if kinds.is_tracker_class(cls):
        return AttributesPlan(cls, {names.STORED_IDS: _LATER}, topic="trackers")
    if issubclass(cls, keras.optimizers.Optimizer):
        return AttributesPlan(cls, {names.VARIABLE_INDICES: _empty_indices}, is_state=True, topic="optimizers")
    if issubclass(cls, keras.random.SeedGenerator):
        return AttributesPlan(cls, is_state=True, topic="generators")
    if issubclass(cls, keras.initializers.Initializer):
        return AttributesPlan(cls, topic="initializers")
    if issubclass(cls, keras.metrics.Metric | keras.losses.Loss):
        return AttributesPlan(cls, is_state=True)
    if issubclass(cls, dict | list | set | tuple):
        return None  # the containers that track
    return AttributesPlan(cls)


class VariablePlan(AttributesPlan):
    """A variable. Where values are copied in one call, those of many variables are under way as soon as they are known."""

    form = "attributes"
    wants_after = True

    def after(self, pairs: list[tuple[Any, Any]], copier: Copier) -> None:
        if copier.records["values"]:
            start_copying(copier)


class TensorPlan(AttributesPlan):
    """A symbolic tensor. The call it comes from belongs to the twin as well."""

    form = "attributes"
    wants_after = True

    def after(self, pairs: list[tuple[Any, Any]], copier: Copier) -> None:
        copier.copy_each([producer for old, _ in pairs if (producer := calls.producer(old)) is not None])


_LATER = Later()
_CALLS = Emptied(list, calls.WRAPPED)
_IDS = Emptied(set)
_INDICES = Emptied(dict)
_DEPENDENCIES = Emptied(list)
_DEPENDENCY_NAMES = Emptied(dict)


def _op_handlers(cls: type) -> dict[str, Handler]:
    handlers: dict[str, Handler] = {
        names.INBOUND: _CALLS,
        names.OUTBOUND: _CALLS,
        names.LOSS_IDS: _IDS,
        names.TF_DEPENDENCIES: _dependencies,
        names.TF_DEPENDENCY_NAMES: _dependency_names,
    }
    if issubclass(cls, keras.Function):
        handlers[names.NODES] = _LATER
        handlers[names.NNX_OPS] = _LATER
    if issubclass(cls, keras.Model):
        handlers |= dict.fromkeys(names.COMPILED, _compiled) | dict.fromkeys(names.RUNNING, _running)
    return handlers


def _empty_indices(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    """A dict of the same class, without the ids of variables: the finish step puts in those of the twin's."""
    if not isinstance(value, dict) or type(value).__module__.startswith("tensorflow"):
        target[name] = copier.copy(value)  # a wrapper of TensorFlow's, whose keys are names
        return
    _INDICES(old, target, name, value, copier)


def _running(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    """Compiled functions and the state of a running loop belong to the original."""
    target[name] = names.RUNNING[name]


def _compiled(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    if copier.keep_compiled:
        target[name] = copier.copy(value)
    elif names.COMPILED[name] is names.ABSENT:
        del target[name]
    else:
        target[name] = names.COMPILED[name]


def _dropped(old: Any, copier: Copier) -> set[str]:
    """The attributes a twin does not take over. The lists of calls are made first: they stand among the dependencies."""
    for name in (names.INBOUND, names.OUTBOUND):
        if name in old.__dict__:
            _CALLS.twin(old.__dict__[name], copier)
    if not isinstance(old, keras.Model):
        return set()
    return set(names.RUNNING) | (set() if copier.keep_compiled else set(names.COMPILED))


def _dependencies(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    """What TensorFlow's checkpoints refer to; compiled functions sit among them."""
    dropped = _dropped(old, copier)
    new = _DEPENDENCIES.fresh(value, copier)
    list.extend(new, [copier.copy(reference) for reference in list(value) if reference.name not in dropped])
    target[name] = new


def _dependency_names(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    dropped = _dropped(old, copier)
    new = _DEPENDENCY_NAMES.fresh(value, copier)
    dict.update(new, {key: copier.copy(part) for key, part in list(value.items()) if key not in dropped})
    target[name] = new
