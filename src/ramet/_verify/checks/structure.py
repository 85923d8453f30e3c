"""Structure: the graphs are equal: classes, names, calls, arguments, masks, sharing, variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ramet._graph import Call, Graph, Op
from ramet._report import count as plural
from ramet._verify.findings import Findings, clip
from ramet._verify.pair import Pair
from ramet._verify.report import Check

_OP_FIELDS = ("name", "kind", "class_name", "module", "registered_name", "same_as", "built")
_VARIABLE_FIELDS = ("name", "shape", "dtype", "weight", "tied")
_CALL_FIELDS = ("op", "args", "kwargs", "structure", "mask_kinds")
_VALUE_FIELDS = ("shape", "dtype", "sparse", "ragged", "optional", "name", "mask")
_GRAPH_FIELDS = ("name", "class_name", "kind", "inputs", "outputs")


def check(pair: Pair) -> Check:
    """Compare the graphs of both models."""
    return check_graphs(pair.ours.graph, pair.theirs.graph, within=pair.tolerance is not None)


def check_graphs(ours: Graph, theirs: Graph, *, within: bool) -> Check:
    """Compare two graphs; `within` is whether a tolerance allows other floating-point dtypes."""
    findings = Findings("structure", within=within)
    ops = dict(ours.walk())
    _compare_ops(findings, ops, dict(theirs.walk()))
    others = dict(_graphs(theirs))
    calls = 0
    for path, graph in _graphs(ours):
        calls += len(graph.calls)
        if path in others:
            _compare_graphs(findings, path, graph, others[path], root=ours.name)
    if ours.root is not None and theirs.root is not None:
        _compare_op(findings, ours.name, ours.root, theirs.root)
    findings.count("ops", len(ops))
    findings.count("calls", calls)
    return findings.check(f"{plural(len(ops), 'op')} and {plural(calls, 'call')} are the same")


def _graphs(graph: Graph) -> Iterator[tuple[str, Graph]]:
    yield "", graph
    yield from ((path, op.graph) for path, op in graph.walk() if op.graph is not None)


def _compare_ops(findings: Findings, ours: dict[str, Op], theirs: dict[str, Op]) -> None:
    for path, op in ours.items():
        if path in theirs:
            _compare_op(findings, path, op, theirs[path])
        elif _parent(path) in theirs or not _parent(path):
            findings.add_text(path, f"the {op.class_name} is missing")
    for path, op in theirs.items():
        if path not in ours and (_parent(path) in ours or not _parent(path)):
            findings.add_text(path, f"the {op.class_name} is new")


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _compare_op(findings: Findings, path: str, ours: Op, theirs: Op) -> None:
    _compare_fields(findings, path, ours, theirs, _OP_FIELDS)
    for at, mine, yours in _matched(findings, path, f"{path}/", "variable", ours.variables, theirs.variables):
        _compare_fields(findings, at, mine, yours, _VARIABLE_FIELDS)


def _compare_graphs(findings: Findings, path: str, ours: Graph, theirs: Graph, root: str) -> None:
    _compare_fields(findings, path or root, ours, theirs, _GRAPH_FIELDS)
    if ours.calls != theirs.calls:
        prefix = f"{path}/" if path else ""
        for at, mine, yours in _matched(findings, path or root, prefix, "call", ours.calls, theirs.calls):
            _compare_call(findings, at, mine, yours)


def _matched(
    findings: Findings, path: str, prefix: str, word: str, ours: Iterable[Any], theirs: Iterable[Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the variables or calls that both graphs have, by id, with their paths. The others become findings."""
    mine, yours = ({one.id: one for one in side} for side in (ours, theirs))
    for name, one in mine.items():
        if name in yours:
            yield prefix + name, one, yours[name]
        else:
            findings.add_text(prefix + name, f"the {word} is missing")
    for name in yours:
        if name not in mine:
            findings.add_text(prefix + name, f"the {word} is new")
    if list(mine) != list(yours) and mine.keys() == yours.keys():
        findings.add_text(path, f"its {word}s are in another order")


def _compare_call(findings: Findings, path: str, ours: Call, theirs: Call) -> None:
    _compare_fields(findings, path, ours, theirs, _CALL_FIELDS)
    if len(ours.outputs) != len(theirs.outputs):
        findings.add_text(path, f"{len(ours.outputs)} outputs became {len(theirs.outputs)}")
    for mine, yours in zip(ours.outputs, theirs.outputs, strict=False):
        _compare_fields(findings, path, mine, yours, _VALUE_FIELDS)


def _compare_fields(findings: Findings, path: str, ours: Any, theirs: Any, fields: tuple[str, ...]) -> None:
    for field in fields:
        mine, yours = getattr(ours, field), getattr(theirs, field)
        # By class too: 1, 1.0 and True are different arguments.
        if field == "dtype" and findings.allow(mine, yours):
            continue
        if type(mine) is not type(yours) or repr(mine) != repr(yours):
            findings.add_text(path, f"{field.replace('_', ' ')} {clip(repr(mine))} became {clip(repr(yours))}")
