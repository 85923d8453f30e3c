"""`cut`: the part of a model that leads to one of its layers, also through nested models."""

from __future__ import annotations

import difflib
from collections import Counter
from typing import Any

import keras

from ramet._build.rebuild import arguments_of
from ramet._build.trampoline import Work, run
from ramet._capture.capture import capture
from ramet._capture.sequence import ordered
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
    part = _Part(twin)
    for path in keras.tree.flatten(outputs):
        part.enter(path)
    run(part.expand())
    return _model_to(twin, keras.tree.map_structure(part.tensor_at, outputs), part.lifted)


def _model_to(twin: Any, outputs: Any, lifted: dict[int, str]) -> Any:
    """A functional model from the twin's inputs to some tensors, its layers without any other calls.

    `lifted` are the paths of layers that stood inside nested models: they may not be called what others are called.
    """
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
    names = Counter(op.name for op in ops)
    for op in ops:
        if names[op.name] > 1 and id(op) in lifted:
            rewire.rename(op, lifted[id(op)].replace("/", "_"))
    kept = needed.keys() | _calls_inside(ops)
    rewire.forget_calls(ops, {id(call) for op in ops for call in structure.calls_made(op)} - kept)
    with names_untouched():
        return keras.Model(inputs, outputs, name=twin.name)


def _calls_inside(ops: list[Any]) -> set[int]:
    """The calls of the models among the ops, at all levels: a layer cut out of a model may still be called in it."""
    functions = [structure.function_of(place.op) for op in ops for place in places_below(op)]
    return {id(call) for function in functions if function is not None for call in structure.calls_of(function)}


class _Part:
    """The calls on the way to some layers, nested models that the way leads through laid open.

    A nested model that is entered is run once, in line, and the calls after it take its tensors: of features and logits, the
    logits are computed from these very features.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.known: dict[int, Any] = {}  # the new tensor for each that was computed again
        self.lifted: dict[int, str] = {}  # the paths of ops that stood inside a nested model
        self._entered: dict[int, tuple[Any, str]] = {}
        self._targets: dict[str, list[Any]] = {}

    def enter(self, path: Any) -> None:
        """Find the calls on a path, and note those that must be laid open."""
        if not isinstance(path, str):
            raise ArgumentError(
                f"Cannot cut '{self.model.name}' at {path!r}: a path is a text.",
                fix="pass a path like 'encoder/conv_1'.",
            )
        function, parts = structure.function_of(self.model), path.split("/")
        calls: list[Any] = []
        for depth, part in enumerate(parts):
            if function is None:
                calls += parts[depth:]
                break
            calls.append(_call_at(self.model, function, part, path))
            function = structure.function_of(calls[-1].operation)
        # What follows a wrapper stays a text: it is a path inside the model that the wrapper holds.
        found = [call for call in calls if not isinstance(call, str)]
        for depth, call in enumerate(found[:-1]):
            self._entered[id(call)] = (call, "/".join(parts[: depth + 1]))
        self._targets[path] = calls

    def tensor_at(self, path: str) -> Any:
        """What the layer at a path gives."""
        calls = self._targets[path]
        inside = [part for part in calls if isinstance(part, str)]
        call = calls[len(calls) - len(inside) - 1]
        if inside:
            return self._through_wrapper(call, inside, path)
        outputs = [self.known.get(id(tensor), tensor) for tensor in call.outputs]
        return outputs[0] if len(outputs) == 1 else outputs

    def expand(self) -> Work:
        """Make the calls inside every nested model that is entered, and then those that depend on them."""
        return self._expand(structure.function_of(self.model))

    def _expand(self, function: Any, path: str = "") -> Work:
        if not self._entered:
            return
        for call in ordered(structure.calls_of(function)):
            if id(call) in self._entered:
                yield self._open(call)
            elif not call.is_input and any(id(tensor) in self.known for tensor in call.input_tensors):
                args, kwargs = arguments_of(call, self.known)
                self.known.update(zip(map(id, call.outputs), _flat(call.operation(*args, **kwargs)), strict=True))
                if path:
                    self.lifted[id(call.operation)] = f"{path}/{call.operation.name}"

    def _open(self, call: Any) -> Work:
        inner, path = structure.function_of(call.operation), self._entered[id(call)][1]
        given = [self.known.get(id(tensor), tensor) for tensor in _flat(call.arguments.args or call.arguments.kwargs)]
        self.known.update(zip(map(id, _flat(structure.inputs_of(inner))), given, strict=False))
        yield self._expand(inner, path.partition("#")[0])
        results = [self.known.get(id(tensor), tensor) for tensor in _flat(structure.outputs_of(inner))]
        self.known.update(zip(map(id, call.outputs), results, strict=True))

    def _through_wrapper(self, call: Any, inside: list[str], path: str) -> Any:
        """A wrapper that applies one model to every step: the same wrapper around the cut model."""
        wrapper = call.operation
        inner: Any = getattr(wrapper, "layer", None)
        if not isinstance(wrapper, keras.layers.TimeDistributed) or structure.function_of(inner) is None:
            raise ArgumentError(
                f"Cannot cut '{self.model.name}' at '{path}': '{wrapper.name}' has no call graph.",
                found=f"a {type(wrapper).__name__}, whose inner layers are called by its own code",
                fix=f"cut at '{wrapper.name}' itself.",
                path=path,
            )
        rest = "/".join(inside[1:] if inside[0] == inner.name else inside)
        args, kwargs = arguments_of(call, self.known)
        return keras.layers.TimeDistributed(cut(inner, rest) if rest else inner, name=wrapper.name)(*args, **kwargs)


def _flat(values: Any) -> list[Any]:
    return [value for value in keras.tree.flatten(values) if isinstance(value, keras.KerasTensor)]


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
