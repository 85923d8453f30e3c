"""`sync` compared with the same update in NumPy."""

import gc
import os
import subprocess
import sys
import warnings
import weakref

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet._weights import sync, syncing
from ramet.errors import ArgumentError, NotAModelError, StateElsewhereError, WeightsDoNotFitError
from tests.weights.models import Held, X, Y, held, models, numbers, scatter, small, tied, two

BACKEND = keras.backend.backend()


def assert_between(before, source, after, tau):
    for old, theirs, new in zip(before, source, after, strict=True):
        np.testing.assert_allclose(new, tau * theirs + (1 - tau) * old, rtol=1e-5)


def assert_bits(first, second):
    for a, b in zip(first, second, strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def test_a_hard_sync_copies_every_bit_and_leaves_the_source():
    source, target = two()
    before = numbers(source)

    sync(source, target)

    assert_bits(numbers(target), before)
    assert_bits(numbers(source), before)


@pytest.mark.parametrize("tau", [0.005, 0.5, 0.9, np.float32(0.25), 1])
def test_a_soft_sync_is_the_weighted_mean_by_path(tau):
    source, target = two()
    before, theirs = numbers(target), numbers(source)

    sync(source, target, tau=tau)

    assert_between(before, theirs, numbers(target), float(tau))
    assert_bits(numbers(source), theirs)


def test_batch_statistics_are_averaged_like_weights():
    source, target = two()
    old, new = (model.get_layer("body").get_layer("norm") for model in (target, source))
    expected = 0.1 * new.moving_mean.numpy() + 0.9 * old.moving_mean.numpy()

    sync(source, target, tau=0.1)

    np.testing.assert_allclose(old.moving_mean.numpy(), expected, rtol=1e-6)


def test_random_states_are_not_synced():
    source, target = two()
    source.get_layer("drop").seed_generator.state.assign([7, 7])
    before = np.array(target.get_layer("drop").seed_generator.state.numpy())

    sync(source, target)

    np.testing.assert_array_equal(target.get_layer("drop").seed_generator.state.numpy(), before)


def test_the_states_of_a_stateful_rnn_are_not_synced():
    x = keras.Input((3, 4), batch_size=2)
    source = keras.Model(x, layers.LSTM(3, stateful=True, name="lstm")(x))
    target = ramet.clone(source)
    source(np.ones((2, 3, 4), "float32"))
    before = [state.numpy().copy() for state in target.get_layer("lstm").states]

    sync(source, target)

    for state, old in zip(target.get_layer("lstm").states, before, strict=True):
        np.testing.assert_array_equal(state.numpy(), old)
    assert_bits(numbers(target), numbers(source))


def test_negative_zeros_infinities_and_nans_are_copied_bit_by_bit():
    source, target = two()
    odd = np.array([-0.0, np.inf], "float32")
    source.get_layer("head").bias.assign(odd)
    target.get_layer("head").bias.assign([np.nan, np.inf])

    sync(source, target)

    assert target.get_layer("head").bias.numpy().tobytes() == odd.tobytes()


def test_tau_of_zero_changes_nothing():
    source, target = two()
    before = numbers(target)

    sync(source, target, tau=0.0)

    assert_bits(numbers(target), before)


def test_many_small_steps_follow_the_formula():
    source, target = two()
    expected = numbers(target)

    for step in range(20):
        scatter(source, step)
        expected = [0.05 * new + 0.95 * old for new, old in zip(numbers(source), expected, strict=True)]
        sync(source, target, tau=0.05)

    for ours, theirs in zip(numbers(target), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_the_name_of_the_models_does_not_matter():
    source = small("one")
    target = ramet.clone(source, name="another")
    scatter(source, 3)

    sync(source, target)

    assert_bits(numbers(target), numbers(source))


def test_weights_are_matched_by_path_not_by_order():
    class Other(Held):
        def __init__(self):
            keras.Model.__init__(self)
            self.heads = {"a": layers.Dense(2, name="a")}
            self.blocks = [layers.Dense(4, name="first"), layers.Dense(4, name="second")]

    source, target = held(), Other()
    target(X)
    assert [v.shape for v in source.weights] != [v.shape for v in target.weights]

    sync(source, target)

    np.testing.assert_array_equal(target.heads["a"].kernel.numpy(), source.heads["a"].kernel.numpy())
    np.testing.assert_array_equal(target.blocks[1].kernel.numpy(), source.blocks[1].kernel.numpy())


def test_layers_are_synced_on_their_own():
    source, target = layers.Dense(3), layers.Dense(3)
    source.build((None, 2))
    target.build((None, 2))

    sync(source, target)

    np.testing.assert_array_equal(target.kernel.numpy(), source.kernel.numpy())


def test_tied_variables_are_updated_once():
    source = tied()
    target = scatter(ramet.clone(source), 5)
    scatter(source, 6)
    before, theirs = numbers(target), numbers(source)

    sync(source, target, tau=0.5)

    assert_between(before, theirs, numbers(target), 0.5)
    assert target.get_layer("first").w is target.get_layer("second").w


def test_a_variable_that_both_models_share_stays():
    source = small()
    target = ramet.clone(source, share=[source.get_layer("head")])
    scatter(source, 4)
    before = source.get_layer("head").kernel.numpy().copy()

    sync(source, target, tau=0.5)

    np.testing.assert_array_equal(source.get_layer("head").kernel.numpy(), before)


def test_integers_are_copied():
    class Counter(layers.Layer):
        def build(self, shape):
            self.steps = self.add_weight(shape=(), dtype="int32", initializer="zeros", name="steps", trainable=False)
            self.on = self.add_weight(shape=(2,), dtype="bool", initializer="zeros", name="on", trainable=False)
            self.scale = self.add_weight(shape=(), name="scale", initializer="ones")

        def call(self, x):
            return x * self.scale

    source, target = Counter(), Counter()
    for layer in (source, target):
        layer.build((None, 2))
    source.steps.assign(41)
    source.on.assign([True, False])
    source.scale.assign(3.0)

    sync(source, target, tau=0.5)

    assert int(target.steps.numpy()) == 41
    assert target.on.numpy().tolist() == [True, False]
    assert float(target.scale.numpy()) == 2.0


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_floats_are_averaged_in_single_precision(dtype):
    source, target = (layers.Dense(64, dtype=dtype) for _ in range(2))
    for layer in (source, target):
        layer.build((None, 64))
        layer.bias.assign(np.random.default_rng(layer is source).normal(size=64))
    old, new = (np.array(keras.ops.convert_to_numpy(layer.kernel)) for layer in (target, source))
    wide = old.astype("float32")
    expected = (wide + np.float32(0.3) * (new.astype("float32") - wide)).astype(old.dtype)

    sync(source, target, tau=0.3)

    got = keras.ops.convert_to_numpy(target.kernel)
    assert got.dtype == old.dtype
    # The last bit may differ, because a fused multiply-add rounds in another way.
    assert (got != expected).mean() < 0.02
    sync(source, target)
    assert keras.ops.convert_to_numpy(target.kernel).tobytes() == new.tobytes()


def test_double_precision_keeps_tau_in_double_precision():
    if BACKEND == "jax":
        pytest.skip("JAX has no float64 unless the whole program enables it; the other backends run this")
    source, target = (layers.Dense(2, dtype="float64") for _ in range(2))
    for layer in (source, target):
        layer.build((None, 2))
    old, new = target.kernel.numpy().copy(), source.kernel.numpy().copy()

    sync(source, target, tau=0.1)

    np.testing.assert_allclose(target.kernel.numpy(), old + 0.1 * (new - old), rtol=1e-14)


def test_other_float_widths_are_cast():
    source, target = layers.Dense(3), layers.Dense(3, dtype="bfloat16")
    for layer in (source, target):
        layer.build((None, 4))

    sync(source, target)

    expected = source.kernel.numpy().astype(keras.ops.convert_to_numpy(target.kernel).dtype)
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(target.kernel), expected)


def test_both_models_train_on_after_a_sync():
    source, target = two(compiled=True)
    target.compile(keras.optimizers.Adam(0.05), "mse")
    for tau in (1.0, 0.3, 1.0):
        sync(source, target, tau=tau)
        source.fit(X, Y, verbose=0)
        middle = numbers(target)
        target.fit(X, Y, verbose=0)
        sync(source, target, tau=tau)

        assert not np.array_equal(middle[0], numbers(target)[0])
    sync(source, target)
    before = numbers(target)
    source.fit(X, Y, verbose=0)

    assert_bits(numbers(target), before)


def test_values_the_user_holds_stay_readable():
    source, target = two()
    kept = keras.ops.copy(target.get_layer("head").kernel.value)
    held_value = target.get_layer("head").kernel.value if BACKEND == "jax" else kept
    expected = np.array(keras.ops.convert_to_numpy(kept))

    sync(source, target, tau=0.5)

    np.testing.assert_array_equal(keras.ops.convert_to_numpy(held_value), expected)


def test_variables_that_share_an_array_after_a_naive_copy_are_separated():
    source, target = two()
    for theirs, ours in zip(source.weights, target.weights, strict=True):
        ours.assign(theirs.value)  # on JAX, both hold the very same array now
    before = numbers(source)

    for tau in (0.5, 1.0, 0.1):
        sync(source, target, tau=tau)

    assert_bits(numbers(source), before)
    scatter(source, 9)
    for ours, old in zip(numbers(target), before, strict=True):
        np.testing.assert_allclose(ours, old, rtol=1e-6)


def test_sync_does_not_warn():
    source, target = two()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sync(source, target, tau=0.1)
        sync(source, target)


def test_sync_keeps_no_model_alive():
    source, target = two()
    sync(source, target, tau=0.5)
    sync(source, target)
    sync(source, target, tau=0.5)
    known = len(syncing._pairs)
    gone = [weakref.ref(one) for one in (source, target, source.get_layer("head"), target.get_layer("head").kernel)]
    del source, target
    gc.collect()

    assert [ref() for ref in gone] == [None] * 4
    assert len(syncing._pairs) < known


def test_target_may_be_collected_before_the_source():
    source, target = two()
    sync(source, target, tau=0.5)
    gone = weakref.ref(target)
    del target
    gc.collect()
    again = ramet.clone(source)
    scatter(source, 8)
    sync(source, again)

    assert gone() is None
    assert_bits(numbers(again), numbers(source))


def test_one_source_serves_many_targets():
    source, *targets = models("one", "two", "three")
    before = [numbers(target) for target in targets]
    for target, tau in zip(targets, (0.2, 0.7), strict=True):
        sync(source, target, tau=tau)

    for target, old, tau in zip(targets, before, (0.2, 0.7), strict=True):
        assert_between(old, numbers(source), numbers(target), tau)


def test_a_model_that_got_lora_is_synced_with_its_new_weights():
    source, target = two()
    sync(source, target)
    for model in (source, target):
        model.get_layer("head").enable_lora(1)
    source.get_layer("head").lora_kernel_b.assign(np.full((1, 2), 5, "float32"))

    sync(source, target)

    np.testing.assert_array_equal(target.get_layer("head").lora_kernel_b.numpy(), np.full((1, 2), 5))


def test_a_change_on_one_side_only_is_refused_and_nothing_is_written():
    source, target = two()
    sync(source, target)
    source.get_layer("head").enable_lora(1)
    scatter(source, 5)
    before = numbers(target)

    with pytest.raises(WeightsDoNotFitError, match="'head/lora_kernel_a' is in the source only"):
        sync(source, target)
    assert_bits(numbers(target), before)


def test_variables_that_quantizing_replaced_are_found_again():
    source, target = two()
    sync(source, target, tau=0.5)
    for model in (source, target):
        model.quantize("int8")

    sync(source, target)

    assert target.get_layer("head").quantization_mode == "int8"
    assert_bits(numbers(target), numbers(source))


def test_layers_added_to_a_sequential_are_synced():
    source, target = (keras.Sequential([keras.Input((4,)), layers.Dense(3, name="a")]) for _ in range(2))
    sync(source, target)
    for model in (source, target):
        model.add(layers.Dense(2, name="b"))

    sync(source, target)

    assert_bits(numbers(target), numbers(source))


def test_normalization_uses_the_new_statistics():
    source, target = (keras.Sequential([keras.Input((4,)), layers.Normalization(name="n")]) for _ in range(2))
    source.get_layer("n").adapt(X * 3 + 1)
    target.get_layer("n").adapt(X)

    sync(source, target)

    np.testing.assert_allclose(target.predict(X, verbose=0), source.predict(X, verbose=0), rtol=1e-6)


def test_a_quantized_model_is_copied_but_not_averaged():
    source = small()
    source.quantize("int8")
    target = ramet.clone(source)
    source.get_layer("head").bias.assign([1.0, 2.0])

    sync(source, target)

    assert_bits(numbers(target), numbers(source))
    with pytest.raises(ArgumentError, match="is quantized"):
        sync(source, target, tau=0.5)


def test_models_quantized_in_different_ways_are_refused():
    """With one unit, the packed int4 kernel has the shape and dtype of the plain int8 kernel."""
    source, target = (keras.Sequential([keras.Input((4,)), layers.Dense(1, name="d")]) for _ in range(2))
    source.quantize("int8")
    target.quantize("int4")

    with pytest.raises(WeightsDoNotFitError, match="source"):
        sync(source, target)


@pytest.mark.parametrize("tau", [-0.1, 1.1, float("nan"), float("inf"), "0.5", None, True, [0.5], np.array([0.5])])
def test_invalid_tau_is_refused(tau):
    source, target = two()
    before = numbers(target)

    with pytest.raises(ArgumentError, match="not a number from 0 to 1"):
        sync(source, target, tau=tau)
    assert_bits(numbers(target), before)


def test_tau_may_be_a_tensor_or_a_variable():
    source, target = two()
    before = numbers(target)
    sync(source, target, tau=keras.ops.convert_to_tensor(0.25))
    assert_between(before, numbers(source), numbers(target), 0.25)

    before = numbers(target)
    sync(source, target, tau=keras.Variable(0.5))
    assert_between(before, numbers(source), numbers(target), 0.5)
    with pytest.raises(ArgumentError, match="not a number from 0 to 1"):
        sync(source, target, tau=keras.ops.convert_to_tensor(1.5))


def test_other_shapes_and_paths_are_refused_before_anything_changes():
    source, target = small(units=5), small()
    before = numbers(target)

    with pytest.raises(WeightsDoNotFitError) as caught:
        sync(source, target)

    assert str(caught.value) == (
        "Cannot sync 'net' and 'net': their weights differ.\n"
        "  found:    'body/dense/kernel' is (4, 5) in the source and (4, 3) in the target; 'body/dense/bias' is (5,) in "
        "the source and (3,) in the target; 'body/norm/gamma' is (5,) in the source and (3,) in the target; and 4 more\n"
        "  fix: make the target with ramet.clone(model), or copy the weights once with ramet.transfer."
    )
    assert caught.value.path == "body/dense/kernel"
    assert_bits(numbers(target), before)


def test_sync_of_a_model_with_itself_is_refused():
    model = small()

    with pytest.raises(ArgumentError, match="the same object"):
        sync(model, model)


def test_objects_without_weights_are_refused():
    with pytest.raises(ArgumentError, match="before it is built"):
        sync(keras.Sequential([layers.Dense(2)]), small())
    with pytest.raises(NotAModelError, match="class dict"):
        sync({}, small())


def test_a_sync_in_a_callback_follows_the_training():
    source, target = two(compiled=True)
    alone = ramet.clone(source)
    seen = []

    class Follow(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            sync(self.model, target)
            seen.append(numbers(target))

    for model, callbacks in ((source, [Follow()]), (alone, [])):
        keras.utils.set_random_seed(1)
        model.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0, callbacks=callbacks)

    assert len(seen) == 6
    assert not np.array_equal(seen[0][0], seen[1][0])
    assert_bits(seen[-1], numbers(source))
    assert_bits(numbers(source), numbers(alone))


def test_a_soft_sync_in_a_callback_averages_the_training():
    source, target = two(compiled=True)
    expected = [numbers(target)]

    class Follow(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if hasattr(self.model, "jax_state_sync"):
                self.model.jax_state_sync()
            expected.append([0.1 * n + 0.9 * o for n, o in zip(numbers(self.model), expected[-1], strict=True)])
            sync(self.model, target, tau=0.1)

    source.fit(X, Y, batch_size=4, verbose=0, callbacks=[Follow()])

    for ours, theirs in zip(numbers(target), expected[-1], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_model_in_training_may_be_the_target():
    average, model = two()
    model.compile(keras.optimizers.SGD(0.0), "mse")

    class Swap(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            sync(average, self.model)

    model.fit(X, Y, batch_size=4, epochs=2, verbose=0, callbacks=[Swap()])

    np.testing.assert_array_equal(model.get_layer("head").kernel.numpy(), average.get_layer("head").kernel.numpy())
    model.fit(X, Y, batch_size=4, verbose=0)


def test_both_networks_may_be_part_of_the_model_in_training():
    class Agent(keras.Model):
        def __init__(self, net):
            super().__init__()
            self.net = net
            self.target = ramet.clone(net, name="target")
            self.target.trainable = False

        def call(self, x):
            return self.net(x)

    seen = []

    class Follow(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            sync(self.model.net, self.model.target)
            seen.append(numbers(self.model.target))

    agent = Agent(small())
    agent(X)
    agent.compile(keras.optimizers.SGD(0.1), "mse")
    agent.fit(X, Y, batch_size=4, verbose=0, callbacks=[Follow()])

    assert not np.array_equal(seen[0][0], seen[1][0])
    assert_bits(numbers(agent.target), numbers(agent.net))
    agent.fit(X, Y, batch_size=4, verbose=0)
    assert_bits(numbers(agent.target), seen[-1])


def test_stateless_scope_holds_the_synced_values():
    source, target = two()
    before = numbers(target)

    with keras.StatelessScope() as scope:
        sync(source, target, tau=0.25)

    assert_bits(numbers(target), before)
    kept = [np.array(keras.ops.convert_to_numpy(scope.get_current_value(variable))) for variable in target.weights]
    assert_between(before, numbers(source), kept, 0.25)


@pytest.mark.skipif(BACKEND != "jax", reason="only JAX compiles steps without state; the run on JAX covers it")
def test_a_compiled_step_on_jax_works_through_a_stateless_scope_and_is_refused_elsewhere():
    import jax

    source, target = two()
    before = numbers(target)

    @jax.jit
    def step(values, tau):
        with keras.StatelessScope(list(zip(target.weights, values, strict=True))) as scope:
            sync(source, target, tau=tau)
        return [scope.get_current_value(variable) for variable in target.weights]

    new = step([variable.value for variable in target.weights], 0.25)
    assert_between(before, numbers(source), list(map(np.asarray, new)), 0.25)

    @jax.jit
    def leak(x):
        sync(source, target)
        return x

    with pytest.raises(StateElsewhereError, match="that JAX compiles"):
        leak(1.0)
    assert_bits(numbers(target), before)


@pytest.mark.skipif(
    BACKEND != "jax", reason="only JAX takes the values out of a model while it trains; the run on JAX covers it"
)
def test_sync_in_a_custom_train_step_on_jax_is_refused_with_a_fix():
    class Agent(keras.Model):
        def __init__(self, net):
            super().__init__()
            self.net = net
            self.target = ramet.clone(net)

        def call(self, x):
            return self.net(x)

        def train_step(self, state, data):
            sync(self.net, self.target, tau=0.1)
            return super().train_step(state, data)

    agent = Agent(small())
    agent.compile("sgd", "mse")

    with pytest.raises(StateElsewhereError, match="in a callback or between two steps"):
        agent.fit(X, Y, verbose=0)


@pytest.mark.skipif(BACKEND == "jax", reason="JAX passes state through train_step; the test above covers it")
@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("tau", [1.0, 0.25])
def test_sync_works_inside_a_custom_train_step(eager, tau):
    class Agent(keras.Model):
        def __init__(self, net):
            super().__init__()
            self.net = net
            self.target = ramet.clone(net, name="target")
            self.target.trainable = False

        def call(self, x):
            return self.net(x)

        def train_step(self, *arguments):
            logs = super().train_step(*arguments)
            sync(self.net, self.target, tau=tau)
            return logs

    agent = Agent(small())
    agent.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=eager)
    agent(X)
    before = numbers(agent.target)
    agent.train_on_batch(X, Y)

    assert_between(before, numbers(agent.net), numbers(agent.target), tau)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="functions of TensorFlow; the run on TensorFlow covers them")
def test_tau_may_be_a_tensor_inside_a_tensorflow_function():
    import tensorflow as tf

    source, target = two()

    @tf.function
    def step(tau):
        sync(source, target, tau=tau)

    for tau in (0.25, 1.0):
        before = numbers(target)
        step(tf.constant(tau))
        assert_between(before, numbers(source), numbers(target), tau)
    assert_bits(numbers(target), numbers(source))


@pytest.mark.skipif(BACKEND != "jax", reason="shardings of JAX; the run on JAX covers them")
def test_device_and_commitment_of_the_target_stay():
    import jax

    source, target = two()
    head = target.get_layer("head").kernel
    head.assign(jax.device_put(head.value, jax.devices()[0]))
    before = [(variable.value.sharding, variable.value.committed) for variable in target.weights]

    for tau in (1.0, 0.5):
        sync(source, target, tau=tau)
        assert [variable.value.sharding for variable in target.weights] == [sharding for sharding, _ in before]
        assert head.value.committed


SHARDED = """
import jax, keras, numpy as np
from keras import layers
from ramet._weights import sync, transfer

def build():
    return keras.Sequential([keras.Input((4,)), layers.Dense(8, name="a"), layers.Dense(2, name="b")])

keras.utils.set_random_seed(0)
plain = build()
mesh = keras.distribution.DeviceMesh((2, 2), ["batch", "model"], keras.distribution.list_devices())
layouts = keras.distribution.LayoutMap(mesh)
layouts[".*kernel"] = (None, "model")
with keras.distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch").scope():
    source, target = build(), build()
for one, other in ((source, target), (plain, target), (source, plain)):
    shardings = [variable.value.sharding for variable in other.weights]
    for tau in (0.5, 1.0, 0.5):
        before = [np.asarray(variable.value) for variable in other.weights]
        sync(one, other, tau)
        for new, theirs, old in zip(other.weights, one.weights, before, strict=True):
            expected = tau * np.asarray(theirs.value) + (1 - tau) * old
            # Not relative: two weights of opposite signs may almost cancel out.
            np.testing.assert_allclose(np.asarray(new.value), expected, rtol=0, atol=1e-6)
    transfer(one, other)
    assert shardings == [variable.value.sharding for variable in other.weights]
assert "'model'" in str(target.weights[0].value.sharding.spec)
"""


@pytest.mark.skipif(BACKEND != "jax", reason="shardings of JAX; the run on JAX covers them")
def test_a_sharded_target_stays_sharded_whatever_the_source_is():
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    run = subprocess.run(
        [sys.executable, "-c", SHARDED], env=environment, capture_output=True, text=True, check=False, timeout=300
    )

    assert run.returncode == 0, run.stderr


@pytest.mark.skipif(BACKEND != "jax", reason="compiled functions of JAX; the run on JAX covers them")
def test_new_tau_does_not_compile_again():
    from ramet._weights import jax_blend

    source, target = two()
    sync(source, target, tau=0.5)
    count = jax_blend._soft[0]._cache_size()
    for tau in (0.1, 0.2, 0.3):
        sync(source, target, tau=tau)

    assert jax_blend._soft[0]._cache_size() == count


def test_the_flags_of_the_target_stay():
    source, target = two()
    target.trainable = False

    sync(source, target, tau=0.5)

    assert target.trainable is False
    assert target.trainable_weights == []
