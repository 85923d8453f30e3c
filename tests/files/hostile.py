"""Hostile files, each written by a function. They do no harm: their payloads would only write a marker file."""

import base64
import json
import marshal
import zipfile

import h5py
import numpy as np

from tests.files.build import (
    DENSE_WEIGHTS,
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
    weights,
)

MARKER = "MARKER"


def code(folder):
    """Return a function as Keras writes a lambda: compiled, marshalled, in base64. A call would write the marker."""
    payload = compile(f"lambda x: open({str(folder / MARKER)!r}, 'w').close()", "payload", "eval").co_consts[0]
    return base64.b64encode(marshal.dumps(payload)).decode()


def lambda_object(folder):
    return {"class_name": "__lambda__", "config": {"code": code(folder), "defaults": None, "closure": None}}


def function(module, name, registered_name=None):
    return {"module": module, "class_name": "function", "config": name, "registered_name": registered_name or name}


def _lambda_layer(function_config, *calls, **config):
    calls = calls or (called(tensor("x")),)
    return layer("Lambda", "l", *calls, **{"function": function_config, "arguments": {}, **config})


def _nested(inner):
    """Return the layer inside a model inside a wrapper."""
    model = functional("inner", [given("x"), inner], ["x", 0, 0], [inner["name"], 0, 0])
    return one_layer(layer("TimeDistributed", "steps", called(tensor("x")), layer=model))


def _torch_module():
    record = layer("TorchModuleWrapper", "t", called(tensor("x")))
    record["config"]["module"] = base64.b64encode(b"a pickle").decode()
    return record


# Code and names in configs: name -> function that returns the config. A scan must report each as unsafe.

CONFIGS = {
    "lambda_layer": lambda at: one_layer(_lambda_layer(lambda_object(at))),
    "lambda_in_keras_2_form": lambda at: one_layer(_lambda_layer([code(at), None, None], function_type="lambda")),
    "lambda_as_output_shape": lambda at: one_layer(
        _lambda_layer(function("keras.activations", "relu"), output_shape=lambda_object(at))
    ),
    "lambda_as_mask": lambda at: one_layer(_lambda_layer(function("keras.activations", "relu"), mask=lambda_object(at))),
    "lambda_as_activation": lambda at: one_layer(dense(activation=lambda_object(at))),
    "lambda_as_initializer": lambda at: one_layer(dense(kernel_initializer=lambda_object(at))),
    "lambda_in_a_wrapper_in_a_nested_model": lambda at: _nested(_lambda_layer(lambda_object(at))),
    "lambda_in_the_arguments_of_a_call": lambda at: one_layer(dense("d", called(tensor("x"), how=lambda_object(at)))),
    "lambda_deep_in_a_list": lambda at: one_layer(dense(notes=[[{"a": [lambda_object(at)]}]])),
    "lambda_in_a_row": lambda at: sequential("row", given("x"), _lambda_layer(lambda_object(at))),
    "lambda_as_loss": lambda at: {**TINY, "compile_config": {"optimizer": "adam", "loss": lambda_object(at)}},
    "lambda_in_a_metric": lambda at: {
        **TINY,
        "compile_config": {
            "optimizer": "adam",
            "metrics": [
                {
                    "module": "keras.metrics",
                    "class_name": "MeanMetricWrapper",
                    "config": {"name": "m", "fn": lambda_object(at)},
                    "registered_name": None,
                }
            ],
        },
    },
    "lambda_in_build_config": lambda at: one_layer({**dense(), "build_config": {"input_shape": lambda_object(at)}}),
    "os_system": lambda at: one_layer(_lambda_layer(function("os", "system"), arguments={"command": "true"})),
    "subprocess_as_activation": lambda at: one_layer(dense(activation=function("subprocess", "check_output"))),
    "class_of_the_standard_library": lambda at: one_layer(layer("Popen", "p", called(tensor("x")), module="subprocess")),
    "builtin_eval": lambda at: one_layer(_lambda_layer(function("builtins", "eval"))),
    "builtin_by_text": lambda at: one_layer(_lambda_layer("exec", function_type="function")),
    "operator_methodcaller": lambda at: one_layer(dense(kernel_regularizer={**function("operator", "x"), "class_name": "methodcaller", "config": {}})),
    "get_file": lambda at: one_layer(
        _lambda_layer(
            function("keras.utils", "get_file"), called(origin="http://127.0.0.1:9/x"), arguments={"fname": "/tmp/x"}
        )
    ),
    "load_model": lambda at: one_layer(
        _lambda_layer(function("keras.models", "load_model"), called(inputs="/tmp/other.keras"), arguments={"safe_mode": False})
    ),
    "unsafe_deserialization_on": lambda at: one_layer(
        _lambda_layer(function("keras.config", "enable_unsafe_deserialization"))
    ),
    "global_attribute": lambda at: one_layer(
        _lambda_layer(
            function("keras.src.backend.common.global_state", "set_global_attribute"), called(inputs="safe_mode_saving")
        )
    ),
    "deserialize": lambda at: one_layer(_lambda_layer(function("keras.layers", "deserialize"))),
    "callback_class": lambda at: one_layer(layer("RemoteMonitor", "r", called(tensor("x")), module="keras.callbacks")),
    "saved_model_layer": lambda at: one_layer(layer("TFSMLayer", "t", called(tensor("x")), filepath="/tmp/saved_model")),
    "torch_module": lambda at: one_layer(_torch_module()),
    "vocabulary_file": lambda at: one_layer(layer("StringLookup", "v", called(tensor("x")), vocabulary="/etc/passwd")),
    "vocabulary_address": lambda at: one_layer(
        layer("TextVectorization", "v", called(tensor("x")), vocabulary="http://169.254.169.254/latest")
    ),
    "typespec_of_the_standard_library": lambda at: one_layer(
        dense(spec={"class_name": "__typespec__", "spec_name": "Popen", "module": "subprocess", "config": [], "registered_name": None})
    ),
    "utf_16": lambda at: json.dumps(one_layer(_lambda_layer(lambda_object(at)))).encode("utf-16"),
}  # fmt: skip

# Names of code that must be installed already.
TRUSTED = {
    "custom_class": lambda at: one_layer(layer("Mine", "m", called(tensor("x")), module="mine", registered_name="mine>Mine")),
    "registered_in_place_of_keras": lambda at: one_layer({**dense(), "registered_name": "other>Dense"}),
    "unnamed_module": lambda at: one_layer(layer("Mine", "m", called(tensor("x")), module=None, registered_name="Mine")),
    "custom_function": lambda at: one_layer(dense(activation=function("mine", "soften", "mine>soften"))),
    "custom_name": lambda at: one_layer(dense(activation="soften")),
    "keras_hub": lambda at: one_layer(layer("Backbone", "b", called(tensor("x")), module="keras_hub.src.models.bert")),
    "jax_layer": lambda at: one_layer(layer("JaxLayer", "j", called(tensor("x")), call_fn=function("mine", "call"))),
    "address_in_a_config": lambda at: one_layer(dense(note="https://example.org/data")),
    "path_in_a_config": lambda at: one_layer(dense(note="../../etc/passwd")),
}  # fmt: skip


# Archives.


def _zip(path, *entries):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("config.json", json.dumps(TINY))
        file.writestr("model.weights.h5", weights(DENSE_WEIGHTS))
        for name, content in entries:
            info = zipfile.ZipInfo(name) if isinstance(name, str) else name
            file.writestr(info, content)
    return path


def _link(path):
    info = zipfile.ZipInfo("assets/link")
    info.external_attr = 0o120777 << 16
    return _zip(path, (info, "/etc/passwd"))


def _encrypted(path):
    _zip(path, ("assets/secret", "x"))
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x01\x02")
    data[place + 8] |= 1
    path.write_bytes(data)
    return path


def _bomb(path):
    return archive(path, files={"assets/bomb": b"\0" * 30_000_000}, compression=zipfile.ZIP_DEFLATED)


def _config_bomb(path):
    text = json.dumps(TINY) + " " * 30_000_000
    return archive(path, text, compression=zipfile.ZIP_DEFLATED)


def _twice(path):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _zip(path, ("config.json", "{}"))


ARCHIVES = {
    "traversal": lambda path: _zip(path, ("../../evil.txt", "x")),
    "traversal_by_backslash": lambda path: _zip(path, ("assets\\..\\..\\evil.txt", "x")),
    "absolute_name": lambda path: _zip(path, ("/etc/evil", "x")),
    "drive_name": lambda path: _zip(path, ("C:/evil", "x")),
    "link": _link,
    "encrypted": _encrypted,
    "bomb": _bomb,
    "config_bomb": _config_bomb,
    "same_name_twice": _twice,
    "names_that_differ_by_case": lambda path: _zip(path, ("CONFIG.json", "{}")),
    "crowd": lambda path: _zip(path, *((f"assets/{number}", "") for number in range(20_100))),
}

# Texts that no JSON writer produces.
TEXTS = {
    "field_twice": '{"class_name": "Functional", "class_name": "Sequential", "config": {}}',
    "deep": '{"class_name": "Functional", "config": ' + "[" * 5_000 + "]" * 5_000 + "}",
    "number_without_end": '{"class_name": "Functional", "config": {"n": ' + "9" * 5_000 + "}}",
}


# Weights.


def _external_link(file):
    file["layers/dense/vars/9"] = h5py.ExternalLink("/etc/passwd", "/x")


def _soft_link(file):
    file["layers/dense/vars/9"] = h5py.SoftLink("/layers/dense/vars/0")


def _external_storage(file):
    file.create_dataset("layers/dense/vars/9", (4,), "uint8", external=[("/etc/passwd", 0, 4)])


def _virtual(file):
    layout = h5py.VirtualLayout((4,), "float32")
    layout[:] = h5py.VirtualSource("/etc/other.h5", "x", (4,))
    file.create_virtual_dataset("layers/dense/vars/9", layout)


def _shape_bomb(file):
    file.create_dataset("layers/dense/vars/9", (2**20, 2**20), "float32", chunks=(64, 64), compression="gzip")


def _hard_link_cycle(file):
    file["layers/dense/again"] = file["layers"]


def _filter(file):
    file.create_dataset("layers/dense/vars/9", data=np.ones((64, 64)), chunks=(64, 64), compression="lzf")


def _objects(file):
    file["layers/dense/vars/9"] = np.array(["text"], dtype=h5py.string_dtype())


WEIGHTS = {
    "external_link": (_external_link, "external"),
    "soft_link": (_soft_link, "soft link"),
    "external_storage": (_external_storage, "external"),
    "virtual": (_virtual, "virtual"),
    "shape_bomb": (_shape_bomb, "bomb"),
    "hard_link_cycle": (_hard_link_cycle, "cycle"),
    "filter": (_filter, "filter"),
    "objects": (_objects, "type"),
}


def legacy_lambda(path):
    """Write a model of Keras 2 with code in it, which `safe_mode` did not check."""
    record = {
        "class_name": "Lambda",
        "config": {"name": "l", "function": [code(path.parent), None, None], "function_type": "lambda"},
    }
    rows = [{"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "name": "x"}}, record]
    return legacy(path, {"class_name": "Sequential", "config": {"name": "old", "layers": rows}})
