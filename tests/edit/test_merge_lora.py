"""`merge_lora`: add low-rank updates to the weights."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet.errors import EditError
from tests.edit.expect import assert_close, assert_saved, edited, scrambled, value
from tests.support.graph_models import data_for
from tests.support.twins import outputs

CASES = {
    "dense": ((4,), "float32", lambda: layers.Dense(6, name="w")),
    "einsum": ((5, 4), "float32", lambda: layers.EinsumDense("abc,cd->abd", (None, 6), bias_axes="d", name="w")),
    "embedding": ((5,), "int32", lambda: layers.Embedding(6, 4, name="w")),
    "conv1d": ((6, 4), "float32", lambda: layers.Conv1D(6, 2, name="w")),
    "conv2d": ((6, 6, 4), "float32", lambda: layers.Conv2D(6, 2, name="w")),
}


def with_lora(shape, dtype, layer, rank=2, **options):
    x = keras.Input(shape, dtype=dtype, name="x")
    model = keras.Model(x, layer(x), name="m")
    layer.enable_lora(rank, **options)
    return scrambled(model)


@pytest.mark.parametrize("options", [{}, {"lora_alpha": 7}], ids=["plain", "alpha"])
@pytest.mark.parametrize("case", CASES)
def test_each_kind_of_layer_is_merged(case, options):
    shape, dtype, make = CASES[case]
    model = with_lora(shape, dtype, make(), **options)

    new = edited(model, e.merge_lora())

    x = data_for(model)
    assert_close(outputs(new, x), outputs(model, x), 1e-5)
    x = keras.Input(shape, dtype=dtype, name="x")
    expected = keras.Model(x, make()(x), name="m")
    assert ramet.capture(new) == ramet.capture(expected)
    assert_saved(new)


def test_kernel_is_trainable_again():
    model = with_lora((4,), "float32", layers.Dense(6, name="w"))
    assert [v.name for v in model.trainable_variables] == ["bias", "lora_kernel_a", "lora_kernel_b"]

    new = edited(model, e.merge_lora())

    assert [v.name for v in new.trainable_variables] == ["kernel", "bias"]
    new.compile("sgd", "mse", run_eagerly=True)
    before = value(new.get_layer("w").kernel)
    new.fit(np.ones((2, 4), "float32"), np.ones((2, 6), "float32"), verbose=0)
    assert not np.array_equal(value(new.get_layer("w").kernel), before)


def test_attention_projections_are_merged():
    x = keras.Input((5, 4), name="x")
    mha = layers.MultiHeadAttention(2, 3, name="mha")
    model = keras.Model(x, mha(x, x), name="m")
    mha.query_dense.enable_lora(2)
    mha.value_dense.enable_lora(2)
    scrambled(model)

    new = edited(model, e.merge_lora())

    assert not any("lora" in v.path for v in new.variables)
    x = data_for(model)
    assert_close(outputs(new, x), outputs(model, x), 1e-4)
    assert_saved(new)


def test_quantized_layer_is_refused_with_a_fix():
    dense = layers.Dense(6, name="w")
    model = with_lora((4,), "float32", dense)
    dense.quantize("int8")

    with pytest.raises(EditError, match="Cannot merge LoRA into 'w': it is quantized to int8") as caught:
        ramet.edit(model, e.merge_lora())

    assert "e.cast('float32')" in caught.value.fix
    new = edited(edited(model, e.cast("float32")), e.merge_lora())
    x = np.ones((2, 4), "float32")
    assert_close(outputs(new, x), outputs(model, x), 1e-2)


def test_frozen_layer_stays_frozen():
    dense = layers.Dense(6, name="w")
    model = with_lora((4,), "float32", dense)
    dense.trainable = False

    assert edited(model, e.merge_lora()).trainable_variables == []
