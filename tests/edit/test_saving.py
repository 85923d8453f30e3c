"""Classes with their own config: when they are kept, when they become plain models, and what a file keeps of an edit."""

import json
import os
import pickle
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet import errors, of_class
from tests.edit.expect import edited, value
from tests.support.other_classes import (
    Attention,
    Captured,
    Classifier,
    Encoder,
    Regularized,
    Sizes,
    Tied,
    around,
    classifier,
    tokens,
)

X = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")


def outputs(model, x):
    return value(model(x, training=False))


def reloaded(model, folder):
    model.save(folder / "model.keras")
    return keras.saving.load_model(folder / "model.keras")


# The class is kept.


def test_merge_lora_keeps_the_class_and_its_attributes(tmp_path):
    model = classifier()
    model.backbone.get_layer("block_0").enable_lora(2)
    model.backbone.get_layer("block_0").lora_kernel_b.assign(np.full((2, 4), 0.3, "float32"))
    before = outputs(model, tokens())

    new = edited(model, e.merge_lora())

    assert (type(new), type(new.backbone)) == (Classifier, Encoder)
    assert ramet.plan(model, e.merge_lora()).notes == ()
    loaded = reloaded(new, tmp_path)
    assert type(loaded.backbone) is Encoder
    np.testing.assert_allclose(outputs(new, tokens()), before, atol=1e-6)
    np.testing.assert_array_equal(outputs(loaded, tokens()), outputs(new, tokens()))


def test_swap_head_updates_the_number_of_classes_in_the_config(tmp_path):
    model = classifier()

    new = edited(model, e.swap_head(7))

    assert (type(new), new.num_classes, new.half, new.get_config()["num_classes"]) == (Classifier, 7, 3, 7)
    assert (model.num_classes, model.half) == (3, 1)
    note = "the result stays a Classifier, now with num_classes=7 in its config."
    assert ramet.plan(model, e.swap_head(7)).notes == (note,)
    loaded = reloaded(new, tmp_path)
    assert (type(loaded), loaded.num_classes, loaded.output_shape) == (Classifier, 7, (None, 7))
    np.testing.assert_array_equal(outputs(loaded, tokens()), outputs(new, tokens()))
    new.fit(tokens(), np.array([0, 5, 6]), verbose=0)


def test_setting_of_several_layers_updates_one_setting_in_the_config(tmp_path):
    new = edited(classifier(), e.update("encoder/drop_*", rate=0.4))

    assert (type(new.backbone), new.backbone.dropout, new.dropout) == (Encoder, 0.4, 0.2)
    loaded = reloaded(new, tmp_path)
    assert [loaded.backbone.get_layer(f"drop_{n}").rate for n in range(2)] == [0.4, 0.4]


def test_cast_updates_the_dtype_in_the_config(tmp_path):
    new = edited(classifier(), e.cast("mixed_bfloat16", "encoder/*"))

    assert (type(new.backbone), new.backbone.dtype_policy.name) == (Encoder, "mixed_bfloat16")
    loaded = reloaded(new, tmp_path)
    assert loaded.backbone.get_layer("pooled").compute_dtype == "bfloat16"
    np.testing.assert_array_equal(outputs(loaded, tokens()), outputs(new, tokens()))


def test_right_one_of_two_equal_settings_is_updated():
    new = edited(classifier(num_classes=2), e.swap_head(5))  # the encoder has a depth of 2

    assert (new.num_classes, new.backbone.depth) == (5, 2)


# The model becomes a plain one, and the plan notes it.


@pytest.mark.parametrize(
    "edit",
    [
        e.drop_dropout(),
        e.rename("encoder/pooled", "summary"),
        e.prefix("my_"),
        e.insert_after("encoder/pooled", lambda old: layers.LayerNormalization(name="norm")),
        e.split_activation("encoder/block_*"),
        e.replace("head_dropout", lambda old: layers.GaussianDropout(0.1, name="noise")),
        e.flatten(),
    ],
    ids=lambda edit: edit.kind,
)
def test_model_becomes_plain_if_its_class_cannot_describe_the_edit(edit, tmp_path):
    model = classifier()
    notes = ramet.plan(model, edit).notes
    new = edited(model, edit)

    plain = {"the result": new, "'encoder'": next((one for one in new.layers if "encoder" in one.name), None)}
    for where, one in plain.items():
        noted = any(note.startswith(f"{where} becomes a plain functional model") for note in notes)
        assert noted == (one is not None and type(one) not in (Classifier, Encoder)), where
    loaded = reloaded(new, tmp_path)
    assert [layer.name for layer in loaded.layers] == [layer.name for layer in new.layers]
    np.testing.assert_array_equal(outputs(loaded, tokens()), outputs(new, tokens()))
    new.fit(tokens(), np.array([0, 1, 2]), verbose=0)
    loaded.fit(tokens(), np.array([0, 1, 2]), verbose=0)


def test_class_with_its_own_loss_is_not_replaced():
    model = Regularized(name="model")
    with pytest.raises(errors.LostOnSaveError) as caught:
        ramet.edit(model, e.drop_dropout())

    assert "a plain functional model would lose its compute_loss" in caught.value.found
    assert ramet.plan(model, e.drop_dropout()).notes[0].startswith("edit refuses this without unsaved=True: ")
    new = ramet.edit(model, e.drop_dropout(), unsaved=True)
    assert type(new) is Regularized
    new.compile("sgd", run_eagerly=True)
    new.fit(tokens(), np.ones((3, 4)), verbose=0)


# Names that are looked up.


def test_name_that_a_loss_looks_up_cannot_be_changed():
    with pytest.raises(errors.EditError, match=r"Regularized\.compute_loss looks it up by name"):
        ramet.plan(Regularized(name="model"), e.rename("pooled", "summary"))

    with pytest.raises(errors.EditError, match=r"Regularized\.compute_loss looks it up by name, and no layer has that"):
        ramet.edit(Regularized(name="m"), e.replace("pooled", lambda old: layers.Dense(4, name="new")), unsaved=True)


def test_name_in_the_settings_of_a_layer_cannot_be_changed():
    model = around(layers.Dense(4, name="table"), Tied("table", name="tied"))

    with pytest.raises(errors.EditError, match="'tied', a Tied, refers to it in its setting 'tied_to'"):
        ramet.edit(model, e.rename("table", "lookup"))
    step = ramet.plan(model, e.prefix("my_")).steps[0]
    assert [skip.path for skip in step.skipped] == ["x", "table"]
    new = edited(model, e.prefix("my_"))
    assert [layer.name for layer in new.layers] == ["x", "table", "my_tied"]


def test_keras_words_in_configs_are_not_taken_for_names():
    model = around(layers.Dense(4, name="relu"), Sizes(name="sizes"))

    assert edited(model, e.rename("relu", "first")).layers[1].name == "first"


def test_name_that_a_loss_function_looks_up_cannot_be_changed():
    model = around(layers.Dense(4, name="table"))

    def loss(y, y_pred):
        return keras.ops.mean((y - y_pred) ** 2) + keras.ops.mean(model.get_layer("table").kernel ** 2)

    model.compile("sgd", loss, run_eagerly=True)
    with pytest.raises(errors.EditError, match="the loss 'loss' looks it up by name"):
        ramet.edit(model, e.rename("table", "lookup"))


# Parts of layers in a file.


def test_tuple_that_is_loaded_as_a_list_is_the_same_setting(tmp_path):
    model = around(Sizes((4, 4), name="sizes"))

    new = edited(model, e.update("sizes", activation="tanh"))

    loaded = reloaded(new, tmp_path)
    assert loaded.get_layer("sizes").parts[1].activation is keras.activations.tanh
    np.testing.assert_array_equal(outputs(loaded, X), outputs(new, X))


def test_setting_reaches_parts_in_lists_and_under_odd_names():
    model = around(Sizes((4, 4), name="sizes"), Attention(name="mha"))
    by_hand = ramet.clone(model)
    for part in (*by_hand.get_layer("sizes").parts, by_hand.get_layer("mha")._self_attention_layer):
        part.activation = keras.activations.tanh

    new = edited(model, e.update(["sizes", "mha"], activation="tanh"), e.drop_dropout())

    np.testing.assert_array_equal(outputs(new, X), outputs(by_hand, X))
    assert not np.array_equal(outputs(new, X), outputs(model, X))
    assert new.get_layer("mha")._self_attention_dropout.rate == 0.0


def test_parts_that_change_together_are_saved():
    new = edited(around(Attention(name="mha")), e.update(of_class("Dropout"), rate=0.5))

    assert (new.get_layer("mha").dropout, new.get_layer("mha")._self_attention_dropout.rate) == (0.5, 0.5)


# `unsaved=True`: saving warns.


def lossy():
    model = around(Attention(name="mha"), layers.Dense(2, name="head"))
    return ramet.edit(model, e.update("mha/mix", use_bias=False), unsaved=True)


def test_every_way_of_saving_warns_and_names_the_layers(tmp_path):
    new = lossy()
    checkpoint = keras.callbacks.ModelCheckpoint(str(tmp_path / "checkpoint.keras"))
    ways = [
        lambda: new.save(tmp_path / "a.keras"),
        lambda: keras.saving.save_model(new, tmp_path / "b.keras"),
        lambda: new.fit(X, np.ones((3, 2)), callbacks=[checkpoint], verbose=0),
        lambda: pickle.dumps(new),
        new.to_json,
        lambda: ramet.clone(new).save(tmp_path / "c.keras"),
        lambda: ramet.edit(new, e.rename("head", "logits")).save(tmp_path / "d.keras"),
        lambda: keras.Sequential([keras.Input((4,)), new]).save(tmp_path / "e.keras"),
        lambda: new.save(tmp_path / "f.keras"),
    ]
    for way in ways:
        with pytest.warns(errors.LostOnSaveWarning) as caught:
            way()
        (warning,) = [one for one in caught if one.category is errors.LostOnSaveWarning]
        assert "The config of 'mha' does not describe an edit" in str(warning.message)
        assert "its 'mix' has other settings" in str(warning.message)
        assert warning.filename == __file__


def test_saving_does_not_warn_if_the_file_keeps_the_edit(tmp_path):
    new = lossy()
    new.save_weights(tmp_path / "w.weights.h5")
    new.load_weights(tmp_path / "w.weights.h5")
    ramet.capture(new)
    ramet.plan(new, e.freeze("head"))
    ramet.verify(new, ramet.clone(new)).raise_if_failed()
    assert not ramet.diff(new, ramet.clone(new)).changes
    outer = ramet.edit(new, e.replace("mha", lambda old: layers.Dense(4, name="mha")))
    reloaded(outer, tmp_path)


def test_undone_edit_is_saved_without_warning(tmp_path):
    model = around(Attention(activation="relu", name="mha"))
    new = ramet.edit(model, e.update("mha/mix", activation="tanh"), unsaved=True)
    with pytest.warns(errors.LostOnSaveWarning):
        new.save(tmp_path / "a.keras")

    back = ramet.edit(new, e.update("mha/mix", activation="relu"))

    np.testing.assert_array_equal(outputs(reloaded(back, tmp_path), X), outputs(model, X))


def test_flag_inside_a_class_is_set_and_saving_warns(tmp_path):
    model = classifier()
    new = edited(model, e.freeze("encoder/block_0"))

    assert type(new) is Classifier
    assert not new.backbone.get_layer("block_0").trainable
    assert any("does not save these flags" in note for note in ramet.plan(model, e.freeze("encoder/block_0")).notes)
    with pytest.warns(errors.LostOnSaveWarning, match="'block_0' is trainable"):
        new.save(tmp_path / "a.keras")
    assert ramet.plan(around(layers.Dense(4, name="a"), layers.Dense(2)), e.freeze("a")).notes == ()


@pytest.mark.parametrize("undo", [e.unfreeze(), e.unfreeze("mha"), e.unfreeze("mha/mix")], ids=["all", "mha", "mix"])
def test_undone_flag_is_saved_without_warning(undo, tmp_path):
    model = around(Attention(name="mha"), layers.Dense(2, name="head"))
    new = ramet.edit(model, e.freeze("mha/mix"))
    with pytest.warns(errors.LostOnSaveWarning, match="'mix' is trainable"):
        new.save(tmp_path / "a.keras")

    back = ramet.edit(new, undo)

    assert len(reloaded(back, tmp_path).trainable_weights) == len(model.trainable_weights)


def test_what_a_file_still_loses_is_named_after_another_flag_was_undone(tmp_path):
    x = keras.Input((5, 4), name="x")
    model = keras.Model(x, layers.MultiHeadAttention(2, 3, name="mha")(x, x), name="m")
    new = ramet.edit(model, e.freeze(["mha/query", "mha/key"]))

    with pytest.warns(errors.LostOnSaveWarning) as caught:
        ramet.edit(new, e.unfreeze("mha/query")).save(tmp_path / "a.keras")

    (message,) = [str(one.message) for one in caught if one.category is errors.LostOnSaveWarning]
    assert "lost: recreated from the config, its 'key' is trainable\n" in message


def test_lost_setting_is_still_named_after_flags_changed(tmp_path):
    with pytest.warns(errors.LostOnSaveWarning, match="'mix' has other settings"):
        ramet.edit(lossy(), e.freeze("head"), e.unfreeze("mha")).save(tmp_path / "a.keras")


# A process of its own.

_LOAD = """
import json, sys
import keras
import numpy as np
import tests.support.other_classes
assert "ramet" not in sys.modules
x = np.load(sys.argv[1])
found = {}
for path in sys.argv[2:]:
    model = keras.saving.load_model(path)
    found[path] = [type(model).__name__, np.asarray(keras.ops.convert_to_numpy(model(x, training=False))).tolist()]
print(json.dumps(found))
"""


@pytest.mark.slow
def test_files_load_in_a_process_without_ramet(tmp_path):
    model = classifier()
    made = {
        "head": edited(model, e.swap_head(7)),
        "rate": edited(model, e.update("encoder/drop_*", rate=0.4)),
        "plain": edited(model, e.drop_dropout()),
        "renamed": edited(model, e.prefix("my_")),
    }
    np.save(tmp_path / "x.npy", tokens())
    files = {name: str(tmp_path / f"{name}.keras") for name in made}
    for name, one in made.items():
        one.save(files[name])

    run = subprocess.run(
        [sys.executable, "-c", _LOAD, str(tmp_path / "x.npy"), *files.values()],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    for name, one in made.items():
        kind, numbers = found[files[name]]
        assert kind == type(one).__name__
        np.testing.assert_allclose(np.array(numbers, "float32"), outputs(one, tokens()), rtol=1e-6, atol=1e-6)


def test_setting_without_effect_gives_a_warning():
    model = around(Captured(name="captured"))
    with pytest.warns(errors.NoEffectWarning, match="'captured/mix'"):
        ramet.edit(model, e.update("captured/mix", activation="tanh"), unsaved=True)
