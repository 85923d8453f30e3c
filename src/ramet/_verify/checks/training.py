"""Training: one training step gives the same loss and the same variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np

from ramet._report import count as plural
from ramet._verify.findings import Findings, not_run, short
from ramet._verify.inputs import Case
from ramet._verify.pair import Pair
from ramet._verify.report import Check
from ramet._verify.run import compare_by_path, first_difference, quiet, state_of
from ramet._verify.side import Side


@dataclass
class _Step:
    logs: dict[str, list[Any]] = field(default_factory=dict)
    state: dict[str, list[Any]] = field(default_factory=dict)
    error: Exception | None = None


def check(pair: Pair) -> Check:
    """Train both models for one step with their own optimizer, loss and `train_step`, then restore them."""
    findings = Findings("training")
    if not isinstance(pair.ours.model, keras.Model):
        not_run("a single layer has no training step")
    if not getattr(pair.ours.model, "compiled", False):
        not_run("the model is not compiled")
    case = pair.cases[0]
    targets, ours = _accepted(pair, case)
    theirs = _step(pair, pair.theirs, case, targets)
    if theirs.error is not None:
        findings.add_text(pair.theirs.model.name, f"cannot be trained: {short(theirs.error)}")
        return findings.check("")
    found = [
        *compare_by_path(ours.logs, theirs.logs, pair.tolerance),
        *compare_by_path(ours.state, theirs.state, pair.tolerance, "after the step, "),
    ]
    if found and any(compare_by_path(ours.state, _step(pair, pair.ours, case, targets).state, None)):
        not_run("the original does not give the same result twice")
    if found and pair.has_other_dtypes and pair.draws:
        not_run("random layers draw other numbers in another dtype")
    for difference in found:
        findings.add(difference)
    if found:
        findings.began = first_difference(pair, case, training=True) or "the step itself (all values before it agree)"
    findings.count("variables", len(ours.state))
    how = "bit-equal" if pair.tolerance is None else "equal within the tolerance"
    numbers = ", ".join(["loss", *(name for name in ours.logs if name != "loss")])
    return findings.check(f"after one step, {numbers} and {plural(len(ours.state), 'variable')} are {how}")


def _accepted(pair: Pair, case: Case) -> tuple[Any, _Step]:
    """Return targets that the original can be trained with, and the result of the step."""
    error: Exception | None = None
    for targets in _targets(pair, case):
        step = _step(pair, pair.ours, case, targets)
        if step.error is None:
            return targets, step
        error = error or step.error
    return not_run(
        f"the original cannot be trained on targets made from its outputs: {short(error or ValueError())}; pass targets=..."
    )


def _targets(pair: Pair, case: Case) -> Iterator[Any]:
    if pair.targets is not None:
        yield pair.targets
        return
    outputs = pair.result(pair.ours, case).like
    sparse = "sparse" in str(getattr(pair.ours.model, "loss", "")).lower()
    kinds = (_labels, _fractions) if sparse else (_fractions, _labels)
    for kind in kinds:
        rng = np.random.default_rng(pair.seed)
        yield keras.tree.map_structure(lambda output, kind=kind, rng=rng: kind(output, rng), outputs)
    yield None


def _fractions(output: Any, rng: Any) -> Any:
    """Return numbers between 0 and 1 in the shape of the output; rows add up to 1, like a distribution."""
    numbers = rng.uniform(0.05, 0.95, tuple(output.shape))
    return (numbers / numbers.sum(axis=-1, keepdims=True) if numbers.ndim > 1 else numbers).astype("float32")


def _labels(output: Any, rng: Any) -> Any:
    """Return a class label for each row of the output."""
    shape = tuple(output.shape)
    return rng.integers(0, max(shape[-1] if shape else 1, 1), shape[:-1]).astype("int32")


def _step(pair: Pair, side: Side, case: Case, targets: Any) -> _Step:
    step = _Step()
    inputs = case.args[0] if case.args else case.kwargs
    with quiet():
        pair.begin()
        try:
            # Compiling takes long, and on JAX a compiled step donates the memory of the variables.
            side.model.run_eagerly = True
            side.model.train_function = None
            logs = side.model.train_on_batch(inputs, targets, return_dict=True)
            step.logs = {name: [np.asarray(value)] for name, value in logs.items()}
            step.state = state_of(side, pair.copies)
        except Exception as error:  # noqa: BLE001  # a model may raise anything, and that is a result
            step.error = error
        finally:
            pair.end()
    return step
