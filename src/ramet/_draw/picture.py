"""A picture of a model: a page to explore, a drawing for papers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from ramet._diff import Diff, Weights
from ramet._draw.box import Rankdir, Scene
from ramet._draw.change import mark_changes
from ramet._draw.convert import check_converter, convert
from ramet._draw.finding import mark_findings
from ramet._draw.html import embed, page
from ramet._draw.record import record
from ramet._draw.scene import draw_scene, size_boxes
from ramet._draw.sharing import mark_sharing
from ramet._draw.svg import svg
from ramet._draw.text import count
from ramet._graph import Graph, Shown, escape
from ramet.errors import ArgumentError

__all__ = ["Picture", "check_direction", "check_target", "draw_graph"]


# What `save` writes, by the end of the name.
_SUFFIXES = (".html", ".svg", ".png", ".pdf")
_PNG_SCALE = 2.0


class Picture(Shown):
    """A picture of a model, or of a diff of two.

    In a notebook it shows itself; `save` writes a page, an SVG, a PNG or a PDF; `to_html` and `to_svg` return text.
    """

    def __init__(
        self, scene: Scene, graph: Graph, weights: Weights | None, title: str, before: Graph | None = None
    ) -> None:
        self._scene, self._graph, self._weights, self._title, self._before = scene, graph, weights, title, before

    def _line(self) -> str:
        return f"of '{self._title}': {count(len(self._scene.boxes) - 1, 'box', 'boxes')}"

    def to_html(self) -> str:
        """The page: one file that works from disk, offline, without an address of anything in it."""
        return self._page

    def to_svg(self) -> str:
        """The picture as the page shows it when it opens, for papers and slides."""
        return svg(self._scene)

    def _html(self) -> str:
        return embed(self._page)

    def save(self, path: str | os.PathLike[str], *, scale: float | None = None) -> None:
        """Write the picture to a file: a page (`.html`), or a drawing (`.svg`, `.png`, `.pdf`).

        PNG and PDF need a converter: the Python package cairosvg, or rsvg-convert, inkscape or chromium on the PATH. The file is
        written beside the target and renamed, so it is never half written.

        Args:
            path: Where to write it; the suffix chooses the format.
            scale: For `.png`, how many pixels a unit of the picture measures; 2 by default.

        Raises:
            ArgumentError: The suffix is not supported, or no converter is installed.
        """
        target = Path(path)
        check_target(target, scale)
        suffix = target.suffix.lower()
        if suffix in (".html", ".htm"):
            content = self._page.encode()
        elif suffix == ".svg":
            content = self.to_svg().encode()
        elif suffix == ".png":
            content = convert(svg(self._scene, _PNG_SCALE if scale is None else float(scale)), "png")
        else:
            content = convert(self.to_svg(), "pdf")
        _write(target, content)

    @cached_property
    def _page(self) -> str:
        return page(record(self._scene, self._graph, self._weights, self._before), self._title)


def check_target(target: Path, scale: Any = None) -> None:
    """Refuse, before any work is done, a file that `Picture.save` could not write."""
    suffix = target.suffix.lower()
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
                f"Cannot scale '{escape(target.name)}': only a .png file has pixels.", fix="leave scale= out."
            )
        if isinstance(scale, bool) or not (isinstance(scale, Real) and 0 < float(scale) < float("inf")):
            raise ArgumentError(
                f"Cannot draw with scale={scale!r}.", expected="a positive number of pixels a unit", fix="pass scale=2."
            )
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise ArgumentError(
            f"Cannot save the picture as '{escape(str(target))}': there is no folder '{escape(str(folder))}'.",
            fix="make the folder first.",
        )
    if target.is_dir():
        raise ArgumentError(
            f"Cannot save the picture as '{escape(str(target))}': that is a folder.", fix="give the name of a file."
        )
    if suffix == ".png":
        check_converter("png")
    elif suffix == ".pdf":
        check_converter("pdf")


def check_direction(rankdir: object, columns: object) -> None:
    """Refuse a direction or a number of columns that nothing can be drawn in."""
    if rankdir not in ("TB", "LR"):
        raise ArgumentError(
            f"Cannot draw with rankdir={rankdir!r}.",
            expected="'TB', from top to bottom, or 'LR', from left to right",
            fix="pass rankdir='LR'.",
        )
    if isinstance(columns, bool) or not isinstance(columns, Integral) or columns < 1:
        raise ArgumentError(
            f"Cannot draw with columns={columns!r}.", expected="a whole number from 1", fix="pass columns=3."
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
    """The picture of a graph. Nothing of it is changed, and nothing of the model is run.

    Args:
        graph: the model; with a diff, the model after.
        diff: what is different from another model: it is drawn on the picture, and what was removed as well.
        weights: where the values of its variables are read, for a histogram of each.
        before: with a diff, the model before, which knows the settings of what was removed.
        findings: what a check found, as pairs of a path and a text: the picture opens at the first.
        rankdir: "TB" to draw from top to bottom, "LR" from left to right.
        columns: into how many columns a long picture is folded; with "LR", into how many lines.
    """
    check_direction(rankdir, columns)
    scene = draw_scene(graph, diff, before)
    scene.rankdir, scene.columns = rankdir, int(columns)
    mark_sharing(scene, graph)
    mark_findings(scene, graph, findings, diff)
    title = escape(graph.name)
    if diff is not None:
        mark_changes(scene, diff, before)
        # A box that was renamed says both names.
        for parent in sorted({box.parent for box in scene.boxes if box.status == "renamed" and box.parent is not None}):
            size_boxes(scene, scene.boxes[parent])
        title = f"{escape(diff.before)} → {escape(diff.after)}"
    return Picture(scene, graph, weights, title, before)


def _write(path: Path, content: bytes) -> None:
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # mkstemp gives a file that only its owner may read; a picture is for everyone the folder, or the old file, is for.
        mask = os.umask(0)
        os.umask(mask)
        beside.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~mask)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
