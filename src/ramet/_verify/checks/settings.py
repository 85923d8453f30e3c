"""Settings: configs, dtype policies, trainable flags, compile settings and attributes are the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

from ramet._graph import Argument, FrozenDict, FrozenList, Graph, Op
from ramet._keras import compile_settings, freeze_argument
from ramet._report import count as plural
from ramet._verify.findings import Findings, clip
from ramet._verify.pair import Pair
from ramet._verify.report import Check

_FIELDS = ("trainable", "dtype_policy", "no_config")


def check(pair: Pair) -> Check:
    """Compare the settings of every op, variable and `compile()`, and attributes with plain values."""
    findings = Findings("settings", within=pair.tolerance is not None)
    ops = _compare_ops(findings, pair.ours.graph, pair.theirs.graph)
    _compare_flags(findings, pair)
    _compare_data(findings, "compile", _compiled(pair.ours.model), _compiled(pair.theirs.model))
    known = {difference.path for difference in findings.first}
    # Unless it was found in a config already.
    findings.add(one for one in pair.side_by_side.differences("value") if one.path not in known)
    for mine, yours in pair.side_by_side.dtypes:
        findings.allow(mine, yours)
    findings.count("ops", ops)
    findings.count("attributes", pair.side_by_side.compared)
    return findings.check(
        f"{plural(ops, 'op')} and {plural(pair.side_by_side.compared, 'attribute')} have the same settings"
    )


def check_graphs(ours: Graph, theirs: Graph, *, within: bool) -> Check:
    """Compare the settings of every op of two graphs; `within` is whether a tolerance allows other dtypes."""
    findings = Findings("settings", within=within)
    ops = _compare_ops(findings, ours, theirs)
    findings.count("ops", ops)
    return findings.check(f"{plural(ops, 'op')} with the same settings")


def _compare_ops(findings: Findings, ours: Graph, theirs: Graph) -> int:
    mine, yours = dict(_ops(ours)), dict(_ops(theirs))
    for path, op in mine.items():
        if path in yours:
            _compare_op(findings, path, op, yours[path])
    return len(mine)


def _ops(graph: Graph) -> Iterator[tuple[str, Op]]:
    if graph.root is not None:
        yield graph.name, graph.root
    yield from graph.walk()


def _compare_op(findings: Findings, path: str, ours: Op, theirs: Op) -> None:
    for field in _FIELDS:
        mine, yours = getattr(ours, field), getattr(theirs, field)
        if mine != yours and not findings.allow(mine, yours):
            findings.add_text(f"{path}.{field}", f"{mine!r} became {yours!r}")
    _compare_data(findings, path, ours.config, theirs.config, skipped=("trainable", "name"))
    _compare_data(findings, path, ours.flags, theirs.flags)


def _compare_flags(findings: Findings, pair: Pair) -> None:
    """Compare the flags of every variable, which may differ from the flag of its op."""
    for path, variable in pair.ours.variables.items():
        other = pair.theirs.variables.get(path)
        for flag in ("trainable", "aggregation", "overwrite_with_gradient"):
            mine, yours = getattr(variable, flag, None), getattr(other, flag, None)
            if other is not None and mine != yours:
                findings.add_text(f"{path}.{flag}", f"{mine!r} became {yours!r}")


def _compare_data(findings: Findings, path: str, ours: Any, theirs: Any, skipped: tuple[str, ...] = ()) -> None:
    """Compare two frozen configs down to the entries that differ; a tolerance allows other floating-point dtypes."""
    waiting: list[tuple[str, Argument, Argument]] = [(path, ours, theirs)]
    while waiting:
        entry, mine, yours = waiting.pop()
        if isinstance(mine, FrozenDict) and isinstance(yours, FrozenDict):
            names = [name for name in dict.fromkeys([*mine, *yours]) if entry != path or name not in skipped]
            waiting.extend((f"{entry}.{name}", mine.get(name), yours.get(name)) for name in reversed(names))
        elif isinstance(mine, FrozenList) and isinstance(yours, FrozenList) and len(mine) == len(yours):
            pairs = list(zip(mine, yours, strict=True))
            waiting.extend((f"{entry}[{index}]", *pairs[index]) for index in reversed(range(len(pairs))))
        elif (type(mine) is not type(yours) or repr(mine) != repr(yours)) and not findings.allow(mine, yours):
            texts = (clip(repr(value) if isinstance(value, str) else str(value)) for value in (mine, yours))
            findings.add_text(entry, " became ".join(texts))


def _compiled(model: Any) -> Argument:
    """Return the compile settings, with objects by class and config."""

    def plain(value: Any) -> Any:
        if isinstance(value, keras.Loss | keras.Metric | keras.optimizers.Optimizer):
            return {"class": type(value).__name__, **_config(value)}
        return value

    settings = compile_settings(model)
    return freeze_argument(None if settings is None else keras.tree.map_structure(plain, settings))


def _config(value: Any) -> dict[str, Any]:
    try:
        return dict(value.get_config())
    except Exception:  # noqa: BLE001  # a user's get_config may raise anything; attributes are compared anyway
        return {}
