"""The option `inputs=` of `clone`: everything that is accepted, and the errors for everything else."""

import keras
import numpy as np
import pytest
from keras import layers, ops

import ramet
from tests.support.graph_models import MODELS, inputs_of
from tests.support.twins import assert_equal_values, outputs
from tests.support.versions import as_worded_by_keras, needs_keras


def _two_inputs():
    return MODELS["shared_layer"]()


def _names(model):
    return [tensor.name for tensor in keras.tree.flatten(inputs_of(model))]


# Accepted inputs


def test_tensors_are_accepted_in_the_structure_of_the_model():
    model = MODELS["two_inputs_in_a_dict"]()
    given = {"b": keras.Input((2,), batch_size=3, name="b"), "a": keras.Input((3,), batch_size=3, name="a")}

    twin = ramet.clone(model, inputs=given)

    assert twin.input == given
    assert list(twin.input) == ["b", "a"]
    assert {name: tuple(tensor.shape) for name, tensor in twin.output.items()} == {"out": (3, 2), "in": (3, 3)}


def test_tensors_are_accepted_in_a_nested_structure():
    model = MODELS["nested_arguments"]()
    x, y = keras.Input((4,), batch_size=3, name="x"), keras.Input((4,), batch_size=3, name="y")

    twin = ramet.clone(model, inputs=[x, (y,)])

    assert inputs_of(twin)[0] is x
    assert inputs_of(twin)[1][0] is y


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: (x,), lambda x: {"image": x}])
def test_single_input_may_be_a_tensor_a_list_or_a_dict(wrap):
    model = MODELS["image"]()
    given = keras.Input((16, 16, 3), name="larger")

    twin = ramet.clone(model, inputs=wrap(given))

    assert twin.input is given
    assert twin.output_shape == (None, 4)
    assert_equal_values(model, twin)


def test_dict_by_name_is_accepted_for_a_list_of_inputs():
    model = _two_inputs()
    a, b = keras.Input((4,), batch_size=3, name="new_a"), keras.Input((4,), batch_size=3, name="new_b")

    twin = ramet.clone(model, inputs={"b": b, "a": a})

    assert twin.input[0] is a
    assert twin.input[1] is b


def test_flat_list_for_a_dict_of_inputs_follows_the_order_of_keras():
    model = MODELS["two_inputs_in_a_dict"]()
    order = _names(model)
    given = {"a": keras.Input((3,), name="a"), "b": keras.Input((2,), name="b")}

    twin = ramet.clone(model, inputs=[given[name] for name in order])

    assert twin.input["a"] is given["a"]
    assert twin.input["b"] is given["b"]


def test_input_of_another_shape_is_used():
    model = MODELS["image"]()

    twin = ramet.clone(model, inputs=keras.Input((32, 16, 3)))

    assert twin.get_layer("conv").output.shape == (None, 32, 16, 4)
    assert_equal_values(model, twin)
    assert outputs(twin, np.ones((2, 32, 16, 3), "float32"))[0].shape == (2, 4)


def test_input_without_a_name_gets_the_old_names():
    a, b = keras.Input((4,)), keras.Input((4,), name="b")
    model = keras.Model([a, b], keras.layers.Concatenate(name="c")([a, b]), name="m")
    old = a._keras_history.operation.name
    given = [keras.Input((7,)), keras.Input((3,))]

    twin = ramet.clone(model, inputs=given)

    assert [t.name for t in twin.inputs] == [a.name, "b"]
    assert twin.get_layer(old).output is given[0]
    assert twin.get_layer("b").output is given[1]
    data = [np.ones((2, 7), "float32"), np.zeros((2, 3), "float32")]
    assert twin(data).shape == (2, 10)


def test_an_input_with_a_name_keeps_it():
    model = MODELS["image"]()

    twin = ramet.clone(model, inputs=keras.Input((8, 8, 3), name="other"))

    assert twin.inputs[0].name == twin.layers[0].name == "other"


def test_input_of_another_dtype_accepts_raw_images():
    model = MODELS["image"]()
    images = np.random.default_rng(0).integers(0, 255, (2, 8, 8, 3)).astype("uint8")

    twin = ramet.clone(model, inputs=keras.Input((8, 8, 3), dtype="uint8", name="image"))

    assert twin.input.dtype == "uint8"
    np.testing.assert_allclose(outputs(twin, images)[0], outputs(model, images.astype("float32"))[0], rtol=1e-5)


def test_tensor_inside_another_model_is_used_as_a_spec():
    model = MODELS["one_dense"]()
    x = keras.Input((7,), name="other")
    h = layers.Dense(4, name="front")(x)
    calls = len(h._keras_history.operation._outbound_nodes)

    twin = ramet.clone(model, inputs=h)

    assert twin.input is not h
    assert (twin.input.name, twin.input.shape, twin.input.dtype) == ("x", (None, 4), "float32")
    assert len(h._keras_history.operation._outbound_nodes) == calls
    joined = keras.Model(x, twin(h))
    assert joined.output_shape == (None, 2)
    data = np.ones((2, 7), "float32")
    np.testing.assert_allclose(
        outputs(joined, data)[0], outputs(model, outputs(keras.Model(x, h), data)[0])[0], rtol=1e-5
    )


@pytest.mark.parametrize("convert", [np.asarray, ops.convert_to_tensor], ids=["numpy", "backend"])
def test_shape_and_dtype_of_an_array_are_used(convert):
    model = MODELS["image"]()

    twin = ramet.clone(model, inputs=convert(np.zeros((5, 6, 4, 3), "uint8")))

    assert (twin.input.name, twin.input.shape, twin.input.dtype) == (
        "input_wrapper_for_image",
        (None, 6, 4, 3),
        "uint8",
    )
    assert twin.get_layer("input_wrapper_for_image") is twin.layers[0]


def test_arrays_and_inputs_may_be_mixed():
    model = _two_inputs()

    twin = ramet.clone(model, inputs=[np.zeros((2, 4), "float32"), keras.Input((4,), name="b")])

    assert _names(twin) == ["input_wrapper_for_a", "b"]


def test_flags_of_an_input_are_kept_if_an_array_is_passed():
    model = MODELS["flagged_inputs"]()

    twin = ramet.clone(model, inputs={"ids": np.zeros((4, 3), "int32"), "extra": np.zeros((4, 2), "float32")})

    assert twin.inputs[1]._keras_history.operation.optional


def test_inputs_of_the_original_stay_with_the_original():
    model = _two_inputs()

    twin = ramet.clone(model, inputs=model.inputs)

    assert not {id(t) for t in twin.inputs} & {id(t) for t in model.inputs}
    assert [len(t._keras_history.operation._outbound_nodes) for t in model.inputs] == [1, 1]


def test_two_models_on_one_input_make_one_model():
    x = keras.Input((4,), name="common")

    first = ramet.clone(MODELS["one_dense"](), inputs=x, name="first")
    second = ramet.clone(MODELS["sequential"](), inputs=x, name="second")

    assert keras.Model(x, [first.output, *second.outputs]).output_shape == [(None, 2), (None, 2)]


@needs_keras(3, 14, "a model with an input that leads to no output cannot be made there")
def test_unused_input_may_have_any_shape():
    model = MODELS["unused_input"]()

    twin = ramet.clone(model, inputs=[keras.Input((4,), name="x"), keras.Input((9,), name="unused")])

    assert [t.shape for t in twin.inputs] == [(None, 4), (None, 9)]


# Not every layer of Keras refuses a tensor that does not fit its weights; the model would fail when it runs.
SILENT = {
    "lstm": lambda: keras.layers.LSTM(2),
    "stacked cells": lambda: keras.layers.RNN([keras.layers.LSTMCell(2), keras.layers.GRUCell(2)]),
    "both ways": lambda: keras.layers.Bidirectional(keras.layers.GRU(2)),
    "steps": lambda: keras.layers.TimeDistributed(keras.layers.Dense(2)),
    "einsum": lambda: keras.layers.EinsumDense("abc,cd->abd", output_shape=(None, 2)),
    "layer normalization": keras.layers.LayerNormalization,
    "normalization": keras.layers.Normalization,
    "prelu": keras.layers.PReLU,
}


@pytest.mark.parametrize("name", SILENT)
@pytest.mark.parametrize("size", [1, 4])
def test_layer_whose_weights_do_not_fit_is_named(name, size):
    model = keras.Sequential([keras.Input((5, 3)), SILENT[name]()])

    with pytest.raises(ramet.errors.RebuildError, match="expects 3 values along axis"):
        ramet.clone(model, inputs=keras.Input((5, size)))


def test_edit_before_a_recurrent_layer_that_does_not_fit_is_refused():
    model = keras.Sequential([keras.Input((5, 3)), keras.layers.Dense(4, name="d"), keras.layers.LSTM(2, name="r")])

    with pytest.raises(ramet.errors.DoesNotFitError, match="'r' does not accept the output of 'd'"):
        ramet.edit(model, ramet.edits.update("d", units=6, weights="pad"))


# Errors

LAYOUT = (
    "  fix: pass one tensor for each input, in a list, in the structure of the model's inputs, or in a dict by name."
)

WRONG = {
    "too many": (
        "one_dense",
        lambda: [keras.Input((4,)), keras.Input((4,))],
        "Cannot rebuild 'one_dense' on these inputs: it has 1 input, 'x', but got 2.\n" + LAYOUT,
    ),
    "too few": (
        "shared_layer",
        lambda: [keras.Input((4,))],
        "Cannot rebuild 'siamese' on these inputs: it has 2 inputs, 'a', 'b', but got 1.\n" + LAYOUT,
    ),
    "one for two": (
        "shared_layer",
        lambda: keras.Input((4,)),
        "Cannot rebuild 'siamese' on these inputs: it has 2 inputs, 'a', 'b', but got 1.\n" + LAYOUT,
    ),
    "unknown name": (
        "shared_layer",
        lambda: {"a": keras.Input((4,)), "c": keras.Input((4,))},
        "Cannot rebuild 'siamese' on these inputs: it has the inputs 'a', 'b', but got 'a', 'c'.\n" + LAYOUT,
    ),
    "missing name": (
        "shared_layer",
        lambda: {"a": keras.Input((4,))},
        "Cannot rebuild 'siamese' on these inputs: it has the inputs 'a', 'b', but got 'a'.\n" + LAYOUT,
    ),
    "too few dimensions": (
        "image",
        lambda: keras.Input((8, 3)),
        (
            "Cannot rebuild 'image_model' on the input 'image': it needs 4 dimensions.\n"
            "  expected: a shape like (None, 8, 8, 3), including the batch\n"
            "  found:    the shape (None, 8, 3)\n"
            "  fix: pass an input with as many dimensions; keras.Input(shape) adds the batch itself."
        ),
    ),
    "too many dimensions": (
        "one_dense",
        lambda: np.zeros((2, 4, 4), "float32"),
        (
            "Cannot rebuild 'one_dense' on the input 'x': it needs 2 dimensions.\n"
            "  expected: a shape like (None, 4), including the batch\n"
            "  found:    the shape (2, 4, 4)\n"
            "  fix: pass an input with as many dimensions; keras.Input(shape) adds the batch itself."
        ),
    ),
    "a shape": (
        "one_dense",
        lambda: "(4,)",
        (
            "Cannot rebuild 'one_dense' on the input 'x': the given object is not a tensor.\n"
            "  expected: a keras.Input, a symbolic tensor, an array or a backend tensor\n"
            "  found:    an object of class str\n"
            "  fix: pass keras.Input((4,), dtype='float32') or similar."
        ),
    ),
    "a number in a list": (
        "shared_layer",
        lambda: [keras.Input((4,)), 4],
        (
            "Cannot rebuild 'siamese' on the input 'b': the given object is not a tensor.\n"
            "  expected: a keras.Input, a symbolic tensor, an array or a backend tensor\n"
            "  found:    an object of class int\n"
            "  fix: pass keras.Input((4,), dtype='float32') or similar."
        ),
    ),
    "a model": (
        "one_dense",
        MODELS["sequential"],
        (
            "Cannot rebuild 'one_dense' on the input 'x': the given object is not a tensor.\n"
            "  expected: a keras.Input, a symbolic tensor, an array or a backend tensor\n"
            "  found:    an object of class Sequential\n"
            "  fix: pass keras.Input((4,), dtype='float32') or similar."
        ),
    ),
    "a width the first layer cannot take": (
        "one_dense",
        lambda: keras.Input((5,), name="x"),
        (
            "Cannot rebuild 'one_dense' on the input 'x' of shape (None, 5) and dtype float32: the layer 'd' refused its "
            "arguments.\n"
            "  found:    (None, 5) at 'd'; ValueError: Input 0 with name 'None' of layer 'd' is incompatible with the layer: "
            "expected axis -1 of input shape to have value 4, but received input with shape (None, 5)\n"
            "  fix: choose inputs that this layer accepts, or replace the layer."
        ),
    ),
    "the second of two": (
        "shared_layer",
        lambda: [keras.Input((4,), name="a"), keras.Input((5,), name="b")],
        (
            "Cannot rebuild 'siamese' on the input 'b' of shape (None, 5) and dtype float32: the layer 'shared' refused its "
            "arguments.\n"
            "  found:    (None, 5) at 'shared'; ValueError: Input 0 with name 'None' of layer 'shared' is incompatible with the "
            "layer: expected axis -1 of input shape to have value 4, but received input with shape (None, 5)\n"
            "  fix: choose inputs that this layer accepts, or replace the layer."
        ),
    ),
    "refused inside a nested model": (
        "nested_models",
        lambda: keras.Input((5,), name="x"),
        (
            "Cannot rebuild 'outer' on the input 'x' of shape (None, 5) and dtype float32: the layer 'middle/inner/d' refused its "
            "arguments.\n"
            "  found:    (None, 5) at 'middle/inner/d'; ValueError: Input 0 with name 'None' of layer 'd' is incompatible "
            "with the layer: expected axis -1 of input shape to have value 4, but received input with shape (None, 5)\n"
            "  fix: choose inputs that this layer accepts, or replace the layer."
        ),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_inputs_are_refused_with_the_reason(name):
    which, make_inputs, text = WRONG[name]
    model = MODELS[which]()
    before = ramet.capture(model)

    with pytest.raises(ValueError, match="Cannot rebuild") as caught:
        ramet.clone(model, inputs=make_inputs())

    assert str(caught.value) == as_worded_by_keras(text)
    assert ramet.capture(model) == before


def test_error_far_from_the_input_names_the_layer_and_the_input():
    a, b = keras.Input((8,), name="a"), keras.Input((8,), name="b")
    joined = layers.Concatenate(name="joined")([layers.ReLU(name="ra")(a), layers.ReLU(name="rb")(b)])
    model = keras.Model([a, b], layers.Dense(2, name="head")(joined), name="m")

    with pytest.raises(ramet.errors.RebuildError) as caught:
        ramet.clone(model, inputs=[keras.Input((8,), name="a"), keras.Input((9,), name="b")])

    assert caught.value.summary == (
        "Cannot rebuild 'm' on the input 'b' of shape (None, 9) and dtype float32: the layer 'head' refused its "
        "arguments."
    )
    assert caught.value.path == "head"
    assert isinstance(caught.value.__cause__, ValueError)


def test_operation_that_refuses_its_arguments_is_named():
    a, b = keras.Input((8,), name="a"), keras.Input((8,), name="b")
    model = keras.Model([a, b], a + b, name="m")

    with pytest.raises(ramet.errors.RebuildError) as caught:
        ramet.clone(model, inputs=[keras.Input((6,), name="a"), keras.Input((9,), name="b")])

    assert caught.value.summary == (
        "Cannot rebuild 'm' on the inputs 'a' of shape (None, 6) and dtype float32 and 'b' of shape (None, 9) and dtype "
        "float32: the operation 'add' refused its arguments."
    )


def test_model_without_a_call_graph_is_refused():
    class Sub(keras.Model):
        def call(self, x):
            return x

    with pytest.raises(ramet.errors.ArgumentError) as caught:
        ramet.clone(Sub(name="sub"), inputs=keras.Input((4,)))

    assert str(caught.value) == (
        "Cannot rebuild 'sub' on other inputs: it has no call graph.\n"
        "  expected: a functional or Sequential model\n"
        "  found:    an object of class Sub\n"
        "  fix: clone it without inputs=; a subclassed model accepts other inputs as it is."
    )


def test_unbuilt_sequential_is_refused():
    with pytest.raises(ramet.errors.ArgumentError) as caught:
        ramet.clone(keras.Sequential([layers.Dense(2)], name="s"), inputs=keras.Input((4,)))

    assert str(caught.value) == (
        "Cannot rebuild 's' on other inputs: it has not been built, so it has no inputs yet.\n"
        "  fix: clone it without inputs= and build the twin: twin.build(shape)."
    )


def test_list_of_models_is_refused():
    with pytest.raises(ramet.errors.ArgumentError) as caught:
        ramet.clone([MODELS["one_dense"]()], inputs=keras.Input((4,)))

    assert caught.value.summary == "Cannot rebuild this object on other inputs: it has no call graph."


# Dtypes, sparse and ragged tensors


@pytest.mark.parametrize("dtype", ["int32", "bool", "float16"])
def test_dtype_that_the_first_layer_converts_is_accepted(dtype):
    model = keras.Sequential([keras.Input((4,), name="x"), layers.Dense(2, name="d")])

    twin = ramet.clone(model, inputs=keras.Input((4,), dtype=dtype, name="x"))

    assert twin.inputs[0].dtype == dtype
    x = np.ones((2, 4), dtype)
    np.testing.assert_array_equal(outputs(twin, x), outputs(model, x.astype("float32")))


@pytest.mark.parametrize(
    "given", [keras.Input((4,), dtype="string"), np.array([["a", "b", "c", "d"]])], ids=["input", "array"]
)
def test_strings_for_a_layer_that_computes_are_refused(given):
    model = keras.Sequential([keras.Input((4,), name="x"), layers.Dense(2, name="d")], name="m")

    with pytest.raises(ramet.errors.RebuildError) as caught:
        ramet.clone(model, inputs=given)

    assert str(caught.value) == (
        "Cannot rebuild 'm' on the input 'x' of dtype string: the layer 'd' takes numbers.\n"
        "  expected: dtype float32 or similar\n"
        "  found:    dtype string at 'd', a Dense\n"
        "  fix: choose a dtype that this layer accepts, or replace the layer."
    )


def test_numbers_for_a_lookup_layer_are_refused():
    text = keras.Input((1,), dtype="string", name="text")
    model = keras.Model(text, layers.StringLookup(vocabulary=["a", "b"], name="look")(text), name="m")

    with pytest.raises(
        ramet.errors.RebuildError, match="on the input 'text' of dtype int32: the layer 'look' takes strings"
    ):
        ramet.clone(model, inputs=keras.Input((1,), dtype="int32"))


def test_dtypes_for_user_layers_are_not_checked():
    class Length(layers.Layer):
        def call(self, x):
            return x

        def compute_output_spec(self, x):
            return keras.KerasTensor(x.shape, "int32")

    model = keras.Sequential([keras.Input((1,), name="x"), Length(name="length")])

    assert ramet.clone(model, inputs=keras.Input((1,), dtype="string")).inputs[0].dtype == "string"


@pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="Keras has no sparse tensors on torch; one that has lifts this"
)
@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False), (True, True)])
def test_an_input_may_become_sparse_or_dense(before, after):
    x = keras.Input((4,), sparse=before, name="x")
    model = keras.Model(x, layers.Dense(2, name="d")(x))

    twin = ramet.clone(model, inputs=keras.Input((4,), sparse=after, name="x"))

    assert twin.inputs[0].sparse is after
    data = np.eye(4, dtype="float32")[:3]
    np.testing.assert_array_equal(twin.predict(data, verbose=0), data @ np.asarray(model.get_weights()[0]))


def test_scaled_tensor_is_not_sparse_although_keras_marks_it_so():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dense(2, name="d")(x))
    pixels = keras.Input((4,), name="pixels")
    scaled = pixels * 0.5

    twin = ramet.clone(model, inputs=scaled)

    assert not twin.inputs[0].sparse
    data = np.eye(4, dtype="float32")
    around = keras.Model(pixels, twin(scaled))
    np.testing.assert_array_equal(around.predict(2 * data, verbose=0), model.predict(data, verbose=0))


@pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="Keras has no sparse tensors on torch; one that has lifts this"
)
def test_tensor_computed_from_a_sparse_tensor_may_be_sparse():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dense(2, name="d")(x))
    words = keras.Input((4,), sparse=True, name="words")

    assert ramet.clone(model, inputs=words * 0.5).inputs[0].sparse


@pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="Keras has no sparse tensors on torch; one that has lifts this"
)
def test_sparse_input_stays_sparse_if_an_array_is_passed():
    x = keras.Input((4,), sparse=True, name="x")
    model = keras.Model(x, layers.Dense(2, name="d")(x))

    assert ramet.clone(model, inputs=np.ones((2, 4), "float32")).inputs[0].sparse


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="only TensorFlow has ragged tensors; the run on TensorFlow covers them",
)
@pytest.mark.parametrize(("shape", "dtype", "ragged"), [((None,), "int64", True), ((4,), "int32", False)])
def test_a_ragged_input_may_have_another_dtype_or_become_dense(shape, dtype, ragged):
    x = keras.Input((None,), dtype="int32", ragged=True, name="x")
    model = keras.Model(x, layers.Embedding(5, 3, name="e")(x))

    twin = ramet.clone(model, inputs=keras.Input(shape, dtype=dtype, ragged=ragged, name="x"))

    assert (twin.inputs[0].ragged, twin.outputs[0].ragged) == (ragged, ragged)
