"""The page of a picture: one file with its data, style and script inside, which loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import asdict
from functools import cache
from html import escape as quote
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

from ramet._diff import DISTANCE_STEPS, Weights, describe_value
from ramet._draw.drawing import Box, Drawing
from ramet._draw.palette import DARK, FAMILIES, LIGHT, mark_color, style_variables
from ramet._draw.text import listed_shapes, shape_text, shorten
from ramet._graph import Graph, Op, VariableSpec
from ramet._report import escape, html_block, more

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

# In the order in which they need each other.
_SCRIPTS = ("drawing.js", "copy.js", "placement.js", "paint.js", "crowd.js", "view.js", "panel.js", "find.js", "keys.js", "start.js")  # fmt: skip
_STYLES = ("page.css", "picture.css", "panel.css")
_NOTEBOOK_HEIGHT = 620
_MOST_SETTINGS = 60
_MOST_SHAPES = 3
# Settings that the panel shows in other ways.
_SHOWN_ABOVE = frozenset({"name", "trainable", "dtype"})

_BINS = 32
_TALLEST = 61
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# The most numbers that a histogram looks at: a million show the shape of a billion.
_SAMPLE = 1 << 20


def page(data: dict[str, Any], title: str) -> str:
    """Return the page that shows the data of `page_data`."""
    script = '"use strict";\n(() => {\n' + "\n".join(map(_read, _SCRIPTS)) + "\n})();\n"
    # The policy allows this very script only, whatever a name contains, and no requests.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    parts = {"policy": policy, "style": _style(), "script": script, "title": quote(title), "data": _safe_json(data)}
    # In one pass, so that a name that looks like a placeholder stays a name.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _read("page.html"))


def embed(html: str, svg: str, title: str) -> str:
    """Return the page in a frame for notebooks, which isolates the page and the notebook from each other.

    A notebook that is not trusted, and most sites that show notebooks, remove the frame and the style sheet that hides the image
    after it: their readers see the drawing.

    Args:
        html: The page.
        svg: The same picture as a drawing, or nothing.
        title: The accessible name of both.
    """
    label = quote(f"picture of {title}")
    # In single quotes, because the data of the page is full of double ones.
    source = html.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;")
    frame = (
        f'<iframe title="{label}" sandbox="allow-scripts" '
        f"style=\"width:100%;height:{_NOTEBOOK_HEIGHT}px;border:0\" srcdoc='{source}'></iframe>"
    )
    if not svg:
        return html_block(frame)
    image = base64.b64encode(svg.encode()).decode()
    return html_block(f'{frame}<img alt="{label}" src="data:image/svg+xml;base64,{image}">')


def _safe_json(data: dict[str, Any]) -> str:
    """Return JSON that no name in it can end: the special characters of HTML are escaped."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _read(name: str) -> str:
    return files("ramet._draw").joinpath("page", name).read_text(encoding="utf-8")


def _style() -> str:
    light, dark = style_variables(LIGHT), style_variables(DARK)
    themes = (
        f":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f":root[data-theme=dark]{{{dark}}}\n"
    )
    return themes + "\n".join(map(_read, _STYLES))


# The data of the page.


def page_data(drawing: Drawing, graph: Graph, weights: Weights | None, before: Graph | None) -> dict[str, Any]:
    """Return everything the page needs, as plain data for JSON, without empty values.

    Texts are escaped here; paths are not, because they are looked up.
    """
    ops = _OpRecords(graph, weights, before)
    boxes = [_box(box, ops) for box in drawing.boxes]
    used = {box.family for box in drawing.boxes[1:] if box.kind not in ("port", "block")}
    return {
        "model": {"name": escape(graph.name), "class": escape(graph.class_name), "parameters": graph.parameters},
        "rankdir": drawing.rankdir,
        "columns": drawing.columns,
        "boxes": boxes,
        "ops": ops.records,
        "groups": [
            {**asdict(group), "text": escape(group.text), "color": mark_color(number)}
            for number, group in enumerate(drawing.groups)
        ],
        "notes": [_without_empty(**asdict(note)) for note in drawing.notes],
        "moved": [words for _, words in DISTANCE_STEPS],
        "families": {name: words for name, (_, _, words) in FAMILIES.items() if name in used},
    }


def _without_empty(**fields: Any) -> dict[str, Any]:
    # Zero is not empty: `parent=0` is the model itself.
    return {name: value for name, value in fields.items() if value or type(value) in (int, float)}


def _box(box: Box, ops: _OpRecords) -> dict[str, Any]:
    shapes = listed_shapes(box.shapes, _MOST_SHAPES)
    if len(shapes) == _MOST_SHAPES < len(box.shapes):
        shapes.append(more(len(box.shapes) - _MOST_SHAPES))
    name = escape(box.name)
    return {
        "kind": box.kind,
        "rank": box.rank,
        "x": round(box.x, 3),
        "w": box.width,
        "h": box.height,
        **_without_empty(
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
            moved=[box.distance_step, box.status_text] if box.distance_step is not None else None,
            notes=box.notes,
        ),
    }


class _OpRecords:
    """The facts that the panel shows about each op, recorded once however often the op is called."""

    def __init__(self, graph: Graph, weights: Weights | None, before: Graph | None) -> None:
        self.records: list[dict[str, Any]] = []
        self._weights = weights
        self._known = set(weights.paths()) if weights is not None else set()
        self._numbers: dict[int, int] = {}
        # Removed ops are only in the model before; their values are not read.
        self._before = _paths_and_sizes(before) if before is not None else {}
        self._after = _paths_and_sizes(graph)

    def number(self, op: Op | None) -> int | None:
        """Return the index of the record of the op."""
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
        settings = [[escape(str(key)), describe_value(value)] for key, value in pairs if key not in _SHOWN_ABOVE]
        if len(settings) > _MOST_SETTINGS:
            settings = [*settings[:_MOST_SETTINGS], ["and", f"{len(settings) - _MOST_SETTINGS:,} more"]]
        return _without_empty(
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
            flags=[[escape(str(key)), describe_value(value)] for key, value in op.flags.pairs],
            variables=[self._variable(path, spec, weights) for spec in op.variables],
        )

    def _variable(self, path: str, spec: VariableSpec, weights: Weights | None) -> dict[str, Any]:
        own = f"{path}/{spec.id}".lstrip("/")
        source = own if own in self._known else spec.tied if spec.tied in self._known else None
        # Only weights in a file know where a variable is stored.
        array_path = getattr(weights, "array_path", None)
        return _without_empty(
            name=escape(spec.id),
            shape=shape_text(spec.shape),
            dtype=escape(spec.dtype),
            frozen=not spec.trainable,
            state=not spec.weight,
            size=spec.size,
            tied=escape(spec.tied or ""),
            missing=weights is not None and source is None,
            array=escape(array_path(source)) if array_path is not None and source is not None else "",
            histogram=histogram(weights.read(source)) if source is not None and weights is not None else None,
        )


def _paths_and_sizes(graph: Graph) -> dict[int, tuple[str, int]]:
    """Return the path of each op, and the number of parameters inside it, by its identity."""
    found: dict[int, tuple[str, int]] = {}
    inside: dict[str, int] = {}
    # From the last to the first: the ops inside an op come after it.
    for path, op in reversed(list(graph.walk())):
        size = sum(spec.size for spec in op.variables if spec.weight) + inside.pop(path, 0)
        found[id(op)] = path, size
        above = path.rpartition("/")[0]
        inside[above] = inside.get(above, 0) + size
    if graph.root is not None:
        found[id(graph.root)] = "", graph.parameters
    return found


def histogram(values: Array) -> dict[str, Any] | None:
    """Return bars from 0 to 61 as digits, smallest and largest number, mean and deviation; None if these are no numbers.

    Of a large array, every n-th number counts. Numbers that are not finite are counted, not drawn.
    """
    import numpy as np

    flat = np.asarray(values).reshape(-1)
    flat = flat[:: max(1, flat.size // _SAMPLE)]
    try:
        numbers = flat.astype(np.float64)
    except (TypeError, ValueError):
        return None
    finite = numbers[np.isfinite(numbers)]
    odd = int(numbers.size - finite.size)
    if not finite.size:
        return {"bars": "", "odd": odd}
    low, high = float(finite.min()), float(finite.max())
    # numpy refuses an infinite range, and one that is too narrow to divide.
    scale = max(abs(low), abs(high)) or 1.0
    scaled = finite / scale
    middle = (scaled.min() + scaled.max()) / 2
    half = max((scaled.max() - scaled.min()) / 2, 1e-6)
    counts, _ = np.histogram(scaled, bins=_BINS, range=(middle - half, middle + half))
    tallest = int(counts.max()) or 1
    # Rounded up, so that a bar that is not empty is visible.
    bars = "".join(_DIGITS[-(-int(count) * _TALLEST // tallest)] for count in counts)
    # Rounded, so that a mean of zero is printed as zero.
    mean, deviation = (round(float(scaled.mean()), 12) + 0.0) * scale, round(float(scaled.std()), 12) * scale
    facts = {"low": low, "high": high, "mean": mean, "deviation": deviation}
    return {"bars": bars, "odd": odd, **{name: f"{number:.4g}" for name, number in facts.items()}}
