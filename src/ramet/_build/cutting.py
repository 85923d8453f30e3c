"""`ramet.cut`: the part of a model between some of its layers, also through nested models."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass
from typing import Any

import keras

from ramet._build.rebuild import Steps, arguments_of, calls_inside, run_steps
from ramet._copy import copy_model
from ramet._graph import call_id, split_call_id, without_first
from ramet._keras import (
    capture_model,
    keep_name_counters,
    locations_below,
    recorded_mask,
    rewire,
    sort_calls,
    structure,
    taken_masks,
)
from ramet._keras import names as keras_names
from ramet.errors import ArgumentError, NotAModelError, RebuildError, UnknownPathError, foreign_errors, listed


def cut(model: Any, outputs: Any, inputs: Any = None) -> Any:
    """Return the part of a model that leads to some of its layers, as a functional model with its weights.

    The layers are twins: the original is not changed, and nothing is shared with it.

    Args:
        model: A functional or a built Sequential model.
        outputs: The end of the part: the path of a layer, such as `"block4/conv2"`, also inside nested models
            (`"shared#2"` for its second call, `"shared"` or `"shared#1"` for its first); a layer of the model; or a
            tensor of the model, such as `model.get_layer("a").output`. Or a list, tuple or dict of these.
        inputs: The start of the part, in the same form; by default the model's own inputs. The output of a layer that
            is passed here becomes an input of the same shape and dtype, called `<layer>_output`, or by its key in a
            dict; an input of the model stays that input.

    Returns:
        A functional model. Its outputs have the structure of `outputs`, and its inputs that of `inputs`, if given.

    Raises:
        NotAModelError: `model` has no call graph.
        UnknownPathError: There is no layer at a path.
        ArgumentError: A layer or tensor is not part of the model or is called several times, or an output depends on
            other inputs than these, or on none of them.
        RebuildError: A layer cannot be called again on the new inputs.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")])
    >>> ramet.cut(model, outputs="a").output_shape
    (None, 3)
    >>> tail = ramet.cut(model, outputs="b", inputs="a")
    >>> tail.input_shape, tail.output_shape
    ((None, 3), (None, 2))
    """
    # The whole model is copied first, and the part is built on the twin's own layers: `keras.Model(model.inputs, tensor)`
    # on the original would share its layers, and rebuilding layers from their configs would lose state. Nested models on the
    # way to a target are opened: their inner calls are made once more in the outer graph, on the outer tensors. If the part
    # starts in the middle, the calls between the start and the end are made once more, on new inputs. Finally the layers
    # forget all calls that are not part of the result, so that saving and `layer.output` see the new graph only.
    if not isinstance(model, keras.Model) or structure.function_of(model) is None:
        what = f"'{model.name}'" if isinstance(model, keras.Operation) else f"an object of class {type(model).__name__}"
        raise NotAModelError(
            f"Cannot cut {what}: it has no call graph.",
            expected="a functional or a built Sequential model",
            fix="build it first: model.build(input_shape)."
            if isinstance(model, keras.Sequential)
            else "cut a subclassed model in its own code.",
        )
    with foreign_errors("cut", f"'{model.name}'", RebuildError):
        index = _Index(model)
        ends = index.points(outputs, "outputs")
        starts = None if inputs is None else index.points(inputs, "inputs")
        return _part(model, ends, starts)


def _part(model: Any, ends: Any, starts: Any) -> Any:
    twin = copy_model(model, compile=False)
    opened = _OpenedGraph(twin)
    flat_ends = keras.tree.flatten(ends)
    flat_starts = [] if starts is None else keras.tree.flatten(starts)
    for point in (*flat_ends, *flat_starts):
        opened.enter(point.path)
    run_steps(opened.open(structure.function_of(twin)))
    found = {id(point): opened.tensor_at(point) for point in flat_ends}
    tensors = keras.tree.map_structure(lambda point: found[id(point)], ends)
    if starts is None:
        return _model_between(twin, tensors, opened.lifted)
    cut_at = {id(point): _single_tensor(model, point, opened) for point in flat_starts}
    successors = _start_in_the_middle(
        twin,
        [(point, cut_at[id(point)]) for point in flat_starts],
        [(point, found[id(point)]) for point in flat_ends],
        {id(cut_at[id(point)]): key for key, point in starts.items()} if isinstance(starts, dict) else {},
    )
    new_inputs = keras.tree.map_structure(lambda point: successors[id(cut_at[id(point)])], starts)
    new_outputs = keras.tree.map_structure(lambda old: successors[id(old)], tensors)
    return _model_between(twin, new_outputs, opened.lifted, new_inputs)


def _single_tensor(model: Any, point: _Point, opened: _OpenedGraph) -> Any:
    tensor = opened.tensor_at(point)
    if isinstance(tensor, keras.KerasTensor):
        return tensor
    raise ArgumentError(
        f"Cannot start a part of '{model.name}' at '{point.path}': it has {len(keras.tree.flatten(tensor))} outputs.",
        fix="pass one of its output tensors, such as model.get_layer(...).output[0].",
        path=point.path,
    )


@dataclass(frozen=True)
class _Point:
    """An output of a call, by the path of the call and the index of the output; all outputs if there is no index."""

    path: str
    index: int | None = None


class _Index:
    """The paths of the calls of every op and tensor of a model, by identity, including nested models."""

    # A model that is called twice at every level has 2 ** depth insides; more paths than this are not listed.
    _LIMIT = 10_000

    def __init__(self, model: Any) -> None:
        self.model = model
        self.calls_of_op: dict[int, list[str]] = {}
        self.tensors: dict[int, list[_Point]] = {}
        waiting, count = [(structure.function_of(model), "")], 0
        while waiting and count < self._LIMIT:
            function, prefix = waiting.pop()
            numbers: dict[int, int] = {}
            for call in sorted(structure.calls_of(function), key=_index_of_call):
                count += 1
                op = call.operation
                numbers[id(op)] = numbers.get(id(op), 0) + 1
                path = prefix + call_id(structure.name_of(op), numbers[id(op)])
                self.calls_of_op.setdefault(id(op), []).append(path)
                for number, tensor in enumerate(call.outputs):
                    self.tensors.setdefault(id(tensor), []).append(_Point(path, number))
                if structure.function_of(op) is not None:
                    waiting.append((structure.function_of(op), f"{path}/"))
        self.held = {id(location.op): location.path for location in locations_below(model)}

    def points(self, given: Any, argument: str) -> Any:
        """Return the points of paths, layers or tensors, in the same structure."""
        if not keras.tree.flatten(given):
            raise ArgumentError(
                f"Cannot cut '{self.model.name}': {argument}= is empty.",
                fix="pass a path, a layer or a tensor of the model.",
            )
        return keras.tree.map_structure(lambda one: self._point(one, argument), given)

    def _point(self, given: Any, argument: str) -> _Point:
        if isinstance(given, str):
            return _Point(given)
        if isinstance(given, keras.KerasTensor):
            return self._single(self.tensors.get(id(given), []), f"the tensor '{given.name}'", argument)
        if isinstance(given, keras.Operation):
            if given is self.model:
                raise ArgumentError(
                    f"Cannot cut '{self.model.name}' at itself.", fix="pass a layer inside the model, or its path."
                )
            paths = self.calls_of_op.get(id(given)) or [self.held[id(given)]] if id(given) in self.held else []
            return self._single([_Point(path) for path in paths], f"the layer '{given.name}'", argument)
        raise ArgumentError(
            f"Cannot cut '{self.model.name}' at {given!r}: it is not a path, a layer or a tensor.",
            expected="a path, a layer of the model, a KerasTensor of the model, or a list, tuple or dict of these",
            found=f"{argument}= with an object of class {type(given).__name__}",
            fix="pass a path like 'encoder/conv_1', or model.get_layer('conv_1').",
        )

    def _single(self, points: list[_Point], what: str, argument: str) -> _Point:
        if not points:
            raise ArgumentError(
                f"Cannot cut '{self.model.name}' at {what}: it is not part of the model.",
                found=f"an object of another model in {argument}=",
                fix="pass a layer or tensor of this model, or a path; print(ramet.capture(model)) lists the paths.",
            )
        if len(points) > 1:
            raise ArgumentError(
                f"Cannot cut '{self.model.name}' at {what}: it is called {len(points)} times.",
                found=", ".join(f"'{point.path}'" for point in points[:5]),
                fix="pass the path of one of these calls.",
                path=points[0].path,
            )
        return points[0]


def _index_of_call(call: Any) -> int:
    made = structure.calls_made(call.operation)
    return next(number for number, other in enumerate(made) if other is call)


def _start_in_the_middle(
    twin: Any, starts: list[tuple[_Point, Any]], ends: list[tuple[_Point, Any]], keys: dict[int, str]
) -> dict[int, Any]:
    """Make the calls between points again, on new inputs, and return the successors of tensors by their ids.

    `starts` and `ends` are points with their tensors, and `keys` the names that the user gave to inputs, by the id of a
    start tensor.
    """
    needed = _calls_between(twin, starts, ends)
    tensors = [tensor for _, tensor in starts]
    replaced = {id(tensor): tensor for tensor in tensors if structure.is_input_tensor(tensor)}
    names = {call.operation.name for call in needed} | {structure.input_name(kept) for kept in replaced.values()}
    for tensor in tensors:
        if id(tensor) not in replaced:
            name = _free_name(str(keys.get(id(tensor), f"{structure.input_name(tensor)}_output")), names)
            names.add(name)
            sparse = {"sparse": True} if structure.is_sparse(tensor) else {}
            replaced[id(tensor)] = keras.Input(batch_shape=tuple(tensor.shape), dtype=tensor.dtype, name=name, **sparse)
    new_inputs = set(replaced)

    def make(call: Any) -> None:
        args, kwargs = arguments_of(call, replaced)
        path = structure.name_of(call.operation)
        with foreign_errors("cut", f"'{twin.name}' through '{path}'", RebuildError, path):
            made = structure.tensors_in(call.operation(*args, **kwargs))
        for old, new in zip(call.outputs, made, strict=True):
            if id(old) not in new_inputs:
                replaced[id(old)] = new

    # A new input carries the mask of the tensor that it replaces. Masks are made first, because a layer passes on the mask of
    # its input when it is called.
    masks, makers = _masks_of_starts(tensors, needed)
    for call in makers:
        make(call)
    for tensor, mask in masks:
        setattr(replaced[id(tensor)], keras_names.MASK, replaced[id(mask)])
    done = set(map(id, makers))
    for call in needed:
        if id(call) not in done:
            make(call)
    return replaced


def _masks_of_starts(starts: list[Any], calls: list[Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Return the start tensors with the masks they carry that the calls make, and the calls that make these masks."""
    call_of = {id(tensor): call for call in calls for tensor in call.outputs}
    taken = taken_masks(calls)
    carried = [(tensor, structure.mask_of(tensor)) for tensor in starts if not structure.is_input_tensor(tensor)]
    recorded = [(tensor, recorded_mask(mask, call_of, taken)) for tensor, mask in carried if mask is not None]
    masks = [(tensor, mask) for tensor, mask in recorded if mask is not None]

    def makers(tensors: list[Any]) -> list[Any]:
        return [call_of[id(tensor)] for tensor in tensors if id(tensor) in call_of]

    needed = set(map(id, structure.reachable(makers([mask for _, mask in masks]), lambda call: makers(call.input_tensors))))
    return masks, [call for call in calls if id(call) in needed]


def _calls_between(twin: Any, starts: list[tuple[_Point, Any]], ends: list[tuple[_Point, Any]]) -> list[Any]:
    """Return the calls between the starts and the ends in order; raise if the ends need or use other inputs."""
    by_id = {id(tensor): point for point, tensor in starts}
    used: set[int] = set()
    order: dict[int, Any] = {}
    for end, tensors in ends:
        reached: set[int] = set()
        seen: set[int] = set()
        waiting: list[tuple[Any, bool]] = [(tensor, False) for tensor in structure.tensors_in(tensors)]
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
                    f"Cannot cut '{twin.name}' between these layers: '{end.path}' also depends on the input '{item.name}'.",
                    expected=f"outputs that depend on {listed([point.path for point, _ in starts])} alone",
                    found=f"a path from '{item.name}' to '{end.path}' that bypasses them (masks count, too)",
                    fix=f"add '{item.name}' to inputs=, or cut where all paths meet.",
                    path=end.path,
                )
            waiting.append((call, True))
            waiting.extend((tensor, False) for tensor in reversed(call.input_tensors))
        if not reached:
            raise ArgumentError(
                f"Cannot cut '{twin.name}' between these layers: '{end.path}' does not depend on the inputs.",
                fix="pass an output that depends on inputs=.",
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


def _model_between(twin: Any, outputs: Any, lifted: dict[int, str], inputs: Any = None) -> Any:
    """Return a functional model from some inputs, or those of the twin, to some tensors, its layers without other calls.

    `lifted` are the paths of layers taken out of nested models: they are renamed if another layer has the same name.
    """
    ends = map(structure.producing_call, keras.tree.flatten(outputs))
    calls = structure.reachable(ends, lambda call: map(structure.producing_call, call.input_tensors))
    needed = set(map(id, calls))
    if inputs is None:
        inputs = structure.inputs_of(structure.function_of(twin))
        flat = keras.tree.flatten(inputs)
        used = [tensor for tensor in flat if id(structure.producing_call(tensor)) in needed]
        if len(used) != len(flat):
            inputs = used[0] if len(used) == 1 else used
    ops = structure.once(call.operation for call in calls)
    names = Counter(structure.name_of(op) for op in ops)
    for op in ops:
        if names[structure.name_of(op)] > 1 and id(op) in lifted:
            rewire.set_name(op, lifted[id(op)].replace("/", "_"))
    made = {id(call) for op in ops for call in structure.calls_made(op)}
    rewire.forget_calls(ops, made - needed - calls_inside(ops))
    with keep_name_counters():
        return keras.Model(inputs, outputs, name=twin.name)


class _OpenedGraph:
    """The calls that lead to some layers, with the nested models on the way opened.

    A nested model that is opened is run once, inline, and the calls after it take its tensors: if features and logits are both
    outputs, the logits are computed from these very features.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.replaced: dict[int, Any] = {}  # by the id of a tensor that was computed again, the new one
        self.lifted: dict[int, str] = {}  # by the id of an op taken out of a nested model, its path
        self._entered: dict[int, str] = {}  # by the id of a call of a nested model to open, its path
        self._targets: dict[str, tuple[Any, list[str]]] = {}  # by path, the call there, and the rest inside a wrapper

    def enter(self, path: str) -> None:
        """Find the calls on a path, and mark the nested models to open."""
        function, parts = structure.function_of(self.model), path.split("/")
        calls: list[Any] = []
        while function is not None and len(calls) < len(parts):
            calls.append(_call_at(self.model, function, parts[len(calls)], path))
            function = structure.function_of(calls[-1].operation)
        for depth, call in enumerate(calls[:-1]):
            self._entered[id(call)] = "/".join(parts[: depth + 1])
        self._targets[path] = calls[-1], parts[len(calls) :]

    def tensor_at(self, point: _Point) -> Any:
        """Return the outputs of the call at a point."""
        call, inside = self._targets[point.path]
        if inside:
            return self._through_wrapper(call, inside, point.path)
        outputs = self._successors(call.outputs)
        if point.index is not None:
            return outputs[point.index]
        return outputs[0] if len(outputs) == 1 else outputs

    def _successors(self, tensors: Any) -> list[Any]:
        return [self.replaced.get(id(tensor), tensor) for tensor in tensors]

    def open(self, function: Any, path: str = "") -> Steps:
        """Make the calls inside every nested model of a graph that was entered, and then those that depend on them."""
        if not self._entered:
            return
        for call in sort_calls(structure.calls_of(function)):
            if id(call) in self._entered:
                yield self._open_call(call)
            elif not call.is_input and any(id(tensor) in self.replaced for tensor in call.input_tensors):
                args, kwargs = arguments_of(call, self.replaced)
                made = structure.tensors_in(call.operation(*args, **kwargs))
                self.replaced.update(zip(map(id, call.outputs), made, strict=True))
                if path:
                    self.lifted[id(call.operation)] = f"{path}/{structure.name_of(call.operation)}"

    def _open_call(self, call: Any) -> Steps:
        inner = structure.function_of(call.operation)
        given = self._successors(structure.tensors_in(call.arguments.args or call.arguments.kwargs))
        self.replaced.update(zip(map(id, structure.tensors_in(structure.inputs_of(inner))), given, strict=False))
        yield self.open(inner, self._entered[id(call)].partition("#")[0])
        results = self._successors(structure.tensors_in(structure.outputs_of(inner)))
        self.replaced.update(zip(map(id, call.outputs), results, strict=True))

    def _through_wrapper(self, call: Any, inside: list[str], path: str) -> Any:
        """Cut the model inside a TimeDistributed, and call a new TimeDistributed around the part."""
        wrapper = call.operation
        inner: Any = getattr(wrapper, "layer", None)
        if not isinstance(wrapper, keras.layers.TimeDistributed) or structure.function_of(inner) is None:
            raise ArgumentError(
                f"Cannot cut '{self.model.name}' at '{path}': '{wrapper.name}' has no call graph.",
                found=f"a {type(wrapper).__name__}, whose own code calls its inner layers",
                fix=f"cut at '{wrapper.name}' itself.",
                path=path,
            )
        rest = "/".join(inside[1:] if inside[0] == inner.name else inside)
        args, kwargs = arguments_of(call, self.replaced)
        return keras.layers.TimeDistributed(cut(inner, rest) if rest else inner, name=wrapper.name)(*args, **kwargs)


def _call_at(model: Any, function: Any, part: str, path: str) -> Any:
    """Return the call of a graph with an id such as `conv` or `conv#2`."""
    all_calls = structure.calls_of(function)
    literal = any(structure.name_of(call.operation) == part for call in all_calls)
    name, number = split_call_id(part if literal else without_first(part)) or (part, 1)
    calls = sorted((call for call in all_calls if structure.name_of(call.operation) == name), key=_index_of_call)
    if 1 <= number <= len(calls):
        return calls[number - 1]
    paths = [known for known, _ in capture_model(model).walk()]
    closest = difflib.get_close_matches(path, paths, n=3, cutoff=0.4) or [
        known for known in paths if known.rpartition("/")[2] == path.rpartition("/")[2]
    ]
    raise UnknownPathError(
        f"Cannot cut '{model.name}' at '{path}': the model has no layer with this path.",
        closest=closest,
        fix="use one of these paths, or list all paths with print(ramet.capture(model)).",
        path=path,
    )
