"""Masks: every intermediate value has the same mask."""

from __future__ import annotations

from typing import Any

from ramet._report import count as plural
from ramet._verify.findings import Findings, not_run
from ramet._verify.pair import Pair
from ramet._verify.report import Check
from ramet._verify.run import Step, differences


def check(pair: Pair) -> Check:
    """Compare the masks that the values of a run carry, call by call."""
    findings = Findings("masks")
    cases = [case for case in pair.cases if case.trains]
    for case in cases:
        ours, theirs = (pair.result(side, case).steps for side in (pair.ours, pair.theirs))
        findings.count("calls", len(ours))
        for mine, yours in zip(ours, theirs, strict=False):
            if mine.path != yours.path:
                findings.add_text(mine.path, f"{case.name}: the other model calls {yours.path} there")
                break
            findings.count("masks", sum(bool(mask) for mask in mine.masks))
            if [bool(mask) for mask in mine.masks] != [bool(mask) for mask in yours.masks]:
                findings.add_text(mine.path, f"{case.name}: {_presence(mine)} became {_presence(yours)}")
            for difference in differences(mine.path, *_in_both(mine, yours), None):
                findings.add(difference)
            if findings.total and findings.began is None:
                findings.began = mine.path
        if len(ours) != len(theirs):
            findings.add_text(pair.ours.model.name, f"{case.name}: {len(ours)} calls became {len(theirs)}")
    if not findings.counts.get("calls"):
        not_run("no call could be recorded")
    masks = findings.counts.get("masks", 0)
    calls = findings.counts["calls"]
    return findings.check(
        f"{plural(masks, 'mask')} in {plural(calls, 'call')} agree"
        if masks
        else f"{plural(calls, 'call')}, no masks in either model"
    )


def _presence(step: Step) -> str:
    """Describe which values of a call have masks."""
    words = ["a mask" if mask else "no mask" for mask in step.masks]
    return words[0] if len(words) == 1 else f"[{', '.join(words)}]"


def _in_both(mine: Step, yours: Step) -> tuple[list[Any], list[Any]]:
    pairs = [(a, b) for a, b in zip(mine.masks, yours.masks, strict=False) if a and b]
    return [a for a, _ in pairs], [b for _, b in pairs]
