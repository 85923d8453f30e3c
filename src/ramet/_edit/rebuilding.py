"""Applying all recorded changes to the twin: calls, held layers, weights, flags, saving, optimizer."""

from __future__ import annotations

from typing import Any

import keras

from ramet._build import InputOrigins, build_like, rebuild, run_steps
from ramet._edit.names import check_names_found
from ramet._edit.saving import settle_saving
from ramet._edit.session import EditSession, inside_first
from ramet._edit.settings import warn_without_effect
from ramet._edit.trainable import set_flags
from ramet._keras import (
    effective_policy,
    exchange,
    keep_name_counters,
    ops_inside,
    quantization,
    rewire,
    structure,
    training,
)
from ramet._weights import is_inexact
from ramet.errors import EditError


def apply_changes(session: EditSession, *, unsaved: bool) -> tuple[Any, list[str]]:
    """Apply everything that the edits recorded. Return the edited model, and notes about classes with their own config.

    Graphs are rebuilt from the inside out, each at most once: a call can only be made again when the models inside it
    are finished, and whoever holds a changed model must call it again. Layers that call others by their own code have
    their references exchanged instead. What comes after needs all graphs in place, in this order: weights are carried over
    into layers that now exist, flags are set on the final layers and variables, saving is checked with these flags, and the
    optimizer is built last, for the variables that are trained in the end. Edits that a saved file would lose are refused
    unless `unsaved` is true.
    """
    changes, twin = session.changes, session.twin
    rebuilt: set[int] = set()
    for op in inside_first(twin):
        session.latest = None if op is twin else session.path_of(op)
        function = structure.function_of(op)
        if function is None:
            changed = _exchange_held(op, ops_inside(op), changes.swap)
        else:
            inputs = session.inputs if op is twin else None
            changed = inputs is not None or any(map(changes.concerns, structure.calls_of(function)))
            _exchange_held(op, _held_only(op), changes.swap)
            if changed:
                rebuilt.add(id(op))
                origin = None if op is twin else InputOrigins.of_nested(twin, session.path_of(op), changes.verb)
                spared = _calls_of_other_graphs(op, twin)
                new = run_steps(rebuild(op, inputs, changes=changes, origin=origin, spared=spared))
                if new is not op:  # a Sequential that is no longer a sequence
                    exchange.set_own_trainable(new, trainable=op.trainable)
                    training.take_compiled(new, op)
                    changes.replace(op, new)
        if changed or any(id(child) in changes.redone for child in ops_inside(op)):
            changes.redo(op)
    if changes.refit is not None:
        changes.refit.finish()
    result = session.successor(twin)
    _forget_lost_calls(result)
    _carry_weights(session)
    set_flags(session)
    notes = settle_saving(session, result, rebuilt, unsaved=unsaved)
    exchange.follow_torch_upwards(result)
    _renew_optimizer(result, session)
    training.follow_output_names(result, getattr(session.model, "output_names", None))
    check_names_found(session.model, result)
    warn_without_effect(session)
    return result, notes


def _calls_of_other_graphs(op: Any, twin: Any) -> set[int]:
    """Return the ids of the calls of all other graphs: two graphs share calls if one was made on tensors of the other."""
    functions = [structure.function_of(other) for other in inside_first(twin) if other is not op]
    return {id(call) for function in functions if function is not None for call in structure.calls_of(function)}


def _exchange_held(op: Any, children: list[Any], swap: dict[int, Any]) -> bool:
    """Replace layers that an op holds and calls by its own code. Return whether there were any."""
    replaced = [child for child in children if id(child) in swap]
    if not replaced:
        return False
    exchange.exchange_parts(op, {id(child): swap[id(child)] for child in replaced})
    for child in replaced:
        build_like(swap[id(child)], child)
    return True


def _held_only(model: Any) -> list[Any]:
    """Return the layers that a model holds but does not call in its graph."""
    called = {id(op) for op in structure.function_of(model).operations}
    return [layer for layer in structure.layers_of(model) if id(layer) not in called]


def _forget_lost_calls(model: Any) -> None:
    """Remove calls from the lists of ops, except those of the graphs the ops are in and those that made a mask there."""
    ops = inside_first(model)
    functions = [function for op in ops if (function := structure.function_of(op)) is not None]
    called = {id(op): op for op in ops} | {id(op): op for function in functions for op in function.operations}
    known = _reachable_calls([call for function in functions for call in structure.calls_of(function)])
    listed = [call for op in called.values() for call in structure.calls_made(op) + structure.calls_following(op)]
    lost = {id(call) for call in listed if id(call) not in known}
    if lost:
        rewire.forget_calls(list(called.values()), lost)
    for function in functions:  # an op that is called in several graphs may have lost calls of any of them
        rewire.name_calls(function)


def _reachable_calls(calls: list[Any]) -> set[int]:
    known: set[int] = set()
    waiting = list(calls)
    while waiting:
        call = waiting.pop()
        if id(call) in known:
            continue
        known.add(id(call))
        masks = [mask for mask in map(structure.mask_of, call.outputs) if mask is not None]
        found = [structure.producing_call(tensor) for tensor in (*call.input_tensors, *masks)]
        waiting.extend(other for other in found if other is not None)
    return known


# Weights of replaced layers.


def _carry_weights(session: EditSession) -> None:
    """Give each new layer the weights of the old one that have the same name and shape, with their optimizer slots."""
    for old, new in session.carried:
        _check_same_quantization(old, new, session)
        # Two variables of a layer may have the same name; then their order distinguishes them.
        targets: dict[tuple[str, tuple[int, ...]], list[Any]] = {}
        for variable in getattr(new, "weights", ()):  # a raw operation has none
            targets.setdefault((_path_below(new, variable), tuple(variable.shape)), []).append(variable)
        for variable in getattr(old, "weights", ()):
            matching = targets.get((_path_below(old, variable), tuple(variable.shape)))
            target = matching.pop(0) if matching else None
            if target is not None and target is not variable:
                _check_not_rounded(variable, target, new)
                target.assign(keras.ops.convert_to_numpy(variable))
                session.successors[id(target)] = variable


def _check_same_quantization(old: Any, new: Any, session: EditSession) -> None:
    """Refuse to carry quantized weights into a layer that is not quantized in the same way, and the reverse."""
    policies = [
        {str(effective_policy(part).name) for part in inside_first(one) if quantization.mode_of(part) is not None}
        for one in (old, new)
    ]
    if policies[0] == policies[1] or not (old.weights and new.weights):
        return
    before, after = (", ".join(sorted(one)) or "not quantized" for one in policies)
    raise EditError(
        f"Cannot replace '{session.path_of(old)}' and keep its weights: the new layer is quantized in another way.",
        expected=f"the old layer: {before}",
        found=f"the new layer: {after}",
        fix="cast the old layer to float first and pass a float layer, then quantize in an edit of its own; "
        "or pass weights=False.",
        path=session.path_of(old),
    )


def _check_not_rounded(variable: Any, target: Any, layer: Any) -> None:
    if is_inexact(variable.dtype) and not is_inexact(target.dtype):
        raise EditError(
            f"Cannot give '{layer.name}' the weight '{variable.path}': it would be rounded.",
            expected=str(target.dtype),
            found=str(variable.dtype),
            fix="pass weights=False, or a layer with weights of the same dtype.",
            path=variable.path,
        )


def _path_below(layer: Any, variable: Any) -> str:
    path = str(variable.path)
    if layer.path and path.startswith(f"{layer.path}/"):
        return path.removeprefix(f"{layer.path}/")
    return path.partition(f"{layer.name}/")[2] or path


# The optimizer.


def _renew_optimizer(model: Any, session: EditSession) -> None:
    """Build the optimizer for the variables that the model trains now, with the slots of those that it had before."""
    optimizer = getattr(model, "optimizer", None) if getattr(model, "compiled", False) else None
    if optimizer is None:
        return
    if not optimizer.built:
        training.set_optimizer(model, optimizer)
        return
    successors, fits = session.successors, session.slot_fits
    now = list(model.trainable_variables)
    same = [id(v) for v in structure.optimized_variables(optimizer)] == [id(v) for v in now]
    if same and not any(id(v) in successors for v in now):
        training.set_optimizer(model, optimizer)
        return
    with keep_name_counters():
        new = training.recreate_optimizer(optimizer)
        new.build(now)
    for old, fresh, variable in training.slot_pairs(optimizer, new, successors):
        fit = fits.get(id(variable))
        if fit is None:
            if tuple(old.shape) == tuple(fresh.shape):
                fresh.assign(keras.ops.cast(old.value, fresh.dtype))
        elif tuple(old.shape) == tuple(successors[id(variable)].shape) and tuple(fresh.shape) == tuple(variable.shape):
            # A slot of the shape of its variable is adapted as the variable was.
            fresh.assign(keras.ops.cast(fit(keras.ops.convert_to_numpy(old)), fresh.dtype))
    training.set_optimizer(model, new)
