"""The report of `verify`: values, text, JSON, HTML, and the error."""

import io
import json
import pickle
import sys

import keras
import pytest
from keras import layers

import ramet
from ramet._verify import verify
from ramet._verify.checks import CHECKS
from ramet._verify.report import Check, Difference, Report
from ramet.errors import VerifyError
from ramet.testing import assert_twin


def dense():
    return keras.Sequential([keras.Input((3,), name="x"), layers.Dense(2, name="d")], name="net")


def corrupted(model):
    twin = ramet.clone(model)
    twin.layers[0].bias.assign([0.0, 1.0])
    return twin


SOME = Report(
    "net",
    "other",
    (
        Check("structure", "passed", "2 ops and 2 calls are the same"),
        Check(
            "state", "failed", "1 of 2 variables differ", None, 5, (Difference("d/bias", "[0, 0] became [0, 1]", 1.0),)
        ),
        Check("training", "not run", reason="the model is <not> compiled"),
    ),
    "Sequential, compared bit by bit",
)


def test_text_has_every_check_with_its_first_differences():
    assert str(SOME) == (
        "'other' is not a twin of 'net': 1 passed, 1 failed, 1 not run\n"
        "  Sequential, compared bit by bit\n"
        "\n"
        "  ✓ structure  2 ops and 2 calls are the same\n"
        "  ✗ state      1 of 2 variables differ\n"
        "                 d/bias: [0, 0] became [0, 1]\n"
        "                 and 4 more\n"
        "  - training   not run: the model is <not> compiled"
    )


def test_json_has_a_version_and_every_part():
    data = json.loads(SOME.to_json())

    assert data == {
        "ramet": "verify",
        "version": 1,
        "proves": "twin",
        "ok": False,
        "model": "net",
        "twin": "other",
        "about": "Sequential, compared bit by bit",
        "checks": [
            {
                "name": "structure",
                "outcome": "passed",
                "summary": "2 ops and 2 calls are the same",
                "reason": None,
                "total": 0,
                "differences": [],
                "began": None,
                "counts": {},
                "largest": None,
            },
            {
                "name": "state",
                "outcome": "failed",
                "summary": "1 of 2 variables differ",
                "reason": None,
                "total": 5,
                "differences": [{"path": "d/bias", "text": "[0, 0] became [0, 1]", "size": 1.0}],
                "began": None,
                "counts": {},
                "largest": None,
            },
            {
                "name": "training",
                "outcome": "not run",
                "summary": "",
                "reason": "the model is <not> compiled",
                "total": 0,
                "differences": [],
                "began": None,
                "counts": {},
                "largest": None,
            },
        ],
    }


def test_html_is_escaped():
    html = SOME._repr_html_()

    assert "the model is &lt;not&gt; compiled" in html
    assert "<not>" not in html
    assert html.count("<tr") == 3


def test_report_can_be_pickled():
    assert pickle.loads(pickle.dumps(SOME)) == SOME


def test_ok_needs_a_check_that_passed():
    nothing = Report("a", "b", (Check("state", "not run", reason="why"),))

    assert not nothing.ok
    with pytest.raises(VerifyError, match="no check could be run"):
        nothing.raise_if_failed()


def test_error_names_the_checks_and_the_first_differences():
    model = dense()

    with pytest.raises(AssertionError) as caught:
        assert_twin(model, corrupted(model), only=("structure", "state", "outputs"))

    assert isinstance(caught.value, ramet.errors.RametError)
    assert caught.value.path == "d/bias"
    assert str(caught.value).startswith(
        "Cannot accept 'net' as a twin of 'net': 2 of 3 checks failed.\n"
        "  found:    state: 1 of 2 variables differ\n"
        "              d/bias: 1 of 2 numbers differ; largest relative difference: 1\n"
        "            outputs: "
    )
    assert "differences begin at d" in str(caught.value)
    assert "\n  fix: " in str(caught.value)


def test_assert_twin_accepts_a_twin():
    model = dense()

    assert_twin(model, ramet.clone(model), only="state")


def test_checks_are_chosen_by_name():
    model = dense()
    twin = ramet.clone(model)

    only = verify(model, twin, only=("state", "structure"))
    without = verify(model, twin, skip=CHECKS.keys() - {"structure", "settings", "state", "identity"})

    assert [check.name for check in only] == ["structure", "state"]
    assert [check.name for check in without] == ["structure", "settings", "state", "identity"]


def test_unknown_check_is_refused_with_the_closest_name():
    with pytest.raises(ramet.errors.ArgumentError, match="there is no such check") as caught:
        verify(dense(), dense(), only="outputz")

    assert caught.value.closest == ("outputs",)


def test_other_objects_are_refused():
    with pytest.raises(ramet.errors.NotAModelError, match="class SGD"):
        verify(dense(), keras.optimizers.SGD())


def test_progress_function_is_called_for_each_check():
    steps = []
    model = dense()

    verify(model, ramet.clone(model), only=("structure", "state"), progress=lambda *step: steps.append(step))

    assert steps == [("structure", 0, 2), ("state", 1, 2)]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "ascii", None])
def test_report_can_be_printed_in_every_encoding(monkeypatch, encoding):
    report = Report("é", "中", (Check("state", "passed", summary="equal"),))
    written = io.BytesIO()
    stream = io.StringIO() if encoding is None else io.TextIOWrapper(written, encoding)
    monkeypatch.setattr(sys, "stdout", stream)

    print(report, flush=True)  # noqa: T201

    shown = stream.getvalue() if encoding is None else written.getvalue().decode(encoding)
    mark, names = ("✓", "'中'") if encoding in ("utf-8", None) else ("+", "'\\u4e2d'")
    assert names in shown
    assert f"{mark} state  equal" in shown
