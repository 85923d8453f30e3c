"""The rules of graphs: each is a function with a sentence for a name, and `lint` asks all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ramet._graph.graph import Graph
from ramet._graph.problem import GraphError, Problem
from ramet._graph.rule_call import CALL_RULES, Finding
from ramet._graph.rule_op import GRAPH_RULES, OP_RULES, variable_shapes_are_sizes, variables_have_unique_ids
from ramet._graph.rule_path import PATH_RULES

__all__ = ["RULES", "check", "lint"]

# The root stands beside the graph that tells of it: of the rules for ops, those for its variables apply.
_ROOT_RULES = (variables_have_unique_ids, variable_shapes_are_sizes)

RULES: dict[str, str] = {
    rule.__name__: str(rule.__doc__) for rule in (*GRAPH_RULES, *CALL_RULES, *OP_RULES, *PATH_RULES)
}


def lint(graph: Graph) -> list[Problem]:
    """Every rule that the graph breaks, nested graphs included, in order; none for a graph that is sound."""
    return list(_problems(graph))


def check(graph: Graph) -> Graph:
    """The graph itself, when it is sound.

    Raises:
        GraphError: when it breaks a rule; `problems` has all of them.
    """
    problems = lint(graph)
    if not problems:
        return graph
    first, more = problems[0], len(problems) - 1
    raise GraphError(
        f"Cannot use the graph '{graph.name}': {first.message}",
        found=f"{more} more broken rule{'s' if more > 1 else ''}; `lint` lists them" if more else None,
        path=first.path or None,
        problems=problems,
    )


def _problems(graph: Graph) -> Iterator[Problem]:
    yield from _in_graph(graph, "")
    if graph.root is not None:
        for rule in _ROOT_RULES:
            yield from (Problem(rule.__name__, "", message) for message in rule(graph.root))
    for path, op in graph.walk():
        for op_rule in OP_RULES:
            for message in op_rule(op):
                yield Problem(op_rule.__name__, path, message)
        if op.graph is not None:
            yield from _in_graph(op.graph, path)
    yield from _asked(graph, "", PATH_RULES)


def _in_graph(graph: Graph, path: str) -> Iterator[Problem]:
    return _asked(graph, path, (*GRAPH_RULES, *CALL_RULES))


def _asked(graph: Graph, path: str, rules: tuple[Callable[[Graph], Iterator[Finding]], ...]) -> Iterator[Problem]:
    for rule in rules:
        for name, message in rule(graph):
            yield Problem(rule.__name__, "/".join(filter(None, (path, name))), message)
