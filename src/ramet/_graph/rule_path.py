"""The rules that reach across all levels: one object, one place where it is told."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._graph.graph import Graph
from ramet._graph.rule_call import Finding

__all__ = ["PATH_RULES"]


def stubs_name_an_op_before_them(graph: Graph) -> Iterator[Finding]:
    """What `same_as` names is an op that stands before, is of the same class, and is no stub itself."""
    wanted = {op.same_as for _, op in graph.walk() if op.same_as is not None}
    if not wanted:
        return
    # Only the paths that are asked for are kept: all of them together grow with the square of the depth.
    seen: dict[str, str | None] = {}
    for path, op in graph.walk():
        if op.same_as is None:
            if path in wanted:
                seen.setdefault(path, op.class_name)
            continue
        if op.same_as not in seen:
            yield path, f"'{path}' is said to be '{op.same_as}', and no op that is told before stands there."
        elif seen[op.same_as] != op.class_name:
            yield path, f"'{path}' is a {op.class_name}, and '{op.same_as}', the same op, a {seen[op.same_as]}."


def tied_variables_name_one_before_them(graph: Graph) -> Iterator[Finding]:
    """What `tied` names is a variable that stands before, with the same shape and dtype, and is not tied itself."""
    wanted = {spec.tied for _, spec in graph.variables() if spec.tied is not None}
    if not wanted:
        return
    seen: dict[str, tuple[object, str]] = {}
    for path, spec in graph.variables():
        form = (spec.shape, spec.dtype)
        if spec.tied is None:
            if path in wanted:
                seen.setdefault(path, form)
            continue
        if spec.tied not in seen:
            yield path, f"'{path}' is tied to '{spec.tied}', and no variable that is told before stands there."
        elif seen[spec.tied] != form:
            yield path, f"'{path}' is {form}, and '{spec.tied}', the same variable, {seen[spec.tied]}."


def the_root_is_the_model_alone(graph: Graph) -> Iterator[Finding]:
    """The root tells of the model itself; what is inside it is told by the graph."""
    root = graph.root
    if root is None:
        return
    kind = "layer" if graph.kind == "layer" else "model"
    if root.kind != kind or root.graph is not None or root.children or root.same_as is not None:
        yield "", f"the root of '{graph.name}' is no {kind} without a graph, children and another place."
    if (root.name, root.class_name) != (graph.name, graph.class_name):
        yield "", f"the root is {root.name} ({root.class_name}), and the graph {graph.name} ({graph.class_name})."


PATH_RULES = (stubs_name_an_op_before_them, tied_variables_name_one_before_them, the_root_is_the_model_alone)
