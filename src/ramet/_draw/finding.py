"""What a check of two models found, on the picture: the places where they differ."""

from __future__ import annotations

from collections.abc import Iterable

from ramet._diff import Diff
from ramet._draw.address import Addresses
from ramet._draw.box import Note, Scene
from ramet._draw.ghost import moves_of, path_now
from ramet._graph import Graph, escape

__all__ = ["mark_findings"]


def mark_findings(scene: Scene, graph: Graph, findings: Iterable[tuple[str, str]], diff: Diff | None = None) -> None:
    """Notes for what was found, in its order, before all others.

    Args:
        scene: the picture.
        graph: the model on it.
        findings: pairs of a path and a text. The path is that of an op, a call, a variable, an attribute or an output.
        diff: from the model that the paths are of, where that is another one.
    """
    addresses = Addresses(scene)
    outputs = addresses.outputs(graph)
    moves = moves_of(diff) if diff is not None else {}
    for path, text in findings:
        number, link = _place(path, addresses, outputs, moves)
        # Where there is no box of its own, the text says where it is.
        is_there = path in (scene.boxes[number].path, scene.boxes[number].key)
        told = escape(text) if is_there else f"{escape(path)}: {escape(text)}"
        scene.note(Note("differs", number, told.removeprefix(": "), at=link), "differs")


def _place(path: str, addresses: Addresses, outputs: dict[str, int], moves: dict[str, str]) -> tuple[int, str]:
    """The number of the box; and the deep link, for what has a box only when a later call of something shared is open."""
    for own in dict.fromkeys((path_now(path, moves), path)):
        if own in addresses.at:
            return addresses.at[own], ""
        if own in outputs:
            return outputs[own], ""
        later = addresses.inside_a_later_call(own)
        if later is not None:
            return later
    if path in addresses.removed:
        return addresses.removed[path], ""
    return addresses.nearest(path_now(path, moves)), ""
