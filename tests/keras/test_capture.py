"""Capture a live model as frozen data: what the graph contains, what it leaves out, and that the model is unchanged."""

import random

import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from keras import layers, ops

import ramet
from ramet._graph import Constant, FrozenDict, FrozenList, Graph, Ref, Slice, lint, refs
from ramet._keras import capture_model
from tests.support.graph_models import MODELS, Backbone, Gate, Tree, nested_models, raw_ops, shared_layer
from tests.support.same import assert_same
from tests.support.strategies import functional_models
from tests.support.versions import needs_keras

# Some models have a layer that destroys a mask, as users' models do.
pytestmark = pytest.mark.filterwarnings("ignore:.*was passed an input with a mask attached to it:UserWarning")

every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
several = settings(
    derandomize=True,
    database=None,
    max_examples=15,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


def _calls(model):
    """Return how many calls every op below a model has, and how many calls take its outputs."""
    return [(op.name, len(op._inbound_nodes), len(op._outbound_nodes)) for op in _ops(model)]


def _ops(model):
    found, waiting = [], [model]
    while waiting:
        op = waiting.pop()
        if op not in found:
            found.append(op)
            waiting.extend(getattr(op, "operations", ()))
            waiting.extend(getattr(op, "_layers", ()))
    return found


def _counters():
    from keras.src.backend.common import global_state

    return dict(global_state.get_global_attribute("object_name_uids") or {})


# All models.


@every_model
def test_graph_of_every_model_passes_lint(make):
    graph = ramet.capture(make())

    assert lint(graph) == []


@every_model
def test_graph_of_every_model_survives_json(make):
    graph = ramet.capture(make())

    assert Graph.from_json(graph.to_json()) == graph


@every_model
def test_twin_has_the_same_graph_as_its_model(make):
    model = make()

    assert ramet.capture(ramet.clone(model)) == ramet.capture(model)


@every_model
def test_capture_does_not_change_the_model(make):
    model = make()
    before = ramet.clone(model)
    calls, counters = _calls(model), _counters()
    python, numpy = random.getstate(), str(np.random.get_state(legacy=False))

    ramet.capture(model)

    assert _calls(model) == calls
    assert _counters() == counters
    assert random.getstate() == python
    assert str(np.random.get_state(legacy=False)) == numpy
    assert_same(model, before)


@every_model
def test_every_call_prints_as_a_line(make):
    graph = ramet.capture(make())

    text = str(graph)

    assert text.startswith(f"{graph.name} ({graph.class_name})")
    assert all(any(line.split()[0] == call.id for line in text.splitlines()[1:]) for call in graph.calls)


@pytest.mark.slow
@several
@given(functional_models())
def test_graphs_of_random_models_pass_lint(sketch):
    model = sketch.build().model

    graph = ramet.capture(model)

    assert lint(graph) == []
    assert Graph.from_json(graph.to_json()) == graph
    assert ramet.capture(ramet.clone(model)) == graph


# Arguments.


def test_arguments_are_captured_as_they_were_passed():
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    out = Gate(name="gate")(x, by=y, factor=0.5)

    call = ramet.capture(keras.Model([x, y], out)).call("gate")

    assert call.args == (Ref("x"),)
    assert call.kwargs == FrozenDict((("by", Ref("y")), ("factor", 0.5)))


def test_tensors_are_found_in_any_nesting():
    graph = ramet.capture(MODELS["nested_arguments"]())

    call = graph.call("mix")

    assert call.args == (FrozenDict((("left", Ref("x")), ("right", FrozenList((Ref("y"),))))),)
    assert graph.inputs == FrozenList((Ref("x"), (Ref("y"),)))
    assert graph.outputs == FrozenDict((("a", Ref("mix", 2)), ("b", FrozenList((Ref("mix", 0), Ref("mix", 1))))))


def test_slices_and_arrays_are_constants():
    graph = ramet.capture(raw_ops())
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]], "float32")

    assert graph.call("get_item").args == (Ref("x"), (Slice(), Slice(1, 3)))
    assert graph.call("matmul").args == (
        Ref("get_item"),
        Constant.array("array", (2, 2), "float32", matrix.tobytes()),
    )
    assert graph.call("subtract").args == (2.0, Ref("matmul"))


def test_graphs_with_different_arrays_differ():
    def model(last):
        x = keras.Input((2,), name="x")
        return keras.Model(x, ops.matmul(x, np.array([[1.0, 2.0], [3.0, last]], "float32")), name="m")

    first = ramet.capture(model(4.0))
    keras.utils.clear_session(free_memory=False)
    same, other = ramet.capture(model(4.0)), None
    keras.utils.clear_session(free_memory=False)
    other = ramet.capture(model(5.0))

    assert first == same
    assert first != other


def test_call_options_are_kept():
    graph = ramet.capture(MODELS["call_options"]())

    assert graph.call("always").kwargs == FrozenDict((("training", True),))
    assert graph.call("norm").kwargs == FrozenDict((("training", False),))


# Sharing, and calls of other models.


def test_shared_layer_is_one_op_with_two_calls():
    graph = ramet.capture(shared_layer())

    assert [call.id for call in graph.calls_of("shared")] == ["shared", "shared#2"]
    assert [call.args for call in graph.calls_of("shared")] == [(Ref("a"),), (Ref("b"),)]
    assert graph.call("add").args == (FrozenList((Ref("shared"), Ref("shared#2"))),)


def test_calls_of_one_layer_are_numbered_in_the_order_they_were_made():
    graph = ramet.capture(MODELS["shared_in_a_chain"]())

    assert [list(call.refs()) for call in graph.calls_of("shared")] == [[Ref("relu")], [Ref("x")], [Ref("shared")]]


def test_calls_outside_the_model_are_left_out():
    model = MODELS["one_dense"]()
    before = ramet.capture(model)
    x = keras.Input((4,))
    keras.Model(x, layers.ReLU()(model.get_layer("d")(x)))
    layers.ReLU()(model.output)

    assert ramet.capture(model) == before


def test_model_inside_a_classifier_is_captured_without_it():
    model = MODELS["one_dense"]()
    before = ramet.capture(model)
    keras.Sequential([keras.Input((4,)), model, layers.Dense(1)])

    assert ramet.capture(model) == before


def test_layer_shared_across_levels_is_captured_once():
    graph = ramet.capture(MODELS["shared_across_levels"]())

    assert graph.op("both").same_as == "inner/both"
    assert graph.find("both") == graph.find("inner/both")
    assert graph.parameters == 20


def test_shared_nested_model_is_one_op():
    graph = ramet.capture(MODELS["shared_nested_model"]())

    assert [call.id for call in graph.calls_of("inner")] == ["inner", "inner#2"]
    assert graph.op("inner").graph.kind == "sequential"


def test_tied_variable_refers_to_its_first_path():
    class Tied(keras.Layer):
        def __init__(self, source, **kwargs):
            super().__init__(**kwargs)
            self.kernel = source.kernel

        def call(self, x):
            return ops.matmul(x, ops.transpose(self.kernel))

    x = keras.Input((4,), name="x")
    dense = layers.Dense(3, name="dense")
    hidden = dense(x)
    graph = ramet.capture(keras.Model(x, Tied(dense, name="tied")(hidden)))

    specs = dict(graph.variables())
    assert specs["tied/kernel"].tied == "dense/kernel"
    assert graph.parameters == 4 * 3 + 3


# Structures and flags.


def test_inputs_and_outputs_keep_their_structure():
    graph = ramet.capture(MODELS["two_inputs_in_a_dict"]())

    assert graph.inputs == FrozenDict((("b", Ref("b")), ("a", Ref("a"))))
    assert graph.outputs == FrozenDict((("out", Ref("d")), ("in", Ref("a"))))


def test_outputs_may_be_repeated_and_may_be_inputs():
    assert ramet.capture(MODELS["several_outputs_twice"]()).outputs == (Ref("d"), Ref("x"), Ref("d"))


def test_outputs_of_a_nested_model_keep_their_structure():
    call = ramet.capture(MODELS["nested_with_dicts"]()).call("inner")

    assert set(call.structure) == {"sum", "first"}
    assert sorted(call.structure.values()) == [0, 1]


def test_input_flags_are_captured():
    graph = ramet.capture(MODELS["flagged_inputs"]())
    ids, extra = graph.value(Ref("ids")), graph.value(Ref("extra"))

    assert (ids.shape, ids.dtype, ids.name, ids.optional) == ((4, 3), "int32", "ids", False)
    assert (extra.shape, extra.dtype, extra.name, extra.optional) == ((None, 2), "float32", "extra", True)


def test_product_with_a_number_is_not_sparse_although_keras_marks_it_so():
    x = keras.Input((4,), name="x")
    graph = ramet.capture(keras.Model(x, layers.Dense(2)(x * 0.5)))
    assert not any(value.sparse for call in graph.calls for value in call.outputs)


def test_sparse_input_is_captured(backend):
    if backend == "torch":
        pytest.skip("Keras has no sparse tensors on torch")
    x = keras.Input((4,), sparse=True, name="x")
    graph = ramet.capture(keras.Model(x, layers.Dense(2, name="d")(x)))

    assert graph.value(Ref("x")).sparse
    assert not graph.value(Ref("d")).sparse


def test_ragged_input_is_captured(backend):
    if backend != "tensorflow":
        pytest.skip("only TensorFlow has ragged tensors; the run on TensorFlow covers them")
    x = keras.Input((None, 4), ragged=True, name="x")
    graph = ramet.capture(keras.Model(x, layers.Dense(2, name="d")(x)))

    assert graph.value(Ref("x")).ragged


@pytest.mark.parametrize(
    "use",
    [
        lambda a, b, c: layers.Add()([layers.Dense(4)(a), layers.Dense(4)(b), c]),
        lambda a, b, c: layers.Add()([c, b, a]),
        lambda a, b, c: layers.Add()([a, layers.Dense(4)(layers.Dense(4)(b)), layers.Dense(4)(c)]),
        pytest.param(
            lambda a, b, c: [c, layers.Dense(4)(a), b],
            marks=needs_keras(3, 14, "Keras itself refuses an input that is an output, too"),
        ),
    ],
)
def test_inputs_come_first_in_the_order_of_the_model(use):
    tensors = [keras.Input((4,), name=name) for name in "abc"]
    for order in ([0, 1, 2], [2, 0, 1]):
        chosen = [tensors[number] for number in order]
        model = keras.Model(chosen, use(*tensors))

        graph = capture_model(model)

        assert [call.op for call in graph.calls][:3] == [tensor.name for tensor in model.inputs]
        assert lint(graph) == []
        assert capture_model(ramet.clone(model)) == graph


@needs_keras(3, 14, "Keras itself refuses an input that leads to no output")
def test_unused_input_belongs_to_the_graph():
    graph = ramet.capture(MODELS["unused_input"]())

    assert list(refs(graph.inputs)) == [Ref("x"), Ref("unused")]
    assert graph.consumers(Ref("unused")) == ()


def test_frozen_parts_and_policies_are_captured():
    frozen = ramet.capture(MODELS["frozen_parts"]())
    mixed = ramet.capture(MODELS["half_precision"]())

    assert not frozen.find("block/first").trainable
    assert [spec.trainable for path, spec in frozen.variables() if path.startswith("block/first")] == [False, False]
    assert frozen.find("block/second").trainable
    assert mixed.op("half").dtype_policy == "mixed_bfloat16"
    assert mixed.value(Ref("half")).dtype == "bfloat16"


def test_functional_subclass_keeps_its_class_and_config():
    graph = ramet.capture(Backbone(units=5, name="b"))

    assert (graph.class_name, graph.kind) == ("Backbone", "functional")
    assert graph.root.config == FrozenDict((("units", 5), ("name", "b")))


def test_reason_for_a_missing_config_is_captured():
    class NoConfig(keras.Layer):
        def __init__(self, thing):
            super().__init__(name="no_config")
            self.thing = thing

        def call(self, x):
            return x

    x = keras.Input((4,), name="x")
    op = ramet.capture(keras.Model(x, NoConfig(object())(x))).op("no_config")

    assert op.config is None
    assert op.no_config.startswith("NotImplementedError: ")


# Models of other kinds.


def test_subclassed_model_is_captured_as_a_tree():
    model = Tree(name="tree")
    model.build((None, 4))

    graph = ramet.capture(model)

    assert (graph.kind, graph.has_calls, graph.calls, graph.inputs, graph.outputs) == (
        "subclassed",
        False,
        (),
        None,
        None,
    )
    assert [path for path, _ in graph.walk()] == ["block", "block/first", "block/second", "head"]
    assert lint(graph) == []
    assert Graph.from_json(graph.to_json()) == graph
    assert str(graph).startswith("tree (Tree)  35 parameters, no call graph\n")


def test_subclassed_model_inside_a_functional_one_is_called_but_has_no_calls_inside():
    x = keras.Input((4,), name="x")
    tree = Tree(name="tree")
    graph = ramet.capture(keras.Model(x, tree(x), name="m"))

    assert graph.call("tree").args == (Ref("x"),)
    assert graph.op("tree").graph.kind == "subclassed"
    assert lint(graph) == []


def test_unbuilt_sequential_is_captured_without_calls():
    graph = ramet.capture(keras.Sequential([layers.Dense(3, name="a"), layers.Dense(2, name="b")], name="s"))

    assert (graph.kind, graph.calls, [op.id for op in graph.ops]) == ("sequential", (), ["a", "b"])
    assert lint(graph) == []


def test_paths_go_through_nested_models_and_composite_layers():
    nested = [path for path, _ in ramet.capture(nested_models()).walk()]
    composite = [path for path, _ in ramet.capture(MODELS["composite"]()).walk()]

    assert nested == [
        "x",
        "middle",
        "middle/middle_in",
        "middle/inner",
        "middle/inner/inner_in",
        "middle/inner/d",
        "middle/d",
        "d",
    ]
    assert {"block/first", "block/second", "attention/query"} <= set(composite)


def test_nested_model_prints_indented():
    assert str(ramet.capture(nested_models())) == (
        "outer (Functional)  50 parameters\n"
        "  x             Input       (None, 4) float32\n"
        "  middle        Functional  (None, 4)          <- x\n"
        "  | middle_in   Input       (None, 4) float32\n"
        "  | inner       Functional  (None, 4)          <- middle_in\n"
        "  | | inner_in  Input       (None, 4) float32\n"
        "  | | d         Dense       (None, 4)          <- inner_in  -> output\n"
        "  | d           Dense       (None, 4)          <- inner  -> output\n"
        "  d             Dense       (None, 2)          <- middle  -> output"
    )


@pytest.mark.parametrize("what", [keras.optimizers.SGD(), "model.keras", None], ids=["optimizer", "text", "none"])
def test_non_model_is_refused(what):
    with pytest.raises(ramet.errors.NotAModelError) as caught:
        capture_model(what)

    assert str(caught.value) == (
        f"Cannot capture an object of class {type(what).__name__}: it is not a model or layer.\n"
        "  expected: a Keras model or layer\n"
        "  fix: pass a model, or a layer on its own."
    )


def test_deep_model_is_captured_at_the_default_recursion_limit():
    x = keras.Input((2,), name="x")
    y = x
    for _ in range(400):
        y = layers.ReLU()(y)
    graph = ramet.capture(keras.Model(x, y))

    assert len(graph.calls) == 401
    assert lint(graph) == []


def quantized_backbone():
    """Return a backbone like published ones: its config lists the policies of its layers, whose names Keras blanks."""

    @keras.saving.register_keras_serializable("tests")
    class Published(keras.Model):
        def __init__(self, dtype=None, **options):
            x = keras.Input((4,), name="x")
            super().__init__(x, layers.Dense(3, name="d", dtype=dtype)(x), **options)

        def get_config(self):
            policies = keras.dtype_policies.DTypePolicyMap()
            for layer in self.layers:
                if layer.quantization_mode is not None:
                    policies[layer.path] = layer.dtype_policy
            return {"name": self.name, "dtype": policies}

    model = Published(name="published")
    model.quantize("int8")
    return model


@pytest.mark.filterwarnings("ignore:.*does not have a `quantize` method:UserWarning")
def test_capture_keeps_the_names_of_quantized_policies():
    model = quantized_backbone()
    before = ramet.capture(model)
    assert model.get_layer("d").dtype_policy.name == "int8_from_float32"
    assert ramet.capture(model) == before


@pytest.mark.filterwarnings("ignore:.*does not have a `quantize` method:UserWarning")
def test_saving_a_quantized_model_does_not_affect_its_twin(tmp_path):
    model = quantized_backbone()
    twin = ramet.clone(model)
    assert ramet.verify(model, twin).ok
    assert model.get_layer("d").dtype_policy.name == "int8_from_float32"
    model.save(tmp_path / "model.keras")
    assert twin.get_layer("d").dtype_policy.name == "int8_from_float32"
