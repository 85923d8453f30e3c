"""Many objects of one class are copied together; each must come out as if it had been alone."""

from collections import OrderedDict

import keras
import pytest

import ramet
from tests.support.twins import twin_of

MANY = 9


class Bare(list):
    """A list without attributes."""

    __slots__ = ()


def chain():
    """A model of many layers of one class."""
    x = inputs = keras.Input((4,))
    for _ in range(MANY):
        x = keras.layers.Dense(4)(x)
    return keras.Model(inputs, x)


def give(model, make):
    """Put an attribute on every Dense layer, past Keras' tracking."""
    for layer in model.layers[1:]:
        layer.__dict__["extra"] = make(layer)


def extras(model):
    return [layer.__dict__["extra"] for layer in model.layers[1:]]


@pytest.mark.parametrize("kind", [list, dict, set, OrderedDict, Bare], ids=lambda kind: kind.__name__)
def test_an_empty_container_that_all_layers_hold_stays_one(kind):
    model = chain()
    common = kind()
    give(model, lambda layer: common)

    twins = extras(twin_of(model))

    assert all(twin is twins[0] for twin in twins)
    assert twins[0] is not common
    assert type(twins[0]) is kind


@pytest.mark.parametrize("kind", [list, dict, set, OrderedDict, Bare], ids=lambda kind: kind.__name__)
def test_empty_containers_of_their_own_stay_apart(kind):
    model = chain()
    give(model, lambda layer: kind())

    twins = extras(twin_of(model))

    assert len({id(twin) for twin in twins}) == MANY


def test_an_attribute_of_an_empty_ordered_dict_is_kept():
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


def test_layers_with_other_attributes_among_many():
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


def test_a_tuple_of_frozen_parts_among_many():
    model = chain()
    give(model, lambda layer: (frozenset({layer}), layer.name, 7))

    twin = twin_of(model)

    assert extras(twin) == [(frozenset({layer}), layer.name, 7) for layer in twin.layers[1:]]
