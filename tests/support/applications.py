"""The networks of `keras.applications`, with random weights and the smallest input that each takes."""

import functools
import inspect

import keras
import pytest


def _architectures():
    """Return the functions of `keras.applications` that create models."""
    found = {
        name: make
        for name, make in vars(keras.applications).items()
        if name[:1].isupper() and callable(make) and "weights" in inspect.signature(make).parameters
    }
    return dict(sorted(found.items()))


ARCHITECTURES = _architectures()


def smallest_network(name):
    """Return the network with the smallest input. Sizes are tried in order, because each network refuses them in its own way."""
    for size in (32, 71, 75, 139, 224, 299, 331):
        for fixed in ({"include_top": True}, {"include_top": False, "pooling": "avg"}):
            make = functools.partial(ARCHITECTURES[name], weights=None, input_shape=(size, size, 3), **fixed)
            try:
                return make(classes=10) if fixed["include_top"] else make()
            except ValueError as error:
                if "is not available with the" in str(error):  # NASNetMobile on torch
                    pytest.skip(str(error))
    raise AssertionError(f"no valid input size found for {name}")


# All tests of a network run in one process, so that it is created once, and freed before the next one.
each_architecture = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ARCHITECTURES]
)
