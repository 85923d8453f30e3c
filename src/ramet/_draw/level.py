"""One level of a graph: its calls, blocks, outputs and edges as boxes."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._draw.block import find_blocks
from ramet._draw.box import Box, Edge, MaskUse, Scene, Status
from ramet._draw.ghost import Ghost
from ramet._draw.text import value_text
from ramet._graph import Call, FrozenDict, Graph, Op, Ref, Value, refs, render

__all__ = ["draw_level"]

# Letters of the classes in a block that its box shows.
_ROOM = 28


def draw_level(scene: Scene, container: Box, graph: Graph, ghosts: list[Ghost]) -> list[Box]:
    """Boxes for the calls of a graph, in the container. Blocks, outputs and what was removed have boxes besides."""
    level = _Level(scene, container, graph)
    level.add_blocks()
    boxes = [level.add_call(call) for call in graph.calls]
    level.add_ghosts(ghosts)
    level.add_outputs()
    for source, target, mask, status, values in level.wires():
        level.add_edge(source, target, mask, status, values)
    return boxes


def _listed(classes: list[str]) -> str:
    """The first classes, as many as a box has room for."""
    kept = next((n for n in range(len(classes), 1, -1) if len(" · ".join(classes[:n])) <= _ROOM), 1)
    return " · ".join(classes[:kept]) + (" …" if kept < len(classes) else "")


def _data_refs(call: Call) -> Iterator[Ref]:
    """The refs among the arguments that are no masks."""
    masks = dict(call.mask_kinds)
    data = [item for place, item in enumerate(call.args) if place not in masks]
    data += [item for key, item in call.kwargs.pairs if key not in masks]
    return refs(tuple(data))


_Wire = tuple[int, int, MaskUse, Status, tuple[Ref, ...]]


class _Level:
    def __init__(self, scene: Scene, container: Box, graph: Graph) -> None:
        self._scene, self._container, self._graph = scene, container, graph
        self._boxes: dict[str, Box] = {}
        self._homes: dict[str, int] = {}
        self._extra: list[_Wire] = []
        self._ports: dict[tuple[int, int, str], Box] = {}
        self._drawn: set[tuple[int, int, MaskUse, Status]] = set()

    def add_blocks(self) -> None:
        for label, places in find_blocks(self._graph):
            box = self._scene.add(self._container.number, "block", "block", label)
            classes = [self._op(self._graph.calls[place]).class_name for place in places]
            box.name = _listed(list(dict.fromkeys(classes)))
            box.row_gap = self._container.row_gap
            box.key = f"{self._container.path}/{label}".lstrip("/")
            self._homes.update((self._graph.calls[place].id, box.number) for place in places)

    def add_call(self, call: Call) -> Box:
        op = self._op(call)
        home = self._homes.get(call.id, self._container.number)
        box = self._scene.add_op(home, op, call)
        box.shapes = tuple(map(value_text, call.outputs))
        box.dtypes = tuple(value.dtype for value in call.outputs)
        box.mask = self._mask_of(call)
        self._boxes[call.id] = box
        return box

    def add_outputs(self) -> None:
        graph = self._graph
        names = graph.outputs.pairs if isinstance(graph.outputs, FrozenDict) else ()
        found = list(refs(graph.outputs))
        for number, ref in enumerate(found):
            if ref.call not in self._boxes:
                continue
            box = self._scene.add(self._container.number, "output", "output", "Output")
            if len(names) == len(found):
                box.name = render(names[number][0])
            elif len(found) > 1:
                box.name = str(number)
            self._extra.append((self._boxes[ref.call].number, box.number, self._carried(ref), "", (ref,)))

    def add_ghosts(self, ghosts: list[Ghost]) -> None:
        """Boxes of what was removed, tied to what they stood between, as far as that is still there."""
        drawn = []
        for ghost in ghosts:
            around = {self._homes.get(name) for name in (*ghost.takes, *ghost.feeds) if name in self._boxes}
            home = next(iter(around)) if len(around) == 1 else None
            box = ghost.draw(self._scene, self._container if home is None else self._scene.boxes[home])
            drawn.append((ghost, box))
            # Another one may have the name by now.
            self._boxes.setdefault(ghost.old_name, box)
            if home is not None:
                self._homes.setdefault(ghost.old_name, home)
        for ghost, own in drawn:
            for name in ghost.takes:
                if name in self._boxes and self._boxes[name] is not own:
                    self._extra.append((self._boxes[name].number, own.number, "", "removed", ()))
            for name in ghost.feeds:
                # Between two removed ones, the one that takes has told.
                if name in self._boxes and self._boxes[name].status != "removed":
                    self._extra.append((own.number, self._boxes[name].number, "", "removed", ()))

    def wires(self) -> Iterator[_Wire]:
        """The edges between boxes, whatever blocks they are in: one for each use of a value as data or as a mask."""
        for call in self._graph.calls:
            masks: dict[Ref, MaskUse] = {}
            for place, kind in call.mask_kinds:
                masks |= dict.fromkeys(refs(call.argument(place)), kind)
            for ref in dict.fromkeys(_data_refs(call)):
                if ref.call in self._boxes:
                    yield self._boxes[ref.call].number, self._boxes[call.id].number, self._carried(ref), "", (ref,)
            for ref, use in masks.items():
                if ref.call in self._boxes:
                    yield self._boxes[ref.call].number, self._boxes[call.id].number, use, "", (ref,)
        yield from self._extra

    def add_edge(self, source: int, target: int, mask: MaskUse, status: Status, values: tuple[Ref, ...]) -> None:
        """An edge in the container of both ends; in and out of a block it passes a port."""
        boxes = self._scene.boxes
        out_of, into = boxes[source].parent, boxes[target].parent
        if out_of == into:
            self._draw(out_of, source, target, mask, status)
            return
        value = str(values[0]) if values else f"{source}>"
        own = self._container.number
        if out_of is not None and out_of != own:
            self._draw(out_of, source, self._port(out_of, 1, value), mask, status)
            self._give(boxes[out_of], values)
            source = out_of
        if into is not None and into != own:
            self._draw(into, self._port(into, 0, value), target, mask, status)
            target = into
        self._draw(own, source, target, mask, status)

    def _draw(self, container: int | None, source: int, target: int, mask: MaskUse, status: Status) -> None:
        if container is None or (source, target, mask, status) in self._drawn or source == target:
            return
        self._drawn.add((source, target, mask, status))
        self._scene.boxes[container].edges.append(Edge(source, target, mask, status))

    def _give(self, block: Box, values: tuple[Ref, ...]) -> None:
        """What leaves a block is told beside it."""
        for ref in values:
            value = self._value(ref)
            if value is not None:
                block.shapes = tuple(dict.fromkeys([*block.shapes, value_text(value)]))

    def _port(self, block: int, side: int, value: str) -> int:
        key = (block, side, value)
        if key not in self._ports:
            self._ports[key] = self._scene.add(block, "port", "block", "")
        return self._ports[key].number

    def _op(self, call: Call) -> Op:
        return self._graph._index.ops.get(call.op) or Op(call.op, "layer", "?")

    def _carried(self, ref: Ref) -> MaskUse:
        value = self._value(ref)
        return "carried" if value is not None and value.mask is not None else ""

    def _value(self, ref: Ref) -> Value | None:
        """The value, as far as there is one: a picture of a broken graph shows what it can."""
        producer = self._graph._index.calls.get(ref.call)
        return producer.outputs[ref.output] if producer and 0 <= ref.output < len(producer.outputs) else None

    def _mask_of(self, call: Call) -> str:
        """Whether a mask begins here, or ends here."""
        taken = {value.mask for value in map(self._value, _data_refs(call)) if value is not None} - {None}
        made = {value.mask for value in call.outputs} - {None}
        if made - taken:
            # A merge makes one mask of those it is given.
            return "made dropped" if taken else "made"
        return "dropped" if taken and not made else ""
