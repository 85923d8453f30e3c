"""The cost of `verify`, in calls, saves and loads of the models."""

import keras
import numpy as np
from keras import layers

import ramet
from ramet._verify import verify

CALLS = []


class Counted(layers.Layer):
    """A layer that records its calls outside of every model."""

    def call(self, x, training=False):
        CALLS.append(bool(training))
        return x


def compiled(width=4, depth=1):
    x = y = keras.Input((4,))
    for _ in range(depth):
        y = layers.Dense(width, activation="relu")(y)
    model = keras.Model(x, layers.Dense(2)(layers.Dropout(0.5)(Counted()(y))))
    model.compile("adam", "mse")
    model.fit(np.ones((2, 4)), np.ones((2, 2)), verbose=0)
    return model


def test_checks_share_the_runs_of_the_models(backend):
    model = compiled()
    twin = ramet.clone(model)

    CALLS.clear()
    report = verify(model, twin, skip="file", progress=False)

    # Of each model: four cases at inference, one in training mode, one for the training step, and one while the other
    # model is changed. The first case also gives the gradients, except on JAX, where they need a separate run.
    assert report.ok, report
    assert len(CALLS) == (16 if backend == "jax" else 14)
    assert CALLS.count(True) == 4


def test_static_checks_do_not_run_the_models():
    model = compiled()
    twin = ramet.clone(model)

    CALLS.clear()
    verify(model, twin, only=("structure", "settings", "state", "identity"), progress=False)

    assert CALLS == []


def test_files_with_the_same_bytes_are_not_loaded(monkeypatch):
    model = compiled()
    twin = ramet.clone(model)
    calls = []
    save, load = keras.Model.save, keras.saving.load_model
    monkeypatch.setattr(
        keras.Model, "save", lambda self, *args, **options: (calls.append("save"), save(self, *args, **options))
    )
    monkeypatch.setattr(
        keras.saving, "load_model", lambda *args, **options: (calls.append("load"), load(*args, **options))[1]
    )

    report = verify(model, twin, only="file", progress=False)

    assert report["file"].outcome == "passed", report
    assert calls == ["save", "save"]
