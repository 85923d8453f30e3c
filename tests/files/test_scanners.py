"""The comparison of scanners: its table, and the completeness of its corpus."""

import pytest

from bench.scanners import CLEAN, CODE, CROSSED, HARM, REACH, Sample, corpus, render
from tests.files import attack, clean, hostile

pytestmark = pytest.mark.no_backend


def test_corpus_contains_every_hostile_and_clean_file(tmp_path):
    samples = list(corpus(tmp_path, positions=4))

    files = (hostile.CONFIGS, hostile.ARCHIVES, hostile.TEXTS, hostile.WEIGHTS, clean.CLEAN)
    crossed = len(attack.WEIGHT_PAYLOADS) * len(attack.WEIGHT_PLACES) * len(attack.WEIGHT_CONTAINERS)
    alone = [sample for sample in samples if sample.group != CROSSED]
    assert len(alone) == sum(map(len, files)) + 1 + crossed
    assert len(samples) - len(alone) >= 200
    assert len({sample.path for sample in samples}) == len(samples)
    assert all(sample.path.stat().st_size for sample in samples)
    assert {sample.group for sample in samples} == {CODE, CROSSED, REACH, HARM, CLEAN}


def test_table_has_sums_by_group_and_scanner(tmp_path):
    results = {
        Sample("a", CODE, tmp_path / "a"): {"one": "found", "other": "clean"},
        Sample("b", CODE, tmp_path / "b"): {"one": "found", "other": "found"},
        Sample("c", CLEAN, tmp_path / "c"): {"one": "clean", "other": "found"},
    }

    sums = render(results).split("\n\n")[1].splitlines()

    assert [[cell.strip() for cell in line.strip("|").split("|")] for line in (sums[0], *sums[2:])] == [
        ["sum", "one", "other"],
        [f"found, {CODE}", "2 of 2", "1 of 2"],
        [f"found, {CROSSED}", "0 of 0", "0 of 0"],
        [f"found, {REACH}", "0 of 0", "0 of 0"],
        [f"found, {HARM}", "0 of 0", "0 of 0"],
        ["false alarms, clean files", "0 of 1", "1 of 1"],
    ]
