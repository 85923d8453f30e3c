"""Identity: both models share the same objects inside, and no mutable object with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import keras

from ramet._keras import layers, structure
from ramet._report import count
from ramet._verify.findings import Findings
from ramet._verify.pair import Pair
from ramet._verify.reach import can_change, path_to
from ramet._verify.report import Check
from ramet._verify.side import Side


def check(pair: Pair) -> Check:
    """Compare sharing inside the models, and look for objects that both models reach."""
    findings = Findings("identity")
    _between(findings, pair)
    ours, theirs = (_sharing(side) for side in (pair.ours, pair.theirs))
    for path in dict.fromkeys([*ours, *theirs]):
        if ours.get(path) != theirs.get(path):
            findings.add_text(path, _describe(ours.get(path), theirs.get(path)))
    known = {difference.path for difference in findings.first}
    findings.add(one for one in pair.side_by_side.differences("sharing") if one.path not in known)
    objects = sum(can_change(reached.value) for reached in pair.ours.reached.values())
    findings.count("objects", objects)
    shared = _shared_layers(pair.ours)
    tied = len({spec.tied for _, spec in pair.ours.graph.variables() if spec.tied is not None})
    findings.count("shared inside", shared + tied)
    findings.count("shared layers", shared)
    findings.count("tied variables", tied)
    return findings.check(
        f"none of {objects:,} objects is in both models; inside each, {count(shared, 'layer')} and "
        f"{count(tied, 'variable')} are shared"
    )


def _between(findings: Findings, pair: Pair) -> None:
    theirs = pair.theirs.reached
    for key, reached in pair.ours.reached.items():
        value, before = reached.value, reached.before
        if key not in theirs or not can_change(value) or (isinstance(value, dict) and not value):
            continue  # an empty dict of a shared function, or of a default argument, is not state
        if before is not None and id(before.value) in theirs and can_change(before.value):
            continue  # its holder is shared already
        findings.add_text(path_to(reached, pair.ours.names), f"one {type(value).__name__} in both models")


def _sharing(side: Side) -> dict[str, str]:
    """Return the paths of repeated ops and variables, each with its first path."""
    found = {path: op.same_as for path, op in side.graph.walk() if op.same_as is not None}
    return found | {path: spec.tied for path, spec in side.graph.variables() if spec.tied is not None}


def _shared_layers(side: Side) -> int:
    """Count the layers and models that are used more than once: at several paths, or by several calls of one graph."""
    found = {id(location.op) for location in side.locations if location.same_as is not None}
    for location in side.locations:
        function = structure.function_of(location.op)
        if function is not None:
            calls = Counter(id(call.operation) for call in structure.calls_of(function))
            found.update(op for op, number in calls.items() if number > 1)
        for held in _containers(location.op):
            found.update(op for op, number in Counter(map(id, held)).items() if number > 1)
    return len(found)


def _containers(op: Any) -> Iterator[list[Any]]:
    """Yield the layers in attributes of an op, and those in each list, tuple or dict among them."""
    if not isinstance(op, keras.Layer) or structure.function_of(op) is not None:
        return  # a call graph calls what it uses
    settings = layers.settings_of(op)
    yield [value for value in settings.values() if isinstance(value, keras.Layer)]
    for value in settings.values():
        items = list(value.values()) if isinstance(value, dict) else value
        if isinstance(items, list | tuple):
            yield [item for item in items if isinstance(item, keras.Layer)]


def _describe(ours: str | None, theirs: str | None) -> str:
    if theirs is None:
        return f"the same as '{ours}' in the original, separate in the other model"
    if ours is None:
        return f"separate in the original, the same as '{theirs}' in the other model"
    return f"the same as '{ours}' in the original, as '{theirs}' in the other model"
