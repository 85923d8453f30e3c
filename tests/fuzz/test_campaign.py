"""A short campaign, and that a campaign finds what is wrong."""

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


def test_files_with_anything_in_them_are_read_or_refused(tmp_path):
    summary = Campaign(400, 1, jobs=1, keep=tmp_path / "kept").run()

    assert summary.wrong == {}
    assert sum(summary.counts.values()) == sum(summary.scanned.values()) == 400
    # Some inputs of every kind are still models, and some are refused: neither side is tested for nothing.
    answers = {kind: {answer for one, answer in summary.counts if one == kind} for kind in KINDS}
    assert all("read" in found and len(found) > 1 for found in answers.values()), str(summary)
    assert summary.sampled == 2
    assert not (tmp_path / "kept").exists()


def test_an_input_is_the_same_whenever_it_is_made():
    assert [make(7, number) for number in range(40)] == [make(7, number) for number in range(40)]
    assert make(7, 0) != make(8, 0)


# The scan beside a loader.


@pytest.mark.slow
def test_nothing_happens_that_the_scan_did_not_report(tmp_path):
    counts, wrong = differential.campaign(150, 1, jobs=1, keep=tmp_path)

    assert wrong == {}
    assert counts["safe"] > 5
    assert counts["unsafe"] > 20


def plant_a_blind_scan():
    from ramet._files.scan import config

    for judge in ("judge_object", "judge_layer", "judge_text"):
        setattr(config, judge, lambda place: iter(()))


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("tf_keras") is None, reason="tf_keras is not installed; `make test` installs it"
)
def test_a_hole_in_the_scan_is_found_and_kept(tmp_path):
    counts, wrong = differential.campaign(
        150, 1, jobs=1, keep=tmp_path, loader="tf_keras", prepare=f"{__name__}:plant_a_blind_scan"
    )

    assert wrong, counts
    assert len(list(tmp_path.iterdir())) == len(wrong)


# Mistakes, planted in the process that looks at inputs.


def plant_an_error():
    from ramet._files import model_file

    def record_of(raw, place):
        raise KeyError(place)

    model_file.record_of = record_of


def plant_a_hang():
    from ramet._files import model_file

    model_file.record_of = lambda raw, place: time.sleep(1_000)


def plant_a_crash():
    from ramet._files import model_file

    model_file.record_of = lambda raw, place: os.kill(os.getpid(), signal.SIGSEGV)


def plant_an_escape():
    from tests.fuzz import look

    look.show_text = lambda file, weights, colour: "\x1b[2J"


@pytest.mark.parametrize(
    ("planted", "seconds", "told"),
    [
        ("plant_an_error", 30, "KeyError: 'config'"),
        ("plant_a_hang", 0.25, "it took longer than 1 seconds"),
        ("plant_a_crash", 30, "the process ended with SIGSEGV"),
        ("plant_an_escape", 30, "characters that a terminal acts on"),
    ],
)
def test_a_planted_mistake_is_found_and_kept(tmp_path, planted, seconds, told):
    summary = Campaign(3, 3, jobs=1, seconds=seconds, keep=tmp_path, prepare=f"{__name__}:{planted}").run()

    assert summary.wrong, str(summary)
    number, (kind, text) = next(iter(summary.wrong.items()))
    assert told in text
    case = make(3, number)
    folder = tmp_path / f"3-{number}"
    assert {name: (folder / name).read_bytes() for name in case.files} == case.files
    assert (folder / "report.txt").read_text().startswith(f"{kind}, seed 3, number {number}\n")
    assert f"{len(summary.wrong)} wrong" in str(summary)


def test_junk_inside_junk_is_made_at_any_depth():
    deep = None
    for _ in range(3_000):
        deep = [deep]
    limit = sys.getrecursionlimit()

    made = [mutated_values(random.Random(seed), {"config": deep}) for seed in range(5)]

    assert max(text.count(b"[") for text in made) > 2_000
    assert sys.getrecursionlimit() == limit
