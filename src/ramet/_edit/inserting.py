"""`insert_before`, `insert_after`, `remove`: at every call of an op, or at some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from ramet._edit.edit import Edit
from ramet._edit.naming import settle
from ramet._edit.plan import Step, Touch
from ramet._edit.replacing import made
from ramet._edit.scene import Scene
from ramet._graph import split_call_id, without_first
from ramet._select import Candidate
from ramet.errors import EditError, UnknownPathError


def touch(edit: Edit, scene: Scene) -> Step:
    """Every op that matches, at the calls that were chosen."""
    touched = []
    for candidate in scene.find(edit):
        scene.needs_calls(edit, candidate)
        calls = _chosen(edit, candidate, scene)
        if edit.kind == "remove":
            touched.append(_removal(edit, candidate, calls, scene))
        else:
            if edit.kind == "insert_before" and scene.is_input(candidate.path):
                raise EditError(
                    f"Cannot insert before '{candidate.path}': nothing comes before an input.",
                    fix="insert after it.",
                    path=candidate.path,
                )
            side = edit.kind.removeprefix("insert_")
            ids = () if edit["calls"] is None else tuple(calls)
            touched.append(Touch(candidate.path, f"{candidate.op.class_name}, a new layer {side} it", calls=ids))
    return Step(edit, tuple(touched))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Note at each call what comes before or after it, or that it is left out."""
    for item in step.touched:
        calls = scene.calls(item.path)
        chosen = {name: call for name, call in calls.items() if not item.calls or name in item.calls}
        if edit.kind == "remove":
            for call in chosen.values():
                scene.orders.at(call).keep = item.detail
        else:
            _insert(edit, item.path, list(chosen.values()), scene)
        scene.changed_inside(item.path)


def _insert(edit: Edit, path: str, calls: list[Any], scene: Scene) -> None:
    """One new layer for each tensor that a call takes or gives, the same at every call of the op."""
    layers: dict[int, Any] = {}
    taken = scene.names_beside(path) | scene.names_given(path)

    def layer_at(place: int) -> Any:
        if place not in layers:
            layers[place] = made(edit["layer"], scene.op(path), path, scene)
            settle(layers[place], taken, path)
            scene.give_name(path, layers[place].name)
        return layers[place]

    for call in calls:
        order = scene.orders.at(call)
        if edit.kind == "insert_before":
            _each(_first_tensors(call), order.before, layer_at)
        else:
            _each(call.outputs, order.after, layer_at)


def _each(tensors: list[Any], places: dict[int, list[Any]], layer_at: Callable[[int], Any]) -> None:
    for place in range(len(tensors)):
        places.setdefault(place, []).append(layer_at(place))


def _first_tensors(call: Any) -> list[Any]:
    """The tensors that a call works on: those of its first argument, and not masks and the like."""
    args, kwargs = call.arguments.args, call.arguments.kwargs
    first = args[0] if args else next(iter(kwargs.values()), None)
    return [tensor for tensor in keras.tree.flatten(first) if isinstance(tensor, keras.KerasTensor)]


def _chosen(edit: Edit, candidate: Candidate, scene: Scene) -> list[str]:
    """The ids of the calls that an edit means: all, or those given by number or id."""
    known = list(scene.calls(candidate.path))
    if edit["calls"] is None:
        return known
    wanted = [edit["calls"]] if isinstance(edit["calls"], int | str) else list(edit["calls"])
    found = []
    for item in (without_first(one) if isinstance(one, str) and one not in known else one for one in wanted):
        matches = [name for name in known if item in (name, (split_call_id(name) or ("", 0))[1])]
        if not matches:
            raise UnknownPathError(
                f"Cannot {edit.kind} at call {item!r} of '{candidate.path}': it has no such call.",
                closest=known,
                fix="give numbers from 1 on, or ids of calls.",
                path=candidate.path,
            )
        found += matches
    return found


def _removal(edit: Edit, candidate: Candidate, ids: list[str], scene: Scene) -> Touch:
    calls = scene.calls(candidate.path)
    keep: tuple[int, ...] | None = None
    for name in ids:
        call = calls[name]
        tensors, outputs = _first_tensors(call), call.outputs
        if not tensors or call.is_input:
            raise EditError(
                f"Cannot remove '{candidate.path}': it takes nothing that could stand for its output, "
                "so what reads it would be cut off.",
                fix="replace it instead.",
                path=candidate.path,
            )
        if edit["keep"] is not None:
            numbers = (edit["keep"],) if isinstance(edit["keep"], int) else tuple(edit["keep"])
        else:
            numbers = tuple(range(len(tensors)))
        if len(numbers) != len(outputs) or any(not 0 <= number < len(tensors) for number in numbers):
            raise EditError(
                f"Cannot remove '{candidate.path}': it has {len(tensors)} inputs and {len(outputs)} outputs.",
                expected="for each output one input that stands for it",
                fix="say which: remove(..., keep=0) lets its first input stand for its output.",
                path=candidate.path,
            )
        keep = numbers
    what = f"{candidate.op.class_name}, removed"
    chosen = () if edit["calls"] is None else tuple(ids)
    claims = frozenset({"layer"}) if not chosen else frozenset(f"call {name}" for name in chosen)
    return Touch(candidate.path, what, calls=chosen, claims=claims, detail=keep)
