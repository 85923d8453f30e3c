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
OLD_CONFIGS = (OLD, OLD_ROW)
OLD_ARRAYS = {
    "d": {"d/kernel:0": np.ones((4, 2)), "d/bias:0": np.ones(2)},
    "l": {"l/lstm_cell/kernel:0": np.ones((2, 12))},
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
