"""State: the values of all variables, by path: weights, RNG, RNN, tables, metrics, optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._report import count as plural
from ramet._verify.findings import Findings
from ramet._verify.pair import Pair
from ramet._verify.report import Check
from ramet._verify.side import Side, size_of


def check(pair: Pair) -> Check:
    """Compare the values of all variables, vocabularies, and arrays held in attributes."""
    findings = Findings("state", within=pair.tolerance is not None)
    differences, largest = pair.state
    for difference in differences:
        findings.add(difference)
    differing = findings.total
    _compare_vocabularies(findings, pair)
    for attribute in pair.side_by_side.found:
        if attribute.kind == "array":
            findings.add(attribute.difference)
    if pair.tolerance is not None and pair.side_by_side.tolerance is not None:
        pair.tolerance.note(largest)
        pair.tolerance.note(pair.side_by_side.tolerance.largest)
    for path, variable in pair.ours.variables.items():
        other = pair.theirs.variables.get(path)
        if other is not None:
            findings.allow(variable.dtype, other.dtype)
    count = len(pair.ours.variables)
    findings.count("variables", count)
    how = "bit-equal" if pair.tolerance is None else "equal within the tolerance"
    numbers = sum(map(size_of, pair.ours.variables.values()))
    rest = findings.total - differing
    total = len({*pair.ours.variables, *pair.theirs.variables})
    failed = f"{differing} of {plural(total, 'variable')} differ" + (f", and {rest} other values" if rest else "")
    return findings.check(f"{plural(count, 'variable')} with {plural(numbers, 'number')} are {how}", failed)


def _compare_vocabularies(findings: Findings, pair: Pair) -> None:
    ours, theirs = (dict(vocabularies_of(side)) for side in (pair.ours, pair.theirs))
    for path, words in ours.items():
        others = theirs.get(path)
        findings.count("vocabularies")
        if words != others:
            findings.add_text(f"{path}.vocabulary", _first_difference(words, others or []))


def vocabularies_of(side: Side) -> Iterator[tuple[str, list[str]]]:
    """Yield path and vocabulary of each layer that has one; the lookup table is not a variable."""
    for location in side.locations:
        read = getattr(location.op, "get_vocabulary", None)
        if location.same_as is None and callable(read):
            try:
                yield location.path, [str(word) for word in read()]
            except Exception:  # noqa: BLE001  # a layer without a vocabulary yet
                continue


def _first_difference(ours: list[str], theirs: list[str]) -> str:
    if len(ours) != len(theirs):
        return f"{len(ours)} words became {len(theirs)}"
    index = next(number for number, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
    return f"word {index}, {ours[index]!r}, became {theirs[index]!r}"
