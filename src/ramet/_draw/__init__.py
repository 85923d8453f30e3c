"""Pictures of models and of their differences.

A graph goes in, with a diff, findings of a check and a reader of weights if there are any; a `Picture` comes out: a page that
opens from disk (HTML), or a drawing (SVG, PNG, PDF). `builder.py` turns the graph into boxes, `marks.py` adds sharing, changes
and findings, `layout.py` (with `ranking.py`, `ordering.py` and `columns.py`) and `placement.py` position the boxes, and `html.py`
and `svg.py` write the result. The scripts and styles of the page are in `page/`. Keras is not needed.
"""

from ramet._draw.drawing import Rankdir
from ramet._draw.picture import Picture, check_direction, check_target, draw_graph

__all__ = [
    "Picture",
    "Rankdir",
    "check_direction",
    "check_target",
    "draw_graph",
]
