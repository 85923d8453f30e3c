"""Cases in tests/CASES.md about state: random generators, RNNs, tables, optimizers, LoRA, quantization, masks."""

import keras
import numpy as np
import pytest
from keras import layers, ops

from tests.support.state_models import dense_model, draws, floats, numbers, trained
from tests.support.twins import (
    assert_equal_outputs,
    assert_equal_values,
    fit_once,
    outputs,
    same_random_state,
    twin_of,
    values,
)

X, Y = floats(8, 4), floats(8, 3, seed=1)


def _on_torch():
    return keras.backend.backend() == "torch"


# --- Random generators ------------------------------------------------------------------------------------------------


# keras-core#650, keras#17548
def test_used_dropout_continues_with_the_same_numbers_in_the_twin():
    model = dense_model(layers.Dropout(0.5, seed=3))
    draws(model, X)
    twin = twin_of(model)

    ours, theirs = draws(model, X), draws(twin, X)
    np.testing.assert_array_equal(ours, theirs)
    assert not np.array_equal(ours[0], ours[1])


# keras-core#650
def test_unseeded_dropout_draws_the_same_in_the_twin():
    model = dense_model(layers.Dropout(0.5))
    twin = twin_of(model)

    np.testing.assert_array_equal(draws(model, X), draws(twin, X))
    assert twin.layers[-1].seed_generator is not model.layers[-1].seed_generator


def test_drawing_in_the_twin_does_not_advance_the_generator_of_the_original():
    model = dense_model(layers.Dropout(0.5, seed=3), layers.GaussianNoise(1.0, seed=4))
    before = values(model)
    twin = twin_of(model)

    draws(twin, X)
    for ours, was in zip(values(model), before, strict=True):
        np.testing.assert_array_equal(ours, was)


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.GaussianNoise(1.0),
        lambda: layers.GaussianDropout(0.5),
        lambda: layers.AlphaDropout(0.5),
        lambda: layers.Dropout(0.5, noise_shape=(None, 1)),
    ],
)
def test_every_random_layer_draws_the_same_in_the_twin(make):
    model = dense_model(layers.Dense(16), make())
    draws(model, X)
    twin = twin_of(model)

    np.testing.assert_array_equal(draws(model, X), draws(twin, X))


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.RandomFlip(seed=1),
        lambda: layers.RandomRotation(0.2),
        lambda: layers.RandomZoom(0.3),
        lambda: layers.RandomTranslation(0.3, 0.3),
        lambda: layers.RandomContrast(0.4),
        lambda: layers.RandomBrightness(0.4),
        lambda: layers.RandomCrop(5, 5),
    ],
)
def test_image_augmentation_draws_the_same_in_the_twin(make):
    model = keras.Sequential([keras.Input((8, 8, 3)), make()])
    images = np.abs(floats(2, 8, 8, 3))
    draws(model, images, times=1)
    twin = twin_of(model)

    np.testing.assert_array_equal(draws(model, images, times=1), draws(twin, images, times=1))


def test_pipeline_of_augmentations_keeps_each_generator():
    pipeline = layers.Pipeline([layers.RandomFlip(seed=1), layers.RandomContrast(0.4, seed=2)])
    model = keras.Sequential([keras.Input((8, 8, 3)), pipeline])
    images = np.abs(floats(2, 8, 8, 3))
    twin = twin_of(model)

    np.testing.assert_array_equal(draws(model, images), draws(twin, images))


def test_generator_shared_by_two_layers_is_copied_once():
    class Noise(layers.Layer):
        def __init__(self, generator):
            super().__init__()
            self.generator = generator

        def call(self, x):
            return x + keras.random.normal(ops.shape(x), seed=self.generator)

    generator = keras.random.SeedGenerator(5)
    model = dense_model(Noise(generator), Noise(generator))
    twin = twin_of(model)

    first, second = twin.layers[1:]
    assert first.generator is second.generator
    assert first.generator is not generator
    np.testing.assert_array_equal(draws(model, X), draws(twin, X))


def test_seed_generator_of_an_initializer_is_copied_with_its_state():
    generator = keras.random.SeedGenerator(9)
    layer = layers.Dense(3, kernel_initializer=keras.initializers.GlorotUniform(seed=generator))
    model = dense_model(layers.Dense(4, kernel_initializer=keras.initializers.GlorotUniform(seed=generator)), layer)
    twin = twin_of(model)

    assert twin.layers[-1].kernel_initializer.seed is twin.layers[1].kernel_initializer.seed
    assert twin.layers[-1].kernel_initializer.seed is not generator


# "ensemble users; docstring example"
def test_clones_with_different_seeds_draw_differently_and_each_repeatably():
    model = dense_model(layers.Dropout(0.5, seed=3, name="a"), layers.Dropout(0.5, seed=3, name="b"))
    members = [twin_of(model, seed=seed) for seed in (1, 2, 3)]
    again = twin_of(model, seed=2)

    states = [tuple(map(tuple, numbers(g.state for g in _generators(member)))) for member in (model, *members)]
    assert len(set(states)) == 4
    assert len({state for member in states[1:] for state in member}) == 6
    assert_equal_values(again, members[1])


def test_reseeding_an_ensemble_changes_its_masks_and_not_its_weights():
    model = dense_model(layers.Dense(32), layers.Dropout(0.5, seed=3))
    first, second, again = (twin_of(model, seed=seed) for seed in (1, 2, 1))

    np.testing.assert_array_equal(draws(first, X), draws(again, X))
    for member in (first, second):
        assert_equal_outputs(model, member, X)
    if not _on_torch():  # there, dropout draws from torch's global generator and not from the layer's
        assert not np.array_equal(draws(first, X), draws(second, X))


def test_reseeded_twin_has_its_seed_in_its_config_and_in_a_file(tmp_path):
    model = dense_model(layers.Dropout(0.5, seed=3), layers.GaussianNoise(0.1))
    twin = twin_of(model, seed=7)
    twin.save(tmp_path / "twin.keras")
    loaded = keras.models.load_model(tmp_path / "twin.keras")

    for ours, theirs in zip(_generators(twin), _generators(loaded), strict=True):
        np.testing.assert_array_equal(*numbers((ours.state, theirs.state)))
    assert twin.layers[1].get_config()["seed"] == twin.layers[1].seed != 3


def test_reseeding_reaches_nested_models_wrappers_and_attention():
    inner = keras.Sequential([keras.Input((6,)), layers.Dropout(0.3, seed=3)], name="inner")
    inputs = keras.Input((5, 6))
    x = layers.TimeDistributed(inner)(inputs)
    x = layers.MultiHeadAttention(2, 3, dropout=0.2, seed=3)(x, x)
    x = layers.Bidirectional(layers.LSTM(4, dropout=0.2, seed=3))(x)
    model = keras.Model(inputs, x)
    twin, again = twin_of(model, seed=11), twin_of(model, seed=11)

    before, after = (numbers(g.state for g in _generators(m)) for m in (model, twin))
    assert len(before) == len(after) > 3
    assert all(not np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert_equal_values(twin, again)


def test_reseeding_keeps_the_weights_of_a_built_model():
    model = dense_model(layers.Dense(3, kernel_initializer=keras.initializers.HeNormal(seed=4)))
    twin = twin_of(model, seed=5)

    assert_equal_outputs(model, twin, X)
    assert twin.layers[-1].kernel_initializer.seed != 4


def test_reseeding_gives_unbuilt_twins_different_initial_values():
    model = keras.Sequential([layers.Dense(3, kernel_initializer=keras.initializers.HeNormal(seed=4))])
    first, second, again = (twin_of(model, seed=seed) for seed in (1, 2, 1))

    ours, theirs, repeated = (outputs(member, X)[0] for member in (first, second, again))
    assert not np.array_equal(ours, theirs)
    np.testing.assert_array_equal(ours, repeated)


def _generators(model):
    found = []
    for layer in model._flatten_layers():
        for generator in layer._seed_generators:
            if not any(generator is other for other in found):
                found.append(generator)
    return found


# --- Statistics and adapted layers ------------------------------------------------------------------------------------


def test_batch_normalization_keeps_its_moving_statistics():
    model = trained(dense_model(layers.BatchNormalization(), layers.Dense(3)), 5 + X, Y, optimizer="sgd")
    twin = twin_of(model)

    assert_equal_outputs(model, twin, X)
    fit_once(twin, 9 * X, Y)
    assert not np.array_equal(*numbers((model.layers[1].moving_mean, twin.layers[1].moving_mean)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.LayerNormalization(epsilon=0.01),
        lambda: layers.GroupNormalization(2),
        lambda: layers.UnitNormalization(axis=1),
        lambda: (
            layers.BatchNormalization(synchronized=False, renorm=True)
            if "renorm" in layers.BatchNormalization.__init__.__code__.co_varnames
            else layers.BatchNormalization(center=False)
        ),
        lambda: layers.RMSNormalization(epsilon=0.01),
    ],
)
def test_other_normalizations_are_exact(make):
    model = trained(dense_model(make(), layers.Dense(3)), X, Y, optimizer="sgd")
    twin = twin_of(model)

    assert_equal_outputs(model, twin, X)


# keras#17486 analogue, TF.NET#1232
def test_adapted_normalization_gives_the_same_outputs():
    layer = layers.Normalization()
    layer.adapt(3 + 2 * X)
    model = dense_model(layer)
    twin = twin_of(model)

    assert_equal_outputs(model, twin, X)
    twin.layers[-1].adapt(100 * X)
    assert not np.array_equal(outputs(model, X)[0], outputs(twin, X)[0])
    np.testing.assert_allclose(outputs(model, 3 + 2 * X)[0].mean(0), 0, atol=1e-5)


def test_normalization_with_given_statistics_or_invert_is_exact():
    model = dense_model(
        layers.Normalization(mean=1.0, variance=4.0), layers.Normalization(mean=2.0, variance=9.0, invert=True)
    )
    twin = twin_of(model)

    assert_equal_outputs(model, twin, X)


def test_adapted_discretization_keeps_its_boundaries():
    layer = layers.Discretization(num_bins=4)
    layer.adapt(X)
    model = dense_model(layer)
    twin = twin_of(model)

    assert twin.layers[-1].bin_boundaries == layer.bin_boundaries
    assert_equal_outputs(model, twin, X)
    twin.layers[-1].adapt(10 * X)
    assert twin.layers[-1].bin_boundaries != layer.bin_boundaries


# tf#61369, keras#18376, PR#21751. On JAX and torch, these layers hold TensorFlow objects.
def test_adapted_string_lookup_keeps_its_vocabulary():
    layer = layers.StringLookup()
    layer.adapt(np.array(["c", "c", "c", "b", "b", "a"]))
    twin = twin_of(layer)

    assert twin.get_vocabulary() == layer.get_vocabulary() == ["[UNK]", "c", "b", "a"]
    np.testing.assert_array_equal(*numbers((layer(["a", "z"]), twin(["a", "z"]))))


def test_adapting_the_twin_of_a_lookup_does_not_affect_the_original():
    layer = layers.StringLookup(vocabulary=["x", "y"])
    twin = twin_of(layer)
    twin.set_vocabulary(["p", "q", "r"])

    assert layer.get_vocabulary() == ["[UNK]", "x", "y"]
    assert twin.get_vocabulary() == ["[UNK]", "p", "q", "r"]
    np.testing.assert_array_equal(numbers([layer(["x", "p"])])[0], [1, 0])
    np.testing.assert_array_equal(numbers([twin(["x", "p"])])[0], [0, 1])


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.StringLookup(vocabulary=["a", "b"], invert=True),
        lambda: layers.IntegerLookup(vocabulary=[3, 5], invert=True),
    ],
)
def test_inverted_lookup_is_exact(make, backend):
    layer = make()
    twin = twin_of(layer)
    if backend == "jax" and isinstance(layer, layers.StringLookup):
        pytest.skip("JAX has no strings, so Keras cannot call the original either; the other backends cover this")

    ours, theirs = (list(np.asarray(one(np.array([1, 2, 0])))) for one in (layer, twin))
    assert ours == theirs


@pytest.mark.parametrize("mode", ["multi_hot", "count", "tf_idf"])
def test_lookups_that_encode_are_exact(mode):
    options = {"idf_weights": [0.5, 2.0]} if mode == "tf_idf" else {}
    layer = layers.StringLookup(vocabulary=["a", "b"], output_mode=mode, **options)
    twin = twin_of(layer)

    np.testing.assert_array_equal(*numbers((layer([["a", "b", "z"]]), twin([["a", "b", "z"]]))))


def test_adapted_integer_lookup_keeps_its_vocabulary():
    layer = layers.IntegerLookup(num_oov_indices=2, mask_token=0)
    layer.adapt(np.array([7, 7, 7, 5, 5, 3]))
    twin = twin_of(layer)

    assert twin.get_vocabulary() == layer.get_vocabulary()
    np.testing.assert_array_equal(*numbers((layer([7, 3, 9, 0]), twin([7, 3, 9, 0]))))


def test_adapted_text_vectorization_keeps_its_vocabulary_and_weights():
    layer = layers.TextVectorization(output_mode="tf_idf")
    layer.adapt(["the cat sat", "the dog", "a cat"])
    twin = twin_of(layer)

    assert twin.get_vocabulary() == layer.get_vocabulary()
    np.testing.assert_array_equal(*numbers((layer(["the cat", "owl"]), twin(["the cat", "owl"]))))


def test_adapting_the_twin_of_a_text_vectorization_does_not_affect_the_original():
    layer = layers.TextVectorization()
    layer.adapt(["the cat sat", "the dog", "a cat"])
    twin = twin_of(layer)
    twin.adapt(["owls only"])

    assert "cat" in layer.get_vocabulary()
    assert "cat" not in twin.get_vocabulary()


def test_text_vectorization_with_user_functions_is_exact():
    import tensorflow as tf

    stops = ["the"]

    def standardize(text):
        for stop in stops:
            text = tf.strings.regex_replace(text, stop, "")
        return tf.strings.lower(text)

    layer = layers.TextVectorization(
        standardize=standardize, split=lambda text: tf.strings.split(text, "-"), output_sequence_length=4
    )
    layer.adapt(["A-b-c", "the-b"])
    twin = twin_of(layer)

    assert twin.get_vocabulary() == layer.get_vocabulary()
    np.testing.assert_array_equal(*numbers((layer(["a-the-b"]), twin(["a-the-b"]))))


def test_hashing_and_category_encoding_are_exact():
    hashing = layers.Hashing(num_bins=7, salt=[133, 137])
    encoding = layers.CategoryEncoding(num_tokens=5, output_mode="count")
    words, tokens = [["a"], ["b"]], np.array([[0, 1, 1], [4, 2, 2]])

    np.testing.assert_array_equal(*numbers((hashing(words), twin_of(hashing)(words))))
    np.testing.assert_array_equal(*numbers((encoding(tokens), twin_of(encoding)(tokens))))


def test_crossing_of_hashed_features_is_exact():
    layer = layers.HashedCrossing(num_bins=5, output_mode="one_hot")
    pair = (np.array(["a", "b"]), np.array(["c", "d"]))

    np.testing.assert_array_equal(*numbers((layer(pair), twin_of(layer)(pair))))


def test_lookup_tables_inside_a_model_are_independent():
    class Tagger(keras.Model):
        def __init__(self):
            super().__init__()
            self.words = layers.StringLookup(vocabulary=["a", "b", "c"])
            self.embed = layers.Embedding(4, 3)

        def call(self, x):
            return self.embed(x)

        def tag(self, words):
            return self(ops.convert_to_tensor(np.asarray(self.words(words))))

    model = Tagger()
    before = model.tag(["b", "z"])
    twin = twin_of(model)

    np.testing.assert_array_equal(*numbers((before, twin.tag(["b", "z"]))))
    twin.words.set_vocabulary(["z"])
    np.testing.assert_array_equal(*numbers((before, model.tag(["b", "z"]))))


def test_adapted_feature_space_is_exact():
    space = keras.utils.FeatureSpace({"number": "float_normalized", "word": "string_categorical"}, output_mode="concat")
    import tensorflow as tf

    rows = {"number": np.array([1.0, 2.0, 5.0], "float32"), "word": np.array(["a", "b", "a"])}
    space.adapt(tf.data.Dataset.from_tensor_slices(rows))
    twin = twin_of(space)

    np.testing.assert_array_equal(*numbers((space(rows), twin(rows))))


# --- Recurrent layers -------------------------------------------------------------------------------------------------

RNNS = {
    "lstm": lambda **o: layers.LSTM(3, **o),
    "gru": lambda **o: layers.GRU(3, **o),
    "simple": lambda **o: layers.SimpleRNN(3, **o),
    "cells": lambda **o: layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)], **o),
    "bidirectional": lambda **o: layers.Bidirectional(layers.LSTM(3, **o)),
}


@pytest.mark.parametrize("kind", RNNS)
def test_stateful_rnn_continues_with_the_same_state_in_the_twin(kind):
    inputs = keras.Input((5, 4), batch_size=2)
    model = keras.Model(inputs, RNNS[kind](stateful=True)(inputs))
    first, second = floats(2, 5, 4), floats(2, 5, 4, seed=1)
    model(first)
    twin = twin_of(model)

    assert_equal_outputs(model, twin, second)
    assert_equal_values(model, twin)
    assert any(value.any() for value in values(twin))


def test_resetting_the_states_of_the_twin_keeps_those_of_the_original():
    inputs = keras.Input((5, 4), batch_size=2)
    model = keras.Model(inputs, layers.LSTM(3, stateful=True)(inputs))
    model(floats(2, 5, 4))
    kept = values(model)
    twin = twin_of(model)
    twin.layers[-1].reset_state()

    assert all(np.array_equal(a, b) for a, b in zip(values(model), kept, strict=True))
    assert not any(state.any() for state in numbers(twin.layers[-1].states))


@pytest.mark.parametrize(
    "options",
    [
        {"return_sequences": True, "go_backwards": True},
        {"return_state": True},
        {"unroll": True},
        {"recurrent_dropout": 0.2, "dropout": 0.2, "seed": 1},
    ],
)
def test_options_of_recurrent_layers_are_kept(options):
    inputs = keras.Input((5, 4))
    model = keras.Model(inputs, layers.LSTM(3, **options)(inputs))
    twin = twin_of(model)

    assert_equal_outputs(model, twin, floats(2, 5, 4))
    np.testing.assert_array_equal(draws(model, floats(2, 5, 4), times=1), draws(twin, floats(2, 5, 4), times=1))


def test_encoder_that_passes_its_state_to_a_decoder_is_exact():
    source, target = keras.Input((None, 4)), keras.Input((None, 4))
    _, *state = layers.LSTM(3, return_state=True)(source)
    model = keras.Model([source, target], layers.LSTM(3, return_sequences=True)(target, initial_state=state))
    twin = twin_of(model)

    assert_equal_outputs(model, twin, [floats(2, 5, 4), floats(2, 3, 4, seed=1)])


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: layers.ConvLSTM2D(2, 3, return_sequences=True), (4, 6, 6, 1)),
        (lambda: layers.ConvLSTM1D(2, 3), (4, 6, 1)),
        (lambda: layers.Bidirectional(layers.GRU(3), merge_mode="sum"), (5, 4)),
        (lambda: layers.Bidirectional(layers.LSTM(3), backward_layer=layers.GRU(3, go_backwards=True)), (5, 4)),
        (lambda: layers.RNN(layers.StackedRNNCells([layers.LSTMCell(3), layers.LSTMCell(2)])), (5, 4)),
        (lambda: layers.TimeDistributed(layers.Dense(2)), (5, 4)),
    ],
)
def test_composite_recurrent_layers_are_exact(make, shape):
    inputs = keras.Input(shape)
    model = keras.Model(inputs, make()(inputs))
    twin = twin_of(model)

    assert_equal_outputs(model, twin, floats(2, *shape))


def test_bidirectional_layer_trains_identically_in_the_twin():
    inputs = keras.Input((3, 4))
    model = keras.Model(inputs, layers.Bidirectional(layers.GRU(3, unroll=True), merge_mode="sum")(inputs))
    x, y = floats(2, 3, 4), floats(2, 3)
    trained(model, x, y, optimizer="adam")
    twin = twin_of(model)

    assert fit_once(model, x, y) == fit_once(twin, x, y)
    assert_equal_values(model, twin)


def test_spectral_normalization_keeps_its_vector():
    model = dense_model(layers.SpectralNormalization(layers.Dense(3), power_iterations=2))
    outputs(model, X, training=True)
    twin = twin_of(model)

    assert_equal_outputs(model, twin, X, training=True)
    assert_equal_values(model, twin)
    assert twin.layers[-1].layer.kernel is twin.layers[-1].kernel
    assert twin.layers[-1].kernel is not model.layers[-1].kernel


# --- Optimizers -------------------------------------------------------------------------------------------------------


def _adamw_without_bias():
    optimizer = keras.optimizers.AdamW(0.01, weight_decay=0.1)
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    return optimizer


OPTIMIZERS = {
    "adam": lambda: keras.optimizers.Adam(0.01, amsgrad=True),
    "sgd": lambda: keras.optimizers.SGD(0.01, momentum=0.9, nesterov=True),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.01, momentum=0.5, centered=True),
    "adamw": lambda: keras.optimizers.AdamW(0.01, weight_decay=0.1, clipnorm=1.0),
    "lion": lambda: keras.optimizers.Lion(0.01),
    "adagrad": lambda: keras.optimizers.Adagrad(0.01),
    "adadelta": lambda: keras.optimizers.Adadelta(0.01),
    "adamax": lambda: keras.optimizers.Adamax(0.01),
    "nadam": lambda: keras.optimizers.Nadam(0.01),
    "ftrl": lambda: keras.optimizers.Ftrl(0.01),
    "adafactor": lambda: keras.optimizers.Adafactor(0.01),
    "lamb": lambda: keras.optimizers.Lamb(0.01, global_clipnorm=1.0),
    "muon": lambda: keras.optimizers.Muon(0.01),
    "accumulation": lambda: keras.optimizers.Adam(0.01, gradient_accumulation_steps=3),
    "ema": lambda: keras.optimizers.SGD(0.01, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=3),
    "cosine": lambda: keras.optimizers.Adam(
        keras.optimizers.schedules.CosineDecay(0.1, 5, warmup_steps=2, warmup_target=0.2)
    ),
    "piecewise": lambda: keras.optimizers.SGD(
        keras.optimizers.schedules.PiecewiseConstantDecay([1, 3], [0.1, 0.01, 0.001])
    ),
    "loss_scale": lambda: keras.optimizers.LossScaleOptimizer(
        keras.optimizers.Adam(0.01), initial_scale=8.0, dynamic_growth_steps=3
    ),
    "excluding": _adamw_without_bias,
}


# keras#1765, SO 49503748, mlverse/torch#1028
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_optimizer_continues_in_the_twin_from_the_same_state(kind):
    model = trained(
        dense_model(layers.Dense(5, activation="relu"), layers.Dense(3)), X, Y, optimizer=OPTIMIZERS[kind]()
    )
    twin = twin_of(model)

    assert_equal_values(model, twin)
    moved = [v for v in twin.optimizer.variables if v.name != "learning_rate"]
    assert any(value.any() for value in numbers(moved))
    if kind == "ema" and keras.backend.backend() == "jax":
        # Keras leaves two variables with one buffer, and cannot fit the original again. The twin has two.
        fit_once(twin, X, Y)
        return
    for _ in range(2):
        assert fit_once(model, X, Y) == fit_once(twin, X, Y)
    assert_equal_values(model, twin)


def test_training_the_twin_changes_neither_weights_nor_slots_of_the_original():
    model = trained(dense_model(), X, Y, optimizer="adam")
    before = values(model)
    twin = twin_of(model)
    fit_once(twin, X, Y)

    for now, was in zip(values(model), before, strict=True):
        np.testing.assert_array_equal(now, was)
    assert not np.array_equal(outputs(model, X)[0], outputs(twin, X)[0])


def test_training_the_original_changes_nothing_in_the_twin():
    model = trained(dense_model(), X, Y, optimizer="adam")
    twin = twin_of(model)
    before = values(twin)
    fit_once(model, X, Y)

    for now, was in zip(values(twin), before, strict=True):
        np.testing.assert_array_equal(now, was)


def test_compiled_but_untrained_model_trains_identically():
    model = dense_model()
    model.compile("adam", "mse", metrics=["mae"])
    twin = twin_of(model)

    assert fit_once(model, X, Y) == fit_once(twin, X, Y)
    assert_equal_values(model, twin)


def test_loss_scale_under_mixed_float16_is_kept_and_updated():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = trained(dense_model(layers.Dense(5), layers.Dense(3, dtype="float32")), X, Y, optimizer="adam")
        model.optimizer.dynamic_scale.assign(64.0)
        twin = twin_of(model)

        assert isinstance(twin.optimizer, keras.optimizers.LossScaleOptimizer)
        assert float(ops.convert_to_numpy(twin.optimizer.dynamic_scale)) == 64.0
        assert fit_once(model, X, Y) == fit_once(twin, X, Y)
        assert_equal_values(model, twin)
    finally:
        keras.config.set_dtype_policy("float32")


def test_learning_rate_changed_after_compile_is_kept():
    model = trained(dense_model(), X, Y, optimizer=keras.optimizers.SGD(0.5))
    model.optimizer.learning_rate = 0.125
    twin = twin_of(model)

    assert float(ops.convert_to_numpy(twin.optimizer.learning_rate)) == 0.125
    twin.optimizer.learning_rate = 0.25
    assert float(ops.convert_to_numpy(model.optimizer.learning_rate)) == 0.125


def test_user_defined_schedule_with_state_is_independent():
    class Warmup(keras.optimizers.schedules.LearningRateSchedule):
        def __init__(self, peaks):
            self.peaks = peaks

        def __call__(self, step):
            return ops.minimum(self.peaks[0], 0.01 * ops.cast(step + 1, "float32"))

    model = trained(dense_model(), X, Y, optimizer=keras.optimizers.SGD(Warmup([0.1])))
    twin = twin_of(model)

    assert twin.optimizer._learning_rate.peaks is not model.optimizer._learning_rate.peaks
    assert fit_once(model, X, Y) == fit_once(twin, X, Y)


def test_averaged_weights_of_an_optimizer_are_swapped_in_the_twin_only():
    model = trained(dense_model(), X, Y, optimizer=keras.optimizers.SGD(0.5, use_ema=True, ema_momentum=0.9))
    model.layers[-1].kernel.assign(floats(4, 3, seed=9))
    before = outputs(model, X)[0]
    twin = twin_of(model)
    twin.optimizer.finalize_variable_values(twin.trainable_variables)

    np.testing.assert_array_equal(outputs(model, X)[0], before)
    assert not np.array_equal(outputs(twin, X)[0], before)


# PR#20888 side effect (keras >= 3.9)
def test_unregistered_loss_function_is_kept():
    def my_loss(y, p):
        return ops.mean(ops.abs(y - p), axis=-1) * 3

    model = trained(dense_model(), X, Y, optimizer="sgd", loss=my_loss)
    twin = twin_of(model)

    assert twin.loss is my_loss
    assert fit_once(model, X, Y) == fit_once(twin, X, Y)


def test_lambda_as_loss_is_kept():
    model = trained(dense_model(), X, Y, optimizer="sgd", loss=lambda y, p: ops.mean(ops.square(y - p), axis=-1))
    twin = twin_of(model)

    assert fit_once(model, X, Y) == fit_once(twin, X, Y)
    assert_equal_values(model, twin)


class MyMetric(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="mine")
        self.total = self.add_weight(name="total", initializer="zeros")

    def update_state(self, y, p, sample_weight=None):
        self.total.assign_add(ops.sum(ops.abs(y - p)))

    def result(self):
        return self.total * 1


class MyOptimizer(keras.optimizers.Optimizer):
    def __init__(self, rate, **options):
        super().__init__(learning_rate=rate, **options)
        self.steps = []

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self.steps = [self.add_variable_from_reference(v, "step") for v in variables]

    def update_step(self, gradient, variable, learning_rate):
        step = self.steps[self._get_variable_index(variable)]
        self.assign(step, gradient * ops.cast(learning_rate, gradient.dtype))
        self.assign_sub(variable, step)


def test_unregistered_metric_and_optimizer_classes_are_kept():
    model = trained(dense_model(), X, Y, optimizer=MyOptimizer(0.01), metrics=[MyMetric()])
    twin = twin_of(model)

    assert type(twin.optimizer) is MyOptimizer
    assert fit_once(model, X, Y) == fit_once(twin, X, Y)
    assert_equal_values(model, twin)
    assert "mine" in twin.get_metrics_result()


# keras#20884 / PR#20888
def test_compile_settings_are_kept():
    model = dense_model(width=4)
    model.compile(
        optimizer="sgd",
        loss=keras.losses.Huber(delta=0.3),
        metrics=["mae", keras.metrics.MeanSquaredError(name="m")],
        weighted_metrics=["mse"],
        loss_weights=[0.5],
        run_eagerly=True,
        steps_per_execution=1,
        jit_compile=False,
    )
    twin = twin_of(model)

    assert twin.compiled
    assert twin.run_eagerly
    assert twin.get_compile_config() == model.get_compile_config()
    assert fit_once(model, X, Y) == fit_once(twin, X, Y)


def test_model_with_losses_and_metrics_by_output_trains_identically():
    inputs = keras.Input((4,))
    model = keras.Model(inputs, {"a": layers.Dense(3, name="a")(inputs), "b": layers.Dense(1, name="b")(inputs)})
    target = {"a": Y, "b": Y[:, :1]}
    trained(
        model,
        X,
        target,
        optimizer="adam",
        loss={"a": "mse", "b": "mae"},
        loss_weights={"a": 1.0, "b": 0.2},
        metrics={"a": ["mae"]},
    )
    twin = twin_of(model)

    assert model.train_on_batch(X, target) == twin.train_on_batch(X, target)
    assert_equal_values(model, twin)


def test_metric_totals_are_kept_in_the_middle_of_an_epoch():
    model = dense_model()
    model.compile("sgd", "mse", metrics=["mae", keras.metrics.RootMeanSquaredError()])
    model.train_on_batch(X, Y)
    model.reset_metrics()
    model.test_on_batch(X, Y)
    twin = twin_of(model)

    assert twin.get_metrics_result() == model.get_metrics_result()
    assert twin.test_on_batch(2 * X, Y) == model.test_on_batch(2 * X, Y)
    twin.reset_metrics()
    assert twin.get_metrics_result() != model.get_metrics_result()


@pytest.mark.parametrize(
    "make",
    [
        lambda: keras.metrics.AUC(num_thresholds=5),
        lambda: keras.metrics.Precision(thresholds=[0.3, 0.6]),
        lambda: keras.metrics.BinaryAccuracy(threshold=0.3),
        lambda: keras.metrics.F1Score(threshold=0.5),
        lambda: keras.metrics.R2Score(name="r2"),
        lambda: keras.metrics.MeanMetricWrapper(lambda y, p: ops.mean(ops.abs(y - p), axis=-1)),
    ],
)
def test_metric_cloned_alone_keeps_its_totals(make):
    metric = make()
    y, p = np.array([[0.0], [1.0], [1.0]], "float32"), np.array([[0.2], [0.7], [0.4]], "float32")
    metric.update_state(y, p)
    twin = twin_of(metric)

    np.testing.assert_array_equal(*numbers((metric.result(), twin.result())))
    twin.update_state(y, 1 - y)
    assert not np.array_equal(*numbers((metric.result(), twin.result())))


def test_layer_with_its_own_metrics_and_losses_is_exact():
    class Watched(layers.Layer):
        def __init__(self):
            super().__init__()
            self.seen = keras.metrics.Mean(name="seen")

        def call(self, x):
            self.add_loss(0.1 * ops.mean(ops.square(x)))
            self.seen.update_state(ops.mean(x))
            return x

    model = dense_model(layers.Dense(3), Watched())
    model(X)
    twin = twin_of(model)

    np.testing.assert_array_equal(*map(np.stack, (numbers(model.losses), numbers(twin.losses))))
    model(2 * X), twin(2 * X)
    np.testing.assert_array_equal(*numbers((model.layers[-1].seen.result(), twin.layers[-1].seen.result())))
    twin.layers[-1].seen.reset_state()
    assert float(ops.convert_to_numpy(model.layers[-1].seen.count)) == 2


def test_regularizers_and_constraints_act_in_the_twin():
    layer = layers.Dense(
        3,
        kernel_regularizer=keras.regularizers.L1L2(0.1, 0.2),
        kernel_constraint=keras.constraints.MaxNorm(0.5),
        activity_regularizer=keras.regularizers.OrthogonalRegularizer(),
    )
    model = trained(dense_model(layer), X, Y, optimizer="sgd")
    twin = twin_of(model)

    assert fit_once(model, X, Y) == fit_once(twin, X, Y)
    assert_equal_values(model, twin)
    assert len(twin.losses) == len(model.losses)


# --- Tied variables ---------------------------------------------------------------------------------------------------


# clone_model docstring; keras#10485, #5060
def test_variable_tied_between_two_layers_stays_tied():
    class Tied(layers.Layer):
        def __init__(self, other):
            super().__init__()
            self.other = other

        def call(self, x):
            return ops.matmul(x, ops.transpose(self.other.kernel))

    dense = layers.Dense(3, use_bias=False)
    model = trained(dense_model(dense, Tied(dense)), X, X, optimizer="adam")
    twin = twin_of(model)

    assert twin.layers[2].other is twin.layers[1]
    assert len(twin.trainable_variables) == 1
    assert fit_once(model, X, X) == fit_once(twin, X, X)
    assert_equal_values(model, twin)


def test_variable_assigned_to_another_layer_stays_tied():
    first, second = layers.Dense(4, use_bias=False), layers.Dense(4, use_bias=False)
    model = dense_model(first, second)
    second._tracker.unlock()
    second._kernel = first._kernel
    second._tracker.lock()
    twin = twin_of(model)

    assert twin.layers[1]._kernel is twin.layers[2]._kernel
    assert twin.layers[1]._kernel is not first._kernel
    assert_equal_outputs(model, twin, X)


def test_reversible_embedding_keeps_its_tie():
    inputs = keras.Input((5,), dtype="int32")
    embedding = layers.ReversibleEmbedding(7, 3, tie_weights=True) if hasattr(layers, "ReversibleEmbedding") else None
    if embedding is None:
        pytest.skip("this Keras has no ReversibleEmbedding; a newer Keras lifts this")
    model = keras.Model(inputs, embedding(embedding(inputs), reverse=True))
    twin = twin_of(model)

    assert_equal_outputs(model, twin, np.array([[1, 2, 3, 4, 5]]))
    assert len(twin.variables) == 1


def test_variables_created_by_hand_keep_every_property():
    class Odd(layers.Layer):
        def __init__(self):
            super().__init__()
            self.scale = self.add_weight(
                shape=(4,), initializer="ones", name="scale", constraint="non_neg", regularizer="l2"
            )
            self.count = self.add_weight(shape=(), dtype="int32", initializer="zeros", trainable=False, name="count")
            self.flag = self.add_weight(shape=(), dtype="bool", initializer="zeros", trainable=False, name="flag")
            self.sums = self.add_weight(
                shape=(4,), initializer="zeros", trainable=False, aggregation="sum", name="sums", autocast=False
            )
            self.free = keras.Variable(
                np.arange(3.0),
                trainable=False,
                name="free",
                dtype="float64" if keras.backend.backend() != "jax" else "float32",
            )

        def call(self, x):
            self.count.assign_add(1)
            return x * self.scale

    model = dense_model(Odd())
    model.layers[-1].scale.overwrite_with_gradient = False
    model(X)
    twin = twin_of(model)

    for ours, theirs in zip(model.variables, twin.variables, strict=True):
        for name in ("name", "path", "dtype", "shape", "trainable", "aggregation", "_autocast"):
            assert getattr(ours, name) == getattr(theirs, name)
        assert type(ours.constraint) is type(theirs.constraint)
        assert type(ours.regularizer) is type(theirs.regularizer)
    assert_equal_outputs(model, twin, X)


def test_frozen_variable_stays_frozen():
    model = dense_model()
    model.layers[-1].kernel.trainable = False
    model.compile("sgd", "mse")
    twin = twin_of(model)
    fit_once(twin, X, Y)

    assert [v.trainable for v in twin.variables] == [False, True]
    np.testing.assert_array_equal(*numbers((model.layers[-1].kernel, twin.layers[-1].kernel)))


# --- LoRA -------------------------------------------------------------------------------------------------------------


def _lora_layers():
    return {
        "dense": (layers.Dense(3), X),
        "einsum": (layers.EinsumDense("ab,bc->ac", output_shape=3, bias_axes="c"), X),
        "embedding": (layers.Embedding(9, 3), np.array([[1, 2], [3, 8]])),
        "conv": (layers.Conv1D(3, 2), floats(2, 6, 4)),
    }


# keras#21111; keras PR#18942
@pytest.mark.parametrize("kind", ["dense", "einsum", "embedding", "conv"])
def test_lora_keeps_alpha_matrices_and_frozen_kernels(kind):
    layer, x = _lora_layers()[kind]
    model = keras.Sequential([layer])
    model(x)
    layer.enable_lora(2, lora_alpha=8)
    for variable in layer.trainable_variables:
        variable.assign(floats(*variable.shape, seed=3))
    twin = twin_of(model)

    assert (twin.layers[0].lora_rank, twin.layers[0].lora_alpha) == (2, 8)
    assert [v.trainable for v in twin.variables] == [v.trainable for v in model.variables]
    assert_equal_outputs(model, twin, x)


def test_lora_twin_trains_identically_and_saves(tmp_path):
    model = dense_model(layers.Dense(3))
    model.layers[-1].enable_lora(2, lora_alpha=4)
    trained(model, X, Y, optimizer="adam")
    twin = twin_of(model)

    assert fit_once(model, X, Y) == fit_once(twin, X, Y)
    assert_equal_values(model, twin)
    twin.save_weights(tmp_path / "twin.weights.h5")
    twin.load_weights(tmp_path / "twin.weights.h5")
    np.testing.assert_allclose(outputs(model, X)[0], outputs(twin, X)[0], atol=1e-6)


def test_enabling_lora_on_the_twin_does_not_affect_the_original():
    model = dense_model()
    twin = twin_of(model)
    twin.layers[-1].enable_lora(2)

    assert not model.layers[-1].lora_enabled
    assert len(model.trainable_variables) == 2
    assert len(twin.trainable_variables) == 3
    assert_equal_outputs(model, twin, X)


# --- Quantization -----------------------------------------------------------------------------------------------------


def _quantizable(kind):
    if kind == "dense":
        return keras.Sequential([keras.Input((4,)), layers.Dense(4, activation="relu"), layers.Dense(3)]), X
    if kind == "einsum":
        return keras.Sequential(
            [keras.Input((2, 4)), layers.EinsumDense("abc,cd->abd", output_shape=(None, 6))]
        ), floats(3, 2, 4)
    return keras.Sequential([keras.Input((3,), dtype="int32"), layers.Embedding(9, 4)]), np.array([[1, 2, 8]])


# keras PR#21928, qkeras#95, keras PR#21896
@pytest.mark.parametrize("mode", ["int8", "int4"])
@pytest.mark.parametrize("kind", ["dense", "einsum", "embedding"])
def test_quantized_model_is_exact(kind, mode):
    model, x = _quantizable(kind)
    model.quantize(mode)
    twin = twin_of(model)

    assert_equal_outputs(model, twin, x)
    assert [layer.quantization_mode for layer in twin.layers if hasattr(layer, "quantization_mode")] == [
        layer.quantization_mode for layer in model.layers if hasattr(layer, "quantization_mode")
    ]


@pytest.mark.parametrize("mode", ["int8", "int4", "float8"])
def test_quantizing_the_twin_changes_the_twin_only(mode):
    model, x = _quantizable("dense")
    before = outputs(model, x)[0]
    twin = twin_of(model)
    twin.quantize(mode)

    assert [layer.quantization_mode for layer in twin.layers] == [mode, mode]
    assert [layer.quantization_mode for layer in model.layers] == [None, None]
    np.testing.assert_array_equal(outputs(model, x)[0], before)
    model.quantize(mode)
    assert_equal_outputs(model, twin, x)


def test_quantizing_the_original_does_not_affect_the_twin():
    model, x = _quantizable("dense")
    twin = twin_of(model)
    before = outputs(twin, x)[0]
    model.quantize("int8")

    assert [layer.quantization_mode for layer in twin.layers] == [None, None]
    np.testing.assert_array_equal(outputs(twin, x)[0], before)


@pytest.mark.parametrize("kind", ["dense", "einsum"])
def test_float8_model_keeps_its_scales_and_histories_and_trains_identically(kind):
    model, x = _quantizable(kind)
    model.quantize("float8")
    y = outputs(model, x)[0] + 1
    # Untraced, the gradient of Keras' float8 fails on TensorFlow; compiled by XLA it takes too long.
    trained(model, x, y, optimizer="adam", run_eagerly=False, jit_compile=False)
    twin = twin_of(model)

    assert_equal_values(model, twin)
    assert fit_once(model, x, y) == fit_once(twin, x, y)
    assert_equal_values(model, twin)


def test_quantized_model_with_lora_is_exact():
    model, x = _quantizable("dense")
    model.quantize("int8")
    model.layers[0].enable_lora(2, lora_alpha=6)
    model.layers[0].lora_kernel_b.assign(floats(2, 4, seed=5))
    twin = twin_of(model)

    assert_equal_outputs(model, twin, x)


def test_quantized_twin_saves_and_loads(tmp_path):
    model, x = _quantizable("dense")
    model.quantize("int8")
    twin = twin_of(model)
    twin.save(tmp_path / "twin.keras")

    assert_equal_outputs(model, keras.models.load_model(tmp_path / "twin.keras"), x)


def test_quantized_nested_model_is_exact():
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(4)], name="inner")
    model = dense_model(inner, layers.Dense(3))
    model.quantize("int8")
    twin = twin_of(model)

    assert twin.get_layer("inner").layers[0].quantization_mode == "int8"
    assert_equal_outputs(model, twin, X)


def test_layer_quantized_in_place_has_independent_call_functions():
    layer = layers.Dense(3)
    layer.build((None, 4))
    twin = twin_of(layer)
    twin.quantize("int8")

    assert layer.quantization_mode is None
    assert twin.quantization_mode == "int8"
    assert layer.kernel.dtype == "float32"


def test_building_the_twin_of_an_unbuilt_layer_leaves_the_original_unbuilt():
    layer = layers.Dense(3)
    twin = twin_of(layer)
    twin.build((None, 4))

    assert (layer.built, twin.built) == (False, True)
    assert layer.variables == []


# --- Dtype policies ---------------------------------------------------------------------------------------------------


# tf#46380, larq#631
def test_policy_per_layer_is_kept():
    model = dense_model(
        layers.Dense(4, dtype="mixed_bfloat16"),
        layers.Dense(4, dtype="float16"),
        layers.Dense(3, dtype="float32"),
    )
    twin = twin_of(model)

    assert [layer.dtype_policy.name for layer in twin.layers] == [layer.dtype_policy.name for layer in model.layers]
    assert [(layer.compute_dtype, layer.variable_dtype) for layer in twin.layers] == [
        (layer.compute_dtype, layer.variable_dtype) for layer in model.layers
    ]
    assert_equal_outputs(model, twin, X)


def test_policy_map_is_independent():
    policies = keras.dtype_policies.DTypePolicyMap()
    policies["block/dense"] = keras.DTypePolicy("mixed_bfloat16")
    block = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="dense", dtype=policies)], name="block")
    model = dense_model(block)
    model.held = policies
    twin = twin_of(model)
    policies["other"] = keras.DTypePolicy("float16")

    assert "other" not in twin.held
    assert_equal_outputs(model, twin, X)


def test_policy_set_after_building_is_kept():
    model = dense_model()
    model.layers[-1].dtype_policy = "mixed_bfloat16"
    twin = twin_of(model)

    assert twin.layers[-1].dtype_policy.name == "mixed_bfloat16"
    assert_equal_outputs(model, twin, X)


def test_changing_the_policy_of_the_twin_does_not_affect_the_original():
    model = dense_model()
    twin = twin_of(model)
    twin.layers[-1].dtype_policy = "mixed_bfloat16"

    assert model.layers[-1].dtype_policy.name == "float32"


def test_layer_without_autocast_stays_without_autocast():
    model = dense_model(layers.Dense(3), layers.Identity(autocast=False))
    twin = twin_of(model)

    assert [layer.autocast for layer in twin.layers] == [layer.autocast for layer in model.layers]
    assert_equal_outputs(model, twin, X)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "int8", "uint8", "bool", "int64" if keras.backend.backend() != "jax" else "int32"]
)
def test_variables_of_every_dtype_are_bit_equal(dtype):
    class Holder(layers.Layer):
        def __init__(self):
            super().__init__()
            self.held = self.add_weight(shape=(3,), dtype=dtype, initializer="ones", trainable=False)

        def call(self, x):
            return x

    model = dense_model(Holder())
    twin = twin_of(model)

    assert twin.layers[-1].held.dtype == dtype
    assert_equal_values(model, twin)


# --- Masks ------------------------------------------------------------------------------------------------------------


# keras#6169, #7589, #12202
def test_implicit_and_explicit_masks_are_both_kept():
    tokens, keep = keras.Input((5,), dtype="int32"), keras.Input((5,), dtype="bool")
    embedded = layers.Embedding(9, 4, mask_zero=True)(tokens)
    found = layers.LSTM(3)(embedded)
    given = layers.LSTM(3)(embedded, mask=keep)
    model = keras.Model([tokens, keep], [found, given])
    twin = twin_of(model)
    x = [np.array([[1, 2, 0, 0, 0]]), np.array([[True, True, True, True, False]])]

    assert_equal_outputs(model, twin, x)
    other = [x[0], ~x[1]]
    assert_equal_outputs(model, twin, other)
    assert not np.array_equal(outputs(twin, x)[1], outputs(twin, other)[1])


# keras#7591
def test_layer_with_a_list_of_masks_keeps_each_mask():
    class Split(layers.Layer):
        supports_masking = True

        def call(self, x):
            return x[..., :2], x[..., 2:]

        def compute_mask(self, x, mask=None):
            return [mask, None]

    inputs = keras.Input((5, 4))
    first, second = Split()(layers.Masking()(inputs))
    model = keras.Model(inputs, [layers.GRU(3)(first), layers.GRU(3)(second)])
    x = floats(2, 5, 4)
    x[:, 3:] = 0
    twin = twin_of(model)

    assert_equal_outputs(model, twin, x)


def test_supports_masking_set_on_the_instance_is_kept():
    layer = layers.Lambda(lambda x: x * 2)
    layer.supports_masking = True
    inputs = keras.Input((5, 4))
    model = keras.Model(inputs, layers.LSTM(3)(layer(layers.Masking()(inputs))))
    twin = twin_of(model)
    x = floats(2, 5, 4)
    x[:, 2:] = 0

    assert twin.layers[-1].__class__ is layers.LSTM
    assert [layer.supports_masking for layer in twin.layers] == [layer.supports_masking for layer in model.layers]
    assert_equal_outputs(model, twin, x)


def test_mask_computed_only_at_run_time_is_propagated():
    model = keras.Sequential([layers.Embedding(9, 4, mask_zero=True), layers.Dropout(0.1), layers.LSTM(3)])
    tokens = np.array([[1, 2, 0, 0]])
    model(tokens)
    twin = twin_of(model)

    assert_equal_outputs(model, twin, tokens)
    assert not np.array_equal(outputs(twin, tokens)[0], outputs(twin, np.array([[1, 2, 3, 3]]))[0])


def test_causal_and_padding_masks_of_attention_are_exact():
    tokens = keras.Input((5,), dtype="int32")
    x = layers.Embedding(9, 4, mask_zero=True)(tokens)
    y, scores = layers.MultiHeadAttention(2, 3)(x, x, use_causal_mask=True, return_attention_scores=True)
    model = keras.Model(tokens, [y, scores])
    twin = twin_of(model)

    assert_equal_outputs(model, twin, np.array([[1, 2, 3, 0, 0]]))


# --- Remat ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["full", "activations", "list_of_layers", "larger_than"])
def test_remat_is_kept(mode):
    options = (
        {"layer_names": ["dense"]}
        if mode == "list_of_layers"
        else {"output_size_threshold": 2}
        if mode == "larger_than"
        else {}
    )
    with keras.RematScope(mode=mode, **options):
        model = dense_model(layers.Dense(3, activation="relu", name="dense"))
    twin = twin_of(model)

    kept = twin.layers[-1]._remat_mode
    assert kept is not None
    assert (kept.mode, kept.output_size_threshold, kept.layer_names) == (
        mode,
        *(getattr(model.layers[-1]._remat_mode, n) for n in ("output_size_threshold", "layer_names")),
    )
    if mode != "larger_than":  # Keras cannot call this mode with a batch of unknown size
        assert_equal_outputs(model, twin, X)
    if keras.backend.backend() != "tensorflow":  # Keras cannot train with remat there
        model.compile("sgd", "mse")
        twin = twin_of(model)
        assert fit_once(model, X, Y) == fit_once(twin, X, Y)


# --- Config values ----------------------------------------------------------------------------------------------------


def test_mutable_values_of_a_config_are_independent():
    class Scaled(layers.Layer):
        def __init__(self, factors, table):
            super().__init__()
            self.factors = factors
            self.table = table

        def call(self, x):
            return ops.add(x * self.factors["a"], self.table)

    model = dense_model(Scaled({"a": 2.0}, np.arange(4.0, dtype="float32")))
    twin = twin_of(model)
    assert_equal_outputs(model, twin, X)
    twin.layers[-1].factors["a"] = 9.0
    twin.layers[-1].table[:] = 0

    assert model.layers[-1].factors == {"a": 2.0}
    np.testing.assert_array_equal(model.layers[-1].table, np.arange(4.0))


def test_embedding_and_a_convolution_with_every_option_train_identically():
    inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(4, 3, strides=2, padding="same", groups=1, dilation_rate=1, use_bias=False)(inputs)
    x = layers.DepthwiseConv2D(3, depth_multiplier=2)(x)
    x = layers.SeparableConv2D(4, 2)(x)
    x = layers.Conv2DTranspose(3, 2, strides=2)(x)
    x = layers.PReLU(shared_axes=[1, 2])(x)
    model = keras.Model(inputs, layers.Dense(1)(layers.GlobalAveragePooling2D()(x)))
    images, y = floats(2, 8, 8, 3), floats(2, 1)
    trained(model, images, y, optimizer="adam")
    twin = twin_of(model)

    assert fit_once(model, images, y) == fit_once(twin, images, y)
    assert_equal_values(model, twin)


def test_twin_of_a_twin_is_exact():
    model = trained(
        dense_model(layers.Dropout(0.3, seed=2), layers.BatchNormalization(), layers.Dense(3)), X, Y, optimizer="adam"
    )
    grandchild = twin_of(twin_of(model))

    assert_equal_values(model, grandchild)
    assert fit_once(model, X, Y) == fit_once(grandchild, X, Y)
    same_random_state()
