"""`cut`: the part of a model that leads to one of its layers, also through nested models."""

from __future__ import annotations

import difflib
from typing import Any

import keras

from ramet._build.rebuild import arguments_of
from ramet._capture.capture import capture
from ramet._capture.tree import places_below
from ramet._graph import split_call_id
from ramet._keras import rewire, structure
from ramet._keras.counters import names_untouched
from ramet._twin.clone import clone
from ramet.errors import ArgumentError, NotAModelError, UnknownPathError


def cut(model: Any, outputs: Any) -> Any:
    """The sub-model; see `ramet.cut`."""
    if not isinstance(model, keras.Model) or structure.function_of(model) is None:
        raise NotAModelError(
            f"Cannot cut {_named(model)}: it has no call graph.",
            expected="a functional or a built Sequential model",
            fix="a subclassed model can only be cut in its own code.",
        )
    twin = clone(model, keep_compiled=False)
    found = keras.tree.map_structure(lambda path: _tensor_at(twin, path), outputs)
    return _model_to(twin, found)


def _model_to(twin: Any, outputs: Any) -> Any:
    """A functional model from the twin's inputs to some tensors, its layers without any other calls."""
    needed: dict[int, Any] = {}
    waiting = keras.tree.flatten(outputs)
    while waiting:
        call = structure.producing_call(waiting.pop())
        if call is not None and id(call) not in needed:
            needed[id(call)] = call
            waiting.extend(call.input_tensors)
    function = structure.function_of(twin)
    inputs = structure.inputs_of(function)
    flat = keras.tree.flatten(inputs)
    used = [tensor for tensor in flat if id(structure.producing_call(tensor)) in needed]
    if len(used) != len(flat):
        inputs = used[0] if len(used) == 1 else used
    ops = list({id(call.operation): call.operation for call in needed.values()}.values())
    kept = needed.keys() | _calls_inside(ops)
    rewire.forget_calls(ops, {id(call) for op in ops for call in structure.calls_made(op)} - kept)
    with names_untouched():
        return keras.Model(inputs, outputs, name=twin.name)


def _calls_inside(ops: list[Any]) -> set[int]:
    """The calls of the models among the ops, at all levels: a layer cut out of a model may still be called in it."""
    functions = [structure.function_of(place.op) for op in ops for place in places_below(op)]
    return {id(call) for function in functions if function is not None for call in structure.calls_of(function)}


def _tensor_at(model: Any, path: Any) -> Any:
    """The output of the layer at a path: of its first call, or of the call that `#2` after its name says."""
    function = structure.function_of(model)
    known: dict[int, Any] = {}  # tensors of inner graphs, computed on the outer ones
    parts = path.split("/") if isinstance(path, str) else []
    if not parts:
        raise ArgumentError(
            f"Cannot cut '{model.name}' at {path!r}: a path is a text.", fix="pass a path like 'encoder/conv_1'."
        )
    for depth, part in enumerate(parts):
        call = _call_at(model, function, part, path)
        if depth == len(parts) - 1:
            break
        inner = structure.function_of(call.operation)
        if inner is None:
            return _through_wrapper(model, call, known, parts[depth + 1 :], path)
        given = keras.tree.flatten(call.arguments.args or call.arguments.kwargs)
        own = keras.tree.flatten(structure.inputs_of(inner))
        known |= {id(old): known.get(id(new), new) for old, new in zip(own, given, strict=False)}
        target = _call_at(model, inner, parts[depth + 1], path)
        _compute(inner, target, known)
        function = inner
    outputs = [known.get(id(tensor), tensor) for tensor in call.outputs]
    return outputs[0] if len(outputs) == 1 else outputs


def _compute(function: Any, target: Any, known: dict[int, Any]) -> None:
    """Make the calls of an inner graph that lead to one of its calls, and that call, on the outer tensors."""
    needed = {id(target)}
    calls = structure.calls_of(function)
    for call in reversed(calls):
        if id(call) in needed:
            needed.update(id(parent) for parent in call.parent_nodes)
    for call in calls:
        if id(call) in needed and not call.is_input:
            args, kwargs = arguments_of(call, known)
            found = keras.tree.flatten(call.operation(*args, **kwargs))
            known.update(zip(map(id, call.outputs), found, strict=True))


def _through_wrapper(model: Any, call: Any, known: dict[int, Any], rest: list[str], path: str) -> Any:
    """A wrapper that applies one model to every step: the same wrapper around the cut model."""
    wrapper = call.operation
    inner: Any = getattr(wrapper, "layer", None)
    if not isinstance(wrapper, keras.layers.TimeDistributed) or structure.function_of(inner) is None:
        raise ArgumentError(
            f"Cannot cut '{model.name}' at '{path}': '{wrapper.name}' has no call graph.",
            found=f"a {type(wrapper).__name__}, whose inner layers are called by its own code",
            fix=f"cut at '{wrapper.name}' itself.",
            path=path,
        )
    if rest and rest[0] == inner.name:
        rest = rest[1:]
    part = _model_to(inner, _tensor_at(inner, "/".join(rest))) if rest else inner
    args, kwargs = arguments_of(call, known)
    return keras.layers.TimeDistributed(part, name=wrapper.name)(*args, **kwargs)


def _call_at(model: Any, function: Any, part: str, path: str) -> Any:
    """One call of a graph, by the id of the call."""
    name, number = split_call_id(part) or (part, 1)
    calls = [call for call in structure.calls_of(function) if call.operation.name == name]
    if calls:
        made = structure.calls_made(calls[0].operation)
        calls.sort(key=lambda call: next(n for n, other in enumerate(made) if other is call))
    if not 1 <= number <= len(calls):
        raise _unknown(model, path)
    return calls[number - 1]


def _unknown(model: Any, path: str) -> UnknownPathError:
    paths = [known for known, _ in capture(model).walk()]
    close = difflib.get_close_matches(path, paths, n=3, cutoff=0.4) or [
        known for known in paths if known.rpartition("/")[2] == path.rpartition("/")[2]
    ]
    return UnknownPathError(
        f"Cannot cut '{model.name}' at '{path}': the model has no layer there.",
        closest=close,
        fix="use one of these paths, or list them with print(ramet.capture(model)).",
        path=path,
    )


def _named(model: Any) -> str:
    return f"'{model.name}'" if isinstance(model, keras.Operation) else f"an object of class {type(model).__name__}"
