"""Trackers list tracked objects by id: those of a twin list the same objects as those of the original."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from tests.support.reach import reachable
from tests.verify import models


def known_by_trackers(model):
    """Return, for each tracker and store, how many ids it lists and which items of the store they are."""
    found = []
    reached = [value for value, _ in reachable(model).values()]
    alive = set(map(id, reached))
    for value in reached:
        if type(value).__name__ == "Tracker":
            ids = {
                name: {number for number in numbers if number in alive} for name, numbers in value.stored_ids.items()
            }
            found.append(
                {
                    name: (len(ids[name]), [id(item) in ids[name] for item in store])
                    for name, (_, store) in value.config.items()
                }
            )
    return sorted(found, key=str)


def sequential():
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.Dropout(0.5), layers.Dense(2)])
    model.pop()
    model.add(layers.Dense(5))
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(np.ones((2, 4)), np.ones((2, 5)), verbose=0)
    return model


def with_lora():
    x = keras.Input((4,))
    dense = layers.Dense(4)
    model = keras.Model(x, layers.MultiHeadAttention(2, 2, dropout=0.1)(*[layers.Reshape((2, 2))(dense(x))] * 2))
    dense.enable_lora(2)
    return model


def store_changed_behind_the_tracker():
    """Return a model whose lists and tracker disagree, as a user's class may cause."""
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="one"), layers.Dense(3, name="two")])
    one, two = model.layers
    one._layers.append(layers.Dense(1))
    two._tracker.stored_ids["layers"].add(id(one))
    return model


MAKERS = [
    models.net,
    models.words,
    models.tuned,
    models.stepping,
    sequential,
    with_lora,
    store_changed_behind_the_tracker,
]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_trackers_of_a_twin_list_the_same_as_those_of_the_original(make):
    model = make()

    twin = ramet.clone(model)

    assert known_by_trackers(twin) == known_by_trackers(model)


def test_tracked_layer_of_a_twin_can_be_untracked():
    model = models.stepping()
    twin = ramet.clone(model)

    twin._tracker.unlock()
    twin._tracker.untrack(twin.first)

    assert [layer.name for layer in twin._layers] == ["block_0", "block_1"]
    assert [layer.name for layer in model._layers] == ["first", "block_0", "block_1"]
