"""Models of Keras 2, read in the words of Keras 3: what is the same in both is no difference."""

import zipfile

import numpy as np
import pytest

from ramet.__main__ import main
from ramet._files import read_archive
from ramet._graph import Ref
from tests.files.build import archive, called, dense, functional, given, layer, legacy, one_layer, policy, tensor

pytestmark = pytest.mark.no_backend

ZEROS = {"module": "keras.initializers", "class_name": "Zeros", "config": {}, "registered_name": None}
ARRAYS = {"layers/dense/vars/0": np.ones((4, 2), "float32"), "layers/dense/vars/1": np.zeros(2, "float32")}
OLD_ARRAYS = {"d": {"d/kernel:0": ARRAYS["layers/dense/vars/0"], "d/bias:0": ARRAYS["layers/dense/vars/1"]}}


def old_layer(class_name, name, *calls, **config):
    """A layer as Keras 2 writes it: without a module, and with the name of a dtype."""
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


def test_a_setting_that_is_another_is_still_told(tmp_path, capsys):
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
        # One of the user's is not taken for one of Keras'.
        ({"class_name": "Mine"}, None),
        ({"class_name": "Mine", "module": "keras.layers.mine"}, "keras.layers.mine"),
        ({"class_name": "Dense", "module": "mine"}, "mine"),
    ],
)
def test_where_a_class_is_found(tmp_path, record, module):
    old = old_model([old_input(), {**OLD_DENSE, **record}], [["x", 0, 0]], [["d", 0, 0]])

    with read_archive(legacy(tmp_path / "old.h5", old), isolated=False) as file:
        assert file.graph.op("d").module == module
        # What is written is still to be had.
        assert file.config == old


def test_policies_of_keras_2(tmp_path):
    mixed = {"class_name": "Policy", "config": {"name": "mixed_float16"}}
    record = {**OLD_DENSE, "config": {**OLD_DENSE["config"], "dtype": mixed}}

    with read_archive(
        legacy(tmp_path / "old.h5", old_model([old_input(), record], [["x", 0, 0]], [["d", 0, 0]])), isolated=False
    ) as file:
        assert file.graph.op("d").dtype_policy == "mixed_float16"
        assert file.graph.op("d").config.get("dtype").get("class_name") == policy()["class_name"]


def test_a_row_says_its_shape_once(tmp_path):
    first = {"class_name": "Dense", "config": {"name": "d", "batch_input_shape": [None, 4], "units": 2}}
    entry = {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "dtype": "float32", "name": "x"}}
    for rows in ([entry, first], [first]):
        config = {"class_name": "Sequential", "config": {"name": "row", "layers": rows}}
        with read_archive(legacy(tmp_path / "old.h5", config), isolated=False) as file:
            # Without an input, the layer is all that says it.
            assert ("batch_input_shape" in file.graph.op("d").config) == (len(rows) == 1)


def test_an_archive_of_keras_2(tmp_path):
    path = archive(tmp_path / "m.keras", old_model([old_input(), OLD_DENSE], [["x", 0, 0]], [["d", 0, 0]]), ARRAYS)
    with zipfile.ZipFile(path) as file:
        texts = {name: file.read(name) for name in file.namelist()}
    texts["metadata.json"] = b'{"keras_version": "2.15.0"}'
    with zipfile.ZipFile(path, "w") as file:
        for name, text in texts.items():
            file.writestr(name, text)

    with read_archive(path, isolated=False) as file:
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

    with read_archive(legacy(tmp_path / "old.h5", config), isolated=False) as file:
        assert [(call.id, list(call.refs())) for call in file.graph.calls] == [
            ("x", []),
            ("inner", [Ref("x")]),
            ("inner#2", [Ref("inner")]),
        ]
        assert file.graph.outputs == Ref("inner#2")


def test_cells_are_where_the_archive_has_them(tmp_path, capsys):
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
def test_anything_may_stand_in_a_config_of_keras_2(tmp_path, odd):
    settings = {**OLD_DENSE["config"], "kernel_initializer": {"class_name": odd}, "bias_initializer": odd, "dtype": odd}
    config = old_model([old_input(), {**OLD_DENSE, "config": settings}], [["x", 0, 0]], [["d", 0, 0]])

    with read_archive(legacy(tmp_path / "old.h5", config), isolated=False) as file:
        assert file.graph.op("d").module == "keras.layers"
