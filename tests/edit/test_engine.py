"""`edit` as a whole: invalid edits have their own errors with a fix, nothing is returned half done, and `check=True` works."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet import errors, of_class
from ramet._edit.edits import fold_batchnorm
from tests.edit.expect import edited
from tests.support.graph_models import Tree
from tests.support.state_models import floats
from tests.support.twins import values
from tests.support.versions import as_worded_by_keras


def small():
    x = keras.Input((4,), name="x")
    y = layers.ReLU(name="act")(layers.Dense(3, name="hidden")(x))
    return keras.Model(x, layers.Dense(2, name="logits")(y), name="small")


def refused(model, *edits, kind=errors.EditError):
    """Return the error, and check that the model is not changed."""
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


def test_no_match_names_the_closest_path():
    error = refused(small(), e.freeze("hiden"), kind=errors.RametError)

    assert str(error) == (
        "Cannot find named('hiden') in 'small': no op matches.\n"
        "  closest:  'hidden'\n"
        "  fix: write one of these paths, or list all with print(ramet.capture(model))."
    )
    assert isinstance(error, LookupError)


def test_no_match_is_allowed_with_required_false():
    model = small()

    new = edited(model, e.remove("drop*", required=False), e.replace(of_class("ELU"), lambda old: old, required=False))

    assert ramet.capture(new) == ramet.capture(model)


def test_layer_of_another_model_does_not_match():
    refused(small(), e.freeze(small().get_layer("hidden")), kind=errors.RametError)


def test_layer_of_this_model_matches():
    model = small()
    assert not edited(model, e.freeze(model.get_layer("hidden"))).get_layer("hidden").trainable


# Layers that do not fit.


def test_misfit_replacement_names_both_layers_and_shapes():
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, name="hidden")(x)
    model = keras.Model(x, layers.Dense(2, name="logits")(y), name="small")

    error = refused(model, e.replace("hidden", lambda old: layers.Dense(7, name="wide")), kind=errors.DoesNotFitError)

    assert str(error) == as_worded_by_keras(
        "Cannot edit 'small': 'logits' does not accept the output of 'wide'.\n"
        "  expected: (None, 3) from 'hidden', as before\n"
        "  found:    (None, 7) from 'wide'; ValueError: Input 0 with name 'None' of layer 'logits' is incompatible with "
        "the layer: expected axis -1 of input shape to have value 3, but received input with shape (None, 7)\n"
        "  fix: insert a layer whose output 'logits' accepts, or replace 'logits', too."
    )
    assert error.path == "logits"
    assert isinstance(error, ValueError)


def test_misfit_is_reported_through_layers_that_keep_the_shape():
    error = refused(small(), e.replace("hidden", lambda old: layers.Dense(7, name="wide")), kind=errors.DoesNotFitError)

    assert error.summary == "Cannot edit 'small': 'logits' does not accept the output of 'act'."
    assert error.expected == "(None, 3) from 'act', as before"


def test_new_layer_that_refuses_its_input_is_reported():
    error = refused(
        small(), e.replace("act", lambda old: layers.Conv2D(2, 3, name="conv")), kind=errors.DoesNotFitError
    )

    assert error.summary == "Cannot edit 'small': 'conv' does not accept the output of 'hidden'."
    assert error.expected is None
    assert error.found.startswith("(None, 3) from 'hidden'; ValueError: ")
    assert error.fix == "use a layer that accepts this."


def test_error_inside_a_nested_model_has_the_whole_path():
    x = keras.Input((4,), name="outer_x")
    model = keras.Model(x, small()(x), name="outer")

    error = refused(
        model, e.insert_after("small/hidden", lambda old: layers.Dense(7, name="wide")), kind=errors.DoesNotFitError
    )

    assert error.path == "small/logits"


def test_inserted_layer_that_refuses_its_input_is_reported():
    for edit in (e.insert_before, e.insert_after):
        error = refused(small(), edit("act", lambda old: layers.Conv2D(2, 3, name="conv")), kind=errors.DoesNotFitError)
        assert error.path == "conv"


def test_replacement_with_too_few_outputs_is_refused():
    class Pair(layers.Layer):
        def call(self, x):
            return x, x * 2

    x = keras.Input((4,), name="x")
    a, b = Pair(name="pair")(x)
    model = keras.Model(x, layers.Add(name="sum")([a, b]), name="m")

    error = refused(model, e.replace("pair", lambda old: layers.ReLU(name="one")), kind=errors.RebuildError)

    assert error.summary == "Cannot edit 'm': output 1 of 'pair' is used but missing."
    assert (error.expected, error.found) == ("2 outputs, as in the original", "1")


# Models without a call graph.


def test_calls_of_a_subclassed_model_cannot_be_changed():
    model = Tree(name="tree")
    model.build((None, 4))

    error = refused(model, e.insert_after("head", lambda old: layers.ReLU()), kind=errors.NeedsCallGraphError)

    assert str(error) == (
        "Cannot insert_after 'head': it is called by the code of the model itself, which cannot be changed.\n"
        "  found:    a Tree, which has no call graph\n"
        "  fix: replace or wrap the layer instead, with unsaved=True if its class creates it; or change the class."
    )


def test_calls_inside_a_composite_layer_cannot_be_changed():
    x = keras.Input((5, 4), name="x")
    model = keras.Model(x, layers.MultiHeadAttention(2, 3, name="mha")(x, x), name="m")

    error = refused(model, e.remove("mha/query"), kind=errors.NeedsCallGraphError)

    assert str(error) == (
        "Cannot remove 'mha/query': it is called by the code of 'mha', which cannot be changed.\n"
        "  found:    a MultiHeadAttention, which has no call graph\n"
        "  fix: replace or wrap the layer instead, with unsaved=True if its class creates it; or change the class."
    )


def test_swap_head_needs_a_call_graph_or_a_name():
    model = Tree(name="tree")
    model(floats(2, 4))

    error = refused(model, e.swap_head(7))
    assert error.summary == "Cannot find the head of 'tree': it has no call graph to follow back from its output."


@pytest.mark.parametrize(
    ("edit", "summary"),
    [
        (e.swap_head(4), "Cannot find the head of 'net': it is not built."),
        (e.resize_input((4,)), "Cannot resize the input of 'net': it is not built."),
        (e.remove("b"), "Cannot remove 'b': 'net' is not built, so it makes no calls yet."),
    ],
)
def test_edit_of_calls_asks_to_build_a_sequential_model_first(edit, summary):
    model = keras.Sequential([keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")], name="net")

    with pytest.raises(ramet.errors.RametError) as caught:
        ramet.edit(model, edit)

    assert caught.value.summary == summary
    assert caught.value.fix == "build it first: model.build(input_shape)."


# Conflicting edits.


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
def test_conflicting_edits_are_refused(first, second):
    error = refused(small(), first, second, kind=errors.EditConflictError)

    assert error.summary == f"Cannot edit '{error.path}': two edits would change it."
    assert error.found == f"{first!r} and {second!r}"
    assert error.fix == "select it in only one of them, or edit twice: edit(edit(model, first), second)."


def test_edits_of_different_aspects_are_combined():
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


def test_edit_that_a_file_would_lose_is_refused():
    model = Tree(name="tree")
    model.build((None, 4))

    error = refused(model, e.update("block/first", activation="relu"), kind=errors.LostOnSaveError)

    assert error.summary == (
        "Cannot edit 'block/first': a saved file would lose the edit, because Block creates its own parts."
    )
    assert error.found == "recreated from its config, its 'first' has other settings"
    assert error.fix == "pass unsaved=True for a model that is used but not saved, or change the class itself."

    new = edited(model, e.update("block/first", activation="relu"), unsaved=True)
    assert new.block.first.activation is keras.activations.relu


# Objects that are not an edit, a layer or a model.


def test_object_that_is_not_an_edit_is_refused():
    with pytest.raises(errors.ArgumentError) as caught:
        ramet.edit(small(), "freeze")

    assert str(caught.value) == (
        "Cannot edit with an object of class str: it is not an edit.\n"
        "  expected: edits from ramet.edits, or a recipe\n"
        "  fix: from ramet import edits as e, then for example e.freeze('encoder')."
    )


def test_class_of_an_edit_is_refused():
    with pytest.raises(
        errors.ArgumentError, match="Cannot edit with the class freeze: it is not an edit until it is called"
    ):
        ramet.edit(small(), e.freeze)


def test_file_is_refused_with_the_way_to_load_it():
    with pytest.raises(errors.NotAModelError) as caught:
        ramet.edit("model.keras", e.freeze())

    assert caught.value.fix == "load the file first, or use the command `ramet edit`."


def test_object_that_is_not_a_model_is_refused():
    with pytest.raises(errors.NotAModelError) as caught:
        ramet.edit(keras.optimizers.SGD(), e.freeze())

    assert caught.value.summary == "Cannot edit an object of class SGD: it is not a model or layer."


@pytest.mark.parametrize(
    ("layer", "reason", "found"),
    [
        (lambda old: None, "the function did not return one", "an object of class NoneType"),
        (lambda old: "relu", "the function did not return one", "an object of class str"),
        (layers.ReLU, "it is not a layer", "the class ReLU"),
        ("relu", "it is not a layer", "an object of class str"),
    ],
)
def test_function_that_returns_no_layer_is_refused(layer, reason, found):
    error = refused(small(), e.replace("act", layer))

    assert str(error) == (
        f"Cannot put a layer at 'act': {reason}.\n"
        "  expected: a layer, or a function that takes the old layer and returns a new one\n"
        f"  found:    {found}\n"
        "  fix: pass a function that returns a layer, e.g. lambda old: keras.layers.Activation('gelu')."
    )


def test_layer_of_the_original_is_refused():
    model = small()

    error = refused(model, e.replace("act", lambda old: model.get_layer("hidden")))

    assert str(error) == (
        "Cannot put 'hidden' at 'act': it belongs to the model passed in, which must not change.\n"
        "  fix: use the layer passed to the function, which belongs to the twin, or a clone: ramet.clone(layer)."
    )


def test_input_cannot_be_replaced():
    error = refused(small(), e.replace("x", lambda old: layers.ReLU()))

    assert str(error) == (
        "Cannot replace 'x': it is an input.\n  fix: use resize_input for another shape, or clone the model on other inputs."
    )


def test_nothing_can_be_inserted_before_an_input():
    error = refused(small(), e.insert_before("x", lambda old: layers.ReLU()))

    assert str(error) == "Cannot insert before 'x': nothing comes before an input.\n  fix: insert after it."


def test_error_in_the_users_function_is_raised_unchanged():
    def broken(old):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        ramet.edit(small(), e.replace("act", broken))


# `check=True` runs both models to check edits that preserve the function.


def network():
    x = keras.Input((6, 6, 3), name="x")
    y = layers.Conv2D(4, 3, use_bias=False, name="conv")(x)
    y = layers.ReLU(name="relu")(layers.BatchNormalization(name="bn")(y))
    y = layers.Dropout(0.5, name="drop")(layers.GlobalAveragePooling2D(name="pool")(y))
    return keras.Model(x, layers.Dense(2, activation="softmax", name="head")(y), name="m")


def test_preserving_edits_pass_the_check():
    model = network()

    new = ramet.edit(
        model, e.fold_batchnorm(), e.drop_dropout(), e.split_activation(), e.rename("conv", "first"), check=True
    )

    assert [layer.name for layer in new.layers] == ["x", "first", "relu", "pool", "head", "head_activation"]


def test_edit_that_changes_the_function_is_refused_with_check():
    with pytest.raises(ramet.errors.ArgumentError, match=r"Cannot check remove\(named\('relu'\)\)"):
        ramet.edit(network(), e.flatten(), e.remove("relu"), check=True)


def test_wrong_rewrite_is_caught_by_the_check(monkeypatch):
    monkeypatch.setattr(fold_batchnorm, "scale_and_shift", lambda norm: (2.0, 1.0))
    model = network()

    with pytest.raises(ramet.errors.EditError, match="Cannot edit 'm': the edited model computes something else"):
        ramet.edit(model, e.fold_batchnorm(), check=True)
