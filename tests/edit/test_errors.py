"""Bad input: each has its own error with a way out, and nothing is returned half done."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet import errors, of_class
from tests.edit.expect import edited
from tests.support.graph_models import Tree
from tests.support.state_models import floats
from tests.support.twins import values
from tests.support.versions import in_words_of_keras


def small():
    x = keras.Input((4,), name="x")
    y = layers.ReLU(name="act")(layers.Dense(3, name="hidden")(x))
    return keras.Model(x, layers.Dense(2, name="logits")(y), name="small")


def refused(model, *edits, kind=errors.EditError):
    """The error; the model is as it was."""
    before = ramet.capture(model), values(model)
    with pytest.raises(kind) as caught:
        ramet.edit(model, *edits)
    assert ramet.capture(model) == before[0]
    for old, now in zip(before[1], values(model), strict=True):
        np.testing.assert_array_equal(old, now)
    with pytest.raises(errors.RametError):
        raise caught.value
    return caught.value


# No match.


def test_no_match_names_the_closest():
    error = refused(small(), e.freeze("hiden"), kind=errors.RametError)

    assert str(error) == (
        "Cannot find named('hiden') in 'small': no op matches.\n"
        "  closest:  'hidden'\n"
        "  fix: write one of these paths, or list all with print(ramet.capture(model))."
    )
    assert isinstance(error, LookupError)


def test_no_match_is_allowed_when_it_is_said():
    model = small()

    new = edited(model, e.remove("drop*", required=False), e.replace(of_class("ELU"), lambda old: old, required=False))

    assert ramet.capture(new) == ramet.capture(model)


def test_a_layer_of_another_model_does_not_match():
    refused(small(), e.freeze(small().get_layer("hidden")), kind=errors.RametError)


def test_a_layer_of_this_model_does():
    model = small()
    assert not edited(model, e.freeze(model.get_layer("hidden"))).get_layer("hidden").trainable


# What does not fit.


def test_a_replacement_that_does_not_fit_its_consumers_names_both_sides_and_shapes():
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, name="hidden")(x)
    model = keras.Model(x, layers.Dense(2, name="logits")(y), name="small")

    error = refused(model, e.replace("hidden", lambda old: layers.Dense(7, name="wide")), kind=errors.DoesNotFitError)

    assert str(error) == in_words_of_keras(
        "Cannot edit 'small': 'logits' does not take what 'wide' gives.\n"
        "  expected: (None, 3) from 'hidden', as before\n"
        "  found:    (None, 7) from 'wide'; ValueError: Input 0 with name 'None' of layer 'logits' is incompatible with "
        "the layer: expected axis -1 of input shape to have value 3, but received input with shape (None, 7)\n"
        "  fix: put in what 'logits' takes, or replace 'logits', too."
    )
    assert error.path == "logits"
    assert isinstance(error, ValueError)


def test_through_what_only_passes_it_on():
    error = refused(small(), e.replace("hidden", lambda old: layers.Dense(7, name="wide")), kind=errors.DoesNotFitError)

    assert error.summary == "Cannot edit 'small': 'logits' does not take what 'act' gives."
    assert error.expected == "(None, 3) from 'act', as before"


def test_a_new_layer_that_does_not_take_what_is_there():
    error = refused(
        small(), e.replace("act", lambda old: layers.Conv2D(2, 3, name="conv")), kind=errors.DoesNotFitError
    )

    assert error.summary == "Cannot edit 'small': 'conv' does not take what 'hidden' gives."
    assert error.expected is None
    assert error.found.startswith("(None, 3) from 'hidden'; ValueError: ")
    assert error.fix == "put in a layer that takes this."


def test_inside_a_nested_model_the_path_says_where():
    x = keras.Input((4,), name="outer_x")
    model = keras.Model(x, small()(x), name="outer")

    error = refused(
        model, e.insert_after("small/hidden", lambda old: layers.Dense(7, name="wide")), kind=errors.DoesNotFitError
    )

    assert error.path == "small/logits"


def test_an_inserted_layer_that_refuses_what_is_there():
    for edit in (e.insert_before, e.insert_after):
        error = refused(small(), edit("act", lambda old: layers.Conv2D(2, 3, name="conv")), kind=errors.DoesNotFitError)
        assert error.path == "conv"


def test_fewer_outputs_than_are_used():
    class Pair(layers.Layer):
        def call(self, x):
            return x, x * 2

    x = keras.Input((4,), name="x")
    a, b = Pair(name="pair")(x)
    model = keras.Model(x, layers.Add(name="sum")([a, b]), name="m")

    error = refused(model, e.replace("pair", lambda old: layers.ReLU(name="one")), kind=errors.RebuildError)

    assert error.summary == "Cannot edit 'm': output 1 of 'pair' could not be computed."
    assert (error.expected, error.found) == ("2 outputs, as the original has", "1")


# Where there is no call graph.


def test_calls_of_a_subclassed_model_cannot_be_changed():
    model = Tree(name="tree")
    model.build((None, 4))

    error = refused(model, e.insert_after("head", lambda old: layers.ReLU()), kind=errors.NeedsCallGraphError)

    assert str(error) == (
        "Cannot insert_after 'head': it is called by the code of the model itself, and that cannot be changed.\n"
        "  found:    a Tree, which has no call graph\n"
        "  fix: replace or wrap the layer instead, e.g. wrap it in a layer that does both."
    )


def test_calls_inside_a_composite_layer_cannot_be_changed():
    x = keras.Input((5, 4), name="x")
    model = keras.Model(x, layers.MultiHeadAttention(2, 3, name="mha")(x, x), name="m")

    error = refused(model, e.remove("mha/query"), kind=errors.NeedsCallGraphError)

    assert str(error) == (
        "Cannot remove 'mha/query': it is called by the code of 'mha', and that cannot be changed.\n"
        "  found:    a MultiHeadAttention, which has no call graph\n"
        "  fix: replace or wrap the layer instead, e.g. wrap it in a layer that does both."
    )


def test_swap_head_needs_a_call_graph_or_a_name():
    model = Tree(name="tree")
    model(floats(2, 4))

    error = refused(model, e.swap_head(7))
    assert error.summary == "Cannot find the head of 'tree': it has no call graph to follow back from its output."


# Edits that fight.


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (e.remove("act"), e.replace("act", lambda old: layers.ELU())),
        (e.update("hidden", activation="relu"), e.update("hidden", activation="gelu")),
        (e.rename("hidden", "one"), e.rename("hidden", "two")),
        (e.remove("act"), e.rename("act", "one")),
        (e.swap_head(3), e.update("logits", units=4)),
        (e.resize_input((5,)), e.resize_input((6,))),
        (e.cast("bfloat16"), e.cast("float16")),
    ],
    ids=lambda edit: edit.kind,
)
def test_two_edits_that_fight_over_one_layer(first, second):
    error = refused(small(), first, second, kind=errors.EditConflictError)

    assert error.summary == f"Cannot edit '{error.path}': two edits would change it."
    assert error.found == f"{first!r} and {second!r}"
    assert error.fix == "select it in one of them only, or edit twice: edit(edit(model, first), second)."


def test_edits_of_different_things_do_not_fight():
    new = edited(
        small(),
        e.update("hidden", activation="tanh"),
        e.update("hidden", use_bias=False),
        e.rename("hidden", "first"),
        e.insert_after("hidden", lambda old: layers.LayerNormalization(name="norm")),
        e.freeze("hidden"),
    )

    layer = new.get_layer("first")
    assert (layer.activation.__name__, layer.use_bias, layer.trainable) == ("tanh", False, False)
    assert [one.name for one in new.layers] == ["x", "first", "norm", "act", "logits"]


# Lost on save.


def test_a_change_that_a_file_would_not_keep():
    model = Tree(name="tree")
    model.build((None, 4))

    error = refused(model, e.update("block/first", activation="relu"), kind=errors.LostOnSaveError)

    assert error.summary == (
        "Cannot edit 'block/first': a saved file would not keep it, because Block makes its parts itself."
    )
    assert error.found == "made again from its config, its 'first' has other settings"
    assert error.fix == "pass unsaved=True for a model that is used but not saved, or write the change into the class."

    new = edited(model, e.update("block/first", activation="relu"), unsaved=True)
    assert new.block.first.activation is keras.activations.relu


# What is no edit, no layer, no model.


def test_what_is_no_edit():
    with pytest.raises(errors.ArgumentError) as caught:
        ramet.edit(small(), "freeze")

    assert str(caught.value) == (
        "Cannot edit with an object of class str: it is no edit.\n"
        "  expected: edits, as the functions of ramet.edits make them, or a recipe\n"
        "  fix: from ramet import edits as e, then for example e.freeze('encoder')."
    )


def test_what_is_no_model():
    with pytest.raises(errors.NotAModelError) as caught:
        ramet.edit(keras.optimizers.SGD(), e.freeze())

    assert caught.value.summary == "Cannot edit an object of class SGD: it is not a model or layer."


@pytest.mark.parametrize(
    ("layer", "found"),
    [
        (lambda old: None, "an object of class NoneType"),
        (lambda old: "relu", "an object of class str"),
        (layers.ReLU, "the class ReLU"),
        ("relu", "an object of class str"),
    ],
)
def test_what_makes_no_layer(layer, found):
    error = refused(small(), e.replace("act", layer))

    assert str(error) == (
        "Cannot put anything at 'act': what was given makes no layer.\n"
        "  expected: a function that takes the old layer and returns a new one\n"
        f"  found:    {found}\n"
        "  fix: return a layer, e.g. lambda old: keras.layers.Activation('gelu')."
    )


def test_a_layer_of_the_model_passed_in():
    model = small()

    error = refused(model, e.replace("act", lambda old: model.get_layer("hidden")))

    assert str(error) == (
        "Cannot put 'hidden' at 'act': it belongs to the model passed in, which is not changed.\n"
        "  fix: use the layer that the function is given, which is the twin's, or a clone: ramet.clone(layer)."
    )


def test_an_input_cannot_be_replaced():
    error = refused(small(), e.replace("x", lambda old: layers.ReLU()))

    assert str(error) == (
        "Cannot replace 'x': it is an input.\n  fix: use resize_input for another shape, or clone the model on other inputs."
    )


def test_nothing_comes_before_an_input():
    error = refused(small(), e.insert_before("x", lambda old: layers.ReLU()))

    assert str(error) == "Cannot insert before 'x': nothing comes before an input.\n  fix: insert after it."


def test_an_error_in_the_users_function_comes_through():
    def broken(old):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        ramet.edit(small(), e.replace("act", broken))
