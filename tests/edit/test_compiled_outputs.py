"""Losses and metrics that are keyed by the names of outputs follow an output that gets another name."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet import named

X = np.ones((4, 4), "float32")
Y = [np.ones((4, 2), "float32"), np.ones((4, 3), "float32")]


def two_outputs(first="a", *, as_dict=False):
    x = keras.Input((4,), name="x")
    a = layers.Dense(2, name=first, kernel_initializer="ones")(x)
    b = layers.Dense(3, name="b", kernel_initializer="ones")(x)
    model = keras.Model(x, {"left": a, "right": b} if as_dict else [a, b])
    keys = ("left", "right") if as_dict else (first, "b")
    model.compile(
        keras.optimizers.SGD(0.1),
        loss=dict(zip(keys, ("mse", "mae"), strict=True)),
        loss_weights=dict(zip(keys, (0.5, 2.0), strict=True)),
        metrics={keys[0]: ["mae"]},
        run_eagerly=True,
    )
    return model


@pytest.mark.parametrize("was_trained", [False, True])
def test_a_renamed_output_is_trained_like_one_that_always_had_the_name(was_trained):
    model, by_hand = two_outputs(), two_outputs("first")
    if was_trained:
        model.fit(X, Y, verbose=0)
        by_hand.fit(X, Y, verbose=0)
    edited = ramet.edit(model, e.rename(named("a"), "first"))
    history = edited.fit(X, {"first": Y[0], "b": Y[1]}, verbose=0).history
    expected = by_hand.fit(X, {"first": Y[0], "b": Y[1]}, verbose=0).history
    assert list(history) == list(expected)
    np.testing.assert_allclose([history[key] for key in expected], list(expected.values()), rtol=1e-6)
    assert model.output_names == ["a", "b"]
    assert set(model.loss) == {"a", "b"}


def test_the_file_of_a_renamed_output_can_be_trained(tmp_path):
    edited = ramet.edit(two_outputs(), e.rename(named("a"), "first"))
    edited.save(tmp_path / "edited.keras")
    loaded = keras.saving.load_model(tmp_path / "edited.keras")
    history = loaded.fit(X, Y, verbose=0).history
    assert {"first_loss", "b_loss", "first_mae"} <= set(history)


def test_a_replaced_output_with_another_name_keeps_its_loss():
    edited = ramet.edit(two_outputs(), e.replace(named("a"), lambda old: layers.Dense(2, name="new")))
    assert edited.output_names == ["new", "b"]
    assert {"new_loss", "b_loss", "new_mae"} <= set(edited.fit(X, Y, verbose=0).history)


def test_outputs_in_a_dict_are_known_by_its_keys():
    edited = ramet.edit(two_outputs(as_dict=True), e.rename(named("a"), "first"))
    history = edited.fit(X, {"left": Y[0], "right": Y[1]}, verbose=0).history
    assert {"left_loss", "right_loss", "left_mae"} <= set(history)


def test_a_metric_of_the_users_goes_along_as_a_twin():
    metric = keras.metrics.MeanSquaredError(name="counted")
    model = two_outputs()
    model.compile("sgd", loss={"a": "mse", "b": "mse"}, metrics={"a": [metric]}, run_eagerly=True)
    model.fit(X, Y, verbose=0)
    counted = float(metric.result())
    edited = ramet.edit(model, e.rename(named("a"), "first"))
    assert list(edited.get_compile_config()["metrics"]) == ["first"]
    assert "first_counted" in edited.fit(2 * X, Y, verbose=0).history
    assert float(metric.result()) == counted
