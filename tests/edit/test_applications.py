"""Networks of `keras.applications` with random weights: swap_head, fold_batchnorm, resize_input and flatten.

Three small ones here; every architecture with `make zoo`.
"""

import functools

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from tests.edit.expect import value
from tests.support.applications import ARCHITECTURES, each_architecture

QUICK = ("MobileNet", "MobileNetV2", "MobileNetV3Small")
TOLERANCE = 1e-4  # of the largest output


@functools.lru_cache(maxsize=2)
def _made(name, **options):
    """Return the network with its smallest possible input and with random statistics."""
    for size in (32, 71, 75, 139, 224, 299, 331):
        make = functools.partial(ARCHITECTURES[name], weights=None, input_shape=(size, size, 3), **options)
        try:
            return _lively(make())
        except ValueError as error:
            if "is not available with the" in str(error):  # NASNetMobile on torch
                pytest.skip(str(error))
    raise AssertionError(f"no size that {name} takes")


def _lively(model):
    """Set statistics that reveal mistakes and damp the values: a deep network with random weights is chaotic otherwise.

    The next larger float as an input would move the outputs of EfficientNetB7 by four fifths.
    """
    rng = np.random.default_rng(0)
    damped = {"gamma": 0.6, "moving_variance": 1.0}
    for layer in model._flatten_layers(include_self=False):
        if isinstance(layer, layers.BatchNormalization):
            for variable in layer.weights:
                numbers = rng.uniform(0.02, 0.1, variable.shape) * rng.choice([-1, 1], variable.shape)
                variable.assign(damped.get(variable.name, 0.0) + numbers)
    return model


def _backbone(name):
    return _made(name, include_top=False, pooling="avg")


def _data(model):
    return np.random.default_rng(1).random((1, *model.input_shape[1:]), "float32")


@functools.lru_cache(maxsize=1)
def _features(name):
    """Return the outputs of the backbone. It is compiled once, because that takes most of the time."""
    model = _backbone(name)
    return model.predict(_data(model), verbose=0)


def _assert_gives(model, expected):
    found = model.predict(_data(model), verbose=0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * np.abs(expected).max())


def swap_head(name):
    model = _made(name, classes=10)

    new = ramet.edit(model, e.swap_head(7))

    assert new.output_shape == (None, 7)
    kept = {v.path: v for v in model.variables}
    same = [v for v in new.variables if tuple(v.shape) == tuple(kept[v.path].shape)]
    assert 1 <= len(new.variables) - len(same) <= 2  # the kernel and the bias of the head
    for variable in same:
        np.testing.assert_array_equal(value(variable), value(kept[variable.path]))


def fold_batchnorm(name):
    model = _backbone(name)

    new = ramet.edit(model, e.fold_batchnorm())

    count = [sum(isinstance(one, layers.BatchNormalization) for one in m._flatten_layers()) for m in (model, new)]
    step = ramet.plan(model, e.fold_batchnorm()).steps[0]
    assert count[0] - count[1] == len(step.touched)
    assert count[1] == len(step.skipped)
    if count[0]:
        assert step.touched
        _assert_gives(new, _features(name))


def resize_input(name):
    model = _backbone(name)
    size = model.input_shape[1] + 32

    new = ramet.edit(model, e.resize_input((size, size, 3)))

    by_hand = ARCHITECTURES[name](weights=None, include_top=False, pooling="avg", input_shape=(size, size, 3))
    assert new.input_shape == by_hand.input_shape
    shapes = [[layer.output.shape for layer in one.layers] for one in (new, by_hand)]
    assert shapes[0] == shapes[1]
    for old, now in zip(model.weights, new.weights, strict=True):
        assert old.path == now.path
        np.testing.assert_array_equal(value(old), value(now))
    _assert_gives(ramet.edit(new, e.resize_input(model.input_shape[1:])), _features(name))


def flatten(name):
    inner = _backbone(name)
    x = keras.Input(inner.input_shape[1:], name="picture")
    model = keras.Model(x, layers.Dense(3, name="probe")(ramet.clone(inner)(x)), name="outer")

    new = ramet.edit(model, e.flatten())

    assert not any(op.kind == "model" for _, op in ramet.capture(new).walk())
    assert len(new.weights) == len(model.weights)
    probe = model.get_layer("probe")
    _assert_gives(new, _features(name) @ value(probe.kernel) + value(probe.bias))


EDITS = {function.__name__: function for function in (swap_head, fold_batchnorm, resize_input, flatten)}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("name", QUICK)
def test_quick_architecture_can_be_edited(edit, name):
    EDITS[edit](name)


@pytest.mark.zoo
@pytest.mark.parametrize("edit", EDITS)
@each_architecture
def test_every_architecture_can_be_edited(edit, name):
    EDITS[edit](name)
