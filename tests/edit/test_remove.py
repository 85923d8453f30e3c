"""`remove`: consumers are rewired to the input of the removed layer."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet import named
from tests.edit.expect import assert_edited, assert_saved, edited, scrambled, value
from tests.support.state_models import floats
from tests.support.versions import needs_keras


def chain(*between):
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, name="a")(x)
    for layer in between:
        y = layer(y)
    return keras.Model(x, layers.Dense(2, name="b")(y), name="chain")


def test_middle_layer_is_removed():
    new = assert_edited(
        chain(layers.ReLU(name="act"), layers.ELU(name="elu")), [e.remove("act")], chain(layers.ELU(name="elu"))
    )
    assert [layer.name for layer in new.layers] == ["x", "a", "elu", "b"]


def test_two_layers_in_a_row_are_removed():
    assert_edited(chain(layers.ReLU(name="act"), layers.ELU(name="elu")), [e.remove(["act", "elu"])], chain())


def test_last_layer_is_removed():
    x = keras.Input((4,), name="x")
    expected = keras.Model(x, layers.ReLU(name="act")(layers.Dense(3, name="a")(x)), name="chain")
    new = assert_edited(chain(layers.ReLU(name="act")), [e.remove("b")], expected)
    assert new.output_names == ["act"]


@needs_keras(3, 14, "a model whose output is its input is refused by Keras itself")
def test_only_layer_is_removed():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.ReLU(name="act")(x), name="m")

    new = edited(model, e.remove("act"))

    np.testing.assert_array_equal(value(new(floats(2, 4))), floats(2, 4))
    assert_saved(new)


def test_layer_is_removed_from_a_sequential():
    def make(*between):
        stack = [keras.Input((4,), name="x"), layers.Dense(3, name="a"), *between, layers.Dense(2, name="b")]
        return keras.Sequential(stack, name="s")

    new = assert_edited(make(layers.Dropout(0.5, seed=1, name="drop")), [e.remove("drop")], make())
    assert type(new) is keras.Sequential


def test_layers_are_removed_at_every_level():
    def make(*ends):
        def level(name, first):
            z = keras.Input((3,), name=f"{name}_in")
            y = first(z)
            for layer in ends:
                y = layer(f"{name}_drop")(y)
            return keras.Model(z, y, name=name)

        inner = level("inner", layers.Dense(3, name="d"))
        return level("middle", inner)

    assert_edited(make(lambda name: layers.Dropout(0.5, seed=1, name=name)), [e.remove(named("*drop"))], make())


# Shared layers and several inputs.


def shared(at=(1, 2)):
    x, y = keras.Input((3,), name="x"), keras.Input((3,), name="y")
    layer = layers.Dense(3, name="shared")
    ends = [layer(z) if number in at else z for number, z in enumerate((x, y), 1)]
    return keras.Model([x, y], layers.Subtract(name="difference")(ends), name="siamese")


def test_shared_layer_is_removed_at_every_call():
    assert_edited(shared(), [e.remove("shared")], shared(at=()))


@pytest.mark.parametrize(("chosen", "left"), [(1, 2), (2, 1), ("shared#2", 1)])
def test_shared_layer_is_removed_at_a_chosen_call(chosen, left):
    new = assert_edited(shared(), [e.remove("shared", calls=chosen)], shared(at=(left,)))
    assert len(new.weights) == 2


def residual(*, merge=True):
    x = keras.Input((3,), name="x")
    y = layers.Dense(3, name="d")(x)
    y = layers.Add(name="sum")([y, x]) if merge else y
    return keras.Model(x, layers.Dense(2, name="b")(y), name="residual")


def test_merge_is_removed_and_the_chosen_input_kept():
    assert_edited(residual(), [e.remove("sum", keep=0)], residual(merge=False))


def test_merge_without_keep_is_refused():
    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(residual(), e.remove("sum"))

    assert str(caught.value) == (
        "Cannot remove 'sum': it has 2 inputs and 1 outputs.\n"
        "  expected: one input to replace each output\n"
        "  fix: choose the input: remove(..., keep=0) replaces the output by the first input."
    )


def test_input_is_refused():
    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(residual(), e.remove("x"))

    assert str(caught.value) == (
        "Cannot remove 'x': it has no input that could replace its output, so its consumers would be cut off.\n"
        "  fix: replace it instead."
    )


def test_misfit_names_both_layers_and_shapes():
    model = chain(layers.Dense(5, name="wide"))

    with pytest.raises(ramet.errors.DoesNotFitError) as caught:
        ramet.edit(model, e.remove("wide"))

    error = caught.value
    assert error.path == "b"
    assert "'b'" in error.summary
    assert "(None, 3)" in str(error)
    assert "(None, 5)" in str(error)
    assert "'a'" in str(error)


# Masks.


def masked(*, masking=True):
    x = keras.Input((5, 3), name="x")
    y = layers.Masking(name="masking")(x) if masking else x
    return keras.Model(x, layers.LSTM(2, name="rnn")(y), name="m")


def through_a_file(model, tmp_path):
    model.save(tmp_path / "m.keras")
    return keras.models.load_model(tmp_path / "m.keras")


@pytest.mark.parametrize("how", ["fresh", "loaded", "cloned"])
def test_mask_of_a_removed_layer_disappears(how, tmp_path):
    model = masked()
    model = {
        "fresh": lambda: model,
        "loaded": lambda: through_a_file(model, tmp_path),
        "cloned": lambda: keras.models.clone_model(model),
    }[how]()

    assert_edited(model, [e.remove("masking")], masked(masking=False))


@pytest.mark.parametrize("how", ["fresh", "loaded", "cloned"])
def test_embedding_without_a_mask_leaves_no_mask(how, tmp_path):
    def make(mask_zero):
        x = keras.Input((5,), dtype="int32", name="ids")
        y = layers.Embedding(6, 3, mask_zero=mask_zero, name="embed")(x)
        y = layers.Dropout(0.0, name="drop")(y)
        return keras.Model(x, layers.LSTM(2, name="rnn")(y), name="m")

    model = make(mask_zero=True)
    model = {
        "fresh": lambda: model,
        "loaded": lambda: through_a_file(model, tmp_path),
        "cloned": lambda: keras.models.clone_model(model),
    }[how]()

    new = assert_edited(
        model, [e.replace("embed", lambda old: layers.Embedding(6, 3, name="embed"))], make(mask_zero=False)
    )
    assert "not_equal" not in str(ramet.capture(new))
    assert_edited(model, [e.update("embed", mask_zero=False)], make(mask_zero=False))


def test_explicit_mask_is_kept():
    def make(*between):
        x = keras.Input((5, 3), name="x")
        valid = keras.Input((5,), dtype="bool", name="valid")
        y = x
        for layer in between:
            y = layer(y)
        return keras.Model([x, valid], layers.LSTM(2, name="rnn")(y, mask=valid), name="m")

    assert_edited(make(layers.ELU(name="elu")), [e.remove("elu")], make())
    assert_edited(make(layers.Masking(name="masking")), [e.remove("masking")], make())


def test_new_implicit_mask_is_used():
    assert_edited(masked(masking=False), [e.insert_before("rnn", lambda old: layers.Masking(name="masking"))], masked())


def test_removed_calls_are_forgotten():
    new = edited(scrambled(shared()), e.remove("shared", calls=1))

    layer = new.get_layer("shared")
    assert layer.output is not None  # exactly one call
    assert new.get_layer("difference").input[1] is layer.output
