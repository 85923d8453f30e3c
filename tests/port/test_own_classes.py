"""Classes of the user in files of Keras 2, compared with tf_keras, which runs in a process of its own."""

import subprocess
import sys
from importlib.util import find_spec

import h5py
import keras
import numpy as np
import pytest

import ramet
from tests.port.own_classes import X, own_classes
from tests.port.rescued_files import old_file

needs_tf_keras = pytest.mark.skipif(
    find_spec("tf_keras") is None, reason="tf_keras is not installed: `pip install tf_keras` enables these tests"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("own_classes")
    subprocess.run([sys.executable, "-m", "tests.port.own_classes", path], check=True, capture_output=True)
    return path


@needs_tf_keras
@pytest.mark.parametrize("name", ["Block", "Softmax"])
def test_class_of_the_user_gets_all_its_weights(folder, tmp_path, name):
    own = own_classes(keras)[name]

    report = ramet.port(folder / f"{name}.keras", tmp_path / "new.keras", custom=[name])
    model = keras.models.load_model(tmp_path / "new.keras", custom_objects={name: own})

    assert type(model.layers[0]) is own
    assert {fate for fate, _ in report.arrays.values()} == {"used"}
    np.testing.assert_allclose(keras.ops.convert_to_numpy(model(X)), np.load(folder / f"{name}.npy"), rtol=1e-5)


@needs_tf_keras
@pytest.mark.no_backend
@pytest.mark.parametrize("file", ["Softmax.keras", "registered.keras", "registered.h5"])
def test_class_with_the_name_of_one_of_keras_is_not_taken_for_it(folder, file):
    (refusal,) = ramet.port(folder / file).refusals

    assert str(refusal) == "mine: its class 'Softmax' is the author's own, not the one of Keras"
    assert "--import" in refusal.fix


@pytest.mark.no_backend
def test_weights_that_no_layer_needs_are_refused(tmp_path):
    path = old_file(tmp_path / "old.h5")
    with h5py.File(path, "a") as file:
        file["model_weights/d/d/extra:0"] = np.zeros(3)

    (refusal,) = ramet.port(path).refusals

    assert refusal.reason == "the file has weights that no layer of the model needs: model_weights/d/d/extra:0"
