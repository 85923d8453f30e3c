"""A picture of a model: a page to explore, an SVG for paper."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from ramet._diff import Diff, Weights
from ramet._draw.box import Scene
from ramet._draw.change import mark_changes
from ramet._draw.finding import mark_findings
from ramet._draw.html import embed, page
from ramet._draw.record import record
from ramet._draw.scene import draw_scene
from ramet._draw.sharing import mark_sharing
from ramet._draw.svg import svg
from ramet._graph import Graph, escape
from ramet.errors import ArgumentError

__all__ = ["Picture", "draw_graph"]


class Picture:
    """A picture of a model, or of a diff of two.

    In a notebook it shows itself; `save` writes a page or an SVG, `to_html` and `to_svg` give them as text.
    """

    def __init__(
        self, scene: Scene, graph: Graph, weights: Weights | None, title: str, before: Graph | None = None
    ) -> None:
        self._scene, self._graph, self._weights, self._title, self._before = scene, graph, weights, title, before

    def __repr__(self) -> str:
        return f"<Picture of {self._graph.name!r}: {len(self._scene.boxes) - 1} boxes>"

    def to_html(self) -> str:
        """The page: one file that works from disk, offline, without an address of anything in it."""
        return self._page

    def to_svg(self) -> str:
        """The picture as the page shows it when it opens, for papers and slides."""
        return svg(self._scene)

    def _repr_html_(self) -> str:
        return embed(self._page)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture to a file: `.html` for the page, `.svg` for the drawing.

        It is written beside the file and renamed, so that no half of one is ever there.

        Raises:
            ArgumentError: the name ends in neither.
        """
        target = Path(path)
        makers = {".html": self.to_html, ".htm": self.to_html, ".svg": self.to_svg}
        make = makers.get(target.suffix.lower())
        if make is None:
            raise ArgumentError(
                f"Cannot save the picture as '{target.name}': its end does not say what it shall be.",
                expected="a name that ends in .html or .svg",
                fix=f"save it as '{target.stem}.html' or '{target.stem}.svg'.",
            )
        _write(target, make())

    @cached_property
    def _page(self) -> str:
        return page(record(self._scene, self._graph, self._weights, self._before), self._title)


def draw_graph(
    graph: Graph,
    diff: Diff | None = None,
    weights: Weights | None = None,
    *,
    before: Graph | None = None,
    findings: Iterable[tuple[str, str]] = (),
) -> Picture:
    """The picture of a graph. Nothing of it is changed, and nothing of the model is run.

    Args:
        graph: the model; with a diff, the model after.
        diff: what is different from another model: it is drawn on the picture, and what was removed as well.
        weights: where the values of its variables are read, for a histogram of each.
        before: with a diff, the model before, which knows the settings of what was removed.
        findings: what a check found, as pairs of a path and a text: the picture opens at the first.
    """
    scene = draw_scene(graph, diff, before)
    mark_sharing(scene, graph)
    mark_findings(scene, graph, findings, diff)
    title = escape(graph.name)
    if diff is not None:
        mark_changes(scene, diff, before)
        title = f"{escape(diff.before)} → {escape(diff.after)}"
    return Picture(scene, graph, weights, title, before)


def _write(target: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    beside = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        # mkstemp gives a file that only its owner may read; a picture is for everyone the folder is for.
        mask = os.umask(0)
        os.umask(mask)
        beside.chmod(0o666 & ~mask)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
