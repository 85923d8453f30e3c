"""`twin_of`: a clone with everything checked that holds for every clone."""

import random

import keras
import numpy as np

import ramet
from tests.support.reach import assert_independent
from tests.support.same import assert_same


def twin_of(model, *, share=(), **options):
    """Clone, and check: exact, independent, and nothing outside moved."""
    before = _surroundings(model)
    twin = ramet.clone(model, share=share, **options)
    assert _surroundings(model) == before, "cloning moved a counter, a random state, or the original's calls"
    if not options:
        assert_same(model, twin)
    assert_independent(model, twin, shared=share)
    return twin


def _surroundings(model):
    """Keras' name counters, Python's and NumPy's random state, and how many calls each op of the model has."""
    ops = []
    if isinstance(model, keras.Layer):
        ops = [len(layer._inbound_nodes) for layer in model._flatten_layers()]
    return (
        dict(_name_counters()),
        random.getstate(),
        str(np.random.get_state(legacy=False)),
        ops,
    )


def _name_counters():
    from keras.src.backend.common import global_state

    return global_state.get_global_attribute("object_name_uids") or {}


def values(model):
    """Every variable of a model by position, as NumPy arrays: weights, generators, metrics, optimizer."""
    variables = list(model.variables)
    variables += getattr(model, "metrics_variables", [])
    optimizer = getattr(model, "optimizer", None)
    variables += list(optimizer.variables) if optimizer is not None else []
    return [np.array(keras.ops.convert_to_numpy(v)) for v in variables]


def assert_equal_values(a, b):
    """Bit-equal state."""
    ours, theirs = values(a), values(b)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(x, y)


def outputs(model, x, **kwargs):
    """The outputs as a flat list of NumPy arrays."""
    return [np.array(keras.ops.convert_to_numpy(y)) for y in keras.tree.flatten(model(x, **kwargs))]


def assert_equal_outputs(a, b, x, **kwargs):
    """Bit-equal outputs, as many of them."""
    ours, theirs = outputs(a, x, **kwargs), outputs(b, x, **kwargs)
    assert len(ours) == len(theirs)
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(p, q)


def same_random_state():
    """torch draws dropout from its global generator; make two runs start alike."""
    if keras.backend.backend() == "torch":
        import torch

        torch.manual_seed(0)


def fit_once(model, x, y):
    """One step of training; answers with the loss."""
    same_random_state()
    return model.fit(
        x, y, batch_size=len(y) if hasattr(y, "__len__") else None, epochs=1, shuffle=False, verbose=0
    ).history
