"""`seed=`: every random generator and initializer of the twin reseeded, each by its path."""

import random

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from tests.support.same import assert_same
from tests.support.twins import assert_equal_outputs, twin_of
from tests.support.versions import needs_keras

BACKEND = keras.backend.backend()
X = np.ones((8, 4), "float32")


def _noisy():
    inputs = keras.Input((4,))
    inner = keras.Sequential([keras.Input((4,)), layers.Dropout(0.5), layers.Dropout(0.5)], name="inner")
    x = layers.Dropout(0.5)(inner(layers.Dropout(0.5, seed=3)(inputs)))
    return keras.Model(inputs, layers.Dense(2)(layers.GaussianNoise(0.5)(x)))


def _generators(model):
    return [generator for layer in model._flatten_layers() for generator in layer.__dict__.get("_seed_generators", ())]


def _states(model):
    return [np.array(keras.ops.convert_to_numpy(g.state)).tolist() for g in _generators(model)]


def test_each_generator_gets_its_own_seed():
    model = _noisy()

    twin = twin_of(model, seed=7)

    states = [tuple(state) for state in _states(twin)]
    assert len(states) == 5
    assert len(set(states)) == 5
    assert not set(states) & {tuple(state) for state in _states(model)}


def test_same_seed_gives_an_equal_twin_and_a_different_seed_does_not():
    model = _noisy()

    first, again, other = (twin_of(model, seed=seed) for seed in (7, 7, 8))

    assert _states(first) == _states(again)
    assert_same(first, again)
    assert not {tuple(s) for s in _states(first)} & {tuple(s) for s in _states(other)}


def test_seed_does_not_depend_on_what_was_drawn_before():
    model = _noisy()
    first = ramet.clone(model, seed=7)
    for _ in range(3):
        model(X, training=True)
    random.random()
    np.random.random()

    assert _states(ramet.clone(model, seed=7)) == _states(first)


def test_twin_of_a_twin_with_the_same_seed_is_equal():
    model = _noisy()

    assert _states(ramet.clone(ramet.clone(model), seed=7)) == _states(ramet.clone(model, seed=7))


def test_original_keeps_its_seeds():
    model = _noisy()
    before, config = _states(model), model.get_config()

    twin_of(model, seed=7)

    assert _states(model) == before
    assert model.get_config() == config


def test_weights_are_kept_under_a_new_seed():
    model = _noisy()

    twin = twin_of(model, seed=7)

    np.testing.assert_array_equal(*(keras.ops.convert_to_numpy(one.layers[-1].kernel) for one in (model, twin)))


def test_config_has_the_new_seed_and_files_keep_it(tmp_path):
    model = _noisy()
    twin = twin_of(model, seed=7)

    twin.save(tmp_path / "twin.keras")
    loaded = keras.models.load_model(tmp_path / "twin.keras")

    dropouts = [layer for layer in twin._flatten_layers() if isinstance(layer, layers.Dropout | layers.GaussianNoise)]
    assert [layer.get_config()["seed"] for layer in dropouts] == [
        int(layer.seed_generator.state[0]) for layer in dropouts
    ]
    assert _states(loaded) == _states(twin)


@pytest.mark.skipif(
    BACKEND == "torch", reason="dropout draws from torch's global generator; the other backends cover this"
)
def test_noise_differs_by_seed_and_repeats_for_the_same():
    model = _noisy()
    first, again, other = (ramet.clone(model, seed=seed) for seed in (7, 7, 8))

    drawn = [np.array(keras.ops.convert_to_numpy(one(X, training=True))) for one in (first, again, other)]

    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.Dropout(0.5, seed=1),
        lambda: layers.Dropout(0.5),
        lambda: layers.SpatialDropout1D(0.5, seed=1),
        lambda: layers.GaussianDropout(0.5, seed=1),
        lambda: layers.AlphaDropout(0.5, seed=1),
        lambda: layers.GaussianNoise(0.5, seed=1),
        lambda: layers.RandomFlip(seed=1),
        lambda: layers.RandomRotation(0.1, seed=1),
        lambda: layers.LSTM(2, dropout=0.5, seed=1),
        lambda: layers.MultiHeadAttention(1, 2, dropout=0.5, seed=1),
        pytest.param(
            lambda: layers.Attention(dropout=0.5, seed=1),
            marks=needs_keras(3, 13, "its config does not contain the seed"),
        ),
    ],
)
def test_layer_with_a_seed_has_the_new_one_in_its_config(make):
    layer = make()

    twin = ramet.clone(layer, seed=7)

    seeds = {one.get_config()["seed"] for one in (layer, twin, type(twin).from_config(twin.get_config()))}
    assert len(seeds) == 2
    assert isinstance(twin.get_config()["seed"], int)


def _attention(x):
    return layers.MultiHeadAttention(1, 2, dropout=0.5, seed=1)(x, x)


def _grouped_attention(x):
    return layers.GroupQueryAttention(2, 2, 1, dropout=0.5, seed=1)(x, x)


def _recurrent(x):
    return layers.LSTM(2, dropout=0.5, seed=1)(x)


def _both_ways(x):
    return layers.Bidirectional(layers.GRU(2, dropout=0.5, recurrent_dropout=0.5, seed=1))(x)


def _cells(x):
    return layers.RNN([layers.LSTMCell(2, dropout=0.5, seed=1), layers.GRUCell(2, dropout=0.5, seed=1)])(x)


def _per_step(x):
    return layers.TimeDistributed(layers.Dropout(0.5, seed=1))(x)


@pytest.mark.parametrize("block", [_attention, _grouped_attention, _recurrent, _both_ways, _cells, _per_step])
def test_file_of_a_reseeded_twin_has_the_seeds_of_the_twin(block, tmp_path):
    inputs = keras.Input((3, 4))
    model = keras.Model(inputs, block(inputs))
    twin = twin_of(model, seed=7)

    twin.save(tmp_path / "twin.keras")
    loaded = keras.models.load_model(tmp_path / "twin.keras")

    assert _states(twin)
    assert not [state for state in _states(twin) if state in _states(model)]
    assert _states(loaded) == _states(twin)


def test_initializers_are_reseeded_for_layers_that_are_built_later():
    model = keras.Sequential(
        [layers.Dense(3, kernel_initializer=keras.initializers.RandomNormal(seed=1)) for _ in range(2)]
    )
    twins = [ramet.clone(model, seed=seed) for seed in (7, 7, 8)]

    for one in (model, *twins):
        one.build((None, 3))

    kernels = [[keras.ops.convert_to_numpy(layer.kernel).tolist() for layer in one.layers] for one in (model, *twins)]
    assert kernels[0][0] == kernels[0][1]  # the original: both initializers have the same seed
    assert kernels[1] == kernels[2]
    assert kernels[1][0] != kernels[1][1]
    assert kernels[1] != kernels[3]
    assert kernels[0] != kernels[1]


def test_initializers_have_the_new_seed_in_their_config():
    layer = layers.Dense(
        2, kernel_initializer=keras.initializers.GlorotUniform(seed=1), bias_initializer="random_normal"
    )

    twin = ramet.clone(layer, seed=7)

    assert layer.get_config()["kernel_initializer"]["config"]["seed"] == 1
    assert twin.get_config()["kernel_initializer"]["config"]["seed"] not in (1, None)


def test_initializer_used_twice_is_copied_once():
    shared = keras.initializers.RandomNormal(seed=1)
    model = keras.Sequential([layers.Dense(3, kernel_initializer=shared), layers.Dense(3, kernel_initializer=shared)])

    twin = ramet.clone(model, seed=7)

    assert twin.layers[0].kernel_initializer is twin.layers[1].kernel_initializer


class Holder(layers.Layer):
    """A layer with generators of every library, as attributes, in a list and in a dict."""

    def __init__(self, generators, **kwargs):
        super().__init__(**kwargs)
        self.several = list(generators)
        self.named = {"python": random.Random(1)}
        self.one = np.random.default_rng(1)

    def drawn(self):
        return [_draw(generator) for generator in (*self.several, self.named["python"], self.one)]


def _draw(generator):
    if isinstance(generator, random.Random):
        return generator.random()
    if hasattr(generator, "bit_generator") or isinstance(generator, np.random.RandomState):
        return float(generator.uniform())
    if hasattr(generator, "manual_seed"):
        import torch

        return float(torch.rand((), generator=generator))
    return float(generator.uniform(()))


def _library_generators():
    found = [
        np.random.default_rng(1),
        np.random.RandomState(1),
        random.Random(1),
        np.random.Generator(np.random.Philox(1)),
    ]
    if BACKEND == "torch":
        import torch

        found.append(torch.Generator().manual_seed(1))
    if BACKEND == "tensorflow":
        import tensorflow as tf

        found.append(tf.random.Generator.from_seed(1))
    return found


def test_generators_of_other_libraries_continue_from_the_same_state():
    layer = Holder(_library_generators())
    layer.drawn()

    twin = ramet.clone(layer)

    assert twin.drawn() == layer.drawn()


def test_generators_of_other_libraries_are_reseeded():
    layer = Holder(_library_generators())

    first, again, other = (ramet.clone(layer, seed=seed) for seed in (7, 7, 8))

    drawn = [one.drawn() for one in (first, again, other, layer)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == len(drawn[0])
    assert all(a != b for a, b in zip(drawn[0], drawn[2], strict=True))
    assert all(a != b for a, b in zip(drawn[0], drawn[3], strict=True))


def test_seeds_of_models_cloned_together_are_distinct():
    a, b = _noisy(), _noisy()

    twins = ramet.clone([a, b], seed=7)

    states = [tuple(state) for twin in twins for state in _states(twin)]
    assert len(set(states)) == len(states) == 10


class Noise(layers.Layer):
    """A layer that draws from a generator that others may use, too."""

    def __init__(self, generator, **kwargs):
        super().__init__(**kwargs)
        self.generator = generator

    def call(self, x):
        return x + keras.random.normal((4,), seed=self.generator)


def test_generator_used_by_two_layers_is_copied_once_under_a_seed():
    generator = keras.random.SeedGenerator(1)
    model = keras.Sequential([keras.Input((4,)), Noise(generator), Noise(generator)])

    twin, again = (twin_of(model, seed=7) for _ in range(2))

    assert twin.layers[0].generator is twin.layers[1].generator
    assert _states(twin) == _states(again)
    assert_equal_outputs(twin, again, X[:, :4])


@needs_keras(3, 13, "set_random_seed does not reset Keras' global generator")
def test_global_generator_of_keras_is_not_used():
    keras.utils.set_random_seed(5)
    expected = np.array(keras.ops.convert_to_numpy(keras.random.normal((3,))))
    keras.utils.set_random_seed(5)

    ramet.clone(_seedless(), seed=7)

    np.testing.assert_array_equal(keras.ops.convert_to_numpy(keras.random.normal((3,))), expected)


def _seedless():
    return keras.Sequential([layers.Activation("relu")])


@pytest.mark.parametrize("seed", [0, 1, -3, 2**31, 2**63, 10**30])
def test_any_int_is_a_valid_seed(seed):
    model = _noisy()

    twin = twin_of(model, seed=seed)

    assert len({tuple(state) for state in _states(twin)}) == 5
    assert twin.layers[1].get_config()["seed"] < 2**31


@pytest.mark.parametrize("seed", [True, 1.5, "7", [7]])
def test_seed_that_is_not_an_int_is_refused(seed):
    with pytest.raises(ramet.errors.ArgumentError, match="a seed is an int"):
        ramet.clone(_noisy(), seed=seed)


def test_name_and_seed_can_be_combined():
    model = _noisy()

    twin = twin_of(model, name="target", seed=7)

    assert _states(twin) == _states(ramet.clone(model, seed=7))
    assert all(path.startswith("target/") for path in (variable.path for variable in twin.variables))
