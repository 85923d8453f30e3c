"""`name=`: a twin with another name, whose variable paths differ from those of the original."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from tests.support.twins import assert_equal_outputs, assert_equal_values, same_random_state, twin_of, values

BACKEND = keras.backend.backend()
X = np.ones((8, 4), "float32")
Y = np.ones((8, 2), "float32")


def _functional():
    inputs = keras.Input((4,))
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(4), layers.BatchNormalization()], name="inner")
    return keras.Model(inputs, layers.Dense(4)(layers.Dropout(0.5, seed=1)(inner(layers.Dense(4)(inputs)))), name="net")


def test_dtype_policies_by_path_are_kept_under_a_new_name(tmp_path):
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
    assert policy["other/mha/query"].name == "float32"  # the map of the original is unchanged


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
def test_new_name_makes_every_path_distinct(make):
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
def test_original_and_named_twin_can_be_used_in_one_model(make, tmp_path):
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
def test_named_twin_has_the_same_layer_names_and_outputs(make):
    model = make()

    twin = twin_of(model, name="target")

    assert [layer.name for layer in twin.layers] == [layer.name for layer in model.layers]
    assert_equal_outputs(model, twin, X)
    assert {**twin.get_config(), "name": "net"} == {**model.get_config(), "name": "net"}


@every_kind
def test_named_twin_trains_like_its_original(make):
    model = make()
    model.compile("adam", "mse")
    twin = twin_of(model, name="target")

    losses = []
    for one in (model, twin):
        same_random_state()
        losses.append(one.train_on_batch(X, np.ones((8, 4), "float32")))

    assert losses[0] == losses[1]
    assert_equal_values(model, twin)


def test_named_twin_is_saved_and_loaded_under_its_name(tmp_path):
    twin = twin_of(_functional(), name="target")

    twin.save(tmp_path / "twin.keras")
    loaded = keras.models.load_model(tmp_path / "twin.keras")

    assert loaded.name == "target"
    assert_equal_outputs(twin, loaded, X)


def test_variables_created_after_cloning_get_the_new_prefix():
    model = keras.Sequential([layers.Dense(4), layers.Dense(4)], name="net")
    twin = ramet.clone(model, name="target")

    for one in (model, twin):
        one.build((None, 4))

    ours, theirs = _paths(model), _paths(twin)
    assert len(ours) == len(theirs) == 4
    assert not set(ours) & set(theirs)


def test_subclassed_model_that_is_built_later_gets_the_new_prefix():
    model = Net(name="net")
    twin = ramet.clone(model, name="target")

    for one in (model, twin):
        one(X)

    assert not set(_paths(model)) & set(_paths(twin))
    assert all(path.startswith("target/") for path in _paths(twin))


def test_optimizer_slots_created_after_cloning_have_distinct_paths():
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
def test_layer_gets_a_new_name(built):
    layer = layers.Dense(4, name="old")
    if built:
        layer.build((None, 4))

    twin = ramet.clone(layer, name="new")
    layer.build((None, 4)) if not built else None
    twin.build((None, 4)) if not built else None

    assert twin.name == twin.get_config()["name"] == "new"
    assert [variable.path for variable in twin.variables] == ["new/kernel", "new/bias"]
    assert [variable.path for variable in layer.variables] == ["old/kernel", "old/bias"]


def test_renamed_twin_of_a_nested_model_can_be_used_next_to_its_original():
    inner = _functional()
    x = keras.Input((4,))
    outer = keras.Model(x, inner(x))

    twin = twin_of(outer.get_layer("net"), name="target")

    y = keras.Input((4,))
    both = keras.Model(y, inner(y) + twin(y))
    assert len({variable.path for variable in both.variables}) == len(both.variables)


def test_second_named_twin_of_a_named_twin_is_distinct_from_both():
    model = _functional()
    first = ramet.clone(model, name="first")

    second = ramet.clone(first, name="second")

    assert len({*_paths(model), *_paths(first), *_paths(second)}) == 3 * len(_paths(model))


def test_layer_with_the_same_name_as_the_model_keeps_distinct_paths():
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers.Dense(4, name="b")(layers.Dense(4, name="net")(inputs)), name="net")

    twin = ramet.clone(model, name="target")

    assert len(set(_paths(twin))) == 4
    assert not set(_paths(twin)) & set(_paths(model))


def test_metric_and_an_optimizer_get_a_new_name():
    metric, optimizer = keras.metrics.Mean(name="old"), keras.optimizers.Adam(name="old")

    twins = [ramet.clone(one, name="new") for one in (metric, optimizer)]

    assert [twin.name for twin in twins] == ["new", "new"]
    for one, twin in zip((metric, optimizer), twins, strict=True):
        assert not {v.path for v in one.variables} & {v.path for v in twin.variables}


@pytest.mark.parametrize("name", ["", "a/b", 7, "net"])
def test_invalid_name_is_refused(name):
    with pytest.raises(ramet.errors.ArgumentError, match="Cannot clone 'net' with name="):
        ramet.clone(_sequential(), name=name)


def test_name_for_a_collection_is_refused():
    with pytest.raises(ramet.errors.ArgumentError, match="one name cannot be given to several"):
        ramet.clone([_sequential()], name="target")
