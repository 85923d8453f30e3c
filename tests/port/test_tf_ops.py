"""Translation of TensorFlow operations, compared with the results of tf_keras.

tf_keras runs in a process of its own (`tf_ops_oracle`), so that every backend is compared with it.
"""

import contextlib
import json
import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import keras
import numpy as np
import pytest

from ramet._port.draft import Call, Tensor, map_leaves
from ramet._port.shapes import Spec, output_specs
from ramet._port.tf_ops import Constant, Dim, Known, Step, Untranslatable, translate_op
from ramet._port.tf_ops_math import RULES
from tests.port.tf_ops_oracle import CASES, INPUTS, REFUSALS
from tests.support.versions import KERAS

needs_tf_keras = pytest.mark.skipif(
    find_spec("tf_keras") is None, reason="tf_keras is not installed: `pip install tf_keras` enables these tests"
)
# JAX has no 64-bit types unless asked, and says so at each cast.
pytestmark = pytest.mark.filterwarnings("ignore:Explicitly requested dtype:UserWarning")

# What a backend of Keras 3 computes differently from the others, or not at all.
OTHER_ON = {
    "torch": {
        "one_hot beyond": "torch raises an error for classes beyond the depth",
        "resize bicubic": "torch has another cubic kernel",
    },
}

if KERAS < (3, 14):
    reason = "before Keras 3.14, ExtractPatches fails if strides are given"
    for names in (OTHER_ON.setdefault(name, {}) for name in ("jax", "torch", "tensorflow")):
        names |= dict.fromkeys(("extract_patches uneven", "extract_patches same"), reason)


@pytest.fixture(scope="session")
def oracle(tmp_path_factory):
    """Return the config and the outputs of the model of tf_keras for each case."""
    path = tmp_path_factory.mktemp("oracle") / "results.pickle"
    root = Path(__file__).parents[2]
    settings = {**os.environ, "PYTHONPATH": f"{root}", "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run(
        [sys.executable, "-m", "tests.port.tf_ops_oracle", path],
        check=True,
        cwd=root,
        env=settings,
        capture_output=True,
    )
    return pickle.loads(path.read_bytes())


def calls_of(layer):
    """Return the calls in the config of a layer of Keras 2."""
    for node in layer["inbound_nodes"]:
        single = not isinstance(node[0], list)
        items = [node] if single else node
        kwargs = items[0][3] if len(items[0]) > 3 else {}
        values = [read_item(item) for item in items]
        yield Call([values[0] if single else values], {key: read_value(value) for key, value in kwargs.items()})


def read_item(item):
    if not item or isinstance(item[0], list):
        return [read_item(part) for part in item]
    return item[2] if item[0] == "_CONSTANT_VALUE" else Tensor(*item[:3])


def read_value(value):
    if isinstance(value, dict):
        return {key: read_value(item) for key, item in value.items()}
    if isinstance(value, list):
        if len(value) in (3, 4) and isinstance(value[0], str) and isinstance(value[1], int):
            return Tensor(*value[:3])
        return [read_value(item) for item in value]
    return value


class Port:
    """A model of Keras 3, built from the config of one of Keras 2 whose layers are all operations."""

    def __init__(self, config):
        self.specs, self.tensors, self.known, self.steps = {}, {}, {}, {}
        for layer in config["layers"]:
            if layer["class_name"] == "InputLayer":
                self.add_input(layer)
            else:
                for number, call in enumerate(calls_of(layer)):
                    self.add_call(layer, number, call)
        flat = config["output_layers"]
        outputs = [Tensor(*item) for item in ([flat] if isinstance(flat[0], str) else flat)]
        inputs = config["input_layers"]
        self.inputs = [Tensor(*item) for item in ([inputs] if isinstance(inputs[0], str) else inputs)]
        self.outputs = outputs

    def add_input(self, layer):
        settings, tensor = layer["config"], Tensor(layer["name"])
        shape = settings.get("batch_input_shape", settings.get("batch_shape"))
        self.tensors[tensor] = keras.Input(batch_shape=shape, dtype=settings["dtype"], name=layer["name"])
        self.specs[tensor] = with_dims(tensor, Spec(tuple(shape), settings["dtype"]))

    def add_call(self, layer, number, call):
        call = Call(
            *map_leaves(
                [call.args, call.kwargs], lambda leaf: self.known.get(leaf, leaf) if isinstance(leaf, Tensor) else leaf
            )
        )
        result = translate_op(
            layer["class_name"],
            layer["config"],
            call,
            lambda tensor: self.specs[tensor].shape,
            lambda tensor: self.specs[tensor].dtype,
        )
        if isinstance(result, Known):
            for output, value in enumerate(result.outputs):
                self.known[Tensor(layer["name"], number, output)] = value
            return
        self.steps.setdefault(layer["name"], []).extend(result)
        made, specs = [], []
        for step in result:
            made.append(self.run_step(step, made))
            specs.append(self.check_spec(step, specs, made[-1]))
        for output, (tensor, spec) in enumerate(zip(made[-1], specs[-1], strict=True)):
            self.tensors[Tensor(layer["name"], number, output)] = tensor
            self.specs[Tensor(layer["name"], number, output)] = with_dims(Tensor(layer["name"], number, output), spec)

    def run_step(self, step, made):
        config = json.loads(json.dumps(step.config))
        operation = keras.saving.deserialize_keras_object(
            {"module": step.module, "class_name": step.class_name, "config": config, "registered_name": None}
        )
        return flat(operation(*self.real(step.args, made), **self.real(step.kwargs, made)))

    def real(self, value, made):
        def change(leaf):
            if isinstance(leaf, Tensor):
                return self.tensors[leaf]
            if isinstance(leaf, Step):
                return made[leaf.index][leaf.output]
            if isinstance(leaf, Constant):
                return keras.saving.deserialize_keras_object(json.loads(json.dumps(leaf.serialized())))
            return leaf

        return map_leaves(value, change)

    def check_spec(self, step, specs, tensors):
        """Return the inferred specs of a step, after a comparison with the tensors of Keras."""

        def change(leaf):
            if isinstance(leaf, Constant):
                return Spec(leaf.shape, leaf.dtype)
            return (
                self.specs[leaf]
                if isinstance(leaf, Tensor)
                else specs[leaf.index][leaf.output]
                if isinstance(leaf, Step)
                else leaf
            )

        found = output_specs(step.class_name, step.config, *map_leaves([step.args, step.kwargs], change))
        assert found is not None, step.class_name
        for spec, tensor in zip(found, tensors, strict=True):
            assert_spec(spec, tensor, step.class_name)
        return found

    def model(self):
        inputs = [self.tensors[item] for item in self.inputs]
        outputs = [self.tensors[item] for item in self.outputs]
        # Through JSON, as in a file.
        return keras.models.model_from_json(keras.Model(inputs, outputs).to_json())


def assert_spec(spec, tensor, what):
    if spec.shape is not None:
        assert len(spec.shape) == len(tensor.shape), what
        for one, two in zip(spec.shape, tensor.shape, strict=True):
            assert not isinstance(one, int) or two is None or one == two, (what, spec.shape, tensor.shape)
    # On torch and JAX, the dtypes of symbolic tensors with 64 bits differ from those of the results.
    if spec.dtype is not None and "Normalize" not in what and keras.backend.backend() == "tensorflow":
        assert spec.dtype == tensor.dtype, (what, spec.dtype, tensor.dtype)


def with_dims(tensor, spec):
    """Return a spec with a `Dim` for each unknown size, so that later layers pass it on."""
    if spec.shape is None:
        return spec
    return Spec(tuple(Dim(tensor, axis) if size is None else size for axis, size in enumerate(spec.shape)), spec.dtype)


def flat(value):
    return list(value) if isinstance(value, list | tuple) else [value]


def assert_same(found, expected):
    found = keras.ops.convert_to_numpy(found)
    if keras.backend.backend() == "torch" and found.dtype == "int64":
        found = found.astype(expected.dtype)  # positions from TopK of Keras have 64 bits on torch
    assert found.shape == expected.shape
    narrow = {"int64": "int32", "float64": "float32"} if keras.backend.backend() == "jax" else {}
    assert found.dtype.name == narrow.get(expected.dtype.name, expected.dtype.name)
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    precision = 2e-3 if expected.dtype == "float16" else 1e-6
    if keras.backend.backend() == "tensorflow":
        np.testing.assert_allclose(found, expected, rtol=precision, atol=0)
        return
    # torch and JAX round differently, which shows where large terms cancel out.
    finite = np.abs(expected[np.isfinite(expected)])
    largest = finite.max() if finite.size else 0
    np.testing.assert_allclose(found, expected, rtol=2 * precision, atol=2 * precision * min(largest, 1e4))


@needs_tf_keras
@pytest.mark.parametrize("name", CASES)
def test_translated_operation_gives_the_results_of_tf_keras(name, oracle, backend):
    if name in OTHER_ON.get(backend, {}):
        pytest.skip(OTHER_ON[backend][name])
    config, expected = oracle[name]
    assert expected is not None, config
    port = Port(config)
    names = [item.layer for item in port.inputs]
    if all(item in port.known for item in port.outputs):
        pytest.fail("the outputs do not depend on the inputs")
    model = port.model()
    found = flat(model([keras.ops.convert_to_tensor(INPUTS[name][1]) for name in names]))

    assert len(found) == len(expected)
    for one, two in zip(found, expected, strict=True):
        assert_same(one, two)


@needs_tf_keras
@pytest.mark.parametrize("name", REFUSALS)
def test_operation_without_counterpart_is_refused_with_its_reason(name, oracle):
    config, _ = oracle[f"refused {name}"]
    assert isinstance(config, dict), config

    with pytest.raises(Untranslatable, match=REFUSALS[name][1].replace("(", r"\(")):
        Port(config)


def translate(function, *args, shapes=None, dtypes=None, class_name="TFOpLambda", **kwargs):
    return translate_op(
        class_name, {"function": function}, Call(list(args), kwargs), (shapes or {}).get, (dtypes or {}).get
    )


X = Tensor("x")
SHAPES = {X: (None, 4, 6)}


@pytest.mark.no_backend
def test_shape_of_a_tensor_is_known_apart_from_the_batch_size():
    assert translate("compat.v1.shape", X, shapes=SHAPES) == Known([[Dim(X, 0), 4, 6]])
    assert translate("rank", X, shapes=SHAPES) == Known([3])


@pytest.mark.no_backend
def test_dim_that_a_size_is_known_to_equal_is_used():
    batch = Dim(Tensor("input"), 0)

    assert translate("shape", X, shapes={X: (batch, 4)}) == Known([[batch, 4]])


@pytest.mark.no_backend
@pytest.mark.parametrize(
    ("function", "args", "kwargs", "expected"),
    [
        ("__operators__.getitem", [[Dim(X, 0), 4, 6]], {"slice_spec": 1}, [4]),
        ("__operators__.getitem", [[3, 4, 6]], {"slice_spec": {"start": 1, "stop": None, "step": None}}, [[4, 6]]),
        ("math.multiply", [4], {"y": 6}, [24]),
        ("math.multiply", [[2, 3]], {"y": [5, 7]}, [[10, 21]]),
        ("compat.v1.floor_div", [7], {"y": -2}, [-4]),
        ("math.subtract", [[Dim(X, 0), 4]], {"y": [Dim(X, 0), 1]}, [[0, 3]]),
        ("math.reduce_prod", [[4, 6]], {}, [24]),
        ("stack", [[4, 6]], {"axis": 0}, [[4, 6]]),
        ("concat", [[[4], [], [6]]], {"axis": 0}, [[4, 6]]),
        ("unstack", [[4, 6]], {}, [4, 6]),
        ("cast", [4], {"dtype": "float32"}, [4.0]),
        ("range", [4], {}, [[0, 1, 2, 3]]),
        ("zeros", [[1, 2]], {}, [[[0.0, 0.0]]]),
        ("fill", [[2]], {"value": 7}, [[7, 7]]),
        ("math.greater", [[3, 0]], {"y": 1}, [[True, False]]),
        ("where", [[True, False]], {"x": [1, 2], "y": [3, 4]}, [[1, 4]]),
        ("expand_dims", [4], {"axis": 0}, [[4]]),
        ("gather", [[4, 6]], {"indices": 1}, [6]),
    ],
)
def test_known_values_are_evaluated(function, args, kwargs, expected):
    assert translate(function, *args, **kwargs).outputs == expected


@pytest.mark.no_backend
def test_sizes_are_compared_only_if_they_differ_by_a_number():
    with pytest.raises(Untranslatable, match="compares sizes"):
        translate("math.greater", Dim(X, 0), y=3)


@pytest.mark.no_backend
def test_arithmetic_with_unknown_sizes_cancels_out():
    size = Dim(X, 1)

    assert size * 6 // 3 == size * 2
    assert (size * 2) * 3 == size * 6
    assert size - size == 0
    assert 0 + size * 1 == size


@pytest.mark.no_backend
def test_translation_is_one_step_for_a_common_operation():
    (step,) = translate("__operators__.add", X, y=Tensor("z"), name=None, shapes=SHAPES)

    assert (step.class_name, step.module, step.config) == ("Add", "keras.src.ops.numpy", {})
    assert (step.args, step.kwargs) == ([X, Tensor("z")], {})


@pytest.mark.no_backend
def test_node_as_text_of_a_protocol_buffer_is_read():
    def field(number, value):
        return bytes([number << 3 | 2, len(value)]) + value

    attribute = field(1, b"keep_dims") + field(2, bytes([5 << 3, 1]))
    node = field(1, b"Mean") + field(2, b"Mean") + field(3, b"x") + field(5, attribute)
    config = {"node_def": node.decode(), "constants": {"1": [1, 2]}}

    (step,) = translate_op("TensorFlowOpLayer", config, Call([X]), SHAPES.get, lambda _: "float32")

    assert (step.class_name, step.config) == ("Mean", {"axis": [1, 2], "keepdims": True})


@pytest.mark.no_backend
@pytest.mark.parametrize(
    ("class_name", "config", "reason"),
    [
        ("Lambda", {"function": "scale", "function_type": "function", "module": "__main__"}, "'scale'"),
        ("Lambda", {"function": "mean", "function_type": "function"}, "'mean'"),
        ("Lambda", {"function": ["4wEA", None, None], "function_type": "lambda"}, "Python code"),
        ("TensorFlowOpLayer", {"node_def": {"op": "MyOp"}}, "MyOp"),
        ("TensorFlowOpLayer", {"node_def": "?"}, "does not describe"),
        ("ClassMethod", {"cls_symbol": "RaggedTensor", "method_name": "from_tensor"}, "ragged"),
        ("InstanceMethod", {"attr_name": "to_tensor"}, "ragged"),
        ("TFOpLambda", {"function": "while_loop"}, "runs functions"),
        ("TFOpLambda", {"function": "numpy_function"}, "Python code"),
        ("TFOpLambda", {"function": "random.stateless_uniform"}, "other values"),
        ("TFOpLambda", {"function": "image.random_flip_left_right"}, "other values"),
        ("TFOpLambda", {"function": "unique"}, "depends on the data"),
        ("TFOpLambda", {}, "no counterpart"),
    ],
)
def test_layers_without_an_operation_are_refused(class_name, config, reason):
    with pytest.raises(Untranslatable, match=reason):
        translate_op(class_name, config, Call([X]), SHAPES.get, lambda _: "float32")


@pytest.mark.no_backend
def test_operations_on_text_are_refused_apart_from_those_on_shapes():
    with pytest.raises(Untranslatable, match="text"):
        translate("math.add", X, y=X, shapes=SHAPES, dtypes={X: "string"})

    assert [step.class_name for step in translate("expand_dims", X, axis=1, shapes=SHAPES, dtypes={X: "string"})] == [
        "ExpandDims"
    ]


@pytest.mark.no_backend
@pytest.mark.parametrize("value", [None, "text", -1, 2.5, [], [[1], 2], {"a": 1}, X], ids=repr)
def test_odd_arguments_raise_no_other_error(value):
    for function, (parameters, _) in RULES.items():
        names = [word.strip("*").partition("!")[0].partition("|")[0] for word in parameters.split()]
        for shape in (None, (), (None, 4, 6)):
            with contextlib.suppress(Untranslatable):
                translate(function, X, shapes={X: shape}, **dict.fromkeys(names[1:], value))


@needs_tf_keras
@pytest.mark.parametrize("setting", ["axis", "keepdims"])
def test_comparison_notices_a_changed_setting(setting, oracle):
    config, expected = oracle["reduce_sum"]
    layer = config["layers"][-1]
    arguments = layer["inbound_nodes"][0][3]
    changed = {**arguments, setting: {"axis": 1, "keepdims": False}[setting]}
    port = Port({**config, "layers": [*config["layers"][:-1], {**layer, "inbound_nodes": [["x", 0, 0, changed]]}]})
    (found,) = flat(port.model()([keras.ops.convert_to_tensor(INPUTS["x"][1])]))

    with pytest.raises(AssertionError):
        assert_same(found, expected[0])


def test_comparison_notices_a_wrong_shape():
    with pytest.raises(AssertionError):
        assert_spec(Spec((None, 5), "float32"), keras.Input((4,)), "Add")
