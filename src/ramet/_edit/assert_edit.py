"""A test of edits in the form: model, edits, the model that is expected."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from ramet._copy import clone
from ramet._edit.door import edit
from ramet._graph import Graph, to_json
from ramet._keras import capture, places_below, structure
from ramet.errors import ArgumentError

__all__ = ["assert_edit"]

_LINES = 40
_BATCH, _ANY = 2, 5


def assert_edit(before: Any, edits: Any, after: Any, *, inputs: Any = None, tolerance: float = 0.0) -> None:
    """Fail unless the edits make of one model the other; see `ramet.testing.assert_edit`."""
    __tracebackhide__ = True
    edited = edit(before, edits)
    _assert_same_graph(capture(edited), capture(after))
    expected = clone(after)
    _carry(edited, expected)
    given = _some_inputs(after) if inputs is None else inputs
    _assert_same_numbers(edited(given), expected(given), tolerance)


def _assert_same_graph(edited: Graph, expected: Graph) -> None:
    __tracebackhide__ = True
    # The result keeps the name of the model it was made from; the config of the model as a whole repeats its layers.
    ours, theirs = (graph.with_changes(name="model", root=None) for graph in (edited, expected))
    if ours == theirs:
        return
    difference = list(_differing(str(theirs).splitlines(), str(ours).splitlines()))
    word = "graph"
    if not difference:  # settings are not printed with a graph
        word = "settings of layers"
        difference = list(_differing(_settings(theirs), _settings(ours)))
    shown = difference[:_LINES]
    rest = len(difference) - len(shown)
    more = [f"and {rest} more lines"] if rest else []
    raise AssertionError("\n".join([f"The edits make another {word} (- expected, + edited):", *shown, *more]))


def _settings(graph: Graph) -> list[str]:
    return json.dumps(json.loads(to_json(graph)), indent=1).splitlines()


def _differing(expected: list[str], found: list[str]) -> Iterator[str]:
    """The lines that differ, with a line around them."""
    lines = difflib.unified_diff(expected, found, n=1, lineterm="")
    return (line for line in lines if not line.startswith(("---", "+++", "@@")))


def _carry(edited: Any, expected: Any) -> None:
    """Let the model built by hand have the weights of the edited one, by path: the graphs are equal."""
    theirs = {place.path: place.op for place in places_below(expected)}
    for place in places_below(edited):
        own, other = (list(structure.variables_of(op)) for op in (place.op, theirs[place.path]))
        for (variable, _), (target, _) in zip(own, other, strict=True):
            target.assign(variable)


def _some_inputs(model: Any) -> Any:
    """Numbers for every input of a model."""
    function = structure.function_of(model)
    if function is None:
        raise ArgumentError(
            f"Cannot compare the outputs of '{model.name}': it does not say what its inputs are.",
            fix="pass them: assert_edit(before, edits, after, inputs=...).",
        )
    random = np.random.default_rng(0)
    return keras.tree.map_structure(lambda tensor: _some_input(tensor, random), structure.inputs_of(function))


def _some_input(tensor: Any, random: np.random.Generator) -> Any:
    batch, *sizes = tensor.shape
    shape = (_BATCH if batch is None else batch, *(_ANY if size is None else size for size in sizes))
    dtype = str(tensor.dtype)
    if "float" in dtype:
        return keras.ops.convert_to_tensor(random.normal(size=shape), dtype=dtype)
    if dtype == "bool" or "int" in dtype:  # as numbers of words, 0 and 1 are in every vocabulary
        return keras.ops.convert_to_tensor(random.integers(0, 2, size=shape), dtype=dtype)
    raise ArgumentError(
        f"Cannot make up an input '{tensor.name}' of dtype {dtype}.",
        fix="pass the inputs: assert_edit(before, edits, after, inputs=...).",
    )


def _assert_same_numbers(edited: Any, expected: Any, tolerance: float) -> None:
    __tracebackhide__ = True
    pairs = zip(keras.tree.flatten(edited), keras.tree.flatten(expected), strict=True)
    for number, (ours, theirs) in enumerate(pairs):
        found, wanted = (keras.ops.convert_to_numpy(tensor).astype("float64") for tensor in (ours, theirs))
        far = np.abs(found - wanted)
        limit = tolerance * np.abs(wanted).max(initial=0.0)
        # A NaN is as far as can be, unless both have one there.
        wrong = np.where(np.isnan(found) & np.isnan(wanted), False, ~(far <= limit))  # noqa: FBT003
        if wrong.any():
            place = tuple(int(one) for one in np.argwhere(wrong)[0])
            raise AssertionError(
                f"The edited model computes something else: output {number} differs at {place}, "
                f"{wanted[place]!r} expected, {found[place]!r} found; {int(wrong.sum())} of {wrong.size} numbers differ "
                f"by more than {limit}."
            )
