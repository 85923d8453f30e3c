"""Two models as data, compared: what was added, removed, moved, renamed and changed. Nothing here knows Keras."""

from ramet._diff.change import ABSENT, Change, Diff, Kind
from ramet._diff.compare import diff_graphs
from ramet._diff.weight import Weights

__all__ = ["ABSENT", "Change", "Diff", "Kind", "Weights", "diff_graphs"]
