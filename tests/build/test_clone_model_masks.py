"""Masks in clones with functions: explicit masks are kept, masks that Keras found follow the new graph."""

import keras
import numpy as np
import pytest
from keras import layers, ops

import ramet
from tests.support.twins import outputs

IDS = np.array([[1, 2, 3, 0, 0], [4, 0, 0, 0, 0]], "int32")
STEPS = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32") * (IDS > 0)[..., None]


def embedded():
    x = keras.Input((5,), dtype="int32", name="ids")
    y = layers.LSTM(3, name="lstm")(layers.Embedding(7, 4, mask_zero=True, name="e")(x))
    return keras.Model(x, y, name="embedded")


def masked():
    x = keras.Input((5, 3), name="steps")
    return keras.Model(x, layers.LSTM(4, name="lstm")(layers.Masking(name="mask")(x)), name="masked")


def masked_sequence():
    return keras.Sequential(
        [keras.Input((5, 3), name="steps"), layers.Masking(name="mask"), layers.LSTM(4, name="lstm")]
    )


def loaded(model, tmp_path):
    model.save(tmp_path / "model.keras")
    return keras.models.load_model(tmp_path / "model.keras")


def again(layer):
    return type(layer).from_config(layer.get_config())


def unmasked(layer):
    if isinstance(layer, layers.Embedding):
        return layers.Embedding(7, 4, name="e")
    return layer


def names(model):
    return [op.name for op in model.operations]


@pytest.mark.parametrize("how", ["made", "loaded", "cloned"])
def test_embedding_without_mask_no_longer_masks(how, tmp_path):
    model = embedded()
    if how == "loaded":
        model = loaded(model, tmp_path)
    if how == "cloned":
        weights, model = model.get_weights(), keras.models.clone_model(model)
        model.set_weights(weights)

    new = ramet.clone_model(model, clone_function=unmasked, weights="copy")

    assert names(new) == ["ids", "e", "lstm"]
    vectors = outputs(model.get_layer("e"), IDS)[0]
    np.testing.assert_allclose(outputs(new, IDS)[0], outputs(model.get_layer("lstm"), vectors)[0], rtol=1e-5, atol=1e-6)


def test_keras_still_masks():
    new = keras.models.clone_model(
        embedded(), clone_function=lambda layer: unmasked(layer) if layer.name == "e" else again(layer)
    )

    assert "not_equal" in names(new)


def test_new_embedding_with_a_mask_masks():
    x = keras.Input((5,), dtype="int32", name="ids")
    model = keras.Model(x, layers.LSTM(3, name="lstm")(layers.Embedding(7, 4, name="e")(x)))
    new = ramet.clone_model(
        model,
        clone_function=lambda layer: layers.Embedding(7, 4, mask_zero=True, name="e") if layer.name == "e" else layer,
        weights="copy",
    )
    expected = outputs(model.get_layer("lstm"), outputs(model.get_layer("e"), IDS)[0], mask=IDS != 0)[0]

    np.testing.assert_allclose(outputs(new, IDS)[0], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make", [masked, masked_sequence], ids=lambda make: make.__name__)
@pytest.mark.parametrize("function", [None, lambda layer: layer], ids=["plain", "same"])
def test_dropping_a_masking_layer_drops_its_mask(make, function):
    model = make()
    new = ramet.clone_model(
        model,
        clone_function=function,
        call_function=lambda layer, x, **kwargs: x if layer.name == "mask" else layer(x, **kwargs),
        weights="copy",
    )

    assert [layer.name for layer in new.layers if not isinstance(layer, layers.InputLayer)] == ["lstm"]
    lstm = model.get_layer("lstm")
    np.testing.assert_allclose(outputs(new, STEPS)[0], outputs(lstm, STEPS)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make", [embedded, masked, masked_sequence], ids=lambda make: make.__name__)
@pytest.mark.parametrize("function", [None, again, lambda layer: layer], ids=["plain", "again", "same"])
@pytest.mark.parametrize("calls", [False, True], ids=["", "called"])
def test_unchanged_masks_are_kept(make, function, calls):
    model = make()
    call_function = (lambda layer, *args, **kwargs: layer(*args, **kwargs)) if calls else None
    new = ramet.clone_model(model, clone_function=function, call_function=call_function, weights="copy")

    x = IDS if make is embedded else STEPS
    np.testing.assert_array_equal(outputs(new, x)[0], outputs(model, x)[0])
    assert len(names(new._functional if isinstance(new, keras.Sequential) else new)) == len(
        names(model._functional if isinstance(model, keras.Sequential) else model)
    )


@pytest.mark.parametrize("function", [unmasked, lambda layer: layer], ids=["unmasked", "same"])
def test_explicit_mask_is_kept(function):
    x = keras.Input((5,), dtype="int32", name="ids")
    y = layers.Embedding(7, 4, mask_zero=True, name="e")(x)
    model = keras.Model(x, layers.LSTM(3, name="lstm")(y, mask=ops.equal(x, 1)), name="explicit")
    new = ramet.clone_model(model, clone_function=function, weights="copy")

    np.testing.assert_array_equal(outputs(new, IDS)[0], outputs(model, IDS)[0])


def test_call_function_does_not_get_masks_that_keras_found():
    model = embedded()
    handed = []

    def call_function(layer, *args, **kwargs):
        handed.append(
            (layer.name, {name for name, value in kwargs.items() if value is not None and name != "training"})
        )
        return layer(*args, **kwargs)

    ramet.clone_model(model, call_function=call_function)

    assert ("lstm", set()) in handed
    assert ("e", set()) in handed
