"""Paths from the root of a graph down through nested models and layers that hold layers, and lookup by name."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ramet._graph.nodes import Op, VariableSpec
from ramet.errors import UnknownPathError

if TYPE_CHECKING:
    from ramet._graph.graph import Graph

Found = TypeVar("Found")
Row = TypeVar("Row")

# Number of names compared in search of the closest: enough to help, and quick.
_COMPARED = 5_000


def walk(graph: Graph) -> Iterator[tuple[str, Op]]:
    """Yield every op with its path, in order, each before the ops inside it. Stubs are empty, so they are not entered."""
    levels: list[tuple[str, Iterator[Op]]] = [("", iter(graph.held))]
    while levels:
        prefix, ops = levels[-1]
        for op in ops:
            path = prefix + op.id
            yield path, op
            inside = op.inside
            if inside:
                levels.append((f"{path}/", iter(inside)))
                break
        else:
            levels.pop()


def variables(graph: Graph) -> Iterator[tuple[str, VariableSpec]]:
    """Yield every variable with its path: the model's own first, then those of its ops in the order of `walk`."""
    if graph.root is not None:
        for spec in graph.root.variables:
            yield spec.id, spec
    for path, op in walk(graph):
        for spec in op.variables:
            yield f"{path}/{spec.id}", spec


def find(graph: Graph, path: str, *, follow: bool) -> Op:
    """Return the op at a path; stubs on the way, and with `follow` at its end, are replaced by the op they name."""
    parts = path.split("/")
    jumped: set[str] = set()
    depth = 0
    op: Op | None = None
    while depth < len(parts):
        op = _inside(graph, op, parts, depth)
        depth += 1
        if op.same_as is not None and (follow or depth < len(parts)):
            # Start again at the first occurrence of this op. Two stubs that name each other would loop forever.
            if op.same_as in jumped:
                raise _unknown(graph, path, f"'{op.same_as}' refers to itself", ())
            jumped.add(op.same_as)
            parts = [*op.same_as.split("/"), *parts[depth:]]
            depth, op = 0, None
    if op is None:
        raise _unknown(graph, path, "the path is empty", ())
    return op


def _inside(graph: Graph, op: Op | None, parts: list[str], depth: int) -> Op:
    inner = graph if op is None else op.graph
    if inner is not None:
        known = inner._index.ops
    else:
        known = {} if op is None else {child.id: child for child in reversed(op.children)}
    found = known.get(parts[depth])
    if found is None:
        holder = f"'{'/'.join(parts[:depth])}'" if depth else f"the model '{graph.name}'"
        prefix = "/".join([*parts[:depth], ""])
        near = [prefix + name for name in _closest(parts[depth], known)]
        raise _unknown(graph, "/".join(parts), f"{holder} has no op '{parts[depth]}'", near)
    return found


def look_up(known: Mapping[str, Found], name: str, kind: str, graph: str) -> Found:
    """Return the entry with this name, or raise an error that lists the closest names."""
    try:
        return known[name]
    except KeyError:
        raise UnknownPathError(
            f"Cannot find the {kind} '{name}': the graph '{graph}' has no {kind} with this id.",
            closest=_closest(name, known),
            path=name,
        ) from None


def _closest(name: str, known: Mapping[str, object]) -> list[str]:
    return difflib.get_close_matches(name, list(itertools.islice(known, _COMPARED)), n=3)


def _unknown(graph: Graph, path: str, reason: str, near: Sequence[str]) -> UnknownPathError:
    return UnknownPathError(f"Cannot find '{path}' in '{graph.name}': {reason}.", closest=near, path=path)


def level_by_level(first: Iterator[tuple[Row, Any]]) -> Iterator[Row]:
    """Yield the rows of a level, each followed by those of the level inside it, without recursion.

    Args:
        first: The outermost level: rows, each with the level inside it or None.
    """
    levels = [first]
    while levels:
        for row, inner in levels[-1]:
            yield row
            if inner is not None:
                levels.append(inner)
                break
        else:
            levels.pop()
