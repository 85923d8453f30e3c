"""`cast`: change the dtype policy at all levels."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet.errors import EditError
from tests.edit.expect import assert_edited, assert_saved, edited, scrambled, value, variables
from tests.support.graph_models import data_for
from tests.support.state_models import floats


def model_of(dtype=None):
    z = keras.Input((3,), name="z")
    inner = keras.Model(z, layers.Dense(3, name="d", dtype=dtype)(z), name="inner")
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, activation="relu", name="a", dtype=dtype)(x)
    y = layers.BatchNormalization(name="bn", dtype=dtype)(inner(y))
    return keras.Model(x, layers.Dense(2, name="b", dtype=dtype)(y), name="m")


def dtypes(model):
    return {str(variable.dtype) for variable in model.weights}


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("policy", ["float64", "mixed_float16"])
def test_every_layer_at_every_level_is_cast(policy):
    tolerance = {"float64": 1e-6, "mixed_float16": 1e-2}[policy]
    new = assert_edited(model_of(), [e.cast(policy)], model_of(policy), tolerance=tolerance)

    assert dtypes(new) == {"float64" if policy == "float64" else "float32"}
    assert new.output.dtype == ("float64" if policy == "float64" else "float16")


@pytest.mark.usefixtures("double")
def test_cast_there_and_back_keeps_the_numbers():
    model = scrambled(model_of())

    new = edited(edited(model, e.cast("float64")), e.cast("float32"))

    assert ramet.capture(new) == ramet.capture(model)
    for path, variable in variables(model).items():
        np.testing.assert_array_equal(value(variable), value(variables(new)[path]))


@pytest.mark.parametrize("policy", ["bfloat16", "mixed_bfloat16", "float16"])
def test_input_specs_are_cast_to_half_precision(policy):
    new = edited(model_of(), e.cast(policy))

    half = policy.removeprefix("mixed_")
    assert new.output.dtype == half
    assert dtypes(new) == ({"float32"} if "mixed" in policy else {half})
    assert {layer.dtype_policy.name for layer in new.get_layer("inner").layers[1:]} == {policy}


def test_only_selected_layers_are_cast():
    new = edited(model_of(), e.cast("mixed_float16", "a"))

    assert new.get_layer("a").dtype_policy.name == "mixed_float16"
    assert new.get_layer("b").dtype_policy.name == "float32"
    assert new.output.dtype == "float32"
    assert_saved(new)


@pytest.mark.usefixtures("double")
def test_layers_inside_a_layer_are_cast_with_it():
    def make(dtype=None):
        x = keras.Input((5, 4), name="x")
        y = layers.MultiHeadAttention(2, 2, name="mha", dtype=dtype)(x, x)
        y = layers.TimeDistributed(layers.Dense(3, name="inner", dtype=dtype), name="each", dtype=dtype)(y)
        return keras.Model(
            x, layers.Bidirectional(layers.LSTM(2, name="rnn", dtype=dtype), name="both", dtype=dtype)(y)
        )

    new = edited(scrambled(make()), e.cast("float64"))

    assert dtypes(new) == {"float64"}
    assert new.output.dtype == "float64"
    x = data_for(new)
    assert str(value(new(x)).dtype) == "float64"
    assert_saved(new)


def attention_with_lora(dtype=None):
    """Return a model to which Keras itself adds LoRA."""
    x = keras.Input((5, 4), name="x")
    y = layers.MultiHeadAttention(2, 3, name="mha", dtype=dtype)(x, x)
    model = keras.Model(x, layers.Dense(2, name="b", dtype=dtype)(y), name="m")
    model.get_layer("mha").query_dense.enable_lora(2, lora_alpha=3)
    return scrambled(model)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "bfloat16"])
def test_lora_inside_a_layer_is_cast_with_it(policy):
    tuned, expected = attention_with_lora(), attention_with_lora(policy)

    new = edited(tuned, e.cast(policy))

    query = new.get_layer("mha").query_dense
    assert (query.lora_rank, query.lora_alpha, query.compute_dtype) == (2, 3, "bfloat16")
    assert facts(new) == facts(expected)
    for weight, other in zip(new.weights, expected.weights, strict=True):
        np.testing.assert_array_equal(as_float32(weight), as_float32(other))
    np.testing.assert_array_equal(as_float32(new(floats(2, 5, 4))), as_float32(expected(floats(2, 5, 4))))


def facts(model):
    return [(weight.path, str(weight.dtype), weight.trainable) for weight in model.weights]


def as_float32(tensor):
    return value(keras.ops.cast(tensor, "float32"))


def test_quantized_layer_with_lora_inside_a_layer_is_cast_with_it():
    x = keras.Input((5, 4), name="x")
    model = keras.Model(x, layers.MultiHeadAttention(2, 3, name="mha")(x, x), name="m")
    small = ramet.edit(model, e.quantize("mha/query"), e.lora("mha/query", rank=2))

    new = edited(small, e.cast("float32"))

    query = new.get_layer("mha").query_dense
    assert (query.quantization_mode, query.lora_rank) == (None, 2)
    np.testing.assert_allclose(value(query.kernel), value(model.get_layer("mha").query_dense.kernel), atol=0.02)


def test_setting_of_a_layer_with_lora_inside_is_updated():
    tuned = attention_with_lora()

    new = edited(tuned, e.update("mha", dropout=0.3))

    assert new.get_layer("mha").get_config()["dropout"] == 0.3
    assert facts(new) == facts(tuned)
    for old, weight in zip(tuned.weights, new.weights, strict=True):
        np.testing.assert_array_equal(value(weight), value(old))


@pytest.mark.usefixtures("double")
def test_optimizer_keeps_its_state():
    model = model_of()
    model.compile(keras.optimizers.Adam(0.1), "mse")
    model.fit(floats(4, 4), floats(4, 2), verbose=0)

    new = edited(model, e.cast("float64"))

    assert int(value(new.optimizer.iterations)) == 1
    old, now = (one.optimizer._momentums[0] for one in (model, new))
    np.testing.assert_allclose(value(old), value(now), rtol=1e-6)
    new.fit(floats(4, 4).astype("float64"), floats(4, 2).astype("float64"), verbose=0)


def test_policy_can_be_passed_as_an_object():
    new = edited(model_of(), e.cast(keras.DTypePolicy("mixed_float16")))
    assert new.get_layer("a").dtype_policy.name == "mixed_float16"


QUANTISED = [
    *("int8", "int8_from_float32", "int4_from_float32", "float8_from_float32", "int8_from_mixed_bfloat16"),
    keras.dtype_policies.QuantizedDTypePolicy("int8", "float32"),
    keras.dtype_policies.DTypePolicyMap("float32", {"a": keras.dtype_policies.QuantizedDTypePolicy("int4", "float32")}),
    keras.dtype_policies.serialize(keras.dtype_policies.QuantizedDTypePolicy("int8", "float32")),
]


@pytest.mark.parametrize("verb", ["cast", "update"])
@pytest.mark.parametrize(
    "policy", QUANTISED, ids=lambda policy: type(policy).__name__ if not isinstance(policy, str) else policy
)
def test_quantizing_policy_is_refused_and_the_right_edit_suggested(policy, verb):
    """Such a policy would round the weights to integers."""
    model = scrambled(model_of())
    before = [value(v) for v in model.variables]
    edit = e.cast(policy) if verb == "cast" else e.update("a", dtype=policy)

    for act in (ramet.plan, ramet.edit):
        with pytest.raises(EditError, match="round the weights instead of quantizing") as caught:
            act(model, edit)

    assert caught.value.fix.startswith("use e.quantize(selector, ")
    for old, now in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(old, value(now))


@pytest.mark.parametrize("policy", ["int32", "uint8", "bool"])
def test_weights_are_not_rounded_to_integers(policy):
    with pytest.raises(EditError, match=r"rounded to integers|no such dtype policy"):
        ramet.edit(model_of(), e.cast(policy))


def test_map_of_float_policies_is_accepted():
    policy = keras.dtype_policies.DTypePolicyMap("float32", {"a": keras.DTypePolicy("mixed_float16")})

    new = edited(model_of(), e.cast(policy))

    assert new.get_layer("a").compute_dtype == "float16"
    assert new.get_layer("b").compute_dtype == "float32"
    assert value(new(floats(2, 4))).dtype == "float32"


@pytest.mark.parametrize("policy", ["float33", "mixed_float", 3])
def test_unknown_policy_is_refused(policy):
    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(model_of(), e.cast(policy))

    assert caught.value.summary == f"Cannot cast to {policy!r}: Keras has no such dtype policy."
    assert caught.value.fix == (
        "pass a name like 'mixed_bfloat16', 'float16', 'float64', or a keras.dtype_policies.DTypePolicy."
    )


def test_layer_that_cannot_be_recreated_is_refused_and_transfer_suggested():
    class Forgetful(layers.Layer):
        def __init__(self, units, **options):
            super().__init__(**options)
            self.dense = layers.Dense(units, dtype=self.dtype_policy)

        def call(self, x):
            return self.dense(x)

        def get_config(self):  # without the units
            return super().get_config()

    x = keras.Input((4,), name="x")
    model = keras.Model(x, Forgetful(3, name="own")(x))
    with pytest.raises(EditError, match="cannot be made from its config") as caught:
        ramet.edit(model, e.cast("float16"), unsaved=True)
    assert any("ramet.transfer(model, new)" in note for note in caught.value.__notes__)


@pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="only JAX replaces 64 bits by 32; the run on JAX covers it"
)
def test_double_precision_is_refused_if_jax_is_not_configured_for_it():
    for edit in (e.cast("float64"), e.update("a", dtype="float64")):
        with pytest.raises(ramet.errors.EditError, match="jax is not configured for float64 and would use fewer bits"):
            ramet.edit(model_of(), edit)
