"""`replace` and `wrap`: another layer in the place of one, or around it."""

import collections

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet import named, of_class
from ramet._keras import structure
from tests.edit.expect import assert_edited, assert_same_numbers, assert_saved, edited, scrambled, value, variables
from tests.support.graph_models import Backbone, Block
from tests.support.reach import assert_independent
from tests.support.state_models import floats


def small(middle=None):
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, name="a")(x)
    y = (middle or layers.ReLU(name="act"))(y)
    return keras.Model(x, layers.Dense(2, name="b")(y), name="small")


def test_layer_is_replaced():
    model = small()

    expected = small(layers.Activation("gelu", name="gelu"))
    assert_edited(model, [e.replace("act", lambda old: layers.Activation("gelu", name="gelu"))], expected)


def test_function_gets_the_layer_of_the_twin():
    model = small()
    seen = []

    def gelu(old):
        seen.append(old)
        return layers.Activation("gelu", name=old.name)

    new = edited(model, e.replace("act", gelu))

    assert [old.name for old in seen] == ["act"]
    assert seen[0] is not model.get_layer("act")
    assert new.get_layer("act").activation is keras.activations.gelu


def test_weights_of_the_same_name_and_shape_are_carried_over():
    model = small()

    x = keras.Input((4,), name="x")
    y = layers.ReLU(name="act")(layers.Dense(3, activation="tanh", name="a")(x))
    expected = keras.Model(x, layers.Dense(2, name="b")(y), name="small")
    assert_edited(model, [e.replace("a", lambda old: layers.Dense(3, activation="tanh", name="a"))], expected)


def test_weights_are_fresh_with_weights_false():
    model = scrambled(small())

    new = edited(model, e.replace("a", lambda old: layers.Dense(3, name="a"), weights=False), seed=1)

    assert not np.array_equal(value(new.get_layer("a").kernel), value(model.get_layer("a").kernel))
    np.testing.assert_array_equal(value(new.get_layer("b").kernel), value(model.get_layer("b").kernel))


def test_another_width_rebuilds_layers_without_weights():
    x = keras.Input((6, 4), name="x")
    y = layers.LSTM(5, return_sequences=True, name="rnn")(x)
    y = layers.GlobalAveragePooling1D(name="pool")(y)
    model = keras.Model(x, y, name="seq")

    x = keras.Input((6, 4), name="x")
    y = layers.Dense(7, name="dense")(x)
    expected = keras.Model(x, layers.GlobalAveragePooling1D(name="pool")(y), name="seq")
    assert_edited(model, [e.replace("rnn", lambda old: layers.Dense(7, name="dense"))], expected)


def test_every_relu_becomes_gelu_at_every_level():
    def make(cls, **kwargs):
        def act(name):
            return cls(name=name, **kwargs)

        inner_in = keras.Input((3,), name="inner_in")
        inner = keras.Model(inner_in, act("act")(layers.Dense(3, name="d")(inner_in)), name="inner")
        middle = keras.Sequential([keras.Input((3,), name="mid_in"), inner, act("act")], name="middle")
        x = keras.Input((4,), name="x")
        return keras.Model(x, act("act")(middle(layers.Dense(3, name="first")(x))), name="deep")

    expected = make(layers.Activation, activation="gelu")
    new = assert_edited(
        make(layers.ReLU),
        [e.replace(of_class(layers.ReLU), lambda old: layers.Activation("gelu", name=old.name))],
        expected,
    )
    assert type(new.get_layer("middle")) is keras.Sequential


def test_sequential_stays_a_sequential():
    def make(act):
        return keras.Sequential(
            [keras.Input((4,), name="x"), layers.Dense(3, name="a"), act, layers.Dense(2, name="b")], name="s"
        )

    new = assert_edited(
        make(layers.ReLU(name="act")),
        [e.replace("act", lambda old: layers.ELU(name="elu"))],
        make(layers.ELU(name="elu")),
    )
    assert type(new) is keras.Sequential
    new.pop()
    assert new.output_shape == (None, 3)


def test_shared_layer_is_replaced_by_one_layer():
    def make(shared):
        x = keras.Input((4,), name="x")
        y = keras.Input((4,), name="y")
        return keras.Model([x, y], layers.Add(name="sum")([shared(x), shared(y)]), name="siamese")

    new = assert_edited(
        make(layers.Dense(3, name="shared")),
        [e.replace("shared", lambda old: layers.Dense(3, activation="tanh", name="shared"))],
        make(layers.Dense(3, activation="tanh", name="shared")),
    )
    assert len(new.weights) == 2


def test_layer_shared_between_levels_stays_shared():
    def make(shared):
        x = keras.Input((4,), name="x")
        inner_in = keras.Input((4,), name="inner_in")
        inner = keras.Model(inner_in, shared(inner_in), name="inner")
        return keras.Model(x, shared(inner(x)), name="outer")

    new = assert_edited(
        make(layers.Dense(4, name="d")),
        [e.replace("d", lambda old: layers.Dense(4, activation="tanh", name="d"))],
        make(layers.Dense(4, activation="tanh", name="d")),
        saves=False,  # Keras cannot load a layer that is shared between levels
    )
    assert new.get_layer("inner").get_layer("d") is new.get_layer("d")


def test_layer_is_replaced_by_a_model():
    def block(name="block"):
        z = keras.Input((4,), name="z")
        return keras.Model(z, layers.Dense(3, name="inside")(z), name=name)

    def make(first):
        x = keras.Input((4,), name="x")
        return keras.Model(x, layers.Dense(2, name="b")(first(x)), name="m")

    assert_edited(make(layers.Dense(3, name="a")), [e.replace("a", lambda old: block())], make(block()))


def test_model_is_replaced_by_a_layer():
    def make(first):
        x = keras.Input((4,), name="x")
        return keras.Model(x, layers.Dense(2, name="b")(first(x)), name="m")

    inner = keras.Sequential([keras.Input((4,), name="z"), layers.Dense(3, name="inside")], name="block")
    assert_edited(
        make(inner), [e.replace("block", lambda old: layers.Dense(3, name="a"))], make(layers.Dense(3, name="a"))
    )


def test_layer_with_several_outputs_is_replaced():
    class Twice(layers.Layer):
        def call(self, pair):
            return pair[0] * 2, pair[1] * 2

    def make(pair):
        x, y = keras.Input((4,), name="x"), keras.Input((3,), name="y")
        a, b = pair((x, y))
        return keras.Model([x, y], [layers.Dense(2, name="a")(a), layers.Dense(2, name="b")(b)], name="two")

    model = make(layers.Identity(name="pair"))
    new = edited(scrambled(model), e.replace("pair", lambda old: Twice(name="twice")))

    x, y = floats(2, 4), floats(2, 3)
    for ours, theirs in zip(new([x, y]), model([x * 2, y * 2]), strict=True):
        np.testing.assert_array_equal(value(ours), value(theirs))


def test_dict_inputs_and_outputs_keep_their_structure():
    def make(act):
        x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
        z = act(layers.Add(name="sum")([x, y]))
        return keras.Model({"x": x, "y": y}, {"z": z, "more": [layers.Dense(2, name="d")(z)]}, name="dicts")

    assert_edited(
        make(layers.ReLU(name="act")),
        [e.replace("act", lambda old: layers.ELU(name="elu"))],
        make(layers.ELU(name="elu")),
    )


# Layers inside layers.


def test_layer_inside_time_distributed_is_replaced():
    def make(inner):
        x = keras.Input((5, 4), name="x")
        return keras.Model(x, layers.TimeDistributed(inner, name="each")(x), name="steps")

    assert_edited(
        make(layers.Dense(3, name="inner")),
        [e.replace("each/inner", lambda old: layers.Dense(3, activation="tanh", name="inner"))],
        make(layers.Dense(3, activation="tanh", name="inner")),
    )


def test_layer_inside_time_distributed_gets_another_width():
    def make(inner):
        x = keras.Input((5, 4), name="x")
        y = layers.TimeDistributed(inner, name="each")(x)
        return keras.Model(x, layers.GlobalAveragePooling1D(name="pool")(y), name="steps")

    new = assert_edited(
        make(layers.Dense(3, name="inner")),
        [e.replace("each/inner", lambda old: layers.Dense(6, name="inner"))],
        make(layers.Dense(6, name="inner")),
    )
    assert new.output_shape == (None, 6)


def test_sequential_inside_time_distributed_is_edited():
    def make(act):
        x = keras.Input((5, 4), name="x")
        inner = keras.Sequential([keras.Input((4,), name="z"), layers.Dense(3, name="d"), act], name="inner")
        return keras.Model(x, layers.TimeDistributed(inner, name="each")(x), name="steps")

    assert_edited(
        make(layers.ReLU(name="act")),
        [e.replace("act", lambda old: layers.ELU(name="act"))],
        make(layers.ELU(name="act")),
    )


def test_projection_inside_attention_would_be_lost_on_save():
    x = keras.Input((5, 4), name="x")
    model = keras.Model(x, layers.MultiHeadAttention(2, 3, name="mha")(x, x), name="attn")

    def other(old):
        return layers.EinsumDense(
            old.equation,
            output_shape=old.partial_output_shape,
            bias_axes=old.bias_axes,
            activation="tanh",
            name="query",
        )

    with pytest.raises(ramet.errors.LostOnSaveError) as caught:
        ramet.edit(model, e.replace("mha/query", other))

    assert str(caught.value) == (
        "Cannot edit 'mha/query': a saved file would lose the edit, because MultiHeadAttention creates its own parts.\n"
        "  found:    recreated from its config, its 'query' has other settings\n"
        "  fix: pass unsaved=True for a model that is used but not saved, or change the class itself."
    )

    new = edited(scrambled(model), e.replace("mha/query", other), unsaved=True)
    by_hand = ramet.clone(model)
    by_hand.get_layer("mha").query_dense.activation = keras.activations.tanh
    assert_same_numbers(new, by_hand)
    assert new.get_layer("mha").query_dense.activation is keras.activations.tanh
    np.testing.assert_array_equal(
        value(new.get_layer("mha").query_dense.kernel), value(model.layers[1].query_dense.kernel)
    )


class Composed(keras.Model):
    """A subclassed model with layers in a list and a dict, made from its config."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.stack = [layers.Dense(4, name=f"stack_{number}") for number in range(3)]
        self.heads = {"a": layers.Dense(2, name="head_a"), "b": layers.Dense(3, name="head_b")}

    def call(self, x):
        for layer in self.stack:
            x = layer(x)
        return {name: head(x) for name, head in self.heads.items()}


class Recent(layers.Layer):
    """A layer that also keeps the layer inside it in a deque."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.inside = layers.Dense(4, name="inside")
        self.recent = collections.deque([self.inside], maxlen=2)

    def call(self, x):
        return self.recent[-1](x)


def test_layer_in_a_deque_is_replaced():
    x = keras.Input((4,), name="x")
    model = scrambled(keras.Model(x, Recent(name="block")(x), name="m"))

    new = edited(
        model,
        e.replace("block/inside", lambda old: layers.Dense(4, activation="tanh", name="inside")),
        unsaved=True,
    )

    block = new.get_layer("block")
    assert block.recent[0] is block.inside
    assert block.recent.maxlen == 2
    x = floats(2, 4)
    np.testing.assert_array_equal(value(new(x)), value(keras.ops.tanh(model(x))))


def test_layers_in_lists_and_dicts_are_replaced():
    model = Composed(name="composed")
    model(floats(2, 4))
    scrambled(model)

    new = edited(
        model,
        e.replace(named("stack_1"), lambda old: layers.Dense(4, activation="tanh", name="stack_1")),
        e.replace(named("head_b"), lambda old: layers.Dense(5, name="head_b")),
        unsaved=True,
    )

    x = floats(2, 4)
    a, b, c = model.stack
    y = c(keras.ops.tanh(b(a(x))))
    got = new(x)
    np.testing.assert_array_equal(value(got["a"]), value(model.heads["a"](y)))
    assert got["b"].shape == (2, 5)
    assert new.stack[1].activation is keras.activations.tanh
    assert [w.path for w in new.weights] == [w.path for w in model.weights]
    assert len(new.weights) == len({id(w) for w in new.weights}) == 10


def test_composite_layer_that_takes_its_parts_saves_them():
    @keras.saving.register_keras_serializable("ramet_tests")
    class Around(layers.Layer):
        def __init__(self, inner, **kwargs):
            super().__init__(**kwargs)
            self.inner = inner

        def build(self, shape):
            if not self.inner.built:  # a file has built it already
                self.inner.build(shape)

        def call(self, x):
            return self.inner(x) * 2

        def get_config(self):
            return {**super().get_config(), "inner": keras.saving.serialize_keras_object(self.inner)}

        @classmethod
        def from_config(cls, config):
            return cls(keras.saving.deserialize_keras_object(config.pop("inner")), **config)

    def make(inner):
        x = keras.Input((4,), name="x")
        return keras.Model(x, Around(inner, name="around")(x), name="m")

    assert_edited(
        make(layers.Dense(3, name="inner")),
        [e.replace("around/inner", lambda old: layers.Dense(5, activation="tanh", name="inner"))],
        make(layers.Dense(5, activation="tanh", name="inner")),
    )


def test_backbone_becomes_a_plain_functional_model():
    model = Backbone(name="backbone")
    model.compile("adam", "mse")
    model.fit(floats(4, 4), floats(4, 2), verbose=0)

    x = keras.Input((4,), name="features")
    y = layers.Dense(3, activation="tanh", name="first")(x)
    expected = keras.Model(x, layers.Dense(2, name="second")(y), name="backbone")
    new = assert_edited(
        model, [e.replace("first", lambda old: layers.Dense(3, activation="tanh", name="first"))], expected
    )

    assert type(new) is type(expected)
    assert new.compiled
    assert int(value(new.optimizer.iterations)) == 1
    new.fit(floats(4, 4), floats(4, 2), verbose=0)


def test_nested_backbone_becomes_plain_and_its_owner_stays():
    def make(inner):
        x = keras.Input((4,), name="x")
        return keras.Model(x, layers.Dense(2, name="head")(inner(x)), name="m")

    x = keras.Input((4,), name="features")
    y = layers.Dense(3, activation="tanh", name="first")(x)
    plain = keras.Model(x, layers.Dense(2, name="second")(y), name="backbone")
    assert_edited(
        make(Backbone(name="backbone")),
        [e.replace("first", lambda old: layers.Dense(3, activation="tanh", name="first"))],
        make(plain),
    )


# Names.


def test_automatic_names_of_new_layers_are_made_unique():
    x = keras.Input((4,), name="x")
    y = layers.ReLU(name="activation")(x)
    model = keras.Model(x, layers.ReLU(name="act_2")(layers.ReLU(name="act_1")(y)), name="m")

    new = edited(model, e.replace(named("act_*"), lambda old: layers.Activation("gelu")))

    names = [layer.name for layer in new.layers]
    assert len(set(names)) == 4
    assert [type(layer).__name__ for layer in new.layers] == ["InputLayer", "ReLU", "Activation", "Activation"]


def test_duplicate_explicit_name_is_refused():
    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(small(), e.replace("act", lambda old: layers.ReLU(name="b")))

    assert str(caught.value) == (
        "Cannot put 'b' at 'act': the graph already has an op of that name.\n"
        "  found:    a new ReLU called 'b'\n"
        "  fix: give the new layer another name, or none: then a free one is chosen."
    )


# A layer instead of a function.


@pytest.mark.parametrize(
    "edit",
    [
        lambda layer: e.replace("act", layer),
        lambda layer: e.insert_before("b", layer),
        lambda layer: e.insert_after("a", layer),
        lambda layer: e.splice("a", "b", layer),
    ],
    ids=["replace", "insert_before", "insert_after", "splice"],
)
def test_each_result_has_its_own_copy_of_a_layer_that_was_passed(edit):
    layer = layers.Dense(3, kernel_initializer="ones", name="new")
    layer.build((None, 3))
    layer.kernel.assign(np.arange(9.0).reshape(3, 3))
    layer.note = ["kept"]
    change = edit(layer)

    one, two = edited(small(), change), edited(small(), change)

    assert_independent(one, two)
    assert_independent(layer, one)
    one.get_layer("new").kernel.assign(np.zeros((3, 3)))
    for unchanged in (two.get_layer("new"), layer):
        np.testing.assert_array_equal(value(unchanged.kernel), np.arange(9.0).reshape(3, 3))
    assert two.get_layer("new").note == ["kept"]


def test_layer_that_was_passed_is_left_as_it_was():
    layer = layers.Dense(3, name="new")

    ramet.edit(small(), e.insert_after("a", layer))

    assert not layer.built
    assert not hasattr(layer, "output")


def test_wrapper_that_was_passed_is_copied_with_the_layer_it_holds():
    model = scrambled(small())
    wrapper = layers.SpectralNormalization(model.get_layer("a"), name="spectral")

    new = edited(model, e.wrap("a", wrapper))

    assert_independent(wrapper, new)
    np.testing.assert_array_equal(value(new.get_layer("spectral").layer.kernel), value(model.get_layer("a").kernel))


def test_layer_passed_for_several_places_is_shared_between_them():
    layer = layers.Dense(3)

    new = edited(small(), e.insert_after(["a", "act"], layer))

    added = [one for one in new.layers if isinstance(one, layers.Dense) and one.name not in "ab"]
    assert [len(structure.calls_made(one)) for one in added] == [2]
    assert added[0] is not layer


def test_layer_of_the_model_itself_is_refused():
    model = small()

    with pytest.raises(ramet.errors.EditError, match="it belongs to the model passed in, which must not change"):
        ramet.edit(model, e.insert_after("b", model.get_layer("act")))


# Wrapping.


def test_wrapper_holds_the_layer_of_the_twin():
    x = keras.Input((5, 4), name="x")
    model = keras.Model(x, layers.LSTM(3, return_sequences=True, name="rnn")(x), name="m")

    x = keras.Input((5, 4), name="x")
    inner = layers.LSTM(3, return_sequences=True, name="rnn")
    expected = keras.Model(x, layers.Bidirectional(inner, name="both")(x), name="m")
    new = edited(scrambled(model), e.wrap("rnn", lambda old: layers.Bidirectional(old, name="both")))

    assert new.output_shape == expected.output_shape == (None, 5, 6)
    assert len(new.weights) == 6
    forward = value(new.get_layer("both").forward_layer.cell.kernel)
    np.testing.assert_array_equal(forward, value(model.get_layer("rnn").cell.kernel))
    np.testing.assert_array_equal(value(new(floats(2, 5, 4)))[..., :3], value(model(floats(2, 5, 4))))
    assert_saved(new)


def test_layer_is_wrapped_in_spectral_normalization():
    def make(wrapped):
        x = keras.Input((4,), name="x")
        return keras.Model(x, wrapped(layers.Dense(3, name="a"))(x), name="m")

    new = assert_edited(
        make(lambda layer: layer),
        [e.wrap("a", lambda old: layers.SpectralNormalization(old, name="sn"))],
        make(lambda layer: layers.SpectralNormalization(layer, name="sn")),
        carried={"sn/a/kernel": "a/kernel", "sn/a/bias": "a/bias"},
    )
    assert "sn/a/kernel" in variables(new)


def test_layer_of_a_subclassed_model_is_wrapped():
    class Holder(keras.Model):
        def __init__(self):
            super().__init__(name="holder")
            self.block = Block(name="block")

        def call(self, x):
            return self.block(x)

    class Twice(layers.Layer):
        def __init__(self, inner, **kwargs):
            super().__init__(**kwargs)
            self.inner = inner

        def call(self, x):
            return self.inner(x) * 2

    model = Holder()
    model(floats(2, 4))
    scrambled(model)

    new = edited(model, e.wrap("block/first", lambda old: Twice(old, name="twice")), unsaved=True)

    x = floats(2, 4)
    np.testing.assert_array_equal(value(new(x)), value(model.block.second(model.block.first(x) * 2)))


def test_wrapper_without_the_layer_is_refused():
    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(small(), e.wrap("a", lambda old: layers.Dense(3)))

    assert str(caught.value) == (
        "Cannot wrap 'a': the new layer does not hold the old one.\n"
        "  found:    a Dense without it\n"
        "  fix: build the wrapper around the layer passed to the function, or use replace."
    )


def test_explicit_mask_is_never_dropped():
    x, mask = keras.Input((5, 4), name="x"), keras.Input((5,), dtype="bool", name="mask")
    model = keras.Model([x, mask], layers.LSTM(4, name="lstm")(x, mask=mask), name="m")

    with pytest.raises(ramet.errors.DoesNotFitError) as caught:
        ramet.edit(model, e.replace("lstm", lambda old: layers.Dense(4, name="dense")))

    assert "mask" in str(caught.value)


def test_weights_that_share_a_name_are_carried_in_their_order():
    class Pair(layers.Layer):
        def build(self, shape):
            self.first = self.add_weight(shape=(shape[-1],), name="w")
            self.second = self.add_weight(shape=(shape[-1],), name="w")

        def call(self, x):
            return x * self.first + self.second

    x = keras.Input((3,), name="x")
    model = keras.Model(x, Pair(name="pair")(x), name="m")
    model.get_layer("pair").set_weights([np.full(3, 2.0), np.full(3, 5.0)])

    new = ramet.edit(model, e.replace("pair", lambda old: Pair(name="other")))

    np.testing.assert_array_equal(value(new(np.ones((1, 3), "float32"))), [[7.0, 7.0, 7.0]])
