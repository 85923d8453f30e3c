"""Gradients: those of a weighted sum of the outputs are the same for every trainable variable."""

from __future__ import annotations

from ramet._report import count as plural
from ramet._verify.findings import Findings, not_run, short
from ramet._verify.pair import Pair
from ramet._verify.report import Check, Difference
from ramet._verify.run import compare_by_path, first_difference, run


def check(pair: Pair) -> Check:
    """Compare the gradients of both models on the first case."""
    findings = Findings("gradients")
    case = pair.cases[0]
    if not pair.ours.model.trainable_variables:
        not_run("there are no trainable variables")
    ours, other = pair.result(pair.ours, case).gradients, pair.result(pair.theirs, case)
    if isinstance(ours, Exception):
        not_run(f"the original cannot be differentiated: {short(ours)}")
    theirs = other.gradients if other.error is None else other.error
    if isinstance(theirs, Exception):
        findings.add_text(pair.theirs.model.name, f"cannot be differentiated: {short(theirs)}")
        return findings.check("")
    found = list(compare_by_path(ours, theirs, pair.tolerance))
    if found:
        again = run(pair, pair.ours, case).gradients
        if isinstance(again, Exception) or any(compare_by_path(ours, again, None)):
            not_run("the original does not give the same gradients twice")
    for difference in found:
        findings.add(difference)
    findings.count("variables", len(ours))
    if found:
        findings.began = first_difference(pair, case) or _in_the_backward_pass(found)
    how = "bit-equal" if pair.tolerance is None else "equal within the tolerance"
    failed = f"the gradients of {len(found)} of {len(ours)} variables differ"
    return findings.check(f"the gradients of {plural(len(ours), 'variable')} are {how}", failed)


def _in_the_backward_pass(found: list[Difference]) -> str:
    """Return the op where gradients begin to differ although all values agree: the last one."""
    return f"{found[-1].path.rpartition('/')[0]} (in the backward pass; all values before it agree)"
