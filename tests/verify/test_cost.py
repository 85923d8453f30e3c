"""What verifying costs, counted and not timed: calls of the models, saves and loads."""

import keras
import numpy as np
from keras import layers

import ramet
from ramet._verify.door import verify

CALLS = []


class Counted(layers.Layer):
    """Notes, outside of every model, that it was called."""

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


def test_no_run_is_repeated_for_another_check(backend):
    model = compiled()
    twin = ramet.clone(model)

    CALLS.clear()
    report = verify(model, twin, skip="file", progress=False)

    # Of each model: four cases at inference, one in training mode, one for the training step, and one while the other
    # model is changed. The first case gives the gradients, too, except on JAX, where they need a run of their own.
    assert report.ok, report
    assert len(CALLS) == (16 if backend == "jax" else 14)
    assert CALLS.count(True) == 4


def test_a_check_alone_runs_no_more_than_it_needs():
    model = compiled()
    twin = ramet.clone(model)

    CALLS.clear()
    verify(model, twin, only=("structure", "settings", "state", "identity"), progress=False)

    assert CALLS == []


def test_two_files_with_the_same_bytes_are_not_loaded(monkeypatch):
    model = compiled()
    twin = ramet.clone(model)
    done = []
    save, load = keras.Model.save, keras.saving.load_model
    monkeypatch.setattr(
        keras.Model, "save", lambda self, *args, **options: (done.append("save"), save(self, *args, **options))
    )
    monkeypatch.setattr(
        keras.saving, "load_model", lambda *args, **options: (done.append("load"), load(*args, **options))[1]
    )

    report = verify(model, twin, only="file", progress=False)

    assert report["file"].outcome == "passed", report
    assert done == ["save", "save"]
