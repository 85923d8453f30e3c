"""Masks that Keras found and masks that the user passed, in models made by hand, loaded, and cloned by Keras."""

import keras
import numpy as np
import pytest
from keras import layers, ops

import ramet
from ramet._graph import UNRECORDED, Ref
from tests.support.cases_models import MaskedSum
from tests.support.graph_models import MASKS, Gate, data_for, same_inputs
from tests.support.twins import assert_equal_outputs, outputs

pytestmark = pytest.mark.filterwarnings("ignore:.*was passed an input with a mask attached to it:UserWarning")

# For each model, the calls that take a mask as an argument: position or name, kind, and the call that makes the mask.
KINDS = {
    "embedded_lstm": {"lstm": ("mask", "implicit", "not_equal")},
    "masking_lstm": {"lstm": ("mask", "implicit", "any")},
    "explicit_mask": {"lstm": ("mask", "explicit", "m")},
    "explicit_over_implicit": {"sum": ("mask", "explicit", "m")},
    "mask_of_another_layer": {"sum": ("mask", "explicit", "not_equal")},
    "mask_with_keyword_arguments": {"sum": ("mask", "implicit", "not_equal")},
    "mask_through_a_cast": {},
    "mask_list": {},
    "mask_list_with_a_gap": {},
    "mask_of_two_outputs": {"pair": ("mask", "implicit", "not_equal"), "s1": ("mask", "implicit", "not_equal")},
    "mask_lost_on_the_way": {},
    "mask_blind_pair": {"pair": ("mask", "implicit", "not_equal")},
    "masks_of_attention": {"sum": ("mask", "implicit", "not_equal")},
    "explicit_attention_mask": {"attention": ("attention_mask", "explicit", "allowed")},
    "mask_into_a_nested_model": {"inner": ("mask", "implicit", "not_equal")},
    "mask_inside_a_nested_model": {},
    "supports_masking_by_hand": {"sum": ("mask", "implicit", "not_equal")},
}


def kinds(graph):
    """Return the mask arguments of all calls: op -> (position or name, kind, the call that makes the mask)."""
    return {call.op: (key, kind, call.argument(key).call) for call in graph.calls for key, kind in call.mask_kinds}


def by_class(graph):
    """Return the same without the names of raw operations, which change in a loaded or cloned model."""
    return {
        op: (key, kind, graph.op(graph.call(source).op).class_name) for op, (key, kind, source) in kinds(graph).items()
    }


def custom_objects():
    from tests.support import cases_models, graph_models

    found = vars(cases_models) | vars(graph_models)
    return {name: cls for name, cls in found.items() if isinstance(cls, type) and issubclass(cls, keras.Layer)}


every_mask = pytest.mark.parametrize("name", MASKS)
# A flag set by hand is in no config: a model loaded or cloned by Keras has lost it, and with it the source of the mask.
every_mask_of_a_config = pytest.mark.parametrize("name", sorted(MASKS.keys() - {"supports_masking_by_hand"}))


def test_every_mask_model_is_in_the_table():
    assert KINDS.keys() == MASKS.keys()


@every_mask
def test_kind_of_every_mask_is_captured(name):
    graph = ramet.capture(MASKS[name]())

    assert kinds(graph) == KINDS[name]


@every_mask_of_a_config
def test_kind_of_every_mask_survives_a_file(name, tmp_path):
    model = MASKS[name]()
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras", custom_objects=custom_objects(), safe_mode=False)

    assert by_class(ramet.capture(loaded)) == by_class(ramet.capture(model))


@every_mask_of_a_config
def test_kind_of_every_mask_survives_a_clone_by_keras(name):
    if name == "mask_blind_pair":
        pytest.skip("Keras cannot clone a Lambda layer with a Python lambda")
    model = MASKS[name]()
    with keras.saving.custom_object_scope(custom_objects()):
        cloned = keras.models.clone_model(model)

    assert by_class(ramet.capture(cloned)) == by_class(ramet.capture(model))


@every_mask
def test_rebuilding_keeps_every_mask_and_its_kind(name):
    model = MASKS[name]()

    rebuilt = ramet.clone(model, inputs=same_inputs(model))

    assert kinds(ramet.capture(rebuilt)) == KINDS[name]
    assert ramet.capture(rebuilt) == ramet.capture(model)
    assert_equal_outputs(model, rebuilt, data_for(model))


@every_mask
def test_rebuilding_a_loaded_model_keeps_every_mask(name, tmp_path):
    model = MASKS[name]()
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras", custom_objects=custom_objects(), safe_mode=False)

    rebuilt = ramet.clone(loaded, inputs=same_inputs(loaded))

    assert by_class(ramet.capture(rebuilt)) == by_class(ramet.capture(loaded))
    assert_equal_outputs(model, rebuilt, data_for(model))


def test_every_output_has_its_own_mask_slot():
    graph = ramet.capture(MASKS["mask_of_two_outputs"]())

    assert [value.mask for value in graph.call("pair").outputs] == [Ref("not_equal"), None]


def test_layer_with_two_outputs_and_no_mask_support_has_two_empty_slots():
    graph = ramet.capture(MASKS["mask_blind_pair"]())

    assert [value.mask for value in graph.call("pair").outputs] == [None, None]


def test_mask_that_no_call_makes_is_marked_as_unrecorded():
    graph = ramet.capture(MASKS["mask_through_a_cast"]())

    assert graph.value(Ref("emb")).mask == UNRECORDED


def test_mask_passed_by_position_is_captured_by_position():
    ids = keras.Input((5,), dtype="int32", name="ids")
    x = layers.Embedding(6, 3, name="emb")(ids)
    allowed = ops.not_equal(ids, 3)
    model = keras.Model(ids, MaskedSum(name="sum")(x, allowed))

    graph = ramet.capture(model)

    assert graph.call("sum").mask_kinds == ((1, "explicit"),)
    assert graph.call("sum").mask_kind(1) == "explicit"


def test_mask_of_the_input_passed_by_hand_counts_as_implicit():
    ids = keras.Input((5,), dtype="int32", name="ids")
    x = layers.Embedding(6, 3, mask_zero=True, name="emb")(ids)
    model = keras.Model(ids, Gate(name="gate")(x, factor=0.5, mask=x._keras_mask), name="m")

    rebuilt = ramet.clone(model, inputs=same_inputs(model))

    assert kinds(ramet.capture(model)) == {"gate": ("mask", "implicit", "not_equal")}
    assert ramet.capture(rebuilt) == ramet.capture(model)
    assert_equal_outputs(model, rebuilt, data_for(model))


def test_mask_that_is_both_implicit_and_explicit_stays_one_op():
    ids = keras.Input((5,), dtype="int32", name="ids")
    x = layers.Embedding(6, 3, mask_zero=True, name="emb")(ids)
    y = layers.Embedding(6, 3, name="plain")(ids)
    model = keras.Model(ids, [MaskedSum(name="found")(x), MaskedSum(name="passed")(y, mask=x._keras_mask)], name="m")

    rebuilt = ramet.clone(model, inputs=same_inputs(model))

    assert kinds(ramet.capture(model)) == {
        "found": ("mask", "implicit", "not_equal"),
        "passed": ("mask", "explicit", "not_equal"),
    }
    assert ramet.capture(rebuilt) == ramet.capture(model)
    assert_equal_outputs(model, rebuilt, data_for(model))


def test_mask_computed_by_a_layer_called_with_keyword_arguments_is_not_lost():
    """For another length, the mask must come from the new graph."""
    model = MASKS["mask_with_keyword_arguments"]()

    rebuilt = ramet.clone(model, inputs=keras.Input((7,), dtype="int32", name="ids"))

    x = data_for(rebuilt)
    x[:, 3:] = 0
    alone = outputs(model, x[:, :5])
    assert kinds(ramet.capture(rebuilt)) == {"sum": ("mask", "implicit", "not_equal")}
    assert_close(outputs(rebuilt, x), alone)


@pytest.mark.parametrize("name", ["embedded_lstm", "mask_through_a_cast", "masks_of_attention", "mask_of_two_outputs"])
def test_masks_are_rebuilt_for_another_length(name):
    model = MASKS[name]()

    rebuilt = ramet.clone(model, inputs=keras.Input((None,), dtype="int32", name="ids"))

    x = data_for(model)
    assert kinds(ramet.capture(rebuilt)) == kinds(ramet.capture(model))
    assert_close(outputs(rebuilt, x), outputs(model, x))


def test_implicit_mask_disappears_with_its_embedding():
    model = MASKS["embedded_lstm"]()

    def without_mask(layer):
        if not isinstance(layer, layers.Embedding):
            return layer
        return layers.Embedding(6, 3, name=layer.name)

    edited = ramet.clone_model(model, clone_function=without_mask)

    assert kinds(ramet.capture(edited)) == {}
    assert [call.op for call in ramet.capture(edited).calls] == ["ids", "emb", "lstm"]


def test_implicit_mask_appears_with_a_masking_embedding():
    ids = keras.Input((5,), dtype="int32", name="ids")
    model = keras.Model(ids, layers.LSTM(2, name="lstm")(layers.Embedding(6, 3, name="emb")(ids)))

    def with_mask(layer):
        if not isinstance(layer, layers.Embedding):
            return layer
        return layers.Embedding(6, 3, mask_zero=True, name=layer.name)

    edited = ramet.clone_model(model, clone_function=with_mask)

    assert by_class(ramet.capture(edited)) == {"lstm": ("mask", "implicit", "NotEqual")}


def test_explicit_mask_stays_when_the_layers_around_it_change():
    model = MASKS["explicit_over_implicit"]()

    def without_mask(layer):
        if not isinstance(layer, layers.Embedding):
            return layer
        return layers.Embedding(6, 3, name=layer.name)

    edited = ramet.clone_model(model, clone_function=without_mask, weights="copy")

    assert kinds(ramet.capture(edited)) == {"sum": ("mask", "explicit", "m")}
    assert_equal_outputs(model, edited, data_for(model))


def assert_close(ours, theirs):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.astype("float32"), b.astype("float32"), rtol=1e-5, atol=1e-6)


def test_each_mask_argument_follows_the_tensor_it_belongs_to():
    query, ids = keras.Input((3, 4), name="query"), keras.Input((5,), dtype="int32", name="ids")
    value = layers.Embedding(7, 4, mask_zero=True, name="embed")(ids)
    attention = layers.MultiHeadAttention(2, 3, name="attention")
    model = keras.Model([query, ids], attention(query, value, value_mask=value._keras_mask), name="m")

    rebuilt = ramet.clone(model, inputs=same_inputs(model))

    assert ramet.capture(rebuilt) == ramet.capture(model)
    data = [np.ones((2, 3, 4), "float32"), np.array([[1, 2, 0, 0, 0], [3, 4, 5, 6, 0]])]
    np.testing.assert_array_equal(rebuilt.predict(data, verbose=0), model.predict(data, verbose=0))
