"""Pictures of models and of differences: a page that opens from disk, an SVG. Nothing here knows Keras."""

from ramet._draw.picture import Picture, draw_graph

__all__ = ["Picture", "draw_graph"]
