"""Calling a twin's ops once more, where something changed, and giving the twin the calls that come of it.

The twin keeps its class, flags, compile settings and everything else; only its call graph is new. Masks that the user passed are
passed again; those that Keras found it finds again, in the new graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from ramet._build.trampoline import Work
from ramet._capture.masks import mask_kinds
from ramet._keras import rewire, structure
from ramet._keras.counters import names_untouched
from ramet.errors import RametError, RebuildError

# How a call is made: the op to call, its arguments; answers with the outputs.
CallOp = Callable[..., Any]


def rebuild(model: Any, inputs: Any, *, call_op: CallOp | None = None, swap: dict[int, Any] | None = None) -> Work:
    """Give a twin new calls, beginning at other inputs. In place; the work answers with the model to go on with.

    Args:
        model: A twin with a call graph; it is changed.
        inputs: Input tensors in the structure of its inputs.
        call_op: Makes one call; by default the op is simply called.
        swap: Ops to call instead of the twin's own, by id.
    """
    function = structure.function_of(model)
    replaced = dict(
        zip(map(id, keras.tree.flatten(structure.inputs_of(function))), keras.tree.flatten(inputs), strict=True)
    )
    kept_alive = list(structure.calls_of(function))
    stale = {id(call) for call in kept_alive if call.is_input and replaced.get(id(call.outputs[0])) is not call.outputs[0]}
    for call in kept_alive:
        if call.is_input or not any(id(tensor) in replaced for tensor in call.input_tensors):
            continue
        op = (swap or {}).get(id(call.operation), call.operation)
        args, kwargs = arguments_of(call, replaced)
        if op is call.operation and structure.function_of(op) is not None:
            yield _fit_nested(op, args, kwargs)
        outputs = _call(model, op, args, kwargs, call_op)
        stale.add(id(call))
        found = keras.tree.flatten(outputs)
        if len(found) < len(call.outputs):
            _require(model, call, found, function)
        replaced.update(zip(map(id, call.outputs), found, strict=False))
    ops = list(function.operations)
    rewire.forget_calls(ops, stale)
    outputs = keras.tree.map_structure(lambda tensor: replaced.get(id(tensor), tensor), structure.outputs_of(function))
    with names_untouched():
        donor = keras.Model(inputs, outputs)
    if isinstance(model, keras.Sequential):
        if not rewire.is_sequence(donor):
            donor.name = model.name  # no list of layers says what this model does
            return donor
        rewire.adopt_sequence(model, donor)
    else:
        rewire.adopt_graph(model, donor)
        rewire.replace_parts(model, replaced | (swap or {}))
    return model


def arguments_of(call: Any, replaced: dict[int, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call's arguments on the new tensors, without the masks that Keras found: it finds them again."""

    def swap(value: Any) -> Any:
        return replaced.get(id(value), value) if isinstance(value, keras.KerasTensor) else value

    args = keras.tree.map_structure(swap, call.arguments.args)
    kwargs = keras.tree.map_structure(swap, call.arguments.kwargs)
    if "training" in kwargs and kwargs["training"] == structure.default_of(call.operation, "training"):
        # Keras wrote it there itself, and will again. Given by hand, it would keep Keras from writing the mask down.
        kwargs.pop("training")
    for place, kind in mask_kinds(call):
        if kind == "implicit":
            if isinstance(place, str):
                kwargs.pop(place)
            else:
                args = (*args[:place], None, *args[place + 1 :])
    return args, kwargs


def _fit_nested(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Work:
    """Rebuild a nested model that is called with other shapes than it was made for."""
    function = structure.function_of(op)
    given = keras.tree.flatten(args[0] if args else kwargs.get("inputs"))
    own = keras.tree.flatten(structure.inputs_of(function))
    if all(_accepts(old, new) for old, new in zip(own, given, strict=False)):
        return
    made = [
        keras.Input(batch_shape=(old.shape[0], *new.shape[1:]), dtype=old.dtype, name=old.name)
        for old, new in zip(own, given, strict=True)
    ]
    yield rebuild(op, keras.tree.pack_sequence_as(structure.inputs_of(function), made))


def _accepts(old: Any, new: Any) -> bool:
    if new is None or len(old.shape) != len(new.shape):
        return True
    return all(a is None or b is None or a == b for a, b in zip(old.shape[1:], new.shape[1:], strict=True))


def _call(model: Any, op: Any, args: Any, kwargs: Any, call_op: CallOp | None) -> Any:
    try:
        return op(*args, **kwargs) if call_op is None else call_op(op, *args, **kwargs)
    except RametError:
        raise
    except Exception as error:
        tensors = [t for t in keras.tree.flatten((args, kwargs)) if isinstance(t, keras.KerasTensor)]
        shapes = ", ".join(str(tuple(tensor.shape)) for tensor in tensors)
        raise RebuildError(
            f"Cannot rebuild '{model.name}': the {_word(op)} '{op.name}' refused its input.",
            found=f"{shapes}; {type(error).__name__}: {_first_line(error)}",
            fix="choose inputs that this layer accepts, or replace the layer.",
            path=op.name,
        ) from error


def _word(op: Any) -> str:
    return "layer" if isinstance(op, keras.Layer) else "operation"


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = next((line for line in lines if "is incompatible" in line or "nvalid" in line), lines[0] if lines else "")
    return told[:200]


def _require(model: Any, call: Any, found: list[Any], function: Any) -> None:
    """Fewer outputs than before are an error where one of the missing ones is used."""
    used = {id(tensor) for other in structure.calls_of(function) for tensor in other.input_tensors}
    used |= {id(tensor) for tensor in keras.tree.flatten(structure.outputs_of(function))}
    for index in range(len(found), len(call.outputs)):
        if id(call.outputs[index]) in used:
            raise RebuildError(
                f"Cannot clone '{model.name}': output {index} of '{call.operation.name}' could not be computed.",
                expected=f"{len(call.outputs)} outputs, as the original has",
                found=f"{len(found)}",
                fix="return as many outputs as the graph uses.",
                path=call.operation.name,
            )
