"""Copy rules for Keras' own classes: attributes into a bare object, with handlers for special attributes.

Three kinds of attribute are special: those that hold identities (ids, positions), those that belong to the running or
compiled original, and the lists of calls. An op lists every call it ever had, from every model. The twin takes only its
own: calls named by functional models inside it, and calls that produced one of its tensors.
"""

from __future__ import annotations

from typing import Any

import keras

from ramet._copy.attributes import AttributesRule, EmptyContainer, FillLater, Handler, Value
from ramet._copy.copier import Copier
from ramet._copy.rule import CopyRule
from ramet._copy.values import start_copying
from ramet._keras import calls, names, structure


def keras_rule(cls: type) -> CopyRule | None:
    """Return the copy rule for a class of Keras or a subclass of one, or None."""
    if not structure.is_keras_class(cls):
        return None
    if issubclass(cls, keras.KerasTensor):
        return KerasTensorRule(cls, {names.HISTORY: _LATER}, topic="tensors")
    if issubclass(cls, keras.Variable):
        return KerasVariableRule(cls, {names.VALUE: Value()}, is_state=True, topic="variables")
    if issubclass(cls, keras.Operation):
        return AttributesRule(cls, _op_handlers(cls), is_state=True, topic="ops")
    if structure.is_call_class(cls):
        return AttributesRule(cls, topic="calls")
    if structure.is_tracker_class(cls):
        return AttributesRule(cls, {names.STORED_IDS: _LATER}, topic="trackers")
    if issubclass(cls, keras.optimizers.Optimizer):
        return AttributesRule(cls, {names.VARIABLE_INDICES: _empty_indices}, is_state=True, topic="optimizers")
    if issubclass(cls, keras.random.SeedGenerator):
        return AttributesRule(cls, is_state=True, topic="generators")
    if issubclass(cls, keras.initializers.Initializer):
        return AttributesRule(cls, topic="initializers")
    if issubclass(cls, keras.metrics.Metric | keras.losses.Loss):
        return AttributesRule(cls, is_state=True)
    if issubclass(cls, dict | list | set | tuple):
        return None  # tracking containers
    return AttributesRule(cls)


class KerasVariableRule(AttributesRule):
    """A variable. Copying in batches starts as soon as the variables are known."""

    form = "attributes"
    wants_after = True

    def after(self, pairs: list[tuple[Any, Any]], copier: Copier) -> None:
        if copier.records["values"]:
            start_copying(copier)


class KerasTensorRule(AttributesRule):
    """A symbolic tensor. The call it comes from belongs to the twin as well."""

    form = "attributes"
    wants_after = True

    def after(self, pairs: list[tuple[Any, Any]], copier: Copier) -> None:
        copier.copy_each([producer for old, _ in pairs if (producer := calls.producer(old)) is not None])


_LATER = FillLater()
_CALLS = EmptyContainer(list, calls.WRAPPED)
_IDS = EmptyContainer(set)
_INDICES = EmptyContainer(dict)
_DEPENDENCIES = EmptyContainer(list)
_DEPENDENCY_NAMES = EmptyContainer(dict)


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
    """Make a dict of the same class without the ids of variables; the finish step adds those of the twin's variables."""
    if not isinstance(value, dict) or type(value).__module__.startswith("tensorflow"):
        target[name] = copier.copy(value)  # a wrapper of TensorFlow, whose keys are names
        return
    _INDICES(old, target, name, value, copier)


def _running(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    """Drop compiled functions and the state of a running loop, which belong to the original."""
    target[name] = names.RUNNING[name]


def _compiled(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    if copier.keep_compiled:
        target[name] = copier.copy(value)
    elif names.COMPILED[name] is names.ABSENT:
        del target[name]
    else:
        target[name] = names.COMPILED[name]


def _dropped(old: Any, copier: Copier) -> set[str]:
    """Return the attributes that are not copied to the twin.

    The lists of calls are made first: they are dependencies of a checkpoint as well.
    """
    for name in (names.INBOUND, names.OUTBOUND):
        if name in old.__dict__:
            _CALLS.twin(old.__dict__[name], copier)
    if not isinstance(old, keras.Model):
        return set()
    return set(names.RUNNING) | (set() if copier.keep_compiled else set(names.COMPILED))


def _dependencies(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    """Copy the objects that TensorFlow's checkpoints refer to, without compiled functions."""
    dropped = _dropped(old, copier)
    new = _DEPENDENCIES.fresh(value, copier)
    list.extend(new, [copier.copy(reference) for reference in list(value) if reference.name not in dropped])
    target[name] = new


def _dependency_names(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    dropped = _dropped(old, copier)
    new = _DEPENDENCY_NAMES.fresh(value, copier)
    dict.update(new, {key: copier.copy(part) for key, part in list(value.items()) if key not in dropped})
    target[name] = new
