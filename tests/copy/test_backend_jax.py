"""Features of models on JAX: donated buffers, shardings, keys, dead tracers, wrapped JAX and Flax functions."""

import functools
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from tests.support.reach import assert_independent
from tests.support.state_models import dense_model, floats, numbers, trained
from tests.support.twins import assert_equal_outputs, assert_equal_values, fit_once, outputs, twin_of, values
from tests.support.versions import needs_keras

if keras.backend.backend() != "jax":
    pytest.skip("tests of JAX features; the run on JAX covers them", allow_module_level=True)

import jax
import jax.numpy as jnp

X, Y = floats(8, 4), floats(8, 3, seed=1)


class Holder:
    """A plain object, which Keras does not track."""

    def __init__(self, held):
        self.held = held


# --- Buffers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["original", "twin"])
def test_training_either_side_first_keeps_the_buffers_of_the_other_alive(first):
    model = trained(dense_model(layers.Dense(5), layers.Dropout(0.2), layers.Dense(3)), X, Y, optimizer="adam")
    twin = twin_of(model)
    order = (model, twin) if first == "original" else (twin, model)
    ours, theirs = (fit_once(one, X, Y) for one in order)

    assert ours == theirs
    assert_equal_values(model, twin)


def test_two_variables_that_share_one_array_train_in_the_twin():
    class Pair(layers.Layer):
        def build(self, shape):
            self.a = self.add_weight(shape=(4,), initializer="ones")
            self.b = self.add_weight(shape=(4,), initializer="ones")

        def call(self, x):
            return x * self.a + self.b

    model = dense_model(Pair(), layers.Dense(3))
    pair = model.layers[1]
    pair.b._value = pair.a._value

    twin = ramet.clone(model)
    twin.compile("sgd", "mse")
    fit_once(twin, X, Y)

    assert not np.array_equal(*numbers((twin.layers[1].a, twin.layers[1].b)))
    np.testing.assert_array_equal(*numbers((pair.a, pair.b)))


def test_no_buffer_is_common_to_original_and_twin():
    model = trained(dense_model(), X, Y, optimizer="adam")
    twin = twin_of(model)

    def pointers(one):
        return {
            v.value.unsafe_buffer_pointer() for v in (*one.variables, *one.optimizer.variables, *one.metrics_variables)
        }

    assert not pointers(model) & pointers(twin)


def test_donated_array_in_an_attribute_is_refused_with_its_path():
    model = dense_model()
    gone = jnp.ones(3)
    gone.delete()
    model.gone = Holder(gone)

    with pytest.raises(ramet.errors.CannotCopyError, match="deleted or donated") as caught:
        ramet.clone(model)
    assert "gone" in caught.value.path


@pytest.mark.parametrize(
    "make",
    [
        lambda: jnp.arange(3),
        lambda: jnp.ones((2, 2), jnp.bfloat16),
        lambda: jnp.asarray(2.0),
        lambda: jax.device_put(jnp.ones(2), jax.devices()[0]),
        lambda: jnp.ones((0, 3)),
        lambda: jnp.array([1 + 2j]),
        lambda: jnp.array([True]),
        lambda: jnp.ones(3, jnp.float8_e4m3fn),
        lambda: jnp.ones(3, jnp.int4),
    ],
    ids=["int", "bfloat16", "weak", "committed", "empty", "complex", "bool", "float8", "int4"],
)
def test_arrays_keep_dtype_weak_type_and_commitment(make):
    model = dense_model()
    model.held = Holder(make())
    twin = twin_of(model)
    ours, theirs = model.held.held, twin.held.held

    assert (ours.dtype, ours.weak_type, ours.committed, ours.sharding, ours.shape) == (
        theirs.dtype,
        theirs.weak_type,
        theirs.committed,
        theirs.sharding,
        theirs.shape,
    )


def test_variables_keep_their_commitment():
    model = dense_model()
    model.layers[-1].kernel._value = jax.device_put(model.layers[-1].kernel._value, jax.devices()[0])
    twin = twin_of(model)

    assert [v.value.committed for v in twin.variables] == [v.value.committed for v in model.variables]


# --- Keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [jax.random.PRNGKey, jax.random.key, lambda seed: jax.random.split(jax.random.key(seed), 3)]
)
def test_random_keys_are_copied(make):
    model = dense_model()
    model.held = Holder(make(5))
    twin = twin_of(model)

    assert twin.held.held.dtype == model.held.held.dtype
    ours, theirs = (
        jax.random.key_data(k) if jnp.issubdtype(k.dtype, jax.dtypes.prng_key) else k
        for k in (model.held.held, twin.held.held)
    )
    np.testing.assert_array_equal(ours, theirs)


# --- Functions --------------------------------------------------------------------------------------------------------


def test_jitted_function_bound_to_the_layer_runs_on_the_twin():
    class Fast(layers.Layer):
        def build(self, shape):
            self.scale = self.add_weight(shape=(), initializer="ones")
            self.__dict__["offsets"] = {"one": 1.0}
            self.__dict__["fast"] = jax.jit(lambda x: x + self.offsets["one"])
            self.__dict__["shifted"] = jax.jit(functools.partial(self.shift, by=2.0))

        def shift(self, x, by):
            return x + by + self.offsets["one"]

        def call(self, x):
            return self.fast(x) * self.scale

    model = dense_model(Fast())
    model(X)
    twin = twin_of(model)
    twin.layers[-1].offsets["one"] = 10.0

    np.testing.assert_allclose(outputs(model, X)[0], X + 1, rtol=1e-6)
    np.testing.assert_allclose(outputs(twin, X)[0], X + 10, rtol=1e-6)
    np.testing.assert_allclose(numbers([twin.layers[-1].shifted(X)])[0], X + 12, rtol=1e-6)


def test_jitted_function_keeps_its_static_and_donated_arguments():
    model = dense_model()
    state = {"factor": 3.0}

    def scale(x, power, donated):
        return (x * state["factor"]) ** power + donated

    model.state = Holder(state)
    model.fast = Holder(jax.jit(scale, static_argnames=("power",), donate_argnums=(2,)))
    twin = twin_of(model)

    given = jnp.ones(3)
    np.testing.assert_allclose(twin.fast.held(jnp.ones(3), power=2, donated=jnp.ones(3)), 10.0)
    np.testing.assert_allclose(twin.fast.held(jnp.ones(3), 2, given), 10.0)
    assert twin.fast.held is not model.fast.held


def test_jitted_function_without_state_is_shared():
    model = dense_model()
    model.fast = Holder(jax.jit(lambda x: x * 2))
    twin = twin_of(model)

    assert twin.fast.held is model.fast.held


@pytest.mark.parametrize(
    "wrap", [jax.grad, jax.vmap, jax.checkpoint, jax.value_and_grad], ids=lambda wrap: wrap.__name__
)
def test_functions_behind_other_transformations_reach_the_twin(wrap):
    model = dense_model()
    state = {"factor": 3.0}
    model.state = Holder(state)
    model.wrapped = Holder(wrap(lambda x: jnp.sum(x * state["factor"])))
    twin = twin_of(model)
    x = jnp.ones((2, 3)) if wrap is jax.vmap else jnp.ones(3)
    before = jax.tree.map(np.asarray, model.wrapped.held(x))
    twin.state.held["factor"] = 0.0

    assert all(np.asarray(part).any() for part in jax.tree.leaves(before))
    assert not any(np.asarray(part).any() for part in jax.tree.leaves(twin.wrapped.held(x)))


def test_custom_gradient_is_kept():
    @jax.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.1, 0.1),))
    model = trained(dense_model(layers.Lambda(lambda x: clipped(x) * 1), layers.Dense(3)), X, Y, optimizer="sgd")
    twin = twin_of(model)

    assert fit_once(model, X, Y) == fit_once(twin, X, Y)


def test_dead_tracers_in_attributes_are_harmless():
    class Leaky(layers.Layer):
        def call(self, x):
            self.__dict__["last"] = x
            return x * 2

    model = dense_model(Leaky())
    model.predict(X, verbose=0)
    assert isinstance(model.layers[-1].last, jax.core.Tracer)
    twin = ramet.clone(model)

    np.testing.assert_array_equal(twin.predict(X, verbose=0), X * 2)
    assert_equal_outputs(model, twin, X)


# --- Wrapped functions ------------------------------------------------------------------------------------------------


def _jax_init(rng, shape):
    return {"w": jax.random.normal(rng, (4, 3)), "b": [jnp.zeros(3)]}


def _jax_call(params, x):
    return x @ params["w"] + params["b"][0]


# keras JaxLayer
def test_layer_around_an_unregistered_jax_function_is_exact_and_trains():
    def call(params, inputs):
        return _jax_call(params, inputs)

    def init(rng, inputs):
        return _jax_init(rng, inputs)

    model = trained(dense_model(layers.JaxLayer(call_fn=call, init_fn=init)), X, Y, optimizer="adam")
    twin = twin_of(model)

    assert_equal_outputs(model, twin, X)
    assert fit_once(model, X, Y) == fit_once(twin, X, Y)
    assert_equal_values(model, twin)
    assert any(twin.layers[-1].params["w"] is variable for variable in twin.layers[-1].trainable_variables)


def test_jax_layer_with_state_and_training_keeps_both():
    def call(params, state, rng, inputs, training):
        new = {"mean": 0.9 * state["mean"] + 0.1 * jnp.mean(inputs, 0)} if training else state
        return inputs * params["s"] - state["mean"], new

    def init(rng, inputs, training):
        return {"s": jnp.ones(4)}, {"mean": jnp.zeros(4)}

    model = dense_model(layers.JaxLayer(call_fn=call, init_fn=init, seed=4))
    outputs(model, X, training=True)
    twin = twin_of(model)

    assert_equal_outputs(model, twin, X, training=True)
    assert_equal_values(model, twin)


def test_flax_module_is_exact_and_trains():
    linen = pytest.importorskip("flax.linen", reason="flax is not installed")

    class Net(linen.Module):
        @linen.compact
        def __call__(self, x, training=False):
            x = linen.Dense(5)(x)
            x = linen.BatchNorm(use_running_average=not training)(x)
            return linen.Dense(3)(linen.relu(x))

    model = trained(dense_model(layers.FlaxLayer(Net())), X, Y, optimizer="adam")
    before = values(model)
    twin = ramet.clone(model)  # without comparing attributes: Flax numbers its modules
    assert_independent(model, twin)
    history = fit_once(twin, X, Y)

    for now, was in zip(values(model), before, strict=True):
        np.testing.assert_array_equal(now, was)
    assert fit_once(model, X, Y) == history
    assert_equal_values(model, twin)


def test_flax_module_with_a_given_method_and_variables_is_exact():
    linen = pytest.importorskip("flax.linen", reason="flax is not installed")
    module = linen.Dense(3)
    variables = module.init(jax.random.key(0), jnp.ones((1, 4)))
    model = dense_model(layers.FlaxLayer(module, variables=variables))
    twin = ramet.clone(model)

    assert_independent(model, twin)
    assert_equal_outputs(model, twin, X)


@needs_keras(3, 13, "set_random_seed does not reset Keras' global generator")
def test_cloning_does_not_use_the_global_seed_generator():
    model = dense_model(layers.Dropout(0.5), layers.Dense(3))
    keras.utils.set_random_seed(3)
    expected = numbers([keras.random.normal((3,))])[0]
    keras.utils.set_random_seed(3)
    twin_of(model)
    ramet.clone(model, seed=4)

    np.testing.assert_array_equal(numbers([keras.random.normal((3,))])[0], expected)


# --- Distribution -----------------------------------------------------------------------------------------------------

# The number of devices is fixed when JAX starts, so these tests run in one separate process.
DISTRIBUTED = """
    import sys
    import jax, keras, numpy as np
    from keras import layers
    import ramet
    from tests.support.twins import twin_of, assert_equal_values, assert_equal_outputs, fit_once

    assert len(jax.devices()) == 8
    x, y = np.ones((8, 8), "float32"), np.ones((8, 4), "float32")

    def make():
        inputs = keras.Input((8,))
        hidden = layers.Dense(16, name="up", activation="relu")(inputs)
        return keras.Model(inputs, layers.Dense(4, name="down")(layers.Dropout(0.1)(hidden)))

    def check(model, fitted):
        twin = twin_of(model)
        optimizer = list(zip(model.optimizer.variables, twin.optimizer.variables)) if fitted else []
        for ours, theirs in [*zip(model.variables, twin.variables), *optimizer]:
            a, b = ours.value, theirs.value
            assert a.sharding == b.sharding, (ours.path, a.sharding, b.sharding)
            assert a.committed == b.committed, ours.path
            assert ours._layout == theirs._layout, (ours.path, ours._layout, theirs._layout)
        assert_equal_values(model, twin)
        return twin

    mesh = keras.distribution.DeviceMesh((2, 4), ["batch", "model"])
    layouts = keras.distribution.LayoutMap(mesh)
    layouts["up/kernel"] = (None, "model")
    layouts["up/bias"] = ("model",)
    layouts["down/kernel"] = ("model", None)
    kinds = {
        "model": keras.distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch"),
        "data": keras.distribution.DataParallel(devices=keras.distribution.list_devices()),
    }
    for kind, distribution in kinds.items():
        with distribution.scope():
            model = make()
            model.compile("adam", "mse")
            fit_once(model, x, y)
            inside = check(model, True)
            assert fit_once(inside, x, y) == fit_once(model, x, y)
            assert_equal_values(model, inside)
        outside = check(model, True)
        spread = len(outside.get_layer("up").kernel.value.sharding.device_set)
        assert spread == 8, (kind, spread)
        if kind == "model":
            assert outside.get_layer("up").kernel.value.addressable_shards[0].data.shape == (8, 4)
        assert_equal_outputs(model, outside, x)
        again = ramet.clone(outside, name="again", seed=3)
        assert again.get_layer("up").kernel.value.sharding == model.get_layer("up").kernel.value.sharding
    print("all checks passed")
"""


@pytest.mark.filterwarnings("default")
def test_shardings_layouts_and_commitment_are_kept_over_eight_devices():
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "KERAS_BACKEND": "jax"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(DISTRIBUTED)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=Path(__file__).parents[2],
        timeout=300,
        check=False,
    )

    assert "all checks passed" in run.stdout, run.stderr[-3000:]
