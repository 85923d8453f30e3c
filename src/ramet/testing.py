"""Assertions about models for test suites.

>>> import keras, ramet
>>> from ramet.testing import assert_twin
>>> def test_my_model_can_be_cloned():
...     model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
...     assert_twin(model, ramet.clone(model), only=["structure", "state"])
>>> test_my_model_can_be_cloned()
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

# Keras is imported when an assertion is called, so that KERAS_BACKEND can be set after importing this module.
if TYPE_CHECKING:
    from ramet import Graph

__all__ = ["assert_edit", "assert_twin"]

_LINES = 40
_BATCH, _ANY_SIZE = 2, 5


def assert_twin(model: Any, twin: Any, **options: Any) -> None:
    """Fail unless `twin` is an exact and independent twin of `model`; list the first differences of every check.

    Neither model is changed.

    Args:
        model: The original.
        twin: The other model.
        **options: As for `ramet.verify`: `tolerance=`, `only=`, `skip=`, `inputs=`, `targets=`, `seed=`, `share=`.

    Raises:
        VerifyError: They differ, or no check could be run. It is also an `AssertionError`.
        ArgumentError: An option has an invalid value.

    >>> import keras, ramet
    >>> from ramet.testing import assert_twin
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> assert_twin(model, ramet.clone(model))
    """
    # pytest hides this frame from the traceback: the message is enough.
    __tracebackhide__ = True
    from ramet._verify import verify

    verify(model, twin, progress=False, **options).raise_if_failed()


def assert_edit(before: Any, edits: Any, after: Any, *, inputs: Any = None, tolerance: float = 0.0) -> None:
    """Fail unless the edits turn `before` into `after`; show the lines of the graphs or the number that differ.

    The graphs must be the same, names and settings of layers included; only the name of the model may differ. With the
    weights of the edited model, by path, `after` must compute the same numbers. Neither model is changed.

    Args:
        before: The model to edit.
        edits: An edit, a recipe, or a list of these.
        after: The expected model, built by hand.
        inputs: The inputs to call both models with; made up from the inputs of the model by default.
        tolerance: The largest allowed difference, relative to the largest expected number.

    Raises:
        AssertionError: The graphs or the outputs differ.
        ArgumentError: No inputs can be made up for the model: pass `inputs`.
        EditError: An edit cannot be applied.

    >>> import keras
    >>> from ramet import edits as e
    >>> from ramet.testing import assert_edit
    >>> def model(rate):
    ...     return keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dropout(rate, name="drop")])
    >>> assert_edit(model(0.5), e.update("drop", rate=0.1), model(0.1))
    """
    __tracebackhide__ = True
    from ramet._copy import copy_model
    from ramet._edit import edit
    from ramet._keras import capture_model

    edited = edit(before, edits)
    _assert_same_graph(capture_model(edited), capture_model(after))
    expected = copy_model(after)
    _copy_weights(edited, expected)
    data = _made_up_inputs(after) if inputs is None else inputs
    _assert_same_numbers(edited(data), expected(data), tolerance)


def _assert_same_graph(edited: Graph, expected: Graph) -> None:
    __tracebackhide__ = True
    # The result keeps the name of the original; the config of the model as a whole repeats its layers.
    ours, theirs = (graph.with_changes(name="model", root=None) for graph in (edited, expected))
    if ours == theirs:
        return
    difference, what = list(_differing_lines(str(theirs), str(ours))), "graph"
    if not difference:  # settings are not printed with a graph
        difference, what = list(_differing_lines(_as_json(theirs), _as_json(ours))), "settings of layers"
    rest = len(difference) - _LINES
    more = [f"and {rest} more lines"] if rest > 0 else []
    lines = [f"The {what} of the edited model differs (- expected, + edited):", *difference[:_LINES], *more]
    raise AssertionError("\n".join(lines))


def _as_json(graph: Graph) -> str:
    return json.dumps(json.loads(graph.to_json()), indent=1)


def _differing_lines(expected: str, found: str) -> Iterator[str]:
    """Yield the lines that differ, with one line of context."""
    lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), n=1, lineterm="")
    return (line for line in lines if not line.startswith(("---", "+++", "@@")))


def _copy_weights(edited: Any, expected: Any) -> None:
    """Copy the weights of the edited model by path into the one built by hand: their graphs are equal."""
    from ramet._keras import locations_below, structure

    theirs = {location.path: location.op for location in locations_below(expected)}
    for location in locations_below(edited):
        own, other = (list(structure.variables_of(op)) for op in (location.op, theirs[location.path]))
        for (variable, _), (target, _) in zip(own, other, strict=True):
            target.assign(variable)


def _made_up_inputs(model: Any) -> Any:
    import keras
    import numpy as np

    from ramet._keras import structure
    from ramet.errors import ArgumentError

    function = structure.function_of(model)
    if function is None:
        raise ArgumentError(
            f"Cannot make up inputs for '{model.name}': it has no call graph.",
            fix="pass them: assert_edit(before, edits, after, inputs=...).",
        )
    rng = np.random.default_rng(0)

    def made_up(tensor: Any) -> Any:
        batch, *sizes = tensor.shape
        shape = (_BATCH if batch is None else batch, *(_ANY_SIZE if size is None else size for size in sizes))
        dtype = str(tensor.dtype)
        if "float" in dtype:
            return keras.ops.convert_to_tensor(rng.normal(size=shape), dtype=dtype)
        if dtype == "bool" or "int" in dtype:  # as token ids, 0 and 1 are in every vocabulary
            return keras.ops.convert_to_tensor(rng.integers(0, 2, size=shape), dtype=dtype)
        raise ArgumentError(
            f"Cannot make up an input '{tensor.name}' of dtype {dtype}: not a number.",
            fix="pass the inputs: assert_edit(before, edits, after, inputs=...).",
        )

    return keras.tree.map_structure(made_up, structure.inputs_of(function))


def _assert_same_numbers(edited: Any, expected: Any, tolerance: float) -> None:
    __tracebackhide__ = True
    import keras
    import numpy as np

    pairs = zip(keras.tree.flatten(edited), keras.tree.flatten(expected), strict=True)
    for number, tensors in enumerate(pairs):
        ours, theirs = (keras.ops.convert_to_numpy(tensor).astype("float64") for tensor in tensors)
        limit = tolerance * np.abs(theirs).max(initial=0.0)
        # A NaN differs from everything, unless both have one in the same place.
        wrong = ~(np.abs(ours - theirs) <= limit) & ~(np.isnan(ours) & np.isnan(theirs))
        if wrong.any():
            place = tuple(int(one) for one in np.argwhere(wrong)[0])
            raise AssertionError(
                f"The outputs of the edited model differ: output {number} at {place}, "
                f"{theirs[place]!r} expected, {ours[place]!r} found; {int(wrong.sum())} of {wrong.size} numbers differ "
                f"by more than {limit}."
            )
