"""A scene as the data that the page reads. Texts are made safe to look at here; paths stay as they are."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Protocol, runtime_checkable

from ramet._diff import HOW_FAR, Weights, show
from ramet._draw.box import Box, Scene
from ramet._draw.histogram import histogram
from ramet._draw.palette import FAMILIES, mark_colour
from ramet._draw.text import listed_shapes, shape_text, shorten
from ramet._graph import Graph, Op, VariableSpec, escape

__all__ = ["record"]

_SETTINGS = 60
_SHAPES = 3
# Settings that the panel says by other means.
_TOLD_ABOVE = frozenset({"name", "trainable", "dtype"})


@runtime_checkable
class _Filed(Weights, Protocol):
    """Weights that say where in their file a variable stands."""

    def place(self, path: str) -> str:
        """The path of the array in the file."""
        ...


def record(scene: Scene, graph: Graph, weights: Weights | None = None, before: Graph | None = None) -> dict[str, Any]:
    """Everything the page needs, as plain data for JSON. What is empty is left out."""
    ops = _Ops(graph, weights, before)
    boxes = [_box(box, ops) for box in scene.boxes]
    used = {box.family for box in scene.boxes[1:] if box.kind not in ("port", "block")}
    return {
        "model": {"name": escape(graph.name), "class": escape(graph.class_name), "parameters": graph.parameters},
        "rankdir": scene.rankdir,
        "columns": scene.columns,
        "boxes": boxes,
        "ops": ops.records,
        "groups": [
            {**asdict(group), "text": escape(group.text), "colour": mark_colour(number)}
            for number, group in enumerate(scene.groups)
        ],
        "notes": [_told(**asdict(note)) for note in scene.notes],
        "moved": [told for _, told in HOW_FAR],
        "families": {name: told for name, (_, _, told) in FAMILIES.items() if name in used},
    }


def _told(**fields: Any) -> dict[str, Any]:
    # Zero is a number like any other: `parent=0` is the model itself.
    return {name: value for name, value in fields.items() if value or type(value) in (int, float)}


def _box(box: Box, ops: _Ops) -> dict[str, Any]:
    shapes = listed_shapes(box.shapes, _SHAPES)
    if len(shapes) == _SHAPES < len(box.shapes):
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
            op=ops.number(box.op),
            was=ops.number(box.was),
            shapes=shapes,
            dtypes=sorted(map(escape, set(box.dtypes))),
            parent=box.parent,
            gap=box.row_gap if box.children else 0.0,
            open_width=box.open_width or None,
            edges=[
                [edge.source, edge.target, edge.mask, edge.status, *edge.bends]
                if edge.bends or edge.mask or edge.status
                else [edge.source, edge.target]
                for edge in box.edges
            ],
            bends=[[bend.rank, round(bend.x, 3)] for bend in box.bends],
            open=box.is_open,
            same=box.same,
            groups=box.groups,
            within=box.within,
            mask=box.mask,
            status=box.status,
            moved=[box.step, box.told_status] if box.step is not None else None,
            notes=box.notes,
        ),
    }


class _Ops:
    """What the panel says of each op, told once however often it is called."""

    def __init__(self, graph: Graph, weights: Weights | None, before: Graph | None) -> None:
        self.records: list[dict[str, Any]] = []
        self._weights = weights
        self._known = set(weights.paths()) if weights is not None else set()
        self._numbers: dict[int, int] = {}
        # What was removed is only in the model before; its values are not read.
        self._before = _places(before) if before is not None else {}
        self._after = _places(graph)

    def number(self, op: Op | None) -> int | None:
        """The place of what is told of the op."""
        if op is None:
            return None
        if id(op) not in self._numbers:
            self._numbers[id(op)] = len(self.records)
            self.records.append(self._record(op))
        return self._numbers[id(op)]

    def _record(self, op: Op) -> dict[str, Any]:
        path, size = self._after.get(id(op)) or self._before.get(id(op)) or (op.id, 0)
        weights = self._weights if id(op) in self._after else None
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
            parameters=size or None,
            flags=[[escape(str(key)), show(value)] for key, value in op.flags.pairs],
            variables=[self._variable(path, spec, weights) for spec in op.variables],
        )

    def _variable(self, path: str, spec: VariableSpec, weights: Weights | None) -> dict[str, Any]:
        own = f"{path}/{spec.id}".lstrip("/")
        source = own if own in self._known else spec.tied if spec.tied in self._known else None
        drawn = histogram(weights.read(source)) if source is not None and weights is not None else None
        return _told(
            name=escape(spec.id),
            shape=shape_text(spec.shape),
            dtype=escape(spec.dtype),
            frozen=not spec.trainable,
            state=not spec.weight,
            size=spec.size,
            tied=escape(spec.tied or ""),
            missing=weights is not None and source is None,
            place=escape(weights.place(source)) if source is not None and isinstance(weights, _Filed) else "",
            histogram=drawn,
        )


def _places(graph: Graph) -> dict[int, tuple[str, int]]:
    """The path of each op, and how many numbers the weights in it hold, by its identity."""
    found: dict[int, tuple[str, int]] = {}
    inside: dict[str, int] = {}
    # From the last to the first: what is inside an op comes after it.
    for path, op in reversed(list(graph.walk())):
        size = sum(spec.size for spec in op.variables if spec.weight) + inside.pop(path, 0)
        found[id(op)] = path, size
        above = path.rpartition("/")[0]
        inside[above] = inside.get(above, 0) + size
    if graph.root is not None:
        found[id(graph.root)] = "", graph.parameters
    return found
