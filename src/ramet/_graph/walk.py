"""Paths: from the root of a graph down through nested graphs and layers that hold layers."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from ramet._graph.op import Op
from ramet._graph.problem import UnknownPathError
from ramet._graph.value import VariableSpec

if TYPE_CHECKING:
    from ramet._graph.graph import Graph

__all__ = ["find", "look_up", "variables", "walk"]

Found = TypeVar("Found")

# Names compared when looking for the closest: enough to help, little enough to answer at once.
_COMPARED = 5_000


def walk(graph: Graph) -> Iterator[tuple[str, Op]]:
    """Every op with its path, in order, each before what is inside it. Stubs are not entered: they hold nothing."""
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
    """Every variable with its path: the model's own first, then those of its ops in the order of `walk`."""
    if graph.root is not None:
        for spec in graph.root.variables:
            yield spec.id, spec
    for path, op in walk(graph):
        for spec in op.variables:
            yield f"{path}/{spec.id}", spec


def find(graph: Graph, path: str, *, follow: bool) -> Op:
    """The op at a path; stubs on the way, and with `follow` at its end, stand for the op they name."""
    parts = path.split("/")
    jumped: set[str] = set()
    place = 0
    op: Op | None = None
    while place < len(parts):
        op = _inside(graph, op, parts, place)
        place += 1
        if op.same_as is not None and (follow or place < len(parts)):
            # Begin again at the first place of this op. Two stubs that name each other would go round for ever.
            if op.same_as in jumped:
                raise _unknown(graph, path, f"'{op.same_as}' stands for itself", ())
            jumped.add(op.same_as)
            parts = [*op.same_as.split("/"), *parts[place:]]
            place, op = 0, None
    if op is None:
        raise _unknown(graph, path, "the path is empty", ())
    return op


def _inside(graph: Graph, op: Op | None, parts: list[str], place: int) -> Op:
    inner = graph if op is None else op.graph
    if inner is not None:
        known = inner._index.ops
    else:
        known = {} if op is None else {child.id: child for child in reversed(op.children)}
    found = known.get(parts[place])
    if found is None:
        where = f"'{'/'.join(parts[:place])}'" if place else f"the model '{graph.name}'"
        prefix = "/".join([*parts[:place], ""])
        near = [prefix + name for name in closest(parts[place], known)]
        raise _unknown(graph, "/".join(parts), f"{where} holds no op '{parts[place]}'", near)
    return found


def look_up(known: Mapping[str, Found], name: str, word: str, graph: str) -> Found:
    """What stands under the name."""
    try:
        return known[name]
    except KeyError:
        raise UnknownPathError(
            f"Cannot find the {word} '{name}': the graph '{graph}' has none of that id.",
            closest=closest(name, known),
            path=name,
        ) from None


def closest(name: str, known: Mapping[str, object]) -> list[str]:
    """The known names most like this one."""
    names = [other for other, _ in zip(known, range(_COMPARED), strict=False)]
    return difflib.get_close_matches(name, names, n=3)


def _unknown(graph: Graph, path: str, why: str, near: list[str] | tuple[()]) -> UnknownPathError:
    return UnknownPathError(f"Cannot find '{path}' in '{graph.name}': {why}.", closest=near, path=path)
