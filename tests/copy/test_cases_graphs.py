"""Cases in tests/CASES.md, "Graphs, sharing and nesting"."""

import keras
import numpy as np
import pytest
from keras import layers

from tests.support.cases_models import Scale, Swap, assert_alike, numbers, paths, scramble
from tests.support.twins import assert_equal_outputs, assert_equal_values, fit_once, outputs, same_random_state, twin_of

# --- outputs


@pytest.mark.parametrize("kind", ["dict", "tuple", "duplicated", "pass-through"])
def test_outputs_keep_their_structure(kind):
    inputs = keras.Input((3,))
    a, b = layers.Dense(2)(inputs), layers.Dense(2)(inputs)
    made = {"dict": {"z": a, "b": b}, "tuple": (a, b), "duplicated": [a, a, b], "pass-through": [inputs, a]}[kind]
    model = keras.Model(inputs, made)
    x = numbers(2, 3)

    twin = twin_of(model)

    assert_alike(model, twin, x)
    keras.tree.assert_same_structure(model(x), twin(x))
    keras.tree.assert_same_structure(model.predict(x, verbose=0), twin.predict(x, verbose=0))


# --- sharing


def test_shared_layer_is_copied_once():
    # keras#12202 family
    a, b = keras.Input((3,)), keras.Input((3,))
    shared = layers.Dense(3, name="shared")
    model = keras.Model([a, b], layers.Add()([shared(a), shared(shared(b))]))
    x = [numbers(2, 3), numbers(2, 3, seed=1)]

    twin = twin_of(model)
    twin.get_layer("shared").kernel.assign(np.eye(3))

    assert len(twin.weights) == 2
    np.testing.assert_allclose(outputs(twin, x)[0], x[0] + x[1], rtol=1e-6)


def test_layer_shared_by_an_outer_and_a_nested_model_is_copied_once():
    # keras#20172 (TFF), and the note in Keras' own docs
    shared = layers.Dense(3, name="shared")
    inner_inputs = keras.Input((3,))
    inner = keras.Model(inner_inputs, shared(inner_inputs), name="inner")
    inputs = keras.Input((3,))
    model = scramble(keras.Model(inputs, shared(layers.Activation("relu")(inner(inputs)))))

    twin = twin_of(model)

    assert len(twin.weights) == 2
    assert twin.get_layer("shared") is twin.get_layer("inner").get_layer("shared")
    assert_alike(model, twin, numbers(2, 3))


def test_layer_shared_across_three_levels_is_copied_once():
    # PR#22276
    shared = layers.Dense(3, name="shared")
    deep = keras.Sequential([keras.Input((3,)), shared], name="deep")
    middle_inputs = keras.Input((3,))
    middle = keras.Model(middle_inputs, shared(deep(middle_inputs)), name="middle")
    inputs = keras.Input((3,))
    model = keras.Model(inputs, shared(middle(inputs)))

    twin = twin_of(model)

    one = twin.get_layer("shared")
    assert twin.get_layer("middle").get_layer("shared") is one
    assert twin.get_layer("middle").get_layer("deep").layers[0] is one
    assert_alike(model, twin, numbers(2, 3))


def test_nested_model_that_is_also_an_attribute_is_copied_once():
    inner = keras.Sequential([keras.Input((3,)), layers.Dense(3)], name="inner")
    inputs = keras.Input((3,))
    model = keras.Model(inputs, inner(inputs))
    model.backbone = inner

    twin = twin_of(model)

    assert twin.backbone is twin.get_layer("inner")
    assert_alike(model, twin, numbers(2, 3))


def test_calls_of_a_shared_layer_keep_their_order():
    # `layer.output` refers to the first call.
    inputs = keras.Input((3,))
    shared = layers.Dense(3, name="shared")
    first = shared(inputs)
    second = shared(layers.Activation("relu")(first))
    model = keras.Model(inputs, [second, first])

    twin = twin_of(model)

    nodes = twin.get_layer("shared")._inbound_nodes
    assert [node.output_tensors[0] is tensor for node, tensor in zip(nodes, twin.outputs[::-1], strict=True)] == [
        True,
        True,
    ]
    assert [tensor._keras_history.node_index for tensor in twin.outputs] == [1, 0]
    assert_alike(model, twin, numbers(2, 3))


def test_calls_from_other_models_are_not_copied():
    # A backbone lists the calls of every model it was ever used in.
    shared = layers.Dense(3, name="shared")
    others = [keras.Sequential([keras.Input((3,)), shared]) for _ in range(3)]
    inputs = keras.Input((3,))
    model = keras.Model(inputs, shared(inputs))

    twin = twin_of(model)

    assert len(shared._inbound_nodes) == 4
    assert len(twin.get_layer("shared")._inbound_nodes) == 1
    assert_alike(model, twin, numbers(2, 3))
    assert_equal_outputs(others[0], twin, numbers(2, 3))


# --- unregistered classes


class Unregistered(keras.Layer):
    def __init__(self, by=2.0, **kwargs):
        super().__init__(**kwargs)
        self.by = by

    def build(self, shape):
        self.offset = self.add_weight(shape=(shape[-1],), initializer="random_normal", name="offset")

    def call(self, x):
        return x * self.by + self.offset

    def compute_output_shape(self, shape):
        return shape


def test_unregistered_layer_at_the_top_level_is_copied():
    inputs = keras.Input((3,))
    model = keras.Model(inputs, Unregistered(3.0)(inputs))

    assert_alike(model, twin_of(model), numbers(2, 3))


@pytest.mark.parametrize("kind", ["functional", "sequential"])
def test_unregistered_layer_inside_a_nested_model_is_copied(kind):
    # keras#11413: clone_model has no custom_objects
    inner_inputs = keras.Input((3,))
    custom = Unregistered(3.0, name="custom")
    if kind == "functional":
        inner = keras.Model(inner_inputs, custom(inner_inputs), name="inner")
    else:
        inner = keras.Sequential([inner_inputs, custom], name="inner")
    inputs = keras.Input((3,))
    model = keras.Model(inputs, inner(inputs))

    twin = twin_of(model)

    assert type(twin.get_layer("inner").get_layer("custom")) is Unregistered
    assert_alike(model, twin, numbers(2, 3))


def test_unregistered_layer_inside_time_distributed_is_copied():
    inputs = keras.Input((5, 3))
    model = keras.Model(inputs, layers.TimeDistributed(Unregistered(3.0))(inputs))

    assert_alike(model, twin_of(model), numbers(2, 5, 3))


class UnregisteredCell(keras.Layer):
    state_size = 3
    output_size = 3

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 3), name="kernel")

    def call(self, x, states):
        h = keras.ops.tanh(keras.ops.matmul(x, self.kernel) + states[0])
        return h, [h]


def test_unregistered_cell_inside_a_bidirectional_rnn_is_copied():
    inputs = keras.Input((5, 3))
    with keras.saving.custom_object_scope({"UnregisteredCell": UnregisteredCell}):  # Bidirectional itself needs it
        wrapper = layers.Bidirectional(layers.RNN(UnregisteredCell()))
    model = keras.Model(inputs, wrapper(inputs))

    twin = twin_of(model)

    assert twin.layers[-1].forward_layer is not twin.layers[-1].backward_layer
    assert_alike(model, twin, numbers(2, 5, 3))


# --- wrappers and composite layers


def test_nested_model_inside_time_distributed_is_copied():
    # keras#21120 family
    inner = keras.Sequential([keras.Input((3,)), layers.Dense(4), layers.BatchNormalization()], name="inner")
    inputs = keras.Input((5, 3))
    model = scramble(keras.Model(inputs, layers.TimeDistributed(inner)(inputs)))

    twin = twin_of(model)

    assert twin.layers[-1].layer is not inner
    assert_alike(model, twin, numbers(2, 5, 3))


class Block(keras.Layer):
    """Layers in a list, a dict and an attribute, one of them held twice."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.first = layers.Dense(4, name="first")
        self.many = [layers.Dense(4, name="many_0"), self.first]
        self.named = {"norm": layers.LayerNormalization(name="norm"), "pair": [layers.Dense(4, name="deep")]}

    def call(self, x):
        x = self.first(x)
        for layer in self.many:
            x = layer(x)
        return self.named["pair"][0](self.named["norm"](x))


def test_sublayers_of_a_composite_layer_are_copied_wherever_they_are_held():
    # keras PR#18942, tfmot#638
    inputs = keras.Input((4,))
    model = scramble(keras.Model(inputs, Block(name="block")(inputs)))

    twin = twin_of(model)

    block = twin.get_layer("block")
    assert block.many[1] is block.first
    assert_alike(model, twin, numbers(2, 4))


def test_multi_head_attention_is_copied_with_its_sublayers():
    # keras PR#18942, tfmot#638
    inputs = keras.Input((5, 4))
    model = scramble(keras.Model(inputs, layers.MultiHeadAttention(2, 3, dropout=0.1, name="mha")(inputs, inputs)))

    twin = twin_of(model)

    assert twin.get_layer("mha").query_dense is not model.get_layer("mha").query_dense
    assert_alike(model, twin, numbers(2, 5, 4))


def test_models_nested_two_deep_are_copied():
    # keras#21120 / PR#22276
    deep = keras.Sequential([keras.Input((3,)), layers.Dense(3, name="d")], name="deep")
    middle = keras.Sequential([keras.Input((3,)), deep, layers.Dense(3, name="d")], name="middle")
    model = keras.Sequential([keras.Input((3,)), middle, layers.Dense(3, name="d")], name="outer")

    twin = twin_of(model)

    assert paths(twin) == paths(model)
    assert_alike(model, twin, numbers(2, 3))


# --- calls and their arguments


def test_concatenation_of_one_tensor_is_copied():
    # keras#17700
    inputs = keras.Input((3,))
    model = keras.Model(inputs, layers.Concatenate()([inputs]))

    assert_alike(model, twin_of(model), numbers(2, 3))


class Weighted(keras.Layer):
    def call(self, x, *, weights=None, parts=None, flag=False):
        if weights is not None:
            x = x * weights
        for part in (parts or {}).values():
            x = x + part[0]
        return -x if flag else x


def test_tensor_passed_by_keyword_reaches_the_layer():
    # tf PR#32511
    a, b = keras.Input((3,)), keras.Input((3,))
    model = keras.Model([a, b], Weighted()(a, weights=layers.Dense(3)(b)))

    assert_alike(model, twin_of(model), [numbers(2, 3), numbers(2, 3, seed=1)])


def test_tensors_in_a_structure_passed_by_keyword_reach_the_layer():
    # tf PR#32511
    a, b = keras.Input((3,)), keras.Input((3,))
    made = Weighted()(a, weights=b, parts={"one": [b], "two": (a,)}, flag=True)
    model = keras.Model([a, b], made)
    x, y = numbers(2, 3), numbers(2, 3, seed=1)

    twin = twin_of(model)

    assert_alike(model, twin, [x, y])
    np.testing.assert_array_equal(outputs(twin, [x, y])[0], -((x * y + y) + x))


def test_array_passed_to_a_call_is_independent():
    offset = np.ones(3, "float32")

    class Plus(keras.Layer):
        def call(self, x, offset):
            return x + keras.ops.convert_to_tensor(offset)

    inputs = keras.Input((3,))
    model = keras.Model(inputs, Plus()(inputs, offset=offset))

    twin = twin_of(model)

    assert_alike(model, twin, numbers(2, 3), config=False)


def test_dropout_called_with_training_true_still_drops_when_predicting():
    # Monte Carlo dropout
    inputs = keras.Input((50,))
    model = keras.Model(inputs, layers.Dropout(0.5)(inputs, training=True))
    x = np.ones((2, 50), "float32")

    twin = twin_of(model)

    same_random_state()
    ours = outputs(model, x)[0]
    same_random_state()
    theirs = outputs(twin, x)[0]
    assert (theirs == 0).any()
    np.testing.assert_array_equal(ours, theirs)


def test_backbone_called_with_training_false_is_trained_like_the_original():
    # the idiom for frozen batch normalization
    base = keras.Sequential([keras.Input((3,)), layers.BatchNormalization(name="bn")], name="base")
    inputs = keras.Input((3,))
    model = keras.Model(inputs, layers.Dense(1)(base(inputs, training=False)))
    model.compile("sgd", "mse")

    twin = twin_of(model)
    fit_once(model, numbers(4, 3), numbers(4, 1))
    fit_once(twin, numbers(4, 3), numbers(4, 1))

    assert twin.get_layer("base")._inbound_nodes[0].arguments.kwargs["training"] is False
    assert_equal_values(model, twin)


# --- raw operations


def test_raw_operations_are_copied_with_their_constants():
    # tfmot#1139, tf#44961
    inputs = keras.Input((4, 3))
    x = inputs[:, 0] + 2 * inputs[:, -1] - inputs[:, 1:2][:, 0]
    x = keras.ops.matmul(x, np.arange(6, dtype="float32").reshape(3, 2))
    x = keras.ops.where(x > 0, x, -x)
    model = keras.Model(inputs, keras.ops.concatenate([x, x**2], axis=-1))

    assert_alike(model, twin_of(model), numbers(2, 4, 3), config=False)


def test_constant_of_a_raw_operation_is_independent():
    table = np.ones((3, 2), "float32")
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.ops.matmul(inputs, table))
    x = numbers(2, 3)
    expected = outputs(model, x)[0]

    twin = twin_of(model)
    table[:] = 0

    np.testing.assert_array_equal(outputs(twin, x)[0], expected)


def test_raw_operations_with_several_outputs_are_copied():
    inputs = keras.Input((6,))
    first, second, third = keras.ops.split(inputs, 3, axis=-1)
    values, indices = keras.ops.top_k(inputs, 2)
    model = keras.Model(inputs, [third, first + second, values, indices])

    assert_alike(model, twin_of(model), numbers(2, 6))


def test_variable_used_by_a_raw_operation_is_independent():
    scale = keras.Variable(3.0, name="scale")
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.ops.multiply(inputs, scale))
    x = numbers(2, 3)

    twin = twin_of(model)
    scale.assign(0.0)

    np.testing.assert_array_equal(outputs(twin, x)[0], x * np.float32(3))


# --- models cut from others


def test_model_cut_from_inner_tensors_of_another_is_copied():
    # Stack Overflow: 'graph disconnected'
    inputs = keras.Input((3,))
    hidden = layers.Dense(4, name="hidden")(inputs)
    deep = layers.Dense(5, name="deep")(hidden)
    whole = keras.Model(inputs, layers.Dense(1, name="head")(deep))
    tail = keras.Model(hidden, deep)

    twin = twin_of(tail)

    assert_alike(tail, twin, numbers(2, 4))
    assert [layer.name for layer in twin.layers[1:]] == ["deep"]
    assert len(twin.weights) == 2
    assert len(whole.weights) == 6


def test_feature_extractor_on_an_inner_output_is_copied():
    inputs = keras.Input((3,))
    hidden = layers.Dense(4, name="hidden")(inputs)
    whole = keras.Model(inputs, layers.Dense(1, name="head")(hidden))
    extractor = keras.Model(whole.inputs[0], whole.get_layer("hidden").output)

    twin = twin_of(extractor)

    assert_alike(extractor, twin, numbers(2, 3))
    assert [layer.name for layer in twin._flatten_layers(include_self=False)] == [extractor.layers[0].name, "hidden"]


def test_feature_extractor_can_be_cut_from_the_twin():
    inputs = keras.Input((3,))
    hidden = layers.Dense(4, name="hidden")(inputs)
    model = keras.Model(inputs, layers.Dense(1, name="head")(hidden))
    x = numbers(2, 3)

    twin = twin_of(model)
    cut = keras.Model(twin.inputs[0], twin.get_layer("hidden").output)

    assert cut.layers[-1] is twin.get_layer("hidden")
    np.testing.assert_array_equal(outputs(cut, x)[0], outputs(model.get_layer("hidden"), x)[0])


def test_model_built_on_the_outputs_of_another_is_copied_whole():
    base = keras.Sequential([keras.Input((3,)), layers.Dense(4, name="hidden")], name="base")
    model = keras.Model(base.inputs[0], layers.Dense(2, name="head")(base.outputs[0]))

    twin = twin_of(model)

    assert [layer.name for layer in twin.layers] == [layer.name for layer in model.layers]
    assert_alike(model, twin, numbers(2, 3))


# --- Sequential


def test_sequential_model_without_input_has_the_build_state_of_the_original():
    # innvestigate#88, keras#1765
    model = keras.Sequential([layers.Dense(3), layers.Dense(2)])
    model(numbers(2, 4))

    twin = twin_of(model)

    assert twin.built
    assert_alike(model, twin, numbers(2, 4))


def test_sequential_model_that_was_never_built_stays_unbuilt():
    model = keras.Sequential([layers.Dense(3), layers.Dense(2)])

    twin = twin_of(model)

    assert not twin.built
    assert twin.weights == []
    twin(numbers(2, 4))
    assert twin.built
    assert not model.built


def test_empty_sequential_model_stays_empty_and_can_be_filled():
    model = keras.Sequential(name="empty")

    twin = twin_of(model)
    twin.add(layers.Dense(2))
    twin.build((None, 3))

    assert len(twin.weights) == 2
    assert model.layers == []


def test_adding_and_popping_layers_of_the_twin_does_not_affect_the_original():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(4), layers.Dense(5)])
    x = numbers(2, 3)
    before = outputs(model, x)[0]

    twin = twin_of(model)
    twin.pop()
    twin.add(layers.Dense(7))

    assert outputs(twin, x)[0].shape == (2, 7)
    assert len(model.layers) == len(twin.layers) == 2
    np.testing.assert_array_equal(outputs(model, x)[0], before)


def test_popped_sequential_model_is_copied_in_its_current_state():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(4), layers.Dense(5)])
    model.predict(numbers(2, 3), verbose=0)
    model.pop()

    twin = twin_of(model)

    assert_alike(model, twin, numbers(2, 3))
    assert twin.predict(numbers(2, 3), verbose=0).shape == (2, 4)


def test_sequential_model_with_several_outputs_at_its_end_is_copied():
    model = keras.Sequential([keras.Input((4,)), layers.Lambda(lambda x: [x + 1, x]), Swap()])

    twin = twin_of(model)

    assert_alike(model, twin, numbers(2, 4))


# --- names and cycles


def test_layers_with_the_same_name_at_different_levels_are_not_confused():
    inner = keras.Sequential([keras.Input((3,)), Scale(2.0, name="s")], name="inner")
    inputs = keras.Input((3,))
    model = keras.Model(inputs, Scale(5.0, name="s")(inner(inputs)))

    twin = twin_of(model)

    assert keras.ops.convert_to_numpy(twin.get_layer("s").factor) == 5.0
    assert keras.ops.convert_to_numpy(twin.get_layer("inner").get_layer("s").factor) == 2.0
    assert_alike(model, twin, numbers(2, 3))


def test_layer_that_refers_back_to_its_model_refers_to_the_twin():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, name="d")])
    object.__setattr__(model.get_layer("d"), "owner_box", [lambda: model])

    twin = twin_of(model)

    assert twin.get_layer("d").owner_box[0]() is twin


def test_clone_of_a_clone_is_exact():
    shared = layers.Dense(3, name="shared")
    inputs = keras.Input((3,))
    model = keras.Model(inputs, shared(layers.Lambda(lambda x: [x + 1, x])(shared(inputs))[1]))

    second = twin_of(twin_of(model))

    assert_alike(model, second, numbers(2, 3))
