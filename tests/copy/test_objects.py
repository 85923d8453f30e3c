"""Objects of every kind that users attach to layers, alone and in many layers of one class."""

import functools
import io
import random
import sys
import types
import weakref
from collections import Counter, OrderedDict, defaultdict

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from tests.support.reach import assert_independent
from tests.support.twins import twin_of


def through(value):
    """Return the twin of a value in a layer's attribute, set without Keras' tracking."""
    layer = layers.Dense(1)
    layer.__dict__["held"] = value
    return ramet.clone(layer).held


def test_id_of_a_part_becomes_the_id_of_its_twin_everywhere():
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


def test_large_number_that_is_not_an_id_is_kept():
    assert through([2**60, (2**61,), {2**62: 2**63}]) == [2**60, (2**61,), {2**62: 2**63}]


def test_address_from_another_process_in_a_config_is_kept():
    layer = layers.Dense(1)
    layer.__dict__["held"] = {"shared_object_id": id(layer), "own": id(layer)}
    twin = ramet.clone(layer)

    assert twin.held == {"shared_object_id": id(layer), "own": id(twin)}


def test_numpy_generator_keeps_its_seed_sequence():
    generator = np.random.default_rng(5)
    twin = through(generator)

    assert twin.spawn(1)[0].random() == generator.spawn(1)[0].random()
    assert twin.random() == generator.random()


def test_random_state_with_a_different_bit_generator_is_copied():
    state = np.random.RandomState(np.random.PCG64(1))

    assert through(state).rand() == state.rand()


def test_functions_of_global_generators_are_shared():
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


def test_cached_function_that_calls_itself_is_shared():
    @functools.lru_cache
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    assert through(fib) is fib


def test_finalizer_is_refused():
    layer = layers.Dense(1)
    layer.__dict__["held"] = weakref.finalize(layer, print)

    with pytest.raises(ramet.errors.CannotCopyError, match="a finalizer belongs to the object it was made for"):
        ramet.clone(layer)


def test_layer_that_is_a_list_keeps_its_items():
    class Stack(layers.Layer, list):
        pass

    stack = Stack()
    list.append(stack, layers.Dense(2))
    twin = ramet.clone(stack)

    assert isinstance(twin[0], layers.Dense)
    assert twin[0] is not stack[0]


def test_standard_streams_are_shared_and_text_in_memory_is_copied():
    assert through(sys.stderr) is sys.stderr
    text = io.StringIO("words")
    assert through(text).getvalue() == "words"
    assert through(text) is not text


def test_file_in_memory_that_can_be_written_is_copied(tmp_path):
    array = np.memmap(tmp_path / "numbers", "float32", "w+", shape=(3,))
    twin = through(array)
    twin[0] = 7

    assert array[0] == 0


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="tests of TensorFlow features; the run on TensorFlow covers them",
)
def test_lookup_table_of_tensorflow_is_independent():
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
    reason="tests of TensorFlow features; the run on TensorFlow covers them",
)
def test_iterator_over_data_is_refused():
    import tensorflow as tf

    layer = layers.Dense(1)
    layer.__dict__["held"] = iter(tf.data.Dataset.range(5))

    with pytest.raises(ramet.errors.CannotCopyError, match="a running iterator cannot be copied"):
        ramet.clone(layer)


MANY = 9


class Bare(list):
    """A list without attributes."""

    __slots__ = ()


def chain():
    """Return a model with many layers of one class."""
    x = inputs = keras.Input((4,))
    for _ in range(MANY):
        x = keras.layers.Dense(4)(x)
    return keras.Model(inputs, x)


def give(model, make):
    """Set an attribute on every Dense layer, without Keras' tracking."""
    for layer in model.layers[1:]:
        layer.__dict__["extra"] = make(layer)


def extras(model):
    return [layer.__dict__["extra"] for layer in model.layers[1:]]


@pytest.mark.parametrize("kind", [list, dict, set, OrderedDict, Bare], ids=lambda kind: kind.__name__)
def test_empty_container_that_all_layers_hold_is_copied_once(kind):
    model = chain()
    common = kind()
    give(model, lambda layer: common)

    twins = extras(twin_of(model))

    assert all(twin is twins[0] for twin in twins)
    assert twins[0] is not common
    assert type(twins[0]) is kind


@pytest.mark.parametrize("kind", [list, dict, set, OrderedDict, Bare], ids=lambda kind: kind.__name__)
def test_distinct_empty_containers_stay_distinct(kind):
    model = chain()
    give(model, lambda layer: kind())

    twins = extras(twin_of(model))

    assert len({id(twin) for twin in twins}) == MANY


def test_attribute_of_an_empty_ordered_dict_is_kept():
    model = chain()

    def noted(layer):
        hooks = OrderedDict()
        hooks.note = [layer.name]
        return hooks

    give(model, noted)

    twin = twin_of(model)

    assert [hooks.note for hooks in extras(twin)] == [[layer.name] for layer in twin.layers[1:]]


def test_ids_of_many_layers_become_those_of_their_twins():
    model = chain()
    give(model, id)

    twin = ramet.clone(model)

    assert extras(twin) == [id(layer) for layer in twin.layers[1:]]


def test_layers_of_one_class_keep_different_attributes():
    model = chain()
    give(model, lambda layer: [layer.name])
    model.layers[3].__dict__["extra"] = {"name": [model.layers[3].name]}
    model.layers[4].__dict__["only_here"] = [1]
    del model.layers[5].__dict__["extra"]
    model.layers[5].__dict__["extra"] = (model.layers[5], [])

    twin = twin_of(model)

    assert extras(twin)[2] == {"name": [model.layers[3].name]}
    assert twin.layers[4].__dict__["only_here"] == [1]
    assert extras(twin)[4] == (twin.layers[5], [])


def test_tuples_of_frozen_sets_in_many_layers_are_copied():
    model = chain()
    give(model, lambda layer: (frozenset({layer}), layer.name, 7))

    twin = twin_of(model)

    assert extras(twin) == [(frozenset({layer}), layer.name, 7) for layer in twin.layers[1:]]


class Tagged(frozenset):
    """A frozenset whose instances have attributes."""


def test_frozenset_with_attributes_is_copied_once_with_them():
    value = Tagged(["a"])
    value.tag, value.me = [], value

    twin = through({"first": value, "again": [value]})

    assert twin["first"] is twin["again"][0]
    assert twin["first"] == {"a"}
    assert twin["first"].tag is not value.tag
    assert twin["first"].me is twin["first"]


def test_frozensets_with_attributes_may_form_a_long_chain():
    first = last = types.SimpleNamespace()
    for _ in range(3000):
        last.tags = Tagged(["a"])
        last.tags.next = last = types.SimpleNamespace()

    twin, length = through(first), 0
    while hasattr(twin, "tags"):
        twin, length = twin.tags.next, length + 1

    assert length == 3000


class HashedByFriends:
    """An object whose hash follows from a weak container."""

    def __init__(self, friends):
        self.friends = friends

    def __hash__(self):
        return len(self.friends)

    def __eq__(self, other):
        return isinstance(other, HashedByFriends) and len(self.friends) == len(other.friends)


@pytest.mark.parametrize("container", [lambda key: {key: 1}, lambda key: {key}, lambda key: OrderedDict({key: 1})])
def test_key_that_hashes_by_a_weak_container_is_found_in_the_twin(container):
    friend = layers.Dense(1)

    twin = through([friend, container(HashedByFriends(weakref.WeakSet([friend])))])

    (key,) = twin[1]
    assert key in twin[1]
    assert list(key.friends) == [twin[0]]


class Counted:
    """An object that is made again from its argument, which it reads at once."""

    def __init__(self, items):
        self.items, self.count = items, len(items)

    def __reduce__(self):
        return Counted, (self.items,)


@pytest.mark.parametrize("cls", [Counter, OrderedDict, functools.partial(defaultdict, int), type("Own", (dict,), {})])
def test_dict_is_complete_when_a_copy_protocol_receives_it(cls):
    items = cls()
    items["a"] = 1

    twin = through(Counted(items))

    assert twin.count == 1
    assert twin.items == items


class Scaled(layers.Layer):
    """A layer with a method that something else is bound to."""

    def scale(self):
        return 3


class MadeBy:
    """An object that is made again by a closure."""

    def __init__(self, make, value):
        self.make, self.value = make, value

    def __reduce__(self):
        return self.make, (2,)


def test_closure_over_a_method_is_complete_when_a_copy_protocol_calls_it():
    layer = Scaled()
    scale = layer.scale
    layer.__dict__["held"] = MadeBy(lambda value: MadeBy(None, value * scale()), 6)

    assert ramet.clone(layer).held.value == 6
