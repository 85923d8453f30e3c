"""Gradients: those of a weighted sum of the outputs are the same for every trainable variable."""

from __future__ import annotations

from ramet._report import count as plural
from ramet._verify.compare import compare_by_path
from ramet._verify.findings import Findings, not_run, short
from ramet._verify.pair import Pair
from ramet._verify.report import Check
from ramet._verify.run import first_difference, run


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
    findings.add(found)
    findings.count("variables", len(ours))
    if found:
        # If all values agree, gradients begin to differ at the last op.
        last = found[-1].path.rpartition("/")[0]
        findings.began = first_difference(pair, case) or f"{last} (in the backward pass; all values before it agree)"
    failed = f"the gradients of {len(found)} of {len(ours)} variables differ"
    return findings.check(f"the gradients of {plural(len(ours), 'variable')} are {pair.equal}", failed)
