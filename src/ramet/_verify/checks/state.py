"""Whether every variable is bit-equal, by path: weights, RNG, RNN, tables, metrics, optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._verify.findings import Findings
from ramet._verify.pair import Pair, Side
from ramet._verify.report import Check
from ramet._verify.variables import size_of


def check(pair: Pair) -> Check:
    """Compare the values of all variables, vocabularies, and arrays held in attributes."""
    findings = Findings("state", within=pair.tolerance is not None)
    found, largest = pair.state
    for difference in found:
        findings.add(difference)
    differing = findings.total
    _compare_vocabularies(findings, pair)
    for found_beside in pair.beside.found:
        if found_beside.kind == "array":
            findings.add(found_beside.difference)
    if pair.tolerance is not None and pair.beside.tolerance is not None:
        pair.tolerance.note(largest)
        pair.tolerance.note(pair.beside.tolerance.largest)
    for path, variable in pair.ours.variables.items():
        other = pair.theirs.variables.get(path)
        if other is not None:
            findings.allow(variable.dtype, other.dtype)
    count = len(pair.ours.variables)
    findings.count("variables", count)
    how = "bit-equal" if pair.tolerance is None else "equal within the tolerance"
    numbers = sum(map(size_of, pair.ours.variables.values()))
    rest = findings.total - differing
    failed = f"{differing} of {count} variables differ" + (f", and {rest} other things" if rest else "")
    return findings.check(f"{count} variables with {numbers:,} numbers are {how}", failed)


def _compare_vocabularies(findings: Findings, pair: Pair) -> None:
    ours, theirs = (dict(vocabularies_of(side)) for side in (pair.ours, pair.theirs))
    for path, words in ours.items():
        others = theirs.get(path)
        findings.count("vocabularies")
        if words != others:
            findings.say(f"{path}.vocabulary", _first_difference(words, others or []))


def vocabularies_of(side: Side) -> Iterator[tuple[str, list[str]]]:
    """The words of layers that have a table of them; the table itself is no variable."""
    for place in side.places:
        read = getattr(place.op, "get_vocabulary", None)
        if place.same_as is None and callable(read):
            try:
                yield place.path, [str(word) for word in read()]
            except Exception:  # noqa: BLE001  # a layer without a vocabulary yet
                continue


def _first_difference(ours: list[str], theirs: list[str]) -> str:
    if len(ours) != len(theirs):
        return f"{len(ours)} words became {len(theirs)}"
    place = next(number for number, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
    return f"word {place}, {ours[place]!r}, became {theirs[place]!r}"
