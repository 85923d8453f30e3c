"""`plan`: what edits would do, before anything is done."""

import json

import keras
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


def test_a_plan_reads_like_a_list_of_what_will_happen():
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
        "   bn  BatchNormalization, another layer in its place\n"
        "\n"
        "2. insert_after(named('a'), layer=<lambda>): 1 op\n"
        "   a  Dense, a new layer after it\n"
        "\n"
        "3. remove(named('drop')): 1 op\n"
        "   drop  Dropout, removed\n"
        "\n"
        "4. swap_head(classes=10, weights='fresh'): 1 op\n"
        "   logits  Dense, units 2 becomes 10"
    )


def test_a_plan_says_what_is_skipped_and_why():
    plan = ramet.plan(small(), e.fold_batchnorm())

    assert str(plan) == (
        "Plan for 'small': 1 edit, 0 ops touched\n"
        "\n"
        "1. fold_batchnorm(): 0 ops, the same function\n"
        "   skipped bn: before it, 'a' ends with an activation; after it, 'drop' is a Dropout"
    )


def test_a_plan_makes_no_layer_and_changes_nothing():
    model = small()
    before = ramet.capture(model), [value.tobytes() for value in values(model)]
    made = []

    ramet.plan(model, e.replace("a", made.append), e.freeze("bn"), e.prefix("p_", "logits"))

    assert made == []
    assert (ramet.capture(model), [value.tobytes() for value in values(model)]) == before


def test_a_plan_and_the_edit_touch_the_same():
    model = small()
    edits = [e.split_activation(), e.drop_dropout(), e.rename("logits", "head")]

    plan = ramet.plan(model, *edits)
    new = ramet.edit(model, *edits)

    assert [[touch.path for touch in step.touched] for step in plan.steps] == [["a"], ["drop"], ["logits"]]
    assert [layer.name for layer in new.layers] == ["x", "a", "a_activation", "bn", "head"]


def test_a_class_that_would_not_save_the_edit_is_told():
    plan = ramet.plan(Backbone(name="backbone"), e.insert_after("first", lambda old: layers.ReLU()))
    assert plan.notes == ("the result becomes a plain functional model: Backbone would not save the new calls.",)

    x = keras.Input((4,), name="x")
    outer = keras.Model(x, Backbone(name="backbone")(x), name="outer")
    plan = ramet.plan(outer, e.update("first", activation="relu"))
    assert plan.notes == ("'backbone' becomes a plain functional model: Backbone would not save the new calls.",)

    assert ramet.plan(Backbone(name="backbone"), e.freeze("first")).notes == ()


def test_chosen_calls_are_named():
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    shared = layers.Dense(4, name="shared")
    model = keras.Model([x, y], layers.Add(name="sum")([shared(x), shared(y)]), name="m")

    plan = ramet.plan(model, e.insert_after("shared", lambda old: layers.ReLU(), calls=2))

    assert "   shared  Dense, a new layer after it, at shared#2" in str(plan)


def test_a_long_plan_is_cut():
    stack = [layers.ReLU(name=f"act_{number}") for number in range(30)]
    model = keras.Sequential([keras.Input((4,), name="x"), *stack], name="s")

    text = str(ramet.plan(model, e.remove(of_class("ReLU"))))

    assert "   act_19  ReLU, removed\n   and 10 more" in text
    assert "act_20" not in text
    assert "act_29" in ramet.plan(model, e.remove(of_class("ReLU"))).to_text(limit=None)


def test_a_plan_as_json():
    record = json.loads(ramet.plan(small(), e.drop_dropout()).to_json())

    assert record == {
        "format": "ramet.plan",
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
            }
        ],
        "notes": [],
    }


def test_no_edits_is_a_plan_too():
    assert str(ramet.plan(small())) == "Plan for 'small': 0 edits, 0 ops touched"
