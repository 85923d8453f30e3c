"""`plan`: preview what edits would do."""

import json

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet import of_class
from tests.support.graph_models import Backbone
from tests.support.twins import values


def small():
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, activation="relu", name="a")(x)
    y = layers.BatchNormalization(name="bn")(y)
    y = layers.Dropout(0.5, seed=1, name="drop")(y)
    return keras.Model(x, layers.Dense(2, name="logits")(y), name="small")


def test_plan_lists_what_each_edit_does():
    plan = ramet.plan(
        small(),
        e.replace(of_class(layers.BatchNormalization), lambda old: layers.LayerNormalization()),
        e.insert_after("a", lambda old: layers.Dropout(0.1)),
        e.remove("drop"),
        e.swap_head(10),
    )

    assert str(plan) == (
        "Plan for 'small': 4 edits, 4 ops touched\n"
        "\n"
        "1. replace(of_class(BatchNormalization), layer=<lambda>, weights=True): 1 op\n"
        "  bn  BatchNormalization, replaced by another layer\n"
        "\n"
        "2. insert_after(named('a'), layer=<lambda>): 1 op\n"
        "  a  Dense, a new layer after it\n"
        "\n"
        "3. remove(named('drop')): 1 op\n"
        "  drop  Dropout, removed\n"
        "\n"
        "4. swap_head(classes=10, weights='fresh'): 1 op\n"
        "  logits  Dense, units 2 -> 10\n"
        "  2 weights adapted:\n"
        "    logits/kernel  (3, 2) -> (3, 10)  fresh, axis 1\n"
        "    logits/bias    (2,) -> (10,)      fresh, axis 0"
    )


def test_plan_lists_skipped_ops_with_reasons():
    plan = ramet.plan(small(), e.fold_batchnorm())

    assert str(plan) == (
        "Plan for 'small': 1 edit, 0 ops touched\n"
        "\n"
        "1. fold_batchnorm(): 0 ops, function preserved\n"
        "  skipped bn: before it, 'a' ends with an activation; after it, 'drop' is a Dropout"
    )


def test_plan_creates_no_layer_and_changes_nothing():
    model = small()
    before = ramet.capture(model), [value.tobytes() for value in values(model)]
    made = []

    ramet.plan(model, e.replace("a", made.append), e.freeze("bn"), e.prefix("p_", "logits"))

    assert made == []
    assert (ramet.capture(model), [value.tobytes() for value in values(model)]) == before


def test_plan_and_edit_touch_the_same_ops():
    model = small()
    edits = [e.split_activation(), e.drop_dropout(), e.rename("logits", "head")]

    plan = ramet.plan(model, *edits)
    new = ramet.edit(model, *edits)

    assert [[touch.path for touch in step.touched] for step in plan.steps] == [["a"], ["drop"], ["logits"]]
    assert [layer.name for layer in new.layers] == ["x", "a", "a_activation", "bn", "head"]


def test_plan_notes_a_class_that_would_lose_the_edit():
    plan = ramet.plan(Backbone(name="backbone"), e.insert_after("first", lambda old: layers.ReLU()))
    assert plan.notes == ("the result becomes a plain functional model: Backbone would not save the edit.",)

    x = keras.Input((4,), name="x")
    outer = keras.Model(x, Backbone(name="backbone")(x), name="outer")
    plan = ramet.plan(outer, e.update("first", activation="relu"))
    assert plan.notes == ("'backbone' becomes a plain functional model: Backbone would not save the edit.",)

    (note,) = ramet.plan(Backbone(name="backbone"), e.freeze("first")).notes
    assert note == "the result does not save these flags: Backbone creates its own parts ('first')."


def test_plan_names_chosen_calls():
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    shared = layers.Dense(4, name="shared")
    model = keras.Model([x, y], layers.Add(name="sum")([shared(x), shared(y)]), name="m")

    plan = ramet.plan(model, e.insert_after("shared", lambda old: layers.ReLU(), calls=2))

    assert "  shared  Dense, a new layer after it, at shared#2" in str(plan)


def test_long_plan_is_shortened():
    stack = [layers.ReLU(name=f"act_{number}") for number in range(30)]
    model = keras.Sequential([keras.Input((4,), name="x"), *stack], name="s")

    text = str(ramet.plan(model, e.remove(of_class("ReLU"))))

    assert "  act_19  ReLU, removed\n  and 10 more" in text
    assert "act_20" not in text
    assert "act_29" in ramet.plan(model, e.remove(of_class("ReLU"))).to_text(limit=None)


def test_plan_is_written_as_json():
    record = json.loads(ramet.plan(small(), e.drop_dropout()).to_json())

    assert record == {
        "ramet": "plan",
        "version": 1,
        "model": "small",
        "steps": [
            {
                "edit": "drop_dropout()",
                "kind": "drop_dropout",
                "preserving": True,
                "touched": [{"path": "drop", "what": "Dropout, removed", "calls": []}],
                "skipped": [],
                "notes": [],
                "adapted": [],
            }
        ],
        "notes": [],
    }


def test_plan_without_edits_is_empty():
    assert str(ramet.plan(small())) == "Plan for 'small': 0 edits, 0 ops touched"


# Adapted weights.


def _flat():
    parts = [keras.Input((4, 4, 3), name="x"), layers.Conv2D(8, 3, name="conv", padding="same")]
    return keras.Sequential([*parts, layers.Flatten(name="flat"), layers.Dense(2, name="head")], name="flat_net")


def test_adapted_weights_are_listed_with_method_and_axes():
    model = _flat()
    before = [keras.ops.convert_to_numpy(v) for v in model.weights]

    plan = ramet.plan(model, e.resize_input((4, 4, 4), weights="pad"))

    assert str(plan) == (
        "Plan for 'flat_net': 1 edit, 1 op touched\n"
        "\n"
        "1. resize_input(shape=(4, 4, 4), weights='pad'): 1 op\n"
        "  x  shape (4, 4, 3) -> (4, 4, 4)\n"
        "  1 weight adapted:\n"
        "    conv/kernel  (3, 3, 3, 8) -> (3, 3, 4, 8)  pad, axis 2"
    )
    assert json.loads(plan.to_json())["steps"][0]["adapted"] == [
        {"path": "conv/kernel", "old": [3, 3, 3, 8], "new": [3, 3, 4, 8], "method": "pad", "axes": [2]}
    ]
    for old, now in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(old, keras.ops.convert_to_numpy(now))


def test_plan_of_a_refused_edit_is_refused():
    with pytest.raises(ramet.errors.WeightsDoNotFitError, match="head/kernel"):
        ramet.plan(_flat(), e.resize_input((6, 6, 3), weights="pad"))


def test_plan_of_several_edits_notes_one_that_is_refused_alone():
    plan = ramet.plan(_flat(), e.remove("flat"), e.resize_input((6, 6, 3)))

    assert "on its own, this edit is refused" in str(plan)


def test_updated_weights_are_listed():
    plan = ramet.plan(_flat(), e.update("conv", kernel_size=5, weights="pad"))

    assert [str(one) for one in plan.steps[0].adapted] == ["(3, 3, 3, 8) -> (5, 5, 3, 8)  pad, axes 0, 1"]
