"""Hundreds of hostile files: every payload, at every position that a loader reads, in every container.

Positions are found, not invented: `reached` puts a harmless marker at each position of a config in turn, loads it with the
installed Keras, and records the positions where Keras looked up the marker.
"""

import base64
import functools
import io
import json

import h5py
import keras
import numpy as np

from tests.files.build import DENSE_WEIGHTS, archive, legacy, sharded, weights
from tests.files.hostile import code
from tests.files.places import MARKERS, looks_up, places, put


def reached(config, load):
    """Return the places of a config where a loader accepts an object: those where it looks up a marker.

    Args:
        config: The config of a model.
        load: Loads a config, and may raise anything.
    """
    from keras.src.saving import object_registration, serialization_lib

    functions = [(serialization_lib, "_retrieve_class_or_fn"), (object_registration, "get_registered_object")]
    return [
        path
        for path in places(config)
        if any(looks_up(put(config, path, marker), load, functions) for marker in MARKERS)
    ]


# Payloads. Each would write, read or open something if it were run; none does harm.


def function(module, name, registered_name=None):
    return {"module": module, "class_name": "function", "config": name, "registered_name": registered_name or name}


def made(module, name, config, registered_name=None):
    return {"module": module, "class_name": name, "config": config, "registered_name": registered_name}


def _tested(folder):
    """Return a module of Keras' own tests, which imports any `conftest` it finds."""
    return made("keras.src.layers.core.dense_test", "DenseTest", {}, "DenseTest")


PAYLOADS = {
    "lambda": lambda folder: {
        "class_name": "__lambda__",
        "config": {"code": code(folder), "defaults": None, "closure": None},
    },
    "lambda_in_a_list": lambda folder: {"class_name": "__lambda__", "config": {"value": [code(folder), None, None]}},
    "code_in_a_wrapper_of_a_cell": lambda folder: made(
        "keras.layers",
        "RNN",
        {
            "cell": made(
                "keras.src.layers.rnn.cell_wrappers",
                "ResidualWrapper",
                {
                    "cell": made("keras.layers", "LSTMCell", {"units": 2}),
                    "residual_fn": [code(folder), None, None],
                    "residual_fn_type": "lambda",
                    "residual_fn_module": "keras.src.layers.core.wrapper",
                },
                "ResidualWrapper",
            )
        },
        "RNN",
    ),
    "code_in_a_tuple": lambda folder: made(
        "keras.layers",
        "Lambda",
        {"function": {"class_name": "__tuple__", "items": [code(folder), None, None]}, "function_type": "lambda"},
        "Lambda",
    ),
    "module_of_a_plain_value": lambda folder: made("this", "__slice__", {}),
    "other_name_of_a_plain_value": lambda folder: made(
        "keras.layers", "__ellipsis__", {"vocabulary": str(folder / "words")}, "StringLookup"
    ),
    "operation_as_the_type_of_a_tensor": lambda folder: {
        **made("keras.src.layers.core.tf_op_layer", "__typespec__", {"function": "io.write_file"}, "TFOpLambda"),
        "spec_name": "TFOpLambda",
    },
    "vocabulary_as_the_type_of_a_tensor": lambda folder: {
        **made("keras.layers", "__typespec__", {"vocabulary": str(folder / "words")}, "StringLookup"),
        "spec_name": "StringLookup",
    },
    "operation_that_reads_a_file": lambda folder: made(
        "keras.layers", "TFOpLambda", {"name": "t", "function": "io.read_file"}, "TFOpLambda"
    ),
    "sampler_that_reads_a_file": lambda folder: made(
        "keras.layers", "TFOpLambda", {"name": "t", "function": "random.fixed_unigram_candidate_sampler"}, "TFOpLambda"
    ),
    "package_that_keras_imports": lambda folder: made("keras_hub", "Anything", {}, "a>b"),
    "lambda_layer_of_keras_2": lambda folder: {
        "class_name": "Lambda",
        "config": {"name": "l", "function": [code(folder), None, None], "function_type": "lambda"},
    },
    "system": lambda folder: function("os", "system"),
    "system_behind_a_registered_name": lambda folder: function("os", "system", "a>b"),
    "class_behind_a_registered_name": lambda folder: made("subprocess", "Popen", {"args": "true"}, "a>b"),
    "builtin": lambda folder: function("builtins", "eval"),
    "pickle": lambda folder: made(
        "keras.layers", "TorchModuleWrapper", {"name": "t", "module": base64.b64encode(b"a pickle").decode()}
    ),
    "pickle_by_a_dotted_name": lambda folder: made("keras", "layers.TorchModuleWrapper", {"name": "t", "module": "x"}),
    "saved_model": lambda folder: made("keras.layers", "TFSMLayer", {"filepath": str(folder)}),
    "saved_model_as_a_function": lambda folder: function("keras.layers", "TFSMLayer"),
    "vocabulary": lambda folder: made(
        "keras.layers", "StringLookup", {"name": "v", "vocabulary": str(folder / "words")}
    ),
    "weights_of_an_application": lambda folder: made(
        "keras.applications.mobilenet", "MobileNet", {"weights": str(folder / "words")}
    ),
    "application_as_a_function": lambda folder: function("keras.applications.mobilenet", "MobileNet"),
    "download": lambda folder: function("keras.utils", "get_file"),
    "dataset": lambda folder: function("keras.datasets.mnist", "load_data"),
    "other_model": lambda folder: function("keras.models", "load_model"),
    "guard_off": lambda folder: function("keras.config", "enable_unsafe_deserialization"),
    "tests_of_keras": _tested,
    "function_as_a_class": lambda folder: made("keras.layers", "deserialize", {"config": {}}),
    "no_name_of_a_class": lambda folder: {"class_name": 5, "config": {}, "module": "os", "registered_name": "a>b"},
}


def loss_weights(payload):
    """Return the payload under a key whose lists the scan once mistook for numbers."""
    return {"value": [payload]}


# Configs to put payloads into: real models, compiled, with everything that a config can contain.


def rich_model():
    """Return a small model with a nested one, a wrapper, an operation, arguments of calls, a schedule, losses and metrics."""
    inner = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, kernel_regularizer="l2")], name="inner")
    x = keras.Input((4,), name="x")
    y = inner(x) * 2.0
    y = keras.layers.Dense(4, activation="relu", kernel_initializer=keras.initializers.Constant(0.5), name="d")(y)
    y = keras.layers.Add(name="sum")([x, y])
    y = keras.layers.Reshape((2, 2), name="rows")(y)
    y = keras.layers.TimeDistributed(keras.layers.Dense(2), name="steps")(y)
    model = keras.Model(x, keras.layers.Flatten(name="flat")(y), name="rich")
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)
    model.compile(keras.optimizers.SGD(schedule), keras.losses.Huber(), [keras.metrics.AUC(thresholds=[0.5])])
    return model


@functools.cache
def archive_config():
    """Return the config that Keras writes into an archive. It is only read: `put` makes a copy."""
    return json.loads(json.dumps(keras.saving.serialize_keras_object(rich_model())))


def legacy_config():
    """Return what Keras writes into a `.h5` file: the config of the model and its compile settings."""
    inner = {"class_name": "Dense", "config": {"name": "i", "units": 2, "activation": "relu"}}
    rows = [
        {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4, 4], "name": "x"}},
        {"class_name": "TimeDistributed", "config": {"name": "t", "layer": inner}},
        {
            "class_name": "Dense",
            "config": {
                "name": "d",
                "units": 2,
                "kernel_initializer": {"class_name": "Zeros", "config": {}},
                "kernel_regularizer": {"class_name": "L2", "config": {"l2": 0.1}},
            },
        },
    ]
    training = {
        "loss": "mse",
        "metrics": ["mae"],
        "loss_weights": None,
        "optimizer_config": {"class_name": "SGD", "config": {"learning_rate": 0.1}},
    }
    model = {"class_name": "Sequential", "config": {"name": "old", "layers": rows}}
    return {"model_config": model, "training_config": training}


def load_archive_config(config):
    """Create a model as Keras does from the config of an archive."""
    return keras.saving.deserialize_keras_object(config)


def load_legacy_config(config):
    """Create and compile a model as Keras does from a `.h5` file."""
    from keras.src.legacy.saving import saving_options, saving_utils

    with saving_options.keras_option_scope(use_legacy_config=True):
        model = saving_utils.model_from_config(config["model_config"])
    model.compile(**saving_utils.compile_args_from_training_config(config["training_config"]))


# Containers.


def as_folder(path, config):
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    (path / "metadata.json").write_text("{}")
    (path / "model.weights.h5").write_bytes(weights(DENSE_WEIGHTS))
    return path


def as_legacy(path, config):
    arrays = {"d": {"d/kernel:0": np.ones((4, 2)), "d/bias:0": np.ones(2)}}
    return legacy(path, config["model_config"], arrays, config["training_config"])


CONTAINERS = {
    ".keras": (archive_config, load_archive_config, archive),
    "folder": (archive_config, load_archive_config, as_folder),
    ".h5": (legacy_config, load_legacy_config, as_legacy),
}


# Payloads in weights, which may lead out of the file.

_ARRAYS = {"layers/dense/vars/0": (4, 2), "layers/dense/vars/1": (2,), "layers/inner/layers/dense/vars/0": (2, 2)}
WEIGHT_PLACES = (
    *_ARRAYS,
    "layers/dense/vars",
    "layers/dense",
    "layers/inner",
    "layers/extra",
    "extra",
    "optimizer/vars",
)


def _external_link(file, place, folder):
    file[place] = h5py.ExternalLink(str(folder / "other.h5"), "/x")


def _soft_link(file, place, folder):
    file[place] = h5py.SoftLink("/layers")


def _external_storage(file, place, folder):
    file.create_dataset(place, (4, 2), "float32", external=[(str(folder / "secret.bin"), 0, 32)])


def _virtual(file, place, folder):
    layout = h5py.VirtualLayout((4, 2), "float32")
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "x", (4, 2))
    file.create_virtual_dataset(place, layout)


def _objects(file, place, folder):
    file.create_dataset(place, (2,), h5py.string_dtype())


def _bomb(file, place, folder):
    file.create_dataset(place, (2**30,), "float32", chunks=(2**20,), compression="gzip")


def _wide_chunk(file, place, folder):
    file.create_dataset(place, (1,), "float32", chunks=(2**26,), maxshape=(None,), compression="gzip")


def _packed_twice(file, place, folder):
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk((4, 2))
    for _ in range(2):
        properties.set_deflate(9)
    space = h5py.h5s.create_simple((4, 2))
    group, _, name = place.rpartition("/")
    holder = file.require_group(group) if group else file
    h5py.h5d.create(holder.id, name.encode(), h5py.h5t.IEEE_F32LE, space, properties)


WEIGHT_PAYLOADS = {
    "external_link": _external_link,
    "soft_link": _soft_link,
    "external_storage": _external_storage,
    "virtual": _virtual,
    "objects": _objects,
    "bomb": _bomb,
    "wide_chunk": _wide_chunk,
    "packed_twice": _packed_twice,
}


def weights_with(place, payload, folder):
    """Return the bytes of a weights file with a payload at a place, or without one if it is None."""

    def edit(file):
        if payload is not None:
            if place in file:
                del file[place]
            payload(file, place, folder)

    return weights({path: np.ones(shape, "float32") for path, shape in _ARRAYS.items()}, edit=edit)


def _weights_in_a_folder(folder, data):
    path = as_folder(folder / "m", archive_config())
    (path / "model.weights.h5").write_bytes(data)
    return path


def _weights_alone(folder, data):
    (folder / "m.weights.h5").write_bytes(data)
    return folder / "m.weights.h5"


def _weights_in_shards(folder, data):
    groups = ["layers/dense/vars", "layers/inner/layers/dense/vars"]
    with h5py.File(io.BytesIO(data), "r") as file:
        groups = [group for group in groups if file.get(group) is not None]
    return sharded(folder / "m.weights.json", {"m_00000.weights.h5": data}, dict.fromkeys(groups, "m_00000.weights.h5"))


WEIGHT_CONTAINERS = {
    ".keras": lambda folder, data: archive(folder / "m.keras", archive_config(), data),
    "folder": _weights_in_a_folder,
    ".weights.h5": _weights_alone,
    "shards": _weights_in_shards,
}
