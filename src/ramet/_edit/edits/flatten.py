"""`flatten`: inline nested models into the graph around them; shared layers stay shared."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras

from ramet._build import Steps, arguments_of, run_steps
from ramet._edit.base import Edit, SelectorLike
from ramet._edit.names import free_name, policies_follow
from ramet._edit.plans import PlanItems, Skip, Step, Touch
from ramet._edit.session import EditSession
from ramet._keras import exchange, rewire, sort_calls, structure


@dataclass(frozen=True, repr=False)
class Flatten(Edit):
    """Inline nested models into the graph around them.

    Layers keep their weights, shared layers stay shared, and the model computes the same. A layer whose name is already
    taken gets the path of its model as a prefix: `block_a` for `block/a`. The edit skips models that are more than
    their graph: subclassed models, models with a `call` method or variables of their own, models that are called with
    further arguments, and models that the code of a layer calls.

    Args:
        selector: The nested models to inline; all by default. Layers are ignored.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> block = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.ReLU(name="b")])
    >>> model = keras.Sequential([keras.Input((4,)), block, keras.layers.Dense(2, name="head")])
    >>> [layer.name for layer in ramet.edit(model, e.flatten()).layers]
    ['a', 'b', 'head']
    """

    kind = "flatten"
    preserves_function = True
    adds_layers = False

    selector: SelectorLike = None

    def plan(self, session: EditSession) -> PlanItems:
        for candidate in session.find(self.selector):
            model = session.op(candidate.path)
            if not isinstance(model, keras.Model):
                continue
            reason = _objection(model, candidate.path, session)
            if reason is None:
                what = f"{len(structure.function_of(model).operations)} ops inlined"
                yield Touch(candidate.path, what, claims=frozenset({"layer"}))
            else:
                yield Skip(candidate.path, reason)

    def apply(self, step: Step, session: EditSession) -> None:
        """Inline each nested model, the outermost first: those inside it are inlined on the way."""
        inlined = {id(session.op(item.path)): item.path for item in step.touched}
        for item in step.touched:
            for call in session.calls(item.path).values():
                session.changes.at(call).instead = functools.partial(_call_inlined, session, inlined, call.operation)
            _freeze_layers_of_frozen(session.op(item.path))
            session.changed.append(item.path)
        with policies_follow(session.twin):
            _make_names_unique(session, inlined)


def _call_inlined(
    session: EditSession,
    inlined: dict[int, str],
    model: Any,
    _: Callable[[Any], Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Make the calls of a nested model on the arguments that the model was called with."""

    def make_calls(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], training: Any) -> Steps:
        function = structure.function_of(model)
        training = kwargs.get("training", training)
        own = keras.tree.flatten(structure.inputs_of(function))
        given = keras.tree.flatten(args[0] if args else kwargs.get("inputs"))
        known = dict(zip(map(id, own), given, strict=True))

        def successor(tensor: Any) -> Any:
            return known.get(id(tensor), tensor)

        for call in sort_calls(structure.calls_of(function)):
            if call.is_input or id(call.outputs[0]) in known:
                continue
            inner_args, inner_kwargs = arguments_of(call, known)
            op = session.successor(call.operation)
            if id(op) in inlined:
                outputs = yield make_calls(op, inner_args, inner_kwargs, training)
            else:
                if training is not None and inner_kwargs.get("training") is None and _takes_training(op):
                    inner_kwargs = {**inner_kwargs, "training": training}
                change = session.changes.calls.get(id(call))
                if change is None:
                    outputs = op(*inner_args, **inner_kwargs)
                else:
                    outputs = change.make_outputs(op, inner_args, inner_kwargs, _call_op, successor)
            known.update(zip(map(id, call.outputs), keras.tree.flatten(outputs), strict=True))
        return [successor(tensor) for tensor in keras.tree.flatten(structure.outputs_of(function))]

    return run_steps(make_calls(model, args, kwargs, None))


def _call_op(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return op(*args, **kwargs)


def _takes_training(op: Any) -> bool:
    return isinstance(op, keras.Layer) and structure.default_of(op, "training") is not inspect.Parameter.empty


def _objection(model: Any, path: str, session: EditSession) -> str | None:
    """Return why a model cannot be inlined, or None."""
    if structure.function_of(model) is None:
        return "it has no call graph"
    if structure.has_its_own_call(model):
        return f"{type(model).__name__} has a call method of its own"
    if any(True for _ in structure.variables_of(model)):
        return "it has variables of its own"
    for call in session.calls(path).values():
        args, kwargs = call.arguments.args, call.arguments.kwargs
        named = [value for name, value in kwargs.items() if name not in ("training", "inputs")]
        if any(value is not None for value in (*args[1:], *named)):
            return "it is called with further arguments"
    if structure.function_of(session.holder(path)) is None:
        return "it is called by the code of the layer around it"
    return None


def _freeze_layers_of_frozen(model: Any) -> None:
    """Freeze the layers of a frozen model one by one: its flag disappears together with it."""
    if not model.trainable:
        for layer in structure.layers_of(model):
            exchange.set_own_trainable(layer, trainable=False)
            for variable in layer.variables:
                variable.trainable = False


def _make_names_unique(session: EditSession, inlined: dict[int, str]) -> None:
    """Rename ops that would have the same name in one graph: the path of their model comes first."""
    paths = set(inlined.values())
    groups: dict[str, list[str]] = {}
    for path in inlined.values():
        home = path
        while home in paths:
            home = home.rpartition("/")[0]
        groups.setdefault(home, []).append(path)
    for home, models in groups.items():
        own = structure.function_of(session.op_or_twin(home)).operations
        taken = {structure.name_of(op) for op in own if id(op) not in inlined}
        seen: set[int] = set(map(id, own))
        for path in models:
            for op in structure.function_of(session.op(path)).operations:
                if id(op) in seen or id(op) in inlined or isinstance(op, keras.layers.InputLayer):
                    continue
                seen.add(id(op))
                if structure.name_of(op) in taken:
                    rewire.rename_op(op, free_name(f"{path.replace('/', '_')}_{structure.name_of(op)}", taken))
                taken.add(structure.name_of(op))


flatten = Flatten
