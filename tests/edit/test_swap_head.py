"""`swap_head`: change the number of classes."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from tests.edit.expect import assert_edited, assert_saved, edited, scrambled, value
from tests.support.state_models import floats


def classifier(classes=3, *behind, **settings):
    x = keras.Input((4,), name="x")
    y = layers.Dense(5, activation="relu", name="features")(x)
    y = layers.Dense(classes, name="logits", **settings)(y)
    for layer in behind:
        y = layer(y)
    return keras.Model(x, y, name="classifier")


def test_number_of_classes_changes():
    assert_edited(classifier(3), [e.swap_head(10)], classifier(10))


def test_same_number_of_classes_gets_new_weights():
    model = scrambled(classifier(3))

    new = edited(model, e.swap_head(3), seed=4)

    assert not np.array_equal(value(new.get_layer("logits").kernel), value(model.get_layer("logits").kernel))
    np.testing.assert_array_equal(value(new.get_layer("features").kernel), value(model.get_layer("features").kernel))
    np.testing.assert_array_equal(value(new.get_layer("logits").bias), np.zeros(3))


def test_seed_makes_the_new_weights_repeatable():
    one, two, other = (edited(classifier(3), e.swap_head(7), seed=seed) for seed in (1, 1, 2))

    kernels = [value(model.get_layer("logits").kernel) for model in (one, two, other)]
    np.testing.assert_array_equal(kernels[0], kernels[1])
    assert not np.array_equal(kernels[0], kernels[2])


def test_activation_can_be_changed():
    assert_edited(
        classifier(3), [e.swap_head(10, activation="softmax")], classifier(10, activation="softmax"),
    )  # fmt: skip


@pytest.mark.parametrize(("policy", "classes"), [("slice", 2), ("pad", 5), ("mean", 5), ("repeat", 6)])
def test_old_classes_can_be_kept(policy, classes):
    model = scrambled(classifier(3))

    new = edited(model, e.swap_head(classes, weights=policy))

    kept = min(3, classes)
    old, now = (value(one.get_layer("logits").kernel) for one in (model, new))
    np.testing.assert_array_equal(now[:, :kept], old[:, :kept])
    assert new.output_shape == (None, classes)


def test_layers_after_the_head_are_kept():
    assert_edited(
        classifier(3, layers.Dropout(0.0, name="drop"), layers.Softmax(name="p")),
        [e.swap_head(10)],
        classifier(10, layers.Dropout(0.0, name="drop"), layers.Softmax(name="p")),
    )


def test_convolutional_head_with_pooling_and_reshape_is_swapped():
    def make(classes):
        x = keras.Input((6, 6, 2), name="x")
        y = layers.Conv2D(classes, 1, name="conv")(x)
        y = layers.GlobalAveragePooling2D(keepdims=True, name="pool")(y)
        y = layers.Reshape((classes,), name="reshape")(y)
        return keras.Model(x, layers.Activation("softmax", name="p")(y), name="fcn")

    assert_edited(make(3), [e.swap_head(10)], make(10))


def test_head_inside_a_nested_model_is_swapped():
    def make(classes):
        x = keras.Input((4,), name="outer_x")
        return keras.Model(x, classifier(classes)(x), name="outer")

    assert_edited(make(3), [e.swap_head(10)], make(10))


def test_head_of_a_sequential_is_swapped():
    def make(classes):
        return keras.Sequential([keras.Input((4,), name="x"), layers.Dense(classes, name="logits")], name="s")

    new = assert_edited(make(3), [e.swap_head(10)], make(10))
    assert type(new) is keras.Sequential


def test_head_can_be_named():
    def make(classes):
        x = keras.Input((4,), name="x")
        y = layers.Dense(5, name="features")(x)
        return keras.Model(x, {"a": layers.Dense(classes, name="a")(y), "b": layers.Dense(2, name="b")(y)}, name="two")

    assert_edited(make(3), [e.swap_head(10, head="a")], make(10))


def test_original_can_be_trained_independently():
    model = classifier(3)
    new = edited(model, e.swap_head(10))
    before = [value(w) for w in model.weights]

    new.compile("sgd", "mse", run_eagerly=True)
    new.fit(floats(4, 4), floats(4, 10), verbose=0)

    for old, now in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(old, value(now))


def test_compiled_model_stays_compiled():
    model = classifier(3)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(floats(4, 4), np.zeros(4), verbose=0)

    new = edited(model, e.swap_head(10))

    assert new.compiled
    new.fit(floats(4, 4), np.full(4, 9), verbose=0)
    assert_saved(new)


# Bad input.


def test_two_outputs_need_a_name():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, [layers.Dense(2, name="a")(x), layers.Dense(2, name="b")(x)], name="two")

    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(model, e.swap_head(10))

    assert str(caught.value) == (
        "Cannot find the head of 'two': it has 2 outputs.\n  fix: name the layer: swap_head(classes, head='logits')."
    )


def test_output_without_a_head_is_refused():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.LayerNormalization(name="norm")(x), name="m")

    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(model, e.swap_head(10))

    assert caught.value.summary == ("Cannot find the head of 'm': its output comes from 'norm', a LayerNormalization.")


def test_head_without_a_width_is_refused():
    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(classifier(3, layers.Softmax(name="p")), e.swap_head(10, head="p"))

    assert str(caught.value) == (
        "Cannot swap the head of 'classifier': named('p') does not match exactly one layer with units or filters.\n"
        "  found:    'p'\n"
        "  fix: name the one layer that produces the classes."
    )


@pytest.mark.parametrize("classes", [0, -1, 2.5, True, "ten"])
def test_invalid_number_of_classes_is_refused(classes):
    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(classifier(3), e.swap_head(classes))

    assert str(caught.value) == (
        f"Cannot swap the head for {classes!r} classes: not a positive number.\n  fix: pass a positive integer."
    )
