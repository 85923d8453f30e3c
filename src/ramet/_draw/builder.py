"""From a graph to a drawing: a box for each call, with its content, and the edges between the calls."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._diff import Diff
from ramet._draw.blocks import find_blocks, op_of
from ramet._draw.drawing import Box, Drawing, Edge, MaskUse, Status
from ramet._draw.layout import arrange_grid, arrange_rows
from ramet._draw.marks import RemovedOp, removed_ops
from ramet._draw.palette import family_of
from ramet._draw.text import hint_of, shorten, value_text, width_of
from ramet._graph import Call, FrozenDict, Graph, Op, Ref, Value, refs, render
from ramet._report import count

_ROW_GAP = 46.0
_GRID_GAP = 16.0
_HEIGHT = 44.0
_NARROWEST, _WIDEST = 128.0, 260.0
_PORT = 10.0
# The most boxes that are shown at first, as far as boxes can be closed.
_MOST_AT_FIRST = 40
# The most letters of class names on the box of a block.
_BLOCK_LETTERS = 28


def build_drawing(graph: Graph, diff: Diff | None = None, before: Graph | None = None) -> Drawing:
    """Return the drawing of a graph, with a row and a column for each box.

    Containers are filled from a worklist instead of by recursion, because models nest deeply.

    Args:
        graph: The model.
        diff: The diff from another model, whose removed ops are drawn as well.
        before: That other model, for the settings of removed ops.
    """
    drawing = Drawing()
    root = drawing.add(None, "model", "model", graph.class_name)
    root.name, root.op = graph.name, graph.root
    first = dict(graph.walk())
    removed = removed_ops(diff, before)
    # Containers with their content: a graph of calls, or ops that have no calls.
    waiting: list[tuple[Box, Graph | tuple[Op, ...]]] = [(root, graph if graph.calls else graph.held)]
    while waiting:
        container, content = waiting.pop()
        # The content of a shared op is drawn at its first call; `_link_later_calls` refers the other calls to it.
        inner: dict[str, tuple[Box, Graph | tuple[Op, ...]]] = {}
        for box in _fill(drawing, container, content, first, removed.get(container.path, [])):
            op = box.op
            if op is not None and op.inside and first.get(box.path) is op:
                inner.setdefault(box.path, (box, op.graph if op.graph is not None and op.graph.calls else op.inside))
        waiting += reversed(inner.values())
    _link_later_calls(drawing)
    _open_boxes(drawing)
    return drawing


def _fill(
    drawing: Drawing,
    container: Box,
    content: Graph | tuple[Op, ...],
    first: dict[str, Op],
    removed: list[RemovedOp],
) -> list[Box]:
    if isinstance(content, Graph):
        container.row_gap = _ROW_GAP
        boxes = _GraphLevel(drawing, container, content).draw(removed)
        boxes += [drawing.add_op(container.number, op) for op in content.extras]
    else:
        container.row_gap = _GRID_GAP
        boxes = [drawing.add_op(container.number, op) for op in content]
        for removed_op in removed:
            removed_op.draw(drawing, container)
    for box in boxes:
        _set_texts(box, f"{container.path}/" if container.number else "", first)
    inner = (drawing.boxes[number] for number in container.children)
    for level in [container, *(box for box in inner if box.kind == "block")]:
        size_boxes(drawing, level)
        (arrange_rows if level.edges else arrange_grid)(drawing, level)
    return boxes


def _set_texts(box: Box, prefix: str, first: dict[str, Op]) -> None:
    """Set path and texts, and replace the reference to a shared op by the op."""
    op = box.op
    if op is None:
        return
    box.path, box.key = prefix + op.id, prefix + box.key
    if op.same_as is not None:
        op = box.op = first.get(op.same_as, op)
        box.family = family_of(op)
    if box.kind == "input":
        box.title = "Input"
    box.hint = hint_of(op)


def size_boxes(drawing: Drawing, container: Box) -> None:
    """Set the sizes of the children when closed: all boxes of a container have the same width."""
    children = [drawing.boxes[number] for number in container.children]
    widest = _NARROWEST
    for box in children:
        if box.kind == "port":
            box.width, box.height = _PORT, _PORT
            continue
        if box.kind == "block" and not box.hint:
            box.hint = count(sum(drawing.boxes[number].kind != "port" for number in box.children), "call")
        title = width_of(shorten(box.title), 13) * 1.1
        head = title + (width_of(box.hint, 11) + 10 if box.hint else 0)
        # Room for the triangle, and for a mark.
        if box.children or (box.op is not None and box.op.inside):
            head += 20
            box.open_width = float(round(title + width_of(box.open_text, 11) + 60))
        widest = max(widest, head + 26, width_of(shorten(box.name), 11) + 34 + 62 * bool(box.mask))
    for box in children:
        if box.kind != "port":
            box.width, box.height = float(round(min(widest, _WIDEST))), 30.0 if box.kind == "output" else _HEIGHT


def _link_later_calls(drawing: Drawing) -> None:
    """Refer the later calls of a shared op to the box that shows its content.

    The page copies the content when such a box is opened: models that call each other twice, ten levels deep, would have a
    thousand copies.
    """
    shown = {id(box.op): box.number for box in drawing.boxes if box.children and box.op is not None}
    for box in drawing.boxes[1:]:
        if not box.children and box.status != "removed":
            box.same = shown.get(id(box.op))


def _open_boxes(drawing: Drawing) -> None:
    """Open models from the outside in while the picture stays small. Composite layers and blocks start closed."""
    drawing.boxes[0].is_open = True
    visible = sum(drawing.boxes[number].kind != "port" for number in drawing.boxes[0].children)
    waiting = list(drawing.boxes[0].children)
    for number in waiting:
        box = drawing.boxes[number]
        is_in_tree = not drawing.boxes[box.parent or 0].edges
        if box.kind == "block" or not box.children or not (box.kind == "model" or is_in_tree):
            continue
        if visible + len(box.children) <= _MOST_AT_FIRST:
            visible += len(box.children)
            box.is_open = True
            waiting += box.children


# Source, target, mask, status, and the value if there is one.
_Wire = tuple[int, int, MaskUse, Status, Ref | None]


class _GraphLevel:
    """Draws the calls of one graph in a container: boxes for calls, blocks, outputs and removed ops, and the edges."""

    def __init__(self, drawing: Drawing, container: Box, graph: Graph) -> None:
        self._drawing, self._container, self._graph = drawing, container, graph
        self._boxes: dict[str, Box] = {}
        self._blocks: dict[str, int] = {}
        self._extra: list[_Wire] = []
        self._ports: dict[tuple[int, str, str], Box] = {}
        self._drawn: set[tuple[int, int, MaskUse, Status]] = set()

    def draw(self, removed: list[RemovedOp]) -> list[Box]:
        """Draw everything, and return the boxes of the calls."""
        self._add_blocks()
        boxes = [self._add_call(call) for call in self._graph.calls]
        self._add_removed(removed)
        self._add_outputs()
        for wire in self._wires():
            self._add_edge(*wire)
        return boxes

    def _add_blocks(self) -> None:
        for label, calls in find_blocks(self._graph):
            box = self._drawing.add(self._container.number, "block", "block", label)
            classes = [op_of(self._graph, self._graph.calls[number]).class_name for number in calls]
            box.name = _list_classes(list(dict.fromkeys(classes)))
            box.row_gap = self._container.row_gap
            box.key = f"{self._container.path}/{label}".lstrip("/")
            self._blocks.update((self._graph.calls[number].id, box.number) for number in calls)

    def _add_call(self, call: Call) -> Box:
        box = self._drawing.add_op(self._blocks.get(call.id, self._container.number), op_of(self._graph, call), call)
        box.shapes = tuple(map(value_text, call.outputs))
        box.dtypes = tuple(value.dtype for value in call.outputs)
        box.mask = self._mask_of(call)
        self._boxes[call.id] = box
        return box

    def _add_outputs(self) -> None:
        outputs = self._graph.outputs
        names = outputs.pairs if isinstance(outputs, FrozenDict) else ()
        found = list(refs(outputs))
        for number, ref in enumerate(found):
            if ref.call not in self._boxes:
                continue
            box = self._drawing.add(self._container.number, "output", "output", "Output")
            if len(names) == len(found):
                box.name = render(names[number][0])
            elif len(found) > 1:
                box.name = str(number)
            self._extra.append((self._boxes[ref.call].number, box.number, self._carried(ref), "", ref))

    def _add_removed(self, removed: list[RemovedOp]) -> None:
        """Add boxes for removed ops, connected to their former neighbors as far as those still exist."""
        drawn = []
        for removed_op in removed:
            around = {self._blocks.get(name) for name in (*removed_op.takes, *removed_op.feeds) if name in self._boxes}
            block = next(iter(around)) if len(around) == 1 else None
            box = removed_op.draw(self._drawing, self._container if block is None else self._drawing.boxes[block])
            drawn.append((removed_op, box))
            # Another op may have the name now.
            self._boxes.setdefault(removed_op.old_name, box)
            if block is not None:
                self._blocks.setdefault(removed_op.old_name, block)
        for removed_op, own in drawn:
            for name in removed_op.takes:
                if name in self._boxes and self._boxes[name] is not own:
                    self._extra.append((self._boxes[name].number, own.number, "", "removed", None))
            for name in removed_op.feeds:
                # Between two removed ops, the consumer adds the edge.
                if name in self._boxes and self._boxes[name].status != "removed":
                    self._extra.append((own.number, self._boxes[name].number, "", "removed", None))

    def _wires(self) -> Iterator[_Wire]:
        """Yield the edges between boxes, regardless of blocks: one for each use of a value as data or as a mask."""
        for call in self._graph.calls:
            target = self._boxes[call.id].number
            masks: dict[Ref, MaskUse] = {}
            for argument, kind in call.mask_kinds:
                masks |= dict.fromkeys(refs(call.argument(argument)), kind)
            data = {ref: self._carried(ref) for ref in _data_refs(call)}
            for ref, use in (*data.items(), *masks.items()):
                if ref.call in self._boxes:
                    yield self._boxes[ref.call].number, target, use, "", ref
        yield from self._extra

    def _add_edge(self, source: int, target: int, mask: MaskUse, status: Status, ref: Ref | None) -> None:
        """Add an edge to the container of both ends; into and out of a block, it passes through a port."""
        boxes = self._drawing.boxes
        start, end, own = boxes[source].parent, boxes[target].parent, self._container.number
        if start != end:
            value = str(ref) if ref is not None else f"{source}>"
            if start is not None and start != own:
                self._draw_edge(start, source, self._port(start, "out", value), mask, status)
                if ref is not None and (output := self._value(ref)) is not None:
                    boxes[start].shapes = tuple(dict.fromkeys([*boxes[start].shapes, value_text(output)]))
                source = start
            if end is not None and end != own:
                self._draw_edge(end, self._port(end, "in", value), target, mask, status)
                target = end
            start = own
        self._draw_edge(start, source, target, mask, status)

    def _draw_edge(self, container: int | None, source: int, target: int, mask: MaskUse, status: Status) -> None:
        if container is None or (source, target, mask, status) in self._drawn or source == target:
            return
        self._drawn.add((source, target, mask, status))
        self._drawing.boxes[container].edges.append(Edge(source, target, mask, status))

    def _port(self, block: int, side: str, value: str) -> int:
        key = (block, side, value)
        if key not in self._ports:
            self._ports[key] = self._drawing.add(block, "port", "block", "")
        return self._ports[key].number

    def _carried(self, ref: Ref) -> MaskUse:
        value = self._value(ref)
        return "carried" if value is not None and value.mask is not None else ""

    def _value(self, ref: Ref) -> Value | None:
        """Return the value, or None if the graph is invalid and has none: its picture shows what it can."""
        producer = self._graph._index.calls.get(ref.call)
        return producer.outputs[ref.output] if producer and 0 <= ref.output < len(producer.outputs) else None

    def _mask_of(self, call: Call) -> str:
        received = {value.mask for value in map(self._value, _data_refs(call)) if value is not None} - {None}
        made = {value.mask for value in call.outputs} - {None}
        if made - received:
            # A merge layer makes one mask from those of its inputs.
            return "made dropped" if received else "made"
        return "dropped" if received and not made else ""


def _list_classes(classes: list[str]) -> str:
    """Return as many of the first classes as a box has room for."""
    kept = next((n for n in range(len(classes), 1, -1) if len(" · ".join(classes[:n])) <= _BLOCK_LETTERS), 1)
    return " · ".join(classes[:kept]) + (" …" if kept < len(classes) else "")


def _data_refs(call: Call) -> Iterator[Ref]:
    """Yield the refs of the arguments that are not masks."""
    masks = dict(call.mask_kinds)
    data = [item for number, item in enumerate(call.args) if number not in masks]
    data += [item for key, item in call.kwargs.pairs if key not in masks]
    return refs(tuple(data))
