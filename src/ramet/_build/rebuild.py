"""Calling a twin's ops once more, where something changed, and giving the twin the calls that come of it.

The twin keeps its class, flags, compile settings and everything else; only its call graph is new. Masks that the user passed are
passed again; those that Keras found it finds again, in the new graph.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Set
from typing import Any

import keras

from ramet._build.mask import KeptMasks
from ramet._build.orders import Orders, accepted
from ramet._build.origin import Origin
from ramet._build.trampoline import Work
from ramet._build.weight_axes import check_sizes
from ramet._keras import mask_kinds, mask_owner
from ramet._keras import ordered
from ramet._graph import MaskKind
from ramet._keras import rewire, structure
from ramet._keras import names_untouched
from ramet.errors import RametError, RebuildError

# How a call is made: the op to call, its arguments; answers with the outputs.
CallOp = Callable[..., Any]


def rebuild(
    model: Any,
    inputs: Any = None,
    *,
    call_op: CallOp | None = None,
    swap: dict[int, Any] | None = None,
    origin: Origin | None = None,
    orders: Orders | None = None,
    spared: Set[int] = frozenset(),
) -> Work:
    """Give a twin new calls. In place; the work answers with the model to go on with.

    Args:
        model: A twin with a call graph; it is changed.
        inputs: Input tensors in the structure of its inputs: every call that depends on them is made anew. Without them
            only what the orders concern.
        call_op: Makes one call; by default the op is simply called.
        swap: Ops to call instead of the twin's own, by id.
        origin: For a nested model, what of the outermost model's inputs arrives at its own.
        orders: What shall be different at some calls.
        spared: The ids of calls that other graphs have, too: the ops keep them, whatever becomes of this graph.
    """
    orders = Orders(swap={} if swap is None else swap) if orders is None else orders
    function = structure.function_of(model)
    own = keras.tree.flatten(structure.inputs_of(function))
    given = own if inputs is None else keras.tree.flatten(inputs)
    inputs = structure.inputs_of(function) if inputs is None else inputs
    replaced = {} if given is own else dict(zip(map(id, own), given, strict=True))
    origin = Origin.of_inputs(model, own, given, orders.word) if origin is None else origin
    kept_alive = ordered(structure.calls_of(function))
    masks = KeptMasks(kept_alive, replaced)
    stale = {
        id(call)
        for call in kept_alive
        if call.is_input and replaced.get(id(call.outputs[0]), call.outputs[0]) is not call.outputs[0]
    }

    instead: dict[int, list[Any]] = {}  # by the id of a call, the calls of the same op that were made in its place

    def successor(tensor: Any) -> Any:
        return replaced.get(id(tensor), tensor)

    for call in kept_alive:
        concerned = orders.concern(call)
        if call.is_input and concerned:
            first = successor(call.outputs[0])
            replaced[id(call.outputs[0])] = orders.at(call).led_on(first, _Maker(origin, call, orders, call_op))
        if call.is_input or not (concerned or any(id(tensor) in replaced for tensor in call.input_tensors)):
            continue
        stale.add(id(call))
        if id(call.outputs[0]) in replaced:
            continue  # a mask that was needed before its turn
        op = orders.swap.get(id(call.operation), call.operation)
        args, kwargs = arguments_of(call, replaced)
        if op is not call.operation:
            kwargs = accepted(op, kwargs, mask_was_passed=("mask", "explicit") in mask_kinds(call))
        origin.follow(call)
        if op is call.operation and structure.function_of(op) is not None:
            fitting = origin.fit.inputs_for(call, args, kwargs)
            if orders.refit is not None:
                fitting = orders.refit.inputs_for(op, args, kwargs, fitting)
            if fitting is not None:
                inner = Orders(refit=orders.refit, word=orders.word)
                if orders.refit is not None:
                    orders.refit.enter(op, origin.path_of(op))
                yield rebuild(op, fitting, origin=origin.inside(call), orders=inner)
                if orders.refit is not None:
                    orders.refit.leave()
        make = _Maker(origin, call, orders, call_op)
        before = len(structure.calls_made(call.operation))
        if id(call) in orders.calls:
            outputs = orders.calls[id(call)].made(op, args, kwargs, make, successor)
        else:
            outputs = make(op, args, kwargs)
        instead[id(call)] = structure.calls_made(call.operation)[before:]
        found = keras.tree.flatten(outputs)
        if len(found) < len(call.outputs):
            _require(model, call, found, function, orders)
        for old, new in zip(call.outputs, found, strict=False):
            replaced[id(old)] = new
            masks.keep(old, new)
    ops = list(function.operations)
    rewire.forget_calls(ops, stale - spared - _calls_inside(ops), instead)
    outputs = keras.tree.map_structure(successor, structure.outputs_of(function))
    with names_untouched(), rewire.unused_inputs_allowed(given), warnings.catch_warnings():
        # About keys of a dict that are not the names of the inputs: the user was told when the model was made.
        warnings.simplefilter("ignore")
        donor = keras.Model(inputs, outputs)
    if isinstance(model, keras.Sequential):
        if not rewire.is_sequence(donor):
            donor.name = model.name  # no list of layers says what this model does
            return donor
        rewire.adopt_sequence(model, donor)
    else:
        rewire.adopt_graph(model, donor)
        rewire.replace_parts(model, replaced | orders.swap)
    return model


def _calls_inside(ops: list[Any]) -> set[int]:
    """The ids of the calls of nested models. One that is called on its own input shares that with the graph around it."""
    found: set[int] = set()
    waiting, seen = list(ops), set(map(id, ops))
    while waiting:
        op = waiting.pop()
        function = structure.function_of(op)
        if function is not None:
            found.update(map(id, structure.calls_of(function)))
        parts = structure.inside(op)
        waiting.extend(part for part in parts if id(part) not in seen)
        seen.update(map(id, parts))
    return found


def arguments_of(call: Any, replaced: dict[int, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call's arguments on the new tensors. In the place of masks that Keras found are those of the new tensors."""

    def swap(value: Any) -> Any:
        return replaced.get(id(value), value) if isinstance(value, keras.KerasTensor) else value

    args, kwargs = keras.tree.map_structure(swap, (tuple(call.arguments.args), dict(call.arguments.kwargs)))
    kinds = mask_kinds(call)
    if kwargs and _written_by_keras(call, dict(kinds)):
        # Keras will write it again. Given by hand, it would keep Keras from writing the mask down.
        return args, {}
    for place, kind in kinds:
        if kind == "explicit":
            continue
        named = structure.arguments_by_name(call.operation, args, kwargs)
        found = keras.tree.map_structure(structure.mask_of, named[mask_owner(list(named), place)])
        if isinstance(place, str):
            kwargs[place] = found
        else:
            args = (*args[:place], found, *args[place + 1 :])
    return args, kwargs


def _written_by_keras(call: Any, kinds: dict[int | str, MaskKind]) -> bool:
    """Whether the keyword arguments of a call are what Keras adds to a call on one tensor that has none."""
    if len(call.arguments.args) != 1 or not isinstance(call.operation, keras.Layer):
        return False
    given = dict(call.arguments.kwargs)
    training = structure.default_of(call.operation, "training")
    expected = set() if training in (None, inspect.Parameter.empty) else {"training"}
    if structure.default_of(call.operation, "mask") is not inspect.Parameter.empty:
        expected.add("mask")
    return (
        given.keys() == expected
        and given.get("training", training) == training
        and (given.get("mask") is None or kinds.get("mask") == "implicit")
    )


class _Maker:
    """Makes one call, and says who refused what."""

    def __init__(self, origin: Origin, call: Any, orders: Orders, call_op: CallOp | None) -> None:
        self._origin, self._call, self._orders, self._call_op = origin, call, orders, call_op

    def __call__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        refit, path = self._orders.refit, self._origin.path_of(op)
        try:
            if refit is not None:
                refit.before(self._call, path, op, args, kwargs)
            outputs = op(*args, **kwargs) if self._call_op is None else self._call_op(op, *args, **kwargs)
            check_sizes(op, args, kwargs)
            if refit is not None:
                refit.after(self._call, path, op, args, kwargs, outputs)
            return outputs
        except RametError:
            raise
        except Exception as error:
            raise self._origin.refusal(self._call, op, (args, kwargs), error) from error


def _require(model: Any, call: Any, found: list[Any], function: Any, orders: Orders) -> None:
    """Fewer outputs than before are an error where one of the missing ones is used."""
    used = {id(tensor) for other in structure.calls_of(function) for tensor in other.input_tensors}
    used |= {id(tensor) for tensor in keras.tree.flatten(structure.outputs_of(function))}
    for index in range(len(found), len(call.outputs)):
        if id(call.outputs[index]) in used:
            raise RebuildError(
                f"Cannot {'edit' if orders.word == 'edit' else 'clone'} '{model.name}': output {index} of '{structure.name_of(call.operation)}' could not be computed.",
                expected=f"{len(call.outputs)} outputs, as the original has",
                found=f"{len(found)}",
                fix="return as many outputs as the graph uses.",
                path=structure.name_of(call.operation),
            )
