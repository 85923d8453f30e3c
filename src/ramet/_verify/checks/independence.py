"""Independence: changing one model does not change the state and outputs of the other."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import keras
import numpy as np

from ramet._keras import views_of
from ramet._verify.compare import compare_by_path
from ramet._verify.findings import Findings, NotRun
from ramet._verify.inputs import Case
from ramet._verify.pair import Pair
from ramet._verify.report import Check
from ramet._verify.run import by_path, state_of
from ramet._verify.side import Side


def check(pair: Pair) -> Check:
    """Change every variable of one model and compare the other with its initial state, in both directions."""
    findings = Findings("independence")
    case: Case | None = None
    with contextlib.suppress(NotRun):
        case = pair.cases[0]
    for changed, watched, words in (
        (pair.theirs, pair.ours, "changing the other model changed the original: "),
        (pair.ours, pair.theirs, "changing the original changed the other model: "),
    ):
        pair.begin()
        before = state_of(watched, pair.copies)
        findings.count("variables changed", _change(changed))
        findings.add(compare_by_path(before, state_of(watched), None, words))
        if case is not None:
            outputs = _outputs(watched, case)
            untouched = pair.result(watched, case)
            if untouched.error is None:
                findings.add(compare_by_path(untouched.outputs, outputs, None, words))
        pair.end()
    count = findings.counts["variables changed"]
    what = "state" if case is None else "state and outputs"
    return findings.check(f"after changing {count} variables, the {what} of the other model are the same")


def _change(side: Side) -> int:
    """Change all variables, and return the number of those that could be changed."""
    count = 0
    for variable in [reached.value for reached in side.reached.values() if isinstance(reached.value, keras.Variable)]:
        for array in views_of(variable)[:1]:
            if array.size:
                variable.assign(_other(array, variable.dtype))
                count += 1
    return count


def _other(array: Any, dtype: str) -> Any:
    if array.dtype.kind == "b":
        return ~array
    if array.dtype.kind in "iu":
        return np.bitwise_xor(array, np.ones_like(array))
    if array.dtype.kind == "f":
        return array * array.dtype.type(-1.5) + array.dtype.type(0.25)
    return keras.ops.cast(array.astype("float32") * -1.5 + 0.25, dtype)


def _outputs(side: Side, case: Case) -> dict[str, list[Any]]:
    """Return the outputs of a model in its current state."""
    with warnings.catch_warnings(action="ignore"):
        try:
            return by_path(case.call(side.model, training=False))
        except Exception:  # noqa: BLE001  # it returned outputs before the other model was changed
            return {}
