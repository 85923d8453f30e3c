"""Clones made in Keras callbacks, where JAX keeps the values outside of the model: exact, without effect on training."""

import functools

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from tests.support.twins import assert_equal_values, same_random_state, values

X = np.random.default_rng(0).normal(size=(12, 4)).astype("float32")
Y = np.random.default_rng(1).normal(size=(12, 2)).astype("float32")

EVENTS = [
    f"on_{loop}{part}"
    for loop in ("train", "test", "predict")
    for part in ("_begin", "_batch_begin", "_batch_end", "_end")
] + ["on_epoch_begin", "on_epoch_end"]


def _model(**options):
    keras.utils.set_random_seed(0)
    x = keras.Input((4,))
    body = keras.Model(x, layers.BatchNormalization()(layers.Dense(3)(x)), name="body")
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers.Dense(2)(layers.Dropout(0.2, seed=3)(body(inputs))))
    model.compile(keras.optimizers.Adam(0.1), "mse", metrics=["mae"], **options)
    return model


def _synced(model):
    """Write the values back to the variables and return them. Called only after cloning, which must work without it."""
    if hasattr(model, "jax_state_sync"):
        model.jax_state_sync()
    variables = [*model.variables, *model.metrics_variables, *model.optimizer.variables]
    return [np.array(keras.ops.convert_to_numpy(variable)) for variable in variables]


class Cloner(keras.callbacks.Callback):
    """Clone at these events, and read the original only afterwards."""

    def __init__(self, events, pick=lambda model: model, sync=True):
        super().__init__()
        self.pick, self.sync = pick, sync
        self.twins, self.seen = [], []
        for event in events:
            setattr(self, event, self._clone)

    def _clone(self, *args, **kwargs):
        self.twins.append(ramet.clone(self.pick(self.model)))
        if self.sync:
            self.seen.append(_synced(self.model))


def _run(model, callbacks):
    same_random_state()
    history = model.fit(
        X, Y, batch_size=4, epochs=2, validation_data=(X, Y), shuffle=False, verbose=0, callbacks=callbacks
    )
    model.evaluate(X, Y, batch_size=4, verbose=0, callbacks=callbacks)
    outputs = model.predict(X, batch_size=4, verbose=0, callbacks=callbacks)
    return history.history, outputs


def _assert_holds(twin, seen):
    theirs = [*twin.variables, *twin.metrics_variables, *twin.optimizer.variables]
    for old, new in zip(seen, theirs, strict=True):
        np.testing.assert_array_equal(old, keras.ops.convert_to_numpy(new), err_msg=new.path)


@functools.cache
def _alone():
    """Return the results of the run without any clone: history, predictions, and the final values."""
    model = _model()
    return *_run(model, []), values(model)


def _assert_as_alone(model, found):
    history, predictions, state = _alone()
    assert found[0] == history
    np.testing.assert_array_equal(found[1], predictions)
    for ours, theirs in zip(values(model), state, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "events",
    [
        ["on_train_batch_end"],
        ["on_epoch_end"],
        ["on_test_batch_end"],
        ["on_predict_batch_end"],
        ["on_train_begin", "on_train_end", "on_test_begin", "on_test_end", "on_predict_begin", "on_predict_end"],
        ["on_epoch_begin", "on_train_batch_begin", "on_test_batch_begin", "on_predict_batch_begin"],
    ],
    ids=lambda events: events[0],
)
def test_clone_in_a_callback_is_exact_and_changes_nothing(events):
    model = _model()
    cloner = Cloner(events)

    found = _run(model, [cloner])

    assert len(cloner.twins) >= len(events)
    for twin, seen in zip(cloner.twins, cloner.seen, strict=True):
        _assert_holds(twin, seen)
    _assert_as_alone(model, found)


def test_clone_in_every_callback_without_a_sync_does_not_affect_training():
    model = _model()
    cloner = Cloner(EVENTS, sync=False)

    found = _run(model, [cloner])

    assert len(cloner.twins) > 30
    _assert_as_alone(model, found)


@pytest.mark.skipif(
    keras.backend.backend() == "torch",
    reason="Keras ignores steps_per_execution on torch; the other backends cover this",
)
def test_clone_with_several_steps_per_execution_is_exact():
    model = _model(steps_per_execution=3)
    cloner = Cloner(["on_train_batch_end", "on_test_batch_end", "on_predict_batch_end"])

    found = _run(model, [cloner])

    for twin, seen in zip(cloner.twins, cloner.seen, strict=True):
        _assert_holds(twin, seen)
        assert twin.steps_per_execution == 3
    _assert_as_alone(model, found)


def test_clone_of_a_model_inside_the_running_model_is_exact():
    model = _model()
    seen = []

    class Watcher(Cloner):
        def _clone(self, *args, **kwargs):
            super()._clone()
            seen.append([np.array(keras.ops.convert_to_numpy(v)) for v in self.model.get_layer("body").variables])

    cloner = Watcher(
        ["on_train_batch_end", "on_test_batch_end", "on_predict_batch_end"], pick=lambda model: model.get_layer("body")
    )

    _run(model, [cloner])

    assert cloner.twins
    for twin, before in zip(cloner.twins, seen, strict=True):
        for old, new in zip(before, twin.variables, strict=True):
            np.testing.assert_array_equal(old, keras.ops.convert_to_numpy(new))


def test_clone_of_one_layer_and_of_the_optimizer_in_a_callback_are_exact():
    model = _model()
    layer = Cloner(["on_train_batch_end"], pick=lambda model: model.layers[-1], sync=False)
    optimizer = Cloner(["on_train_batch_end"], pick=lambda model: model.optimizer)

    model.fit(X, Y, batch_size=4, verbose=0, callbacks=[layer, optimizer])

    for twin, original in ((layer.twins[-1], model.layers[-1]), (optimizer.twins[-1], model.optimizer)):
        for old, new in zip(original.variables, twin.variables, strict=True):
            np.testing.assert_array_equal(keras.ops.convert_to_numpy(old), keras.ops.convert_to_numpy(new))


def test_twin_made_in_a_callback_continues_training_from_there():
    model, alone = _model(), _model()
    cloner = Cloner(["on_epoch_end"], sync=False)
    same_random_state()
    model.fit(X, Y, batch_size=4, epochs=1, shuffle=False, verbose=0, callbacks=[cloner])
    same_random_state()
    alone.fit(X, Y, batch_size=4, epochs=1, shuffle=False, verbose=0)
    twin = cloner.twins[0]

    losses = []
    for one in (alone, twin):
        same_random_state()
        losses.append(one.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0).history["loss"])

    assert losses[0] == losses[1]
    assert_equal_values(alone, twin)


def test_twin_can_be_run_in_the_callback_that_made_it():
    model, alone = _model(), _model()
    found = []

    class Target(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            twin = ramet.clone(self.model, compile=False)
            found.append(twin.predict(X, verbose=0))

    same_random_state()
    model.fit(X, Y, batch_size=4, shuffle=False, verbose=0, callbacks=[Target()])
    same_random_state()
    alone.fit(X, Y, batch_size=4, shuffle=False, verbose=0)

    assert len(found) == 3
    assert not np.array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[-1], alone.predict(X, verbose=0))
    assert_equal_values(model, alone)


def test_callback_may_store_the_twin_on_the_model():
    model = _model()

    class Keep(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.__dict__["best"] = ramet.clone(self.model)

    model.fit(X, Y, batch_size=4, epochs=2, verbose=0, callbacks=[Keep()])
    twin = ramet.clone(model)

    assert twin.best is not model.best
    assert_equal_values(model.best, twin.best)
