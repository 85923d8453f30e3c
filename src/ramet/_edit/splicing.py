"""`splice`: what lies between two ops, replaced by a layer or a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ramet._build import Make
from ramet._edit.edit import Edit
from ramet._edit.naming import settle
from ramet._edit.plan import Step, Touch
from ramet._edit.replacing import made
from ramet._edit.scene import Scene
from ramet._keras import structure
from ramet._select import Candidate
from ramet.errors import EditError


def touch(edit: Edit, scene: Scene) -> Step:
    """The calls between the two ops."""
    first = _only(edit, scene.find(edit), "after")
    last = _only(edit, scene.find(Edit(edit.kind, edit["before"])), "before")
    for candidate in (first, last):
        scene.needs_calls(edit, candidate)
    if first.graph is not last.graph or first.graph is None:
        raise EditError(
            f"Cannot splice between '{first.path}' and '{last.path}': they are not in the same graph.",
            fix="choose two ops of one model, or flatten the model first.",
            path=first.path,
        )
    graph = first.graph
    start, end = list(scene.calls(first.path)), list(scene.calls(last.path))
    below = {call.id for call in graph.reachable_from(*start)} - set(start)
    above = {call.id for call in graph.ancestors_of(*end)} - set(end)
    if not set(end) & below:
        raise EditError(
            f"Cannot splice between '{first.path}' and '{last.path}': nothing of the first arrives at the second.",
            fix="give the op that comes first in the model as `after`.",
            path=last.path,
        )
    prefix = first.path.rpartition("/")[0]
    between = [call for call in graph.calls if call.id in below & above]
    replaced = [
        Touch(f"{prefix}/{call.op}".lstrip("/"), "replaced by the new block", claims=frozenset({"layer"}))
        for call in between
    ]
    entry = Touch(last.path, f"reads a new block on '{first.path}'", detail=(first.path, frozenset(below)))
    return Step(edit, (entry, *{item.path: item for item in replaced}.values()))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Let the second op read the new block instead of what came from the first."""
    entry = step.touched[0]
    first_path, below = entry.detail
    ids = {id(call): name for name, call in scene.calls_beside(first_path).items()}
    start = next(iter(scene.calls(first_path).values()))
    old = [scene.op(item.path) for item in step.touched[1:]]
    new = made(edit["layer"], old, first_path, scene)
    settle(
        new,
        (scene.names_beside(first_path) - {structure.name_of(op) for op in old}) | scene.names_given(first_path),
        first_path,
    )
    block = _Once(new, start)
    for call in scene.calls(entry.path).values():
        for number, tensor in enumerate(call.input_tensors):
            producer = scene.producer(tensor)
            if producer is not None and (ids.get(id(producer)) in below or producer is start):
                scene.orders.at(call).feeds[number] = block
    scene.changed_inside(entry.path)


class _Once:
    """The new block, called on what the first op gives; once, however many read it."""

    def __init__(self, new: Any, start: Any) -> None:
        self._new, self._start = new, start
        self._made: Any = None

    def __call__(self, successor: Callable[[Any], Any], make: Make) -> Any:
        if self._made is None:
            given = [successor(tensor) for tensor in self._start.outputs]
            self._made = make(self._new, (given[0] if len(given) == 1 else given,), {})
        return self._made


def _only(edit: Edit, found: tuple[Candidate, ...], word: str) -> Candidate:
    if len(found) != 1:
        raise EditError(
            f"Cannot splice: `{word}` means {len(found)} ops.",
            found=", ".join(f"'{candidate.path}'" for candidate in found[:5]) or "none",
            fix="name one op.",
        )
    return found[0]
