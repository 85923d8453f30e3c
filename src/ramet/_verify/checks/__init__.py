"""The checks of `verify`, one file each.

To add a check, write `check(pair)` in a new file, with a docstring, and add it to `CHECKS`. If graphs alone can prove it, add
`check_graphs(ours, theirs, within=...)` to `GRAPH_CHECKS`. `tests/verify/test_checks.py` names what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ramet._graph import Graph
from ramet._verify.checks import (
    file,
    gradients,
    identity,
    independence,
    masks,
    outputs,
    settings,
    state,
    structure,
    training,
)
from ramet._verify.pair import Pair
from ramet._verify.report import Check

__all__ = ["CHECKS", "GRAPH_CHECKS"]

# In the order of the report: what a model is, before what it does.
CHECKS: dict[str, Callable[[Pair], Check]] = {
    "structure": structure.check,
    "settings": settings.check,
    "state": state.check,
    "identity": identity.check,
    "outputs": outputs.check,
    "masks": masks.check,
    "gradients": gradients.check,
    "training": training.check,
    "independence": independence.check,
    "file": file.check,
}


class GraphCheck(Protocol):
    """A check that needs only the graphs of both models."""

    def __call__(self, ours: Graph, theirs: Graph, *, within: bool) -> Check:
        """Compare two graphs; `within` is whether a tolerance allows other floating-point dtypes."""


GRAPH_CHECKS: dict[str, GraphCheck] = {
    "structure": structure.check_graphs,
    "settings": settings.check_graphs,
}
