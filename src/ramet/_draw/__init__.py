"""Pictures of models and of differences: a page that opens from disk, or a drawing (SVG, PNG, PDF). Nothing here knows Keras."""

from ramet._draw.box import Rankdir
from ramet._draw.picture import Picture, check_direction, check_target, draw_graph

__all__ = [
    "Picture",
    "Rankdir",
    "check_direction",
    "check_target",
    "draw_graph",
]
