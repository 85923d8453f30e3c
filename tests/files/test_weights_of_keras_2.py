"""Weights that Keras 2 saved without a model, and HDF5 files that hold something else.

The layouts were compared with files of tf_keras 2.21: `save_weights("w.h5")`, `save_weights("w.weights.h5")` and `save("m.keras")`
of Sequential, functional, nested, recurrent and subclassed models.
"""

import h5py
import numpy as np
import pytest

from ramet.__main__ import main
from ramet._files import ModelFileError, read_archive, show_lines
from tests.files.build import DENSE_WEIGHTS, archive, weights

pytestmark = pytest.mark.no_backend


def old_weights(path, layers, *, chunk=None, root=""):
    """Write what `save_weights("w.h5")` of Keras 2 writes.

    Args:
        path: where to.
        layers: by the name of a layer, its arrays by name.
        chunk: how many names stand in one attribute; None for all of them.
        root: the group to write into.
    """

    def note(group, key, names):
        if chunk is None:
            group.attrs[key] = [name.encode() for name in names]
        for number, start in enumerate(range(0, len(names), chunk) if chunk else ()):
            group.attrs[f"{key}{number}"] = [name.encode() for name in names[start : start + chunk]]

    with h5py.File(path, "w") as file:
        file.attrs["backend"], file.attrs["keras_version"] = b"tensorflow", b"2.15.0"
        top = file.require_group(root) if root else file
        note(top, "layer_names", [name for name in layers if name != "top_level_model_weights"])
        for layer, arrays in layers.items():
            group = top.create_group(layer)
            note(group, "weight_names", list(arrays))
            for name, array in arrays.items():
                group[name] = np.asarray(array, "float32")
    return path


LSTM = {"lstm/lstm_cell/kernel:0": np.ones((4, 12)), "lstm/lstm_cell/bias:0": np.ones(12)}
BOTH = {
    f"both/{way}_gru/gru_cell/{name}:0": np.full(3, number)
    for number, (way, name) in enumerate((way, name) for way in ("forward", "backward") for name in ("kernel", "bias"))
}
INNER = {"dense/kernel:0": np.ones((4, 3)), "dense/bias:0": np.zeros(3), "bn/moving_mean:0": np.zeros(3)}
LAYERS = {
    "input_1": {},
    "lstm": LSTM,
    "both": BOTH,
    "inner": INNER,
    "block1/conv": {"block1/conv/kernel:0": np.ones((1, 2))},
    "top_level_model_weights": {"sub/scale:0": np.ones(2)},
}
PATHS = {
    "lstm/lstm_cell/kernel": (4, 12),
    "lstm/lstm_cell/bias": (12,),
    "both/forward_gru/gru_cell/kernel": (3,),
    "both/forward_gru/gru_cell/bias": (3,),
    "both/backward_gru/gru_cell/kernel": (3,),
    "both/backward_gru/gru_cell/bias": (3,),
    "inner/dense/kernel": (4, 3),
    "inner/dense/bias": (3,),
    "inner/bn/moving_mean": (3,),
    "block1_conv/kernel": (1, 2),
    "scale": (2,),
}


@pytest.mark.parametrize("chunk", [None, 2])
@pytest.mark.parametrize("root", ["", "model_weights"])
def test_weights_are_read_by_the_names_of_their_layers(tmp_path, chunk, root):
    path = old_weights(tmp_path / "w.h5", LAYERS, chunk=chunk, root=root)

    with read_archive(path, isolated=False) as file:
        shapes = {name: file.weights.spec(name).shape for name in file.weights}
        numbers = file.weights.read("both/backward_gru/gru_cell/bias")
        lines = show_lines(file)

    assert shapes == PATHS
    assert (numbers == 3).all()
    assert lines[0] == f"w.h5: weights, {sum(map(np.prod, PATHS.values()))} parameters, 3 not trainable"
    assert [line.split()[0] for line in lines[3:]][:3] == ["input_1", "lstm", "|"]


def test_two_different_files_differ_at_the_weight(tmp_path, capsys):
    first = old_weights(tmp_path / "a.h5", {"d": {"d/kernel:0": [1.0, 2.0], "d/bias:0": [0.0]}})
    other = old_weights(tmp_path / "b.h5", {"d": {"d/kernel:0": [1.0, 3.0], "d/bias:0": [0.0]}})

    assert main(["diff", str(first), str(first)]) == 0
    assert main(["diff", str(first), str(other)]) == 1
    assert "kernel" in capsys.readouterr().out


def test_a_weight_that_is_listed_but_missing_is_an_error(tmp_path):
    path = old_weights(tmp_path / "w.h5", {"d": {"d/kernel:0": [1.0], "d/bias:0": [2.0]}})
    with h5py.File(path, "a") as file:
        del file["d/d/bias:0"]

    with (
        read_archive(path, isolated=False) as file,
        pytest.raises(ModelFileError, match="'d/bias:0' is listed, but missing"),
    ):
        _ = file.graph


UNKNOWN = {
    "empty": {},
    "arrays_in_the_root": {"a": np.ones(3)},
    "names_of_torch": {"model/fc.weight": np.ones((2, 3)), "model/fc.bias": np.ones(2)},
    "data": {"train/images": np.ones((2, 3)), "train/labels": np.ones(2)},
}


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("file_name", ["w.h5", "w.weights.h5"])
def test_hdf5_that_is_no_weights_file_is_an_error(tmp_path, capsys, name, file_name):
    path = tmp_path / file_name
    path.write_bytes(weights(UNKNOWN[name]))

    for command in (["show", str(path)], ["diff", str(path), str(path)]):
        assert main(command) == 3
        told = capsys.readouterr().err
        assert told.startswith(f"Cannot read the weights in '{file_name}': no array is where Keras saves")


def test_arrays_beside_the_layers_are_counted_and_named(tmp_path):
    path = tmp_path / "w.weights.h5"
    path.write_bytes(weights({**DENSE_WEIGHTS, "strange/a": np.ones((2, 5))}))
    model = archive(tmp_path / "m.keras", arrays={"layers/other/vars/0": np.ones((2, 5))})

    with read_archive(path, isolated=False) as file:
        assert show_lines(file)[:2] == [
            "w.weights.h5: weights, 10 parameters, and 10 in arrays that belong to no layer",
            "  no layer of the model has 'strange/a'",
        ]
    with read_archive(model, isolated=False) as file:
        head = show_lines(file)[:3]
    assert head[0] == "m.keras: tiny (Functional), 0 parameters, and 10 in arrays that belong to no layer"
    assert head[2] == "  no layer of the model has 'layers/other/vars/0'"


def test_the_state_of_an_optimizer_alone_is_no_parameter(tmp_path):
    path = tmp_path / "w.weights.h5"
    path.write_bytes(weights({"optimizer/vars/0": np.int64(3), "optimizer/vars/1": np.float32(0.1)}))

    with read_archive(path, isolated=False) as file:
        assert show_lines(file)[:2] == ["w.weights.h5: weights, 0 parameters", "  holds 2 variables of an optimizer"]


def test_metrics_and_further_optimizers_are_no_parameters(tmp_path):
    path = tmp_path / "w.weights.h5"
    state = {
        "metrics/mean/vars/0": np.float32(1),
        "metrics/mean/vars/1": np.float32(1),
        "generator_optimizer/vars/0": np.int64(3),
        "generator_optimizer/vars/1": np.float32(0.1),
        "generator_optimizer/vars/2": np.ones((4, 2), "float32"),
        "scaled/vars/0": np.int32(3),
        "scaled/vars/1": np.float32(0.1),
        "scaled/inner_optimizer/vars/0": np.int64(3),
        "scaled/inner_optimizer/vars/1": np.float32(0.1),
        "scaled/inner_optimizer/vars/2": np.ones(2, "float32"),
    }
    path.write_bytes(weights({**DENSE_WEIGHTS, **state}))

    with read_archive(path, isolated=False) as file:
        assert show_lines(file)[0] == "w.weights.h5: weights, 10 parameters"
        assert len(file.weights) == 2 + len(state)
