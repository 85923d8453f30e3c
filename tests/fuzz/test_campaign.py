"""A short campaign, and tests that a campaign finds planted bugs."""

import importlib.util
import os
import random
import signal
import sys
import time

import pytest

from tests.fuzz import differential
from tests.fuzz.campaign import Campaign
from tests.fuzz.case import KINDS, make
from tests.fuzz.mutate import mutated_values

pytestmark = pytest.mark.no_backend


def test_mutated_files_are_read_or_refused(tmp_path):
    summary = Campaign(400, 1, jobs=1, keep=tmp_path / "kept").run()

    assert summary.wrong == {}
    assert sum(summary.counts.values()) == sum(summary.scanned.values()) == 400
    # Some inputs of every kind are still models, and some are refused, so both outcomes are tested.
    answers = {kind: {answer for one, answer in summary.counts if one == kind} for kind in KINDS}
    # The JSON of a model is only ported.
    readable = {kind: found for kind, found in answers.items() if kind != "Keras 2 JSON"}
    assert all("read" in found and len(found) > 1 for found in readable.values()), str(summary)
    assert {"ported", "PortError", "ModelFileError", "UnsafeFileError"} <= set(summary.ported), str(summary)
    assert summary.sampled == 2
    assert not (tmp_path / "kept").exists()


def test_inputs_are_reproducible():
    assert [make(7, number) for number in range(40)] == [make(7, number) for number in range(40)]
    assert make(7, 0) != make(8, 0)


# The scan compared with a loader.


@pytest.mark.slow
def test_loading_has_no_effect_that_the_scan_does_not_report(tmp_path):
    counts, wrong = differential.campaign(150, 1, jobs=1, keep=tmp_path)

    assert wrong == {}
    assert counts["safe"] > 5
    assert counts["unsafe"] > 20
    assert counts["ported"] > 5


def plant_a_blind_port():
    from ramet._port import porting

    porting._check_safe = porting._check_result = lambda *_, **__: None


def plant_a_blind_scan():
    from ramet._files.scanner.walk import apply_rules

    apply_rules.__defaults__ = ((),)


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("tf_keras") is None, reason="tf_keras is not installed; `make test` installs it"
)
@pytest.mark.parametrize("planted", [plant_a_blind_scan, plant_a_blind_port])
def test_gap_in_scan_or_port_is_found_and_kept(tmp_path, planted):
    counts, wrong = differential.campaign(
        150, 1, jobs=1, keep=tmp_path, loader="tf_keras", prepare=f"{__name__}:{planted.__name__}"
    )

    assert wrong, counts
    assert len(list(tmp_path.iterdir())) == len(wrong)


# Bugs, planted in the process that reads inputs.


def plant_an_error():
    from ramet._files import model_file

    def parse_layer(raw, position):
        raise KeyError(position)

    model_file.parse_layer = parse_layer


def plant_a_hang():
    from ramet._files import model_file

    model_file.parse_layer = lambda raw, position: time.sleep(1_000)


def plant_a_crash():
    from ramet._files import model_file

    model_file.parse_layer = lambda raw, position: os.kill(os.getpid(), signal.SIGSEGV)


def plant_an_escape():
    from tests.fuzz import look

    look.list_file = lambda file, weights=False: "\x1b[2J"


@pytest.mark.parametrize(
    ("planted", "seconds", "message"),
    [
        ("plant_an_error", 30, "KeyError: 'config'"),
        ("plant_a_hang", 0.25, "it took longer than 1 seconds"),
        ("plant_a_crash", 30, "the process ended with SIGSEGV"),
        ("plant_an_escape", 30, "control characters"),
    ],
)
def test_planted_bug_is_found_and_kept(tmp_path, planted, seconds, message):
    summary = Campaign(3, 3, jobs=1, seconds=seconds, keep=tmp_path, prepare=f"{__name__}:{planted}").run()

    assert summary.wrong, str(summary)
    number, (kind, text) = next(iter(summary.wrong.items()))
    assert message in text
    case = make(3, number)
    folder = tmp_path / f"3-{number}"
    assert {name: (folder / name).read_bytes() for name in case.files} == case.files
    assert (folder / "report.txt").read_text().startswith(f"{kind}, seed 3, number {number}\n")
    assert f"{len(summary.wrong)} wrong" in str(summary)


def test_nested_junk_is_made_at_any_depth():
    deep = None
    for _ in range(3_000):
        deep = [deep]
    limit = sys.getrecursionlimit()

    made = [mutated_values(random.Random(seed), {"config": deep}) for seed in range(5)]

    assert max(text.count(b"[") for text in made) > 2_000
    assert sys.getrecursionlimit() == limit
