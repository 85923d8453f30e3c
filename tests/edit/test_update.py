"""`update`: change settings in the call, in training and in the saved file."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet import of_class
from tests.edit.expect import assert_edited, assert_saved, edited, scrambled, value
from tests.support.state_models import floats


def dense(**settings):
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, name="a", **settings)(x)
    return keras.Model(x, layers.Dense(2, name="b")(y), name="m")


def on(shape, layer, dtype="float32"):
    x = keras.Input(shape, dtype=dtype, name="x")
    y = layer(x)
    return keras.Model(x, layers.Dense(2, name="end")(y), name="m")


SETTINGS = {
    "activation": (dense, "a", {"activation": "gelu"}),
    "no_bias": (dense, "a", {"use_bias": False}),
    "regularizer": (dense, "a", {"kernel_regularizer": keras.regularizers.L2(0.5)}),
    "constraint": (dense, "a", {"kernel_constraint": keras.constraints.MaxNorm(0.5)}),
    "activity": (dense, "a", {"activity_regularizer": keras.regularizers.L1(0.5)}),
    "epsilon": (lambda **s: on((4,), layers.LayerNormalization(name="n", **s)), "n", {"epsilon": 0.5}),
    "strides": (lambda **s: on((8, 3), layers.Conv1D(4, 2, name="c", **s)), "c", {"strides": 2}),
    "padding": (lambda **s: on((8, 3), layers.Conv1D(4, 2, name="c", **s)), "c", {"padding": "same"}),
    "return_sequences": (lambda **s: on((5, 3), layers.LSTM(4, name="r", **s)), "r", {"return_sequences": True}),
    "go_backwards": (lambda **s: on((5, 3), layers.GRU(4, name="r", **s)), "r", {"go_backwards": True}),
    "inner_activation": (lambda **s: on((5, 3), layers.LSTM(4, name="r", **s)), "r", {"activation": "relu"}),
    "pool": (lambda **s: on((8, 3), layers.MaxPooling1D(name="p", **s)), "p", {"pool_size": 4, "strides": 4}),
    "slope": (lambda **s: on((4,), layers.LeakyReLU(name="l", **s)), "l", {"negative_slope": 0.9}),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_updated_layer_equals_one_made_with_the_setting(case):
    make, name, settings = SETTINGS[case]
    assert_edited(make(), [e.update(name, **settings)], make(**settings))


@pytest.mark.parametrize("case", SETTINGS)
def test_setting_can_be_reverted(case):
    make, name, settings = SETTINGS[case]
    defaults = {key: make().get_layer(name).get_config().get(key) for key in settings}
    fresh = ["a/bias"] if case == "no_bias" else []
    assert_edited(make(**settings), [e.update(name, **defaults)], make(), fresh=fresh)


def test_new_activation_is_used_after_predict(backend):
    model = scrambled(on((4,), layers.Dense(3, activation="softmax", name="p")))
    x = floats(2, 4)
    model.predict(x, verbose=0)

    new = edited(model, e.update("p", activation="linear"))

    np.testing.assert_allclose(new.predict(x, verbose=0), value(new(x)), rtol=1e-5)
    assert not np.allclose(new.predict(x, verbose=0), model.predict(x, verbose=0))


def test_regularizer_adds_to_the_loss():
    model = scrambled(dense())

    new = edited(model, e.update("a", kernel_regularizer="l2"))

    kernel = value(model.get_layer("a").kernel)
    np.testing.assert_allclose(value(new.losses[0]), 0.01 * (kernel**2).sum(), rtol=1e-5)
    assert model.losses == []
    loaded = assert_saved(new)
    assert len(loaded.losses) == 1


def dropout(rate=0.5, seed=None):
    x = keras.Input((4,), name="x")
    return keras.Model(x, layers.Dropout(rate, seed=seed, name="drop")(x), name="m")


def test_dropout_rate_is_updated():
    new = assert_edited(dropout(0.5, seed=3), [e.update("drop", rate=0.9)], dropout(0.9, seed=3))

    zeros = np.mean(value(new(np.ones((500, 4), "float32"), training=True)) == 0)
    assert 0.85 < zeros < 0.95


def test_rate_of_zero_needs_no_generator():
    assert_edited(dropout(0.5, seed=3), [e.update("drop", rate=0.0)], dropout(0.0, seed=3))


def test_rate_is_added_to_a_layer_without_one():
    new = assert_edited(dropout(0.0, seed=3), [e.update("drop", rate=0.5)], dropout(0.5, seed=3))
    assert np.any(value(new(np.ones((500, 4), "float32"), training=True)) == 0)


def test_seed_is_updated():
    model = dropout(seed=3)
    model(floats(2, 4), training=True)

    new = edited(model, e.update("drop", seed=4))

    state = value(new.get_layer("drop").seed_generator.state)
    np.testing.assert_array_equal(state, value(dropout(seed=4).get_layer("drop").seed_generator.state))
    assert new.get_layer("drop").get_config()["seed"] == 4


def test_random_state_is_kept():
    model = dropout(seed=3)
    model(floats(2, 4), training=True)

    new = edited(model, e.update("drop", rate=0.1))

    states = [value(one.get_layer("drop").seed_generator.state) for one in (model, new)]
    np.testing.assert_array_equal(*states)


def lstm(**settings):
    x = keras.Input((5, 3), name="x")
    return keras.Model(x, layers.LSTM(4, name="rnn", seed=7, **settings)(x), name="m")


def test_dropout_of_an_lstm_reaches_its_cell():
    new = assert_edited(lstm(), [e.update("rnn", dropout=0.5)], lstm(dropout=0.5))

    assert new.get_layer("rnn").cell.dropout == 0.5
    x = np.ones((64, 5, 3), "float32")
    assert not np.array_equal(value(new(x, training=True)), value(new(x, training=False)))


# Weights whose shape changes.


def test_units_are_refused_without_a_policy():
    with pytest.raises(ramet.errors.RametError) as caught:
        ramet.edit(dense(), e.update("b", units=5))

    assert str(caught.value) == (
        "Cannot adapt weights of shape (3, 2) to 'b/kernel' of shape (3, 5): the shapes differ.\n"
        "  expected: shape (3, 5)\n"
        "  found:    shape (3, 2)\n"
        "  fix: choose another policy: 'slice', 'pad', 'mean', 'repeat', 'fresh'."
    )


@pytest.mark.parametrize(("policy", "units"), [("pad", 5), ("mean", 5), ("repeat", 5), ("slice", 1), ("fresh", 5)])
def test_units_with_a_policy(policy, units):
    model = scrambled(dense())

    new = edited(model, e.update("b", units=units, weights=policy), seed=0)

    old, now = (value(one.get_layer("b").kernel) for one in (model, new))
    assert now.shape == (3, units)
    added = {"pad": np.zeros((3, 3)), "mean": old.mean(1, keepdims=True).repeat(3, 1), "repeat": old[:, [0, 1, 0]]}
    if policy in added:
        np.testing.assert_allclose(now, np.concatenate([old, added[policy]], 1), rtol=1e-6)
    elif policy == "slice":
        np.testing.assert_array_equal(now, old[:, :1])
    else:
        assert not np.allclose(now[:, :2], old)
    assert new.output_shape == (None, units)
    assert_saved(new)


def test_width_that_the_next_layer_does_not_accept_is_refused():
    with pytest.raises(ramet.errors.DoesNotFitError) as caught:
        ramet.edit(dense(), e.update("a", units=5, weights="pad"))

    assert caught.value.summary == "Cannot edit 'm': 'b' does not accept the output of 'a'."
    assert caught.value.expected == "(None, 3) from 'a', as before"
    assert caught.value.found.startswith("(None, 5) from 'a'; ")


@pytest.mark.usefixtures("double")
def test_dtype_of_one_layer_is_updated():
    assert_edited(dense(), [e.update("a", dtype="float64")], dense(dtype="float64"))


# Custom layers.


@keras.saving.register_keras_serializable("ramet_tests")
class Auto(layers.Layer):
    """A layer whose config Keras makes from the arguments."""

    def __init__(self, factor=1.0, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor
        self.table = {"double": factor * 2}

    def build(self, shape):
        self.bend = self.add_weight(shape=(shape[-1],), name="bend")

    def call(self, x):
        return x * self.table["double"] + self.bend


@keras.saving.register_keras_serializable("ramet_tests")
class Own(Auto):
    """A layer with its own config and a layer inside."""

    def __init__(self, factor=1.0, width=4, **kwargs):
        super().__init__(factor, **kwargs)
        self.width = width
        self.inner = layers.Dense(width, name="inner")

    def build(self, shape):
        super().build(shape)
        self.inner.build(shape)

    def call(self, x):
        return super().call(self.inner(x))

    def get_config(self):
        return {**super().get_config(), "factor": self.factor, "width": self.width}


@pytest.mark.parametrize("cls", [Auto, Own])
def test_custom_layer_is_updated(cls):
    assert_edited(on((4,), cls(name="own")), [e.update("own", factor=3.0)], on((4,), cls(3.0, name="own")))


def test_unregistered_custom_layer_is_updated():
    class Plain(layers.Layer):
        def __init__(self, factor=1.0, **kwargs):
            super().__init__(**kwargs)
            self.factor = factor

        def call(self, x):
            return x * self.factor

    assert_edited(
        on((4,), Plain(name="own")), [e.update("own", factor=3.0)], on((4,), Plain(3.0, name="own")), saves=False
    )


@pytest.mark.usefixtures("double")
def test_custom_layer_with_unnamed_weights_is_updated():
    @keras.saving.register_keras_serializable("ramet_tests")
    class Nameless(layers.Layer):
        def __init__(self, factor=1.0, **kwargs):
            super().__init__(**kwargs)
            self.factor = factor

        def build(self, shape):
            self.one = self.add_weight(shape=(shape[-1],))
            self.two = self.add_weight(shape=(shape[-1],))

        def call(self, x):
            return (x * self.one + self.two) * self.factor

    model = scrambled(on((4,), Nameless(name="own")))

    new = edited(model, e.update("own", factor=3.0))
    wide = edited(model, e.update("own", dtype="float64"))

    for one in (new, wide):
        for attribute in ("one", "two"):
            old, now = (getattr(m.get_layer("own"), attribute) for m in (model, one))
            assert old.path == now.path
            np.testing.assert_array_equal(value(old), value(now).astype("float32"))
    assert str(wide.get_layer("own").one.dtype) == "float64"


def test_custom_layer_with_a_wrong_config_is_refused():
    class Forgets(layers.Layer):
        def __init__(self, factor=1.0, **kwargs):
            super().__init__(**kwargs)
            self.factor = factor

        def call(self, x):
            return x * self.factor

        def get_config(self):
            return super().get_config()

    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(on((4,), Forgets(name="own")), e.update("own", factor=3.0))

    assert str(caught.value) == (
        "Cannot update 'own': a Forgets has no setting 'factor'.\n"
        "  fix: use a name from its get_config(), or select other layers."
    )


# Inside other layers, and at other levels.


def test_layer_inside_time_distributed_is_updated():
    def make(**settings):
        return on((5, 4), layers.TimeDistributed(layers.Dense(3, name="inner", **settings), name="each"))

    assert_edited(make(), [e.update("each/inner", activation="tanh")], make(activation="tanh"))


def test_update_inside_bidirectional_would_be_lost_on_save():
    x = keras.Input((5, 3), name="x")
    model = keras.Model(x, layers.Bidirectional(layers.LSTM(2, name="rnn"), name="both")(x), name="m")

    new = edited(model, e.update("both", merge_mode="sum"))

    assert new.output_shape == (None, 2)
    assert_saved(new)


def test_shared_layer_two_levels_down_is_updated():
    def make(**settings):
        z = keras.Input((4,), name="z")
        inner = keras.Model(z, layers.Dense(4, name="d", **settings)(z), name="inner")
        w = keras.Input((4,), name="w")
        middle = keras.Model(w, inner(inner(w)), name="middle")
        x = keras.Input((4,), name="x")
        return keras.Model(x, middle(x), name="outer")

    assert_edited(make(), [e.update("middle/inner/d", activation="tanh")], make(activation="tanh"))


def test_many_layers_are_updated_at_once():
    new = edited(dense(activation="relu"), e.update(of_class("Dense"), activation="gelu"))

    assert [layer.activation.__name__ for layer in new.layers[1:]] == ["gelu", "gelu"]


def test_sublayers_of_attention_follow_its_settings():
    def make(**settings):
        x = keras.Input((5, 4), name="x")
        return keras.Model(x, layers.MultiHeadAttention(2, 3, name="mha", seed=1, **settings)(x, x), name="m")

    model = make()
    keras.utils.clear_session(free_memory=False)  # its parts are named by number
    new = assert_edited(model, [e.update("mha", dropout=0.5)], make(dropout=0.5))
    x = np.ones((16, 5, 4), "float32")
    assert not np.array_equal(value(new(x, training=True)), value(new(x, training=False)))


# Bad input.


def test_unknown_setting_names_the_closest():
    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(dense(), e.update("a", activaton="gelu"))

    assert str(caught.value) == (
        "Cannot update 'a': a Dense has no setting 'activaton'.\n"
        "  closest:  'activation'\n"
        "  fix: use a name from its get_config(), or select other layers."
    )


def test_value_that_the_class_refuses_is_reported():
    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(dense(), e.update("a", units=-1))

    assert caught.value.summary == "Cannot update 'a' with units=-1: Dense refuses it."
    assert caught.value.found.startswith("ValueError: ")
    assert caught.value.fix == "pass a value that the constructor accepts."


def test_raw_operation_has_no_settings():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, keras.ops.sin(x), name="m")

    with pytest.raises(ramet.errors.EditError, match="Cannot update 'sin': its settings are not known"):
        ramet.edit(model, e.update("sin", rate=1))


def test_unknown_policy_is_refused():
    with pytest.raises(ramet.errors.ArgumentError, match="unknown policy"):
        ramet.edit(dense(), e.update("b", units=5, weights="stretch"))
