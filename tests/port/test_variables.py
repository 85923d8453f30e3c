"""Variables of layers in HDF5 files of Keras 3. The oracle is the model that wrote the file."""

import keras
import numpy as np
import pytest

import ramet
from ramet._port.variables import _RULES, WITHOUT_VARIABLES

# Base classes, and wrappers of other libraries, which HDF5 files do not describe.
OTHERS = {"FlaxLayer", "InputSpec", "JaxLayer", "Layer", "Pipeline", "TFSMLayer", "TorchModuleWrapper"}
# Refused, because HDF5 files keep their weights in an order that is not known.
REFUSED = {"GroupedQueryAttention"}


@pytest.mark.no_backend
def test_every_layer_of_keras_has_a_rule():
    classes = {value.__name__ for value in vars(keras.layers).values() if isinstance(value, type)}
    missing = classes - _RULES.keys() - WITHOUT_VARIABLES - OTHERS - REFUSED
    assert missing == set(), f"list their variables in src/ramet/_port/variables.py: {missing}"


def test_nested_model_with_augmentation_keeps_its_weights(tmp_path):
    layers = keras.layers
    augmented = [keras.Input((6, 6, 3)), layers.RandomErasing(), layers.RandomHue(factor=0.1), layers.Conv2D(3, 2)]
    given = keras.Input((6, 6, 3))
    model = keras.Model(given, layers.Dense(2)(keras.Sequential(augmented, name="inside")(given)))
    model.save(tmp_path / "old.h5")
    x = np.random.default_rng(0).uniform(size=(2, 6, 6, 3)).astype("float32")

    ramet.port(tmp_path / "old.h5", tmp_path / "new.keras")

    found = keras.models.load_model(tmp_path / "new.keras").predict(x, verbose=0)
    np.testing.assert_allclose(found, model.predict(x, verbose=0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_nested", [False, True])
def test_layer_whose_weights_are_not_known_is_refused(is_nested, tmp_path):
    given = keras.Input((4, 8))
    attention = keras.layers.GroupQueryAttention(2, 4, 2, name="heads")
    model = keras.Model(given, attention(given, given))
    if is_nested:
        outer = keras.Input((4, 8))
        model = keras.Model(outer, model(outer))
    model.save(tmp_path / "old.h5")

    report = ramet.port(tmp_path / "old.h5")

    assert [one.path.rpartition("/")[2] for one in report.refusals] == ["heads"]
    assert "save it as .keras" in report.refusals[0].fix
