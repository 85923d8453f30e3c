"""Exact twins of every architecture in `keras.applications`, with random weights and the smallest input it takes."""

import keras
import numpy as np
import pytest

from tests.support.applications import ARCHITECTURES, each_architecture, smallest_network
from tests.support.twins import assert_equal_values, twin_of

# Few distinct shapes: on JAX, each one is compiled separately.
QUICK = ("MobileNetV2", "ConvNeXtTiny", "ResNet50")


def _checked(name):
    model = smallest_network(name)
    x = np.random.default_rng(0).random((1, *model.input_shape[1:]), "float32")

    twin = twin_of(model)

    assert type(twin) is type(model)
    assert twin.get_config() == model.get_config()
    assert [layer.name for layer in twin.layers] == [layer.name for layer in model.layers]
    assert [variable.path for variable in twin.variables] == [variable.path for variable in model.variables]
    assert_equal_values(model, twin)
    # Compiled as a whole, because eager JAX compiles every operation separately.
    np.testing.assert_array_equal(*(one.predict(x, verbose=0) for one in (model, twin)))


def test_list_of_architectures_is_found():
    assert len(ARCHITECTURES) >= 35
    assert set(QUICK) <= set(ARCHITECTURES)


@pytest.mark.parametrize("name", QUICK)
def test_quick_architecture_has_an_exact_twin(name):
    _checked(name)


@pytest.mark.zoo
@each_architecture
def test_every_architecture_has_an_exact_twin(name):
    _checked(name)


@pytest.mark.zoo
@pytest.mark.parametrize("name", QUICK)
def test_network_trains_like_its_twin(name):
    model = smallest_network(name)
    model.compile("sgd", "sparse_categorical_crossentropy")
    x = np.random.default_rng(0).random((2, *model.input_shape[1:]), "float32")
    y = np.array([0, 1])
    twin = twin_of(model)

    losses = [keras.utils.set_random_seed(0) or one.train_on_batch(x, y) for one in (model, twin)]

    np.testing.assert_array_equal(*losses)
    assert_equal_values(model, twin)
