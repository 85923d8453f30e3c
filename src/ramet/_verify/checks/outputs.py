"""Outputs: both models return the same for the same inputs, in inference and training mode."""

from __future__ import annotations

from ramet._verify.compare import compare_by_path
from ramet._verify.findings import Findings, short
from ramet._verify.inputs import Case
from ramet._verify.pair import Pair
from ramet._verify.report import Check, Difference
from ramet._verify.run import Result, first_difference, run


def check(pair: Pair) -> Check:
    """Run both models on every case that the original accepts."""
    findings = Findings("outputs")
    cases, failed = pair.cases, 0
    for case in cases:
        if case.name == "extremes" and pair.has_other_dtypes:
            findings.count("beyond a dtype")
            continue
        for training in (False, True) if case.trains else (False,):
            ours, theirs = (pair.result(side, case, training=training) for side in (pair.ours, pair.theirs))
            if ours.error is not None and theirs.error is not None:
                findings.count("refused")  # in training mode; inputs refused in inference mode are left out
                continue
            found = _differences(pair, case, ours, theirs, "training" if training else "inference")
            if found and not _is_repeatable(pair, case, training=training):
                findings.count("not repeatable")
                continue
            if found and training and pair.draws_other_numbers:
                findings.count("drawn in another dtype")
                continue
            findings.count("runs")
            failed += bool(found)
            findings.add(found)
            if found and findings.began is None:
                findings.began = first_difference(pair, case, training=training)
    findings.count("left out", len(pair.left_out))
    runs, repeated = findings.counts["runs"], findings.counts["not repeatable"]
    names = ", ".join(case.name for case in cases)
    notes = [f"left out because the original refuses them: {', '.join(pair.left_out)}"] if pair.left_out else []
    if repeated:
        notes.append(f"{repeated} not compared: the original does not give the same result twice")
    if findings.counts["refused"]:
        notes.append("training mode not compared: both models refuse it")
    if findings.counts["beyond a dtype"]:
        notes.append("extremes not compared: overflow depends on the dtype")
    if findings.counts["drawn in another dtype"]:
        notes.append("training mode not compared: random layers draw other numbers in another dtype")
    return findings.check(
        "; ".join([f"{runs} runs are {pair.equal}: {names}", *notes]), f"{failed} of {runs} runs differ"
    )


def _differences(pair: Pair, case: Case, ours: Result, theirs: Result, mode: str) -> list[Difference]:
    note = f"{case.name}, {mode}: "
    if ours.error is not None:
        return [Difference("outputs", f"{note}only the original raises {short(ours.error)}")]
    if theirs.error is not None:
        return [Difference("outputs", f"{note}the other model raises {short(theirs.error)}")]
    found = list(compare_by_path(ours.outputs, theirs.outputs, pair.tolerance, note))
    # Differences before the run are reported by the state check.
    before = {difference.path for difference in pair.state[0]}
    mine, yours = ({path: held for path, held in one.state.items() if path not in before} for one in (ours, theirs))
    return found + list(compare_by_path(mine, yours, pair.tolerance, f"{note}after the run, "))


def _is_repeatable(pair: Pair, case: Case, *, training: bool) -> bool:
    """Return whether the original gives the same result twice: a layer may have state that cannot be restored."""
    first, again = pair.result(pair.ours, case, training=training), run(pair, pair.ours, case, training=training)
    return not any(compare_by_path(first.outputs, again.outputs, None))
