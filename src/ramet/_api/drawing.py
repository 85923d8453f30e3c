"""The verb that draws."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ramet._draw import Picture


def draw(model: Any, path: str | os.PathLike[str] | None = None) -> Picture:
    """A picture of a model: shown in a notebook, or written as a page (`.html`) or for papers (`.svg`).

    Boxes by kind, shapes on the edges; sharing, masks and what is inside nested models and layers are visible. A page is one
    file that opens from disk and works offline.

    Args:
        model: A model of any kind, the path of a model file (`.keras`, `.h5`), which is read as data, or a graph.
        path: Where to write the picture, by its suffix; nothing is written when it is left out.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> ramet.draw(model).to_svg()[:4]
    '<svg'
    """
    from ramet._draw import draw_graph
    from ramet._graph import Graph

    if isinstance(model, Graph):
        picture = draw_graph(model)
    elif isinstance(model, str | os.PathLike):
        from ramet._files import read_archive

        file = read_archive(model)
        picture = draw_graph(file.graph, weights=file.weights)
    else:
        from ramet._capture.capture import capture
        from ramet._capture.weights import LiveWeights

        picture = draw_graph(capture(model), weights=LiveWeights(model))
    if path is not None:
        picture.save(path)
    return picture
