"""Configs that tf_keras writes, and the positions in them that its loaders read, found in a separate process.

`python -m tests.files.attack_tf_keras` prints both as JSON. It imports TensorFlow, which takes a gigabyte.
"""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]


@functools.cache
def positions():
    """Return, by the suffix of a file, a config and the places in it that a loader reads."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.files.attack_tf_keras"], capture_output=True, text=True, check=False, cwd=_ROOT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {
        suffix: (config, [tuple(path) for path in paths]) for suffix, (config, paths) in json.loads(done.stdout).items()
    }


def _rich_model(keras):
    import tensorflow as tf

    inner = keras.Sequential([keras.Input((4,)), keras.layers.Activation("relu")], name="inner")
    x = keras.Input((4,), name="x")
    y = tf.nn.relu(inner(x) * 2.0)[:, ::1]
    y = keras.layers.Dense(4, activation="relu", kernel_initializer=keras.initializers.Constant(0.5), name="d")(y)
    y = keras.layers.Add(name="sum")([x, y])
    y = keras.layers.Reshape((2, 2), name="rows")(y)
    y = keras.layers.TimeDistributed(keras.layers.Flatten(), name="steps")(y)
    model = keras.Model(x, y, name="rich")
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)
    model.compile(keras.optimizers.SGD(schedule), keras.losses.Huber(), [keras.metrics.AUC(thresholds=[0.5])])
    return model


def configs():
    """Return what tf_keras writes for a rich model, by the suffix of the file. It is imported in this process."""
    import tf_keras
    from tf_keras.src.saving.legacy import saving_utils

    model = _rich_model(tf_keras)
    written = saving_utils.model_metadata(model, include_optimizer=True)
    parts = {key: json.dumps(written[key], default=_plain) for key in ("model_config", "training_config")}
    return {
        ".keras": json.loads(json.dumps(tf_keras.saving.serialize_keras_object(model))),
        ".h5": {key: json.loads(text) for key, text in parts.items()},
    }


def main():
    """Print configs and positions as JSON."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from tf_keras.src.saving import object_registration, serialization_lib
    from tf_keras.src.saving.legacy import model_config, saving_utils

    from tests.files.places import MARKERS, looks_up, places, put

    as_archive, as_hdf5 = configs().values()

    def load_hdf5(config):
        loaded = model_config.model_from_config(config["model_config"])
        loaded.compile(**saving_utils.compile_args_from_training_config(config["training_config"]))

    functions = [(serialization_lib, "_retrieve_class_or_fn"), (object_registration, "get_registered_object")]
    found = {}
    for suffix, config, load in (
        (".keras", as_archive, serialization_lib.deserialize_keras_object),
        (".h5", as_hdf5, load_hdf5),
    ):
        load(json.loads(json.dumps(config)))  # it can be loaded as it is
        paths = [
            path
            for path in places(config)
            if any(looks_up(put(config, path, marker), load, functions) for marker in MARKERS)
        ]
        found[suffix] = (config, paths)
    output.write(json.dumps(found))
    output.flush()


def _plain(value):
    return value.as_list() if hasattr(value, "as_list") else value.item() if hasattr(value, "item") else str(value)


if __name__ == "__main__":
    main()
