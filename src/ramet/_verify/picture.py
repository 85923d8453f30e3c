"""A report on a picture of the models: where they differ."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._diff import Weights, diff_graphs
from ramet._draw import Picture, Rankdir, draw_graph
from ramet._verify.report import Check, Report
from ramet.errors import ArgumentError

__all__ = ["findings_of", "picture_of"]


def picture_of(report: Report, weights: Weights | None = None, *, rankdir: Rankdir = "TB", columns: int = 1) -> Picture:
    """The other model, with what is different from the original; it opens at the first value that differs.

    Args:
        report: of two models, or of one file on several backends.
        weights: where the values of the other's variables are read, for a histogram of each.
        rankdir: "TB" or "LR", as for `ramet.draw`.
        columns: as for `ramet.draw`.
    """
    if report.graphs is None:
        raise ArgumentError(
            f"Cannot draw the report on '{report.twin}': it does not hold the models as data.",
            fix="draw one of them with it: ramet.draw(model, report=report).",
        )
    ours, theirs = report.graphs
    return draw_graph(
        theirs,
        diff_graphs(ours, theirs) or None,
        weights,
        before=ours,
        findings=findings_of(report),
        rankdir=rankdir,
        columns=columns,
    )


def findings_of(report: Report) -> list[tuple[str, str]]:
    """Where the checks that failed found something, and what: where values begin to differ before all else."""
    began = [_beginning(check, check.began) for check in report.failed if check.began is not None]
    return began + [finding for check in report.failed for finding in _differences(check)]


def _beginning(check: Check, began: str) -> tuple[str, str]:
    # Behind the path there may be words: `encoder/d (the other runs e there)`.
    path, _, more = began.partition(" (")
    told = f"differences began here ({more}" if more else "the first value that differs"
    first = f"; {check.differences[0]}" if check.differences else ""
    return path, f"{check.name}: {told}; {check.summary}{first}"


def _differences(check: Check) -> Iterator[tuple[str, str]]:
    for one in check.differences:
        yield one.path, f"{check.name}: {one.text}"
    rest = check.total - len(check.differences)
    if rest > 0:
        yield "", f"{check.name}: and {rest:,} more"
