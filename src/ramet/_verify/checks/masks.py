"""Masks: every intermediate value has the same mask."""

from __future__ import annotations

from ramet._report import count as plural
from ramet._verify.compare import differences
from ramet._verify.findings import Findings, not_run
from ramet._verify.pair import Pair
from ramet._verify.report import Check
from ramet._verify.run import Step


def check(pair: Pair) -> Check:
    """Compare the masks that the values of a run carry, call by call."""
    findings = Findings("masks")
    for case in [case for case in pair.cases if case.trains]:
        ours, theirs = (pair.result(side, case).steps for side in (pair.ours, pair.theirs))
        findings.count("calls", len(ours))
        for mine, yours in zip(ours, theirs, strict=False):
            if mine.path != yours.path:
                findings.add_text(mine.path, f"{case.name}: the other model calls {yours.path} there")
                break
            findings.count("masks", sum(bool(mask) for mask in mine.masks))
            if [bool(mask) for mask in mine.masks] != [bool(mask) for mask in yours.masks]:
                findings.add_text(mine.path, f"{case.name}: {_presence(mine)} became {_presence(yours)}")
            for a, b in zip(mine.masks, yours.masks, strict=False):
                if a and b:
                    findings.add(differences(mine.path, a, b, None))
            if findings.total and findings.began is None:
                findings.began = mine.path
        if len(ours) != len(theirs):
            findings.add_text(pair.ours.model.name, f"{case.name}: {len(ours)} calls became {len(theirs)}")
    if not findings.counts["calls"]:
        not_run("no call could be recorded")
    masks, calls = findings.counts["masks"], plural(findings.counts["calls"], "call")
    return findings.check(
        f"{plural(masks, 'mask')} in {calls} agree" if masks else f"{calls}, no masks in either model"
    )


def _presence(step: Step) -> str:
    """Describe which values of a call have masks."""
    words = ["a mask" if mask else "no mask" for mask in step.masks]
    return words[0] if len(words) == 1 else f"[{', '.join(words)}]"
