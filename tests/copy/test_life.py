"""Life after cloning: every operation has the same result on original and twin, and leaves the other side unchanged."""

import copy
import gc
import pickle

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from tests.support.same import assert_same
from tests.support.twins import assert_equal_outputs, assert_equal_values, same_random_state, twin_of, values

BACKEND = keras.backend.backend()
X = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
Y = np.random.default_rng(1).normal(size=(8, 2)).astype("float32")


def functional():
    inputs = keras.Input((4,))
    shared = layers.Dense(4, activation="relu", name="shared")
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(4), layers.BatchNormalization()], name="inner")
    x = layers.Dropout(0.3, seed=1)(inner(shared(shared(inputs))))
    return keras.Model(inputs, layers.Dense(2, name="last")(x))


def sequential():
    return keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(4, activation="relu"),
            layers.GaussianNoise(0.1, seed=2),
            layers.Dense(2, name="last"),
        ]
    )


@keras.saving.register_keras_serializable("ramet_tests")
class Subclassed(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.first = layers.Dense(4)
        self.rest = [layers.BatchNormalization(), layers.Dense(2, name="last")]

    def build(self, shape):
        self.first.build(shape)
        for layer in self.rest:
            layer.build((None, 4))

    def call(self, x, training=False):
        x = self.first(x)
        for layer in self.rest:
            x = layer(x, training=training) if isinstance(layer, layers.BatchNormalization) else layer(x)
        return x


def subclassed():
    model = Subclassed()
    model.build((None, 4))
    return model


MODELS = [functional, sequential, subclassed]
every_model = pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
# For operations that compile each side separately; other tests cover both orders of the same operations.
twin_first = pytest.mark.parametrize("order", [(1, 0)], ids=["twin first"])
both_orders = pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["original first", "twin first"])


def _compiled(make):
    model = make()
    model.compile(keras.optimizers.Adam(0.1), "mse", metrics=["mae"])
    return model


def _state(model):
    """Return what must not change while something is done to the other side."""
    return (
        [value.tobytes() for value in values(model)],
        [variable.path for variable in model.variables],
        [variable.trainable for variable in model.variables],
        model.trainable,
        str(model.get_config()),
        [layer.name for layer in model.layers],
        len(model.losses),
    )


def _in_turn(model, twin, order, action):
    """Run an action on one side, then on the other, and return both results. The other side must not change each time."""
    sides, results = (model, twin), [None, None]
    for index in order:
        before = _state(sides[1 - index])
        same_random_state()
        results[index] = action(sides[index])
        assert _state(sides[1 - index]) == before
    return results


def _assert_alike(results):
    assert str(results[0]) == str(results[1])
    ours, theirs = (keras.tree.flatten(result) for result in results)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def _fit(model):
    return list(model.fit(X, Y, batch_size=4, epochs=1, shuffle=False, verbose=0).history.items())


def _used(model):
    return [
        np.array(keras.ops.convert_to_numpy(model(X))),
        model.predict(X, verbose=0),
        model.evaluate(X, Y, verbose=0),
    ]


@both_orders
@every_model
def test_fit_evaluate_and_predict_give_the_same_results(make, order):
    model = _compiled(make)
    twin = twin_of(model)

    results = _in_turn(model, twin, order, lambda one: (_fit(one), _used(one)))

    _assert_alike(results)
    assert_equal_values(model, twin)


@twin_first
def test_trained_model_continues_training_like_its_twin(order):
    model = _compiled(functional)
    _fit(model)
    _used(model)
    twin = twin_of(model)

    results = _in_turn(model, twin, order, _fit)

    _assert_alike(results)
    assert_equal_values(model, twin)


@both_orders
@every_model
def test_saved_and_loaded_models_are_equal(make, order, tmp_path):
    model = _compiled(make)
    model.optimizer.build(model.trainable_variables)  # Keras warns about an unbuilt one
    twin = twin_of(model)

    def roundtrip(one):
        path = tmp_path / f"{id(one)}.keras"
        one.save(path)
        keras.utils.clear_session(free_memory=False)  # restart the automatic names of loaded layers
        loaded = keras.models.load_model(path)
        assert_equal_outputs(one, loaded, X)
        assert type(loaded) is type(one)
        return str(loaded.get_config()), [variable.path for variable in loaded.variables], loaded.predict(X, verbose=0)

    results = _in_turn(model, twin, order, roundtrip)

    assert results[0][:2] == results[1][:2]
    np.testing.assert_array_equal(results[0][2], results[1][2])


@both_orders
@every_model
def test_weights_saved_by_one_side_are_loaded_by_the_other(make, order, tmp_path):
    model = make()
    twin = twin_of(model)
    first, second = (model, twin) if order == (0, 1) else (twin, model)
    first.set_weights([weight + 1 for weight in first.get_weights()])
    path = tmp_path / "all.weights.h5"

    first.save_weights(path)
    second.load_weights(path)

    assert_equal_values(model, twin)


@both_orders
@every_model
def test_summaries_and_configs_are_equal(make, order):
    model = _compiled(make)
    twin = twin_of(model)

    def describe(one):
        lines = []
        one.summary(print_fn=lines.append, show_trainable=True, expand_nested=True)
        return str(lines), str(one.get_config()), str(one.get_compile_config()), one.count_params(), repr(one)

    results = _in_turn(model, twin, order, describe)

    assert results[0] == results[1]


@both_orders
@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_quantize_changes_one_side_only(order, mode):
    model = sequential()
    twin = twin_of(model)

    results = _in_turn(model, twin, order, lambda one: (one.quantize(mode), one.predict(X, verbose=0))[1])

    np.testing.assert_array_equal(*results)
    assert model.get_layer("last").dtype_policy.name == twin.get_layer("last").dtype_policy.name
    assert model.get_layer("last").dtype_policy.name.startswith(mode)


def test_quantizing_the_twin_keeps_the_original_in_floats():
    model = sequential()
    expected = model.predict(X, verbose=0)
    twin = twin_of(model)

    twin.quantize("int8")

    assert str(model.get_layer("last").kernel.dtype) == "float32"
    np.testing.assert_array_equal(model.predict(X, verbose=0), expected)
    assert_same(twin, ramet.clone(twin))


@both_orders
def test_add_and_pop_change_one_sequential_only(order):
    model = sequential()
    twin = twin_of(model)

    def change(one):
        one.pop()
        one.add(layers.Dense(3, kernel_initializer="ones", name="new"))
        return one.predict(X[:1], verbose=0).shape, [layer.name for layer in one.layers], len(one.weights)

    results = _in_turn(model, twin, order, change)

    assert results[0] == results[1]
    assert results[0][0] == (1, 3)
    assert_same(twin, ramet.clone(twin))


@both_orders
def test_sequential_is_built_again_on_one_side_only(order):
    model = keras.Sequential([layers.Dense(2), layers.Dense(2)])
    twin = twin_of(model)

    results = _in_turn_unbuilt(model, twin, order)

    assert results == [[(4, 2), (2,), (2, 2), (2,)]] * 2


def _in_turn_unbuilt(model, twin, order):
    results = [None, None]
    for index in order:
        one, other = ((model, twin), (twin, model))[index]
        built = other.built
        one.build((None, 4))
        results[index] = [tuple(weight.shape) for weight in one.weights]
        assert other.built == built
    return results


@both_orders
@every_model
def test_clones_of_both_sides_are_equal(make, order):
    model = _compiled(make)
    _fit(model)
    twin = twin_of(model)

    grandchildren = _in_turn(model, twin, order, lambda one: twin_of(twin_of(one)))

    for one in grandchildren:
        assert_same(model, one)


@both_orders
@pytest.mark.parametrize(
    "how", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))], ids=["deepcopy", "pickle"]
)
@every_model
def test_pickles_and_deep_copies_are_equal(make, how, order):
    model = make()
    twin = twin_of(model)

    copies = _in_turn(model, twin, order, how)

    assert_equal_outputs(*copies, X)
    assert_equal_outputs(model, copies[1], X)


@both_orders
@every_model
def test_trainable_is_changed_on_one_side_only(make, order):
    model = _compiled(make)
    twin = twin_of(model)

    def freeze(one):
        one.get_layer("last").trainable = False
        part = [variable.path for variable in one.trainable_variables]
        one.trainable = False
        none = len(one.trainable_variables)
        one.trainable = True
        one.get_layer("last").kernel.trainable = False
        return part, none, [variable.path for variable in one.trainable_variables]

    results = _in_turn(model, twin, order, freeze)

    assert results[0] == results[1]
    assert results[0][1] == 0


@both_orders
def test_layer_added_as_an_attribute_is_tracked_on_one_side_only(order):
    model = Subclassed()  # not built: Keras does not accept new layers after that
    twin = twin_of(model)

    def add(one):
        one.extra = layers.Dense(3, name="extra")
        one.extra.build((None, 2))
        one.rest.insert(1, layers.Dense(4, name="more"))
        one.build((None, 4))
        return len(one.weights), [layer.name for layer in one.layers], [variable.path for variable in one.weights]

    results = _in_turn(model, twin, order, add)

    assert results[0] == results[1]
    assert "extra" in results[0][1]
    assert "more" in results[0][1]


@both_orders
def test_layer_removed_from_a_list_is_untracked_on_one_side_only(order):
    model = Subclassed()
    twin = twin_of(model)

    def remove(one):
        one.rest.pop(0)
        one.first = layers.Dense(4, name="again")
        one.build((None, 4))
        return len(one.variables), [layer.name for layer in one.layers]

    results = _in_turn(model, twin, order, remove)

    assert results[0] == results[1]


@twin_first
@pytest.mark.parametrize("make", [functional, sequential], ids=lambda make: make.__name__)
def test_lora_is_enabled_on_one_side_only(make, order):
    model = make()
    twin = twin_of(model)

    def adapt(one):
        keras.utils.set_random_seed(3)
        one.get_layer("last").enable_lora(2)
        one.compile(keras.optimizers.SGD(0.1), "mse")
        return _fit(one), [variable.path for variable in one.trainable_variables]

    results = _in_turn(model, twin, order, adapt)

    assert results[0][1] == results[1][1]
    assert any("lora" in path for path in results[0][1])
    assert_equal_values(model, twin)
    assert_same(twin, ramet.clone(twin))


@both_orders
def test_metrics_are_reset_on_one_side_only(order):
    model = _compiled(functional)
    _fit(model)
    twin = twin_of(model)

    def reset(one):
        before = [np.array(keras.ops.convert_to_numpy(v)) for v in one.metrics_variables]
        one.reset_metrics()
        return before, [np.array(keras.ops.convert_to_numpy(v)) for v in one.metrics_variables]

    results = _in_turn(model, twin, order, reset)

    _assert_alike(results)
    assert any(array.any() for array in results[0][0])
    assert not any(array.any() for array in results[0][1])


@twin_first
def test_compiling_again_gives_equal_results(order):
    model = _compiled(functional)
    _fit(model)
    twin = twin_of(model)

    def again(one):
        one.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mae")
        return _fit(one), type(one.optimizer).__name__, len(one.optimizer.variables)

    results = _in_turn(model, twin, order, again)

    assert results[0] == results[1]
    assert_equal_values(model, twin)


@twin_first
def test_learning_rate_and_optimizer_state_are_independent(order):
    model = _compiled(functional)
    _fit(model)
    twin = twin_of(model)

    def change(one):
        one.optimizer.learning_rate = 0.5
        one.optimizer.iterations.assign(100)
        return _fit(one)

    results = _in_turn(model, twin, order, change)

    _assert_alike(results)
    assert_equal_values(model, twin)


@both_orders
def test_weights_set_on_one_side_stay_there(order):
    model = functional()
    twin = twin_of(model)

    def change(one):
        one.set_weights([weight * 0 for weight in one.get_weights()])
        one.get_layer("last").bias.assign([1.0, 2.0])
        return np.array(keras.ops.convert_to_numpy(one(X)))

    results = _in_turn(model, twin, order, change)

    np.testing.assert_array_equal(*results)


@both_orders
def test_dtype_policies_are_changed_on_one_side_only(order):
    model = sequential()
    twin = twin_of(model)

    def change(one):
        one.get_layer("last").dtype_policy = "mixed_bfloat16"
        return str(one(X).dtype)

    results = _in_turn(model, twin, order, change)

    assert results[0] == results[1]
    assert "bfloat16" in results[0]


@both_orders
def test_new_models_on_the_layers_of_one_side_leave_the_other_unchanged(order):
    model = functional()
    twin = twin_of(model)

    def extend(one):
        calls = len(one.get_layer("last")._inbound_nodes)
        head = keras.Model(one.inputs, layers.Dense(1, kernel_initializer="ones")(one.get_layer("shared").output))
        inputs = keras.Input((4,))
        around = keras.Model(inputs, one(inputs))
        assert len(one.get_layer("last")._inbound_nodes) == calls
        return head.predict(X, verbose=0), around.predict(X, verbose=0)

    results = _in_turn(model, twin, order, extend)

    _assert_alike(results)


@both_orders
def test_custom_training_loop_gives_equal_results(order):
    model = _compiled(functional)
    twin = twin_of(model)

    results = _in_turn(model, twin, order, lambda one: [one.train_on_batch(X, Y) for _ in range(3)])

    assert results[0] == results[1]
    assert_equal_values(model, twin)


@pytest.mark.skipif(
    BACKEND == "jax", reason="on JAX, export uses jax2tf and takes a minute; the other backends cover this"
)
@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")  # from torch.export and the SavedModel writer
@pytest.mark.filterwarnings("ignore:.*:FutureWarning")
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_twin_can_be_exported(tmp_path):
    if BACKEND == "torch":
        pytest.importorskip("onnxscript", reason="torch exports to ONNX only, which needs onnxscript")
    model = sequential()
    twin = twin_of(model)

    twin.export(tmp_path / "twin", verbose=False)

    if BACKEND == "tensorflow":
        import tensorflow as tf

        served = tf.saved_model.load(tmp_path / "twin")
        np.testing.assert_allclose(served.serve(X), keras.ops.convert_to_numpy(model(X)), rtol=1e-5)
    assert_equal_values(model, twin)


@every_model
def test_twin_works_after_the_original_is_deleted(make):
    model = _compiled(make)
    _fit(model)
    twin = twin_of(model)
    expected = model.predict(X, verbose=0)

    del model
    gc.collect()

    np.testing.assert_array_equal(twin.predict(X, verbose=0), expected)
    _fit(twin)
    assert_same(twin, ramet.clone(twin))


def test_original_still_uses_its_compiled_functions():
    model = _compiled(functional)
    _fit(model)
    train_function = model.train_function

    twin = twin_of(model)

    assert model.train_function is train_function
    assert twin.train_function is None


def test_twin_without_compile_is_compiled_later_like_any_model():
    model = _compiled(functional)
    _fit(model)

    twin = twin_of(model, compile=False)

    assert not twin.compiled
    with pytest.raises(ValueError, match="compile"):
        twin.fit(X, Y, verbose=0)
    twin.compile(keras.optimizers.SGD(0.1), "mse")
    assert np.isfinite(twin.fit(X, Y, verbose=0).history["loss"][0])


@pytest.mark.skipif(BACKEND != "torch", reason="tests of torch modules; the run on torch covers them")
class TestTorch:
    def test_twin_is_a_torch_module_with_its_own_parameters(self):
        model = functional()
        twin = twin_of(model)

        ours, theirs = dict(model.named_parameters()), dict(twin.named_parameters())

        assert list(ours) == list(theirs)
        assert len(ours) > 0
        assert not {p.data_ptr() for p in ours.values()} & {p.data_ptr() for p in theirs.values()}
        assert list(model.state_dict()) == list(twin.state_dict())

    def test_torch_optimizer_trains_the_twin_alone(self):
        import torch

        model = functional()
        twin = twin_of(model)
        before = values(model)
        optimizer = torch.optim.SGD(twin.parameters(), 0.1)

        (twin(torch.tensor(X)) ** 2).mean().backward()
        optimizer.step()

        assert all(parameter.grad is None for parameter in model.parameters())
        for old, new in zip(before, values(model), strict=True):
            np.testing.assert_array_equal(old, new)
        assert not np.array_equal(*(keras.ops.convert_to_numpy(one.get_layer("last").bias) for one in (model, twin)))

    def test_conversion_to_another_dtype_changes_one_side_only(self):
        import torch

        model = sequential()
        twin = twin_of(model)
        before = [parameter.dtype for parameter in model.parameters()]

        twin.to(torch.float64)

        assert [parameter.dtype for parameter in model.parameters()] == before
        assert torch.float64 in {parameter.dtype for parameter in twin.parameters()}
