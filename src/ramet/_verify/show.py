"""A report for a terminal, a message and a notebook. `rich` is loaded here, when something is shown."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from html import escape as quote
from typing import Any

from ramet._graph import escape, shown
from ramet._verify.report import Check, Report

MARKS = {"passed": "✓", "failed": "✗", "not run": "-"}
COLOURS = {"passed": "green", "failed": "red", "not run": "yellow"}
# To be read on white and on a dark notebook: about the same contrast with both.
_ON_ANY_PAGE = {"passed": "#1f8a43", "failed": "#dc4040", "not run": "#98751f"}
_WIDTH = 120


def headline(report: Report) -> str:
    """One line that stands alone."""
    counts = {outcome: sum(check.outcome == outcome for check in report.checks) for outcome in MARKS}
    rest = ", ".join(f"{number} {outcome}" for outcome, number in counts.items() if number)
    verdict = {True: "is a twin of", False: "is not a twin of"}[report.ok]
    if not report.failed and not report.ok:
        verdict = "may or may not be a twin of"
    return escape(f"'{report.twin}' {verdict} '{report.model}': {rest}")


def details(check: Check) -> Iterator[str]:
    """The lines below a check: its differences, how many more there are, and where they began."""
    for one in check.differences:
        yield escape(str(one))
    rest = check.total - len(check.differences)
    if rest > 0:
        yield f"and {rest} more"
    if check.began is not None:
        yield escape(f"began at {check.began}")


def words(check: Check) -> str:
    """What is said beside the name of a check."""
    if check.outcome == "not run":
        return escape(f"not run: {check.reason}")
    distance = "" if check.largest is None else f"; largest relative difference: {check.largest:.2g}"
    return escape(check.summary + distance)


def findings(checks: Iterable[Check]) -> str:
    """The checks with their details, as indented text."""
    return "\n".join(
        line
        for check in checks
        for line in (f"{check.name}: {words(check)}", *(f"  {text}" for text in details(check)))
    )


def table(report: Report) -> Any:
    """The report as something `rich` can draw."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    rows = Table(box=box.SIMPLE_HEAD, show_header=False, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    rows.add_column(no_wrap=True)
    rows.add_column(overflow="fold")
    for check in report.checks:
        colour = COLOURS[check.outcome]
        said = Text(words(check), style="dim" if check.outcome == "not run" else "")
        for line in details(check):
            said.append(f"\n  {line}", style="bold" if line.startswith("began at") else "dim")
        rows.add_row(Text(f"{MARKS[check.outcome]} {check.name}", style=colour), said)
    title = Text(headline(report), style=f"bold {'green' if report.ok else 'red'}")
    return Group(title, Text(report.about, style="dim"), rows)


def printed(report: Report) -> str:
    """The table as text: in colour where standard output is a terminal, plain elsewhere."""
    from rich.console import Console

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    width = None if colour else _WIDTH
    console = Console(
        file=io.StringIO(),
        force_terminal=colour,
        # Else rich would display it in a notebook at once, and leave nothing to return.
        force_jupyter=False,
        width=width,
        highlight=False,
        legacy_windows=False,
    )
    console.print(table(report))
    text = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO above
    return "\n".join(line.rstrip() for line in text.rstrip("\n").split("\n"))


def html(report: Report) -> str:
    """The table for a notebook; below it, where a check failed, the picture of where."""
    rows = []
    for check in report.checks:
        lines = [quote(words(check)), *(f"<small>{quote(line)}</small>" for line in details(check))]
        mark = f"{MARKS[check.outcome]} {quote(check.name)}"
        rows.append(
            f'<tr><td style="text-align:left;white-space:nowrap;color:{_ON_ANY_PAGE[check.outcome]}">{mark}</td>'
            f'<td style="text-align:left">{"<br>".join(lines)}</td></tr>'
        )
    head = f"<strong>{quote(headline(report))}</strong><br><small>{quote(escape(report.about))}</small>"
    below = ""
    if report.failed and report.graphs is not None:
        from ramet._verify.picture import picture_of

        # A picture that fails costs the picture, and not the table.
        below = shown(lambda: picture_of(report)._repr_html_() or "") or ""
    return f"<div>{head}<table>{''.join(rows)}</table>{below}</div>"
