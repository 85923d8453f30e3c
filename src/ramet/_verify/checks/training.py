"""Training: one training step gives the same loss and the same variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import keras
import numpy as np

from ramet._report import count as plural
from ramet._verify.compare import compare_by_path
from ramet._verify.findings import Findings, not_run, short
from ramet._verify.inputs import Case
from ramet._verify.pair import Pair
from ramet._verify.report import Check
from ramet._verify.run import first_difference, run_restored, state_of
from ramet._verify.side import Side


class _Step(NamedTuple):
    """The logs of a training step, and the variables after it."""

    logs: dict[str, list[Any]]
    state: dict[str, list[Any]]


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
    if isinstance(theirs, Exception):
        findings.add_text(pair.theirs.model.name, f"cannot be trained: {short(theirs)}")
        return findings.check("")
    found = [
        *compare_by_path(ours.logs, theirs.logs, pair.tolerance),
        *compare_by_path(ours.state, theirs.state, pair.tolerance, "after the step, "),
    ]
    if found:
        again = _step(pair, pair.ours, case, targets)
        if isinstance(again, Exception) or any(compare_by_path(ours.state, again.state, None)):
            not_run("the original does not give the same result twice")
        if pair.draws_other_numbers:
            not_run("random layers draw other numbers in another dtype")
        findings.add(found)
        findings.began = first_difference(pair, case, training=True) or "the step itself (all values before it agree)"
    findings.count("variables", len(ours.state))
    numbers = ", ".join(["loss", *(name for name in ours.logs if name != "loss")])
    return findings.check(f"after one step, {numbers} and {plural(len(ours.state), 'variable')} are {pair.equal}")


def _accepted(pair: Pair, case: Case) -> tuple[Any, _Step]:
    """Return targets that the original can be trained with, and the result of the step."""
    error: Exception | None = None
    for targets in _targets(pair, case):
        step = _step(pair, pair.ours, case, targets)
        if not isinstance(step, Exception):
            return targets, step
        error = error or step
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


def _step(pair: Pair, side: Side, case: Case, targets: Any) -> _Step | Exception:
    def step() -> _Step:
        # Compiling takes long, and on JAX a compiled step donates the memory of the variables.
        side.model.run_eagerly = True
        side.model.train_function = None
        inputs = case.args[0] if case.args else case.kwargs
        logs = side.model.train_on_batch(inputs, targets, return_dict=True)
        return _Step({name: [np.asarray(value)] for name, value in logs.items()}, state_of(side, pair.copies))

    return run_restored(pair, step)
