"""`seed=`, `name=`, `register_copy`, `__ramet_copy__`, and which Keras is accepted."""

import copy
import random
import types
import warnings

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet._keras.version import check_version
from tests.support.same import assert_same
from tests.support.twins import assert_equal_outputs, assert_equal_values, same_random_state, twin_of, values
from tests.support.versions import needs_keras

BACKEND = keras.backend.backend()
X = np.ones((8, 4), "float32")
Y = np.ones((8, 2), "float32")


# seed=


def _noisy():
    inputs = keras.Input((4,))
    inner = keras.Sequential([keras.Input((4,)), layers.Dropout(0.5), layers.Dropout(0.5)], name="inner")
    x = layers.Dropout(0.5)(inner(layers.Dropout(0.5, seed=3)(inputs)))
    return keras.Model(inputs, layers.Dense(2)(layers.GaussianNoise(0.5)(x)))


def _generators(model):
    return [generator for layer in model._flatten_layers() for generator in layer.__dict__.get("_seed_generators", ())]


def _states(model):
    return [np.array(keras.ops.convert_to_numpy(g.state)).tolist() for g in _generators(model)]


def test_each_generator_gets_a_seed_of_its_own():
    model = _noisy()

    twin = twin_of(model, seed=7)

    states = [tuple(state) for state in _states(twin)]
    assert len(states) == 5
    assert len(set(states)) == 5
    assert not set(states) & {tuple(state) for state in _states(model)}


def test_the_same_seed_gives_the_same_twin_and_another_seed_another():
    model = _noisy()

    first, again, other = (twin_of(model, seed=seed) for seed in (7, 7, 8))

    assert _states(first) == _states(again)
    assert_same(first, again)
    assert not {tuple(s) for s in _states(first)} & {tuple(s) for s in _states(other)}


def test_the_seed_does_not_depend_on_what_was_drawn_before():
    model = _noisy()
    first = ramet.clone(model, seed=7)
    for _ in range(3):
        model(X, training=True)
    random.random()
    np.random.random()

    assert _states(ramet.clone(model, seed=7)) == _states(first)


def test_a_twin_of_a_twin_with_the_same_seed_is_the_same():
    model = _noisy()

    assert _states(ramet.clone(ramet.clone(model), seed=7)) == _states(ramet.clone(model, seed=7))


def test_the_original_keeps_its_seeds():
    model = _noisy()
    before, config = _states(model), model.get_config()

    twin_of(model, seed=7)

    assert _states(model) == before
    assert model.get_config() == config


def test_weights_stay_under_a_new_seed():
    model = _noisy()

    twin = twin_of(model, seed=7)

    np.testing.assert_array_equal(*(keras.ops.convert_to_numpy(one.layers[-1].kernel) for one in (model, twin)))


def test_the_config_says_the_new_seed_and_files_keep_it(tmp_path):
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
    BACKEND == "torch", reason="dropout draws from torch's global generator; the other backends run this"
)
def test_the_noise_differs_by_seed_and_repeats_for_the_same():
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
            marks=needs_keras(3, 13, "its config does not say the seed"),
        ),
    ],
)
def test_a_layer_with_a_seed_says_the_new_one_in_its_config(make):
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
def test_a_file_of_a_reseeded_twin_has_the_seeds_of_the_twin(block, tmp_path):
    inputs = keras.Input((3, 4))
    model = keras.Model(inputs, block(inputs))
    twin = twin_of(model, seed=7)

    twin.save(tmp_path / "twin.keras")
    loaded = keras.models.load_model(tmp_path / "twin.keras")

    assert _states(twin)
    assert not [state for state in _states(twin) if state in _states(model)]
    assert _states(loaded) == _states(twin)


def test_initialisers_are_reseeded_for_layers_that_are_built_later():
    model = keras.Sequential(
        [layers.Dense(3, kernel_initializer=keras.initializers.RandomNormal(seed=1)) for _ in range(2)]
    )
    twins = [ramet.clone(model, seed=seed) for seed in (7, 7, 8)]

    for one in (model, *twins):
        one.build((None, 3))

    kernels = [[keras.ops.convert_to_numpy(layer.kernel).tolist() for layer in one.layers] for one in (model, *twins)]
    assert kernels[0][0] == kernels[0][1]  # the original: both initialisers have the same seed
    assert kernels[1] == kernels[2]
    assert kernels[1][0] != kernels[1][1]
    assert kernels[1] != kernels[3]
    assert kernels[0] != kernels[1]


def test_initialisers_say_the_new_seed_in_their_config():
    layer = layers.Dense(
        2, kernel_initializer=keras.initializers.GlorotUniform(seed=1), bias_initializer="random_normal"
    )

    twin = ramet.clone(layer, seed=7)

    assert layer.get_config()["kernel_initializer"]["config"]["seed"] == 1
    assert twin.get_config()["kernel_initializer"]["config"]["seed"] not in (1, None)


def test_one_initialiser_used_twice_stays_one():
    shared = keras.initializers.RandomNormal(seed=1)
    model = keras.Sequential([layers.Dense(3, kernel_initializer=shared), layers.Dense(3, kernel_initializer=shared)])

    twin = ramet.clone(model, seed=7)

    assert twin.layers[0].kernel_initializer is twin.layers[1].kernel_initializer


class Holder(layers.Layer):
    """Generators of every library, as attributes, in a list and in a dict."""

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


def test_generators_of_other_libraries_go_on_where_they_stood():
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
    """Draws from a generator that others may draw from, too."""

    def __init__(self, generator, **kwargs):
        super().__init__(**kwargs)
        self.generator = generator

    def call(self, x):
        return x + keras.random.normal((4,), seed=self.generator)


def test_a_generator_used_by_two_layers_stays_one_under_a_seed():
    generator = keras.random.SeedGenerator(1)
    model = keras.Sequential([keras.Input((4,)), Noise(generator), Noise(generator)])

    twin, again = (twin_of(model, seed=7) for _ in range(2))

    assert twin.layers[0].generator is twin.layers[1].generator
    assert _states(twin) == _states(again)
    assert_equal_outputs(twin, again, X[:, :4])


@needs_keras(3, 13, "set_random_seed does not begin Keras' global generator anew")
def test_keras_global_generator_is_left_alone():
    keras.utils.set_random_seed(5)
    expected = np.array(keras.ops.convert_to_numpy(keras.random.normal((3,))))
    keras.utils.set_random_seed(5)

    ramet.clone(_seedless(), seed=7)

    np.testing.assert_array_equal(keras.ops.convert_to_numpy(keras.random.normal((3,))), expected)


def _seedless():
    return keras.Sequential([layers.Activation("relu")])


@pytest.mark.parametrize("seed", [0, 1, -3, 2**31, 2**63, 10**30])
def test_any_int_is_a_seed(seed):
    model = _noisy()

    twin = twin_of(model, seed=seed)

    assert len({tuple(state) for state in _states(twin)}) == 5
    assert twin.layers[1].get_config()["seed"] < 2**31


@pytest.mark.parametrize("seed", [True, 1.5, "7", [7]])
def test_what_is_no_int_is_no_seed(seed):
    with pytest.raises(ramet.errors.ArgumentError, match="a seed is an int"):
        ramet.clone(_noisy(), seed=seed)


# name=


def _functional():
    inputs = keras.Input((4,))
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(4), layers.BatchNormalization()], name="inner")
    return keras.Model(inputs, layers.Dense(4)(layers.Dropout(0.5, seed=1)(inner(layers.Dense(4)(inputs)))), name="net")


def test_name_keeps_dtype_policies_that_are_found_by_paths(tmp_path):
    half = keras.DTypePolicy("mixed_bfloat16")
    policy = keras.dtype_policies.DTypePolicyMap("float32", {"mha/query": half, "mha/v.*": half})
    x = keras.Input((3, 4))
    model = keras.Model(x, layers.MultiHeadAttention(2, 2, name="mha", dtype=policy)(x, x))
    twin = ramet.clone(model, name="other")

    twin.save(tmp_path / "twin.keras")
    for one in (model, twin, keras.saving.load_model(tmp_path / "twin.keras")):
        found = one.get_layer("mha")
        dtypes = [part.compute_dtype for part in (found.query_dense, found.value_dense, found.key_dense)]
        assert dtypes == ["bfloat16", "bfloat16", "float32"]
    assert policy["other/mha/query"].name == "float32"  # the map of the original is as it was


def _sequential():
    return keras.Sequential([keras.Input((4,)), layers.Dense(4), layers.Dense(4)], name="net")


@keras.saving.register_keras_serializable("ramet_tests")
class Net(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.one = layers.Dense(4)
        self.many = [layers.Dense(4), layers.LSTM(4)]
        self.own = self.add_weight(shape=(4,), name="own", initializer="ones")

    def build(self, shape):
        self.one.build(shape)
        self.many[0].build((None, 4))
        self.many[1].build((None, 1, 4))

    def call(self, x):
        x = self.many[0](self.one(x)) * self.own
        return self.many[1](keras.ops.expand_dims(x, 1))


def _subclassed():
    model = Net(name="net")
    model.build((None, 4))
    return model


NAMED = {"functional": _functional, "sequential": _sequential, "subclassed": _subclassed}
every_kind = pytest.mark.parametrize("make", NAMED.values(), ids=NAMED.keys())


def _paths(model):
    optimizer = getattr(model, "optimizer", None)
    variables = [*model.variables, *model.metrics_variables, *(optimizer.variables if optimizer else ())]
    return [variable.path for variable in variables]


@every_kind
def test_a_new_name_makes_every_path_distinct(make):
    model = make()
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(X, np.ones((8, 4), "float32"), verbose=0)

    twin = twin_of(model, name="target")

    ours, theirs = _paths(model), _paths(twin)
    assert twin.name == "target"
    assert model.name == "net"
    assert len(set(theirs)) == len(set(ours))
    assert not set(ours) & set(theirs)
    assert all(path.startswith("target/") for path in theirs)
    assert_equal_values(model, twin)


@every_kind
def test_original_and_named_twin_live_in_one_model(make, tmp_path):
    model = make()
    twin = twin_of(model, name="target")
    inputs = keras.Input((4,))
    both = keras.Model(inputs, layers.Dense(2)(layers.Concatenate()([model(inputs), twin(inputs)])))
    both.compile(keras.optimizers.SGD(0.1), "mse")
    before = values(model), values(twin)

    both.fit(X, Y, verbose=0)
    both.save(tmp_path / "both.keras")
    loaded = keras.models.load_model(tmp_path / "both.keras")

    for old, new in zip(before, (values(model), values(twin)), strict=True):
        assert sum(not np.array_equal(a, b) for a, b in zip(old, new, strict=True)) >= 4
    assert len({variable.path for variable in both.variables}) == len(both.variables)
    assert_equal_outputs(both, loaded, X)
    if BACKEND == "torch":
        assert len(list(both.parameters())) == len(both.variables)


@every_kind
def test_a_named_twin_has_the_same_layer_names_and_outputs(make):
    model = make()

    twin = twin_of(model, name="target")

    assert [layer.name for layer in twin.layers] == [layer.name for layer in model.layers]
    assert_equal_outputs(model, twin, X)
    assert {**twin.get_config(), "name": "net"} == {**model.get_config(), "name": "net"}


@every_kind
def test_a_named_twin_trains_like_its_original(make):
    model = make()
    model.compile("adam", "mse")
    twin = twin_of(model, name="target")

    losses = []
    for one in (model, twin):
        same_random_state()
        losses.append(one.train_on_batch(X, np.ones((8, 4), "float32")))

    assert losses[0] == losses[1]
    assert_equal_values(model, twin)


def test_a_named_twin_is_saved_and_loaded_under_its_name(tmp_path):
    twin = twin_of(_functional(), name="target")

    twin.save(tmp_path / "twin.keras")
    loaded = keras.models.load_model(tmp_path / "twin.keras")

    assert loaded.name == "target"
    assert_equal_outputs(twin, loaded, X)


def test_variables_made_after_cloning_get_the_new_prefix_as_well():
    model = keras.Sequential([layers.Dense(4), layers.Dense(4)], name="net")
    twin = ramet.clone(model, name="target")

    for one in (model, twin):
        one.build((None, 4))

    ours, theirs = _paths(model), _paths(twin)
    assert len(ours) == len(theirs) == 4
    assert not set(ours) & set(theirs)


def test_a_subclassed_model_that_is_built_later_gets_the_new_prefix():
    model = Net(name="net")
    twin = ramet.clone(model, name="target")

    for one in (model, twin):
        one(X)

    assert not set(_paths(model)) & set(_paths(twin))
    assert all(path.startswith("target/") for path in _paths(twin))


def test_optimizer_slots_made_after_cloning_are_distinct_too():
    model = _functional()
    model.compile("adam", "mse")
    twin = ramet.clone(model, name="target")

    for one in (model, twin):
        one.train_on_batch(X, np.ones((8, 4), "float32"))

    slots = [
        [v.path for v in one.optimizer.variables if "momentum" in v.path or "velocity" in v.path]
        for one in (model, twin)
    ]
    assert len(slots[0]) == len(slots[1]) > 0
    assert not set(slots[0]) & set(slots[1])


@pytest.mark.parametrize("built", [True, False])
def test_a_layer_gets_a_new_name(built):
    layer = layers.Dense(4, name="old")
    if built:
        layer.build((None, 4))

    twin = ramet.clone(layer, name="new")
    layer.build((None, 4)) if not built else None
    twin.build((None, 4)) if not built else None

    assert twin.name == twin.get_config()["name"] == "new"
    assert [variable.path for variable in twin.variables] == ["new/kernel", "new/bias"]
    assert [variable.path for variable in layer.variables] == ["old/kernel", "old/bias"]


def test_a_nested_model_gets_a_new_name_beside_its_original_in_the_same_parent():
    inner = _functional()
    x = keras.Input((4,))
    outer = keras.Model(x, inner(x))

    twin = twin_of(outer.get_layer("net"), name="target")

    y = keras.Input((4,))
    both = keras.Model(y, inner(y) + twin(y))
    assert len({variable.path for variable in both.variables}) == len(both.variables)


def test_a_second_named_twin_of_a_named_twin_is_distinct_from_both():
    model = _functional()
    first = ramet.clone(model, name="first")

    second = ramet.clone(first, name="second")

    assert len({*_paths(model), *_paths(first), *_paths(second)}) == 3 * len(_paths(model))


def test_a_layer_with_the_same_name_as_the_model_keeps_distinct_paths():
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers.Dense(4, name="b")(layers.Dense(4, name="net")(inputs)), name="net")

    twin = ramet.clone(model, name="target")

    assert len(set(_paths(twin))) == 4
    assert not set(_paths(twin)) & set(_paths(model))


def test_a_metric_and_an_optimizer_get_a_new_name():
    metric, optimizer = keras.metrics.Mean(name="old"), keras.optimizers.Adam(name="old")

    twins = [ramet.clone(one, name="new") for one in (metric, optimizer)]

    assert [twin.name for twin in twins] == ["new", "new"]
    for one, twin in zip((metric, optimizer), twins, strict=True):
        assert not {v.path for v in one.variables} & {v.path for v in twin.variables}


@pytest.mark.parametrize("name", ["", "a/b", 7, "net"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(ramet.errors.ArgumentError, match="Cannot clone 'net' with name="):
        ramet.clone(_sequential(), name=name)


def test_a_collection_takes_no_name():
    with pytest.raises(ramet.errors.ArgumentError, match="one name cannot stand for several"):
        ramet.clone([_sequential()], name="target")


def test_name_and_seed_together():
    model = _noisy()

    twin = twin_of(model, name="target", seed=7)

    assert _states(twin) == _states(ramet.clone(model, seed=7))
    assert all(path.startswith("target/") for path in _paths(twin))


# register_copy and __ramet_copy__


@pytest.fixture
def plans(monkeypatch):
    """What a test registers is forgotten afterwards."""
    from ramet._copy import plans

    monkeypatch.setattr(plans, "_registered", dict(plans._registered))
    yield
    plans._known.clear()


@pytest.fixture
def connection():
    """A class that nobody knows how to copy."""

    class Connection:
        def __init__(self):
            self.log = []

        def __reduce_ex__(self, protocol):
            raise TypeError("a connection is no value")

    return Connection


def _with(part):
    layer = layers.Dense(2, name="holder")
    layer.parts = {"inside": [part]}
    return layer


def _part(layer):
    return layer.parts["inside"][0]


def test_a_class_that_nobody_knows_is_refused_with_its_path(plans, connection):
    with pytest.raises(ramet.errors.CannotCopyError) as caught:
        ramet.clone(_with(connection()))

    assert caught.value.path == "holder.parts['inside'][0]"
    assert "register_copy(Connection, how)" in caught.value.fix


def test_a_class_registered_as_shared_is_shared(plans, connection):
    layer = _with(connection())
    ramet.register_copy(connection, "share")

    assert _part(twin_of(layer, share=[_part(layer)])) is _part(layer)
    assert _part(ramet.clone(layer)) is _part(layer)


def test_a_class_registered_as_refused_is_refused(plans):
    class Secret:
        pass

    assert ramet.clone(_with(Secret())) is not None
    ramet.register_copy(Secret, "refuse")

    with pytest.raises(ramet.errors.CannotCopyError, match="Secret is registered as not to be copied"):
        ramet.clone(_with(Secret()))


def test_a_function_makes_the_copy(plans, connection):
    def how(old, copy):
        new = connection()
        new.log = copy(old.log)
        return new

    ramet.register_copy(connection, how)
    layer = _with(connection())
    _part(layer).log.append("hello")

    twin = ramet.clone(layer)

    assert _part(twin) is not _part(layer)
    assert _part(twin).log == ["hello"]
    assert _part(twin).log is not _part(layer).log


def test_a_rule_holds_for_subclasses_and_the_nearest_one_wins(plans, connection):
    class Pooled(connection):
        pass

    class Special(Pooled):
        pass

    ramet.register_copy(connection, "share")
    ramet.register_copy(Special, "refuse")
    layer = _with(Pooled())

    assert _part(ramet.clone(layer)) is _part(layer)
    with pytest.raises(ramet.errors.CannotCopyError):
        ramet.clone(_with(Special()))


def test_a_later_rule_replaces_an_earlier_one(plans, connection):
    layer = _with(connection())
    ramet.register_copy(connection, "share")
    ramet.clone(layer)

    ramet.register_copy(connection, "refuse")

    with pytest.raises(ramet.errors.CannotCopyError):
        ramet.clone(layer)


def test_an_object_registered_by_function_is_copied_once(plans, connection):
    made = []
    ramet.register_copy(connection, lambda old, copy: made.append(connection()) or made[-1])
    layer = layers.Dense(2)
    layer.a = layer.b = connection()

    twin = ramet.clone(layer)

    assert twin.a is twin.b is made[0]
    assert len(made) == 1


def test_a_keras_layer_may_be_registered(plans):
    class Frozen(layers.Dense):
        pass

    frozen = Frozen(4)
    model = keras.Sequential([keras.Input((4,)), frozen, layers.Dense(2)])
    ramet.register_copy(Frozen, "share")

    twin = ramet.clone(model)

    assert twin.layers[0] is frozen
    assert twin.layers[1] is not model.layers[1]
    assert_equal_outputs(model, twin, X)


class Versioned:
    """Copies itself, and counts."""

    def __init__(self, load, version=0):
        self.load = load
        self.version = version

    def __ramet_copy__(self, copy):
        return type(self)(copy(self.load), self.version + 1)


class VersionedChild(Versioned):
    pass


@pytest.mark.parametrize("kind", [Versioned, VersionedChild])
def test_a_class_copies_itself_by_its_method(kind):
    layer = _with(kind([1]))

    twin = ramet.clone(ramet.clone(layer))

    assert type(_part(twin)) is kind
    assert (_part(twin).version, _part(twin).load) == (2, [1])
    assert _part(twin).load is not _part(layer).load


def test_a_rule_for_the_class_wins_over_its_method(plans):
    class Local(Versioned):
        pass

    ramet.register_copy(Local, "share")
    layer = _with(Local([1]))

    assert _part(ramet.clone(layer)) is _part(layer)


def test_parts_copied_by_a_method_are_the_twins_parts():
    layer = layers.Dense(2)
    layer.build((None, 2))
    layer.view = Versioned(layer.kernel)

    twin = ramet.clone(layer)

    assert twin.view.load is twin.kernel


class Doubled:
    """Looks into the twins of its parts while it is copied."""

    def __init__(self, items):
        self.items = items

    def __ramet_copy__(self, copy):
        return Doubled([item for item in copy(self.items) for _ in range(2)])


@pytest.mark.parametrize("known_before", [False, True])
def test_a_copy_function_sees_whole_parts(known_before):
    inner = [np.ones(3)]
    items = [{"inner": inner}, (inner, 1)]
    layer = layers.Dense(2)
    if known_before:
        layer.holder = types.SimpleNamespace(items=items)
    layer.doubled = Doubled(items)
    layer.again = [layer.doubled]

    twin = ramet.clone(layer)

    first, _, (second, one), _ = twin.doubled.items
    assert twin.again[0] is twin.doubled
    assert first["inner"] is second
    assert second[0] is not inner[0]
    assert second[0].tolist() == [1, 1, 1]
    assert one == 1
    if known_before:
        assert twin.holder.items[0] is first


class Child:
    def __init__(self, parent):
        self.parent = parent
        self.siblings = [self]


def test_a_copy_function_sees_whole_parts_that_refer_to_its_object():
    layer = layers.Dense(2)
    layer.doubled = Doubled([])
    layer.doubled.items += [Child(layer.doubled), Child(None), {"layer": layer}]

    twin = ramet.clone(layer)

    first, _, second, _, third, _ = twin.doubled.items
    assert (first.parent, second.parent) == (twin.doubled, None)
    assert third["layer"] is twin
    for child, original in zip((first, second), layer.doubled.items, strict=False):
        assert child.siblings == [child]
        assert child is not original


def test_copy_functions_of_two_objects_that_refer_to_each_other():
    layer = layers.Dense(2)
    layer.versioned = Versioned([])
    layer.versioned.load.append(Versioned([layer.versioned]))

    twin = ramet.clone(layer)

    (inner,) = twin.versioned.load
    assert inner.load[0] is twin.versioned
    assert (inner.version, twin.versioned.version) == (1, 1)


def test_a_part_may_be_a_function_that_closes_over_its_object():
    layer = layers.Dense(2)
    versioned = layer.versioned = Versioned(None)
    versioned.load = lambda: versioned

    twin = ramet.clone(layer)

    assert twin.versioned.load() is twin.versioned


def test_a_part_that_leads_back_to_its_object_is_filled_later():
    layer = layers.Dense(2)
    layer.versioned = Versioned([])
    layer.versioned.load.append(layer.versioned)

    twin = ramet.clone(layer)

    assert twin.versioned.load[0] is twin.versioned


class DeepCopied:
    def __init__(self, load):
        self.load = load

    def __deepcopy__(self, memo):
        return DeepCopied([*copy.deepcopy(self.load, memo)])


def test_an_object_with_a_deepcopy_of_its_own_may_stand_in_two_layers():
    model = keras.Sequential([keras.Input((2,)), layers.Dense(2), layers.Dense(2)])
    load = [np.ones(3), [model.layers[0]]]
    model.holder = types.SimpleNamespace(load=load)
    model.layers[0].part = model.layers[1].part = model.part = DeepCopied(load)

    twin = ramet.clone(model)

    assert twin.layers[0].part is twin.layers[1].part is twin.part is not model.part
    assert twin.part.load[0] is twin.holder.load[0] is not load[0]
    assert twin.part.load[1][0] is twin.layers[0]


def test_a_copy_function_that_asks_for_its_own_object_is_refused(plans, connection):
    ramet.register_copy(connection, lambda old, copy: copy(old))

    with pytest.raises(ramet.errors.CannotCopyError, match="asked for the very object it was making"):
        ramet.clone(_with(connection()))


def test_an_error_in_a_copy_function_reaches_the_user(plans, connection):
    def how(old, copy):
        raise ZeroDivisionError("mine")

    ramet.register_copy(connection, how)

    with pytest.raises((ZeroDivisionError, ramet.errors.CannotCopyError), match="mine"):
        ramet.clone(_with(connection()))


def test_after_an_error_in_a_copy_function_cloning_works_again(plans, connection):
    failing = [True]

    def how(old, copy):
        if failing:
            raise ZeroDivisionError("mine")
        return connection()

    ramet.register_copy(connection, how)
    layer = _with(connection())
    with pytest.raises((ZeroDivisionError, ramet.errors.CannotCopyError)):
        ramet.clone(layer)
    failing.clear()

    assert _part(ramet.clone(layer)) is not _part(layer)


@pytest.mark.parametrize("how", ["copy", None, 3])
def test_what_is_no_rule_is_refused(how):
    class Thing:
        pass

    with pytest.raises(ramet.errors.ArgumentError, match="there is no such plan"):
        ramet.register_copy(Thing, how)


def test_an_instance_is_no_class():
    with pytest.raises(ramet.errors.ArgumentError, match="it is not a class"):
        ramet.register_copy(object(), "share")


# share=


def test_what_is_shared_by_wish_is_the_very_same(connection):
    part = connection()
    layer = _with(part)

    assert _part(ramet.clone(layer, share=[part])) is part


def test_a_shared_layer_has_its_weights_in_both_models():
    backbone = layers.Dense(4)
    model = keras.Sequential([keras.Input((4,)), backbone, layers.Dense(2)])

    twin = ramet.clone(model, share=[backbone])

    assert twin.layers[0] is backbone
    assert twin.layers[1].kernel is not model.layers[1].kernel
    assert_equal_outputs(model, twin, X)


# which Keras


@pytest.mark.parametrize("version", ["3.99.0", "4.0.0", "3.16.0.dev2026", "3.100"])
def test_a_newer_keras_gives_one_warning(version):
    with pytest.warns(
        ramet.errors.UntestedKerasWarning, match="newer than the newest one ramet was tested with"
    ) as caught:
        check_version(f"{version}+{random.random()}")

    assert len(caught) == 1


def test_the_warning_comes_once():
    version = f"3.99.1+{random.random()}"
    with pytest.warns(ramet.errors.UntestedKerasWarning):
        check_version(version)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_version(version)


@pytest.mark.parametrize("version", ["3.0.0", "3.11.3", "2.15.0", "1.2"])
def test_an_older_keras_is_refused(version):
    with pytest.raises(ramet.errors.UnsupportedKerasError, match=f"Cannot use Keras {version}") as caught:
        check_version(version)

    assert isinstance(caught.value, ImportError)
    assert "pip install" in caught.value.fix


@pytest.mark.parametrize("version", ["3.12.0", "3.13.1", "3.14.0rc1", "3.15.1", keras.__version__])
def test_a_tested_keras_is_welcome(version):
    check_version(version)
