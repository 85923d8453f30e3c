"""After `verify`, both models and all global state are exactly as before."""

import random

import keras
import numpy as np
import pytest

import ramet
from ramet._verify import verify
from tests.support import graph_models
from tests.support.reach import reachable
from tests.support.same import bits
from tests.verify import models


def content_of(model):
    """Return every object that a model reaches: its class, its content by identity, and the bits of arrays."""
    found = {}
    reached = reachable(model)
    # Python creates the dict of an object when it is first read, so its items are compared as a part of the object.
    own = {key: value.__dict__ for key, (value, _) in reached.items() if type(getattr(value, "__dict__", None)) is dict}
    dicts = set(map(id, own.values()))
    for key, (value, _) in reached.items():
        if isinstance(value, type | int | float | str | bytes) or id(value) in dicts:
            continue
        content = bits(value)
        if content is None and isinstance(value, dict):
            content = [(name if isinstance(name, str) else id(name), id(part)) for name, part in value.items()]
        elif content is None and isinstance(value, list | tuple):
            content = [id(part) for part in list(value)]
        elif content is None and type(value).__module__.startswith("tensorflow") and hasattr(value, "read_value"):
            content = value.numpy().tobytes()
        found[key] = (type(value).__name__, content, [(name, id(part)) for name, part in own.get(key, {}).items()])
    return found


def global_state_of_keras():
    from keras.src.backend.common import global_state

    counters = dict(global_state.get_global_attribute("object_name_uids") or {})
    around = [counters, random.getstate(), str(np.random.get_state(legacy=False))]
    around.append(id(global_state.get_global_attribute("global_seed_generator")))
    if keras.backend.backend() == "torch":
        import torch

        around.append(torch.get_rng_state().tolist())
    return around


def unfitted():
    """Return a compiled model whose optimizer, losses and metrics are not built."""
    model = graph_models.one_dense()
    model.compile("adam", "mse", metrics=["mae"])
    return model


def with_activity_loss():
    inputs = keras.Input((4,))
    return keras.Model(inputs, keras.layers.Dense(2, activity_regularizer="l2", name="d")(inputs))


def with_a_counting_layer():
    class Counting(keras.layers.Layer):
        calls = 0

        def call(self, x):
            self.calls += 1
            return x * self.calls

    inputs = keras.Input((4,))
    return keras.Model(inputs, Counting()(inputs))


MAKERS = [
    models.net, models.words, models.tied, models.tuned, models.stepping, unfitted, with_activity_loss,
    with_a_counting_layer, graph_models.nested_with_dicts,
]  # fmt: skip


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_models_and_global_state_are_restored(make):
    model = make()
    twin = ramet.clone(model)
    before = content_of(model), content_of(twin), global_state_of_keras()

    verify(model, twin, progress=False)

    assert global_state_of_keras() == before[2]
    for name, one, then in (("original", model, before[0]), ("twin", twin, before[1])):
        now = content_of(one)
        changed = [(now.get(key), then.get(key)) for key in now.keys() | then.keys() if now.get(key) != then.get(key)]
        assert not changed, f"{name}: {changed[:3]}"


def test_unbuilt_optimizer_stays_unbuilt():
    model = unfitted()

    report = verify(model, ramet.clone(model), progress=False)

    assert report["training"].outcome == "passed"
    assert not model.optimizer.built
    assert model.train_function is None
    assert not model._compile_metrics.built
    assert not model._compile_loss.built


@pytest.mark.slow
def test_verified_model_can_be_trained_further():
    model = ramet.clone(models.net())
    x, y = np.ones((4, 8), "float32"), [np.ones((4, 3), "float32"), np.ones((4, 2), "float32")]

    verify(model, ramet.clone(model), progress=False)

    model.fit(x, y, verbose=0)
    assert int(model.optimizer.iterations) == 3
