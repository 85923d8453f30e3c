"""The five proposals of docs/origins.md, each in a few lines, and a model that each of them clones wrongly."""

import keras
import numpy as np
import pytest
from keras import layers

from tests.support.twins import assert_equal_outputs, outputs, twin_of


class Swap(layers.Layer):
    def call(self, inputs):
        first, second = inputs
        return [second, first]


def founding_model():
    inputs = keras.Input((4,))
    a, b = layers.Lambda(lambda x: [x + 1, x])(inputs)
    return keras.Model(inputs, Swap()([a, b]))


def masked_model():
    # The mask is passed explicitly: an implicit one would be found again by Keras 3 while the model runs.
    tokens = keras.Input((5,), dtype="int32")
    return keras.Model(tokens, layers.LSTM(3)(layers.Embedding(10, 4)(tokens), mask=keras.ops.not_equal(tokens, 0)))


PADDED = np.array([[1, 2, 0, 0, 0], [3, 0, 0, 0, 0]])


def clone_by_calls(model, masks_of):
    """Clone like the function that all proposals repair: call every layer again, in order, and keep outputs and masks.

    `masks_of(layer, outputs)` is what the proposals differ in: the masks of the outputs, as the proposal computes them.
    """
    computed = {}
    for tensor in model.inputs:
        computed[id(tensor)] = keras.Input(batch_shape=tensor.shape, dtype=tensor.dtype)
    for depth in sorted(model._nodes_by_depth, reverse=True):
        for call in model._nodes_by_depth[depth]:
            if call.is_input or not all(id(tensor) in computed for tensor in call.input_tensors):
                continue
            args, kwargs = call.arguments.fill_in(computed)
            kwargs.pop("mask", None)  # recorded, not passed: the proposals compute masks themselves
            found = keras.tree.flatten(call.operation(*args, **kwargs))
            masks = masks_of(call.operation, found)
            for tensor, output, mask in zip(call.outputs, found, masks, strict=False):
                output.__dict__.pop("_keras_mask", None)
                if mask is not None:
                    output._keras_mask = mask
                computed[id(tensor)] = output
    for tensor in model.outputs:
        assert id(tensor) in computed, f"Could not compute output {tensor.name}"
    return keras.Model(computed[id(model.inputs[0])], [computed[id(tensor)] for tensor in model.outputs])


def clone_by_names(model):
    """Clone like the second proposal: link layers by name, with the output of the last layer as the output."""
    linked = {model.inputs[0]._keras_history[0].name: model.inputs[0]}
    for layer in model.layers[1:]:
        source = layer._inbound_nodes[0].input_tensors[0]._keras_history[0].name
        linked[layer.name] = layer(linked[source])
    return keras.Model(model.inputs[0], linked[model.layers[-1].name])


def test_founding_model_has_an_exact_twin():
    model = founding_model()

    assert_equal_outputs(model, twin_of(model), np.ones((2, 4), "float32"))


@pytest.mark.parametrize("proposal", [1, 4])
def test_proposal_that_ignores_masks_gives_wrong_outputs(proposal):
    model = masked_model()
    clone = clone_by_calls(model, lambda layer, found: [None] * len(found))

    assert not np.allclose(outputs(model, PADDED)[0], outputs(clone, PADDED)[0])
    assert_equal_outputs(model, twin_of(model), PADDED)


def test_proposal_that_links_by_name_loses_the_second_call():
    inputs = keras.Input((4,))
    shared = layers.Dense(4)
    model = keras.Model(inputs, shared(layers.Activation("tanh")(shared(inputs))))
    clone = clone_by_names(model)
    x = np.ones((2, 4), "float32")

    assert not np.allclose(outputs(model, x)[0], outputs(clone, x)[0])
    assert_equal_outputs(model, twin_of(model), x)


def test_proposal_with_one_empty_mask_loses_the_second_output():
    model = founding_model()

    def one_none_unless_known(layer, found):
        return [getattr(x, "_keras_mask", None) for x in found] if layer._supports_masking else [None]

    with pytest.raises(AssertionError, match="Could not compute output"):
        clone_by_calls(model, one_none_unless_known)
    assert len(twin_of(model).outputs) == 2


def test_proposal_with_empty_masks_for_every_layer_loses_real_masks():
    model = masked_model()
    clone = clone_by_calls(model, lambda layer, found: [None] * len(found))

    assert not np.allclose(outputs(model, PADDED)[0], outputs(clone, PADDED)[0])
    assert len(clone_by_calls(founding_model(), lambda layer, found: [None] * len(found)).outputs) == 2
