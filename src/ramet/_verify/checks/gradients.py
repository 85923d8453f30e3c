"""Whether the derivatives of a fixed number, made from the outputs, are the same for every trainable variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from ramet._keras.differentiate import gradients
from ramet._keras.tensors import arrays_of
from ramet._verify.cases import Case
from ramet._verify.findings import Findings, not_run, short
from ramet._verify.pair import Pair, Side
from ramet._verify.report import Check, Difference
from ramet._verify.run import compare_by_path, quiet, where_it_began


def check(pair: Pair) -> Check:
    """Differentiate both models on the first case."""
    findings = Findings("gradients")
    case = pair.cases[0]
    if not pair.ours.model.trainable_variables:
        not_run("there are no trainable variables")
    try:
        ours = _gradients(pair, pair.ours, case)
    except Exception as error:  # noqa: BLE001  # a model need not have derivatives
        not_run(f"the original cannot be differentiated: {short(error)}")
    try:
        theirs = _gradients(pair, pair.theirs, case)
    except Exception as error:  # noqa: BLE001  # the original could
        findings.say(pair.theirs.model.name, f"cannot be differentiated: {short(error)}")
        return findings.check("")
    found = list(compare_by_path(ours, theirs, pair.tolerance))
    if found and any(compare_by_path(ours, _gradients(pair, pair.ours, case), None)):
        not_run("the original does not give the same derivatives twice")
    for difference in found:
        findings.add(difference)
    findings.count("variables", len(ours))
    if found:
        findings.began = where_it_began(pair, case) or _on_the_way_back(found)
    how = "bit-equal" if pair.tolerance is None else "equal within the tolerance"
    failed = f"the derivatives for {len(found)} of {len(ours)} variables differ"
    return findings.check(f"the derivatives for {len(ours)} variables are {how}", failed)


def _on_the_way_back(found: list[Difference]) -> str:
    """Values agree, so it began behind them: at the last op, where derivatives come from first."""
    return f"{found[-1].path.rpartition('/')[0]} (on the way back; all values before it agree)"


def _gradients(pair: Pair, side: Side, case: Case) -> dict[str, list[Any]]:
    paths = {id(variable): path for path, variable in side.variables.items()}
    with quiet():
        pair.begin()
        found = gradients(side.model, lambda call: _number(case, call, pair.seed))
    names = [paths.get(id(variable), variable.path) for variable in side.model.trainable_variables]
    return {name: arrays_of(value) for name, value in zip(names, found, strict=True)}


def _number(case: Case, call: Callable[..., Any], seed: int) -> Any:
    """One number that depends on every output: their sum, each entry with a weight of its own."""
    rng = np.random.default_rng(seed)
    total: Any = 0.0
    for output in keras.tree.flatten(call(*case.args, training=False, **case.kwargs)):
        if output is not None and "float" in keras.backend.standardize_dtype(output.dtype):
            weights = rng.uniform(0.5, 1.5, tuple(output.shape)).astype("float32")
            total += keras.ops.sum(keras.ops.multiply(keras.ops.cast(output, "float32"), weights))
    return total
