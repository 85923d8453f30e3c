"""`flatten`: nested models laid open into the graph around them; what is shared stays shared."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import keras

from ramet._build import Work, arguments_of, run
from ramet._edit.edit import Edit
from ramet._edit.naming import free_name, policies_follow
from ramet._edit.plan import Skip, Step, Touch
from ramet._edit.scene import Scene
from ramet._keras import exchange, ordered, rename, structure


def touch(edit: Edit, scene: Scene) -> Step:
    """Every nested model whose calls can be made in the graph around it."""
    touched, skipped = [], []
    laid_open: set[str] = {""}
    for candidate in scene.find(edit):
        model = scene.op(candidate.path)
        if not isinstance(model, keras.Model):
            continue
        above = candidate.path.rpartition("/")[0]
        reason = _objection(model, candidate.path, scene)
        if reason is None and scene.holder_function(above) is None:
            reason = "it is inside a layer that calls it by its own code"
        if reason is None:
            laid_open.add(candidate.path)
            layers = len(structure.function_of(model).operations)
            touched.append(Touch(candidate.path, f"{layers} ops laid open", claims=frozenset({"layer"})))
        else:
            skipped.append(Skip(candidate.path, reason))
    return Step(edit, tuple(touched), tuple(skipped))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Run each nested model in line, the outermost first: those inside it are met on the way."""
    opened = {id(scene.op(item.path)): item.path for item in step.touched}
    for item in step.touched:
        for call in scene.calls(item.path).values():
            scene.orders.at(call).instead = _InLine(scene, call, opened)
        _freeze_what_was_frozen(scene.op(item.path))
        scene.changed_inside(item.path)
    with policies_follow(scene.twin):
        _name_apart(scene, opened)


class _InLine:
    """The calls of a nested model, made on what the model was called with."""

    def __init__(self, scene: Scene, call: Any, opened: dict[int, str]) -> None:
        self._scene, self._call, self._opened = scene, call, opened

    def __call__(self, successor: Callable[[Any], Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return run(self._made(self._call.operation, args, kwargs, {}))

    def _made(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], context: dict[str, Any]) -> Work:
        function = structure.function_of(model)
        training = kwargs.get("training", context.get("training"))
        context = {} if training is None else {"training": training}
        own = keras.tree.flatten(structure.inputs_of(function))
        given = keras.tree.flatten(args[0] if args else kwargs.get("inputs"))
        known = dict(zip(map(id, own), given, strict=True))
        for call in ordered(structure.calls_of(function)):
            if call.is_input or id(call.outputs[0]) in known:
                continue
            inner_args, inner_kwargs = arguments_of(call, known)
            op = self._scene.orders.swap.get(id(call.operation), call.operation)
            if id(op) in self._opened:
                outputs = yield self._made(op, inner_args, inner_kwargs, context)
            else:
                order = self._scene.orders.calls.get(id(call))
                told = inner_kwargs | _told(op, inner_kwargs, context)
                if order is None:
                    outputs = op(*inner_args, **told)
                else:
                    outputs = order.made(op, inner_args, told, _plainly, _Successor(known))
            known.update(zip(map(id, call.outputs), keras.tree.flatten(outputs), strict=True))
        return [known.get(id(tensor), tensor) for tensor in keras.tree.flatten(structure.outputs_of(function))]


class _Successor:
    """Finds the tensor that stands for another."""

    def __init__(self, known: dict[int, Any]) -> None:
        self._known = known

    def __call__(self, tensor: Any) -> Any:
        return self._known.get(id(tensor), tensor)


def _plainly(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return op(*args, **kwargs)


def _told(op: Any, kwargs: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
    """The phase of training that a model was called with reaches the layers inside it that take one."""
    if not isinstance(op, keras.Layer) or kwargs.get("training") is not None:
        return {}
    return {
        name: value for name, value in context.items() if structure.default_of(op, name) is not inspect.Parameter.empty
    }


def _objection(model: Any, path: str, scene: Scene) -> str | None:
    """Why a model cannot be laid open, or None."""
    if structure.function_of(model) is None:
        return "it has no call graph"
    if structure.has_its_own_call(model):
        return f"{type(model).__name__} has a call of its own"
    if any(True for _ in structure.variables_of(model)):
        return "it has variables of its own"
    for call in scene.calls(path).values():
        if any(
            name not in ("training", "inputs") and value is not None for name, value in call.arguments.kwargs.items()
        ):
            return "it is called with further arguments"
        if len(call.arguments.args) > 1 and any(value is not None for value in call.arguments.args[1:]):
            return "it is called with further arguments"
    return None


def _freeze_what_was_frozen(model: Any) -> None:
    """The flag of a model hides those inside it: laid open, each layer says it itself."""
    if not model.trainable:
        for layer in structure.layers_of(model):
            exchange.own_flag(layer, trainable=False)
            for variable in layer.variables:
                variable.trainable = False


def _name_apart(scene: Scene, opened: dict[int, str]) -> None:
    """Ops that come together in one graph need names of their own: the path says the difference."""
    groups: dict[str, list[tuple[str, Any]]] = {}
    for path in opened.values():
        home = path
        while home in opened.values():
            home = home.rpartition("/")[0]
        groups.setdefault(home, []).append((path, scene.op(path)))
    for home, models in groups.items():
        taken = {
            structure.name_of(op)
            for op in structure.function_of(scene.op_or_twin(home)).operations
            if id(op) not in opened
        }
        seen: set[int] = {id(op) for op in structure.function_of(scene.op_or_twin(home)).operations}
        for path, model in models:
            for op in structure.function_of(model).operations:
                if id(op) in seen or id(op) in opened or isinstance(op, keras.layers.InputLayer):
                    continue
                seen.add(id(op))
                if structure.name_of(op) in taken:
                    rename.rename_op(op, free_name(f"{path.replace('/', '_')}_{structure.name_of(op)}", taken))
                taken.add(structure.name_of(op))
