"""The graph assembled from a config and a weights file."""

import copy

import numpy as np
import pytest

from ramet._files import open_model_file
from ramet._graph import FrozenList, Ref, Slice, refs
from ramet.errors import ModelFileError, RametError, UnknownPathError
from tests.files.build import (
    TINY,
    archive,
    called,
    dense,
    functional,
    given,
    layer,
    legacy,
    one_layer,
    operation,
    sequential,
    tensor,
    weights,
)

pytestmark = pytest.mark.no_backend


def _read(path, config, arrays=None, names=None):
    """Return the graph of a model with this config, as text, and its file."""
    file = open_model_file(archive(path / "m.keras", config, weights(arrays or {}, names)), isolated=False)
    return str(file.graph), file


def test_functional_model_is_read(tmp_path):
    text, file = _read(tmp_path, TINY, {"layers/dense/vars/0": np.ones((4, 2)), "layers/dense/vars/1": np.zeros(2)})

    assert text == (
        "tiny (Functional)  10 parameters\n"
        "  x  Input  (None, 4) float32\n"
        "  d  Dense  (None, 2)          <- x  -> output"
    )
    assert file.weights.paths() == ("d/kernel", "d/bias")
    assert file.kind == "model"
    assert file.metadata == {"keras_version": "3.15.1", "date_saved": "2026-01-02@03:04:05"}


def test_arguments_keep_their_nesting(tmp_path):
    array = {"class_name": "__numpy__", "config": {"value": [[1.0, 2.0]], "dtype": "float32"}}
    part = {"class_name": "__slice__", "config": {"start": 1, "stop": None, "step": None}}
    config = one_layer(
        operation("GetItem", "get", called(tensor("x"), [part, {"class_name": "__ellipsis__", "config": {}}])),
        operation("Where", "where", called({"a": tensor("get"), "b": [tensor("x"), array]}, other=tensor("x"))),
    )

    _, file = _read(tmp_path, config)
    get, where = file.graph.call("get"), file.graph.call("where")

    assert get.args == (Ref("x"), FrozenList((Slice(1), ...)))
    assert list(where.refs()) == [Ref("get"), Ref("x"), Ref("x")]
    assert "<array (1, 2) float32>" in str(file.graph)


def test_calls_of_a_shared_layer_keep_their_order(tmp_path):
    late, early = called(tensor("relu")), called(tensor("x"))
    relu = layer("ReLU", "relu", called(tensor("d")))
    config = functional(
        "chain",
        [given("x"), dense("d"), relu, dense("s", late, early, units=4)],
        ["x", 0, 0],
        [["s", 0, 0], ["s", 1, 0]],
    )

    text, _ = _read(tmp_path, config)

    assert text == (
        "chain (Functional)  0 parameters\n"
        "  x     Input  (None, 4) float32\n"
        "  d     Dense  (None, 4)          <- x\n"
        "  relu  ReLU   (None, 4)          <- d\n"
        "  s     Dense  (None, 4)          <- relu  -> output 0\n"
        "  s#2   Dense  (None, 4)          <- x  (shared)  -> output 1"
    )


def test_outputs_count_calls_of_a_nested_model_from_one(tmp_path):
    inside = [given("i"), dense("d", called(tensor("i")))]
    inner = functional("inner", inside, ["i", 0, 0], ["d", 0, 0], called(tensor("x")), called(tensor("y")))
    config = functional(
        "outer", [given("x"), given("y"), inner], [["x", 0, 0], ["y", 0, 0]], [["inner", 2, 0], ["inner", 1, 0]]
    )

    _, file = _read(tmp_path, config)

    assert list(refs(file.graph.outputs)) == [Ref("inner#2"), Ref("inner")]
    assert file.graph.find("inner/d").class_name == "Dense"


def test_groups_are_matched_by_class_not_by_layer_name(tmp_path):
    arrays = {
        "layers/dense/vars/0": np.full((4, 4), 1.0),
        "layers/dense_1/vars/0": np.full((4, 4), 2.0),
        "layers/functional/layers/dense/vars/0": np.full((4, 4), 3.0),
    }
    inside = [given("i"), dense("dense", called(tensor("i")), use_bias=False)]
    inner = functional("dense_1", inside, ["i", 0, 0], ["dense", 0, 0], called(tensor("z")))
    first = dense("z", use_bias=False)
    last = dense("a", called(tensor("dense_1")), use_bias=False)
    config = functional("m", [given("x"), first, inner, last], ["x", 0, 0], ["a", 0, 0])

    _, file = _read(tmp_path, config, arrays)

    found = {path: float(file.weights.read(path)[0, 0]) for path in file.weights.paths()}
    assert found == {"z/kernel": 1.0, "dense_1/dense/kernel": 3.0, "a/kernel": 2.0}


def test_layers_inside_custom_layers_come_from_the_weights_file(tmp_path):
    arrays = {
        "layers/block/first/vars/0": np.ones((4, 3)),
        "layers/block/rest/dense/vars/0": np.ones((3, 3)),
        "layers/block/rest/container/batch_normalization/vars/0": np.ones(3),
        "layers/block/rest/container/batch_normalization/vars/1": np.ones(3),
        "layers/block/rest/container/batch_normalization/vars/2": np.ones(3),
        "layers/block/rest/container/batch_normalization/vars/3": np.ones(3),
        "layers/block/vars/0": np.ones(7),
    }
    names = {"layers/block/first": "first", "layers/block/rest/dense": "inner"}
    block = layer("Block", "block", called(tensor("x")), module="mine", registered_name="Block")

    _, file = _read(tmp_path, one_layer(block), arrays, names)

    assert sorted(file.weights.paths()) == [
        "block/0",
        "block/batch_normalization/beta",
        "block/batch_normalization/gamma",
        "block/batch_normalization/moving_mean",
        "block/batch_normalization/moving_variance",
        "block/first/0",
        "block/inner/kernel",
    ]
    assert file.graph.find("block/inner").class_name == "Dense"
    assert file.graph.find("block/first").class_name == "?"


def test_wrapped_layer_is_matched_between_config_and_weights(tmp_path):
    inner = {key: item for key, item in dense("core").items() if key not in ("name", "inbound_nodes")}
    wrapper = layer("TimeDistributed", "steps", called(tensor("x")), layer=inner)
    arrays = {
        "layers/time_distributed/layer/vars/0": np.ones((4, 2)),
        "layers/time_distributed/layer/vars/1": np.ones(2),
    }

    _, file = _read(tmp_path, one_layer(wrapper), arrays)

    assert file.weights.paths() == ("steps/core/kernel", "steps/core/bias")
    assert file.graph.find("steps/core").config.get("units") == 2


def test_groups_written_with_backslashes_are_read(tmp_path):
    arrays = {
        "_layer_checkpoint_dependencies\\dense\\vars\\0": np.ones((4, 2)),
        "_layer_checkpoint_dependencies\\dense\\vars\\1": np.ones(2),
    }

    _, file = _read(tmp_path, TINY, arrays)

    assert file.weights.read("d/kernel").shape == (4, 2)


def test_sequential_model_is_read(tmp_path):
    config = sequential("row", given("x"), dense("a", units=3, build=(None, 4)), dense("b", build=(None, 3)))

    text, _ = _read(tmp_path, config)

    assert text == (
        "row (Sequential)  0 parameters\n"
        "  x  Input  (None, 4) float32\n"
        "  a  Dense  (None, 3)          <- x\n"
        "  b  Dense  (None, 2)          <- a  -> output"
    )


def test_sequential_model_without_an_input_has_no_calls(tmp_path):
    text, _ = _read(tmp_path, sequential("row", dense("a"), dense("b")))

    assert text == "row (Sequential)  0 parameters\n  a  Dense\n  b  Dense"


def test_second_occurrence_of_a_shared_layer_refers_to_the_first(tmp_path):
    shared = {**dense("s"), "shared_object_id": 7}
    other = {**dense("other", called(tensor("s"))), "shared_object_id": 8}
    wrapper = layer("TimeDistributed", "steps", called(tensor("other")), layer=copy.deepcopy(shared))
    config = functional("m", [given("x"), shared, other, wrapper], ["x", 0, 0], ["steps", 0, 0])

    _, file = _read(tmp_path, config)

    assert file.graph.find("steps/s", follow=False).same_as == "s"


def test_shared_object_ids_are_not_part_of_a_config(tmp_path):
    configs = []
    for number in (1, 2):
        kernel = {"module": "keras.initializers", "class_name": "Zeros", "config": {}, "shared_object_id": number}
        _, file = _read(tmp_path, one_layer(dense(kernel_initializer=kernel)))
        configs.append(file.graph.op("d").config)

    assert configs[0] == configs[1]


def test_shape_and_dtype_missing_from_the_file_are_unknown(tmp_path):
    _, file = _read(tmp_path, one_layer(layer("Mystery", "m", called(tensor("x")), module="mine")))

    (value,) = file.graph.call("m").outputs
    assert (value.shape, value.dtype) == (None, "unknown")


def test_weights_without_a_config_are_read(tmp_path):
    path = tmp_path / "m.weights.h5"
    path.write_bytes(
        weights({"layers/dense/vars/0": np.ones((4, 2)), "layers/dense/vars/1": np.zeros(2), "optimizer/vars/0": 3})
    )

    with open_model_file(path) as file:
        assert file.kind == "weights"
        assert file.config is None
        assert file.weights.paths() == ("dense/kernel", "dense/bias")
        assert file.optimizer_weights.read("0") == 3


def test_keras_2_model_is_read(tmp_path):
    config = {
        "class_name": "Functional",
        "config": {
            "name": "old",
            "layers": [
                {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "dtype": "float32", "name": "x"}, "name": "x", "inbound_nodes": []},
                {"class_name": "Dense", "config": {"name": "d", "units": 2, "dtype": "float32"}, "name": "d", "inbound_nodes": [[["x", 0, 0, {}]]]},
                {"class_name": "Add", "config": {"name": "add"}, "name": "add", "inbound_nodes": [[["d", 0, 0, {}], ["d", 0, 0, {"y": ["x", 0, 0]}]]]},
            ],
            "input_layers": [["x", 0, 0]],
            "output_layers": [["add", 0, 0]],
        },
    }  # fmt: skip
    arrays = {"d": {"d/kernel:0": np.ones((4, 2)), "d/bias:0": np.ones(2)}, "add": {}}

    with open_model_file(legacy(tmp_path / "old.h5", config, arrays)) as file:
        assert file.kind == "legacy model"
        *lines, last = str(file.graph).splitlines()
        assert lines == [
            "old (Functional)  10 parameters",
            "  x    Input  (None, 4) float32",
            "  d    Dense  (None, 2)          <- x",
        ]
        assert last.endswith("<- [d, d], y=x  -> output")
        assert file.weights.read("d/kernel").shape == (4, 2)


def test_folder_is_read(tmp_path):
    import zipfile

    archive(tmp_path / "m.keras")
    with zipfile.ZipFile(tmp_path / "m.keras") as file:
        file.extractall(tmp_path / "folder")

    with open_model_file(tmp_path / "folder") as file:
        assert file.weights.paths() == ("d/kernel", "d/bias")


def test_statistics_and_digest_of_a_variable(tmp_path):
    kernel = np.array([[0.0, 1.0], [2.0, np.nan], [0.0, 3.0], [0.0, 0.0]], "float32")

    _, file = _read(tmp_path, TINY, {"layers/dense/vars/0": kernel, "layers/dense/vars/1": np.zeros(2)})
    found = file.weights.statistics("d/kernel")

    assert [*found.values()][:5] == [8, 4, 1, 0.0, 3.0]
    assert file.weights.digest("d/kernel") == file.weights.digest("d/kernel") != file.weights.digest("d/bias")
    with pytest.raises(UnknownPathError, match="d/kernle"):
        file.weights.read("d/kernle")


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ({"class_name": "Functional", "config": {"layers": [3], "input_layers": [], "output_layers": []}}, "not a layer"),
        (one_layer(dense("d", called(tensor("nobody")))), "which does not exist"),
        (one_layer(dense("d", called(tensor("x", 5)))), "which has 1"),
        (one_layer(dense("d", called(tensor("d")))), "in a cycle"),
        (one_layer(dense("x")), "two layers"),
        (one_layer({**dense("d"), "inbound_nodes": 3}), "not a list of calls"),
        (functional("f", [given("x")], ["x", 0, 0], 7), "not a structure"),
        ([1, 2], "not an object"),
    ],
)  # fmt: skip
def test_inconsistent_config_is_refused_with_its_position(tmp_path, broken, sentence):
    with pytest.raises(RametError, match=sentence) as caught:
        _read(tmp_path, broken)

    assert caught.value.path


def test_huge_output_number_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="names output"):
        _read(tmp_path, one_layer(dense("d", called(tensor("x", 0, 10**9)))))
