"""The option `weights=` of `clone`: fresh weights, shared weights, and the state that is kept in both cases."""

import random

import keras
import numpy as np
import pytest
from keras import layers, ops

import ramet
from ramet import edits as e
from ramet.errors import CannotCopyError
from tests.support.graph_models import GRAPHS, MODELS, Tree, data_for
from tests.support.reach import assert_independent
from tests.support.twins import assert_equal_outputs, assert_equal_values, fit_once, outputs, values

every_graph = pytest.mark.parametrize("make", GRAPHS.values(), ids=GRAPHS.keys())


def _counters():
    from keras.src.backend.common import global_state

    return dict(global_state.get_global_attribute("object_name_uids") or {})


def _arrays(variables):
    return [np.array(ops.convert_to_numpy(variable)) for variable in variables]


def _equal(first, second):
    return [bool(np.array_equal(a, b)) for a, b in zip(_arrays(first), _arrays(second), strict=True)]


def _trained(model):
    model.compile(keras.optimizers.Adam(0.05), "mse", metrics=["mae"])
    model.optimizer.learning_rate = 0.25
    x = data_for(model)
    fit_once(model, x, outputs(model, x)[0] + 1)
    return model


# Shared weights


@every_graph
def test_shared_weights_are_the_same_variables(make):
    model = make()

    twin = ramet.clone(model, weights="share")

    assert [id(v) for v in twin.weights] == [id(v) for v in model.weights]
    assert not {id(layer) for layer in twin.layers} & {id(layer) for layer in model.layers}
    assert ramet.capture(twin) == ramet.capture(model)


def test_training_one_of_two_that_share_trains_both():
    model = MODELS["image"]()
    twin = ramet.clone(model, weights="share")
    x = data_for(model)
    before = _arrays(model.trainable_variables)
    twin.compile(keras.optimizers.SGD(0.1), "mse")

    fit_once(twin, x, np.ones((4, 4), "float32"))

    assert not any(
        np.array_equal(a, b) for a, b in list(zip(before, _arrays(model.trainable_variables), strict=True))[:1]
    )
    assert_equal_outputs(model, twin, x)


def test_training_the_original_trains_the_twin_that_shares():
    model = _trained(MODELS["one_dense"]())
    twin = ramet.clone(model, weights="share")
    x = data_for(model)

    fit_once(model, x, np.ones((4, 2), "float32"))
    fit_once(twin, x, np.ones((4, 2), "float32"))

    assert_equal_outputs(model, twin, x)
    assert twin.optimizer is not model.optimizer


def test_a_layer_alone_shares_its_weights():
    layer = layers.Dense(2)
    layer.build((None, 3))

    twin = ramet.clone(layer, weights="share")

    assert twin is not layer
    assert twin.kernel is layer.kernel


def test_a_subclassed_model_shares_its_weights():
    model = Tree()
    model.build((None, 4))

    twin = ramet.clone(model, weights="share")

    assert [id(v) for v in twin.weights] == [id(v) for v in model.weights]


# Fresh weights


@every_graph
def test_fresh_weights_keep_the_graph(make):
    model = make()

    twin = ramet.clone(model, weights="fresh")

    assert ramet.capture(twin) == ramet.capture(model)
    assert_independent(model, twin)


@every_graph
def test_same_seed_gives_equal_weights_and_changes_no_global_state(make):
    model = make()
    before, counters = values(model), _counters()
    python, numpy = random.getstate(), str(np.random.get_state(legacy=False))

    first = ramet.clone(model, weights="fresh", seed=1)
    random.random()
    after_draw = random.getstate()
    second = ramet.clone(model, weights="fresh", seed=1)

    assert_equal_values(first, second)
    assert random.getstate() == after_draw
    assert str(np.random.get_state(legacy=False)) == numpy
    assert _counters() == counters
    assert python != after_draw
    for a, b in zip(before, values(model), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "name", ["one_dense", "nested_models", "composite", "wrappers", "image", "embedded_lstm", "backbone"]
)
def test_different_seeds_give_different_weights(name):
    model = MODELS[name]()

    first, second = (ramet.clone(model, weights="fresh", seed=seed) for seed in (1, 2))

    kernels = [[v for v in twin.weights if v.name in ("kernel", "embeddings")] for twin in (first, second)]
    assert kernels[0]
    assert not any(_equal(*kernels))


@pytest.mark.parametrize("name", ["one_dense", "nested_models", "composite", "wrappers", "image", "backbone"])
def test_fresh_weights_without_a_seed_are_new_each_time(name):
    model = MODELS[name]()

    twin, other = ramet.clone(model, weights="fresh"), ramet.clone(model, weights="fresh")

    kernels = [[v for v in one.weights if v.name == "kernel"] for one in (model, twin, other)]
    assert not any(_equal(kernels[0], kernels[1]))
    assert not any(_equal(kernels[1], kernels[2]))


def test_weights_come_from_the_initializers_of_the_layer():
    x = keras.Input((4,))
    model = keras.Model(
        x, layers.Dense(2, kernel_initializer="ones", bias_initializer=keras.initializers.Constant(3.0))(x)
    )
    model.set_weights([np.zeros((4, 2)), np.zeros(2)])

    twin = ramet.clone(model, weights="fresh", seed=1)

    np.testing.assert_array_equal(twin.get_weights()[0], np.ones((4, 2)))
    np.testing.assert_array_equal(twin.get_weights()[1], [3.0, 3.0])


def test_batch_statistics_start_over():
    model = MODELS["image"]()
    for _ in range(2):
        model(data_for(model), training=True)
    norm = model.get_layer("norm")
    norm.gamma.assign([5.0] * 4)

    fresh = ramet.clone(model, weights="fresh", seed=1).get_layer("norm")

    assert [list(a) for a in fresh.get_weights()] == [[1.0] * 4, [0.0] * 4, [0.0] * 4, [1.0] * 4]
    assert not np.array_equal(_arrays([norm.moving_mean])[0], np.zeros(4))


def test_optimizer_and_metrics_are_reset_and_the_learning_rate_is_kept():
    model = _trained(MODELS["one_dense"]())

    twin = ramet.clone(model, weights="fresh", seed=1)

    slots = [v for v in twin.optimizer.variables if v is not twin.optimizer._learning_rate]
    assert all(not np.any(array) for array in _arrays(slots))
    assert int(twin.optimizer.iterations) == 0
    assert float(ops.convert_to_numpy(twin.optimizer.learning_rate)) == 0.25
    assert all(not np.any(array) for array in _arrays(twin.metrics_variables))
    assert int(model.optimizer.iterations) == 1
    fit_once(twin, data_for(model), np.ones((4, 2), "float32"))
    assert int(twin.optimizer.iterations) == 1


def test_a_learning_rate_schedule_is_kept():
    model = MODELS["one_dense"]()
    schedule = keras.optimizers.schedules.ExponentialDecay(0.5, 1, 0.5)
    model.compile(keras.optimizers.SGD(schedule, momentum=0.9), "mse")
    fit_once(model, data_for(model), np.ones((4, 2), "float32"))

    twin = ramet.clone(model, weights="fresh", seed=1)

    assert float(ops.convert_to_numpy(twin.optimizer.learning_rate)) == 0.5
    assert int(twin.optimizer.iterations) == 0


def test_states_of_stateful_layers_are_reset():
    x = keras.Input((3, 2), batch_size=2)
    rnn = layers.GRU(2, stateful=True, name="rnn")
    model = keras.Model(
        x, layers.Bidirectional(layers.LSTM(2, stateful=True), name="both")(layers.RepeatVector(2)(rnn(x)))
    )
    model(np.ones((2, 3, 2), "float32"))
    assert np.any(_arrays(rnn.states)[0])

    twin = ramet.clone(model, weights="fresh", seed=1)

    both = twin.get_layer("both")
    states = [*twin.get_layer("rnn").states, *both.forward_layer.states, *both.backward_layer.states]
    assert states
    assert not any(np.any(array) for array in _arrays(states))
    assert np.any(_arrays(rnn.states)[0])


def test_adapted_statistics_are_kept():
    normal = layers.Normalization(name="normal")
    normal.adapt(np.array([[1.0, 10.0], [3.0, 30.0]], "float32"))
    buckets = layers.Discretization(bin_boundaries=[0.0, 1.0], name="buckets")
    model = keras.Sequential([keras.Input((2,)), normal, buckets, layers.Dense(2, name="d")])

    twin = ramet.clone(model, weights="fresh", seed=1)

    for ours, theirs in zip(normal.get_weights(), twin.get_layer("normal").get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(np.array(twin.get_layer("normal").mean), np.array(normal.mean))
    assert twin.get_layer("buckets").bin_boundaries == [0.0, 1.0]
    assert not np.array_equal(twin.get_layer("d").get_weights()[0], model.get_layer("d").get_weights()[0])


def test_adapted_statistics_inside_a_composite_layer_are_kept():
    class Front(keras.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.normal = layers.Normalization(name="normal")
            self.dense = layers.Dense(2, name="dense")

        def build(self, shape):
            self.normal.build(shape)
            self.dense.build(shape)

        def call(self, x):
            return self.dense(self.normal(x))

    x = keras.Input((2,))
    front = Front(name="front")
    model = keras.Model(x, front(x))
    front.normal.adapt(np.array([[1.0, 10.0], [3.0, 30.0]], "float32"))

    twin = ramet.clone(model, weights="fresh", seed=1)

    inside = twin.get_layer("front")
    assert all(_equal(inside.normal.weights, front.normal.weights))
    assert not np.array_equal(inside.dense.get_weights()[0], front.dense.get_weights()[0])


def test_vocabularies_are_kept():
    lookup = layers.StringLookup(name="lookup")
    lookup.adapt(["a", "b", "b"])
    model = keras.Sequential([lookup, layers.Embedding(3, 2, name="emb")], name="words")

    twin = ramet.clone(model, weights="fresh", seed=1)

    assert twin.get_layer("lookup").get_vocabulary() == lookup.get_vocabulary()


def test_lambda_that_keras_cannot_clone_needs_no_config():
    model = MODELS["two_output_lambda"]()

    twin = ramet.clone(model, weights="fresh")

    assert_equal_outputs(model, twin, data_for(model))


def test_layers_without_variables_never_need_a_config():
    class NoConfig(keras.Layer):
        def __init__(self, thing):
            super().__init__()
            self.thing = thing

        def call(self, x):
            return x + 1

    x = keras.Input((4,))
    thing = object()
    model = keras.Model(x, layers.Dense(2, name="d")(NoConfig([thing])(x)))

    twin = ramet.clone(model, weights="fresh", share=[thing])

    assert not np.array_equal(twin.get_layer("d").get_weights()[0], model.get_layer("d").get_weights()[0])


class Opaque(keras.Layer):
    """A layer with a weight that cannot be created from its config."""

    def __init__(self, function, **kwargs):
        super().__init__(**kwargs)
        self.function = function

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1],), name="w")

    def call(self, x):
        return self.function(x * self.w)

    def get_config(self):
        raise NotImplementedError("no config for this one")


def test_layer_that_cannot_be_recreated_is_refused_with_its_path():
    i = keras.Input((4,), name="i")
    inner = keras.Model(i, Opaque(lambda x: x, name="opaque")(i), name="inner")
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dense(2)(inner(x)), name="outer")
    before = values(model)

    with pytest.raises(ramet.errors.CannotCopyError) as caught:
        ramet.clone(model, weights="fresh")

    assert str(caught.value) == (
        "Cannot give 'outer/inner/opaque' fresh weights: Opaque cannot be created from its config.\n"
        "  found:    NotImplementedError: no config for this one\n"
        "  fix: give Opaque a get_config() that contains every argument, or clone with weights='copy'."
    )
    assert caught.value.path == "outer/inner/opaque"
    for a, b in zip(before, values(model), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_composite_layer_without_a_config_is_entered():
    class Holder(keras.Layer):
        def __init__(self, function):
            super().__init__(name="holder")
            self.function = function
            self.dense = layers.Dense(3, name="dense")

        def build(self, shape):
            self.dense.build(shape)

        def call(self, x):
            return self.function(self.dense(x))

    x = keras.Input((4,))
    model = keras.Model(x, Holder(lambda x: x + 1)(x))

    twin = ramet.clone(model, weights="fresh", seed=1)

    assert _equal(model.weights, twin.weights) == [False, True]  # a bias starts at zero


@keras.saving.register_keras_serializable("tests")
class BuiltByItsCall(layers.Layer):
    """A layer with its own weight and an inner layer that is built at the first call."""

    def __init__(self, **options):
        super().__init__(**options)
        self.table = self.add_weight(shape=(3, 4), name="table")
        self.norm = layers.LayerNormalization(name="norm", dtype=self.dtype_policy)

    def call(self, x):
        return x + self.norm(ops.convert_to_tensor(self.table))[:1]


def test_a_layer_whose_parts_are_built_by_its_call_gets_fresh_weights():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, BuiltByItsCall(name="own")(x))
    model.get_layer("own").norm.gamma.assign(np.full(4, 7.0))
    twin = ramet.clone(model, weights="fresh")
    assert [v.path for v in twin.variables] == [v.path for v in model.variables]
    np.testing.assert_array_equal(np.asarray(twin.get_layer("own").norm.gamma), np.ones(4))


def test_a_subclassed_model_gets_fresh_weights():
    model = Tree()
    model.build((None, 4))

    first, second = ramet.clone(model, weights="fresh", seed=1), ramet.clone(model, weights="fresh", seed=1)

    assert _equal(model.weights, first.weights) == [False, True] * 3
    assert all(_equal(first.weights, second.weights))


def test_tied_weight_stays_tied():
    x = keras.Input((5,), dtype="int32")
    emb = layers.ReversibleEmbedding(6, 3, name="emb") if hasattr(layers, "ReversibleEmbedding") else None
    if emb is None:
        pytest.skip("this Keras has no ReversibleEmbedding; a newer Keras lifts this")
    model = keras.Model(x, emb(emb(x), reverse=True))

    twin = ramet.clone(model, weights="fresh", seed=1)

    assert len(twin.weights) == len(model.weights)
    assert not any(_equal(model.weights, twin.weights))


def test_a_shared_layer_stays_shared_with_one_set_of_fresh_weights():
    model = MODELS["shared_across_levels"]()

    twin = ramet.clone(model, weights="fresh", seed=1)

    assert len(twin.weights) == 2
    assert twin.get_layer("inner").get_layer("both") is twin.get_layer("both")


def test_frozen_layers_are_fresh_and_stay_frozen():
    model = MODELS["frozen_parts"]()

    twin = ramet.clone(model, weights="fresh", seed=1)

    assert not twin.get_layer("block").first.trainable
    assert _equal(model.weights, twin.weights).count(False) == 3
    assert [v.path for v in twin.trainable_variables] == [v.path for v in model.trainable_variables]


def test_seeded_initializers_are_drawn_again():
    """A seeded initializer gives the same numbers again without seed=, and other numbers with it."""
    x = keras.Input((4,))
    start = keras.initializers.GlorotUniform(seed=7)
    model = keras.Model(x, layers.Dense(2, kernel_initializer=start)(x))
    first = _arrays(model.weights)[0]
    model.set_weights([np.zeros((4, 2)), np.zeros(2)])

    again, other = ramet.clone(model, weights="fresh"), ramet.clone(model, weights="fresh", seed=3)

    np.testing.assert_array_equal(_arrays(again.weights)[0], first)
    assert not np.array_equal(_arrays(other.weights)[0], first)


def test_generators_restart():
    model = MODELS["call_options"]()
    x = data_for(model)
    fresh_draws = outputs(model, x)
    outputs(model, x)

    twin = ramet.clone(model, weights="fresh")

    if keras.backend.backend() != "torch":  # torch draws from its own generator
        np.testing.assert_array_equal(outputs(twin, x)[0], fresh_draws[0])


@pytest.mark.parametrize("weights", ["new", None, True])
def test_unknown_weights_option_is_refused(weights):
    with pytest.raises(ramet.errors.ArgumentError) as caught:
        ramet.clone(MODELS["one_dense"](), weights=weights)

    assert str(caught.value) == (
        f"Cannot clone with weights={weights!r}: unknown value.\n"
        "  expected: 'copy', 'fresh' or 'share'\n"
        "  fix: pass 'copy', 'fresh' or 'share'."
    )


def test_shared_weights_and_a_name_are_refused():
    with pytest.raises(ramet.errors.ArgumentError) as caught:
        ramet.clone(MODELS["one_dense"](), weights="share", name="other")

    assert str(caught.value) == (
        "Cannot clone with weights='share' and name=: a shared variable has one path, and name= would change it.\n"
        "  fix: leave name= out, or copy the weights."
    )


class Shuffled(layers.Layer):
    """A layer that draws a permutation in its constructor, in one of several ways, and keeps it as a variable."""

    def __init__(self, size, way, **options):
        super().__init__(**options)
        self.size, self.way = size, way
        order = DRAWS[way](size)
        self.order = self.add_weight(
            shape=(size,), dtype="int32", trainable=False, name="order", initializer=lambda *_, **__: order
        )

    def call(self, x):
        return keras.ops.take(x, self.order, axis=-1)

    def get_config(self):
        return {**super().get_config(), "size": self.size, "way": self.way}


def _by_python(size):
    order = list(range(size))
    random.shuffle(order)
    return np.array(order, "int32")


def _by_backend(size):
    name = keras.backend.backend()
    if name == "torch":
        import torch

        return torch.randperm(size, dtype=torch.int32)
    if name == "tensorflow":
        import tensorflow as tf

        return tf.random.shuffle(tf.range(size))
    return _by_python(size)  # JAX draws from keys only


DRAWS = {
    "python": _by_python,
    "numpy": lambda size: np.random.permutation(size).astype("int32"),
    "keras": lambda size: keras.random.shuffle(keras.ops.arange(size, dtype="int32")),
    "backend": _by_backend,
    "without a seed": lambda size: np.random.default_rng().permutation(size).astype("int32"),
}


@pytest.mark.parametrize("way", [way for way in DRAWS if way != "without a seed"])
def test_random_numbers_drawn_by_a_constructor_follow_the_seed(way):
    model = keras.Sequential([keras.Input((50,)), Shuffled(50, way, name="s"), layers.Dense(2, name="d")])

    first = ramet.clone(model, weights="fresh", seed=1)
    DRAWS[way](50)
    second, other = (ramet.clone(model, weights="fresh", seed=seed) for seed in (1, 2))

    assert_equal_values(first, second)
    orders = [keras.ops.convert_to_numpy(m.get_layer("s").order).tolist() for m in (first, other)]
    assert sorted(orders[0]) == list(range(50))
    assert orders[0] != orders[1]


@pytest.mark.parametrize("way", [way for way in DRAWS if way != "without a seed"])
def test_new_layers_that_draw_in_their_constructor_are_reproducible(way):
    model = keras.Sequential([keras.Input((50,)), layers.Dense(50, name="d")])
    edit = e.insert_after("d", lambda _: Shuffled(50, way, name="s"))

    first = ramet.edit(model, edit, seed=3)
    DRAWS[way](50)
    second = ramet.edit(model, edit, seed=3)

    assert_equal_values(first, second)


def test_layer_with_an_unseeded_generator_is_refused():
    model = keras.Sequential([keras.Input((50,)), Shuffled(50, "without a seed", name="s")])

    with pytest.raises(CannotCopyError, match="'order' is different each time it is created"):
        ramet.clone(model, weights="fresh", seed=1)
    ramet.clone(model, weights="fresh")
