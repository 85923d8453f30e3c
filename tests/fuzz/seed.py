"""The inputs of mutations: configs, weights and shard maps as Keras writes them."""

import json

import numpy as np

from tests.files.build import (
    DENSE_WEIGHTS,
    METADATA,
    called,
    dense,
    functional,
    given,
    layer,
    one_layer,
    operation,
    sequential,
    tensor,
    weights,
)

_ARRAY = {"class_name": "__numpy__", "config": {"value": [[1.0]], "dtype": "float32"}}
_SLICE = {"class_name": "__slice__", "config": {"start": 1, "stop": None, "step": None}}
_INSIDE = [given("i"), {**dense("d", called(tensor("i"))), "shared_object_id": 5}]
_INNER = functional("inner", _INSIDE, ["i", 0, 0], {"a": ["d", 0, 0]}, called(tensor("x")), called(tensor("mask")))
_WRAPPED = layer("Bidirectional", "both", called(tensor("inner", 1)), layer={**dense("cell"), "shared_object_id": 5})
_LOSS = {"module": "builtins", "class_name": "function", "config": "mse", "registered_name": "function"}
_ADAM = {"module": "keras.optimizers", "class_name": "Adam", "config": {"name": "adam"}, "registered_name": None}

RICH = functional(
    "rich",
    [
        given("x"),
        layer("Embedding", "e", called(tensor("x")), mask_zero=True, output_dim=3),
        operation("NotEqual", "mask", called(tensor("x"), 0)),
        _INNER,
        layer("LSTM", "l", called(tensor("e"), mask=tensor("mask")), units=2, return_state=True, return_sequences=True),
        _WRAPPED,
        operation("Add", "sum", called([tensor("l"), tensor("l", 0, 2)], {"k": _ARRAY, "at": _SLICE})),
    ],
    [["x", 0, 0]],
    {"a": ["sum", 0, 0], "b": [["inner", 2, 0], ["both", 0, 0]]},
)
COMPILED = {
    **one_layer(dense(kernel_initializer={"module": "keras.initializers", "class_name": "Zeros", "config": {}})),
    "compile_config": {"optimizer": _ADAM, "loss": _LOSS, "metrics": ["accuracy", ["mae"]], "jit_compile": False},
}
ROW = sequential("row", given("x"), dense("a", build=(None, 4)), layer("Dropout", "b", rate=0.5), dense("c"))
CONVOLVING = one_layer(
    layer(
        "Conv2D",
        "c",
        called(tensor("x", shape=(None, 8, 8, 3))),
        filters=4,
        kernel_size=[3, 3],
        strides=[1, 1],
        dilation_rate=[1, 1],
        padding="same",
        data_format="channels_last",
    ),
    layer("Flatten", "f", called(tensor("c", shape=(None, 8, 8, 4)))),
    layer("Reshape", "r", called(tensor("f", shape=(None, 256))), target_shape=[16, 16]),
    layer("Concatenate", "j", called([tensor("r", shape=(None, 16, 16))] * 2), axis=-1),
)
CUSTOM = one_layer(layer("Block", "block", called(tensor("x")), module="mine", registered_name="mine>Block"))
CONFIGS = (RICH, COMPILED, ROW, CONVOLVING, CUSTOM)

OLD = {
    "class_name": "Model",
    "config": {
        "name": "old",
        "layers": [
            {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "name": "x"}, "name": "x"},
            {
                "class_name": "Dense",
                "config": {
                    "name": "d",
                    "units": 2,
                    "dtype": {"class_name": "Policy", "config": {"name": "mixed_float16"}},
                    "kernel_initializer": {"class_name": "Zeros", "config": {}},
                    "kernel_regularizer": {"class_name": "L2", "config": {"l2": 0.5}},
                },
                "name": "d",
                "inbound_nodes": [[["x", 0, 0, {"y": ["x", 0, 0]}]]],
            },
            {
                "class_name": "LSTM",
                "config": {"name": "l", "units": 3, "dtype": "float32"},
                "name": "l",
                "inbound_nodes": [[["inner", 2, 0, {}]]],
            },
            {
                "class_name": "Functional",
                "config": {
                    "name": "inner",
                    "layers": [{"class_name": "InputLayer", "config": {"batch_input_shape": [None, 2], "name": "i"}}],
                    "input_layers": [["i", 0, 0]],
                    "output_layers": [["i", 0, 0]],
                },
                "name": "inner",
                "inbound_nodes": [[["d", 0, 0, {}]], [["inner", 1, 0, {}]]],
            },
        ],
        "input_layers": [["x", 0, 0]],
        "output_layers": [["l", 0, 0]],
    },
}
OLD_ROW = {
    "class_name": "Sequential",
    "config": [
        {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "name": "x"}},
        {"class_name": "Dense", "config": {"name": "d", "units": 2, "batch_input_shape": [None, 4]}},
    ],
}


def _old(class_name, name, *calls, **config):
    record = {"class_name": class_name, "config": {"name": name, "dtype": "float32", "trainable": True, **config}}
    return {**record, "name": name, "inbound_nodes": list(calls)}


# With what is translated: operations, slices, wrappers, and settings that Keras 3 does not have.
OLD_OPERATIONS = {
    "class_name": "Functional",
    "config": {
        "name": "operations",
        "layers": [
            _old("InputLayer", "x", batch_input_shape=[None, 4, 4], sparse=False, ragged=False),
            _old("TFOpLambda", "t", ["x", 0, 0, {"y": 2.5, "name": None}], function="math.multiply"),
            _old("TFOpLambda", "c", [["t", 0, 0, {"axis": -1}], ["x", 0, 0, {"axis": -1}]], function="concat"),
            _old("TFOpLambda", "r", ["c", 0, 0, {"shape": [-1, 4, 8]}], function="reshape"),
            _old(
                "SlicingOpLambda",
                "s",
                ["r", 0, 0, {"slice_spec": [{"start": None, "stop": None, "step": None}, 0]}],
                function="__operators__.getitem",
            ),
            _old(
                "Bidirectional",
                "b",
                [["r", 0, 0, {}]],
                merge_mode="concat",
                layer=_old(
                    "GRU", "g", units=2, recurrent_activation="hard_sigmoid", time_major=False, reset_after=True
                ),
            ),
            _old("LeakyReLU", "a", [["b", 0, 0, {}]], alpha=0.3),
            _old("RNN", "n", [["a", 0, 0, {}]], cell=_old("LSTMCell", "cell", units=2)),
            _old("TFOpLambda", "w", ["n", 0, 0, {}], function="nn.relu6"),
            _old("BatchNormalization", "m", [["s", 0, 0, {}]], axis=[1], momentum=0.99, scale=False, center=False),
            _old("Add", "j", [["m", 0, 0, {}], ["m", 0, 0, {}]]),
        ],
        "input_layers": [["x", 0, 0]],
        "output_layers": [["j", 0, 0], ["w", 0, 0]],
    },
}
OLD_CONFIGS = (OLD, OLD_ROW, OLD_OPERATIONS)
OLD_ARRAYS = {
    "d": {"d/kernel:0": np.ones((4, 2)), "d/bias:0": np.ones(2)},
    "l": {
        f"l/lstm_cell/{name}:0": np.ones(shape)
        for name, shape in (("kernel", (2, 12)), ("recurrent_kernel", (3, 12)), ("bias", (12,)))
    },
    "b": {
        f"b/{way}_g/gru_cell/{name}:0": np.ones(shape)
        for way in ("forward", "backward")
        for name, shape in (("kernel", (8, 6)), ("recurrent_kernel", (2, 6)), ("bias", (2, 6)))
    },
    "n": {
        f"n/cell/{name}:0": np.ones(shape)
        for name, shape in (("kernel", (4, 8)), ("recurrent_kernel", (2, 8)), ("bias", (8,)))
    },
    "m": {f"m/moving_{name}:0": np.ones(4) for name in ("mean", "variance")},
}
OLD_TRAINING = {"loss": "mse", "optimizer_config": {"class_name": "Adam", "config": {"name": "Adam"}}}


def _packed(file):
    file.create_dataset("layers/dense/vars/0", data=np.ones((64, 64), "float32"), chunks=(16, 16), compression="gzip")
    file.create_dataset("layers/dense/vars/1", data=np.zeros(64, "float16"), shuffle=True, chunks=(8,), fletcher32=True)


def _half(file):
    file["layers/dense/vars/0"] = np.zeros((4, 2), "V2")
    file["layers/dense/vars/0"].attrs["dtype"] = "bfloat16"


_NESTED = {
    "layers/embedding/vars/0": np.ones((4, 3), "float32"),
    "layers/functional/layers/dense/vars/0": np.ones((4, 2)),
    "layers/lstm/cell/vars/0": np.ones((3, 8)),
    "layers/block/rest/container/dense/vars/0": np.ones((3, 3)),
    "layers/bidirectional/forward_layer/cell/vars/0": np.ones((3, 8)),
    "optimizer/vars/0": np.asarray(3),
    "optimizer/vars/1": np.asarray(0.001, "float32"),
}
WEIGHTS = (
    weights(DENSE_WEIGHTS, {"layers/dense": "d"}),
    weights(_NESTED, {"layers/lstm/cell": "cell", "layers/block/rest/container/dense": "inner"}),
    weights({}, edit=_packed),
    weights({}, edit=_half),
)

SHARD_MAP = {
    "metadata": {"total_size": 40},
    "weight_map": {
        "/layers/dense/vars": ["m_00000.weights.h5", "m_00001.weights.h5"],
        "/layers/dense_1/vars": "m_00001.weights.h5",
    },
}
SHARDS = {
    "m_00000.weights.h5": weights({"layers/dense/vars/0": np.ones((4, 2), "float32")}, {"layers/dense": "d"}),
    "m_00001.weights.h5": weights(
        {"layers/dense/vars/1": np.zeros(2, "float32"), "layers/dense_1/vars/0": np.ones((2, 2), "float32")}
    ),
}

METADATA_TEXT = json.dumps(METADATA).encode()
