"""How values show themselves in a notebook: HTML that holds names only as text, and never an exception."""

from __future__ import annotations

from collections.abc import Callable
from html import escape as quote
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ramet._graph.graph import Graph

__all__ = ["preformatted", "shown"]


def shown(make: Callable[[], str]) -> str | None:
    """The HTML for a notebook, or None where making it fails: the notebook then shows the `repr`.

    What is shown is never worth the traceback of a display hook in the middle of somebody's work.
    """
    try:
        return make()
    except Exception:  # noqa: BLE001  # see above
        return None


def preformatted(text: str) -> str:
    """Text as it is printed; the notebook's own colours, so that it can be read on a dark page as well."""
    return f'<pre style="white-space:pre;overflow-x:auto;line-height:1.3">{quote(text)}</pre>'


def graph_html(graph: Graph) -> str | None:
    """The picture of a graph; its text where drawing is not installed or fails."""
    return shown(lambda: _picture(graph)) or shown(lambda: preformatted(str(graph)))


def _picture(graph: Graph) -> str:
    # The one import from a lower room to a higher one, made when a graph is shown: a picture is what a reader wants to see.
    from ramet._draw import draw_graph

    return draw_graph(graph)._repr_html_() or ""
