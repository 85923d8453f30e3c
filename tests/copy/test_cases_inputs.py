"""Cases in tests/CASES.md, "Inputs". Other inputs (`inputs=`) are tested in tests/build."""

import keras
import numpy as np
import pytest
from keras import layers

from tests.support.cases_models import assert_alike, numbers
from tests.support.twins import assert_equal_outputs, fit_once, outputs, twin_of
from tests.support.versions import needs_keras


class AddIfThere(keras.Layer):
    def call(self, x, extra=None):
        return x if extra is None else x + extra


def test_optional_input_is_still_optional():
    # keras PR#20757 family
    needed, extra = keras.Input((3,), name="needed"), keras.Input((3,), name="extra", optional=True)
    model = keras.Model([needed, extra], layers.Dense(2)(AddIfThere()(needed, extra)))
    x = numbers(2, 3)

    twin = twin_of(model)

    assert [tensor._keras_history[0].optional for tensor in twin.inputs] == [False, True]
    assert_alike(model, twin, [x, x])
    assert_equal_outputs(model, twin, [x, None])


def test_optional_input_in_a_dict_of_inputs_is_still_optional():
    # keras PR#20757 family
    inputs = {"x": keras.Input((3,), name="x"), "extra": keras.Input((3,), name="extra", optional=True)}
    model = keras.Model(inputs, AddIfThere()(inputs["x"], inputs["extra"]))
    x = numbers(2, 3)

    twin = twin_of(model)

    assert_alike(model, twin, {"x": x, "extra": x})
    assert_equal_outputs(model, twin, {"x": x, "extra": None})


def test_optional_input_of_a_nested_model_is_still_optional():
    # keras PR#20757 family
    needed, extra = keras.Input((3,)), keras.Input((3,), optional=True)
    inner = keras.Model([needed, extra], AddIfThere()(needed, extra), name="inner")
    inputs = keras.Input((3,))
    model = keras.Model(inputs, inner([inputs, inputs]))
    x = numbers(2, 3)

    twin = twin_of(model)

    assert_alike(model, twin, x)
    assert_equal_outputs(model.get_layer("inner"), twin.get_layer("inner"), [x, None])


def test_sparse_input_of_a_functional_model_is_not_densified(backend):
    # tf#34157 family
    if backend == "torch":
        # Keras has no sparse tensors on torch, so there is no such model.
        with pytest.raises(ValueError, match="`sparse=True` is not supported with the torch backend"):
            keras.Input((4,), sparse=True)
        return
    seen = []
    inputs = keras.Input((4,), sparse=True)
    model = keras.Model(inputs, layers.Dense(3)(Spy(name="spy")(inputs)))
    model.get_layer("spy").seen = seen

    twin = twin_of(model)

    x = sparse(np.eye(4, dtype="float32"), backend)
    assert_alike(model, twin, x)
    assert twin.get_layer("spy").seen[-1] == type(x).__name__
    assert twin.inputs[0].sparse is True


class Spy(keras.Layer):
    """A layer that records the class of its input."""

    def call(self, x):
        self.seen.append(type(x).__name__)
        return x

    def compute_output_spec(self, x):
        return keras.KerasTensor(x.shape, dtype=x.dtype, sparse=x.sparse)


def sparse(dense, backend):
    if backend == "jax":
        from jax.experimental import sparse as jax_sparse

        return jax_sparse.BCOO.fromdense(dense)
    import tensorflow as tf

    return tf.sparse.from_dense(dense)


def test_ragged_input_is_still_ragged(backend):
    # keras#20576, #20073, PR#20757
    if backend != "tensorflow":
        # Keras has ragged tensors on TensorFlow only, so there is no such model.
        with pytest.raises(ValueError, match=f"`ragged=True` is not supported with the {backend} backend"):
            keras.Input((None,), ragged=True)
        return
    import tensorflow as tf

    inputs = keras.Input((None,), ragged=True, dtype="int64")
    model = keras.Model(inputs, layers.Lambda(lambda x: tf.reduce_sum(x, axis=1))(inputs))
    x = tf.ragged.constant([[1, 2, 3], [4]], dtype="int64")

    twin = twin_of(model)

    assert twin.inputs[0].ragged is True
    assert twin(x).numpy().tolist() == model(x).numpy().tolist() == [6, 4]


@pytest.mark.parametrize("name", [None, "tokens"])
def test_input_layer_keeps_its_name(name):
    inputs = keras.Input((3,), name=name)
    model = keras.Model(inputs, layers.Dense(2)(inputs))

    twin = twin_of(model)

    assert twin.layers[0].name == model.layers[0].name
    assert twin.get_layer(model.layers[0].name) is twin.layers[0]
    assert twin.inputs[0].name == model.inputs[0].name
    assert_alike(model, twin, numbers(2, 3))


def test_input_layer_of_a_sequential_model_keeps_its_name():
    model = keras.Sequential([layers.InputLayer(shape=(3,), name="first"), layers.Dense(2)])

    twin = twin_of(model)

    assert twin._layers[0].name == "first"
    assert_alike(model, twin, numbers(2, 3))


def test_inputs_in_a_dict_keep_their_order():
    # Not in alphabetical order: if they were confused, the inputs would not fit.
    inputs = {"z": keras.Input((3,), name="z"), "a": keras.Input((5,), name="a"), "m": keras.Input((2,), name="m")}
    model = keras.Model(inputs, layers.Concatenate()([inputs["m"], inputs["z"], inputs["a"]]))
    x = {"z": numbers(2, 3), "a": numbers(2, 5), "m": numbers(2, 2)}

    twin = twin_of(model)

    assert_alike(model, twin, x)
    assert list(twin._inputs_struct) == ["z", "a", "m"]
    np.testing.assert_array_equal(outputs(twin, x)[0], np.concatenate([x["m"], x["z"], x["a"]], -1))
    np.testing.assert_array_equal(twin.predict(x, verbose=0), model.predict(x, verbose=0))


@pytest.mark.parametrize("container", [list, tuple])
def test_inputs_in_a_list_or_tuple_keep_their_order(container):
    a, b = keras.Input((3,)), keras.Input((3,))
    model = keras.Model(container([a, b]), layers.Subtract()([b, a]))

    twin = twin_of(model)

    assert type(twin._inputs_struct) is type(model._inputs_struct)
    assert_alike(model, twin, [numbers(2, 3), numbers(2, 3, seed=1)])


def test_nested_inputs_keep_their_structure():
    inputs = {"pair": [keras.Input((3,)), keras.Input((3,))], "deep": {"er": (keras.Input((3,)),)}}
    flat = keras.tree.flatten(inputs)
    model = keras.Model(inputs, layers.Add()([layers.Dense(2)(x) for x in flat]))
    x = {"pair": [numbers(2, 3), numbers(2, 3, seed=1)], "deep": {"er": (numbers(2, 3, seed=2),)}}

    twin = twin_of(model)

    keras.tree.assert_same_structure(model._inputs_struct, twin._inputs_struct)
    assert_alike(model, twin, x)


@needs_keras(3, 14, "Keras itself refuses an input that leads to no output")
def test_unused_input_is_kept():
    used, unused = keras.Input((3,), name="used"), keras.Input((9,), name="unused")
    model = keras.Model([used, unused], layers.Dense(2)(used))

    twin = twin_of(model)

    assert [tensor.name for tensor in twin.inputs] == ["used", "unused"]
    assert_alike(model, twin, [numbers(2, 3), numbers(2, 9)])


@pytest.mark.parametrize("kind", ["functional", "sequential"])
def test_fixed_batch_size_is_kept(kind):
    inputs = keras.Input((3,), batch_size=2)
    dense = layers.Dense(4)
    model = keras.Model(inputs, dense(inputs)) if kind == "functional" else keras.Sequential([inputs, dense])

    twin = twin_of(model)

    assert twin.input_shape == (2, 3)
    assert twin.output_shape == (2, 4)
    assert twin.inputs[0].shape == (2, 3)
    assert_alike(model, twin, numbers(2, 3))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "float16", "bfloat16", "float64", "int64"])
def test_input_keeps_its_dtype(dtype, backend):
    inputs = keras.Input((3,), dtype=dtype)
    model = keras.Model(inputs, layers.Lambda(lambda x: keras.ops.cast(x, "float32") + 1)(inputs))

    twin = twin_of(model)

    assert twin.inputs[0].dtype == dtype
    # JAX has 64 bits only if they are enabled; otherwise such inputs can be declared but not fed.
    can_be_fed = backend != "jax" or not dtype.endswith("64")
    assert_alike(model, twin, np.array([[0, 1, 1]]) if can_be_fed else None)


@needs_keras(3, 14, "Keras itself refuses an input that leads to no output")
def test_string_input_keeps_its_dtype(backend):
    if backend != "tensorflow":
        # Only TensorFlow has tensors of strings; elsewhere such an input can be declared and cloned, not fed.
        inputs = keras.Input((1,), dtype="string")
        model = keras.Model(inputs, inputs)
        assert twin_of(model).inputs[0].dtype == "string"
        return
    import tensorflow as tf

    inputs = keras.Input((1,), dtype="string")
    model = keras.Model(inputs, layers.StringLookup(vocabulary=["a", "b"])(inputs))

    twin = twin_of(model)

    assert twin.inputs[0].dtype == "string"
    assert_alike(model, twin, tf.constant([["a"], ["c"]]))


def test_input_with_the_name_of_a_nested_layer_keeps_its_name():
    inner_inputs = keras.Input((3,), name="same")
    inner = keras.Model(inner_inputs, layers.Dense(3, name="d")(inner_inputs), name="inner")
    inputs = keras.Input((3,), name="same")
    model = keras.Model(inputs, layers.Dense(3, name="d")(inner(inputs)))

    twin = twin_of(model)

    assert twin.inputs[0].name == twin.get_layer("inner").inputs[0].name == "same"
    assert twin.inputs[0] is not twin.get_layer("inner").inputs[0]
    assert_alike(model, twin, numbers(2, 3))


def test_data_fed_by_name_finds_its_input():
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    model = keras.Model({"a": a, "b": b}, layers.Dense(1)(layers.Subtract()([a, b])))
    model.compile("sgd", "mse")
    x = {"b": numbers(4, 3), "a": numbers(4, 3, seed=1)}

    twin = twin_of(model)

    assert fit_once(twin, x, numbers(4, 1)) == fit_once(model, x, numbers(4, 1))
