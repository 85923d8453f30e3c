"""The benchmark's own logic; what it measures is no test."""

import pytest

import ramet
from bench.case import chain
from bench.check import fallen
from bench.exact import differences
from bench.ratio import ratios
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
