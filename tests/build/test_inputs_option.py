"""`inputs=`: everything that may stand for a model's inputs, and what is said about everything else."""

import keras
import numpy as np
import pytest
from keras import layers, ops

import ramet
from tests.support.graph_models import MODELS, inputs_of
from tests.support.twins import assert_equal_values, outputs
from tests.support.versions import in_words_of_keras, needs_keras


def _two_inputs():
    return MODELS["shared_layer"]()


def _names(model):
    return [tensor.name for tensor in keras.tree.flatten(inputs_of(model))]


# What may stand for the inputs.


def test_tensors_in_the_structure_of_the_model():
    model = MODELS["two_inputs_in_a_dict"]()
    given = {"b": keras.Input((2,), batch_size=3, name="b"), "a": keras.Input((3,), batch_size=3, name="a")}

    twin = ramet.clone(model, inputs=given)

    assert twin.input == given
    assert list(twin.input) == ["b", "a"]
    assert {name: tuple(tensor.shape) for name, tensor in twin.output.items()} == {"out": (3, 2), "in": (3, 3)}


def test_tensors_in_a_nested_structure():
    model = MODELS["nested_arguments"]()
    x, y = keras.Input((4,), batch_size=3, name="x"), keras.Input((4,), batch_size=3, name="y")

    twin = ramet.clone(model, inputs=[x, (y,)])

    assert inputs_of(twin)[0] is x
    assert inputs_of(twin)[1][0] is y


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: (x,), lambda x: {"image": x}])
def test_one_tensor_a_list_or_a_dict_for_a_single_input(wrap):
    model = MODELS["image"]()
    given = keras.Input((16, 16, 3), name="larger")

    twin = ramet.clone(model, inputs=wrap(given))

    assert twin.input is given
    assert twin.output_shape == (None, 4)
    assert_equal_values(model, twin)


def test_a_dict_by_name_for_a_list_of_inputs():
    model = _two_inputs()
    a, b = keras.Input((4,), batch_size=3, name="new_a"), keras.Input((4,), batch_size=3, name="new_b")

    twin = ramet.clone(model, inputs={"b": b, "a": a})

    assert twin.input[0] is a
    assert twin.input[1] is b


def test_a_flat_list_for_a_dict_of_inputs_goes_by_keras_own_order():
    model = MODELS["two_inputs_in_a_dict"]()
    order = _names(model)
    given = {"a": keras.Input((3,), name="a"), "b": keras.Input((2,), name="b")}

    twin = ramet.clone(model, inputs=[given[name] for name in order])

    assert twin.input["a"] is given["a"]
    assert twin.input["b"] is given["b"]


def test_an_input_of_another_shape():
    model = MODELS["image"]()

    twin = ramet.clone(model, inputs=keras.Input((32, 16, 3)))

    assert twin.get_layer("conv").output.shape == (None, 32, 16, 4)
    assert_equal_values(model, twin)
    assert outputs(twin, np.ones((2, 32, 16, 3), "float32"))[0].shape == (2, 4)


def test_an_input_without_a_name_takes_the_old_names():
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


def test_an_input_of_another_dtype_takes_images_as_they_are():
    model = MODELS["image"]()
    images = np.random.default_rng(0).integers(0, 255, (2, 8, 8, 3)).astype("uint8")

    twin = ramet.clone(model, inputs=keras.Input((8, 8, 3), dtype="uint8", name="image"))

    assert twin.input.dtype == "uint8"
    np.testing.assert_allclose(outputs(twin, images)[0], outputs(model, images.astype("float32"))[0], rtol=1e-5)


def test_a_tensor_inside_another_model_gives_an_input_of_its_spec():
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
def test_an_array_stands_for_its_shape_and_dtype(convert):
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


def test_flags_of_an_input_are_kept_where_an_array_stands_for_it():
    model = MODELS["flagged_inputs"]()

    twin = ramet.clone(model, inputs={"ids": np.zeros((4, 3), "int32"), "extra": np.zeros((4, 2), "float32")})

    assert twin.inputs[1]._keras_history.operation.optional


def test_the_own_inputs_of_the_model_are_not_taken_away_from_it():
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
def test_an_unused_input_may_change_at_will():
    model = MODELS["unused_input"]()

    twin = ramet.clone(model, inputs=[keras.Input((4,), name="x"), keras.Input((9,), name="unused")])

    assert [t.shape for t in twin.inputs] == [(None, 4), (None, 9)]


# Not every layer of Keras refuses a tensor that its weights are not made for: the model would break when it runs.
SILENT = {
    "lstm": lambda: keras.layers.LSTM(2),
    "stacked cells": lambda: keras.layers.RNN([keras.layers.LSTMCell(2), keras.layers.GRUCell(2)]),
    "both ways": lambda: keras.layers.Bidirectional(keras.layers.GRU(2)),
    "steps": lambda: keras.layers.TimeDistributed(keras.layers.Dense(2)),
    "einsum": lambda: keras.layers.EinsumDense("abc,cd->abd", output_shape=(None, 2)),
    "layer normalisation": keras.layers.LayerNormalization,
    "normalization": keras.layers.Normalization,
    "prelu": keras.layers.PReLU,
}


@pytest.mark.parametrize("name", SILENT)
@pytest.mark.parametrize("size", [1, 4])
def test_a_layer_whose_weights_are_made_for_another_size_is_named(name, size):
    model = keras.Sequential([keras.Input((5, 3)), SILENT[name]()])

    with pytest.raises(ramet.errors.RebuildError, match="is made for 3 values along axis"):
        ramet.clone(model, inputs=keras.Input((5, size)))


def test_an_edit_before_a_recurrent_layer_is_refused_if_that_does_not_take_it():
    model = keras.Sequential([keras.Input((5, 3)), keras.layers.Dense(4, name="d"), keras.layers.LSTM(2, name="r")])

    with pytest.raises(ramet.errors.DoesNotFitError, match="'r' does not take what 'd' gives"):
        ramet.edit(model, ramet.edits.update("d", units=6, weights="pad"))


# What cannot work.

LAYOUT = "  fix: pass one tensor for each input, in a list, in the model's own structure, or in a dict by name."

WRONG = {
    "too many": (
        "one_dense",
        lambda: [keras.Input((4,)), keras.Input((4,))],
        "Cannot rebuild 'one_dense' on these inputs: it has 1 input, 'x', and 2 were given.\n" + LAYOUT,
    ),
    "too few": (
        "shared_layer",
        lambda: [keras.Input((4,))],
        "Cannot rebuild 'siamese' on these inputs: it has 2 inputs, 'a', 'b', and 1 was given.\n" + LAYOUT,
    ),
    "one for two": (
        "shared_layer",
        lambda: keras.Input((4,)),
        "Cannot rebuild 'siamese' on these inputs: it has 2 inputs, 'a', 'b', and 1 was given.\n" + LAYOUT,
    ),
    "unknown name": (
        "shared_layer",
        lambda: {"a": keras.Input((4,)), "c": keras.Input((4,))},
        "Cannot rebuild 'siamese' on these inputs: it has the inputs 'a', 'b', and 'a', 'c' were given.\n" + LAYOUT,
    ),
    "missing name": (
        "shared_layer",
        lambda: {"a": keras.Input((4,))},
        "Cannot rebuild 'siamese' on these inputs: it has the inputs 'a', 'b', and 'a' was given.\n" + LAYOUT,
    ),
    "too few dimensions": (
        "image",
        lambda: keras.Input((8, 3)),
        (
            "Cannot rebuild 'image_model' on the input 'image': it needs 4 dimensions.\n"
            "  expected: a shape like (None, 8, 8, 3), the batch first\n"
            "  found:    the shape (None, 8, 3)\n"
            "  fix: pass an input with as many dimensions; keras.Input(shape) adds the batch itself."
        ),
    ),
    "too many dimensions": (
        "one_dense",
        lambda: np.zeros((2, 4, 4), "float32"),
        (
            "Cannot rebuild 'one_dense' on the input 'x': it needs 2 dimensions.\n"
            "  expected: a shape like (None, 4), the batch first\n"
            "  found:    the shape (2, 4, 4)\n"
            "  fix: pass an input with as many dimensions; keras.Input(shape) adds the batch itself."
        ),
    ),
    "a shape": (
        "one_dense",
        lambda: "(4,)",
        (
            "Cannot rebuild 'one_dense' on the input 'x': what was given is no tensor.\n"
            "  expected: a keras.Input, a symbolic tensor, an array or a backend tensor\n"
            "  found:    an object of class str\n"
            "  fix: pass keras.Input((4,), dtype='float32') or the like."
        ),
    ),
    "a number in a list": (
        "shared_layer",
        lambda: [keras.Input((4,)), 4],
        (
            "Cannot rebuild 'siamese' on the input 'b': what was given is no tensor.\n"
            "  expected: a keras.Input, a symbolic tensor, an array or a backend tensor\n"
            "  found:    an object of class int\n"
            "  fix: pass keras.Input((4,), dtype='float32') or the like."
        ),
    ),
    "a model": (
        "one_dense",
        MODELS["sequential"],
        (
            "Cannot rebuild 'one_dense' on the input 'x': what was given is no tensor.\n"
            "  expected: a keras.Input, a symbolic tensor, an array or a backend tensor\n"
            "  found:    an object of class Sequential\n"
            "  fix: pass keras.Input((4,), dtype='float32') or the like."
        ),
    ),
    "a width the first layer cannot take": (
        "one_dense",
        lambda: keras.Input((5,), name="x"),
        (
            "Cannot rebuild 'one_dense' on the input 'x' of shape (None, 5) and dtype float32: the layer 'd' refused what it "
            "was called with.\n"
            "  found:    (None, 5) at 'd'; ValueError: Input 0 with name 'None' of layer 'd' is incompatible with the layer: "
            "expected axis -1 of input shape to have value 4, but received input with shape (None, 5)\n"
            "  fix: choose inputs that this layer accepts, or replace the layer."
        ),
    ),
    "the second of two": (
        "shared_layer",
        lambda: [keras.Input((4,), name="a"), keras.Input((5,), name="b")],
        (
            "Cannot rebuild 'siamese' on the input 'b' of shape (None, 5) and dtype float32: the layer 'shared' refused what "
            "it was called with.\n"
            "  found:    (None, 5) at 'shared'; ValueError: Input 0 with name 'None' of layer 'shared' is incompatible with the "
            "layer: expected axis -1 of input shape to have value 4, but received input with shape (None, 5)\n"
            "  fix: choose inputs that this layer accepts, or replace the layer."
        ),
    ),
    "refused inside a nested model": (
        "nested_models",
        lambda: keras.Input((5,), name="x"),
        (
            "Cannot rebuild 'outer' on the input 'x' of shape (None, 5) and dtype float32: the layer 'middle/inner/d' refused "
            "what it was called with.\n"
            "  found:    (None, 5) at 'middle/inner/d'; ValueError: Input 0 with name 'None' of layer 'd' is incompatible "
            "with the layer: expected axis -1 of input shape to have value 4, but received input with shape (None, 5)\n"
            "  fix: choose inputs that this layer accepts, or replace the layer."
        ),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_inputs_that_cannot_work_are_refused_with_the_reason(name):
    which, make_inputs, text = WRONG[name]
    model = MODELS[which]()
    before = ramet.capture(model)

    with pytest.raises(ValueError, match="Cannot rebuild") as caught:
        ramet.clone(model, inputs=make_inputs())

    assert str(caught.value) == in_words_of_keras(text)
    assert ramet.capture(model) == before


def test_a_refusal_far_from_the_input_says_which_layer_and_which_input():
    a, b = keras.Input((8,), name="a"), keras.Input((8,), name="b")
    joined = layers.Concatenate(name="joined")([layers.ReLU(name="ra")(a), layers.ReLU(name="rb")(b)])
    model = keras.Model([a, b], layers.Dense(2, name="head")(joined), name="m")

    with pytest.raises(ramet.errors.RebuildError) as caught:
        ramet.clone(model, inputs=[keras.Input((8,), name="a"), keras.Input((9,), name="b")])

    assert caught.value.summary == (
        "Cannot rebuild 'm' on the input 'b' of shape (None, 9) and dtype float32: the layer 'head' refused what it was "
        "called with."
    )
    assert caught.value.path == "head"
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_operation_that_refuses_is_called_an_operation():
    a, b = keras.Input((8,), name="a"), keras.Input((8,), name="b")
    model = keras.Model([a, b], a + b, name="m")

    with pytest.raises(ramet.errors.RebuildError) as caught:
        ramet.clone(model, inputs=[keras.Input((6,), name="a"), keras.Input((9,), name="b")])

    assert caught.value.summary == (
        "Cannot rebuild 'm' on the inputs 'a' of shape (None, 6) and dtype float32 and 'b' of shape (None, 9) and dtype "
        "float32: the operation 'add' refused what it was called with."
    )


def test_a_model_without_a_call_graph_takes_no_other_inputs():
    class Sub(keras.Model):
        def call(self, x):
            return x

    with pytest.raises(ramet.errors.ArgumentError) as caught:
        ramet.clone(Sub(name="sub"), inputs=keras.Input((4,)))

    assert str(caught.value) == (
        "Cannot rebuild 'sub' on other inputs: it has no call graph.\n"
        "  expected: a functional or Sequential model\n"
        "  found:    an object of class Sub\n"
        "  fix: clone it without inputs=; a subclassed model takes other inputs as it is."
    )


def test_a_sequential_that_was_never_built_takes_no_other_inputs():
    with pytest.raises(ramet.errors.ArgumentError) as caught:
        ramet.clone(keras.Sequential([layers.Dense(2)], name="s"), inputs=keras.Input((4,)))

    assert str(caught.value) == (
        "Cannot rebuild 's' on other inputs: it has not been built, so it has none yet.\n"
        "  fix: clone it without inputs= and build the twin: twin.build(shape)."
    )


def test_a_list_of_models_takes_no_other_inputs():
    with pytest.raises(ramet.errors.ArgumentError) as caught:
        ramet.clone([MODELS["one_dense"]()], inputs=keras.Input((4,)))

    assert caught.value.summary == "Cannot rebuild this on other inputs: it has no call graph."


# Dtypes, and tensors that are sparse or ragged.


@pytest.mark.parametrize("dtype", ["int32", "bool", "float16"])
def test_another_dtype_that_the_first_layer_converts_is_taken(dtype):
    model = keras.Sequential([keras.Input((4,), name="x"), layers.Dense(2, name="d")])

    twin = ramet.clone(model, inputs=keras.Input((4,), dtype=dtype, name="x"))

    assert twin.inputs[0].dtype == dtype
    x = np.ones((2, 4), dtype)
    np.testing.assert_array_equal(outputs(twin, x), outputs(model, x.astype("float32")))


@pytest.mark.parametrize(
    "given", [keras.Input((4,), dtype="string"), np.array([["a", "b", "c", "d"]])], ids=["input", "array"]
)
def test_texts_for_a_layer_that_computes_are_refused(given):
    model = keras.Sequential([keras.Input((4,), name="x"), layers.Dense(2, name="d")], name="m")

    with pytest.raises(ramet.errors.RebuildError) as caught:
        ramet.clone(model, inputs=given)

    assert str(caught.value) == (
        "Cannot rebuild 'm' on the input 'x' of dtype string: the layer 'd' takes numbers.\n"
        "  expected: dtype float32 or the like\n"
        "  found:    dtype string at 'd', a Dense\n"
        "  fix: choose a dtype that this layer accepts, or replace the layer."
    )


def test_numbers_for_a_layer_that_looks_texts_up_are_refused():
    text = keras.Input((1,), dtype="string", name="text")
    model = keras.Model(text, layers.StringLookup(vocabulary=["a", "b"], name="look")(text), name="m")

    with pytest.raises(
        ramet.errors.RebuildError, match="on the input 'text' of dtype int32: the layer 'look' takes texts"
    ):
        ramet.clone(model, inputs=keras.Input((1,), dtype="int32"))


def test_what_a_users_layer_takes_only_the_layer_knows():
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


def test_a_scaled_tensor_is_not_sparse_although_keras_says_so():
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
def test_what_is_computed_from_a_sparse_tensor_may_be_sparse():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dense(2, name="d")(x))
    words = keras.Input((4,), sparse=True, name="words")

    assert ramet.clone(model, inputs=words * 0.5).inputs[0].sparse


@pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="Keras has no sparse tensors on torch; one that has lifts this"
)
def test_an_array_for_a_sparse_input_leaves_it_sparse():
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
