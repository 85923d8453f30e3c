"""Files that commands load: trained on any backend, written by Keras 2, or refused with a sentence and a way out."""

import json
import zipfile

import h5py
import keras
import numpy as np
import pytest

from tests.files.build import legacy
from tests.support.corpus import TORCH_OPTIMIZERS

INPUT = {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "dtype": "float32", "name": "x"}}
DENSE = {"class_name": "Dense", "config": {"name": "d", "units": 2, "activation": "linear", "use_bias": True}}
ARRAYS = {"d": {"d/kernel:0": np.arange(8.0).reshape(4, 2), "d/bias:0": np.ones(2)}}
# As Keras 2.15 writes them: metrics by name and class, losses by name.
METRIC = {"class_name": "MeanMetricWrapper", "config": {"name": "mse", "dtype": "float32", "fn": "mean_squared_error"}}
TRAINING = {
    "optimizer_config": {"class_name": "Custom>Adam", "config": {"name": "Adam", "learning_rate": 0.1}},
    "loss": "mse",
    "metrics": [[METRIC]],
    "loss_weights": None,
}


def _old(path, *layers, training=None, arrays=ARRAYS):
    """A Sequential model as Keras 2 saves it."""
    config = {"class_name": "Sequential", "config": {"name": "old", "layers": [INPUT, *layers]}}
    legacy(path, config, arrays, training)
    with h5py.File(path, "a") as file:
        file["model_weights"].attrs["layer_names"] = [name.encode() for name in arrays]


def _trained(path, optimizer="Adam"):
    """A model after one step, saved; without the compilers of the backends, which take long."""
    x = keras.Input((4,), name="x")
    hidden = keras.layers.Dropout(0.1, seed=1)(keras.layers.Dense(3, name="h")(x))
    model = keras.Model(x, keras.layers.Dense(2, name="out")(hidden), name="m")
    model.compile(getattr(keras.optimizers, optimizer)(0.1), "mse", metrics=["mae"], run_eagerly=True)
    model.train_on_batch(np.ones((4, 4), "float32"), np.ones((4, 2), "float32"))
    model.save(path)
    return model


def _as_saved_by_torch(path, optimizer="Adam"):
    """Rename the optimizer of a file as files of torch name it."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    config = json.loads(members["config.json"])
    config["compile_config"]["optimizer"] |= {
        "module": f"keras.src.backend.torch.optimizers.torch_{optimizer.lower()}",
        "class_name": optimizer,
        "registered_name": optimizer,
    }
    members["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)


def test_a_trained_model_is_cloned_edited_and_verified(ramet, tmp_path):
    _trained(tmp_path / "m.keras")
    (tmp_path / "slim.toml").write_text('[[edit]]\nremove = "dropout*"\n')

    commands = [
        ("clone", "m.keras", "twin.keras"),
        ("verify", "m.keras", "twin.keras", "--only", "structure,state,outputs"),
        ("edit", "m.keras", "slim.keras", "--recipe", "slim.toml"),
        ("scan", "slim.keras"),
    ]
    done = {" ".join(command): ramet(*command) for command in commands}

    assert {name: one.code for name, one in done.items()} == dict.fromkeys(done, 0), [one.err for one in done.values()]


@pytest.mark.parametrize("optimizer", ["Adam", "SGD"])
def test_a_file_saved_on_torch_can_be_loaded_and_trained_everywhere(ramet, tmp_path, optimizer):
    assert optimizer in TORCH_OPTIMIZERS
    model = _trained(tmp_path / "m.keras", optimizer)
    _as_saved_by_torch(tmp_path / "m.keras", optimizer)

    done = ramet("clone", "m.keras", "twin.keras")

    assert done.code == 0, done.err
    twin = keras.saving.load_model(tmp_path / "twin.keras")
    assert type(twin.optimizer) is type(model.optimizer)
    batch = np.ones((4, 4), "float32"), np.ones((4, 2), "float32")
    np.testing.assert_allclose(twin.evaluate(*batch, verbose=0), model.evaluate(*batch, verbose=0), rtol=1e-5)
    twin.train_on_batch(*batch)


@pytest.mark.parametrize("verb", ["clone", "edit", "verify"])
def test_compile_settings_of_keras_2_can_be_left_out(ramet, tmp_path, verb):
    _old(tmp_path / "old.h5", DENSE, training={**TRAINING, "loss": {"class_name": "Nope", "config": {}}})
    (tmp_path / "none.toml").write_text('[[edit]]\nfreeze = "d"\n')
    command = {
        "clone": ("clone", "old.h5", "new.keras"),
        "edit": ("edit", "old.h5", "new.keras", "--recipe", "none.toml"),
        "verify": ("verify", "old.h5", "old.h5", "--only", "structure"),
    }[verb]

    refused, done = ramet(*command), ramet(*command, "--no-compile", "--import", "json")

    assert refused.code == 1
    assert done.code == 0, done.err


@pytest.mark.slow
def test_what_keras_does_not_take_of_compile_settings_is_said_with_a_way_out(ramet, tmp_path):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d")])
    model.compile("sgd", "mse")
    model.layers[0].kernel.assign(ARRAYS["d"]["d/kernel:0"])
    model.save(tmp_path / "old.h5")  # Keras itself does not load this file

    refused = ramet("clone", "old.h5", "new.keras")
    done = ramet("clone", "old.h5", "new.keras", "--no-compile")

    assert refused.code == 3
    assert refused.err == (
        f"Cannot load 'old.h5': Keras {keras.__version__} does not take the settings it was compiled with.\n"
        "  found:    Keras does not find its own object 'mse' by what the file says\n"
        "  fix: add --no-compile to load its layers and weights without optimizer, loss and metrics.\n"
    )
    assert done.code == 0, done.err
    kernel = keras.saving.load_model(tmp_path / "new.keras").get_layer("d").kernel
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(kernel), ARRAYS["d"]["d/kernel:0"])


REFUSED = {
    "time_major": (
        {"class_name": "LSTM", "config": {"name": "l", "units": 2, "time_major": False}},
        "the layer 'l' (LSTM) has the setting 'time_major', which this Keras does not know",
    ),
    "groups": (
        {"class_name": "DepthwiseConv2D", "config": {"name": "c", "kernel_size": [3, 3], "groups": 1}},
        "the layer 'c' (DepthwiseConv2D) has the setting 'groups', which this Keras does not know",
    ),
    "raw_operation": (
        {"class_name": "TFOpLambda", "config": {"name": "tf.nn.relu", "function": "nn.relu"}},
        "the layer 'tf.nn.relu' is a raw TensorFlow operation (TFOpLambda) of Keras 2",
    ),
    "unknown": ({"class_name": "Mine", "config": {"name": "own"}}, "Keras knows no layer 'Mine' (layer 'own')"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_layer_that_keras_3_does_not_take_is_named_with_the_reason(ramet, tmp_path, name):
    layer, reason = REFUSED[name]
    _old(tmp_path / "old.h5", layer, arrays={})

    done = ramet("clone", "old.h5", "new.keras", "--import", "json")

    lines = done.err.splitlines()
    assert (done.code, done.out) == (3, "")
    assert lines[0] == f"Cannot load 'old.h5': Keras {keras.__version__} does not take the model in it."
    assert lines[1] == f"  found:    {reason}"
    assert lines[2].startswith("  fix: ")
    assert "tf_keras" in lines[2]
    assert len(lines) == 3


def test_a_config_is_never_printed(ramet, tmp_path):
    layer = {
        "class_name": "Dense",
        "config": {"name": "d", "units": "many", **{f"k{number}": 0 for number in range(99)}},
    }
    _old(tmp_path / "old.h5", layer, arrays={})

    done = ramet("clone", "old.h5", "new.keras")

    assert done.code == 3
    assert len(done.err) < 4_000
    assert "{" not in done.err
