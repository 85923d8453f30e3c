"""Files of Keras 2 made by hand, and one process of tf_keras that writes the others."""

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from tests.files.build import legacy
from tests.files.hostile import code

KERNEL = np.arange(8, dtype="float32").reshape(4, 2) / 10
BIAS = np.asarray([0.5, -1], "float32")
WEIGHTS = {"d": {"d/kernel:0": KERNEL, "d/bias:0": BIAS}}
TRAINING = {"loss": "mse", "metrics": ["acc"], "optimizer_config": {"class_name": "Adam", "config": {"lr": 0.01}}}
X = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
EXPECTED = X @ KERNEL + BIAS


def old_layer(class_name, name, **config):
    """Return a layer of a Sequential model of Keras 2."""
    return {"class_name": class_name, "config": {"name": name, "trainable": True, "dtype": "float32", **config}}


def dense(name="d", **config):
    return old_layer("Dense", name, **{"units": 2, "activation": "linear", "use_bias": True, **config})


def old_model(*layers):
    """Return a Sequential model of Keras 2 with an input `x`."""
    given = {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "dtype": "float32", "name": "x"}}
    return {"class_name": "Sequential", "config": {"name": "old", "layers": [given, *layers]}}


def old_file(path, *layers, training=None, arrays=WEIGHTS):
    """Write an `.h5` file of Keras 2 with a layer `d`, followed by others, and return its path."""
    return legacy(path, old_model(dense(), *layers), arrays, training)


def old_graph(*layers, inputs=(("x", 0, 0),), outputs=None):
    """Return a functional model of Keras 2; each layer is given with its `inbound_nodes`."""
    given = {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "dtype": "float32", "name": "x"}}
    listed = [{**given, "name": "x", "inbound_nodes": []}]
    listed += [{**layer, "name": layer["config"]["name"], "inbound_nodes": nodes} for layer, nodes in layers]
    ends = outputs or [[listed[-1]["name"], 0, 0]]
    config = {"name": "old", "layers": listed, "input_layers": [list(one) for one in inputs], "output_layers": ends}
    return {"class_name": "Functional", "config": config}


def lambda_layer(folder):
    """Return a Lambda layer with compiled code in it, which would write a marker file."""
    return old_layer("Lambda", "scale", function=[code(folder), None, None], function_type="lambda", arguments={})


_SCRIPT = """
import sys
from pathlib import Path
import numpy as np
import tensorflow as tf
import tf_keras as k

folder = Path(sys.argv[1])
model = k.Sequential([
    k.Input((4,), name="x"),
    k.layers.Dense(3, activation="relu", name="hidden"),
    k.layers.LeakyReLU(alpha=0.2, name="leaky"),
    k.layers.Dense(2, name="head"),
])
model.compile("adam", "mse", metrics=["mae"])
x = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
model.save(folder / "model.h5")
model.save(folder / "model.keras")
model.save(folder / "saved", save_traces=False)
(folder / "model.json").write_text(model.to_json())
model.save_weights(folder / "only.weights.h5")
np.savez(folder / "expected.npz", y=model(x).numpy())
class Plain(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec((None, 4))])
    def __call__(self, x):
        return 2 * x
tf.saved_model.save(Plain(), str(folder / "plain"))
"""


@pytest.fixture(scope="session")
def written_by_tf_keras(tmp_path_factory):
    """Return a folder with one model that tf_keras saved in every format, and its outputs for `X` in `expected.npz`."""
    if find_spec("tf_keras") is None:
        pytest.skip("tf_keras writes the files: `pip install tf_keras` lifts this")
    folder = tmp_path_factory.mktemp("tf_keras")
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _SCRIPT, str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder
