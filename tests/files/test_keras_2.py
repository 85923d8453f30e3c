"""Models and weights of Keras 2.

The layouts of weights files were compared with files of tf_keras 2.21: `save_weights("w.h5")`,
`save_weights("w.weights.h5")` and `save("m.keras")` of Sequential, functional, nested, recurrent and subclassed models.
"""

import zipfile

import h5py
import numpy as np
import pytest

from ramet.__main__ import main
from ramet._files import list_file, open_model_file
from ramet._graph import Ref
from ramet.errors import ModelFileError
from tests.files.build import (
    DENSE_WEIGHTS,
    archive,
    called,
    dense,
    functional,
    given,
    layer,
    legacy,
    one_layer,
    policy,
    tensor,
    weights,
)

pytestmark = pytest.mark.no_backend

ZEROS = {"module": "keras.initializers", "class_name": "Zeros", "config": {}, "registered_name": None}
ARRAYS = {"layers/dense/vars/0": np.ones((4, 2), "float32"), "layers/dense/vars/1": np.zeros(2, "float32")}
OLD_ARRAYS = {"d": {"d/kernel:0": ARRAYS["layers/dense/vars/0"], "d/bias:0": ARRAYS["layers/dense/vars/1"]}}


def old_layer(class_name, name, *calls, **config):
    """Return a layer as Keras 2 writes it: without a module, and with the name of a dtype."""
    record = {"class_name": class_name, "config": {"name": name, "trainable": True, "dtype": "float32", **config}}
    return {**record, "name": name, "inbound_nodes": [list(call) for call in calls]}


def old_input(name="x"):
    config = {"batch_input_shape": [None, 4], "dtype": "float32", "sparse": False, "ragged": False, "name": name}
    return {"class_name": "InputLayer", "config": config, "name": name, "inbound_nodes": []}


def old_model(layers, inputs, outputs, name="tiny", class_name="Functional"):
    config = {"name": name, "trainable": True, "layers": layers, "input_layers": inputs, "output_layers": outputs}
    return {"class_name": class_name, "config": config}


OLD_DENSE = old_layer(
    "Dense",
    "d",
    [["x", 0, 0, {}]],
    units=2,
    activation="linear",
    use_bias=True,
    kernel_initializer={"class_name": "Zeros", "config": {}},
)


@pytest.mark.parametrize("class_name", ["Functional", "Model"])
def test_the_same_model_in_both_formats_has_no_difference(tmp_path, capsys, class_name):
    old = old_model([old_input(), OLD_DENSE], [["x", 0, 0]], [["d", 0, 0]], class_name=class_name)
    legacy(tmp_path / "old.h5", old, OLD_ARRAYS)
    archive(tmp_path / "new.keras", one_layer(dense(kernel_initializer=ZEROS)), ARRAYS)

    code = main(["diff", str(tmp_path / "old.h5"), str(tmp_path / "new.keras")])

    assert code == 0
    assert capsys.readouterr().out.startswith("tiny: no difference\n")


def test_changed_setting_is_reported_across_formats(tmp_path, capsys):
    old = old_model([old_input(), OLD_DENSE], [["x", 0, 0]], [["d", 0, 0]])
    legacy(tmp_path / "old.h5", old, OLD_ARRAYS)
    archive(tmp_path / "new.keras", one_layer(dense(kernel_initializer=ZEROS, activation="relu")), ARRAYS)

    code = main(["diff", str(tmp_path / "old.h5"), str(tmp_path / "new.keras")])

    assert code == 1
    assert "d  activation: 'linear' -> 'relu'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("record", "module"),
    [
        ({"class_name": "Dense"}, "keras.layers"),
        ({"class_name": "Dense", "module": "keras.src.layers.core.dense"}, "keras.layers"),
        ({"class_name": "Dense", "module": "tensorflow.python.keras.layers"}, "keras.layers"),
        # A class of the user is not mistaken for one of Keras.
        ({"class_name": "Mine"}, None),
        ({"class_name": "Mine", "module": "keras.layers.mine"}, "keras.layers.mine"),
        ({"class_name": "Dense", "module": "mine"}, "mine"),
    ],
)
def test_module_of_a_class_is_translated(tmp_path, record, module):
    old = old_model([old_input(), {**OLD_DENSE, **record}], [["x", 0, 0]], [["d", 0, 0]])

    with open_model_file(legacy(tmp_path / "old.h5", old), isolated=False) as file:
        assert file.graph.op("d").module == module
        # The original config is still available.
        assert file.config == old


def test_keras_2_policy_is_translated(tmp_path):
    mixed = {"class_name": "Policy", "config": {"name": "mixed_float16"}}
    record = {**OLD_DENSE, "config": {**OLD_DENSE["config"], "dtype": mixed}}

    with open_model_file(
        legacy(tmp_path / "old.h5", old_model([old_input(), record], [["x", 0, 0]], [["d", 0, 0]])), isolated=False
    ) as file:
        assert file.graph.op("d").dtype_policy == "mixed_float16"
        assert file.graph.op("d").config.get("dtype").get("class_name") == policy()["class_name"]


def test_input_shape_is_kept_only_without_an_input_layer(tmp_path):
    first = {"class_name": "Dense", "config": {"name": "d", "batch_input_shape": [None, 4], "units": 2}}
    entry = {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "dtype": "float32", "name": "x"}}
    for rows in ([entry, first], [first]):
        config = {"class_name": "Sequential", "config": {"name": "row", "layers": rows}}
        with open_model_file(legacy(tmp_path / "old.h5", config), isolated=False) as file:
            # Without an input layer, only the first layer contains the shape.
            assert ("batch_input_shape" in file.graph.op("d").config) == (len(rows) == 1)


def test_keras_2_archive_is_translated(tmp_path):
    path = archive(tmp_path / "m.keras", old_model([old_input(), OLD_DENSE], [["x", 0, 0]], [["d", 0, 0]]), ARRAYS)
    with zipfile.ZipFile(path) as file:
        texts = {name: file.read(name) for name in file.namelist()}
    texts["metadata.json"] = b'{"keras_version": "2.15.0"}'
    with zipfile.ZipFile(path, "w") as file:
        for name, text in texts.items():
            file.writestr(name, text)

    with open_model_file(path, isolated=False) as file:
        assert file.graph.op("d").module == "keras.layers"
        assert file.graph.outputs == Ref("d")


@pytest.mark.parametrize("first", [0, 1])
def test_calls_of_a_nested_model_are_counted_from_zero_or_from_one(tmp_path, first):
    inner = old_model(
        [old_input("i"), {**OLD_DENSE, "inbound_nodes": [[["i", 0, 0, {}]]]}], [["i", 0, 0]], [["d", 0, 0]]
    )
    inner |= {"name": "inner", "inbound_nodes": [[["x", 0, 0, {}]], [["inner", first, 0, {}]]]}
    inner["config"]["name"] = "inner"
    config = old_model([old_input(), inner], [["x", 0, 0]], [["inner", first + 1, 0]])

    with open_model_file(legacy(tmp_path / "old.h5", config), isolated=False) as file:
        assert [(call.id, list(call.refs())) for call in file.graph.calls] == [
            ("x", []),
            ("inner", [Ref("x")]),
            ("inner#2", [Ref("inner")]),
        ]
        assert file.graph.outputs == Ref("inner#2")


def test_rnn_cells_have_the_same_paths_in_both_formats(tmp_path, capsys):
    cell = {"kernel": (4, 12), "recurrent_kernel": (3, 12), "bias": (12,)}
    settings = {"units": 3, "return_state": False, "return_sequences": False}
    old = old_model([old_input(), old_layer("LSTM", "l", [["x", 0, 0, {}]], **settings)], [["x", 0, 0]], [["l", 0, 0]])
    legacy(tmp_path / "old.h5", old, {"l": {f"l/lstm_cell/{name}:0": np.ones(shape) for name, shape in cell.items()}})
    new = functional(
        "tiny", [given("x"), layer("LSTM", "l", called(tensor("x")), **settings)], ["x", 0, 0], ["l", 0, 0]
    )
    arrays = {f"layers/lstm/cell/vars/{number}": np.ones(shape) for number, shape in enumerate(cell.values())}
    archive(tmp_path / "new.keras", new, arrays)

    code = main(["diff", str(tmp_path / "old.h5"), str(tmp_path / "new.keras")])

    assert code == 0
    assert capsys.readouterr().out.startswith("tiny: no difference\n")


@pytest.mark.parametrize(
    "odd", [{}, [], 3, None, "", {"class_name": {}, "config": 3}, {"class_name": "Policy", "config": []}]
)
def test_unexpected_values_in_a_keras_2_config_are_tolerated(tmp_path, odd):
    settings = {**OLD_DENSE["config"], "kernel_initializer": {"class_name": odd}, "bias_initializer": odd, "dtype": odd}
    config = old_model([old_input(), {**OLD_DENSE, "config": settings}], [["x", 0, 0]], [["d", 0, 0]])

    with open_model_file(legacy(tmp_path / "old.h5", config), isolated=False) as file:
        assert file.graph.op("d").module == "keras.layers"


# Weights without a config, and HDF5 files that are not weights files.


def old_weights(path, layers, *, chunk=None, root=""):
    """Write a file as `save_weights("w.h5")` of Keras 2 does.

    Args:
        path: Where to write it.
        layers: The arrays of each layer, by name.
        chunk: The number of names in one attribute; None for all of them.
        root: The group to write into.
    """

    def write_names(group, key, names):
        if chunk is None:
            group.attrs[key] = [name.encode() for name in names]
        for number, start in enumerate(range(0, len(names), chunk) if chunk else ()):
            group.attrs[f"{key}{number}"] = [name.encode() for name in names[start : start + chunk]]

    with h5py.File(path, "w") as file:
        file.attrs["backend"], file.attrs["keras_version"] = b"tensorflow", b"2.15.0"
        top = file.require_group(root) if root else file
        write_names(top, "layer_names", [name for name in layers if name != "top_level_model_weights"])
        for layer, arrays in layers.items():
            group = top.create_group(layer)
            write_names(group, "weight_names", list(arrays))
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

    with open_model_file(path, isolated=False) as file:
        shapes = {name: file.weights.spec(name).shape for name in file.weights}
        values = file.weights.read("both/backward_gru/gru_cell/bias")
        lines = str(list_file(file)).split("\n")

    assert shapes == PATHS
    assert (values == 3).all()
    assert lines[0] == f"w.h5: weights, {sum(map(np.prod, PATHS.values()))} parameters, 3 not trainable"
    assert [line.split()[0] for line in lines[3:]][:3] == ["input_1", "lstm", "|"]


def test_difference_between_two_weights_files_is_found(tmp_path, capsys):
    first = old_weights(tmp_path / "a.h5", {"d": {"d/kernel:0": [1.0, 2.0], "d/bias:0": [0.0]}})
    other = old_weights(tmp_path / "b.h5", {"d": {"d/kernel:0": [1.0, 3.0], "d/bias:0": [0.0]}})

    assert main(["diff", str(first), str(first)]) == 0
    assert main(["diff", str(first), str(other)]) == 1
    assert "kernel" in capsys.readouterr().out


def test_weight_that_is_listed_but_missing_is_an_error(tmp_path):
    path = old_weights(tmp_path / "w.h5", {"d": {"d/kernel:0": [1.0], "d/bias:0": [2.0]}})
    with h5py.File(path, "a") as file:
        del file["d/d/bias:0"]

    with (
        open_model_file(path, isolated=False) as file,
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
def test_hdf5_that_is_not_a_weights_file_is_an_error(tmp_path, capsys, name, file_name):
    path = tmp_path / file_name
    path.write_bytes(weights(UNKNOWN[name]))

    for command in (["show", str(path)], ["diff", str(path), str(path)]):
        assert main(command) == 3
        assert capsys.readouterr().err.startswith(
            f"Cannot read the weights in '{file_name}': no array is where Keras saves"
        )


def test_arrays_of_no_layer_are_counted_and_named(tmp_path):
    path = tmp_path / "w.weights.h5"
    path.write_bytes(weights({**DENSE_WEIGHTS, "strange/a": np.ones((2, 5))}))
    model = archive(tmp_path / "m.keras", arrays={"layers/other/vars/0": np.ones((2, 5))})

    with open_model_file(path, isolated=False) as file:
        assert str(list_file(file)).split("\n")[:2] == [
            "w.weights.h5: weights, 10 parameters",
            "  10 parameters in arrays that belong to no layer: 'strange/a'",
        ]
    with open_model_file(model, isolated=False) as file:
        head = str(list_file(file)).split("\n")[:3]
    assert head[0] == "m.keras: tiny (Functional), 0 parameters"
    assert head[2] == "  10 parameters in arrays that belong to no layer: 'layers/other/vars/0'"


def test_optimizer_state_is_not_counted_as_parameters(tmp_path):
    path = tmp_path / "w.weights.h5"
    path.write_bytes(weights({"optimizer/vars/0": np.int64(3), "optimizer/vars/1": np.float32(0.1)}))

    with open_model_file(path, isolated=False) as file:
        assert str(list_file(file)).split("\n")[:2] == [
            "w.weights.h5: weights, 0 parameters",
            "  contains 2 optimizer variables",
        ]


def test_metrics_and_further_optimizers_are_not_parameters(tmp_path):
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

    with open_model_file(path, isolated=False) as file:
        assert str(list_file(file)).split("\n")[0] == "w.weights.h5: weights, 10 parameters"
        assert len(file.weights) == 2 + len(state)
