"""Whether the settings are equal: configs, dtype policies, trainable flags, compile settings, attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

from ramet._graph import Argument, FrozenDict, FrozenList, Op
from ramet._keras import compile_settings, freeze_argument
from ramet._verify.findings import Findings
from ramet._verify.pair import Pair, Side
from ramet._verify.report import Check

_FIELDS = ("trainable", "dtype_policy", "no_config")


def check(pair: Pair) -> Check:
    """Compare what every op, variable and `compile()` was told, and the attributes that hold plain values."""
    findings = Findings("settings", within=pair.tolerance is not None)
    ours, theirs = dict(_ops(pair.ours)), dict(_ops(pair.theirs))
    for path, op in ours.items():
        if path in theirs:
            _compare_op(findings, path, op, theirs[path])
    _compare_flags(findings, pair)
    _compare_data(findings, "compile", _compiled(pair.ours.model), _compiled(pair.theirs.model))
    known = {difference.path for difference in findings.first}
    for found in pair.beside.found:
        # A config has told of it already.
        if found.kind == "value" and found.difference.path not in known:
            findings.add(found.difference)
    for mine, yours in pair.beside.dtypes:
        findings.allow(mine, yours)
    findings.count("ops", len(ours))
    findings.count("attributes", pair.beside.compared)
    return findings.check(f"{len(ours)} ops and {pair.beside.compared:,} attributes are set alike")


def _ops(side: Side) -> Iterator[tuple[str, Op]]:
    if side.graph.root is not None:
        yield side.graph.name, side.graph.root
    yield from side.graph.walk()


def _compare_op(findings: Findings, path: str, ours: Op, theirs: Op) -> None:
    for field in _FIELDS:
        mine, yours = getattr(ours, field), getattr(theirs, field)
        if mine != yours and not findings.allow(mine, yours):
            findings.say(f"{path}.{field}", f"{mine!r} became {yours!r}")
    _compare_data(findings, path, ours.config, theirs.config, skipped=("trainable", "name"))
    _compare_data(findings, path, ours.flags, theirs.flags)


def _compare_flags(findings: Findings, pair: Pair) -> None:
    """The flag of every variable; an op's own says nothing of those it holds."""
    for path, variable in pair.ours.variables.items():
        other = pair.theirs.variables.get(path)
        for flag in ("trainable", "aggregation", "overwrite_with_gradient"):
            mine, yours = getattr(variable, flag, None), getattr(other, flag, None)
            if other is not None and mine != yours:
                findings.say(f"{path}.{flag}", f"{mine!r} became {yours!r}")


def _compare_data(findings: Findings, path: str, ours: Any, theirs: Any, skipped: tuple[str, ...] = ()) -> None:
    """Two frozen configs, down to the entries that differ; within a tolerance, floating-point dtypes may."""
    waiting: list[tuple[str, Argument, Argument]] = [(path, ours, theirs)]
    while waiting:
        place, mine, yours = waiting.pop()
        if isinstance(mine, FrozenDict) and isinstance(yours, FrozenDict):
            names = [name for name in dict.fromkeys([*mine, *yours]) if place != path or name not in skipped]
            waiting.extend((f"{place}.{name}", mine.get(name), yours.get(name)) for name in reversed(names))
        elif isinstance(mine, FrozenList) and isinstance(yours, FrozenList) and len(mine) == len(yours):
            pairs = list(zip(mine, yours, strict=True))
            waiting.extend((f"{place}[{index}]", *pairs[index]) for index in reversed(range(len(pairs))))
        elif (type(mine) is not type(yours) or repr(mine) != repr(yours)) and not findings.allow(mine, yours):
            findings.say(place, f"{_text(mine)} became {_text(yours)}")


def _compiled(model: Any) -> Argument:
    """What `compile()` was told; objects by their class and config."""

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


def _text(value: Any) -> str:
    text = str(value) if not isinstance(value, str) else repr(value)
    return text if len(text) <= 70 else f"{text[:67]}..."
