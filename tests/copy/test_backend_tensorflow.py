"""Features of models on TensorFlow: traced functions, resources, trackables, strategies."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from tests.support.reach import assert_independent
from tests.support.state_models import assert_gives_path_and_fix, dense_model, floats, numbers, trained, twin_or_refusal
from tests.support.twins import assert_equal_outputs, assert_equal_values, fit_once, outputs, twin_of, values

if keras.backend.backend() != "tensorflow":
    pytest.skip("tests of TensorFlow features; the run on TensorFlow covers them", allow_module_level=True)

import tensorflow as tf

X, Y = floats(8, 4), floats(8, 3, seed=1)


class Holder:
    """A plain object: TensorFlow wraps and tracks only attributes of a layer itself."""

    def __init__(self, held):
        self.held = held


# --- Compiled functions -----------------------------------------------------------------------------------------------


def test_model_that_has_run_is_cloned_without_its_compiled_functions():
    model = trained(dense_model(), X, Y, optimizer="adam")
    model.predict(X, verbose=0)
    model.evaluate(X, Y, verbose=0)
    before = values(model)
    twin = twin_of(model)

    assert (twin.train_function, twin.test_function, twin.predict_function) == (None, None, None)
    np.testing.assert_array_equal(twin.predict(X, verbose=0), model.predict(X, verbose=0))
    fit_once(twin, X, Y)
    for now, was in zip(values(model), before, strict=True):
        np.testing.assert_array_equal(now, was)


def test_tf_function_kept_in_the_model_runs_on_the_twin():
    model = dense_model()
    model.fast = tf.function(lambda x: model(x) * 2)
    model.fast(X)
    twin = ramet.clone(model)  # without comparing attributes: traces belong to the original
    assert_independent(model, twin)
    twin.layers[-1].kernel.assign(np.zeros((4, 3)))

    assert not numbers([twin.fast(X)])[0].any()
    assert numbers([model.fast(X)])[0].any()


class Served(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(3)

    def call(self, x):
        return self.dense(x)

    @tf.function(input_signature=[tf.TensorSpec((None, 4), tf.float32)])
    def serve(self, x):
        return self(x) + 1


def test_method_behind_tf_function_runs_on_the_twin():
    model = Served()
    model.serve(X)
    twin = twin_of(model)
    twin.dense.kernel.assign(np.zeros((4, 3)))

    np.testing.assert_array_equal(numbers([twin.serve(X)])[0], np.ones((8, 3)))
    assert not np.array_equal(*numbers((model.serve(X), twin.serve(X))))


def test_options_of_a_tf_function_are_kept():
    model = dense_model()
    signature = [tf.TensorSpec((None, 4), tf.float32)]
    model.fast = tf.function(lambda x: model(x) * 1, input_signature=signature, reduce_retracing=True, autograph=False)
    model.fast(X)
    twin = ramet.clone(model)

    assert twin.fast.__name__ == model.fast.__name__
    assert twin.fast.input_signature == model.fast.input_signature
    np.testing.assert_array_equal(*numbers((model.fast(X), twin.fast(X))))
    with pytest.raises(TypeError):
        twin.fast(np.ones((2, 5), "float32"))


def test_traced_function_is_refused_with_its_path():
    model = dense_model()
    model.traced = Holder(tf.function(lambda x: model(x) * 1).get_concrete_function(tf.TensorSpec((None, 4))))

    with pytest.raises(ramet.errors.CannotCopyError, match=r"traced") as caught:
        ramet.clone(model)
    assert caught.value.fix


# --- Variables, modules, generators -----------------------------------------------------------------------------------


def test_raw_variables_are_copied():
    model = dense_model()
    model.counter = tf.Variable(3, dtype=tf.int64, trainable=False, name="counter")
    model.words = tf.Variable(["a", "b"])
    model.shaped = tf.Variable([[1.0]], shape=tf.TensorShape([None, 1]))
    twin = twin_of(model)
    twin.counter.assign_add(1)
    twin.shaped.assign([[1.0], [2.0]])

    assert (int(model.counter), int(twin.counter)) == (3, 4)
    assert twin.counter.name == model.counter.name
    assert not twin.counter.trainable
    assert twin.words.numpy().tolist() == [b"a", b"b"]
    assert model.shaped.shape.as_list() == [None, 1]
    assert model.shaped.numpy().tolist() == [[1.0]]


def test_variable_of_the_twin_is_found_by_gradient_tapes():
    model = dense_model()
    model.scale = tf.Variable(2.0)
    twin = twin_of(model)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(twin(X)) * twin.scale
    kernel, scale, theirs = tape.gradient(loss, [twin.layers[-1].kernel.value, twin.scale, model.scale])

    assert kernel is not None
    assert scale is not None
    assert theirs is None


def test_tf_module_is_copied_with_its_variables():
    class Scale(tf.Module):
        def __init__(self):
            super().__init__(name="scale")
            self.factor = tf.Variable(2.0)
            self.parts = [tf.Variable(1.0), {"deep": tf.Variable(3.0)}]

        @tf.function
        def __call__(self, x):
            return x * self.factor

    model = dense_model()
    model.scale = Scale()
    model.scale(X)
    twin = twin_of(model)
    twin.scale.factor.assign(0.0)

    assert len(twin.scale.variables) == 3
    assert not numbers([twin.scale(X)])[0].any()
    assert numbers([model.scale(X)])[0].any()


def test_tf_random_generator_continues_identically_and_is_reseeded():
    model = dense_model()
    model.noise = tf.random.Generator.from_seed(3)
    model.noise.normal((2,))
    twin, other, again = twin_of(model), ramet.clone(model, seed=1), ramet.clone(model, seed=1)

    following = model.noise.normal((3,)).numpy()
    np.testing.assert_array_equal(following, twin.noise.normal((3,)).numpy())
    assert not np.array_equal(following, other.noise.normal((3,)).numpy())
    again.noise.normal((3,))
    np.testing.assert_array_equal(other.noise.normal((3,)).numpy(), again.noise.normal((3,)).numpy())


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1),
        lambda: tf.lookup.experimental.MutableHashTable(tf.string, tf.int32, -1),
        lambda: tf.lookup.experimental.DenseHashTable(tf.string, tf.int32, -1, empty_key="", deleted_key="?"),
        lambda: tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64)), 2
        ),
    ],
    ids=["static", "mutable", "dense", "vocabulary"],
)
def test_user_defined_lookup_table_is_copied(make):
    model = dense_model()
    model.table = make()
    if hasattr(model.table, "insert"):
        model.table.insert(tf.constant(["a", "b"]), tf.constant([1, 2]))
    twin = ramet.clone(model)
    keys = tf.constant(["b", "a", "z"])

    np.testing.assert_array_equal(*numbers((model.table.lookup(keys), twin.table.lookup(keys))))
    if hasattr(twin.table, "insert"):
        twin.table.insert(tf.constant(["z"]), tf.constant([9]))
        assert int(model.table.lookup(tf.constant(["z"]))[0]) == -1
        assert int(twin.table.lookup(tf.constant(["z"]))[0]) == 9


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.ragged.constant([[1, 2], [3]]),
        lambda: tf.sparse.from_dense([[0, 1], [2, 0]]),
        lambda: tf.constant(["a", "b"]),
        lambda: tf.constant([1.0], tf.bfloat16),
        lambda: tf.IndexedSlices(tf.ones((1, 2)), tf.constant([0]), tf.constant([3, 2])),
    ],
    ids=["ragged", "sparse", "string", "bfloat16", "slices"],
)
def test_constants_of_every_kind_are_kept(make):
    model = dense_model()
    model.held = Holder(make())
    twin = ramet.clone(model)

    for ours, theirs in zip(
        tf.nest.flatten(model.held.held, expand_composites=True),
        tf.nest.flatten(twin.held.held, expand_composites=True),
        strict=True,
    ):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_lists_and_dicts_that_tensorflow_wraps_are_tracked_in_the_twin():
    class Tower(keras.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [layers.Dense(4), layers.Dense(4)]
            self.heads = {"a": layers.Dense(2)}
            self.pair = (layers.Dense(4), tf.Variable(1.0))

        def call(self, x):
            for block in (*self.blocks, self.pair[0]):
                x = block(x)
            return self.heads["a"](x) * self.pair[1]

    model = Tower()
    model(X)
    twin = twin_of(model)

    assert_equal_outputs(model, twin, X)
    assert [v.path for v in twin.variables] == [v.path for v in model.variables]
    assert twin.pair[1] is not model.pair[1]


# --- Checkpoints and SavedModels --------------------------------------------------------------------------------------


def test_checkpoint_of_the_twin_is_written_and_read(tmp_path):
    model = trained(dense_model(), X, Y, optimizer="adam")
    twin = twin_of(model)
    path = tf.train.Checkpoint(model=twin).save(str(tmp_path / "checkpoint"))
    kept = outputs(twin, X)[0]
    fit_once(twin, X, Y)
    tf.train.Checkpoint(model=twin).restore(path).expect_partial()

    np.testing.assert_array_equal(outputs(twin, X)[0], kept)
    assert_equal_outputs(model, twin, X)


def test_checkpoint_of_the_original_is_read_into_the_twin(tmp_path):
    model = dense_model()
    twin = twin_of(model)
    model.layers[-1].kernel.assign(floats(4, 3, seed=9))
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "checkpoint"))
    tf.train.Checkpoint(model=twin).restore(path).assert_existing_objects_matched()

    assert_equal_outputs(model, twin, X)


def test_twin_exports_as_a_saved_model(tmp_path):
    model = dense_model(layers.Dense(3), layers.BatchNormalization())
    model.predict(X, verbose=0)
    twin = twin_of(model)
    twin.export(tmp_path / "exported", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "exported"))

    np.testing.assert_allclose(loaded.serve(X).numpy(), outputs(model, X)[0], rtol=1e-5)


# tf#37234
def test_reloaded_saved_model_is_exact_or_refused_with_its_path(tmp_path):
    dense_model().export(tmp_path / "exported", verbose=False)
    layer = layers.TFSMLayer(tmp_path / "exported", call_endpoint="serve")
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layer(inputs))

    twin, error = twin_or_refusal(model)
    if error is not None:
        assert_gives_path_and_fix(error, model)
        return
    before = outputs(model, X)[0]
    assert_equal_values(model, twin)
    assert_equal_outputs(model, twin, X)
    for variable in twin.variables:
        variable.assign(np.zeros(variable.shape))
    assert not outputs(twin, X)[0].any()
    np.testing.assert_array_equal(outputs(model, X)[0], before)


def test_reloaded_saved_model_can_be_shared(tmp_path):
    dense_model().export(tmp_path / "exported", verbose=False)
    layer = layers.TFSMLayer(tmp_path / "exported", call_endpoint="serve")
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers.Dense(2)(layer(inputs)))

    twin = ramet.clone(model, share=[layer])
    assert_equal_outputs(model, twin, X)
    assert twin.layers[1] is layer


# --- Strategies -------------------------------------------------------------------------------------------------------


def test_model_created_under_the_default_strategy_is_exact():
    with tf.distribute.get_strategy().scope():
        model = trained(dense_model(), X, Y, optimizer="adam")
    twin = twin_of(model)

    assert fit_once(model, X, Y) == fit_once(twin, X, Y)
    assert_equal_values(model, twin)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.distribute.OneDeviceStrategy("/cpu:0"),
        lambda: tf.distribute.MirroredStrategy(["/cpu:0"]),
    ],
    ids=["one_device", "mirrored"],
)
def test_model_created_under_a_strategy_is_exact_or_refused_with_its_path(make):
    strategy = make()
    with strategy.scope():
        model = dense_model()
        model.compile("adam", "mse")
    fit_once(model, X, Y)

    with strategy.scope():
        twin, error = twin_or_refusal(model)
    if error is not None:
        assert_gives_path_and_fix(error, model)
        return
    assert_equal_values(model, twin)
    before = values(model)
    fit_once(twin, X, Y)
    for now, was in zip(values(model), before, strict=True):
        np.testing.assert_array_equal(now, was)
    fit_once(model, X, Y)
    assert_equal_values(model, twin)


def test_cloning_inside_a_tf_function_is_refused():
    model = dense_model()

    @tf.function
    def inside():
        ramet.clone(model)
        return tf.constant(1)

    with pytest.raises(Exception, match=r"clone outside of tf\.function"):  # TensorFlow wraps exceptions there
        inside()


def test_symbolic_tensors_left_by_a_trace_are_harmless():
    class Leaky(layers.Layer):
        def call(self, x):
            self.__dict__["last"] = x
            return x * 2

    model = dense_model(Leaky())
    model.predict(X, verbose=0)
    twin = ramet.clone(model)

    assert_equal_outputs(model, twin, X)
