"""The founding behaviors: the goals of the five proposals to fix Keras' cloning, one section per proposal."""

import gc
import weakref
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet.errors import CannotCopyError, NotAModelError, RametError
from tests.support.cases_models import (
    MaskBlind,
    MaskedSum,
    MaskedSums,
    Scale,
    Swap,
    assert_alike,
    mask_of,
    numbers,
    scramble,
)
from tests.support.twins import assert_equal_outputs, assert_equal_values, fit_once, outputs, twin_of, values
from tests.support.versions import needs_keras

# --- a layer with several outputs and no mask support has one (empty) mask per output


def _two_output_lambda():
    inputs = keras.Input((4,))
    return inputs, layers.Lambda(lambda x: [x + 1, x])(inputs)


def test_both_outputs_of_the_two_output_lambda_are_computed():
    inputs, (a, b) = _two_output_lambda()
    model = keras.Model(inputs, [a, b])
    x = numbers(3, 4)

    twin = twin_of(model)

    assert_alike(model, twin, x)
    np.testing.assert_array_equal(outputs(twin, x)[0], x + 1)
    np.testing.assert_array_equal(outputs(twin, x)[1], x)


def test_both_outputs_of_the_two_output_lambda_reach_a_layer_that_swaps_them():
    inputs, (a, b) = _two_output_lambda()
    model = keras.Model(inputs, Swap()([a, b]))
    x = numbers(3, 4)

    twin = twin_of(model)

    assert_alike(model, twin, x)
    np.testing.assert_array_equal(outputs(twin, x)[0], x)
    np.testing.assert_array_equal(outputs(twin, x)[1], x + 1)


def test_both_outputs_of_the_two_output_lambda_reach_an_add():
    inputs, (a, b) = _two_output_lambda()
    model = keras.Model(inputs, layers.Add()([a, b]))
    x = numbers(3, 4)

    twin = twin_of(model)

    assert_alike(model, twin, x)
    np.testing.assert_array_equal(outputs(twin, x)[0], (x + 1) + x)


def test_only_the_second_output_of_the_two_output_lambda_is_used():
    inputs, (_, b) = _two_output_lambda()
    model = keras.Model(inputs, layers.Dense(2)(b))

    twin = twin_of(model)

    assert_alike(model, twin, numbers(3, 4))


def test_each_output_without_mask_support_has_its_own_empty_mask():
    inputs, (a, b) = _two_output_lambda()
    model = keras.Model(inputs, Swap()([a, b]))

    twin = twin_of(model)

    made = twin.get_layer("lambda").output
    assert len(made) == 2
    assert [mask_of(tensor) for tensor in made] == [None, None]
    assert [mask_of(tensor) for tensor in twin.outputs] == [None, None]


def test_outputs_in_a_dict_are_all_computed():
    inputs = keras.Input((4,))
    parts = layers.Lambda(lambda x: {"low": x - 1, "high": x + 1, "same": x})(inputs)
    model = keras.Model(inputs, {"sum": layers.Add()([parts["low"], parts["high"]]), "same": parts["same"]})
    x = numbers(3, 4)

    twin = twin_of(model)

    assert_alike(model, twin, x)
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(twin(x)["same"]), x)


# --- masks are propagated to layers that accept one

IDS = np.array([[1, 2, 0, 0], [3, 0, 0, 0]])
OTHER_IDS = np.array([[4, 4, 4, 0], [5, 5, 0, 0]])


def _embedding(*, mask_zero=True):
    return layers.Embedding(10, 1, mask_zero=mask_zero, embeddings_initializer="ones")


def test_mask_of_an_embedding_reaches_a_layer_that_takes_one():
    inputs = keras.Input((4,), dtype="int32")
    model = keras.Model(inputs, MaskedSum()(_embedding()(inputs)))

    twin = twin_of(model)

    assert_alike(model, twin, IDS)
    np.testing.assert_array_equal(outputs(twin, IDS)[0], [[2], [1]])


def test_mask_of_an_embedding_passes_through_layers():
    inputs = keras.Input((4,), dtype="int32")
    x = layers.Dropout(0.5)(layers.Activation("relu")(_embedding()(inputs)))
    model = keras.Model(inputs, layers.LSTM(3)(x))

    twin = twin_of(model)

    padded, cut = np.array([[1, 2, 0, 0]]), np.array([[1, 2]])
    assert_alike(model, twin, padded)
    free = keras.Input((None,), dtype="int32")
    short = keras.Model(free, twin.layers[-1](twin.layers[1](free)))
    np.testing.assert_allclose(outputs(twin, padded)[0], outputs(short, cut)[0], rtol=1e-6)


def test_mask_of_a_masking_layer_is_propagated():
    inputs = keras.Input((4, 2))
    model = keras.Model(inputs, MaskedSum()(layers.Masking(mask_value=9.0)(inputs)))
    x = np.ones((2, 4, 2), "float32")
    x[0, 1] = 9.0

    twin = twin_of(model)

    assert_alike(model, twin, x)
    np.testing.assert_array_equal(outputs(twin, x)[0], [[3, 3], [4, 4]])


def test_masks_of_several_inputs_are_propagated_if_all_are_masked():
    first, second = keras.Input((4,), dtype="int32"), keras.Input((4,), dtype="int32")
    model = keras.Model([first, second], MaskedSums()([_embedding()(first), _embedding()(second)]))

    twin = twin_of(model)

    assert_alike(model, twin, [IDS, OTHER_IDS])
    np.testing.assert_array_equal(outputs(twin, [IDS, OTHER_IDS])[0], [[2, 3], [1, 2]])


@pytest.mark.parametrize("masked", [0, 1])
def test_mask_of_several_inputs_is_propagated_if_one_is_masked(masked):
    first, second = keras.Input((4,), dtype="int32"), keras.Input((4,), dtype="int32")
    embedded = [_embedding(mask_zero=masked == 0)(first), _embedding(mask_zero=masked == 1)(second)]
    model = keras.Model([first, second], MaskedSums()(embedded))
    expected = [[2, 4], [1, 4]] if masked == 0 else [[4, 3], [4, 2]]

    twin = twin_of(model)

    assert_alike(model, twin, [IDS, OTHER_IDS])
    np.testing.assert_array_equal(outputs(twin, [IDS, OTHER_IDS])[0], expected)


def test_masks_of_inputs_passed_as_separate_arguments_reach_each():
    first, second = keras.Input((4,), dtype="int32"), keras.Input((4,), dtype="int32")
    query, value = layers.Embedding(10, 4, mask_zero=True)(first), layers.Embedding(10, 4, mask_zero=True)(second)
    model = keras.Model([first, second], layers.MultiHeadAttention(2, 2)(query, value))
    other_padding = OTHER_IDS.copy()
    other_padding[:, -1] = 7

    twin = twin_of(model)

    assert_alike(model, twin, [IDS, OTHER_IDS])
    assert not np.array_equal(outputs(twin, [IDS, OTHER_IDS])[0], outputs(twin, [IDS, other_padding])[0])


def test_masks_of_a_list_of_inputs_reach_attention():
    first, second = keras.Input((4,), dtype="int32"), keras.Input((4,), dtype="int32")
    embedded = [layers.Embedding(10, 4, mask_zero=True)(first), layers.Embedding(10, 4)(second)]
    model = keras.Model([first, second], layers.Attention()(embedded))

    twin = twin_of(model)

    assert_alike(model, twin, [IDS, OTHER_IDS])


@pytest.mark.parametrize("merge", [layers.Add, layers.Concatenate])
def test_masks_of_several_inputs_are_merged_by_a_layer_that_merges_them(merge):
    first, second = keras.Input((4,), dtype="int32"), keras.Input((4,), dtype="int32")
    merged = merge()([_embedding()(first), _embedding()(second)])
    model = keras.Model([first, second], MaskedSum()(merged))

    twin = twin_of(model)

    assert_alike(model, twin, [IDS, OTHER_IDS])
    assert (mask_of(twin.layers[-2].output) is None) == (mask_of(model.layers[-2].output) is None)


def test_explicit_mask_wins_over_the_implicit_one():
    inputs, mask = keras.Input((4,), dtype="int32"), keras.Input((4,), dtype="bool")
    model = keras.Model([inputs, mask], MaskedSum()(_embedding()(inputs), mask=mask))
    own = np.array([[False, True, True, True], [True, True, True, True]])

    twin = twin_of(model)

    assert_alike(model, twin, [IDS, own])
    np.testing.assert_array_equal(outputs(twin, [IDS, own])[0], [[3], [4]])


def test_mask_computed_in_the_graph_wins_over_the_implicit_one():
    inputs = keras.Input((4,), dtype="int32")
    model = keras.Model(inputs, MaskedSum()(_embedding()(inputs), mask=keras.ops.equal(inputs, 0)))

    twin = twin_of(model)

    assert_alike(model, twin, IDS)
    np.testing.assert_array_equal(outputs(twin, IDS)[0], [[2], [3]])


@pytest.mark.filterwarnings("ignore:Layer 'blind' .*was passed an input with a mask:UserWarning")  # expected here
def test_layer_without_mask_support_neither_gets_nor_propagates_a_mask():
    inputs = keras.Input((4,), dtype="int32")
    model = keras.Model(inputs, MaskedSum()(MaskBlind(name="blind")(_embedding()(inputs))))

    twin = twin_of(model)

    assert_alike(model, twin, IDS)
    assert mask_of(twin.get_layer("blind").output) is None
    np.testing.assert_array_equal(outputs(twin, IDS)[0], [[8], [8]])


class _SplitMask(keras.Layer):
    """A layer with two outputs; only the second has the mask."""

    def call(self, x):
        return [x * 3, x * 2]

    def compute_mask(self, inputs, previous_mask):
        return [None, previous_mask]


def test_list_of_masks_with_none_is_propagated_item_by_item():
    inputs = keras.Input((4,), dtype="int32")
    a, b = _SplitMask(name="split")(_embedding()(inputs))
    model = keras.Model(inputs, [MaskedSum()(a), MaskedSum()(b)])

    twin = twin_of(model)

    assert_alike(model, twin, IDS)
    first, second = twin.get_layer("split").output
    assert mask_of(first) is None
    assert mask_of(second) is not None
    np.testing.assert_array_equal(outputs(twin, IDS)[0], [[12], [12]])
    np.testing.assert_array_equal(outputs(twin, IDS)[1], [[4], [2]])


def test_list_of_masks_with_none_reaches_a_layer_with_several_inputs():
    inputs = keras.Input((4,), dtype="int32")
    model = keras.Model(inputs, MaskedSums()(_SplitMask()(_embedding()(inputs))))

    twin = twin_of(model)

    assert_alike(model, twin, IDS)
    np.testing.assert_array_equal(outputs(twin, IDS)[0], [[12, 4], [12, 2]])


class _MakesMask(keras.Layer):
    """A layer that computes its own mask from a weight."""

    def build(self, shape):
        self.limit = self.add_weight(shape=(), initializer="zeros", name="limit")

    def call(self, x):
        return x

    def compute_mask(self, inputs, previous_mask=None):
        return keras.ops.any(inputs > self.limit, axis=-1)


def test_mask_computed_from_a_weight_follows_the_twins_weight():
    inputs = keras.Input((4, 1))
    model = keras.Model(inputs, MaskedSum()(_MakesMask(name="maker")(inputs)))
    x = np.array([[[1.0], [2.0], [3.0], [-1.0]]], "float32")

    twin = twin_of(model)
    twin.get_layer("maker").limit.assign(1.5)

    np.testing.assert_array_equal(outputs(model, x)[0], [[6]])
    np.testing.assert_array_equal(outputs(twin, x)[0], [[5]])


def test_mask_is_propagated_in_a_sequential_model():
    model = keras.Sequential([keras.Input((4,), dtype="int32"), _embedding(), layers.Dropout(0.1), MaskedSum()])

    twin = twin_of(model)

    assert_alike(model, twin, IDS)
    np.testing.assert_array_equal(outputs(twin, IDS)[0], [[2], [1]])


@pytest.mark.filterwarnings(
    "ignore:Layer 'inner' .*was passed an input with a mask:UserWarning"
)  # models do not propagate masks
def test_mask_is_propagated_into_a_nested_model():
    inner_inputs = keras.Input((4, 1))
    inner = keras.Model(inner_inputs, MaskedSum()(inner_inputs), name="inner")
    inputs = keras.Input((4,), dtype="int32")
    model = keras.Model(inputs, inner(_embedding()(inputs)))

    twin = twin_of(model)

    assert_alike(model, twin, IDS)


# --- a layer is cloned once however often it is called


def test_layer_called_twice_is_one_layer_with_two_calls():
    a, b = keras.Input((4,)), keras.Input((4,))
    shared = layers.Dense(3, name="shared")
    model = scramble(keras.Model([a, b], [shared(a), shared(b)]))

    twin = twin_of(model)

    assert_alike(model, twin, [numbers(2, 4), numbers(2, 4, seed=1)])
    assert len(twin.weights) == 2
    assert len(twin.get_layer("shared")._inbound_nodes) == 2


class _Times(keras.Layer):
    def call(self, x, by=1.0, plus=None):
        return x * by if plus is None else x * by + plus


def test_each_call_of_a_shared_layer_keeps_its_own_arguments():
    inputs = keras.Input((4,))
    times = _Times(name="times")
    model = keras.Model(inputs, [times(inputs, by=3.0), times(inputs), times(inputs, by=2.0, plus=inputs)])
    x = numbers(2, 4)

    twin = twin_of(model)

    assert_alike(model, twin, x)
    np.testing.assert_array_equal(outputs(twin, x)[0], x * np.float32(3))
    np.testing.assert_array_equal(outputs(twin, x)[1], x)
    np.testing.assert_array_equal(outputs(twin, x)[2], x * np.float32(2) + x)


def test_calls_of_a_shared_layer_keep_their_order_for_reordered_outputs():
    inputs = keras.Input((4,))
    times = _Times(name="times")
    first, second, third = times(inputs, by=1.0), times(inputs, by=2.0), times(inputs, by=3.0)
    model = keras.Model(inputs, [third, first, second])

    twin = twin_of(model)

    arguments = [call.arguments.kwargs["by"] for call in twin.get_layer("times")._inbound_nodes]
    assert arguments == [1.0, 2.0, 3.0]
    assert twin.get_layer("times")._inbound_nodes[0].output_tensors[0] is twin.outputs[1]
    assert_alike(model, twin, numbers(2, 4))


def test_layer_called_on_its_own_output_is_one_layer():
    inputs = keras.Input((4,))
    step = layers.Dense(4, activation="tanh", name="step")
    x = inputs
    for _ in range(4):
        x = step(x)
    model = keras.Model(inputs, x)

    twin = twin_of(model)

    assert_alike(model, twin, numbers(2, 4))
    assert len(twin.weights) == 2


def test_layer_shared_inside_and_outside_a_nested_model_is_one_layer():
    shared = layers.Dense(4, name="shared")
    inner_inputs = keras.Input((4,))
    inner = keras.Model(inner_inputs, layers.Activation("tanh")(shared(inner_inputs)), name="inner")
    inputs = keras.Input((4,))
    model = keras.Model(inputs, inner(shared(inputs)))

    twin = twin_of(model)

    assert twin.get_layer("shared") is twin.get_layer("inner").get_layer("shared")
    assert len(twin.weights) == len(model.weights) == 2
    assert_alike(model, twin, numbers(2, 4))


def test_layer_shared_by_two_nested_models_is_one_layer():
    shared = layers.Dense(4, name="shared")
    left = keras.Sequential([keras.Input((4,)), shared], name="left")
    right = keras.Sequential([keras.Input((4,)), shared, layers.Dense(4)], name="right")
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers.Add()([left(inputs), right(inputs)]))

    twin = twin_of(model)

    assert twin.get_layer("left").layers[0] is twin.get_layer("right").layers[0]
    assert_alike(model, twin, numbers(2, 4))


def test_nested_model_called_twice_is_one_model():
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(4)], name="inner")
    a, b = keras.Input((4,)), keras.Input((4,))
    model = keras.Model([a, b], layers.Subtract()([inner(a), inner(b)]))

    twin = twin_of(model)

    assert len(twin.weights) == 2
    assert_alike(model, twin, [numbers(2, 4), numbers(2, 4, seed=1)])


# --- placeholder inputs keep batch shape, dtype, sparse, optional, ragged and name


def _functional(**flags):
    inputs = keras.Input(**flags)
    return keras.Model(inputs, layers.Lambda(lambda x: x)(inputs))


def _sequential(**flags):
    return keras.Sequential([keras.Input(**flags), layers.Lambda(lambda x: x)])


both_kinds = pytest.mark.parametrize("make", [_functional, _sequential])


def _input_facts(model):
    tensor = model.inputs[0]
    layer = tensor._keras_history[0]
    return {
        "tensor": (tensor.shape, tensor.dtype, tensor.sparse, tensor.ragged, tensor.name),
        "layer": (layer.batch_shape, layer.dtype, layer.sparse, layer.ragged, layer.optional, layer.name),
        "config": layer.get_config(),
    }


@both_kinds
@pytest.mark.parametrize(
    "flags",
    [
        {"shape": (4, 5)},
        {"shape": (None, None, 3)},
        {"shape": (4,), "batch_size": 7},
        {"batch_shape": (2, None, 3)},
        {"shape": ()},
        {"shape": (4,), "dtype": "int32"},
        {"shape": (4,), "dtype": "bool"},
        {"shape": (4,), "dtype": "float16"},
        {"shape": (4,), "dtype": "bfloat16"},
        {"shape": (4,), "name": "tokens"},
        {"shape": (4,), "optional": True},
    ],
    ids=str,
)
def test_input_keeps_its_declaration(make, flags):
    model = make(**flags)

    twin = twin_of(model)

    assert _input_facts(twin) == _input_facts(model)
    assert_alike(model, twin)


@both_kinds
def test_optional_input_still_takes_none(make):
    model = make(shape=(4,), optional=True)

    twin = twin_of(model)

    assert twin.inputs[0]._keras_history[0].optional is True


@needs_keras(3, 13, "Keras words the refusal of None for one of several inputs differently")
def test_only_the_optional_input_among_others_takes_none():
    class AddIfThere(keras.Layer):
        def call(self, x, extra=None):
            return x if extra is None else x + extra

    needed, extra = keras.Input((4,), name="needed"), keras.Input((4,), name="extra", optional=True)
    model = keras.Model([needed, extra], AddIfThere()(needed, extra))
    x = numbers(2, 4)

    twin = twin_of(model)

    assert_equal_outputs(model, twin, [x, None])
    assert_equal_outputs(model, twin, [x, x])
    np.testing.assert_array_equal(outputs(twin, [x, None])[0], x)
    with pytest.raises(ValueError, match="is not optional"):
        twin([None, x])


@both_kinds
def test_sparse_input_stays_sparse(make, backend):
    if backend == "torch":
        # Keras has no sparse tensors on torch: there is no such model to clone.
        with pytest.raises(ValueError, match="`sparse=True` is not supported with the torch backend"):
            make(shape=(4,), sparse=True)
        return
    model = make(shape=(4,), sparse=True, name="few")

    twin = twin_of(model)

    assert _input_facts(twin) == _input_facts(model)
    assert twin.inputs[0].sparse is True


def test_sparse_tensor_runs_through_the_twin_as_through_the_original(backend):
    if backend == "torch":
        with pytest.raises(ValueError, match="`sparse=True` is not supported with the torch backend"):
            keras.Input((4,), sparse=True)
        return
    inputs = keras.Input((4,), sparse=True)
    model = keras.Model(inputs, layers.Dense(3)(inputs))
    dense = np.array([[0, 1, 0, 0], [2, 0, 0, 3]], "float32")

    twin = twin_of(model)

    assert_equal_outputs(model, twin, _sparse(dense, backend))


def _sparse(dense, backend):
    if backend == "jax":
        from jax.experimental import sparse

        return sparse.BCOO.fromdense(dense)
    import tensorflow as tf

    return tf.sparse.from_dense(dense)


@both_kinds
def test_ragged_input_stays_ragged(make, backend):
    if backend != "tensorflow":
        # Keras has ragged tensors on TensorFlow only: there is no such model to clone.
        with pytest.raises(ValueError, match=f"`ragged=True` is not supported with the {backend} backend"):
            make(shape=(None, 2), ragged=True)
        return
    model = make(shape=(None, 2), ragged=True, name="uneven")

    twin = twin_of(model)

    assert _input_facts(twin) == _input_facts(model)
    assert twin.inputs[0].ragged is True


def test_ragged_tensor_runs_through_the_twin_as_through_the_original(backend):
    if backend != "tensorflow":
        with pytest.raises(ValueError, match=f"`ragged=True` is not supported with the {backend} backend"):
            keras.Input((None,), ragged=True)
        return
    import tensorflow as tf

    inputs = keras.Input((None,), ragged=True)
    model = keras.Model(inputs, layers.Lambda(lambda x: x * 2)(inputs))
    x = tf.ragged.constant([[1.0, 2.0, 3.0], [4.0]])

    twin = twin_of(model)

    assert twin(x).to_list() == model(x).to_list() == [[2.0, 4.0, 6.0], [8.0]]


def test_input_made_from_a_tensor_keeps_its_position():
    tensor = keras.KerasTensor((2, 3), dtype="int32", name="given")
    inputs = keras.Input(tensor=tensor)
    model = keras.Model(inputs, layers.Lambda(lambda x: x + 1)(inputs))

    twin = twin_of(model)

    assert _input_facts(twin) == _input_facts(model)


# --- the clone has every output of the original, in its structure, and the model's name


def _heads(structure):
    inputs = keras.Input((4,))
    a, b = layers.Dense(2, name="a")(inputs), layers.Dense(3, name="b")(inputs)
    return keras.Model(inputs, structure(inputs, a, b), name="heads")


@pytest.mark.parametrize(
    "structure",
    [
        pytest.param(lambda x, a, b: a, id="one"),
        pytest.param(lambda x, a, b: [a], id="list of one"),
        pytest.param(lambda x, a, b: [a, b], id="list"),
        pytest.param(lambda x, a, b: (a, b), id="tuple"),
        pytest.param(lambda x, a, b: {"second": b, "first": a}, id="dict"),
        pytest.param(lambda x, a, b: {"deep": [a, {"deeper": (b, a)}], "b": b}, id="nested"),
        pytest.param(lambda x, a, b: [a, a, b, a], id="duplicated"),
        pytest.param(lambda x, a, b: [x, a], id="pass-through"),
        pytest.param(lambda x, a, b: x, id="pass-through only"),
        pytest.param(lambda x, a, b: {"x": x, "twice": [x, x]}, id="pass-through twice"),
    ],
)
def test_outputs_keep_their_structure(structure):
    model = _heads(structure)
    x = numbers(2, 4)

    twin = twin_of(model)

    assert_alike(model, twin, x)
    assert twin.name == "heads"
    keras.tree.assert_same_structure(model(x), twin(x))
    if isinstance(model(x), dict):
        assert list(twin(x)) == list(model(x))
    assert twin.output_names == model.output_names
    assert [tensor.name for tensor in twin.outputs] == [tensor.name for tensor in model.outputs]


def test_duplicated_outputs_are_one_tensor_in_the_twin_as_well():
    model = _heads(lambda x, a, b: [a, b, a])

    twin = twin_of(model)

    assert twin.outputs[0] is twin.outputs[2]
    assert twin.outputs[0] is not twin.outputs[1]


def test_pass_through_output_is_the_twins_own_input():
    model = _heads(lambda x, a, b: [x, a])

    twin = twin_of(model)

    assert twin.outputs[0] is twin.inputs[0]
    assert twin.inputs[0] is not model.inputs[0]


@pytest.mark.parametrize("name", ["a_name", "a-b c", "Größe"])
def test_model_keeps_its_name(name):
    model = keras.Sequential([keras.Input((4,)), layers.Dense(2)], name=name)

    twin = twin_of(model)

    assert twin.name == name


def test_object_that_cannot_be_copied_in_the_middle_of_a_model_is_named_and_nothing_is_returned():
    class Reader(keras.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.lines = (line for line in ("a", "b"))

        def call(self, x):
            return x

    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers.Dense(2)(Reader(name="reader")(layers.Dense(4)(inputs))), name="net")
    twin = None

    with pytest.raises(CannotCopyError) as caught:
        twin = ramet.clone(model)

    assert twin is None
    assert caught.value.path == "net.layers[2].lines"
    assert str(caught.value).startswith("Cannot clone 'net': net.layers[2].lines is a generator;")
    assert "layer 'reader' (class Reader)" in str(caught.value)
    assert list(model.get_layer("reader").lines) == ["a", "b"]


def test_one_bad_output_branch_refuses_the_whole_model():
    inputs = keras.Input((4,))
    good, bad = layers.Dense(2, name="good")(inputs), layers.Dense(2, name="bad")(inputs)
    model = keras.Model(inputs, {"good": good, "bad": bad}, name="net")

    with Path(__file__).open(encoding="utf-8") as file:
        model.get_layer("bad").source = file
        with pytest.raises(CannotCopyError) as caught:
            ramet.clone(model)

    assert caught.value.path == f"net.layers[{model.layers.index(model.get_layer('bad'))}].source"


def test_refused_clone_leaves_the_original_unchanged():
    model = keras.Sequential([keras.Input((4,)), layers.Dropout(0.5), layers.Dense(2, name="d")], name="net")
    before, calls = values(model), len(model.get_layer("d")._inbound_nodes)
    model.get_layer("d").stuck = (i for i in range(3))

    with pytest.raises(CannotCopyError):
        ramet.clone(model)

    for ours, then in zip(values(model), before, strict=True):
        np.testing.assert_array_equal(ours, then)
    assert len(model.get_layer("d")._inbound_nodes) == calls
    del model.get_layer("d").stuck
    assert_alike(model, twin_of(model), numbers(2, 4))


# --- a non-model is refused by an error that is both a TypeError and a ValueError

_EXPECTED = "  expected: a Keras model, layer, optimizer or metric, or a list, tuple or dict of them\n"


def test_number_is_refused():
    with pytest.raises(NotAModelError) as caught:
        ramet.clone(42)

    assert str(caught.value) == (
        "Cannot clone 42: it is not a model.\n"
        + _EXPECTED
        + "  found:    42 (class int)\n"
        + "  fix: pass a Keras model, or a list of models."
    )


def test_class_is_refused():
    with pytest.raises(NotAModelError) as caught:
        ramet.clone(keras.Sequential)

    assert str(caught.value) == (
        "Cannot clone the class Sequential: it is not a model.\n"
        + _EXPECTED
        + "  found:    the class Sequential\n"
        + "  fix: pass an instance, Sequential(...)."
    )


def test_function_is_refused():
    def make_model():
        return keras.Sequential()

    with pytest.raises(NotAModelError) as caught:
        ramet.clone(make_model)

    assert str(caught.value) == (
        "Cannot clone the function make_model: it is not a model.\n"
        + _EXPECTED
        + "  found:    the function make_model\n"
        + "  fix: call the function and pass the model it returns."
    )


def test_not_a_model_error_is_a_type_error_and_a_value_error():
    assert issubclass(NotAModelError, RametError)
    for builtin in (TypeError, ValueError):
        with pytest.raises(builtin) as caught:
            ramet.clone(42)
        assert type(caught.value) is NotAModelError


# --- the original is untouched and shares nothing with the clone


def _trained():
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [keras.Input((4,)), layers.Dense(8), layers.BatchNormalization(), layers.Dropout(0.3), layers.Dense(1)]
    )
    model.compile("adam", "mse", metrics=["mae"])
    fit_once(model, numbers(8, 4), numbers(8, 1, seed=1))
    return model


def _assert_values(model, expected):
    for now, then in zip(values(model), expected, strict=True):
        np.testing.assert_array_equal(now, then)


def test_training_either_side_does_not_affect_the_other():
    model = _trained()
    before = values(model)

    twin = twin_of(model)
    fit_once(twin, numbers(8, 4, seed=2), numbers(8, 1, seed=3))

    _assert_values(model, before)
    after = values(twin)
    assert any(not np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    fit_once(model, numbers(8, 4, seed=2), numbers(8, 1, seed=3))
    _assert_values(twin, after)
    assert_equal_values(model, twin)


@pytest.mark.parametrize("side", ["original", "twin"])
def test_resetting_either_side_does_not_affect_the_other(side):
    model = _trained()
    before = values(model)

    twin = twin_of(model)
    changed, other = (model, twin) if side == "original" else (twin, model)
    changed.reset_metrics()
    for variable in [*changed.variables, *changed.optimizer.variables]:
        variable.assign(np.zeros(variable.shape, variable.dtype))

    _assert_values(other, before)
    assert not any(np.any(value) for value in values(changed))


@pytest.mark.parametrize("side", ["original", "twin"])
def test_resetting_the_state_of_an_rnn_on_either_side_does_not_affect_the_other(side):
    model = keras.Sequential([keras.Input(batch_shape=(2, 3, 4)), layers.LSTM(5, stateful=True, name="rnn")])
    model(numbers(2, 3, 4))
    before = values(model)

    twin = twin_of(model)
    changed, other = (model, twin) if side == "original" else (twin, model)
    changed.get_layer("rnn").reset_states()

    _assert_values(other, before)
    assert any(np.any(keras.ops.convert_to_numpy(state)) for state in other.get_layer("rnn").states)
    assert not any(np.any(keras.ops.convert_to_numpy(state)) for state in changed.get_layer("rnn").states)


@pytest.mark.parametrize("side", ["original", "twin"])
def test_deleting_either_side_leaves_the_other_alive_and_leaks_nothing(side):
    inputs = keras.Input((4,))
    shared = Scale(name="shared")
    model = keras.Model(inputs, shared(layers.Dense(3)(shared(inputs))))
    x = numbers(2, 4)
    expected = outputs(model, x)

    twin = twin_of(model)
    gone, left = (model, twin) if side == "original" else (twin, model)
    watched = [weakref.ref(gone), weakref.ref(gone.layers[-1]), weakref.ref(gone.weights[0])]
    del model, twin, gone, inputs, shared
    gc.collect()

    assert [reference() for reference in watched] == [None, None, None]
    np.testing.assert_array_equal(outputs(left, x)[0], expected[0])
    left.compile("sgd", "mse")
    fit_once(left, x, numbers(2, 3))
