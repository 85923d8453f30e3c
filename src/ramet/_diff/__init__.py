"""Two models as data, compared: what was added, removed, moved, renamed and changed. Nothing here knows Keras."""

from ramet._diff.change import ABSENT, Change, Diff, Kind
from ramet._diff.compare import diff_graphs
from ramet._diff.far import HOW_FAR, moved, percent
from ramet._diff.line import label, words
from ramet._diff.value import differences, equal
from ramet._diff.value_text import show
from ramet._diff.weight import InMemory, Weights, compare_arrays, compare_weights

__all__ = [
    "ABSENT",
    "HOW_FAR",
    "Change",
    "Diff",
    "InMemory",
    "Kind",
    "Weights",
    "compare_arrays",
    "compare_weights",
    "diff_graphs",
    "differences",
    "equal",
    "label",
    "moved",
    "percent",
    "show",
    "words",
]
