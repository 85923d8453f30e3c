"""The picture of a report: both models, with the places where they differ."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._diff import Weights, diff_graphs
from ramet._draw import Picture, Rankdir, draw_graph
from ramet._report import more
from ramet._verify.report import Check, Report
from ramet.errors import ArgumentError


def picture_of(report: Report, weights: Weights | None = None, *, rankdir: Rankdir = "TB", columns: int = 1) -> Picture:
    """Return a picture of the other model with its differences from the original, opened at the first value that differs.

    Args:
        report: The report on two models, or on one file on several backends.
        weights: The values of the other model's variables, for a histogram of each.
        rankdir: "TB" or "LR", as for `ramet.draw`.
        columns: The number of columns, as for `ramet.draw`.
    """
    if report.graphs is None:
        raise ArgumentError(
            f"Cannot draw the report on '{report.twin}': it does not contain the models as data.",
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
    """Return path and text of each difference found by failed checks; those at which values begin to differ come first."""
    began = [_beginning(check, check.began) for check in report.failed if check.began is not None]
    return began + [finding for check in report.failed for finding in _differences(check)]


def _beginning(check: Check, began: str) -> tuple[str, str]:
    # The path may be followed by words: `encoder/d (the other runs e there)`.
    path, _, note = began.partition(" (")
    words = f"differences begin here ({note}" if note else "the first value that differs"
    first = f"; {check.differences[0]}" if check.differences else ""
    return path, f"{check.name}: {words}; {check.summary}{first}"


def _differences(check: Check) -> Iterator[tuple[str, str]]:
    for one in check.differences:
        yield one.path, f"{check.name}: {one.text}"
    rest = check.total - len(check.differences)
    if rest > 0:
        yield "", f"{check.name}: {more(rest)}"
