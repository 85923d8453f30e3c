"""Clones, checked for everything that holds for every clone, and comparisons of models."""

import random

import keras
import numpy as np

import ramet
from tests.support.reach import assert_independent
from tests.support.same import assert_same


def twin_of(model, *, share=(), **options):
    """Return a clone after checking that it is exact and independent, and that nothing else changed."""
    before = _state_outside(model)
    twin = ramet.clone(model, share=share, **options)
    assert _state_outside(model) == before, "cloning changed a counter, a random state, or the original's calls"
    if not options:
        assert_same(model, twin)
    assert_independent(model, twin, shared=share)
    return twin


def _state_outside(model):
    """Return Keras' name counters, Python's and NumPy's random states, and the number of calls of each op of the model."""
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
    """Return every variable of a model in order, as NumPy arrays: weights, generators, metrics, optimizer."""
    variables = list(model.variables)
    variables += getattr(model, "metrics_variables", [])
    optimizer = getattr(model, "optimizer", None)
    variables += list(optimizer.variables) if optimizer is not None else []
    return [np.array(keras.ops.convert_to_numpy(v)) for v in variables]


def assert_equal_values(a, b):
    """Check that two models have bit-equal variables."""
    ours, theirs = values(a), values(b)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(x, y)


def outputs(model, x, **kwargs):
    """Return the outputs as a flat list of NumPy arrays."""
    return [np.array(keras.ops.convert_to_numpy(y)) for y in keras.tree.flatten(model(x, **kwargs))]


def assert_equal_outputs(a, b, x, **kwargs):
    """Check that two models have the same number of outputs, all bit-equal."""
    ours, theirs = outputs(a, x, **kwargs), outputs(b, x, **kwargs)
    assert len(ours) == len(theirs)
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(p, q)


def same_random_state():
    """Seed torch's global generator, which dropout draws from, so that two runs start alike."""
    if keras.backend.backend() == "torch":
        import torch

        torch.manual_seed(0)


def fit_once(model, x, y):
    """Train for one epoch of one step, and return the history."""
    same_random_state()
    return model.fit(
        x, y, batch_size=len(y) if hasattr(y, "__len__") else None, epochs=1, shuffle=False, verbose=0
    ).history
