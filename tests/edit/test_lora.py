"""`lora`: Keras' `enable_lora` on selected layers with the rest frozen, and flags that respect it."""

import itertools

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet import named
from ramet.errors import EditError, LostOnSaveWarning
from tests.edit.expect import assert_saved, edited, value, variables
from tests.support.other_classes import classifier, tokens
from tests.support.state_models import floats


def attention(**options):
    """Two attention layers and a head."""
    x = keras.Input((5, 4), name="x")
    y = x
    for number in (1, 2):
        y = layers.MultiHeadAttention(2, 3, name=f"mha_{number}", **options)(y, y)
    return keras.Model(x, layers.Dense(2, name="head")(layers.LayerNormalization(name="norm")(y)), name="attn")


CASES = {
    "dense": ((4,), "float32", lambda: layers.Dense(6, name="w"), 4 + 6),
    "einsum": ((5, 4), "float32", lambda: layers.EinsumDense("abc,cde->abde", (None, 2, 3), name="w"), 4 * 2 + 3),
    "embedding": ((5,), "int32", lambda: layers.Embedding(7, 4, name="w"), 7 + 4),
    "conv1d": ((6, 4), "float32", lambda: layers.Conv1D(6, 2, name="w"), 2 * 4 + 6),
    "conv2d": ((6, 6, 4), "float32", lambda: layers.Conv2D(6, 2, name="w"), 2 * 2 * 4 + 6),
    "conv3d": ((3, 3, 3, 2), "float32", lambda: layers.Conv3D(4, 2, name="w"), 8 * 2 + 4),
}
QUERIES = named("mha_*/query", "mha_*/value")


def one_layer(case):
    shape, dtype, make, _ = CASES[case]
    x = keras.Input(shape, dtype=dtype, name="x")
    return keras.Model(x, make()(x), name="m")


def trained(model):
    return sorted(
        path for path, v in variables(model).items() if any(v is other for other in model.trainable_variables)
    )


def fit(model):
    model.compile(keras.optimizers.Adam(0.1), "mse", run_eagerly=True)
    model.fit(floats(4, 5, 4), floats(4, 5, 2), verbose=0)
    return model


@pytest.mark.parametrize("alpha", [None, 7])
@pytest.mark.parametrize("case", CASES)
def test_each_kind_of_layer_is_what_keras_makes_of_it(case, alpha):
    model = one_layer(case)
    plain = ramet.clone(model)
    plain.get_layer("w").enable_lora(3, **({} if alpha is None else {"lora_alpha": alpha}))

    new = edited(model, e.lora("w", rank=3, alpha=alpha))

    ours, theirs = new.get_layer("w"), plain.get_layer("w")
    assert (ours.lora_rank, ours.lora_alpha) == (theirs.lora_rank, theirs.lora_alpha)
    assert [(v.path, tuple(v.shape)) for v in new.variables] == [(v.path, tuple(v.shape)) for v in plain.variables]
    added = 3 * CASES[case][3]
    assert new.count_params() == model.count_params() + added
    what = ramet.plan(model, e.lora("w", rank=3)).steps[0].touched[0].what
    assert what.endswith(f"rank 3, {added:,} parameters added")
    assert all("lora" in path for path in trained(new))
    assert len(trained(new)) == 2


def test_model_computes_the_same_until_updates_are_trained():
    model = attention()
    new = edited(model, e.lora(QUERIES, rank=2))
    x = floats(2, 5, 4)
    np.testing.assert_array_equal(value(new(x)), value(model(x)))
    base = {path: value(v) for path, v in variables(new).items()}

    fit(new)

    moved = {path for path, v in variables(new).items() if not np.array_equal(value(v), base[path])}
    assert moved
    assert moved <= set(trained(new))


def test_plan_lists_layers_parameters_and_reasons():
    model = attention()
    model.get_layer("mha_2").query_dense.enable_lora(2)

    plan = ramet.plan(model, e.lora(["mha_*", "norm", "head"], rank=2))

    step = plan.steps[0]
    assert [touch.path for touch in step.touched][:2] == ["mha_1/query", "mha_1/key"]
    assert len(step.touched) == 8
    assert step.touched[-1].what == "Dense, rank 2, 12 parameters added"
    assert [(skip.path, skip.reason) for skip in step.skipped] == [
        ("mha_2/query", "LoRA is already enabled, with rank 2"),
        ("norm", "LayerNormalization has no enable_lora method"),
    ]
    assert any("a file does not keep LoRA inside 'mha_1', 'mha_2'" in note for note in step.notes)


def test_every_supported_layer_gets_lora_without_a_selector():
    model = attention()

    new = edited(model, e.lora(rank=2))

    assert len([layer for layer in new._flatten_layers() if getattr(layer, "lora_enabled", False)]) == 9


def test_freeze_rest_false_keeps_other_flags():
    model = attention()

    new = edited(model, e.lora("head", rank=2, freeze_rest=False))

    plain = ramet.clone(model)
    plain.get_layer("head").enable_lora(2)
    assert trained(new) == trained(plain)


def test_several_edits_train_all_updates():
    model = attention()

    together = edited(model, e.lora("mha_1/query", rank=2), e.lora("mha_1/value", rank=3))
    after = edited(edited(model, e.lora("mha_1/query", rank=2)), e.lora("mha_1/value", rank=3))

    expected = sorted(f"mha_1/{part}/lora_kernel_{side}" for part in ("query", "value") for side in "ab")
    assert trained(together) == trained(after) == expected


def test_seed_makes_updates_repeatable():
    model = attention()

    def drawn(*edits, **options):
        return [value(v) for v in ramet.edit(model, *edits, **options).trainable_variables]

    first, second = drawn(e.lora(QUERIES, seed=1)), drawn(e.freeze(), e.lora(QUERIES, seed=1))
    other, unlike = drawn(e.lora(QUERIES, seed=2)), drawn(e.lora(QUERIES))
    by_edit = [drawn(e.lora(QUERIES), seed=5) for _ in range(2)]

    for a, b in itertools.chain(zip(first, second, strict=True), zip(*by_edit, strict=True)):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first[0], other[0])
    assert not np.array_equal(first[0], unlike[0])
    assert not np.array_equal(first[0], first[2])  # layers of the same shape draw their own


def test_optimizer_keeps_the_slots_of_other_variables():
    model = fit(attention())

    new = edited(model, e.lora("head", rank=2, freeze_rest=False))

    assert int(value(new.optimizer.iterations)) == 1
    old = dict(zip((v.path for v in model.trainable_variables), model.optimizer._momentums, strict=True))
    for variable, slot in zip(new.trainable_variables, new.optimizer._momentums, strict=True):
        expected = value(old[variable.path]) if variable.path in old else np.zeros(variable.shape)
        np.testing.assert_array_equal(value(slot), expected, err_msg=variable.path)
    new.fit(floats(4, 5, 4), floats(4, 5, 2), verbose=0)


@pytest.mark.parametrize("mode", ["int8", "int4"])
@pytest.mark.parametrize("order", ["lora last", "lora first", "two edits"])
def test_quantized_layers_get_lora(mode, order):
    model = attention()
    quantize, adapt = e.quantize(mode=mode), e.lora(QUERIES, rank=2, seed=1)
    if order == "two edits":
        new = edited(edited(model, quantize), adapt)
    else:
        new = edited(model, *((quantize, adapt) if order == "lora last" else (adapt, quantize)))

    plain = ramet.edit(model, quantize)
    x = floats(2, 5, 4)
    np.testing.assert_allclose(value(new(x)), value(plain(x)), atol=1e-6)
    assert len(trained(new)) == 8
    before = [value(v) for v in new.trainable_variables]
    fit(new)
    assert not all(np.array_equal(value(v), old) for v, old in zip(new.trainable_variables, before, strict=True))


def test_loaded_model_computes_the_same(tmp_path):
    new = fit(edited(attention(), e.lora([QUERIES, "head"], rank=2, alpha=3)))
    with pytest.warns(LostOnSaveWarning, match=r"mha_\d"):  # flags inside a composite layer are not saved
        new.save(tmp_path / "new.keras")

    loaded = keras.models.load_model(tmp_path / "new.keras", compile=False)

    x = floats(2, 5, 4)
    np.testing.assert_allclose(value(loaded(x)), value(new(x)), atol=1e-5)
    assert loaded.get_layer("head").lora_enabled
    again = edited(edited(loaded, e.merge_lora()), e.lora([QUERIES, "head"], rank=2))
    before = [value(v) for v in again.trainable_variables]
    fit(again)
    assert not all(np.array_equal(value(v), old) for v, old in zip(again.trainable_variables, before, strict=True))


class Scaled(layers.Layer):
    """A layer with an `enable_lora` of its own."""

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 3), name="kernel")
        self.lora_enabled = False

    def enable_lora(self, rank):
        self._tracker.unlock()
        self.lora_kernel_a = self.add_weight(shape=(self.kernel.shape[0], rank), name="lora_kernel_a")
        self.lora_kernel_b = self.add_weight(shape=(rank, 3), initializer="zeros", name="lora_kernel_b")
        self._tracker.lock()
        self.kernel.trainable = False
        self.lora_enabled, self.lora_rank = True, rank

    def call(self, x):
        if self.lora_enabled:
            return x @ (self.kernel + self.lora_kernel_a @ self.lora_kernel_b)
        return x @ self.kernel


def test_custom_layers_with_enable_lora_get_lora():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, Scaled(name="own")(x), name="m")

    new = edited(model, e.lora("own", rank=2), unsaved=True)

    assert ramet.plan(model, e.lora("own", rank=2)).steps[0].touched[0].what == "Scaled, rank 2, 14 parameters added"
    assert trained(new) == ["own/lora_kernel_a", "own/lora_kernel_b"]
    assert trained(edited(new, e.unfreeze())) == ["own/lora_kernel_a", "own/lora_kernel_b"]
    with pytest.raises(EditError, match="no matching layer supports it") as caught:
        ramet.edit(model, e.lora("own", alpha=2))
    assert "takes no alpha" in caught.value.found


def test_shared_layer_gets_lora_once():
    x = keras.Input((4,), name="x")
    shared = layers.Dense(4, name="shared")
    model = keras.Model(x, shared(shared(x)), name="m")

    new = edited(model, e.lora(rank=2))

    assert len(trained(new)) == 2


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (lambda: layers.Dense(3, kernel_constraint="non_neg", name="d"), "a kernel_constraint"),
        (lambda: layers.LayerNormalization(name="d"), "LayerNormalization has no enable_lora method"),
    ],
)
def test_reason_is_given_if_no_layer_supports_lora(layer, reason):
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layer()(x), name="m")

    with pytest.raises(EditError, match="no matching layer supports it") as caught:
        ramet.edit(model, e.lora("d"))
    assert reason in caught.value.found


def test_layer_that_has_lora_already_must_be_merged_first():
    x = keras.Input((4,), name="x")
    tuned = ramet.edit(keras.Model(x, layers.Dense(3, name="d")(x)), e.lora("d"))

    with pytest.raises(EditError, match="no matching layer supports it") as caught:
        ramet.edit(tuned, e.lora("d"))
    again = ramet.edit(ramet.edit(tuned, e.merge_lora()), e.lora("d"))

    assert caught.value.fix == (
        "merge it first, ramet.edit(ramet.edit(model, e.merge_lora()), e.lora(...)), or select other layers."
    )
    assert again.get_layer("d").lora_enabled


def test_float8_layers_have_no_lora():
    model = attention()
    model.get_layer("head").quantize("float8")

    skipped = ramet.plan(model, e.lora()).steps[0].skipped

    assert ("head", "quantized to float8, and Keras has no LoRA for that") in [(s.path, s.reason) for s in skipped]


@pytest.mark.parametrize(("rank", "alpha"), [(0, None), (2.0, None), (True, None), ("4", None), (4, "2")])
def test_invalid_rank_or_alpha_is_refused(rank, alpha):
    with pytest.raises(EditError, match="Cannot enable LoRA with"):
        ramet.plan(attention(), e.lora("head", rank, alpha=alpha))


@pytest.mark.parametrize("setting", [{"lora_rank": 4}, {"lora_alpha": 4}])
def test_update_does_not_enable_lora(setting):
    with pytest.raises(EditError, match="LoRA is enabled by an edit of its own") as caught:
        ramet.edit(attention(), e.update("head", **setting))
    assert "e.lora" in caught.value.fix


# Flags.


def base_kernels(model):
    return [layer._kernel for layer in model._flatten_layers() if getattr(layer, "lora_enabled", False)]


def test_base_of_lora_stays_frozen_in_every_order_of_edits():
    """Keras' own flag would train the kernels of the four projections again: 16 variables and not 12."""
    model = attention()
    adapt = e.lora(QUERIES, rank=2, freeze_rest=False)

    for edits in itertools.permutations((e.freeze(), e.unfreeze(QUERIES), adapt)):
        new = edited(model, *edits)
        assert not any(kernel.trainable for kernel in base_kernels(new))
        names = [one.kind for one in edits]
        if names.index("freeze") < names.index("unfreeze"):
            assert len(new.trainable_variables) == 12, names
        else:
            assert len(new.trainable_variables) == 0, names


@pytest.mark.parametrize(
    "flags", [(e.freeze(), e.unfreeze(QUERIES)), (e.unfreeze(),), (e.unfreeze("mha_1"),)], ids=repr
)
def test_lora_in_the_model_passed_in_is_respected(flags):
    model = attention()
    for name in ("mha_1", "mha_2"):
        model.get_layer(name).query_dense.enable_lora(2)
        model.get_layer(name).value_dense.enable_lora(2)

    new = edited(model, *flags)

    assert not any(kernel.trainable for kernel in base_kernels(new))
    if len(flags) == 2:
        assert len(new.trainable_variables) == 12
    else:
        assert len(new.trainable_variables) == len(model.trainable_variables)


def test_frozen_layer_with_lora_is_unfrozen_without_its_base():
    model = attention()
    model.get_layer("head").enable_lora(2)
    model.trainable = False

    new = edited(model, e.unfreeze("head"))

    assert trained(new) == ["head/bias", "head/lora_kernel_a", "head/lora_kernel_b"]
    touch = ramet.plan(model, e.unfreeze("head")).steps[0].touched[0]
    assert touch.what == "Dense, trainable, except for the weights that LoRA updates"


def test_quantized_kernels_are_never_trained():
    new = edited(edited(attention(), e.quantize()), e.freeze(), e.unfreeze())

    assert not any("kernel" in path for path in trained(new))


def test_last_edit_of_flags_counts():
    model = attention()

    assert trained(edited(model, e.lora("head"), e.freeze())) == []
    assert "norm/gamma" in trained(edited(model, e.lora("head"), e.unfreeze("norm")))
    assert "norm/gamma" not in trained(edited(model, e.unfreeze("norm"), e.lora("head")))


def test_lora_keeps_the_class_of_a_model():
    from tests.support.graph_models import Backbone

    model = Backbone(name="backbone")

    new = edited(model, e.lora())

    assert type(new) is Backbone
    assert ramet.plan(model, e.lora()).notes == ()


# Notes of a plan about training.


def note_of(model, *edits):
    notes = [note for note in ramet.plan(model, *edits).notes if "does not save these flags" not in note]
    return notes[-1] if notes else ""


def test_plan_notes_that_nothing_is_left_to_train():
    model = attention()
    assert note_of(model, e.freeze()).startswith("nothing is left to train")
    assert note_of(model, e.lora("head"), e.freeze()).startswith("nothing is left to train")
    assert note_of(model, e.freeze(), e.unfreeze("head")) == ""
    assert note_of(model, e.lora("head")) == ""
    x = keras.Input((4,), name="x")
    bare = keras.Model(x, layers.Dense(3, use_bias=False, name="d")(x), name="bare")
    assert note_of(bare, e.quantize()).startswith("nothing is left to train")
    assert note_of(bare, e.quantize(), e.lora()) == ""


def test_plan_notes_that_trainable_weights_lead_to_no_output():
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, name="early")(x)
    y = keras.ops.stop_gradient(y)
    model = keras.Model(x, layers.Dense(2, name="late")(y), name="cut")

    note = note_of(model, e.freeze("late"))
    assert note.startswith("no weight that stays trainable leads to an output ('early')")
    assert "fit() fails on torch" in note
    assert note_of(model, e.freeze("early")) == ""
    new = edited(model, e.freeze("late"))
    new.compile("sgd", "mse", run_eagerly=True)
    if keras.backend.backend() == "torch":
        with pytest.raises(RuntimeError, match="does not require grad"):
            new.fit(floats(2, 4), floats(2, 2), verbose=0)


def test_plan_lists_trainable_layers_without_a_call_graph():
    from tests.support.graph_models import Tree

    model = Tree(name="tree")
    model.build((None, 4))

    note = note_of(model, e.freeze("head"))

    assert note.startswith("trainable afterwards: 'block/first', 'block/second'. The model has no call graph")


def test_lora_and_flags_are_saved_where_keras_saves_them():
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, name="a")(x)
    model = keras.Model(x, layers.Dense(2, name="b")(y), name="m")

    new = edited(model, e.lora("a", rank=2))
    new.get_layer("a").lora_kernel_a.assign(np.zeros((4, 2)))  # as loaded from a file

    loaded = assert_saved(new)
    assert loaded.get_layer("b").trainable is False


@pytest.mark.parametrize("freeze_rest", [True, False])
def test_plan_and_save_warn_if_a_class_loses_lora(freeze_rest, tmp_path):
    model = classifier()
    edit = e.lora("encoder/block_0", freeze_rest=freeze_rest)
    notes = ramet.plan(model, edit).steps[0].notes
    new = ramet.edit(model, edit)
    for variable in new.get_layer("encoder").get_layer("block_0").variables:
        if "lora" in variable.name:
            variable.assign(variable + 0.1)
    with pytest.warns(ramet.errors.LostOnSaveWarning, match="its 'block_0' has merged weights and no LoRA") as caught:
        new.save(tmp_path / "new.keras")
    assert "fix: merge LoRA before saving" in str(caught[0].message)
    loaded = keras.saving.load_model(tmp_path / "new.keras", compile=False)

    assert any("does not keep LoRA inside 'encoder', which creates its layers itself" in note for note in notes)
    assert not any("start at zero" in note for note in notes)
    block = loaded.get_layer("encoder").get_layer("block_0")
    assert (block.lora_enabled, block.kernel.trainable, len(loaded.trainable_variables)) == (False, True, 9)
    outputs = [keras.ops.convert_to_numpy(one(tokens())) for one in (new, loaded)]
    np.testing.assert_allclose(*outputs, atol=1e-6)


def test_plan_notes_what_else_is_trainable_in_a_loaded_model(tmp_path):
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dense(2, name="b")(layers.Dense(4, name="a")(x)))
    new = ramet.edit(model, e.lora("a"))
    new.save(tmp_path / "new.keras")
    loaded = keras.saving.load_model(tmp_path / "new.keras")

    found = [[weight.name for weight in one.trainable_weights] for one in (new, loaded)]
    assert found == [["lora_kernel_a", "lora_kernel_b"], ["bias", "lora_kernel_a", "lora_kernel_b"]]
    assert any("such as its bias, are trainable" in note for note in ramet.plan(model, e.lora("a")).steps[0].notes)


@pytest.mark.parametrize("edits", [[e.quantize(), e.lora("a")], [e.lora("a"), e.quantize("b"), e.quantize("a")]])
def test_plan_notes_that_quantized_layers_are_rounded_again(edits):
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dense(2, name="b")(layers.Dense(4, name="a")(x)))

    steps = {step.edit.kind: step for step in ramet.plan(model, *edits).steps}
    assert any("saving rounds the merged weights" in note for note in steps["lora"].notes)
    alone = ramet.plan(model, e.quantize("b"), e.lora("a")).steps[1]
    assert not any("saving rounds" in note for note in alone.notes)
