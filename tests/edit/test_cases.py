"""What people try to do to their models and how it fails in Keras, done by an edit instead (see tests/CASES.md)."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from tests.edit.expect import assert_close, assert_edited, assert_saved, edited, scrambled, value
from tests.support.graph_models import data_for
from tests.support.state_models import floats
from tests.support.twins import outputs


def net(*, act="relu", head=2, name="net"):
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, activation=act, name="d")(x)
    return keras.Model(x, layers.Dense(head, name="o")(y), name=name)


def sequential(*between):
    return keras.Sequential(
        [keras.Input((4,), name="x"), layers.Dense(3, name="d"), *between, layers.Dense(2, name="o")], name="seq"
    )


def test_removing_and_replacing_layers_has_an_effect():
    new = edited(net(), e.remove("o"), e.replace("d", lambda old: layers.Dense(7, name="other")))

    assert [layer.name for layer in new.layers] == ["x", "other"]
    assert new.output_shape == (None, 7)


def test_activation_changed_after_predict_is_used():
    model = scrambled(net(act="softmax"))
    x = floats(3, 4)
    model.predict(x, verbose=0)

    new = edited(model, e.update("d", activation="tanh"))

    np.testing.assert_allclose(new.predict(x, verbose=0), value(new(x)), rtol=1e-5)
    assert_close(outputs(new, x), outputs(_with_weights(net(act="tanh"), model), x), 0.0)


def _with_weights(model, source):
    model.set_weights(source.get_weights())
    return model


def test_model_frozen_after_fit_can_be_fitted():
    model = net()
    model.compile("adam", "mse")
    model.fit(floats(4, 4), floats(4, 2), verbose=0)

    new = edited(model, e.freeze("d"))
    before = value(new.get_layer("d").kernel)
    new.fit(floats(4, 4), floats(4, 2), verbose=0)

    np.testing.assert_array_equal(value(new.get_layer("d").kernel), before)


def test_attribute_of_a_functional_subclass_and_its_graph_hold_the_same_layer():
    class Net(keras.Model):
        def __init__(self, **kwargs):
            x = keras.Input((4,), name="x")
            dense = layers.Dense(2, name="dense")
            super().__init__(x, dense(x), **kwargs)
            self.dense = dense

    new = edited(Net(name="net"), e.replace("dense", lambda old: layers.Dense(5, name="wide")))

    assert new.dense is new.get_layer("wide")
    assert len(new.weights) == 2
    assert new.output_shape == (None, 5)


def test_another_output_size_keeps_the_weights_of_other_layers():
    x = keras.Input((4,), name="x")
    expected = keras.Model(x, layers.Dense(9, name="o")(layers.Dense(3, activation="relu", name="d")(x)), name="net")
    assert_edited(net(), [e.replace("o", lambda old: layers.Dense(9, name="o"))], expected)


def test_layer_is_inserted_into_a_sequential():
    new = assert_edited(
        sequential(), [e.insert_after("d", lambda old: layers.ReLU(name="new"))], sequential(layers.ReLU(name="new"))
    )
    assert type(new) is keras.Sequential


def test_layer_is_inserted_into_a_sequential_inside_a_functional_model():
    def make(*between):
        x = keras.Input((4,), name="outer_x")
        return keras.Model(x, layers.ELU(name="e")(sequential(*between)(x)), name="outer")

    assert_edited(make(), [e.insert_after("seq/d", lambda old: layers.ReLU(name="new"))], make(layers.ReLU(name="new")))


def test_middle_layer_is_removed():
    assert_edited(sequential(layers.ReLU(name="middle")), [e.remove("middle")], sequential())


def test_twenty_edits_add_no_calls_to_the_original_layers():
    model = net()

    for _ in range(20):
        ramet.edit(model, e.swap_head(5))

    assert [len(layer._inbound_nodes) for layer in model.layers] == [1, 1, 1]


def test_edited_twins_form_an_ensemble_in_one_model():
    model = scrambled(net())
    members = [ramet.clone(model, name=f"member_{number}") for number in range(3)]
    members = [ramet.edit(member, e.prefix(f"{number}_")) for number, member in enumerate(members)]
    x = keras.Input((4,), name="x")

    both = keras.Model(x, layers.Average(name="mean")([member(x) for member in members]), name="ensemble")

    np.testing.assert_allclose(value(both(floats(2, 4))), value(model(floats(2, 4))), rtol=1e-5)
    assert len({v.path for v in both.variables}) == 12
    assert_saved(both)


def test_renaming_moves_the_paths_of_variables():
    new = edited(net(), e.rename("d", "first"))

    assert [v.path for v in new.variables] == ["first/kernel", "first/bias", "o/kernel", "o/bias"]


def test_model_can_be_edited_after_pop():
    model = sequential(layers.ReLU(name="middle"))
    model.pop()

    new = edited(model, e.remove("middle"))

    assert [layer.name for layer in new.layers] == ["d"]
    assert new.output_shape == (None, 3)


def test_pop_works_on_a_compiled_result():
    new = edited(sequential(layers.ReLU(name="middle")), e.update("d", activation="tanh"))
    new.compile("sgd", "mse")
    new.predict(floats(2, 4), verbose=0)

    new.pop()

    new.compile("sgd", "mse")
    assert new.predict(floats(2, 4), verbose=0).shape == (2, 3)


def test_batchnorm_is_folded():
    model = scrambled(sequential(layers.BatchNormalization(name="bn")))

    new = edited(model, e.fold_batchnorm())

    assert [layer.name for layer in new.layers] == ["d", "o"]
    assert_close(outputs(new, floats(3, 4)), outputs(model, floats(3, 4)), 1e-5)


def test_block_is_replaced_by_a_model():
    def block():
        z = keras.Input((3,), name="z")
        return keras.Model(z, layers.Dense(3, name="inside")(z), name="block")

    stack = layers.Dense(8, name="one"), layers.ReLU(name="two"), layers.Dense(3, name="three")
    new = assert_edited(sequential(*stack), [e.splice("d", "o", block())], sequential(block()))
    assert type(new) is keras.Sequential


def test_regularizer_is_added_to_a_built_model():
    model = net()

    new = edited(model, e.update(["d", "o"], kernel_regularizer=keras.regularizers.L2(0.1)))

    assert len(new.losses) == 2
    assert model.losses == []
    new.compile("sgd", "mse")
    losses = [m.compiled or m.compile("sgd", "mse") for m in (model,)]
    assert losses == [None]
    x, y = floats(4, 4), floats(4, 2)
    plain, regular = (float(m.evaluate(x, y, verbose=0)) for m in (model, new))
    assert regular == pytest.approx(plain + sum(float(value(loss)) for loss in new.losses), rel=1e-4)


def test_new_head_shares_nothing_with_the_old_model():
    model = net()

    new = edited(model, e.swap_head(7))  # `edited` checks that nothing is shared

    assert new.get_layer("d") is not model.get_layer("d")


def test_half_precision_model_is_cast_to_single():
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, dtype="float16", name="d")(x)
    inner = keras.Sequential(
        [keras.Input((3,), dtype="float16", name="z"), layers.Dense(2, dtype="float16", name="o")], name="inner"
    )
    model = keras.Model(x, inner(y), name="half")

    new = edited(model, e.cast("float32"))

    assert {str(v.dtype) for v in new.variables} == {"float32"}
    assert new.output.dtype == "float32"


def test_nested_models_are_flattened():
    x = keras.Input((4,), name="outer_x")
    model = scrambled(keras.Model(x, layers.ReLU(name="r")(net()(x)), name="outer"))

    new = edited(model, e.flatten())

    assert [layer.name for layer in new.layers] == ["outer_x", "d", "o", "r"]
    assert_close(outputs(new, data_for(model)), outputs(model, data_for(model)), 0.0)


def test_input_gets_a_fourth_channel():
    x = keras.Input((6, 6, 3), name="x")
    model = scrambled(keras.Sequential([x, layers.Conv2D(2, 3, name="c")], name="s"))

    new = edited(model, e.resize_input((6, 6, 4), weights="mean"))

    kernel = value(model.get_layer("c").kernel)
    np.testing.assert_array_equal(value(new.get_layer("c").kernel)[:, :, :3], kernel)
    np.testing.assert_allclose(value(new.get_layer("c").kernel)[:, :, 3], kernel.mean(2), rtol=1e-6)


def test_model_with_an_unregistered_layer_or_a_lambda_is_edited():
    class Unregistered(layers.Layer):
        def call(self, x):
            return x * 2

    x = keras.Input((4,), name="x")
    a, b = layers.Lambda(lambda x: [x + 1, x], name="pair")(Unregistered(name="own")(x))
    model = keras.Model(x, [layers.ReLU(name="r")(a), b], name="m")

    new = edited(model, e.replace("r", lambda old: layers.Activation("tanh", name="t")))

    x = floats(2, 4)
    assert_close(outputs(new, x), [np.tanh(x * 2 + 1), x * 2], 1e-6)


def test_tied_variables_stay_tied():
    class Tied(layers.Layer):
        def __init__(self, other, **kwargs):
            super().__init__(**kwargs)
            self.other = other

        def call(self, x):
            return keras.ops.matmul(x, keras.ops.transpose(self.other.embeddings))

    ids = keras.Input((5,), dtype="int32", name="ids")
    embed = layers.Embedding(6, 3, name="embed")
    y = layers.Dense(3, name="d")(embed(ids))
    model = scrambled(keras.Model(ids, Tied(embed, name="tied")(y), name="m"))

    new = edited(model, e.update("d", activation="tanh"))

    assert new.get_layer("tied").other is new.get_layer("embed")
    assert len(new.weights) == 3
