"""The picture of a report: it opens at the first value that differs."""

import pickle

import keras
import pytest
from keras import layers

import ramet
from ramet._verify.report import findings_of
from ramet.errors import ArgumentError
from tests.draw.test_html import data_of


def siamese():
    """Return a model that calls an encoder twice and compares the results."""
    inside = keras.Input((4,), name="x")
    encoder = keras.Model(inside, layers.Dense(3, name="d")(inside), name="encoder")
    left, right = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    together = layers.Concatenate(name="together")([encoder(left), encoder(right)])
    return keras.Model([left, right], layers.Dense(2, name="logits")(together), name="siamese")


@pytest.fixture(scope="module")
def report():
    model = siamese()
    twin = ramet.clone(model)
    twin.get_layer("logits").bias.assign([0.0, 1.0])
    return ramet.verify(model, twin, only=["state", "outputs"])


def stops(page):
    """Return the notes of a page in order: path and text of each."""
    data = data_of(page)
    return [(data["boxes"][note["box"]].get("key", ""), note.get("text", "")) for note in data["notes"]]


def test_first_finding_is_the_first_call_whose_value_differs(report):
    path, text = findings_of(report)[0]

    assert path == report["outputs"].began == "logits"
    assert text.startswith("outputs: the first value that differs; ")
    assert findings_of(report)[1] == ("logits/bias", f"state: {report['state'].differences[0].text}")


def test_page_opens_at_the_first_value_that_differs(report):
    found = stops(report.to_html())

    assert found[0][0] == "logits"
    assert found[0][1].startswith("outputs: the first value that differs; ")
    assert found[1] == ("logits", f"logits/bias: state: {report['state'].differences[0].text}")


def test_notebook_shows_the_picture_of_a_failed_report(report):
    model = siamese()
    passed = ramet.verify(model, model, only=["state"])

    assert report._repr_html_().count("<iframe") == 1
    assert passed._repr_html_().count("<iframe") == 0


def test_draw_accepts_a_report(report):
    found = stops(ramet.draw(siamese(), report=report).to_html())

    assert found == stops(report.to_html())


def test_changes_of_structure_are_drawn_as_well():
    model = siamese()
    without = ramet.edit(model, ramet.edits.replace("logits", layers.Dense(5, name="logits")))
    page = ramet.verify(model, without, only=["structure"]).to_html()

    kinds = [note["kind"] for note in data_of(page)["notes"]]
    assert kinds[0] == "differs"
    assert "setting" in kinds


def test_draw_shows_the_changes_since_another_model():
    model = siamese()
    frozen = ramet.edit(model, ramet.edits.freeze("logits"))

    for picture in (ramet.draw(frozen, before=model), ramet.draw(ramet.capture(frozen), before=ramet.capture(model))):
        data = data_of(picture.to_html())
        first = data["notes"][0]
        assert (first["what"], first["old"], first["new"]) == ("trainable", "True", "False")
        assert data["boxes"][first["box"]]["key"] == "logits"


def test_page_of_a_passed_report_has_no_notes():
    model = siamese()

    assert stops(ramet.verify(model, ramet.clone(model), only=["structure", "outputs"]).to_html()) == []


def test_pickled_report_keeps_its_picture(report):
    assert pickle.loads(pickle.dumps(report)).to_html() == report.to_html()


def test_report_without_graphs_cannot_be_drawn():
    with pytest.raises(ArgumentError) as caught:
        ramet._verify.report.Report("net", "other", ()).to_html()

    assert str(caught.value) == (
        "Cannot draw the report on 'other': it does not contain the models as data.\n"
        "  fix: draw one of them with it: ramet.draw(model, report=report)."
    )
