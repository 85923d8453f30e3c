"""A scene as the data that the page reads. Texts are made safe to look at here; paths stay as they are."""

from __future__ import annotations

from typing import Any

from ramet._diff import Weights
from ramet._diff.show import show
from ramet._draw.box import Box, Scene
from ramet._draw.histogram import histogram
from ramet._draw.palette import FAMILIES, mark_colour
from ramet._draw.text import shape_text, shorten
from ramet._graph import Graph, Op, VariableSpec, escape

__all__ = ["record"]

_SETTINGS = 60
_SHAPES = 3
# Settings that the panel says by other means.
_TOLD_ABOVE = frozenset({"name", "trainable", "dtype"})


def record(scene: Scene, graph: Graph, weights: Weights | None = None) -> dict[str, Any]:
    """Everything the page needs, as plain data for JSON. What is empty is left out."""
    ops = _Ops(graph, weights)
    boxes = [_box(box, ops) for box in scene.boxes]
    used = {box.family for box in scene.boxes[1:] if box.kind not in ("port", "block")}
    return {
        "model": {"name": escape(graph.name), "class": escape(graph.class_name), "parameters": graph.parameters},
        "boxes": boxes,
        "ops": ops.records,
        "groups": [
            {"label": group.label, "text": escape(group.text), "boxes": group.boxes, "colour": mark_colour(number)}
            for number, group in enumerate(scene.groups)
        ],
        "notes": [
            _told(
                kind=note.kind,
                box=note.box,
                text=note.text,
                what=note.what,
                old=note.old,
                new=note.new,
                follows=note.follows,
            )
            for note in scene.notes
        ],
        "families": {name: told for name, (_, _, told) in FAMILIES.items() if name in used},
    }


def _told(**fields: Any) -> dict[str, Any]:
    # Zero is a number like any other: `parent=0` is the model itself.
    return {name: value for name, value in fields.items() if value or type(value) in (int, float)}


def _box(box: Box, ops: _Ops) -> dict[str, Any]:
    shapes = list(box.shapes[:_SHAPES])
    if len(box.shapes) > 1 and len(set(box.shapes)) == 1:
        shapes = [f"{len(box.shapes)} x {box.shapes[0]}"]
    elif len(box.shapes) > _SHAPES:
        shapes.append(f"and {len(box.shapes) - _SHAPES:,} more")
    name = escape(box.name)
    return {
        "kind": box.kind,
        "rank": box.rank,
        "x": round(box.x, 3),
        "w": box.width,
        "h": box.height,
        **_told(
            family=box.family if box.family != box.kind else "",
            title=shorten(box.title),
            name=shorten(box.name),
            full=name if name != shorten(box.name) else "",
            hint=box.hint,
            key=box.key,
            path=box.path if box.path != box.key else "",
            op=ops.number(box),
            shapes=shapes,
            dtypes=sorted(map(escape, set(box.dtypes))),
            parent=box.parent,
            gap=box.row_gap if box.children else 0.0,
            edges=[
                [edge.source, edge.target, edge.mask, edge.status, *edge.bends]
                if edge.bends or edge.mask or edge.status
                else [edge.source, edge.target]
                for edge in box.edges
            ],
            bends=[[bend.rank, round(bend.x, 3)] for bend in box.bends],
            open=box.is_open,
            groups=box.groups,
            mask=box.mask,
            status=box.status,
            notes=box.notes,
        ),
    }


class _Ops:
    """What the panel says of each op, told once however often it is called."""

    def __init__(self, graph: Graph, weights: Weights | None) -> None:
        self.records: list[dict[str, Any]] = []
        self._weights = weights
        self._known = set(weights.paths()) if weights is not None else set()
        self._numbers: dict[int, int] = {}
        self._paths: dict[int, str] = {}
        self._sizes: dict[int, int] = {}
        placed = list(graph.walk())
        inside: dict[str, int] = {}
        # From the last to the first: what is inside an op comes after it.
        for path, op in reversed(placed):
            self._paths[id(op)] = path
            own = sum(spec.size for spec in op.variables if spec.weight)
            self._sizes[id(op)] = own + inside.pop(path, 0)
            above = path.rpartition("/")[0]
            inside[above] = inside.get(above, 0) + self._sizes[id(op)]
        if graph.root is not None:
            self._paths[id(graph.root)] = ""
            self._sizes[id(graph.root)] = graph.parameters

    def number(self, box: Box) -> int | None:
        op = box.op
        if op is None:
            return None
        if id(op) not in self._numbers:
            self._numbers[id(op)] = len(self.records)
            self.records.append(self._record(op))
        return self._numbers[id(op)]

    def _record(self, op: Op) -> dict[str, Any]:
        path = self._paths.get(id(op), op.id)
        pairs = op.config.pairs if op.config else ()
        settings = [[escape(str(key)), show(value)] for key, value in pairs if key not in _TOLD_ABOVE]
        if len(settings) > _SETTINGS:
            settings = [*settings[:_SETTINGS], ["and", f"{len(settings) - _SETTINGS:,} more"]]
        return _told(
            class_name=escape(op.class_name),
            module=escape(op.module or ""),
            registered=escape(op.registered_name or ""),
            path=path,
            settings=settings,
            no_config=escape(op.no_config or ""),
            frozen=not op.trainable,
            dtype=escape(op.dtype_policy or ""),
            unbuilt=not op.built,
            parameters=self._sizes.get(id(op), 0) or None,
            flags=[[escape(str(key)), show(value)] for key, value in op.flags.pairs],
            variables=[self._variable(path, spec) for spec in op.variables],
        )

    def _variable(self, path: str, spec: VariableSpec) -> dict[str, Any]:
        own = f"{path}/{spec.id}".lstrip("/")
        source = own if own in self._known else spec.tied if spec.tied in self._known else None
        drawn = None
        if source is not None and self._weights is not None:
            drawn = histogram(self._weights.read(source))
        return _told(
            name=escape(spec.id),
            shape=shape_text(spec.shape),
            dtype=escape(spec.dtype),
            frozen=not spec.trainable,
            state=not spec.weight,
            size=spec.size,
            tied=escape(spec.tied or ""),
            missing=self._weights is not None and source is None,
            histogram=drawn,
        )
