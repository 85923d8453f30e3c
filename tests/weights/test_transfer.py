"""`transfer`: weights copied from one model to another by path, and the report of each weight."""

import itertools
import json

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet._weights import transfer
from ramet._weights.policy import adapt
from ramet.errors import ArgumentError, NotAModelError, RametError, WeightsDoNotFitError
from tests.weights.models import X, Y, held, numbers, scatter, tied, two

BACKEND = keras.backend.backend()


def chain(*named, size=4, name=None):
    """Return a Sequential of dense layers from names, or pairs of a name and units."""
    steps = [(one, 4) if isinstance(one, str) or one is None else one for one in named]
    return keras.Sequential(
        [keras.Input((size,), name="in"), *(layers.Dense(units, name=own) for own, units in steps)], name=name
    )


def outcomes(report):
    return {one.path: one.outcome for one in report}


def array(variable):
    return np.array(keras.ops.convert_to_numpy(variable))


def assert_bits(first, second):
    for a, b in zip(first, second, strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


# Matching


def test_equal_paths_are_copied_bit_by_bit_and_the_source_stays():
    source, target = two()
    before = numbers(source)

    report = transfer(source, target)

    assert report.ok
    assert set(outcomes(report).values()) == {"copied"}
    assert {one.how for one in report} == {"path"}
    assert "body/norm/moving_mean" in outcomes(report)
    assert not any("seed" in one.path for one in report)
    assert_bits(numbers(target), before)
    assert_bits(numbers(source), before)


def test_optimizer_and_random_states_stay():
    source, target = two(compiled=True)
    target.compile("adam", "mse")
    source.fit(X, Y, verbose=0)
    before = [array(variable) for variable in target.optimizer.variables]
    seed = array(target.get_layer("drop").seed_generator.state)

    transfer(source, target)

    assert_bits([array(variable) for variable in target.optimizer.variables], before)
    np.testing.assert_array_equal(array(target.get_layer("drop").seed_generator.state), seed)


def test_mapping_may_hold_some_of_the_weights():
    target = chain("a", "b")
    before = array(target.get_layer("b").kernel)
    values = {"a/kernel": np.ones((4, 4), "float32"), "a/bias": [1.0, 2.0, 3.0, 4.0], "c/bias": np.ones(3)}

    report = transfer(values, target)

    np.testing.assert_array_equal(array(target.get_layer("a").kernel), np.ones((4, 4)))
    np.testing.assert_array_equal(array(target.get_layer("a").bias), [1, 2, 3, 4])
    np.testing.assert_array_equal(array(target.get_layer("b").kernel), before)
    assert outcomes(report) == {"a/kernel": "copied", "a/bias": "copied", "b/kernel": "left", "b/bias": "left"}
    assert [(one.path, one.reason) for one in report.unused] == [("c/bias", "no weight of the target matches")]
    assert report["b/kernel"].reason == "no weight of the source matches"
    assert report["a/bias"].cast
    assert not report.ok


def test_arrays_of_a_mapping_are_not_kept():
    target = chain("a")
    values = np.ones((4, 4), "float32")
    transfer({"a/kernel": values}, target)

    values[:] = 7

    np.testing.assert_array_equal(array(target.get_layer("a").kernel), np.ones((4, 4)))


def test_deeper_nested_model_is_matched_by_the_end_of_its_paths():
    backbone = scatter(chain("conv1", "conv2", name="backbone"), 1)
    x = keras.Input((4,))
    whole = keras.Model(x, layers.Dense(2, name="head")(backbone(x)))
    target = chain("conv1", "conv2", name="plain")

    report = transfer(whole, target)

    assert report.ok
    assert {one.how for one in report} == {"end"}
    assert report["conv1/kernel"].source == "backbone/conv1/kernel"
    assert "matched by the end of its path, from backbone/conv1/kernel" in str(report)
    assert_bits(numbers(target), numbers(backbone))
    assert [one.path for one in report.unused] == ["head/kernel", "head/bias"]

    again = transfer(target, ramet.clone(whole))
    assert {one.path for one in again.left} == {"head/kernel", "head/bias"}


def test_ambiguous_end_of_a_path_is_not_matched():
    one, two_ = chain("conv", name="one"), chain("conv", name="two")
    x = keras.Input((4,))
    both = keras.Model(x, layers.Add()([one(x), two_(x)]))
    target = chain("conv")

    report = transfer(both, target, dry_run=True)

    assert outcomes(report) == {"conv/kernel": "left", "conv/bias": "left"}


def test_end_of_a_path_with_another_shape_is_not_matched():
    inner = chain(("conv", 5), name="inner")
    x = keras.Input((4,))
    report = transfer(keras.Model(x, inner(x)), chain("conv"), dry_run=True)

    assert {one.outcome for one in report} == {"left"}


def test_generated_names_are_matched_by_order():
    source = scatter(chain(None, None, None), 1)
    target = chain(None, None, None)
    assert source.layers[0].name != target.layers[0].name

    report = transfer(source, target)

    assert report.ok
    assert {one.how for one in report} == {"order"}
    assert_bits(numbers(target), numbers(source))
    assert "matched by its order" in str(report)


def test_overlapping_numbers_do_not_shift_weights_by_a_layer():
    source = scatter(chain("dense_1", "dense_2"), 1)
    target = chain("dense_2", "dense_3")

    report = transfer(source, target)

    assert report["dense_2/kernel"].source == "dense_1/kernel"
    assert_bits(numbers(target), numbers(source))


def test_generated_names_of_nested_models_and_of_arrays_are_matched_by_order():
    def nested():
        return keras.Sequential([keras.Input((4,)), chain(None), chain(None)])

    source, target, other = scatter(nested(), 1), nested(), nested()
    arrays = dict(zip(transfer(source, target, dry_run=True), numbers(source), strict=True))
    values = {one.source: value for one, value in arrays.items()}

    assert transfer(source, target).ok
    assert transfer(values, other).ok
    assert_bits(numbers(target), numbers(source))
    assert_bits(numbers(other), numbers(source))


def test_different_numbers_of_layers_are_not_matched_by_order():
    report = transfer(chain("dense_5", "dense_6"), chain("dense_7", "dense_8", "dense_9"), dry_run=True)

    assert {one.outcome for one in report} == {"left"}


def test_renamed_weights_are_copied():
    source = scatter(chain("old_a", "old_b", "x_1"), 1)
    target = chain("a", "b", "y_1")

    report = transfer(source, target, rename={"old_*": "*", "x_1/kernel": "y_1/kernel", "x_1/bias": "y_1/bias"})

    assert report.ok
    assert {one.how for one in report} == {"rename"}
    assert_bits(numbers(target), numbers(source))
    assert "renamed from old_a/kernel" in str(report)


def test_rename_may_be_a_function():
    source, target = scatter(chain("A", "B"), 1), chain("a", "b")

    assert transfer(source, target, rename=str.lower).ok
    assert_bits(numbers(target), numbers(source))


def test_rename_takes_precedence_over_an_equal_path():
    source = scatter(chain("a", "b"), 1)
    target = chain("a", "b")

    report = transfer(source, target, rename={"a": "b", "b": "a"})

    assert report.ok
    np.testing.assert_array_equal(array(target.get_layer("a").kernel), array(source.get_layer("b").kernel))


@pytest.mark.parametrize(
    ("rename", "words"),
    [
        ({"missing": "a"}, "no weight of the source has a path that begins with it"),
        ({"a": "*"}, r"more '\*' than"),
        ({"a": "c", "b": "c"}, "one path cannot get"),
        (lambda path: 3, "not a path"),
        ({"a": None}, "paths are strings"),
    ],
)
def test_invalid_rename_is_refused(rename, words):
    with pytest.raises(ArgumentError, match=words):
        transfer(chain("a", "b"), chain("a", "b"), rename=rename)


def test_rename_to_an_unknown_path_is_reported():
    report = transfer(chain("a"), chain("b"), rename={"a": "c"}, dry_run=True)

    assert [one.reason for one in report.unused] == ["the target has no 'c/kernel'", "the target has no 'c/bias'"]


# Shapes and dtypes


def test_other_shapes_are_refused_before_anything_is_written():
    source, target = scatter(chain("a", ("b", 7)), 1), chain("a", ("b", 5))
    before = numbers(target)

    with pytest.raises(WeightsDoNotFitError) as caught:
        transfer(source, target)

    assert str(caught.value).splitlines()[1] == (
        "  found:    'b/kernel' is (4, 5), but got (4, 7); 'b/bias' is (5,), but got (7,)"
    )
    assert caught.value.path == "b/kernel"
    assert isinstance(caught.value, RametError | ValueError)
    assert_bits(numbers(target), before)


@pytest.mark.parametrize(("policy", "units"), [("slice", 3), ("pad", 6), ("mean", 6), ("repeat", 6), ("repeat", 3)])
def test_other_shapes_are_adapted_by_the_policy(policy, units):
    source, target = scatter(chain("a", "b"), 1), chain("a", ("b", units))

    report = transfer(source, target, policy=policy)

    assert report.ok
    assert outcomes(report) == {"a/kernel": "copied", "a/bias": "copied", "b/kernel": "adapted", "b/bias": "adapted"}
    for name in ("kernel", "bias"):
        old = array(getattr(source.get_layer("b"), name))
        new = getattr(target.get_layer("b"), name)
        np.testing.assert_array_equal(array(new), adapt(old, tuple(new.shape), policy))
    assert f"(4, 4) -> (4, {units})" in str(report)


def test_fourth_input_channel_keeps_the_other_three():
    source, target = (
        keras.Sequential([keras.Input((8, 8, channels)), layers.Conv2D(2, 3, name="conv")]) for channels in (3, 4)
    )

    transfer(source, target, policy="mean")

    kernel, old = array(target.get_layer("conv").kernel), array(source.get_layer("conv").kernel)
    np.testing.assert_array_equal(kernel[:, :, :3], old)
    np.testing.assert_allclose(kernel[:, :, 3], old.mean(axis=2), rtol=1e-6)


def test_fresh_leaves_weights_of_other_shapes():
    source, target = scatter(chain("a", "b"), 1), chain("a", ("b", 5))
    before = array(target.get_layer("b").kernel)

    report = transfer(source, target, policy="fresh")

    np.testing.assert_array_equal(array(target.get_layer("b").kernel), before)
    assert_bits([array(target.get_layer("a").kernel)], [array(source.get_layer("a").kernel)])
    assert "keeps its values" in report["b/kernel"].reason


def test_a_policy_that_cannot_adapt_writes_nothing():
    source, target = scatter(chain("a", ("b", 2)), 1), chain("a", "b")
    before = numbers(target)

    with pytest.raises(WeightsDoNotFitError, match="'slice' can only shrink"):
        transfer(source, target, policy="slice")
    assert_bits(numbers(target), before)


def test_dry_run_reports_and_writes_nothing():
    source, target = scatter(chain("a", "b"), 1), chain("a", ("b", 5))
    before = numbers(target)

    report = transfer(source, target, dry_run=True)

    assert outcomes(report) == {"a/kernel": "copied", "a/bias": "copied", "b/kernel": "left", "b/bias": "left"}
    assert report["b/kernel"].reason == "the shapes differ: (4, 4) in the source, (4, 5) in the target"
    assert not report.written
    assert not report.ok
    assert "2 copied, 2 left unchanged" in str(report)
    assert_bits(numbers(target), before)


@pytest.mark.parametrize("pair", list(itertools.permutations(["float32", "bfloat16", "float16"], 2)), ids="-".join)
def test_other_float_dtypes_are_cast_and_reported(pair):
    source, target = (layers.Dense(3, dtype=dtype) for dtype in pair)
    for layer in (source, target):
        layer.build((None, 4))

    report = transfer(source, target)

    assert all(one.cast for one in report)
    assert f"cast from {pair[0]} to {pair[1]}" in str(report)
    new = array(target.kernel)
    np.testing.assert_array_equal(new, array(source.kernel).astype(new.dtype))


def test_half_floats_arrive_bit_by_bit():
    source, target = (layers.Dense(3, dtype="bfloat16") for _ in range(2))
    for layer in (source, target):
        layer.build((None, 4))

    report = transfer(source, target)

    assert not any(one.cast for one in report)
    assert array(source.kernel).tobytes() == array(target.kernel).tobytes()
    assert transfer({"kernel": array(source.bias), "bias": array(source.kernel)}, target, policy="fresh")["bias"].reason


@pytest.mark.parametrize("side", ["source", "target", "both, in other ways"])
@pytest.mark.parametrize("arrays", [False, True], ids=["model", "arrays"])
def test_models_quantized_in_different_ways_are_refused_before_anything_is_written(side, arrays):
    source, target = chain("a"), chain("a")
    if side != "target":
        source.quantize("int8")
    if side != "source":
        target.quantize("int4" if "both" in side else "int8")
    if arrays and "both" in side:
        return  # arrays alone do not say how many bits they were rounded to; their shapes do
    origin = {f"a/{v.name}": array(v) for v in source.get_layer("a").variables} if arrays else source
    before = numbers(target)

    with pytest.raises(WeightsDoNotFitError, match="not quantized in the same way") as caught:
        transfer(origin, target)

    assert "e.cast('float32')" in caught.value.fix
    for old, now in zip(before, numbers(target), strict=True):
        np.testing.assert_array_equal(old, now)
    report = transfer(origin, target, dry_run=True)
    assert not report.ok
    assert "quantized" in report["a/kernel"].reason


@pytest.mark.parametrize("mode", ["int8", "int4", "float8"])
@pytest.mark.parametrize("arrays", [False, True], ids=["model", "arrays"])
def test_models_quantized_in_the_same_way_are_copied(mode, arrays):
    source, target = chain("a"), chain("a")
    for model in (source, target):
        model.quantize(mode)
    origin = {f"a/{v.name}": array(v) for v in source.get_layer("a").variables} if arrays else source

    assert transfer(origin, target).ok

    for old, now in zip(numbers(source), numbers(target), strict=True):
        np.testing.assert_array_equal(old, now)


def test_integers_are_cast_if_they_fit():
    class Counter(layers.Layer):
        def build(self, shape):
            self.steps = self.add_weight(shape=(2,), dtype="int32", initializer="zeros", name="steps", trainable=False)

    target = Counter()
    target.build(None)

    assert transfer({"steps": np.array([5, 6], "int64")}, target).ok
    np.testing.assert_array_equal(array(target.steps), [5, 6])
    with pytest.raises(WeightsDoNotFitError, match="'steps': int64 cannot become int32"):
        transfer({"steps": np.array([5, 2**40], "int64")}, target)
    np.testing.assert_array_equal(array(target.steps), [5, 6])


# Selections


@pytest.mark.parametrize("glob", ["b", "b/*", "[b]", "*b/*"])
def test_glob_selects_weights(glob):
    source, target = scatter(chain("a", "b"), 1), chain("a", "b")
    before = array(target.get_layer("a").kernel)

    report = transfer(source, target, select=glob)

    assert report.ok
    assert outcomes(report) == {"a/kernel": "left", "a/bias": "left", "b/kernel": "copied", "b/bias": "copied"}
    np.testing.assert_array_equal(array(target.get_layer("a").kernel), before)
    assert "2 copied, 2 not selected, 2 unused" in str(report)


def test_a_glob_selects_weights_by_their_name():
    report = transfer(chain("a", "b"), chain("a", "b"), select="kernel")

    assert [one.path for one in report.copied] == ["a/kernel", "b/kernel"]


def test_selector_selects_layers_and_everything_inside_them():
    from ramet._select import named, of_class

    source, target = two()
    report = transfer(source, target, select=named("body") | of_class("Dense") & named("head"))
    assert report.ok
    assert len(report.copied) == 8
    report = transfer(source, target, select=of_class("BatchNormalization"))
    assert {one.path.rpartition("/")[0] for one in report.copied} == {"body/norm"}


def test_empty_selection_is_refused():
    with pytest.raises(ArgumentError, match="matches none of its weights"):
        transfer(chain("a"), chain("a"), select="z")


def test_shapes_of_unselected_weights_do_not_matter():
    source, target = scatter(chain("a", ("b", 7)), 1), chain("a", ("b", 5))

    assert transfer(source, target, select="a").ok


# Kinds of models


def test_subclassed_models_are_matched_by_path():
    source, target = held(), held(1)

    assert transfer(source, target).ok
    assert_bits(numbers(target), numbers(source))


def test_tied_weights_are_reported_once():
    source, target = scatter(tied(), 1), tied()

    report = transfer(source, target)

    assert outcomes(report) == {"first/w": "copied"}
    assert report.unused == ()
    assert_bits(numbers(target), numbers(source))


def test_tied_weights_are_matched_at_any_of_their_paths():
    values = {"second/w": np.ones((4, 4), "float32")}
    target = tied()

    report = transfer(values, target)

    assert outcomes(report) == {"second/w": "copied"}
    np.testing.assert_array_equal(array(target.get_layer("first").w), np.ones((4, 4)))


def test_two_sources_for_a_tied_weight_are_reported():
    values = {"first/w": np.ones((4, 4), "float32"), "second/w": np.zeros((4, 4), "float32")}

    report = transfer(values, tied())

    assert [(one.path, one.reason) for one in report.unused] == [
        ("second/w", "its weight is tied to 'first/w' in the target")
    ]


def test_normalization_uses_the_new_statistics():
    source, target = (keras.Sequential([keras.Input((4,)), layers.Normalization(name="n")]) for _ in range(2))
    source.get_layer("n").adapt(X * 3 + 1)
    assert transfer(source, target).ok

    np.testing.assert_allclose(target.predict(X, verbose=0), source.predict(X, verbose=0), rtol=1e-6)


@pytest.mark.parametrize("names", [("lookup", "lookup"), ("string_lookup", "string_lookup_1")])
def test_different_vocabularies_are_reported(names):
    def lookup(words, name):
        model = keras.Sequential([layers.StringLookup(vocabulary=words, name=name)])
        model.built = True
        return model

    old, new = names
    source = lookup(["a", "b"], old)

    report = transfer(source, lookup(["a", "c", "d"], new))

    assert not report.ok
    assert report[f"{new}.vocabulary"].reason == (
        "vocabularies are not weights: 3 words in the source, 4 here, different"
    )
    assert transfer(source, lookup(["a", "b"], new)).ok


def test_both_models_train_on_afterwards():
    source, target = two(compiled=True)
    target.compile("adam", "mse")
    transfer(source, target)

    source.fit(X, Y, verbose=0)
    before = numbers(target)
    target.fit(X, Y, verbose=0)
    target.predict(X, verbose=0)

    assert not np.array_equal(numbers(target)[0], before[0])


def test_transfer_works_in_a_callback():
    source, target = two(compiled=True)

    class Keep(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            transfer(self.model, target)

    source.fit(X, Y, batch_size=4, verbose=0, callbacks=[Keep()])

    assert_bits(numbers(target), numbers(source))


def test_transfer_to_the_model_in_training():
    source, model = two()
    model.compile(keras.optimizers.SGD(0.0), "mse")

    class Load(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            transfer(source, self.model, select="head")

    model.fit(X, Y, batch_size=4, verbose=0, callbacks=[Load()])

    np.testing.assert_array_equal(array(model.get_layer("head").kernel), array(source.get_layer("head").kernel))


def test_all_weights_are_restored_if_one_write_fails(monkeypatch):
    source, target = two()
    before = numbers(target)
    broken = target.get_layer("head").bias
    assign = type(broken).assign
    failures = [RuntimeError("out of memory")]

    def fail(variable, value):
        if variable is broken and failures:
            raise failures.pop()
        return assign(variable, value)

    monkeypatch.setattr(type(broken), "assign", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        transfer(source, target)

    monkeypatch.undo()
    assert_bits(numbers(target), before)


def test_transfer_does_not_change_the_name_counters_of_keras():
    source, target = two()
    transfer(source, target)

    assert layers.Dense(1).name == "dense"


# Reports and errors


def test_report_lists_every_weight():
    source, target = scatter(chain("a", "b", "old", name="before"), 1), chain("a", ("b", 6), ("new", 2), name="after")

    report = transfer(source, target, policy="pad")

    assert str(report) == (
        "before -> after: 2 copied, 2 adapted, 2 left unchanged, 2 unused\n"
        "\n"
        "Left unchanged\n"
        "  new/kernel  (6, 2)  no weight of the source matches\n"
        "  new/bias    (2,)    no weight of the source matches\n"
        "\n"
        "Adapted by 'pad'\n"
        "  b/kernel  (4, 4) -> (4, 6)\n"
        "  b/bias    (4,) -> (6,)\n"
        "\n"
        "Unused weights of the source\n"
        "  old/kernel  (4, 4)  no weight of the target matches\n"
        "  old/bias    (4,)    no weight of the target matches\n"
        "\n"
        "Copied\n"
        "  a/kernel  (4, 4)\n"
        "  a/bias    (4,)"
    )
    data = json.loads(report.to_json())
    assert (data["ramet"], data["version"]) == ("transfer", 1)
    assert data["counts"] == {"copied": 2, "adapted": 2, "left": 2, "unused": 2}
    assert data["weights"][2] == {
        "path": "b/kernel",
        "outcome": "adapted",
        "shape": [4, 6],
        "dtype": "float32",
        "source": "b/kernel",
        "how": "path",
        "source_shape": [4, 4],
        "source_dtype": "float32",
        "reason": None,
    }
    with pytest.raises(AttributeError):
        report.policy = "mean"
    with pytest.raises(KeyError):
        report["nowhere"]


def test_names_in_the_report_are_escaped():
    source = {"<b>\x1b[31m/kernel": np.ones(3)}

    report = transfer(source, chain("a"), dry_run=True)
    with pytest.raises(WeightsDoNotFitError) as caught:
        transfer(source, chain("a"))

    assert "\x1b" not in str(caught.value)
    assert "\x1b" not in str(report)
    assert "<b>" not in report._repr_html_()
    assert "&lt;b&gt;" in report._repr_html_()


def test_long_report_is_shortened():
    target = chain(*(f"d{number}" for number in range(30)))

    assert "and 20 more; `to_json()` lists them all" in str(transfer({}, target, dry_run=True))


def test_invalid_arguments_are_refused():
    model = chain("a")
    with pytest.raises(ArgumentError, match="the same object"):
        transfer(model, model)
    with pytest.raises(ArgumentError, match="unknown policy"):
        transfer(chain("a"), model, policy="stretch")
    with pytest.raises(ArgumentError, match="before it is built"):
        transfer(chain("a"), keras.Sequential([layers.Dense(2)]))
    with pytest.raises(NotAModelError, match="class int"):
        transfer(3, model)
    with pytest.raises(NotAModelError, match=r"to 'model\.keras': it is not a model"):
        transfer(model, "model.keras")
    with pytest.raises(ArgumentError, match="does not hold numbers"):
        transfer({"a/kernel": ["x"]}, model)
    with pytest.raises(ArgumentError, match="not a path"):
        transfer({3: np.ones(2)}, model)


# A transfer that would change nothing is an error


@pytest.mark.parametrize(
    ("source", "options", "reason"),
    [
        ({"x": np.zeros(3)}, {}, "no weights match"),
        ({}, {}, "the mapping has no weights"),
        ({"a/kernel": np.zeros((4, 4), "int32")}, {}, "no weight can be written"),
        ({"a/kernel": np.zeros((4, 4))}, {"select": "a/bias"}, "no weight can be written"),
        ({"x": np.zeros((4, 4))}, {"rename": {"x": "y"}}, "no weights match"),
    ],
)
def test_transfer_of_nothing_is_an_error(source, options, reason):
    target = chain("a")
    before = numbers(target)

    with pytest.raises(WeightsDoNotFitError, match=reason) as caught:
        transfer(source, target, **options)

    assert caught.value.fix
    assert_bits(numbers(target), before)
    assert not transfer(source, target, dry_run=True, **options).ok


def test_target_without_weights_is_an_error():
    target = keras.Sequential([keras.Input((4,)), layers.ReLU()])
    with pytest.raises(WeightsDoNotFitError, match="has no weights"):
        transfer(chain("a"), target)


def test_partial_transfer_is_reported():
    report = transfer({"a/kernel": np.ones((4, 4)), "x": np.zeros(2)}, chain("a"))

    assert outcomes(report) == {"a/kernel": "copied", "a/bias": "left"}
    assert [one.path for one in report.unused] == ["x"]


# Axes that hold several parts; the outputs of the models are compared


@pytest.mark.parametrize("make", [layers.LSTM, layers.GRU, layers.SimpleRNN])
def test_the_gates_of_a_recurrent_layer_stay_apart(make):
    source = scatter(keras.Sequential([keras.Input((5, 3)), make(2, name="r")]), 1)
    target = keras.Sequential([keras.Input((5, 3)), make(4, name="r")])
    x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")

    transfer(source, target, policy="pad")

    ours, theirs = (keras.ops.convert_to_numpy(one(x)) for one in (target, source))
    np.testing.assert_allclose(ours[:, :2], theirs, rtol=1e-4, atol=1e-5)


def test_the_filters_of_a_grouped_convolution_stay_in_their_group():
    source = scatter(keras.Sequential([keras.Input((5, 4)), layers.Conv1D(4, 2, groups=2, name="c")]), 1)
    target = keras.Sequential([keras.Input((5, 4)), layers.Conv1D(6, 2, groups=2, name="c")])
    x = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")

    transfer(source, target, policy="pad")

    ours, theirs = (keras.ops.convert_to_numpy(one(x)) for one in (target, source))
    np.testing.assert_allclose(ours[..., [0, 1, 3, 4]], theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("merge", ["flatten", "concatenate"])
def test_rows_of_flattened_values_are_not_adapted(merge):
    def make(size):
        x = keras.Input((2, size))
        y = layers.Flatten()(x) if merge == "flatten" else layers.Concatenate()([x[:, 0], x[:, 1]])
        return keras.Model(x, layers.Dense(2, name="d")(layers.ReLU()(y)))

    with pytest.raises(WeightsDoNotFitError, match="merges into one axis") as caught:
        transfer(make(3), make(4), policy="pad")

    assert caught.value.path == "d/kernel"
    assert "resize_input" in caught.value.fix
