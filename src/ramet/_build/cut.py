"""`cut`: the part of a model that leads to some of its layers, or from some to others, also through nested models."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass
from typing import Any

import keras

from ramet._build.rebuild import arguments_of
from ramet._build.trampoline import Work, run
from ramet._keras import capture
from ramet._keras import ordered
from ramet._keras import places_below
from ramet._graph import call_id, split_call_id, without_first
from ramet._keras import rewire, structure
from ramet._keras import names_untouched
from ramet._copy import clone
from ramet.errors import ArgumentError, NotAModelError, RebuildError, UnknownPathError, foreign_errors, listed


def cut(model: Any, outputs: Any, inputs: Any = None) -> Any:
    """The sub-model; see `ramet.cut`."""
    if not isinstance(model, keras.Model) or structure.function_of(model) is None:
        raise NotAModelError(
            f"Cannot cut {_named(model)}: it has no call graph.",
            expected="a functional or a built Sequential model",
            fix="a subclassed model can only be cut in its own code.",
        )
    with foreign_errors("cut", f"'{model.name}'", RebuildError):
        return _part_of(model, outputs, inputs)


def _part_of(model: Any, outputs: Any, inputs: Any) -> Any:
    index = _Index(model)
    ends = _located(index, outputs, "outputs")
    starts = None if inputs is None else _located(index, inputs, "inputs")
    twin = clone(model, keep_compiled=False)
    part = _Part(twin)
    for point in (*keras.tree.flatten(ends), *([] if starts is None else keras.tree.flatten(starts))):
        part.enter(point.path)
    run(part.expand())
    found = {id(point): part.tensor_at(point) for point in keras.tree.flatten(ends)}
    tensors = keras.tree.map_structure(lambda point: found[id(point)], ends)
    if starts is None:
        return _model_to(twin, tensors, part.lifted)
    cut_at = {id(point): _one_tensor(model, point, part) for point in keras.tree.flatten(starts)}
    successors = _from_the_middle(
        twin,
        [(point, cut_at[id(point)]) for point in keras.tree.flatten(starts)],
        [(point, found[id(point)]) for point in keras.tree.flatten(ends)],
        {id(cut_at[id(point)]): key for key, point in starts.items()} if isinstance(starts, dict) else {},
    )
    new_inputs = keras.tree.map_structure(lambda point: successors[id(cut_at[id(point)])], starts)
    return _model_to(twin, keras.tree.map_structure(lambda old: successors[id(old)], tensors), part.lifted, new_inputs)


def _one_tensor(model: Any, point: _Point, part: _Part) -> Any:
    tensor = part.tensor_at(point)
    if isinstance(tensor, keras.KerasTensor):
        return tensor
    raise ArgumentError(
        f"Cannot cut '{model.name}' from '{point.path}' on: it has {len(keras.tree.flatten(tensor))} outputs.",
        fix="pass the tensor that is meant, such as model.get_layer(...).output[0].",
        path=point.path,
    )


@dataclass(frozen=True)
class _Point:
    """A place in a graph: the path of a call, and which of its outputs; all of them without a number."""

    path: str
    index: int | None = None


class _Index:
    """Paths of the calls of every op and tensor of a model, by identity, including nested models."""

    # A model that is called twice at every level has 2 ** depth insides; more paths than these are not listed.
    _LIMIT = 10_000

    def __init__(self, model: Any) -> None:
        self.model = model
        self.calls_of_op: dict[int, list[str]] = {}
        self.tensors: dict[int, list[_Point]] = {}
        waiting, count = [(structure.function_of(model), "")], 0
        while waiting and count < self._LIMIT:
            function, prefix = waiting.pop()
            numbers: dict[int, int] = {}
            for call in sorted(structure.calls_of(function), key=_turn):
                count += 1
                op = call.operation
                numbers[id(op)] = numbers.get(id(op), 0) + 1
                path = prefix + call_id(structure.name_of(op), numbers[id(op)])
                self.calls_of_op.setdefault(id(op), []).append(path)
                for number, tensor in enumerate(call.outputs):
                    self.tensors.setdefault(id(tensor), []).append(_Point(path, number))
                if structure.function_of(op) is not None:
                    waiting.append((structure.function_of(op), f"{path}/"))
        self.held = {id(place.op): place.path for place in places_below(model)}

    def point(self, given: Any, argument: str) -> _Point:
        """Return the point that a path, a layer or a tensor of the model refers to."""
        if isinstance(given, str):
            return _Point(given)
        if isinstance(given, keras.KerasTensor):
            points = self.tensors.get(id(given), [])
            if not points:
                raise self._foreign(f"the tensor '{given.name}'", argument)
            return self._only(points, [point.path for point in points], f"the tensor '{given.name}'")
        if isinstance(given, keras.Operation):
            if given is self.model:
                raise ArgumentError(
                    f"Cannot cut '{self.model.name}' at itself.", fix="pass a layer inside the model, or its path."
                )
            paths = self.calls_of_op.get(id(given)) or [self.held[id(given)]] if id(given) in self.held else []
            if not paths:
                raise self._foreign(f"the layer '{given.name}'", argument)
            return self._only([_Point(path) for path in paths], paths, f"the layer '{given.name}'")
        raise ArgumentError(
            f"Cannot cut '{self.model.name}' at {given!r}: it is not a path, a layer or a tensor.",
            expected="a path, a layer of the model, a KerasTensor of the model, or a list, tuple or dict of these",
            found=f"{argument}= with an object of class {type(given).__name__}",
            fix="pass a path like 'encoder/conv_1', or model.get_layer('conv_1').",
        )

    def _only(self, points: list[_Point], paths: list[str], what: str) -> _Point:
        if len(points) == 1:
            return points[0]
        raise ArgumentError(
            f"Cannot cut '{self.model.name}' at {what}: it is called {len(points)} times.",
            found=", ".join(f"'{path}'" for path in paths[:5]),
            fix="pass the path of the call that is meant.",
            path=paths[0],
        )

    def _foreign(self, what: str, argument: str) -> ArgumentError:
        return ArgumentError(
            f"Cannot cut '{self.model.name}' at {what}: it is not part of the model.",
            found=f"{argument}= with a foreign object",
            fix="pass a layer or tensor of this model, or a path; list the paths with print(ramet.capture(model)).",
        )


def _located(index: _Index, given: Any, argument: str) -> Any:
    if not keras.tree.flatten(given):
        raise ArgumentError(
            f"Cannot cut '{index.model.name}': {argument}= names nothing.",
            fix="pass a path, a layer or a tensor of the model.",
        )
    return keras.tree.map_structure(lambda one: index.point(one, argument), given)


def _turn(call: Any) -> int:
    """The number of a call among all calls of its op."""
    made = structure.calls_made(call.operation)
    return next(number for number, other in enumerate(made) if other is call)


def _from_the_middle(
    twin: Any, starts: list[tuple[_Point, Any]], ends: list[tuple[_Point, Any]], keys: dict[int, str]
) -> dict[int, Any]:
    """By the id of a tensor, what it is in a graph where some tensors are inputs. The outputs are computed from these alone.

    `keys` are the names that the user gave to new inputs, by the id of the tensor.
    """
    needed = _needed(twin, starts, ends)
    tensors = [tensor for _, tensor in starts]
    replaced = {id(tensor): tensor for tensor in tensors if rewire.is_input_tensor(tensor)}
    names = {call.operation.name for call in needed} | {structure.input_name(kept) for kept in replaced.values()}
    for tensor in tensors:
        if id(tensor) not in replaced:
            name = _free_name(str(keys.get(id(tensor), f"{structure.input_name(tensor)}_output")), names)
            names.add(name)
            sparse = {"sparse": True} if structure.is_sparse(tensor) else {}
            replaced[id(tensor)] = keras.Input(batch_shape=tuple(tensor.shape), dtype=tensor.dtype, name=name, **sparse)
    first = set(replaced)
    for call in needed:
        args, kwargs = arguments_of(call, replaced)
        path = structure.name_of(call.operation)
        with foreign_errors("cut", f"'{twin.name}' through '{path}'", RebuildError, path):
            made = _flat(call.operation(*args, **kwargs))
        for old, new in zip(call.outputs, made, strict=True):
            if id(old) not in first:
                replaced[id(old)] = new
    return replaced


def _needed(twin: Any, starts: list[tuple[_Point, Any]], ends: list[tuple[_Point, Any]]) -> list[Any]:
    """The calls between some tensors and the outputs, in order; an error where that is not all the outputs need."""
    by_id = {id(tensor): point for point, tensor in starts}
    used: set[int] = set()
    order: dict[int, Any] = {}
    for end, tensors in ends:
        reached: set[int] = set()
        seen: set[int] = set()
        waiting: list[tuple[Any, bool]] = [(tensor, False) for tensor in _flat(tensors)]
        while waiting:
            item, done = waiting.pop()
            if done:
                order.setdefault(id(item), item)
                continue
            if id(item) in by_id:
                reached.add(id(item))
                continue
            call = structure.producing_call(item)
            if id(call) in seen:
                continue
            seen.add(id(call))
            if call.is_input:
                raise ArgumentError(
                    f"Cannot cut '{twin.name}' between these layers: '{end.path}' also needs the input '{item.name}'.",
                    expected=f"outputs that follow from {listed([point.path for point, _ in starts])} alone",
                    found=f"a way from '{item.name}' to '{end.path}' past them (a mask that travels along counts, too)",
                    fix=f"add '{item.name}' to inputs=, or cut where all ways meet.",
                    path=end.path,
                )
            waiting.append((call, True))
            waiting.extend((tensor, False) for tensor in reversed(call.input_tensors))
        if not reached:
            raise ArgumentError(
                f"Cannot cut '{twin.name}' between these layers: '{end.path}' does not depend on the inputs.",
                fix="pass an output that follows from inputs=.",
                path=end.path,
            )
        used |= reached
    for key, point in by_id.items():
        if key not in used:
            raise ArgumentError(
                f"Cannot cut '{twin.name}' between these layers: no output depends on '{point.path}'.",
                fix=f"leave '{point.path}' out of inputs=.",
                path=point.path,
            )
    return list(order.values())


def _free_name(name: str, taken: set[str]) -> str:
    found, number = name, 1
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found


def _model_to(twin: Any, outputs: Any, lifted: dict[int, str], inputs: Any = None) -> Any:
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
    if inputs is None:
        inputs = structure.inputs_of(structure.function_of(twin))
        flat = keras.tree.flatten(inputs)
        used = [tensor for tensor in flat if id(structure.producing_call(tensor)) in needed]
        if len(used) != len(flat):
            inputs = used[0] if len(used) == 1 else used
    ops = list({id(call.operation): call.operation for call in needed.values()}.values())
    names = Counter(structure.name_of(op) for op in ops)
    for op in ops:
        if names[structure.name_of(op)] > 1 and id(op) in lifted:
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

    def enter(self, path: str) -> None:
        """Find the calls on a path, and note those that must be laid open."""
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

    def tensor_at(self, point: _Point) -> Any:
        """Return the outputs of the call at a point."""
        path = point.path
        calls = self._targets[path]
        inside = [part for part in calls if isinstance(part, str)]
        call = calls[len(calls) - len(inside) - 1]
        if inside:
            return self._through_wrapper(call, inside, path)
        outputs = [self.known.get(id(tensor), tensor) for tensor in call.outputs]
        if point.index is not None:
            return outputs[point.index]
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
                    self.lifted[id(call.operation)] = f"{path}/{structure.name_of(call.operation)}"

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
    literal = any(structure.name_of(call.operation) == part for call in structure.calls_of(function))
    name, number = split_call_id(part if literal else without_first(part)) or (part, 1)
    calls = [call for call in structure.calls_of(function) if structure.name_of(call.operation) == name]
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
