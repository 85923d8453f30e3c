"""Weights that older versions of Keras keep in another form, compared with tf_keras' own conversions and with NumPy."""

import io
import json
import subprocess
import sys
import zipfile

import h5py
import numpy as np
import pytest

import ramet

pytestmark = pytest.mark.no_backend

# Writes two recurrent models in the format of cuDNN, with the conversion of tf_keras, and their ordinary weights.
WRITE_CUDNN = """
import json, sys
import h5py, numpy as np, tf_keras
from tf_keras.src.saving.legacy import hdf5_format

folder = sys.argv[1]
for name, layer in {
    "lstm": tf_keras.layers.LSTM(5, input_shape=(6, 4)),
    "gru": tf_keras.layers.GRU(5, input_shape=(6, 4)),
    "both": tf_keras.layers.Bidirectional(tf_keras.layers.LSTM(5), input_shape=(6, 4)),
}.items():
    model = tf_keras.Sequential([layer])
    weights = [np.random.default_rng(1).normal(size=one.shape).astype("float32") for one in model.get_weights()]
    model.set_weights(weights)
    path = f"{folder}/{name}.h5"
    model.save(path)
    np.savez(f"{folder}/{name}.npz", *weights)
    kind = type("CuDNNGRU" if name == "gru" else "CuDNNLSTM", (), {})
    parts = [weights[at : at + 3] for at in range(0, len(weights), 3)]
    converted = [one for part in parts for one in hdf5_format._convert_rnn_weights(kind(), list(part))]
    with h5py.File(path, "r+") as file:
        # The last Keras with these layers wrote no modules.
        config = file.attrs["model_config"].replace('"module": "keras.layers", ', "")
        file.attrs["model_config"] = config.replace('"LSTM"', '"CuDNNLSTM"').replace('"GRU"', '"CuDNNGRU"')
        group = file["model_weights"][layer.name]
        for weight, values in zip(group.attrs["weight_names"], converted):
            del group[weight]
            group[weight] = values
"""


@pytest.fixture(scope="module")
def cudnn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cudnn")
    subprocess.run([sys.executable, "-c", WRITE_CUDNN, str(folder)], check=True, capture_output=True)
    return folder


def arrays_of(path):
    """Return the arrays of a ported file by path, and its config."""
    with zipfile.ZipFile(path) as archive:
        config = json.loads(archive.read("config.json"))
        with h5py.File(io.BytesIO(archive.read("model.weights.h5"))) as file:
            found = {}
            file.visititems(lambda name, item: found.update({name: item[()]}) if hasattr(item, "shape") else None)
    return found, config


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("lstm", ["layers/lstm/cell"]),
        ("gru", ["layers/gru/cell"]),
        ("both", ["layers/bidirectional/forward_layer/cell", "layers/bidirectional/backward_layer/cell"]),
    ],
)
def test_weights_of_cudnn_layers_are_converted(cudnn, tmp_path, name, groups):
    report = ramet.port(cudnn / f"{name}.h5", tmp_path / "new.keras", isolated=False)

    found, config = arrays_of(tmp_path / "new.keras")
    assert "CuDNN" not in json.dumps(config)
    with np.load(cudnn / f"{name}.npz") as stored:
        expected = [stored[key] for key in stored.files]
    ported = [found[f"{group}/vars/{number}"] for group in groups for number in range(3)]
    assert all(np.allclose(one, two, rtol=1e-6, atol=1e-6) for one, two in zip(ported, expected, strict=True))
    assert {fate for fate, _ in report.arrays.values()} == {"converted"}


WRITE_CUDNN_ARCHIVE = """
import sys
import numpy as np
import tf_keras
from tf_keras.src.layers.rnn.cudnn_gru import CuDNNGRU
from tf_keras.src.layers.rnn.cudnn_lstm import CuDNNLSTM

x = tf_keras.Input((6, 4))
model = tf_keras.Model(x, CuDNNGRU(3)(CuDNNLSTM(5, return_sequences=True)(x)))
model.set_weights([np.random.default_rng(1).normal(size=one.shape) for one in model.get_weights()])
model.save(sys.argv[1] + "/archive.keras")
model.save(sys.argv[1] + "/archive.h5")
"""


def test_archives_with_cudnn_layers_have_the_weights_of_the_same_hdf5_file(tmp_path):
    subprocess.run([sys.executable, "-c", WRITE_CUDNN_ARCHIVE, str(tmp_path)], check=True, capture_output=True)
    ported = []
    for kind in ("h5", "keras"):
        ramet.port(tmp_path / f"archive.{kind}", tmp_path / f"{kind}.keras", isolated=False)
        ported.append(arrays_of(tmp_path / f"{kind}.keras")[0])

    assert len(ported[0]) == 6
    assert ported[0].keys() == ported[1].keys()
    assert all(np.array_equal(values, ported[1][path]) for path, values in ported[0].items())


def write_old(path, layers, weights, *, version=b"1.2.2", backend=b"tensorflow"):
    """Write an HDF5 file as Keras 1 does: a list of layers, and weights with names such as `dense_1_W`."""
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": layers}).encode()
        file.attrs["keras_version"], file.attrs["backend"] = version, backend
        group = file.create_group("model_weights")
        group.attrs["layer_names"] = [layer["config"]["name"].encode() for layer in layers]
        for layer in layers:
            name = layer["config"]["name"]
            inner = group.create_group(name)
            arrays = weights.get(name, {})
            inner.attrs["weight_names"] = [weight.encode() for weight in arrays]
            for weight, values in arrays.items():
                inner[weight] = values


def numbers(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def test_gates_of_keras_1_are_joined_in_the_order_of_keras_2(tmp_path):
    config = {"name": "lstm_1", "output_dim": 3, "activation": "tanh", "inner_activation": "sigmoid"}
    config |= {"batch_input_shape": [None, 5, 2], "return_sequences": False, "init": "glorot_uniform"}
    gates = {gate: (numbers(2, 3) + at, numbers(3, 3) + at, numbers(3) + at) for at, gate in enumerate("icfo")}
    names = {
        f"lstm_1_{kind}_{gate}": part for gate, parts in gates.items() for kind, part in zip("WUb", parts, strict=True)
    }
    write_old(tmp_path / "old.h5", [{"class_name": "LSTM", "config": config}], {"lstm_1": names})

    ramet.port(tmp_path / "old.h5", tmp_path / "new.keras", isolated=False)

    found, written = arrays_of(tmp_path / "new.keras")
    for kind in range(3):
        expected = np.concatenate([gates[gate][kind] for gate in "ifco"], -1)
        assert np.array_equal(found[f"layers/lstm/cell/vars/{kind}"], expected)
    assert written["config"]["layers"][1]["config"]["units"] == 3


@pytest.mark.parametrize("version", [b"1.2.2", b""])
def test_zero_padding_does_not_make_a_file_of_keras_1_one_of_keras_2(tmp_path, version):
    padding = {"name": "pad", "padding": [1, 2], "dim_ordering": "tf", "batch_input_shape": [None, 4, 4, 1]}
    kernel = {"name": "conv", "nb_filter": 2, "nb_row": 2, "nb_col": 3, "border_mode": "valid", "dim_ordering": "tf"}
    kernel |= {"init": "uniform", "subsample": [1, 1], "activation": "relu", "bias": True, "W_regularizer": None}
    layers = [{"class_name": "ZeroPadding2D", "config": padding}, {"class_name": "Convolution2D", "config": kernel}]
    weights = {"conv": {"conv_W:0": numbers(2, 3, 1, 2), "conv_b:0": numbers(2)}}
    write_old(tmp_path / "old.h5", layers, weights, version=version)

    ramet.port(tmp_path / "old.h5", tmp_path / "new.keras", isolated=False)

    found, written = arrays_of(tmp_path / "new.keras")
    assert np.array_equal(found["layers/conv2d/vars/0"], numbers(2, 3, 1, 2))
    configs = [layer["config"] for layer in written["config"]["layers"]]
    assert [config.get("padding") for config in configs] == [None, [1, 2], "valid"]
    assert configs[2]["kernel_size"] == [2, 3]


@pytest.mark.parametrize("mode", [1, 2])
def test_statistics_of_the_batch_in_keras_1_are_refused(tmp_path, mode):
    config = {"name": "norm", "mode": mode, "axis": -1, "epsilon": 0.001, "batch_input_shape": [None, 4]}
    names = ("gamma", "beta", "running_mean", "running_std")
    weights = {"norm": {f"norm_{name}:0": numbers(4) for name in names}}
    write_old(tmp_path / "old.h5", [{"class_name": "BatchNormalization", "config": config}], weights)

    report = ramet.port(tmp_path / "old.h5", isolated=False)

    assert f"mode={mode}" in report.refusals[0].reason


def test_dropout_of_embedded_rows_in_keras_1_is_left_out_with_a_note(tmp_path):
    config = {"name": "words", "input_dim": 7, "output_dim": 3, "init": "uniform", "dropout": 0.2}
    config |= {"batch_input_shape": [None, 5], "input_dtype": "int32", "mask_zero": False, "input_length": 5}
    weights = {"words": {"words_W:0": numbers(7, 3)}}
    write_old(tmp_path / "old.h5", [{"class_name": "Embedding", "config": config}], weights)

    report = ramet.port(tmp_path / "old.h5", isolated=False)

    assert report.refusals == ()
    assert [note.path for note in report.notes if "dropout" in note.text and note.kind == "left out"] == ["words"]


def test_model_without_an_input_shape_is_refused_with_the_reason(tmp_path):
    config = {"name": "head", "output_dim": 2, "init": "uniform", "activation": "linear", "bias": True}
    weights = {"head": {"head_W:0": numbers(3, 2), "head_b:0": numbers(2)}}
    write_old(tmp_path / "old.h5", [{"class_name": "Dense", "config": config}], weights)

    report = ramet.port(tmp_path / "old.h5", isolated=False)

    assert "made without an input shape" in report.refusals[0].reason
    assert "Input(shape=...)" in report.refusals[0].fix


def test_initializer_of_prelu_in_keras_1_is_renamed(tmp_path):
    config = {"name": "prelu", "init": "zero", "batch_input_shape": [None, 4]}
    weights = {"prelu": {"prelu_alphas:0": numbers(4)}}
    write_old(tmp_path / "old.h5", [{"class_name": "PReLU", "config": config}], weights)

    ramet.port(tmp_path / "old.h5", tmp_path / "new.keras", isolated=False)

    found, written = arrays_of(tmp_path / "new.keras")
    assert np.array_equal(found["layers/p_re_lu/vars/0"], numbers(4))
    assert written["config"]["layers"][1]["config"]["alpha_initializer"] == "zeros"


@pytest.mark.parametrize(
    ("class_name", "ordering", "shape", "order"),
    [
        ("Convolution2D", "th", (4, 2, 3, 3), (2, 3, 1, 0)),
        ("Convolution2D", "tf", (3, 3, 2, 4), (0, 1, 2, 3)),
    ],
)
@pytest.mark.parametrize("backend", ["tensorflow", "theano"])
def test_kernels_of_keras_1_are_converted(tmp_path, class_name, ordering, shape, order, backend):
    size = {
        "nb_filter": 4,
        "nb_row": 3,
        "nb_col": 3,
        "border_mode": "same",
        "subsample": [1, 1],
        "dim_ordering": ordering,
    }
    inputs = [None, 2, 6, 6] if ordering == "th" else [None, 6, 6, 2]
    layer = {
        "class_name": class_name,
        "config": {"name": "conv", "batch_input_shape": inputs, "activation": "relu", **size},
    }
    kernel = numbers(*shape)
    # Keras 1 does not say which backend wrote the file, but only TensorFlow numbers the names.
    end = ":0" if backend == "tensorflow" else ""
    write_old(tmp_path / "old.h5", [layer], {"conv": {f"conv_W{end}": kernel, f"conv_b{end}": numbers(4)}})

    ramet.port(tmp_path / "old.h5", tmp_path / "new.keras", isolated=False)

    found, _ = arrays_of(tmp_path / "new.keras")
    expected = kernel.transpose(order)
    expected = expected if backend == "tensorflow" else expected[::-1, ::-1]
    assert np.array_equal(found["layers/conv2d/vars/0"], expected)


def test_kernels_of_theano_are_flipped(tmp_path):
    settings = {
        "filters": 4,
        "kernel_size": [3, 3],
        "padding": "same",
        "strides": [1, 1],
        "data_format": "channels_last",
    }
    config = {"name": "conv", "batch_input_shape": [None, 6, 6, 2], "activation": "relu", "kernel_initializer": "zeros"}
    kernel = numbers(3, 3, 2, 4)
    weights = {"conv": {"conv/kernel:0": kernel, "conv/bias:0": numbers(4)}}
    layers = [{"class_name": "Conv2D", "config": config | settings}]
    write_old(tmp_path / "old.h5", layers, weights, version=b"2.1.6", backend=b"theano")

    report = ramet.port(tmp_path / "old.h5", tmp_path / "new.keras", isolated=False)

    found, _ = arrays_of(tmp_path / "new.keras")
    assert np.array_equal(found["layers/conv2d/vars/0"], kernel[::-1, ::-1])
    assert [str(note) for note in report.notes if note.kind == "translated"] == [
        "conv: its kernel is flipped: the file was written with Theano"
    ]
