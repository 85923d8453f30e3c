"""Model files made by hand, without Keras: configs, weights, archives."""

import io
import json
import zipfile

import h5py
import numpy as np

METADATA = {"keras_version": "3.15.1", "date_saved": "2026-01-02@03:04:05"}


def tensor(layer, call=0, output=0, shape=(None, 4), dtype="float32"):
    """Return a tensor in the arguments of a call."""
    config = {"shape": list(shape), "dtype": dtype, "keras_history": [layer, call, output]}
    return {"class_name": "__keras_tensor__", "config": config}


def called(*args, **kwargs):
    """Return one call with its arguments."""
    return {"args": list(args), "kwargs": kwargs}


def policy(name="float32"):
    return {"module": "keras", "class_name": "DTypePolicy", "config": {"name": name}, "registered_name": None}


def layer(class_name, name, *calls, module="keras.layers", registered_name=None, build=None, **config):
    """Return a layer as Keras writes it into the config of a functional model."""
    record = {
        "module": module,
        "class_name": class_name,
        "config": {"name": name, "trainable": True, "dtype": policy(), **config},
        "registered_name": registered_name,
        "name": name,
        "inbound_nodes": list(calls),
    }
    if build is not None:
        record["build_config"] = {"input_shape": list(build)}
    return record


def given(name, shape=(None, 4), dtype="float32", **config):
    """Return an input."""
    record = layer("InputLayer", name)
    record["config"] = {
        "batch_shape": list(shape),
        "dtype": dtype,
        "sparse": False,
        "ragged": False,
        "name": name,
        **config,
    }
    return record


def operation(class_name, name, *calls):
    """Return a raw operation."""
    return {
        "module": "keras.src.ops.numpy",
        "class_name": class_name,
        "config": {"name": name},
        "registered_name": class_name,
        "name": name,
        "inbound_nodes": list(calls),
    }


def functional(name, layers, inputs, outputs, *calls):
    """Return a functional model, at the top or inside another."""
    return {
        "module": "keras.src.models.functional",
        "class_name": "Functional",
        "config": {
            "name": name,
            "trainable": True,
            "layers": layers,
            "input_layers": inputs,
            "output_layers": outputs,
        },
        "registered_name": "Functional",
        "build_config": {"input_shape": None},
        "compile_config": {},
        **({"name": name, "inbound_nodes": list(calls)} if calls else {}),
    }


def sequential(name, *layers):
    """Return a Sequential model."""
    listed = [{key: item for key, item in one.items() if key not in ("name", "inbound_nodes")} for one in layers]
    return {
        "module": "keras",
        "class_name": "Sequential",
        "config": {
            "name": name,
            "trainable": True,
            "dtype": policy(),
            "layers": listed,
            "build_input_shape": [None, 4],
        },
        "registered_name": None,
        "build_config": {"input_shape": [None, 4]},
        "compile_config": {},
    }


def one_layer(*layers):
    """Return a model with an input `x` and some layers, the last of which is its output."""
    return functional("tiny", [given("x"), *layers], ["x", 0, 0], [layers[-1]["name"], 0, 0])


def dense(name="d", *calls, units=2, **options):
    calls = calls or (called(tensor("x")),)
    return layer("Dense", name, *calls, **{"units": units, "activation": "linear", "use_bias": True, **options})


TINY = one_layer(dense())


def weights(arrays, names=None, edit=None):
    """Return the bytes of a weights file.

    Args:
        arrays: Arrays by their path in the file.
        names: Keras names of layers, by the path of the group.
        edit: A function that is called with the open file.
    """
    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        for path, array in arrays.items():
            file[path] = np.asarray(array)
        for group, name in (names or {}).items():
            file.require_group(f"{group}/vars").attrs["name"] = name
        if edit is not None:
            edit(file)
    return data.getvalue()


DENSE_WEIGHTS = {"layers/dense/vars/0": np.ones((4, 2), "float32"), "layers/dense/vars/1": np.zeros(2, "float32")}


def archive(path, config=TINY, arrays=DENSE_WEIGHTS, *, files=None, **options):
    """Write a `.keras` file and return its path.

    Args:
        path: Where to write it.
        config: The config as data or as text.
        arrays: The arrays of the weights file, or its bytes; None for no weights.
        files: Further files, by name.
        options: Options of `zipfile.ZipFile`.
    """
    with zipfile.ZipFile(path, "w", **options) as file:
        file.writestr("metadata.json", json.dumps(METADATA))
        if config is not None:
            file.writestr("config.json", config if isinstance(config, str | bytes) else json.dumps(config))
        if arrays is not None:
            file.writestr("model.weights.h5", arrays if isinstance(arrays, bytes) else weights(arrays))
        for name, content in (files or {}).items():
            file.writestr(name, content)
    return path


def legacy(path, config, arrays=None, training=None):
    """Write a `.h5` file as Keras 2 does, with arrays by layer and name, and return its path."""
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = "2.15.0"
        file.attrs["backend"] = "tensorflow"
        file.attrs["model_config"] = json.dumps(config)
        if training is not None:
            file.attrs["training_config"] = json.dumps(training)
        root = file.create_group("model_weights")
        for owner, named in (arrays or {}).items():
            group = root.create_group(owner)
            group.attrs["weight_names"] = [name.encode() for name in named]
            for name, array in named.items():
                group[name] = np.asarray(array)
    return path


def sharded(path, shards, weight_map=None):
    """Write a map and its shards as Keras does, and return the path of the map.

    Args:
        path: The path of the map.
        shards: Arrays, or bytes, by the name of the shard.
        weight_map: The content of the map; None for a correct one.
    """
    found = {}
    for name, arrays in shards.items():
        (path.parent / name).write_bytes(arrays if isinstance(arrays, bytes) else weights(arrays))
        for array in () if isinstance(arrays, bytes) else arrays:
            found.setdefault(f"/{array.rpartition('/')[0]}", {})[name] = None
    correct = {group: next(iter(names)) if len(names) == 1 else list(names) for group, names in found.items()}
    path.write_text(
        json.dumps({"metadata": {"total_size": 40}, "weight_map": correct if weight_map is None else weight_map})
    )
    return path
