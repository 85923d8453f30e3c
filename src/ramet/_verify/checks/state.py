"""State: the values of all variables, by path: weights, RNG, RNN, tables, metrics, optimizer."""

from __future__ import annotations

from ramet._report import count as plural
from ramet._verify.findings import Findings
from ramet._verify.pair import Pair
from ramet._verify.report import Check
from ramet._verify.side import size_of


def check(pair: Pair) -> Check:
    """Compare the values of all variables, vocabularies, and arrays held in attributes."""
    findings = Findings("state", within=pair.tolerance is not None)
    differences, largest = pair.state
    findings.add(differences)
    differing = findings.total
    _compare_vocabularies(findings, pair)
    findings.add(pair.side_by_side.differences("array"))
    if pair.tolerance is not None and pair.side_by_side.tolerance is not None:
        pair.tolerance.note(largest)
        pair.tolerance.note(pair.side_by_side.tolerance.largest)
    for path, variable in pair.ours.variables.items():
        other = pair.theirs.variables.get(path)
        if other is not None:
            findings.allow(variable.dtype, other.dtype)
    count = len(pair.ours.variables)
    findings.count("variables", count)
    numbers = sum(map(size_of, pair.ours.variables.values()))
    rest = findings.total - differing
    total = len({*pair.ours.variables, *pair.theirs.variables})
    failed = f"{differing} of {plural(total, 'variable')} differ" + (f", and {rest} other values" if rest else "")
    return findings.check(f"{plural(count, 'variable')} with {plural(numbers, 'number')} are {pair.equal}", failed)


def _compare_vocabularies(findings: Findings, pair: Pair) -> None:
    ours, theirs = pair.ours.vocabularies, pair.theirs.vocabularies
    if ours:
        findings.count("vocabularies", len(ours))
    for path in {**ours, **theirs}:
        words, others = ours.get(path), theirs.get(path)
        where = f"{path}.vocabulary"
        if words is None or others is None:
            findings.add_text(where, "missing" if others is None else "new")
        elif len(words) != len(others):
            findings.add_text(where, f"{len(words)} words became {len(others)}")
        elif words != others:
            index = next(number for number, word in enumerate(words) if word != others[number])
            findings.add_text(where, f"word {index}, {words[index]!r}, became {others[index]!r}")
