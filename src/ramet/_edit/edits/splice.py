"""`splice`: replace everything between two ops by a layer or a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ramet._build import MakeCall
from ramet._edit.base import Edit, LayerSource, SelectorLike
from ramet._edit.edits.replace import new_layer
from ramet._edit.names import settle_name
from ramet._edit.plans import PlanItems, Step, Touch
from ramet._edit.session import EditSession
from ramet._keras import structure
from ramet._select import Candidate
from ramet.errors import EditError


@dataclass(frozen=True, repr=False)
class Splice(Edit):
    """Replace everything between two layers by a new layer or model, which takes the output of the first.

    Both layers stay. They must be part of the same graph, and the second must depend on the first. A value from in
    between that is also used elsewhere stays there.

    Args:
        after: The last layer that stays before the new one; exactly one layer must match.
        before: The first layer that stays after it; exactly one layer must match.
        layer: A function that takes the list of removed layers, which belong to the twin, and returns the new layer or
            model. A layer or model is accepted, too; the result gets an exact copy of it.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,)), *(keras.layers.Dense(3, name=name) for name in "abcd")])
    >>> new = ramet.edit(model, e.splice("a", "d", lambda old: keras.layers.Dense(3, name="short")))
    >>> [layer.name for layer in new.layers]
    ['a', 'short', 'd']
    """

    kind = "splice"
    preserves_function = False
    adds_layers = True

    after: SelectorLike
    before: SelectorLike
    layer: LayerSource

    def plan(self, session: EditSession) -> PlanItems:
        first = _only_match(session.find(self.after, required=True), "after")
        last = _only_match(session.find(self.before, required=True), "before")
        for candidate in (first, last):
            session.check_has_calls(self.kind, candidate)
        if first.graph is not last.graph or first.graph is None:
            raise EditError(
                f"Cannot splice between '{first.path}' and '{last.path}': they are not in the same graph.",
                fix="choose two ops of one model, or flatten the model first.",
                path=first.path,
            )
        graph = first.graph
        start, end = list(session.calls(first.path)), list(session.calls(last.path))
        below = {call.id for call in graph.reachable_from(*start)} - set(start)
        above = {call.id for call in graph.ancestors_of(*end)} - set(end)
        if not set(end) & below:
            raise EditError(
                f"Cannot splice between '{first.path}' and '{last.path}': the second does not depend on the first.",
                fix="pass the op that comes first in the model as `after`.",
                path=last.path,
            )
        prefix = first.path.rpartition("/")[0]
        between = [call for call in graph.calls if call.id in below & above]
        what = f"takes its input from a new block after '{first.path}'"
        yield Touch(last.path, what, claims=frozenset(), detail=(first.path, frozenset(below)))
        for path in dict.fromkeys(f"{prefix}/{call.op}".lstrip("/") for call in between):
            yield Touch(path, "replaced by the new block", claims=frozenset({"layer"}))

    def apply(self, step: Step, session: EditSession) -> None:
        entry = step.touched[0]
        first_path, below = entry.detail
        ids = {id(call): name for name, call in session.calls_beside(first_path).items()}
        start = next(iter(session.calls(first_path).values()))
        old = [session.op(item.path) for item in step.touched[1:]]
        new = new_layer(self.layer, old, first_path, session)
        settle_name(new, first_path, session, without=old)
        made: list[Any] = []

        def block(successor: Callable[[Any], Any], make: MakeCall) -> Any:
            """Call the new layer on the outputs of the first op; once, however many calls take its output."""
            if not made:
                inputs = [successor(tensor) for tensor in start.outputs]
                made.append(make(new, (inputs[0] if len(inputs) == 1 else inputs,), {}))
            return made[0]

        for call in session.calls(entry.path).values():
            for number, tensor in enumerate(call.input_tensors):
                producer = structure.producing_call(tensor)
                if producer is not None and (ids.get(id(producer)) in below or producer is start):
                    session.changes.at(call).feeds[number] = block
        session.changed.append(entry.path)


def _only_match(found: tuple[Candidate, ...], argument: str) -> Candidate:
    if len(found) != 1:
        raise EditError(
            f"Cannot splice: `{argument}` matches {len(found)} ops.",
            found=", ".join(f"'{candidate.path}'" for candidate in found[:5]) or "none",
            fix="name one op.",
        )
    return found[0]


splice = Splice
