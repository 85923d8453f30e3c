"""Which box a path means: of an op, of a call, of a variable, of an attribute, of an output."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._draw.box import Scene
from ramet._graph import Argument, FrozenDict, FrozenList, Graph, Ref, split_call_id

__all__ = ["Addresses"]


class Addresses:
    """The boxes of a scene by their paths.

    Attributes:
        at: the numbers of boxes by path and by deep link; the model itself under the empty one.
        removed: the numbers of what is no longer there, by the path it had.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._calls: dict[str, list[str]] = {}
        self.at: dict[str, int] = {}
        self.removed: dict[str, int] = {}
        for box in scene.boxes:
            if box.status == "removed":
                self.removed[box.key.removeprefix("-")] = box.number
            elif box.kind not in ("block", "port", "output"):
                self.at.setdefault(box.path, box.number)
                self.at.setdefault(box.key, box.number)
                self._calls.setdefault(box.path, []).append(box.key.rpartition("/")[2])
        self.at[""] = 0

    def nearest(self, path: str) -> int:
        """The box at the path, or at the beginning of it: variables and attributes are told at their op."""
        while path not in self.at:
            path = path[: max(0, *(path.rfind(sign) for sign in "/.[#"))]
        return self.at[path]

    def outputs(self, graph: Graph) -> dict[str, int]:
        """The boxes of the model's outputs, as code would read them: `outputs`, `outputs[0]`, `outputs['mask']`."""
        numbers = [box.number for box in self._scene.boxes if box.kind == "output" and box.parent == 0]
        paths = list(_leaf_paths("outputs", graph.outputs))
        # An output of a broken graph has no box.
        return dict(zip(paths, numbers, strict=True)) if len(paths) == len(numbers) else {}

    def inside_a_later_call(self, path: str) -> tuple[int, str] | None:
        """For the n-th run of an op inside something shared: the box of the call it ran in, and its deep link there.

        `encoder/d#2` is the first `d` of the second call of `encoder`, if that calls it once: `encoder#2/d`. None for what
        stands in a first call, which has boxes of its own.
        """
        tail = ""
        while True:
            home, slash, last = path.rpartition("/")
            op, number = split_call_id(last) or (last, 1)
            calls = self._calls.get(home + slash + op)
            if not calls:
                return None
            passes, place = divmod(number - 1, len(calls))
            if not passes:
                key = home + slash + calls[place]
                return (self.at[key], key + tail) if tail else None
            if not home:
                return None
            path, tail = f"{home}#{passes + 1}", f"/{calls[place]}{tail}"


def _leaf_paths(path: str, value: Argument) -> Iterator[str]:
    waiting = [(path, value)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, FrozenDict):
            waiting += reversed([(f"{path}[{key!r}]", part) for key, part in value.pairs])
        elif isinstance(value, tuple | FrozenList):
            waiting += reversed([(f"{path}[{place}]", part) for place, part in enumerate(value)])
        elif isinstance(value, Ref):
            yield path
