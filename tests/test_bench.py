"""The benchmark's own logic; what it measures is no test."""

import pytest

import ramet
from bench.case import chain
from bench.check import fallen, missed
from bench.exact import differences
from bench.ratio import OVER, ratios
from bench.store import merge
from bench.table import render
from tests.support.twins import values


def results(seconds, **measured):
    """What a run on one backend writes, with one case."""
    case = {"seconds": seconds, "failed": {}} | measured
    return {
        "machine": "a machine",
        "backends": {"jax": {"versions": {"keras": "3"}, "cases": {"64 Dense": case}}},
    }


def taken(*, ours, theirs=15.0, bare=0.5):
    return results({"ramet.clone": ours, "clone_model + set_weights": theirs, "bare copy": bare})


def test_ratios_say_what_is_to_be_reached():
    faster, over = ratios(taken(ours=1.0))

    assert (faster.value, faster.reach, faster.is_reached) == (15.0, 15, True)
    assert (over.value, over.reach, over.is_reached) == (2.0, None, None)


@pytest.mark.parametrize(("ours", "found"), [(1.0, 0), (1.4, 0), (1.6, 2)])
def test_a_ratio_falls_when_more_than_a_third_is_gone(ours, found):
    assert len(fallen(taken(ours=ours), taken(ours=1.0))) == found


def test_a_ratio_that_is_gone_has_fallen():
    gone = fallen(results({}, inexact=["outputs differ"]), taken(ours=1.0))

    assert [after for _, after in gone] == [None, None]


def test_no_ratio_is_printed_for_a_twin_that_is_not_exact():
    shown = render(results({"ramet.clone": 1.0}, inexact=["the value of dense/kernel differs"]))

    assert "no ratio, the twin is not exact: the value of dense/kernel differs" in shown


def test_a_ratio_that_is_not_reached_is_marked():
    assert "10.0 (15) !" in render(taken(ours=1.5))


def test_an_exact_twin_has_no_differences():
    model = chain(3)

    assert differences(model, ramet.clone(model), values(model)[0][:2]) == []


def test_one_changed_value_is_a_difference():
    model = chain(3)
    twin = ramet.clone(model)
    changed = twin.layers[2].kernel
    changed.assign(changed.value + 1e-6)

    assert differences(model, twin, values(model)[0][:2]) == [f"the value of {changed.path} differs"]


def verbs(**measured):
    """What a run on one backend writes that measured the verbs alone."""
    record = {"seconds": {}, "failed": {}, "megabytes": 800.0, "growth": {}} | measured
    return {"machine": "a machine", "backends": {"jax": {"versions": {"keras": "3"}, "cases": {}, "verbs": record}}}


def test_verify_is_measured_against_passes_and_files():
    seconds = {"verify": 10.0, "forward and backward": 0.5, "save and load": 2.0}
    (over,) = ratios(verbs(seconds=seconds))

    assert (over.what, over.against) == ("verify", "over 12 x forward and backward and 2 x save and load")
    assert (over.value, over.is_reached) == (1.0, True)


def test_files_are_measured_in_megabytes_a_second():
    seconds = {"diff of files, one array": 4.0, "read both files": 0.5}
    speed, over = ratios(verbs(seconds=seconds))

    assert (speed.value, speed.reach, speed.is_reached) == (200.0, 400, False)
    assert over.value == 8.0
    assert "200.0 (400) !" in render(verbs(seconds=seconds))


def test_growth_is_the_time_a_layer_of_the_large_model_over_the_small_one():
    (growth,) = ratios(verbs(growth={"edit": {"40": 1.0, "160": 1.5}}))

    assert (growth.value, growth.is_reached) == (1.5, False)


def test_a_verb_that_failed_says_why_and_has_no_ratio():
    results = verbs(seconds={"get_config": 1.0}, failed={"capture": "TypeError: a reason"})

    assert list(ratios(results)) == []
    assert "failed: TypeError: a reason" in render(results)


def test_every_verb_that_has_a_target_is_measured(monkeypatch):
    from bench import measure, verb

    # One run of everything, on a small model, without processes: that each way works, not how long it takes.
    monkeypatch.setattr(measure, "RUNS_A_TURN", 1)
    monkeypatch.setattr(verb, "TURNS", 1)
    model = chain(3)
    model.compile(optimizer="sgd", loss="mse")
    monkeypatch.setattr(verb, "trained_model", lambda: (model, values(model)[0][:2]))
    seconds, failed = verb.measure_calls()

    assert failed == {}
    in_process = {name for name in OVER if not name.startswith("ramet ")}
    assert in_process <= set(seconds)


def test_storing_some_topics_keeps_the_others():
    kept = merge(taken(ours=1.0), verbs(seconds={"verify": 1.0}))["backends"]["jax"]

    assert "64 Dense" in kept["cases"]
    assert kept["verbs"]["seconds"] == {"verify": 1.0}


def test_what_was_never_stored_is_held_against_its_target():
    slow = verbs(seconds={"diff of files, one array": 4.0, "read both files": 0.5})

    assert [ratio.against for ratio in missed(slow, taken(ours=1.0))] == ["MB/s"]
    assert missed(slow, slow) == []
