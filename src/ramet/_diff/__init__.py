"""Comparing two models as data.

Two graphs go in, with readers of their weights if those are to be compared; a `Diff` comes out: the changes (layers added,
removed, moved, renamed and replaced, settings, calls, masks, sharing, variables, weights) and their consequences. The ops of
both models are paired first (`matching.py`), then each pair is compared (`ops.py`, `connections.py`, `variables.py`). A diff
prints itself (`report.py`, `words.py`) and is written as JSON (`json.py`).

`_files` and `_verify` add what a graph does not hold. Keras is not needed.
"""

from ramet._diff.change import ABSENT, Change, Diff, Kind
from ramet._diff.distance import DISTANCE_STEPS, percent, relative_distance
from ramet._diff.graph_diff import diff_graphs
from ramet._diff.values import differences, equal
from ramet._diff.variables import InMemory, Weights, compare_arrays, compare_weights
from ramet._diff.words import describe_value, label, words

__all__ = [
    "ABSENT",
    "DISTANCE_STEPS",
    "Change",
    "Diff",
    "InMemory",
    "Kind",
    "Weights",
    "compare_arrays",
    "compare_weights",
    "describe_value",
    "diff_graphs",
    "differences",
    "equal",
    "label",
    "percent",
    "relative_distance",
    "words",
]
