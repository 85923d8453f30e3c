"""`quantize` compared with Keras' own `quantize` on a plain copy, and dequantization by `cast`."""

import gc
import warnings

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet import named, of_class
from ramet.errors import CannotCopyError, EditConflictError, EditError, LostOnSaveError, RebuildError
from tests.edit.expect import assert_saved, edited, value, variables
from tests.support.graph_models import Tree
from tests.support.state_models import floats

MODES = ["int8", "int4", "float8"]


def mixed():
    """Layers that Keras can quantize at every kind of position, and some that it cannot."""
    tokens = keras.Input((5,), dtype="int32", name="t")
    y = layers.Embedding(7, 4, name="emb")(tokens)
    y = layers.MultiHeadAttention(2, 3, name="mha")(y, y)
    y = layers.TimeDistributed(layers.Dense(4, name="td"), name="each")(y)
    z = keras.Input((5, 4), name="z")
    ein = layers.EinsumDense("abc,cd->abd", (None, 4), bias_axes="d", name="ein")
    inner = keras.Model(z, ein(z), name="inner")
    y = inner(inner(y))
    y = layers.LayerNormalization(name="norm")(layers.Conv1D(3, 2, name="conv")(y))
    y = layers.GlobalAveragePooling1D(name="pool")(y)
    return keras.Model(tokens, layers.Dense(2, name="head")(y), name="mixed")


def small(**options):
    x = keras.Input((4,), name="x")
    y = layers.Dense(6, activation="relu", name="a", **options)(x)
    return keras.Model(x, layers.Dense(3, name="b", **options)(y), name="small")


def trained(model):
    model.compile(keras.optimizers.Adam(0.1), "mse", run_eagerly=True)
    model.fit(*data(model), verbose=0)
    return model


def data(model):
    x = model.inputs[0]
    shape = (4, *x.shape[1:])
    inputs = np.arange(np.prod(shape)).reshape(shape) % 7 if "int" in str(x.dtype) else floats(*shape)
    return inputs, floats(4, *model.output_shape[1:])


def outputs(model):
    return value(model(data(model)[0]))


def quantized_by_keras(model, mode):
    """Return a copy that is quantized without edits, as the expected result."""
    plain = ramet.clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain.quantize(mode)
    return plain


def assert_same_variables(ours, theirs):
    """Check for equal paths, dtypes, flags and bits; a loaded layer lists its variables in another order."""
    first, second = variables(ours), variables(theirs)
    facts = [{p: (str(v.dtype), tuple(v.shape), v.trainable) for p, v in one.items()} for one in (first, second)]
    assert facts[0] == facts[1]
    for path, variable in first.items():
        if "seed_generator" not in path:
            np.testing.assert_array_equal(value(variable), value(second[path]), err_msg=path)


@pytest.mark.parametrize("mode", MODES)
def test_variables_and_outputs_are_those_of_keras(mode):
    model = trained(mixed())
    expected = quantized_by_keras(model, mode)

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # Keras warns about every layer that has no quantize method
        new = edited(model, e.quantize(mode=mode))

    assert_same_variables(new, expected)
    np.testing.assert_array_equal(outputs(new), outputs(expected))


@pytest.mark.parametrize("mode", MODES)
def test_saved_model_loads_without_ramet(mode, tmp_path):
    new = edited(mixed(), e.quantize(mode=mode))

    new.save(tmp_path / "new.keras")
    loaded = keras.models.load_model(tmp_path / "new.keras")

    assert_same_variables(loaded, new)
    np.testing.assert_array_equal(outputs(loaded), outputs(new))


def test_optimizer_keeps_the_slots_of_trained_variables():
    model = trained(mixed())

    new = edited(model, e.quantize())

    kept = {v.path for v in new.trainable_variables}
    assert kept == {v.path for v in quantized_by_keras(model, "int8").trainable_variables}
    assert int(value(new.optimizer.iterations)) == 1
    slots = {v.path.rsplit("/", 1)[-1]: v for v in model.optimizer.variables}
    for slot in new.optimizer.variables[2:]:
        np.testing.assert_array_equal(value(slot), value(slots[slot.path.rsplit("/", 1)[-1]]), err_msg=slot.path)
    before = value(new.get_layer("head").bias)
    new.fit(*data(new), verbose=0)
    assert not np.array_equal(value(new.get_layer("head").bias), before)


def test_garbage_collection_by_keras_visits_only_new_objects(monkeypatch):
    monkeypatch.setattr(gc, "collect", gc.collect.__wrapped__)  # as Keras calls it outside of these tests
    gc.unfreeze()
    frozen = []
    gc.callbacks.append(
        lambda phase, info: (
            frozen.append(gc.get_freeze_count()) if (phase, info["generation"]) == ("start", 2) else None
        )
    )
    try:
        edited(small(), e.quantize())
    finally:
        gc.callbacks.pop()

    assert len(frozen) >= 2
    assert all(frozen)
    assert gc.get_freeze_count() == 0


def test_only_selected_layers_and_layers_inside_are_quantized():
    model = mixed()

    new = edited(model, e.quantize(["mha", "each"]))

    quantized = {layer.path for layer in new._flatten_layers() if layer.quantization_mode is not None}
    parts = ("query", "key", "value", "attention_output")
    assert quantized == {*(f"mha/{part}" for part in parts), new.get_layer("each").layer.path}


def test_plan_lists_quantized_and_skipped_layers():
    model = mixed()
    model.get_layer("emb").quantize("int8")

    step = ramet.plan(model, e.quantize()).steps[0]

    assert [touch.path for touch in step.touched] == [
        *(f"mha/{part}" for part in ("query", "key", "value", "attention_output")),
        "each/td",
        "inner/ein",
        "head",
    ]
    assert step.touched[-1].what == "Dense, quantized to int8"
    assert [(skip.path, skip.reason) for skip in step.skipped] == [
        ("emb", "already quantized to int8"),
        ("conv", "Conv1D has no quantize method"),
        ("norm", "LayerNormalization has no quantize method"),
    ]
    assert "DTypePolicyMap" in step.notes[0]


def test_shared_layer_is_quantized_once():
    x = keras.Input((4,), name="x")
    shared = layers.Dense(4, name="shared")
    model = keras.Model(x, shared(shared(x)), name="twice")

    new = edited(model, e.quantize())

    assert_same_variables(new, quantized_by_keras(model, "int8"))
    assert len(ramet.plan(model, e.quantize()).steps[0].touched) == 1
    assert_saved(new)


class Halved(layers.Dense):
    """A subclass of Dense without a quantize method."""


class Own(layers.Layer):
    """A layer with its own quantize method, which supports one mode."""

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")

    def call(self, x):
        return x * self.scale

    def quantize(self, mode=None, type_check=True, config=None):
        if mode != "int8":
            raise NotImplementedError("int8 only")
        self.scale.assign(keras.ops.round(self.scale))

    def quantized_call(self, x):
        return self.call(x)


@pytest.mark.parametrize(
    ("layer", "mode", "reason"),
    [
        (lambda: Halved(3, name="d"), "int8", "Halved is a subclass of Dense without its own quantize method"),
        (lambda: Own(name="d"), "int4", "Own refuses: int8 only"),
        (lambda: layers.Dense(3, name="d", dtype="float16"), "int8", "refuses int8 for layers that compute in float16"),
        (lambda: layers.Conv1D(3, 1, name="d"), "int8", "Conv1D has no quantize method"),
        (lambda: layers.ReLU(name="d"), "int8", "it has no weights"),
    ],
)
def test_reason_is_given_if_no_layer_can_be_quantized(layer, mode, reason):
    x = keras.Input((2, 4), name="x")
    model = keras.Model(x, layer()(x), name="m")

    with pytest.raises(EditError, match="no matching layer can be quantized") as caught:
        ramet.edit(model, e.quantize("d", mode))

    assert reason in caught.value.found
    assert ramet.edit(model, e.quantize("d", mode, required=False)) is not model


def test_custom_layer_is_quantized_by_its_own_method():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, Own(name="own")(x), name="m")
    model.get_layer("own").scale.assign([1.2, 2.7, 3.1, 0.4])

    new = edited(model, e.quantize("own"))

    np.testing.assert_array_equal(value(new.get_layer("own").scale), [1, 3, 3, 0])


def test_float8_is_skipped_if_keras_does_not_support_it():
    model = mixed()
    model.get_layer("head").enable_lora(2)

    skipped = {skip.path: skip.reason for skip in ramet.plan(model, e.quantize(mode="float8")).steps[0].skipped}

    assert skipped["head"] == "LoRA is enabled, and Keras has no float8 call with LoRA"
    assert skipped["emb"] == "Keras cannot quantize Embedding layers to float8"


@pytest.mark.parametrize(("mode", "why"), [("int7", "has no such mode"), ("gptq", "calibration"), (8, "no such mode")])
def test_unknown_modes_are_refused(mode, why):
    with pytest.raises(EditError, match=why) as caught:
        ramet.plan(small(), e.quantize(mode=mode))
    assert caught.value.expected == "'int8', 'float8', 'int4'"


def test_class_that_would_load_float_layers_is_refused():
    model = Tree(name="tree")
    model.build((None, 4))

    with pytest.raises(LostOnSaveError):
        ramet.edit(model, e.quantize())
    new = ramet.edit(model, e.quantize(), unsaved=True)
    np.testing.assert_array_equal(value(new(floats(2, 4))), value(quantized_by_keras(model, "int8")(floats(2, 4))))


def test_plan_names_weights_that_are_no_longer_tied():
    x = keras.Input((4,), name="x")
    one, two = layers.Dense(4, name="one"), layers.Dense(4, name="two")
    model = keras.Model(x, two(one(x)), name="tied")
    two._tracker.unlock()
    two._kernel = one._kernel
    two._tracker.lock()

    changes = [touch.what for touch in ramet.plan(model, e.quantize()).steps[0].touched]

    assert changes == ["Dense, quantized to int8, no longer tied"] * 2


# Dequantization.


def by_hand(layer, mode):
    """Compute the float kernel of a quantized Dense from its integers."""
    stored, scale = value(layer._kernel).astype("float64"), value(layer.kernel_scale).astype("float64")
    if mode == "int8":
        return stored / scale
    units = layer.units
    nibbles = np.stack([stored.astype("int8") & 15, (stored.astype("int8") >> 4) & 15], -1)
    whole = nibbles.reshape(stored.shape[0], -1)[:, :units].astype("int64")
    whole = np.where(whole > 7, whole - 16, whole)
    if scale.ndim == 1:
        return whole / scale
    groups = value(layer.g_idx).astype("int64")
    return (whole - value(layer.kernel_zero).astype("float64")[groups]) * scale[groups]


@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_cast_dequantizes_the_weights(mode):
    model = small()
    plain = quantized_by_keras(model, mode)
    if mode == "int4" and value(plain.get_layer("a")._kernel).shape[0] != 4:
        pytest.skip("Keras before 3.13 packs along the other axis; a newer Keras lifts this")

    new = edited(plain, e.cast("float32"))

    for name in ("a", "b"):
        np.testing.assert_allclose(
            value(new.get_layer(name).kernel), by_hand(plain.get_layer(name), mode), rtol=1e-6, atol=1e-7
        )
    assert ramet.capture(new) == ramet.capture(model)
    assert_saved(new)


@pytest.mark.parametrize("mode", MODES)
def test_cast_model_equals_the_float_model_up_to_rounding(mode):
    model = trained(mixed())

    new = edited(edited(model, e.quantize(mode=mode)), e.cast("float32"))

    assert ramet.capture(new) == ramet.capture(model)
    assert [v.path for v in new.trainable_variables] == [v.path for v in model.trainable_variables]
    for ours, theirs in zip(new.variables, model.variables, strict=True):
        width = np.abs(value(theirs)).max() if theirs.shape else 0
        step = {"int8": 1 / 127, "int4": 1 / 7, "float8": 0}[mode]
        np.testing.assert_allclose(value(ours), value(theirs), rtol=0, atol=width * step + 1e-7, err_msg=ours.path)
    assert_saved(new)
    new.fit(*data(new), verbose=0)


@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_reversible_embedding_is_dequantized(mode):
    if not hasattr(layers, "ReversibleEmbedding"):
        pytest.skip("Keras before 3.13 has no such layer; a newer Keras lifts this")
    x = keras.Input((3,), dtype="int32", name="x")
    layer = layers.ReversibleEmbedding(6, 4, tie_weights=False, name="emb")
    model = keras.Model(x, layer(layer(x), reverse=True), name="m")
    before = [value(v) for v in model.variables]

    new = edited(quantized_by_keras(model, mode), e.cast("float32"))

    assert [v.path for v in new.variables] == [v.path for v in model.variables]
    for ours, theirs in zip(new.variables, before, strict=True):
        limit = np.abs(theirs).max() / (127 if mode == "int8" else 7)
        np.testing.assert_allclose(value(ours), theirs, rtol=0, atol=limit)


def test_lora_is_kept_if_its_base_becomes_float():
    model = small()
    model.get_layer("a").enable_lora(2)
    model.get_layer("a").lora_kernel_b.assign(floats(2, 6))
    plain = quantized_by_keras(model, "int8")

    new = edited(plain, e.cast("float32"))

    layer = new.get_layer("a")
    assert layer.lora_enabled
    assert [v.path for v in new.trainable_variables] == [v.path for v in model.trainable_variables]
    np.testing.assert_array_equal(value(layer.lora_kernel_b), value(model.get_layer("a").lora_kernel_b))
    np.testing.assert_allclose(value(layer.kernel), value(model.get_layer("a").kernel), atol=0.02)
    merged = edited(new, e.merge_lora())
    np.testing.assert_allclose(outputs(merged), outputs(new), atol=1e-5)


def test_loaded_composite_layer_is_dequantized(tmp_path):
    new = edited(mixed(), e.quantize("mha"))
    new.save(tmp_path / "new.keras")
    keras.utils.clear_session(free_memory=False)  # parts that a layer creates itself are named by number
    loaded = keras.models.load_model(tmp_path / "new.keras")

    back = edited(loaded, e.cast("float32"))

    assert {str(v.dtype) for v in back.weights} == {"float32"}
    assert {layer.dtype_policy.name for layer in back.get_layer("mha")._flatten_layers()} == {"float32"}
    assert_saved(back)


def test_layer_with_unknown_storage_format_is_refused():
    model = small()
    model.get_layer("a").quantize("int8")
    model.get_layer("a").__class__ = type("Other", (layers.Dense,), {"quantize": lambda self, mode: None})

    with pytest.raises(EditError, match="Cannot make float weights for 'a'"):
        ramet.plan(model, e.cast("float32"))


# Other edits of quantized layers are correct or refused.


def quantized(mode="int8"):
    return quantized_by_keras(small(), mode)


@pytest.mark.parametrize("mode", ["int8", "int4"])
@pytest.mark.parametrize(
    "edit",
    [
        e.update("a", units=5, weights="slice"),
        e.update("a", units=8, weights="pad"),
        e.update("a", units=8, weights="fresh"),
        e.update("a", use_bias=False),
        e.update("a", dtype="float32"),
        e.update("a", dtype="int4_from_float32"),
        e.swap_head(5),
        e.swap_head(3),
        e.resize_input((6,), weights="pad"),
        e.resize_input((3,), weights="slice"),
        e.replace("a", lambda old: layers.Dense(6, name="a")),
    ],
    ids=repr,
)
def test_weights_of_a_quantized_layer_are_not_reshaped(edit, mode):
    model = quantized(mode)
    before = [value(v) for v in model.variables]

    # An older Keras refuses other inputs before the weights are looked at.
    with pytest.raises((EditError, RebuildError)) as caught:
        ramet.edit(model, edit)

    assert caught.value.fix
    for old, now in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(old, value(now))


def test_settings_without_effect_on_weights_can_be_changed():
    model = quantized()

    new = edited(model, e.update("a", activation="tanh"), e.rename("b", "c"))

    assert new.get_layer("a").activation is keras.activations.tanh
    for ours, theirs in zip(new.variables, model.variables, strict=True):
        np.testing.assert_array_equal(value(ours), value(theirs))
    assert_saved(new)


def test_float_weights_are_not_rounded_into_a_quantized_layer():
    make = lambda old: layers.Dense(6, name="a", dtype="int8_from_float32")  # noqa: E731

    with pytest.raises(EditError, match="quantized in another way"):
        ramet.edit(small(), e.replace("a", make))
    new = ramet.edit(small(), e.replace("a", make, weights=False))
    assert new.get_layer("a").quantization_mode == "int8"


def test_quantized_layer_is_replaced_by_one_of_the_same_mode():
    model = quantized()

    new = edited(model, e.replace("a", lambda old: layers.Dense(6, name="a2", dtype="int8_from_float32")))

    for name in ("kernel", "kernel_scale", "bias"):
        np.testing.assert_array_equal(
            value(getattr(new.get_layer("a2"), name)), value(getattr(model.get_layer("a"), name))
        )


def test_fold_batchnorm_skips_quantized_layers_and_must_come_before_quantize():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.BatchNormalization(name="bn")(layers.Dense(3, name="d")(x)), name="m")

    skipped = ramet.plan(quantized_by_keras(model, "int8"), e.fold_batchnorm()).steps[0].skipped
    assert "'d' is quantized" in skipped[0].reason
    with pytest.raises(EditError, match="earlier edit quantizes it"):
        ramet.edit(model, e.quantize(), e.fold_batchnorm())
    folded = ramet.edit(model, e.fold_batchnorm(), e.quantize())
    expected = quantized_by_keras(ramet.edit(model, e.fold_batchnorm()), "int8")
    assert_same_variables(folded, expected)


def test_cast_and_quantize_of_one_layer_conflict():
    with pytest.raises(EditConflictError):
        ramet.edit(small(), e.cast("float16"), e.quantize())


def test_fresh_weights_of_a_quantized_model_are_refused():
    with pytest.raises(CannotCopyError, match="quantized to int8"):
        ramet.clone(quantized(), weights="fresh")


def test_cast_inside_a_composite_layer_is_applied_or_refused():
    x = keras.Input((5, 4), name="x")
    model = keras.Model(x, layers.MultiHeadAttention(2, 3, name="mha")(x, x), name="m")

    with pytest.raises(LostOnSaveError):
        ramet.edit(model, e.cast("mixed_float16", "mha/query"))
    new = ramet.edit(model, e.cast("mixed_float16", named("mha/query")), unsaved=True)
    assert new.get_layer("mha").query_dense.dtype_policy.name == "mixed_float16"


def test_layers_are_quantized_by_class():
    new = edited(mixed(), e.quantize(of_class("Dense")))

    assert new.get_layer("head").quantization_mode == "int8"
    assert new.get_layer("each").layer.quantization_mode == "int8"
    assert new.get_layer("emb").quantization_mode is None
