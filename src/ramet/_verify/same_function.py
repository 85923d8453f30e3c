"""Whether an edited model still computes what it computed: run beside the model it was made from, at inference."""

from __future__ import annotations

from typing import Any

from ramet._keras import names_untouched, randomness_untouched
from ramet._verify.findings import NotRun
from ramet._verify.pair import Pair
from ramet._verify.run import compare_by_path
from ramet.errors import EditError

# Of the largest output. Adding up in another order moves the last bits, in deep networks a few more.
TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "bfloat16": 5e-2, "float16": 1e-2}


def check_same_function(model: Any, edited: Any) -> None:
    """Raise an error unless both give the same outputs for inputs made from the model's specs."""
    with names_untouched(), randomness_untouched():
        pair = Pair(model, edited, tolerance=TOLERANCE)
        try:
            for case in pair.cases:
                ours, theirs = (pair.result(side, case) for side in (pair.ours, pair.theirs))
                if theirs.error is not None:
                    raise _differs(model, f"on {case.name} inputs the edited model raises {theirs.error}")
                # Layers may have other names now; outputs are compared in their order.
                found = list(compare_by_path(_numbered(ours.outputs), _numbered(theirs.outputs), pair.tolerance))
                if found:
                    raise _differs(model, f"on {case.name} inputs, output {found[0].path}: {found[0].text}")
        except NotRun as reason:
            raise EditError(
                f"Cannot check the edits of '{model.name}': {reason}.", fix="leave check= out, and compare by hand."
            ) from None
        finally:
            pair.end()


def _numbered(outputs: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {str(number): values for number, values in enumerate(outputs.values())}


def _differs(model: Any, found: str) -> EditError:
    return EditError(
        f"Cannot edit '{model.name}': the edited model computes something else.",
        expected="the same outputs, because every edit keeps the function",
        found=found,
        fix="edit one by one to see which it is, and please report it.",
    )
