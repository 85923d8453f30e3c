"""Whether the same things are shared inside both, and nothing that can change is shared between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import keras

from ramet._keras import layers, structure
from ramet._verify.findings import Findings
from ramet._verify.pair import Pair, Side
from ramet._verify.reach import can_change, way_to
from ramet._verify.report import Check


def check(pair: Pair) -> Check:
    """Compare which objects are one, and look for objects that both models reach."""
    findings = Findings("identity")
    _between(findings, pair)
    ours, theirs = (_sharing(side) for side in (pair.ours, pair.theirs))
    for path in dict.fromkeys([*ours, *theirs]):
        if ours.get(path) != theirs.get(path):
            findings.say(path, _in_words(ours.get(path), theirs.get(path)))
    known = {difference.path for difference in findings.first}
    for found in pair.beside.found:
        if found.kind == "sharing" and found.difference.path not in known:
            findings.add(found.difference)
    objects = sum(can_change(reached.value) for reached in pair.ours.reached.values())
    findings.count("objects", objects)
    shared, tied = _shared_layers(pair.ours), _tied_variables(pair.ours)
    findings.count("shared inside", shared + tied)
    findings.count("shared layers", shared)
    findings.count("tied variables", tied)
    return findings.check(
        f"none of {objects:,} objects is common to both; {shared} layers and {tied} variables shared inside, alike"
    )


def _between(findings: Findings, pair: Pair) -> None:
    ours, theirs = pair.ours.reached, pair.theirs.reached
    # A dict without entries inside a shared function, or a default of one, is nobody's state.
    for key, reached in ours.items():
        if key in theirs and can_change(reached.value) and not _is_empty_note(reached.value):
            before = reached.before
            if before is not None and id(before.value) in theirs and can_change(before.value):
                continue  # what holds it is common already
            findings.say(way_to(reached, pair.ours.names), f"one {type(reached.value).__name__} for both models")


def _is_empty_note(value: object) -> bool:
    return isinstance(value, dict) and not value


def _sharing(side: Side) -> dict[str, str]:
    """Where an op or variable stands again, with the place where it stood first."""
    found = {path: op.same_as for path, op in side.graph.walk() if op.same_as is not None}
    return found | {path: spec.tied for path, spec in side.graph.variables() if spec.tied is not None}


def _shared_layers(side: Side) -> int:
    """How many layers and models are used more than once: in several places, or by several calls of one graph."""
    found = {id(place.op) for place in side.places if place.same_as is not None}
    for place in side.places:
        function = structure.function_of(place.op)
        if function is not None:
            calls = Counter(id(call.operation) for call in structure.calls_of(function))
            found.update(op for op, number in calls.items() if number > 1)
        for held in _containers(place.op):
            found.update(op for op, number in Counter(map(id, held)).items() if number > 1)
    return len(found)


def _containers(op: Any) -> Iterator[list[Any]]:
    """The layers in attributes of an op, and those in each list, tuple or dict that it holds."""
    if not isinstance(op, keras.Layer) or structure.function_of(op) is not None:
        return  # what a call graph uses twice, it calls twice
    settings = layers.settings_of(op)
    yield [value for value in settings.values() if isinstance(value, keras.Layer)]
    for value in settings.values():
        items = list(value.values()) if isinstance(value, dict) else value
        if isinstance(items, list | tuple):
            yield [item for item in items if isinstance(item, keras.Layer)]


def _tied_variables(side: Side) -> int:
    """How many variables belong to more than one layer."""
    return len({spec.tied for _, spec in side.graph.variables() if spec.tied is not None})


def _in_words(ours: str | None, theirs: str | None) -> str:
    if theirs is None:
        return f"is '{ours}' in the original, and one of its own in the other"
    if ours is None:
        return f"is one of its own in the original, and '{theirs}' in the other"
    return f"is '{ours}' in the original, and '{theirs}' in the other"
