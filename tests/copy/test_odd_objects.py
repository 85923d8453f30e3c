"""Objects of all kinds that users hang on layers, found by trying."""

import functools
import io
import random
import sys
import weakref

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from tests.support.reach import assert_independent


def through(value):
    """The twin of a value that stands in a layer's attribute, set past Keras' tracking."""
    layer = layers.Dense(1)
    layer.__dict__["held"] = value
    return ramet.clone(layer).held


def test_an_id_of_a_part_becomes_the_id_of_its_twin_wherever_it_stands():
    layer = layers.Dense(1)
    part = layer.__dict__["part"] = layers.Dense(1)
    key = id(part)

    def closure():
        return key

    layer.__dict__["held"] = {
        "list": [key],
        "tuple": (1, (key,)),
        "value": {"a": key},
        "key": {key: 1},
        "tuple key": {(key, "a"): 1},
        "set": {key},
        "frozenset": frozenset({key}),
        "closure": closure,
    }
    twin = ramet.clone(layer)
    new = id(twin.part)

    assert_independent(layer, twin)
    held = twin.held
    assert held["list"] == [new]
    assert held["tuple"] == (1, (new,))
    assert held["value"] == {"a": new}
    assert held["key"] == {new: 1}
    assert held["tuple key"] == {(new, "a"): 1}
    assert held["set"] == {new}
    assert held["frozenset"] == frozenset({new})
    assert held["closure"]() == new


def test_a_large_number_that_is_no_id_stays():
    assert through([2**60, (2**61,), {2**62: 2**63}]) == [2**60, (2**61,), {2**62: 2**63}]


def test_the_address_of_another_program_in_a_config_stays():
    layer = layers.Dense(1)
    layer.__dict__["held"] = {"shared_object_id": id(layer), "own": id(layer)}
    twin = ramet.clone(layer)

    assert twin.held == {"shared_object_id": id(layer), "own": id(twin)}


def test_a_numpy_generator_keeps_its_seed_sequence():
    generator = np.random.default_rng(5)
    twin = through(generator)

    assert twin.spawn(1)[0].random() == generator.spawn(1)[0].random()
    assert twin.random() == generator.random()


def test_a_random_state_on_another_bit_generator_is_copied():
    state = np.random.RandomState(np.random.PCG64(1))

    assert through(state).rand() == state.rand()


def test_functions_of_the_global_generators_stay_the_global_ones():
    assert through(random.random) is random.random
    assert through(np.random.normal) is np.random.normal


def test_objects_in_records_and_views_of_object_arrays_are_copied():
    record = np.zeros(1, dtype=[("number", "i4"), ("thing", "O")])
    record["thing"][0] = ["changes"]
    objects = np.array([[1], [2]], dtype=object)
    objects[0, 0] = ["changes"]
    twin_record, twin_objects, twin_view = through((record, objects, objects[:1]))

    assert twin_record["thing"][0] == ["changes"]
    assert twin_record["thing"][0] is not record["thing"][0]
    assert twin_objects[0, 0] is not objects[0, 0]
    twin_objects[0, 0] = "new"
    assert twin_view[0, 0] == "new"


def test_a_cached_function_that_calls_itself_is_shared():
    @functools.lru_cache
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    assert through(fib) is fib


def test_a_finalizer_is_refused():
    layer = layers.Dense(1)
    layer.__dict__["held"] = weakref.finalize(layer, print)

    with pytest.raises(ramet.errors.CannotCopyError, match="a finalizer belongs to the object it was made for"):
        ramet.clone(layer)


def test_a_layer_that_is_a_list_keeps_its_items():
    class Stack(layers.Layer, list):
        pass

    stack = Stack()
    list.append(stack, layers.Dense(2))
    twin = ramet.clone(stack)

    assert isinstance(twin[0], layers.Dense)
    assert twin[0] is not stack[0]


def test_the_programs_own_streams_are_shared_and_text_in_memory_is_copied():
    assert through(sys.stderr) is sys.stderr
    text = io.StringIO("words")
    assert through(text).getvalue() == "words"
    assert through(text) is not text


def test_a_file_in_memory_that_can_be_written_is_copied(tmp_path):
    array = np.memmap(tmp_path / "numbers", "float32", "w+", shape=(3,))
    twin = through(array)
    twin[0] = 7

    assert array[0] == 0


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="the objects are TensorFlow's own; the run on TensorFlow covers them",
)
def test_a_table_of_tensorflow_is_the_twins_own():
    import tensorflow as tf

    static = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([3], tf.int64)), -1)
    dense = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, empty_key=-2, deleted_key=-3)
    dense.insert([1], [2])
    twin = through(dense)
    twin.insert([5], [6])

    assert int(through(static).lookup(tf.constant("a"))) == 3
    assert int(twin.lookup([1])[0]) == 2
    assert int(dense.lookup([5])[0]) == -1


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="the objects are TensorFlow's own; the run on TensorFlow covers them",
)
def test_an_iterator_over_data_is_refused():
    import tensorflow as tf

    layer = layers.Dense(1)
    layer.__dict__["held"] = iter(tf.data.Dataset.range(5))

    with pytest.raises(ramet.errors.CannotCopyError, match="a running iterator cannot be copied"):
        ramet.clone(layer)
