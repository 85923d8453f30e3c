"""Keras' own classes: attributes into a bare object, with the attributes that need more than a copy.

Three kinds of attribute are special: those that hold identities (ids, positions), those that belong to the running or
compiled original, and the list of calls, of which a twin takes its own and no others.
"""

from __future__ import annotations

import types
from typing import Any

import keras

from ramet._keras import calls, kinds, names
from ramet._twin.attributes import AttributesPlan
from ramet._twin.copier import Copier
from ramet._twin.functions import holds_nothing, is_of_a_library
from ramet._twin.plan import Plan
from ramet._twin.tracked import empty_like
from ramet._twin.values import start_copying
from ramet._twin.values_by_name import Handler


def keras_plan(cls: type) -> Plan | None:
    """The plan for a class of Keras' or a subclass of one, or None."""
    if not kinds.is_keras_class(cls):
        return None
    if issubclass(cls, keras.KerasTensor):
        return TensorPlan(cls, {names.HISTORY: _later}, at_once={names.HISTORY}, topic="tensors")
    if issubclass(cls, keras.Variable):
        return VariablePlan(cls, {names.VALUE: _value}, at_once={names.VALUE}, is_state=True, topic="variables")
    if issubclass(cls, keras.Operation):
        return AttributesPlan(cls, _op_handlers(cls), at_once=_AT_ONCE, is_state=True, topic="ops")
    if kinds.is_call_class(cls):
        return AttributesPlan(cls, topic="calls")
    if kinds.is_tracker_class(cls):
        return AttributesPlan(
            cls,
            {names.STORES: _stores, names.STORED_IDS: _later},
            at_once={names.STORES, names.STORED_IDS},
            topic="trackers",
        )
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


def _value(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    if value is None or copier.plans[type(value)].is_batched:
        # Its value is copied later, together with others.
        target[name] = None
        copier.records["values"].append((old, target))
    else:
        target[name] = copier.copy(value)


class VariablePlan(AttributesPlan):
    """A variable. Where values are copied in one call, those of many variables are under way as soon as they are known."""

    def fill_all(self, pairs: list[tuple[Any, Any]], copier: Copier) -> None:
        super().fill_all(pairs, copier)
        if copier.records["values"]:
            start_copying(copier)


class TensorPlan(AttributesPlan):
    """A symbolic tensor. The call it comes from belongs to the twin as well."""

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        super().fill(old, new, copier)
        producer = calls.producer(old)
        if producer is not None:
            copier.copy(producer)

    def fill_all(self, pairs: list[tuple[Any, Any]], copier: Copier) -> None:
        super().fill_all(pairs, copier)
        copier.copy_each([producer for old, _ in pairs if (producer := calls.producer(old)) is not None])


_AT_ONCE = {names.INBOUND, names.OUTBOUND, names.LOSS_IDS, names.NODES, names.NNX_OPS}


def _op_handlers(cls: type) -> dict[str, Handler]:
    handlers: dict[str, Handler] = {
        names.INBOUND: _empty_calls,
        names.OUTBOUND: _empty_calls,
        names.LOSS_IDS: _empty_ids,
        names.TF_DEPENDENCIES: _dependencies,
        names.TF_DEPENDENCY_NAMES: _dependency_names,
    }
    if issubclass(cls, keras.Function):
        handlers[names.NODES] = _later
        handlers[names.NNX_OPS] = _later
    if issubclass(cls, keras.Model):
        handlers |= dict.fromkeys(names.COMPILED, _compiled) | dict.fromkeys(names.RUNNING, _running)
    return handlers


def _later(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    """Made in the finish step; named now so that attributes keep their order."""
    target[name] = None


def _stores(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    """What a tracker knows of each store: a function, which says what belongs there, and the store."""
    known = id(value) in copier.memo or type(value) is not dict
    if known or not all(type(entry) is tuple and len(entry) == 2 for entry in value.values()):
        target[name] = copier.copy(value)
        return
    copy = copier.copy
    target[name] = copier.memo[id(value)] = {
        kind: (belongs if _is_keras_rule(belongs) else copy(belongs), copy(store))
        for kind, (belongs, store) in value.items()
    }


def _is_keras_rule(belongs: Any) -> bool:
    """Whether a function that says what belongs into a store is one of Keras' own, which each layer has made anew."""
    return type(belongs) is types.FunctionType and is_of_a_library(belongs) and holds_nothing(belongs)


def _empty_calls(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    """A list of the same class, without the calls: the finish step puts in those that are part of the twin."""
    target[name] = _list_without_calls(value, copier)


def _list_without_calls(value: Any, copier: Copier) -> Any:
    new = copier.memo.get(id(value))
    if new is None:
        new = empty_like(value, list, copier, emptied=calls.WRAPPED)
    return new


def _empty_ids(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    """A set of the same class, without the ids: the finish step puts in those of the twin's objects."""
    target[name] = empty_like(value, set, copier)


def _empty_indices(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    """A dict of the same class, without the ids of variables: the finish step puts in those of the twin's."""
    if not isinstance(value, dict) or type(value).__module__.startswith("tensorflow"):
        target[name] = copier.copy(value)  # a wrapper of TensorFlow's, whose keys are names
        return
    target[name] = empty_like(value, dict, copier)


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
            _list_without_calls(old.__dict__[name], copier)
    if not isinstance(old, keras.Model):
        return set()
    return set(names.RUNNING) | (set() if copier.keep_compiled else set(names.COMPILED))


def _dependencies(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    """What TensorFlow's checkpoints refer to; compiled functions sit among them."""
    dropped = _dropped(old, copier)
    new = empty_like(value, list, copier)
    list.extend(new, [copier.copy(reference) for reference in list(value) if reference.name not in dropped])
    target[name] = new


def _dependency_names(old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
    dropped = _dropped(old, copier)
    new = empty_like(value, dict, copier)
    dict.update(new, {key: copier.copy(part) for key, part in list(value.items()) if key not in dropped})
    target[name] = new
