"""`splice`: replace everything between two layers by a layer or a model."""

import keras
import pytest
from keras import layers

import ramet
from ramet import edits as e
from tests.edit.expect import assert_edited


def chain(*between):
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, name="a")(x)
    for layer in between:
        y = layer(y)
    return keras.Model(x, layers.Dense(2, name="b")(y), name="chain")


def block(width=3):
    z = keras.Input((3,), name="z")
    y = layers.Dense(width, name="one")(z)
    return keras.Model(z, layers.Dense(3, name="two")(y), name="block")


def middle():
    return layers.Dense(5, name="m1"), layers.ReLU(name="m2"), layers.Dense(3, name="m3")


def test_three_layers_are_replaced_by_one():
    assert_edited(
        chain(*middle()),
        [e.splice("a", "b", lambda old: layers.Dense(3, name="new"))],
        chain(layers.Dense(3, name="new")),
    )


def test_three_layers_are_replaced_by_a_model():
    assert_edited(chain(*middle()), [e.splice("a", "b", lambda old: block())], chain(block()))


def test_layer_can_be_passed_instead_of_a_function():
    assert_edited(
        chain(*middle()), [e.splice("a", "b", layers.Dense(3, name="new"))], chain(layers.Dense(3, name="new"))
    )


def test_function_gets_the_removed_layers():
    seen = []

    def fewer(old):
        seen.extend(old)
        return old[0]

    x = keras.Input((4,), name="x")
    y = layers.Dense(3, name="m1")(layers.Dense(3, name="a")(x))
    expected = keras.Model(x, layers.Dense(2, name="b")(y), name="chain")
    model = chain(layers.Dense(3, name="m1"), layers.ReLU(name="m2"))
    assert_edited(model, [e.splice("a", "b", fewer)], expected)
    assert [layer.name for layer in seen] == ["m1", "m2"]
    assert seen[0] is not model.get_layer("m1")


def test_adjacent_layers_get_an_insertion():
    assert_edited(chain(), [e.splice("a", "b", layers.ELU(name="elu"))], chain(layers.ELU(name="elu")))


def test_name_of_a_removed_layer_can_be_reused():
    assert_edited(
        chain(*middle()), [e.splice("a", "b", lambda old: layers.Dense(3, name="m1"))], chain(layers.Dense(3, name="m1")),
        fresh=["m1/kernel", "m1/bias"],
    )  # fmt: skip


def test_residual_block_is_replaced_with_its_branches():
    def make(body):
        x = keras.Input((4,), name="x")
        y = layers.Dense(3, name="a")(x)
        return keras.Model(x, layers.Dense(2, name="b")(body(y)), name="m")

    def residual(y):
        z = layers.Dense(3, name="left")(y)
        w = layers.Dense(3, name="right")(y)
        return layers.Add(name="sum")([z, w])

    assert_edited(make(residual), [e.splice("a", "b", block())], make(block()))


def test_skip_connection_around_the_block_is_kept():
    def make(body):
        x = keras.Input((4,), name="x")
        y = layers.Dense(3, name="a")(x)
        z = layers.Dense(3, name="b")(body(y))
        return keras.Model(x, layers.Concatenate(name="all")([z, x]), name="m")

    assert_edited(
        make(layers.Dense(3, name="m")), [e.splice("a", "b", layers.ELU(name="elu"))], make(layers.ELU(name="elu"))
    )


def test_block_inside_a_nested_model_is_replaced():
    def make(*between):
        inner = chain(*between)
        x = keras.Input((4,), name="x")
        return keras.Model(x, layers.Softmax(name="p")(inner(x)), name="outer")

    assert_edited(
        make(*middle()), [e.splice("chain/a", "chain/b", layers.ELU(name="elu"))], make(layers.ELU(name="elu"))
    )


def test_block_in_a_sequential_is_replaced():
    def make(*between):
        stack = [keras.Input((4,), name="x"), layers.Dense(3, name="a"), *between, layers.Dense(2, name="b")]
        return keras.Sequential(stack, name="s")

    new = assert_edited(make(*middle()), [e.splice("a", "b", layers.ELU(name="elu"))], make(layers.ELU(name="elu")))
    assert type(new) is keras.Sequential


# Bad input.


def test_layers_of_two_models_are_refused():
    inner = chain(*middle())
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Softmax(name="p")(inner(x)), name="outer")

    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(model, e.splice("chain/a", "p", layers.ELU()))

    assert str(caught.value) == (
        "Cannot splice between 'chain/a' and 'p': they are not in the same graph.\n"
        "  fix: choose two ops of one model, or flatten the model first."
    )


def test_wrong_order_is_refused():
    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(chain(*middle()), e.splice("b", "a", layers.ELU()))

    assert str(caught.value) == (
        "Cannot splice between 'b' and 'a': the second does not depend on the first.\n"
        "  fix: pass the op that comes first in the model as `after`."
    )


def test_several_matches_are_refused():
    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(chain(*middle()), e.splice("m*", "b", layers.ELU()))

    assert str(caught.value) == (
        "Cannot splice: `after` matches 3 ops.\n  found:    'm1', 'm2', 'm3'\n  fix: name one op."
    )


def test_misfit_names_both_layers():
    with pytest.raises(ramet.errors.DoesNotFitError) as caught:
        ramet.edit(chain(*middle()), e.splice("a", "b", layers.Dense(7, name="wide")))

    assert caught.value.summary == "Cannot edit 'chain': 'b' does not accept the output of 'wide'."
    assert caught.value.expected == "(None, 3) from 'm3', as before"
    assert caught.value.found.startswith("(None, 7) from 'wide'; ValueError: ")


def test_output_that_is_used_elsewhere_is_kept():
    def make(body):
        x = keras.Input((4,), name="x")
        y = layers.Dense(3, name="a")(x)
        inside = layers.Dense(3, name="m")(y)
        z = layers.Dense(3, name="b")(body(y, inside))
        return keras.Model(x, [z, layers.Softmax(name="side")(inside)], name="m")

    # Layers in between stay as long as something else uses them.
    assert_edited(
        make(lambda y, inside: inside),
        [e.splice("a", "b", layers.ELU(name="elu"))],
        make(lambda y, inside: layers.ELU(name="elu")(y)),
    )
