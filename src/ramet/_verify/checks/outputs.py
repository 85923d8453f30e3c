"""Whether both models give the same for the same inputs, in inference and in training mode."""

from __future__ import annotations

from ramet._verify.cases import Case
from ramet._verify.findings import Findings, short
from ramet._verify.pair import Pair
from ramet._verify.report import Check, Difference
from ramet._verify.run import compare_by_path, run, where_it_began


def check(pair: Pair) -> Check:
    """Run both models on every case that the original takes."""
    findings = Findings("outputs")
    cases, failed = pair.cases, 0
    for case in cases:
        if case.name == "extremes" and pair.has_other_dtypes:
            findings.count("beyond a dtype")
            continue
        for training in (False, True) if case.trains else (False,):
            found = _differences(pair, case, training=training)
            if found and not _repeats_itself(pair, case, training=training):
                findings.count("not repeatable")
                continue
            if found and training and pair.has_other_dtypes and pair.draws:
                findings.count("drawn in another dtype")
                continue
            findings.count("runs")
            failed += bool(found)
            for difference in found:
                findings.add(difference)
            if found and findings.began is None:
                findings.began = where_it_began(pair, case, training=training)
    findings.count("left out", len(pair.left_out))
    runs = findings.counts.get("runs", 0)
    names = ", ".join(case.name for case in cases)
    notes = [f"left out, refused by the original: {', '.join(pair.left_out)}"] if pair.left_out else []
    if findings.counts.get("not repeatable"):
        notes.append(f"{findings.counts['not repeatable']} not compared: the original does not repeat itself")
    if findings.counts.get("beyond a dtype"):
        notes.append("extremes not compared: where numbers overflow depends on the dtype")
    if findings.counts.get("drawn in another dtype"):
        notes.append("training mode not compared: random layers draw other numbers in another dtype")
    how = "bit-equal" if pair.tolerance is None else "equal within the tolerance"
    return findings.check("; ".join([f"{runs} runs {how}: {names}", *notes]), f"{failed} of {runs} runs differ")


def _differences(pair: Pair, case: Case, *, training: bool) -> list[Difference]:
    note = f"{case.name}, {'training' if training else 'inference'}: "
    ours = pair.result(pair.ours, case, training=training)
    theirs = pair.result(pair.theirs, case, training=training)
    if ours.error is not None:
        return []  # in training mode; what is refused in inference mode is no case
    if theirs.error is not None:
        return [Difference("outputs", f"{note}the other raises {short(theirs.error)}")]
    found = list(compare_by_path(ours.outputs, theirs.outputs, pair.tolerance, note))
    # What differed before the run is the business of the state check.
    before = pair.differing_state
    mine, yours = ({path: held for path, held in one.state.items() if path not in before} for one in (ours, theirs))
    return found + list(compare_by_path(mine, yours, pair.tolerance, f"{note}after it, "))


def _repeats_itself(pair: Pair, case: Case, *, training: bool) -> bool:
    """Whether the original gives the same twice: a layer may draw numbers that nobody can take back."""
    first, again = pair.result(pair.ours, case, training=training), run(pair, pair.ours, case, training=training)
    return not any(compare_by_path(first.outputs, again.outputs, None))
