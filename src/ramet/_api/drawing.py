"""The verb that draws."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramet.errors import ArgumentError

if TYPE_CHECKING:
    from ramet._diff import Diff, Weights
    from ramet._draw import Picture, Rankdir
    from ramet._graph import Graph
    from ramet._verify import Report


def draw(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    before: Any = None,
    report: Report | None = None,
    rankdir: Rankdir = "TB",
    columns: int = 1,
    scale: float | None = None,
) -> Picture:
    """Draw a model: shown in a notebook, or written as a page (`.html`) or a drawing (`.svg`, `.png`, `.pdf`).

    Boxes by kind, shapes on the edges; sharing, masks and what is inside nested models and layers are visible. A page is one
    file that opens from disk and works offline.

    Args:
        model: A model or layer of any kind, the path of a model file (`.keras`, `.h5`), which is read as data, or a graph.
        path: Where to write the picture; the suffix chooses the format. Nothing is written when it is left out. PNG and PDF need
            a converter: the Python package cairosvg, or rsvg-convert, inkscape or chromium on the PATH.
        before: Another model, file or graph, like the first: what is different from it is drawn, what was removed included, and
            boxes are coloured by how far their weights moved.
        report: What `ramet.verify` said of the model: the picture opens at the first value that differs.
        rankdir: "TB" to draw from top to bottom, "LR" from left to right.
        columns: Fold a long picture into this many columns; with `rankdir="LR"`, into this many lines.
        scale: For a `.png`, how many pixels a unit of the picture measures; 2 by default.

    Raises:
        ArgumentError: The suffix is not supported, no converter is installed, or an argument is out of range. Nothing is written.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> ramet.draw(model).to_svg()[:4]
    '<svg'
    """
    from ramet._draw import check_direction, check_target, draw_graph

    check_direction(rankdir, columns)
    if path is not None:
        check_target(Path(path), scale)
    elif scale is not None:
        raise ArgumentError(
            "Cannot scale a picture that is not written: scale= needs a .png path.", fix="leave scale= out."
        )
    graph, weights = _graph_of(model)
    old, changes = (None, None) if before is None else (_graph_of(before)[0], _diff_of(before, model))
    findings: list[tuple[str, str]] = []
    if report is not None:
        from ramet._verify import findings_of

        findings = findings_of(report)
    picture = draw_graph(graph, changes, weights, before=old, findings=findings, rankdir=rankdir, columns=columns)
    if path is not None:
        picture.save(path, scale=scale)
    return picture


def _graph_of(model: Any) -> tuple[Graph, Weights | None]:
    """The graph of a model, a file or a graph, and where the values of its variables are read."""
    from ramet._graph import Graph

    if isinstance(model, Graph):
        return model, None
    if isinstance(model, str | os.PathLike):
        from ramet._files import read_archive

        file = read_archive(model)
        return file.graph, file.weights
    from ramet._keras import LiveWeights, capture

    return capture(model), LiveWeights(model)


def _diff_of(before: Any, after: Any) -> Diff:
    from ramet._graph import Graph

    if isinstance(before, Graph) or isinstance(after, Graph):
        from ramet._diff import diff_graphs

        return diff_graphs(_graph_of(before)[0], _graph_of(after)[0])
    from ramet._api.comparing import diff

    return diff(before, after)
