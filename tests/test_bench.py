"""The logic of the benchmarks; the measurements themselves are not tested."""

import pytest

import ramet
from bench.case import chain
from bench.check import missing_targets, much_worse
from bench.exact import differences
from bench.ratio import OVER, ratios
from bench.store import merge
from bench.table import render
from tests.support.twins import values


def results(seconds, **measured):
    """Return the results of a run on one backend, with one case."""
    case = {"seconds": seconds, "failed": {}} | measured
    return {
        "machine": "a machine",
        "backends": {"jax": {"versions": {"keras": "3"}, "cases": {"64 Dense": case}}},
    }


def timed(*, ours, theirs=15.0, bare=0.5):
    return results({"ramet.clone": ours, "clone_model + set_weights": theirs, "bare copy": bare})


def test_ratios_have_targets():
    faster, over = ratios(timed(ours=1.0))

    assert (faster.value, faster.target, faster.meets_target) == (15.0, 15, True)
    assert (over.value, over.target, over.meets_target) == (2.0, None, None)


@pytest.mark.parametrize(("ours", "found"), [(1.0, 0), (1.4, 0), (1.6, 2)])
def test_ratio_that_is_more_than_a_third_worse_is_reported(ours, found):
    assert len(much_worse(timed(ours=ours), timed(ours=1.0))) == found


def test_ratio_that_was_not_measured_counts_as_worse():
    missing = much_worse(results({}, inexact=["outputs differ"]), timed(ours=1.0))

    assert [after for _, after in missing] == [None, None]


def test_no_ratio_is_printed_if_the_twin_is_not_exact():
    text = render(results({"ramet.clone": 1.0}, inexact=["the value of dense/kernel differs"]))

    assert "no ratio, the twin is not exact: the value of dense/kernel differs" in text


def test_missed_target_is_marked():
    assert "10.0 (15) !" in render(timed(ours=1.5))


def test_exact_twin_has_no_differences():
    model = chain(3)

    assert differences(model, ramet.clone(model), values(model)[0][:2]) == []


def test_changed_value_is_a_difference():
    model = chain(3)
    twin = ramet.clone(model)
    changed = twin.layers[2].kernel
    changed.assign(changed.value + 1e-6)

    assert differences(model, twin, values(model)[0][:2]) == [f"the value of {changed.path} differs"]


def verbs(**measured):
    """Return the results of a run on one backend that measured only the verbs."""
    record = {"seconds": {}, "failed": {}, "megabytes": 800.0, "growth": {}} | measured
    return {"machine": "a machine", "backends": {"jax": {"versions": {"keras": "3"}, "cases": {}, "verbs": record}}}


def test_verify_is_compared_with_passes_and_saving():
    seconds = {"verify": 10.0, "forward and backward": 0.5, "save and load": 2.0}
    (over,) = ratios(verbs(seconds=seconds))

    assert (over.what, over.against) == ("verify", "over 12 x forward and backward and 2 x save and load")
    assert (over.value, over.meets_target) == (1.0, True)


def test_diffs_of_files_are_measured_in_megabytes_per_second():
    seconds = {"diff of files, one array": 4.0, "read both files": 0.5}
    speed, over = ratios(verbs(seconds=seconds))

    assert (speed.value, speed.target, speed.meets_target) == (200.0, 400, False)
    assert over.value == 8.0
    assert "200.0 (400) !" in render(verbs(seconds=seconds))


@pytest.mark.parametrize("times", [{"40": 1.0, "160": 1.5}, {"160": 1.5, "40": 1.0}])
def test_growth_compares_the_time_per_layer_of_a_large_and_a_small_model(times):
    (growth,) = ratios(verbs(growth={"edit": times}))

    assert (growth.value, growth.meets_target) == (1.5, False)


def test_failed_verb_has_a_reason_and_no_ratio():
    results = verbs(seconds={"get_config": 1.0}, failed={"capture": "TypeError: a reason"})

    assert list(ratios(results)) == []
    assert "failed: TypeError: a reason" in render(results)


def test_every_verb_with_a_target_is_measured(monkeypatch):
    from bench import measure, verb

    # One run of everything on a small model, in one process: each measurement must work, however long it takes.
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
    kept = merge(timed(ours=1.0), verbs(seconds={"verify": 1.0}))["backends"]["jax"]

    assert "64 Dense" in kept["cases"]
    assert kept["verbs"]["seconds"] == {"verify": 1.0}


def test_ratio_that_was_never_stored_is_compared_with_its_target():
    slow = verbs(seconds={"diff of files, one array": 4.0, "read both files": 0.5})

    assert [ratio.against for ratio in missing_targets(slow, timed(ours=1.0))] == ["MB/s"]
    assert missing_targets(slow, slow) == []
