"""The orders of all edits, carried out on the twin: from the inside out, each graph once."""

from __future__ import annotations

from typing import Any

from ramet._build import Origin, build_like, rebuild, run
from ramet._edit.carry import carry_weights
from ramet._edit.effect import warn_without_effect
from ramet._edit.flags import set_flags
from ramet._edit.name_uses import check_names_found
from ramet._edit.optimizer import renew_optimizer
from ramet._edit.order import inside_first
from ramet._edit.saving import settle_saving
from ramet._edit.scene import Scene
from ramet._keras import compiled, exchange, inside, rewire, structure


def carry_out(scene: Scene, *, unsaved: bool) -> tuple[Any, list[str]]:
    """The twin after all orders, which is the model to go on with, and what became of classes that make their own config."""
    orders, twin = scene.orders, scene.twin
    changed_calls: set[int] = set()
    for op in inside_first(twin):
        scene.latest = None if op is twin else scene.path_of(op)
        if structure.function_of(op) is None:
            changed = _exchange_held(op, inside(op), orders.swap)
        else:
            inputs = scene.inputs if op is twin else None
            calls = structure.calls_of(structure.function_of(op))
            changed = inputs is not None or any(map(orders.concern, calls))
            _exchange_held(op, _only_held(op), orders.swap)
            if changed:
                changed_calls.add(id(op))
                origin = None if op is twin else Origin.of_nested(twin, scene.path_of(op), orders.word)
                spared = _calls_besides(op, twin)
                new = run(rebuild(op, inputs, orders=orders, origin=origin, spared=spared))
                if new is not op:
                    _become_functional(op, new)
                    orders.replace(op, new)
        if changed or any(id(child) in orders.again for child in inside(op)):
            orders.touch(op)
    if orders.refit is not None:
        orders.refit.finish()
    result = orders.swap.get(id(twin), twin)
    forget_lost_calls(result)
    carry_weights(scene)
    set_flags(scene)
    notes = settle_saving(scene, result, changed_calls, unsaved=unsaved)
    exchange.follow_torch_upwards(result)
    renew_optimizer(result, scene.successors, scene.slot_fits)
    compiled.follow_outputs(result, getattr(scene.model, "output_names", None))
    check_names_found(scene.model, result)
    warn_without_effect(scene)
    return result, notes


def _calls_besides(op: Any, twin: Any) -> set[int]:
    """The ids of the calls of all other graphs: two may have calls in common, when one was made on tensors of the other."""
    functions = [structure.function_of(other) for other in inside_first(twin) if other is not op]
    return {id(call) for function in functions if function is not None for call in structure.calls_of(function)}


def _exchange_held(op: Any, children: list[Any], swap: dict[int, Any]) -> bool:
    """New layers in the place of those that an op holds and calls by its own code."""
    new_for = {id(child): swap[id(child)] for child in children if id(child) in swap}
    if not new_for:
        return False
    exchange.exchange(op, new_for)
    for child in children:
        if id(child) in new_for:
            build_like(new_for[id(child)], child)
    return True


def _only_held(model: Any) -> list[Any]:
    called = {id(op) for op in structure.function_of(model).operations}
    return [layer for layer in structure.layers_of(model) if id(layer) not in called]


def _become_functional(old: Any, new: Any) -> None:
    """A Sequential that is no sequence any more: the functional model has its flags and compile settings."""
    exchange.own_flag(new, trainable=old.trainable)
    rewire.take_compiled(new, old)


def forget_lost_calls(model: Any) -> None:
    """Ops remember the calls of the graphs that they are in, those that made a mask in there, and no others."""
    ops = inside_first(model)
    functions = [function for op in ops if (function := structure.function_of(op)) is not None]
    called = {id(op): op for op in ops} | {id(op): op for function in functions for op in function.operations}
    known = _calls_alive([call for function in functions for call in structure.calls_of(function)])
    listed = [call for op in called.values() for call in structure.calls_made(op) + structure.calls_following(op)]
    lost = {id(call) for call in listed if id(call) not in known}
    if lost:
        rewire.forget_calls(list(called.values()), lost)
    for function in functions:  # an op that is called in several graphs may have lost calls of any of them
        rewire.name_calls(function)


def _calls_alive(calls: list[Any]) -> set[int]:
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
