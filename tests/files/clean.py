"""Valid files, each as a function that writes it."""

import numpy as np

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
    sequential,
    tensor,
)

_COMPILED = {
    **one_layer(dense(activation="relu", kernel_initializer="glorot_uniform", kernel_regularizer="l2")),
    "compile_config": {
        "optimizer": "adam",
        "loss": {"a": "mse"},
        "metrics": ["accuracy", ["mae"]],
        "jit_compile": "auto",
    },
}
_WORDS = layer("StringLookup", "v", called(tensor("x")), vocabulary=["/etc/passwd", "http://a", "..", "\\\\x\\y"])
_SCALE = {**layer("LayerScale", "s", called(tensor("x")), module="keras.src.applications.convnext")}
_SCALE["registered_name"] = "LayerScale"
_RELU = {"module": "keras.activations", "class_name": "function", "config": "relu", "registered_name": "relu"}
_INSIDE = functional("inner", [given("i"), dense("d", called(tensor("i")))], ["i", 0, 0], ["d", 0, 0])
_OLD = {
    "class_name": "Sequential",
    "config": {
        "name": "old",
        "layers": [
            {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "name": "x"}},
            {"class_name": "Dense", "config": {"name": "d", "units": 2, "activation": "relu"}},
        ],
    },
}

CONFIGS = {
    "compiled": _COMPILED,
    "words_that_look_like_paths": one_layer(_WORDS),
    "layer_of_an_application": one_layer(_SCALE),
    "row_of_layers": sequential("row", given("x"), dense()),
    "model_in_a_wrapper": one_layer(layer("TimeDistributed", "steps", called(tensor("x")), layer=_INSIDE)),
    "lambda_layer_with_a_function_of_keras": one_layer(
        layer("Lambda", "l", called(tensor("x")), function=_RELU, arguments={})
    ),
    "plain": TINY,
}
CLEAN = {
    **{
        name: lambda path, config=config: archive(path, config, files={"assets/layers/v/vocabulary.txt": "a\nb"})
        for name, config in CONFIGS.items()
    },
    "model_of_keras_2": lambda path: legacy(
        path, _OLD, {"d": {"d/kernel:0": np.ones((4, 2)), "d/bias:0": np.ones(2)}}, {"loss": "mse"}
    ),
}
