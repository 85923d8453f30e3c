"""Make the calls of a twin's graph again where something changed, and give the twin the new graph.

The twin keeps its class, flags, compile settings and everything else; only its call graph is new. Masks that the user passed
are passed again; masks that Keras found are found again in the new graph.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Generator, Set
from typing import Any

import keras

from ramet._build.origin import InputOrigins
from ramet._build.pending import PendingChanges, accepted_arguments
from ramet._build.weight_axes import check_sizes
from ramet._graph import MaskKind
from ramet._keras import (
    computed_alike,
    keep_name_counters,
    mask_kinds,
    mask_owner,
    names,
    recorded_mask,
    rewire,
    sort_calls,
    structure,
    taken_masks,
)
from ramet.errors import RametError, RebuildError

# Makes one call: takes the op, its positional and its keyword arguments, and returns the outputs.
CallOp = Callable[..., Any]

# A nested model is rebuilt before the model around it can go on. Functions that wait for each other are generators that
# yield the steps they wait for: however deep models nest, only one of them is ever on Python's stack.
Steps = Generator["Steps", Any, Any]


def run_steps(steps: Steps) -> Any:
    """Run a generator and all generators that it waits for, without recursion, and return its result."""
    stack = [steps]
    result: Any = None
    while stack:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as done:
            stack.pop()
            result = done.value
    return result


def rebuild(
    model: Any,
    inputs: Any = None,
    *,
    call_op: CallOp | None = None,
    replace_op: Callable[[Any], Steps] | None = None,
    origin: InputOrigins | None = None,
    changes: PendingChanges | None = None,
    spared: Set[int] = frozenset(),
) -> Steps:
    """Give a twin new calls, in place; the result of the steps is the model to use from then on.

    The calls are visited in execution order. `replaced` maps each old tensor to its successor. A call is made again if one of
    its input tensors has a successor or if a pending change concerns it; all other calls stay exactly as they are, with their
    tensors, so that an edit near the outputs of a large model touches a few calls only. Rebuilding everything would be
    simpler, but slower, and it would lose the identity of tensors that users hold.

    Keras cannot change the graph of an existing model. So a throw-away functional model, the donor, is created from the new
    inputs and outputs, and the twin adopts its graph. Creating the result directly, with `type(model)(inputs, outputs)`, would
    call the constructors of users' subclasses and lose everything that was set on the model since.

    Each op keeps a list of its calls, and a tensor knows the index of its call in this list. Replaced calls are removed there,
    and the new ones take their positions, so that `op#2` stays the second call of an op.

    Args:
        model: A twin with a call graph; it is changed.
        inputs: Input tensors in the structure of its inputs: every call that depends on them is made again. Without
            them, only calls that the changes concern.
        call_op: Makes one call; by default the op is called.
        replace_op: Steps with the op to call instead of one of the twin's; run before its first call.
        origin: For a nested model, the inputs of the outermost model that its own inputs come from.
        changes: The changes at some calls.
        spared: The ids of calls that other graphs have, too, and that the ops therefore keep.
    """
    changes = PendingChanges() if changes is None else changes
    function = structure.function_of(model)
    own = keras.tree.flatten(structure.inputs_of(function))
    given = own if inputs is None else keras.tree.flatten(inputs)
    inputs = structure.inputs_of(function) if inputs is None else inputs
    replaced = {} if given is own else dict(zip(map(id, own), given, strict=True))
    origin = InputOrigins.of_inputs(model, own, given, changes.verb) if origin is None else origin
    calls = sort_calls(structure.calls_of(function))  # this list also keeps the calls alive, and so their ids valid
    masks = _KeptMasks(calls, replaced)
    new_calls: dict[int, list[Any]] = {}  # by the id of an old call, the calls of the same op that replace it

    def successor(tensor: Any) -> Any:
        return replaced.get(id(tensor), tensor)

    stale = {id(call) for call in calls if call.is_input and successor(call.outputs[0]) is not call.outputs[0]}
    for call in calls:
        concerned = changes.concerns(call)
        if call.is_input and concerned:
            first = successor(call.outputs[0])
            replaced[id(call.outputs[0])] = changes.at(call).append_layers(
                first, _Maker(origin, call, changes, call_op)
            )
        if call.is_input or not (concerned or any(id(tensor) in replaced for tensor in call.input_tensors)):
            continue
        stale.add(id(call))
        if id(call.outputs[0]) in replaced:
            continue  # a mask that was needed earlier
        if replace_op is not None and id(call.operation) not in changes.swap:
            changes.swap[id(call.operation)] = yield replace_op(call.operation)
        op = changes.swap.get(id(call.operation), call.operation)
        args, kwargs = arguments_of(call, replaced)
        if op is not call.operation:
            kwargs = accepted_arguments(op, kwargs, mask_was_passed=("mask", "explicit") in mask_kinds(call))
        origin.follow(call)
        if op is call.operation and structure.function_of(op) is not None:
            fitting = origin.nested.inputs_for(call, args, kwargs)
            if changes.refit is not None:
                fitting = changes.refit.inputs_for(op, args, kwargs, fitting)
            if fitting is not None:
                inner = PendingChanges(refit=changes.refit, verb=changes.verb)
                if changes.refit is not None:
                    changes.refit.enter(op, origin.path_of(op))
                yield rebuild(op, fitting, origin=origin.inside(call), changes=inner)
                if changes.refit is not None:
                    changes.refit.leave()
        make = _Maker(origin, call, changes, call_op)
        count = len(structure.calls_made(call.operation))
        if id(call) in changes.calls:
            outputs = changes.calls[id(call)].make_outputs(op, args, kwargs, make, successor)
        else:
            outputs = make(op, args, kwargs)
        new_calls[id(call)] = structure.calls_made(call.operation)[count:]
        tensors = keras.tree.flatten(outputs)
        if len(tensors) < len(call.outputs):
            _check_missing_unused(model, call, len(tensors), function, changes)
        for old, new in zip(call.outputs, tensors, strict=False):
            replaced[id(old)] = new
            masks.keep(old, new)
    ops = list(function.operations)
    rewire.forget_calls(ops, stale - spared - calls_inside(ops), new_calls)
    outputs = _renewed(structure.outputs_of(function), replaced)
    # Keras warned about dict keys that differ from the input names when the model was created.
    with keep_name_counters(), rewire.allow_unused_inputs(given), warnings.catch_warnings(action="ignore"):
        donor = keras.Model(inputs, outputs)
    if not isinstance(model, keras.Sequential):
        rewire.adopt_graph(model, donor)
        rewire.replace_parts(model, replaced | changes.swap)
    elif structure.is_sequence(donor):
        rewire.adopt_sequence(model, donor)
    else:
        donor.name = model.name  # a list of layers can no longer describe this graph
        return donor
    return model


def calls_inside(ops: list[Any]) -> set[int]:
    """Return the ids of the calls of nested models on all levels; these may also be calls of the graph around them.

    A nested model that is called on its own input shares the call of that input; a layer that was cut out of a nested model
    may still be called in it.
    """
    functions = map(structure.function_of, structure.reachable(ops, structure.ops_inside))
    return {id(call) for function in functions if function is not None for call in structure.calls_of(function)}


def arguments_of(call: Any, replaced: dict[int, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call on the new tensors, with the new tensors' masks where Keras had found the masks."""
    args, kwargs = _renewed((tuple(call.arguments.args), dict(call.arguments.kwargs)), replaced)
    kinds = mask_kinds(call)
    if kwargs and _added_by_keras(call, dict(kinds)):
        # Keras adds them again. If they were passed, Keras would not record the mask.
        return args, {}
    for position, kind in kinds:
        if kind == "explicit":
            continue
        named = structure.arguments_by_name(call.operation, args, kwargs)
        mask = keras.tree.map_structure(structure.mask_of, named[mask_owner(list(named), position)])
        if isinstance(position, str):
            kwargs[position] = mask
        else:
            args = (*args[:position], mask, *args[position + 1 :])
    return args, kwargs


def _renewed(values: Any, replaced: dict[int, Any]) -> Any:
    """Return nested values with the successors of tensors."""
    return keras.tree.map_structure(
        lambda value: replaced.get(id(value), value) if isinstance(value, keras.KerasTensor) else value, values
    )


def _added_by_keras(call: Any, kinds: dict[int | str, MaskKind]) -> bool:
    """Return whether the keyword arguments are exactly those that Keras adds to a call on a single tensor."""
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
    """Makes one call, and translates errors into one that names the layer and the input to blame."""

    def __init__(self, origin: InputOrigins, call: Any, changes: PendingChanges, call_op: CallOp | None) -> None:
        self._origin, self._call, self._changes, self._call_op = origin, call, changes, call_op

    def __call__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        refit, path = self._changes.refit, self._origin.path_of(op)
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


def _check_missing_unused(model: Any, call: Any, count: int, function: Any, changes: PendingChanges) -> None:
    """Raise if a call gave fewer outputs than before and one of the missing outputs is used."""
    used = {id(tensor) for other in structure.calls_of(function) for tensor in other.input_tensors}
    used |= {id(tensor) for tensor in keras.tree.flatten(structure.outputs_of(function))}
    for index in range(count, len(call.outputs)):
        if id(call.outputs[index]) in used:
            raise RebuildError(
                f"Cannot {'edit' if changes.verb == 'edit' else 'clone'} '{model.name}': output {index} of "
                f"'{structure.name_of(call.operation)}' is used but missing.",
                expected=f"{len(call.outputs)} outputs, as in the original",
                found=f"{count}",
                fix="return as many outputs as the graph uses.",
                path=structure.name_of(call.operation),
            )


class _KeptMasks:
    """Masks of a rebuilt graph, made by the ops that made them before where nothing about them changed.

    A layer that is called again makes its mask again, with new ops under new names. Where the new mask is made in the same way
    as the old one, the old ops are called instead: the graph keeps its ops, and an explicit use of the same mask stays one.

    Args:
        calls: The calls of the graph before the rebuild.
        replaced: By the id of an old tensor, its successor; calls made here are added.
    """

    def __init__(self, calls: list[Any], replaced: dict[int, Any]) -> None:
        self._replaced = replaced
        self._position = {id(call): number for number, call in enumerate(calls)}
        self._call_of = {id(tensor): call for call in calls for tensor in call.outputs}
        self._masks = taken_masks(calls)

    def keep(self, old: Any, new: Any) -> None:
        """Let a new tensor carry the mask of its predecessor, made again, if its own is made in the same way."""
        carried, found = structure.mask_of(old), structure.mask_of(new)
        if carried is None or found is None:
            return
        recorded = recorded_mask(carried, self._call_of, self._masks)
        if recorded is None or not computed_alike(recorded, found, self._replaced):
            return
        needed = self._needed(recorded)
        if any(isinstance(call.operation, keras.Layer) for call in needed):
            return  # that layer is called later
        for call in needed:
            args, kwargs = _renewed((call.arguments.args, call.arguments.kwargs), self._replaced)
            made = keras.tree.flatten(call.operation(*args, **kwargs))
            self._replaced.update(zip(map(id, call.outputs), made, strict=True))
        setattr(new, names.MASK, _renewed(recorded, self._replaced))

    def _needed(self, mask: Any) -> list[Any]:
        """Return the calls that a mask is made by and that have not been made again, in order."""

        def makers(tensors: list[Any]) -> list[Any]:
            made = [self._call_of.get(id(tensor)) for tensor in tensors if id(tensor) not in self._replaced]
            return [call for call in made if call is not None and not call.is_input]

        needed = structure.reachable(makers([mask]), lambda call: makers(call.input_tensors))
        return sorted(needed, key=lambda call: self._position[id(call)])
