"""A picture of a model: a page to explore, or a drawing for papers and slides."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from ramet._diff import Diff, Weights
from ramet._draw.builder import build_drawing, size_boxes
from ramet._draw.converters import check_converter, convert
from ramet._draw.drawing import Drawing, Rankdir
from ramet._draw.html import embed, page, page_data
from ramet._draw.marks import mark_changes, mark_findings, mark_sharing
from ramet._draw.svg import svg
from ramet._graph import Graph
from ramet._report import Summarized, attempt, count, escape, replaced_file
from ramet.errors import ArgumentError

_SUFFIXES = (".html", ".svg", ".png", ".pdf")
_PNG_SCALE = 2.0
_MOST_IN_IMAGE = 300


class Picture(Summarized):
    """A picture of a model, or of the differences between two models: the result of `ramet.draw`.

    A notebook shows it. `save` writes a page, an SVG, a PNG or a PDF; `to_html` and `to_svg` return text.

    >>> import os, tempfile
    >>> import keras, ramet
    >>> picture = ramet.draw(keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d")], name="tiny"))
    >>> picture
    <Picture of 'tiny': 3 boxes>
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     picture.save(os.path.join(folder, "tiny.svg"))
    ...     os.listdir(folder)
    ['tiny.svg']
    """

    def __init__(
        self, drawing: Drawing, graph: Graph, weights: Weights | None, title: str, before: Graph | None = None
    ) -> None:
        self._drawing, self._graph, self._weights, self._title, self._before = drawing, graph, weights, title, before

    def _summary(self) -> str:
        return f"of '{self._title}': {count(len(self._drawing.boxes) - 1, 'box', 'boxes')}"

    def to_html(self) -> str:
        """Return the page: one file that works from disk and offline, and loads nothing."""
        return self._page

    def to_svg(self) -> str:
        """Return the picture as SVG, as the page shows it when it opens, for papers and slides."""
        return svg(self._drawing)

    def _html(self) -> str:
        # The page places its boxes itself. The drawing is only for readers who do not get the page: it may cost little.
        image = attempt(self.to_svg) if len(self._drawing.boxes) <= _MOST_IN_IMAGE else None
        return embed(self._page, image or "", self._title)

    def save(self, path: str | os.PathLike[str], *, scale: float | None = None) -> None:
        """Write the picture to a file: a page (`.html`) or a drawing (`.svg`, `.png`, `.pdf`).

        PNG and PDF need a converter: the Python package cairosvg, or rsvg-convert, Inkscape, Chromium, Chrome or Edge. An
        existing file is replaced at once, when everything has been written.

        Args:
            path: The file to write; its extension chooses the format.
            scale: For `.png`, the number of pixels per unit of the picture; 2 by default.

        Raises:
            ArgumentError: The extension is not supported, or no converter is installed.
        """
        target = Path(path)
        check_target(target, scale)
        suffix = target.suffix.lower()
        if suffix in (".html", ".htm"):
            content = self._page.encode()
        elif suffix == ".svg":
            content = self.to_svg().encode()
        elif suffix == ".png":
            content = convert(svg(self._drawing, _PNG_SCALE if scale is None else float(scale)), "png")
        else:
            content = convert(self.to_svg(), "pdf")
        with replaced_file(target) as file:
            file.write_bytes(content)

    @cached_property
    def _page(self) -> str:
        return page(page_data(self._drawing, self._graph, self._weights, self._before), self._title)


def check_target(target: Path, scale: Any = None) -> None:
    """Refuse a file that `Picture.save` could not write, before any work is done."""
    suffix = target.suffix.lower()
    cannot_save = f"Cannot save the picture as '{escape(str(target))}'"
    if suffix not in (*_SUFFIXES, ".htm"):
        reason = f"the file extension '{escape(suffix)}' is not supported" if suffix else "it has no file extension"
        raise ArgumentError(
            f"Cannot save the picture as '{escape(target.name)}': {reason}.",
            expected=f"a name that ends in {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}",
            fix=f"save it as '{escape(target.stem)}.html' or '{escape(target.stem)}.svg'.",
        )
    if scale is not None:
        if suffix != ".png":
            raise ArgumentError(
                f"Cannot scale '{escape(target.name)}': only .png files have pixels.", fix="omit scale=."
            )
        if isinstance(scale, bool) or not (isinstance(scale, Real) and 0 < float(scale) < float("inf")):
            raise ArgumentError(
                f"Cannot draw with scale={scale!r}.",
                expected="a positive number of pixels per unit",
                fix="pass scale=2.",
            )
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise ArgumentError(
            f"{cannot_save}: the folder '{escape(str(folder))}' does not exist.", fix="create the folder first."
        )
    if target.is_dir():
        raise ArgumentError(f"{cannot_save}: this is a folder.", fix="pass the name of a file.")
    if suffix in (".png", ".pdf"):
        check_converter(suffix)


def check_direction(rankdir: object, columns: object) -> None:
    """Refuse a direction or a number of columns that does not exist."""
    if rankdir not in ("TB", "LR"):
        raise ArgumentError(
            f"Cannot draw with rankdir={rankdir!r}.",
            expected="'TB', from top to bottom, or 'LR', from left to right",
            fix="pass rankdir='TB' or rankdir='LR'.",
        )
    if isinstance(columns, bool) or not isinstance(columns, Integral) or columns < 1:
        raise ArgumentError(
            f"Cannot draw with columns={columns!r}.", expected="an integer of at least 1", fix="pass columns=3."
        )


def draw_graph(
    graph: Graph,
    diff: Diff | None = None,
    weights: Weights | None = None,
    *,
    before: Graph | None = None,
    findings: Iterable[tuple[str, str]] = (),
    rankdir: Rankdir = "TB",
    columns: int = 1,
) -> Picture:
    """Return the picture of a graph. The graph is not changed, and the model is not run.

    Args:
        graph: The model; with a diff, the model after.
        diff: The differences from another model, which are drawn, including removed ops.
        weights: The reader of the values of its variables, for a histogram of each.
        before: With a diff, the model before, for the settings of removed ops.
        findings: The findings of a check, as pairs of a path and a text: the picture opens at the first.
        rankdir: "TB" to draw from top to bottom, "LR" from left to right.
        columns: The number of columns into which a long picture is folded; with "LR", of lines.
    """
    check_direction(rankdir, columns)
    drawing = build_drawing(graph, diff, before)
    drawing.rankdir, drawing.columns = rankdir, int(columns)
    mark_sharing(drawing, graph)
    mark_findings(drawing, graph, findings, diff)
    title = escape(graph.name)
    if diff is not None:
        mark_changes(drawing, diff, before)
        # A renamed box shows both names, and may need more room.
        renamed = {box.parent for box in drawing.boxes if box.status == "renamed" and box.parent is not None}
        for parent in sorted(renamed):
            size_boxes(drawing, drawing.boxes[parent])
        title = f"{escape(diff.before)} → {escape(diff.after)}"
    return Picture(drawing, graph, weights, title, before)
