"""Sharing and identity: sharing inside a model is counted, sharing on purpose is allowed, identity is no difference."""

import functools
import threading
import weakref

import keras
import numpy as np
import pytest
from keras import layers, ops

import ramet
from ramet._verify import verify
from ramet.errors import ArgumentError
from ramet.testing import assert_twin
from tests.verify import models

# Sharing inside a model, counted by hand for each of them.


def called_twice():
    x = keras.Input((4,))
    dense = layers.Dense(4)
    return keras.Model(x, dense(dense(x)))


def siamese():
    """Return a model that calls another one twice, which calls a layer twice."""
    left, right = keras.Input((4,)), keras.Input((4,))
    tower = called_twice()
    return keras.Model([left, right], layers.Add()([tower(left), tower(right)]))


def across_levels():
    """Return a model with a layer called by the outer and an inner model, and one called by two inner models."""
    outer, inner = layers.Dense(4, name="outer"), layers.Dense(4, name="inner")
    a, b, x = keras.Input((4,)), keras.Input((4,)), keras.Input((4,))
    first = keras.Model(a, inner(outer(a)), name="first")
    second = keras.Model(b, inner(b), name="second")
    return keras.Model(x, outer(second(first(x))))


class Albert(keras.Model):
    """One block, used several times."""

    def __init__(self):
        super().__init__()
        self.blocks = [layers.Dense(4)] * 3
        self.first = self.second = layers.Dense(4)

    def build(self, shape):
        self.blocks[0].build(shape)
        self.first.build(shape)

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return self.second(self.first(x))


def albert():
    model = Albert()
    model(np.ones((1, 4), "float32"))
    return model


def nothing_shared():
    x = keras.Input((4,))
    return keras.Model(x, layers.Dense(2)(layers.Bidirectional(layers.LSTM(2))(ops.expand_dims(x, 1))))


@pytest.mark.parametrize(
    ("make", "shared", "tied"),
    [
        (called_twice, 1, 0),
        (siamese, 2, 0),
        (across_levels, 2, 0),
        (albert, 2, 0),
        (models.tied, 0, 1),
        (models.net, 1, 0),
        (nothing_shared, 0, 0),
    ],
)
def test_shared_layers_and_tied_variables_are_counted(make, shared, tied):
    model = make()

    check = verify(model, ramet.clone(model), only="identity", progress=False)["identity"]

    assert check.outcome == "passed", check
    assert (check.counts["shared layers"], check.counts["tied variables"]) == (shared, tied)
    words = ["layer" if shared == 1 else "layers", "variable" if tied == 1 else "variables"]
    assert f"{shared} {words[0]} and {tied} {words[1]} are shared" in check.summary


# Objects that a twin shares with its original on purpose.


def _perceptual():
    """Return a model, and a model inside it that the twin will share."""
    judge = keras.Sequential([keras.Input((3,)), layers.Dense(2, name="eye")], name="judge")
    inputs = keras.Input((4,))
    model = keras.Model(inputs, judge(layers.Dense(3, name="own")(inputs)))
    model.compile("adam", "mse")
    model.fit(np.ones((2, 4)), np.ones((2, 2)), verbose=0)
    return model, judge


def test_twin_with_a_shared_part_passes_if_the_part_is_named():
    model, judge = _perceptual()
    twin = ramet.clone(model, share=[judge])

    assert_twin(model, twin, share=[judge])
    assert not ramet.verify(model, twin).ok


def test_other_shared_objects_are_still_found():
    model, judge = _perceptual()
    twin = ramet.clone(model, share=[judge])
    twin.get_layer("own").note = model.get_layer("own").note = np.ones(2)

    report = ramet.verify(model, twin, share=[judge])

    assert [check.name for check in report if check.outcome == "failed"] == ["identity"]
    assert report["identity"].differences[0].path.startswith("own")


def test_twin_that_shares_all_variables_passes_if_they_are_named():
    model, _ = _perceptual()
    twin = ramet.clone(model, weights="share")

    report = ramet.verify(model, twin, share=model.variables, only=("identity", "independence", "outputs"))

    assert report.ok, str(report)
    assert not ramet.verify(model, twin, only="independence").ok


def test_shared_objects_must_be_in_a_list():
    model, judge = _perceptual()

    with pytest.raises(ArgumentError, match="Cannot verify with share="):
        ramet.verify(model, model, share=judge)


# Ids, caches, locks and marks of compilers, which are no differences.


class Remembering(layers.Layer):
    """A layer that refers to itself and its parts in every way that users do."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = layers.Dense(4, name="dense")
        self.lock = threading.Lock()
        self.me = weakref.ref(self)
        self.own_id = id(self)
        self.order = {id(self.dense): 0, id(self): 1}
        self.seen = {id(self.dense)}
        self.names = weakref.WeakKeyDictionary({self.dense: "dense"})
        self.local = functools.partial(self.scaled, factor=2.0)
        self.cached = functools.lru_cache(maxsize=4)(_doubled)
        self.made_at = 1234567890.5

    def build(self, shape):
        self.dense.build(shape)

    def scaled(self, x, factor):
        return x * factor

    @functools.cached_property
    def slow(self):
        return [1, 2]

    def call(self, x):
        return self.local(self.dense(x)) * self.cached(1) * self.slow[0]


def _doubled(x):
    return 2 * x


def remembering():
    x = keras.Input((4,))
    model = keras.Model(x, Remembering(name="remembering")(x))
    model.compile("adam", "mse")
    model.fit(np.ones((2, 4)), np.ones((2, 4)), verbose=0)
    return model


def test_ids_weak_references_and_locks_are_no_differences():
    model = remembering()

    report = verify(model, ramet.clone(model), skip="file", progress=False)

    assert report.ok, report


@pytest.mark.parametrize("attribute", ["own_id", "made_at"])
def test_number_that_is_not_the_id_of_a_counterpart_is_a_difference(attribute):
    model = remembering()
    twin = ramet.clone(model)
    layer = twin.get_layer("remembering")
    setattr(layer, attribute, getattr(layer, attribute) + 16)

    report = verify(model, twin, only="settings", progress=False)

    assert [one.path for one in report["settings"].differences] == [f"remembering.{attribute}"]


def marked(function, mark):
    """Return a function with the attributes that torch's compiler adds, without a compiler."""

    @functools.wraps(function)
    def compile_wrapper(*args, **options):
        return function(*args, **options)

    compile_wrapper._torchdynamo_orig_callable = function
    compile_wrapper._torchdynamo_wrapper_id = id(compile_wrapper)
    compile_wrapper.mark = mark
    return compile_wrapper


def test_marks_of_a_compiler_on_functions_are_no_difference():
    x = keras.Input((4,))
    model = keras.Model(x, layers.Dense(2, name="d")(x))
    layer = model.get_layer("d")
    layer.quick = marked(layer.compute_output_shape, [1])
    twin = ramet.clone(model)

    report = verify(model, twin, only="settings", progress=False)
    twin.get_layer("d").quick.mark.append(2)
    changed = verify(model, twin, only="settings", progress=False)

    assert report.ok, report
    assert changed["settings"].differences[0].path.startswith("d.quick.mark")


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="needs torch's compiler; the run on torch covers it")
def test_function_of_torch_compile_is_no_difference():
    import torch

    x = keras.Input((4,))
    model = keras.Model(x, layers.Dense(2, name="d")(x))
    layer = model.get_layer("d")
    layer.quick = torch.compile(layer.compute_output_shape, backend="eager", dynamic=True)

    report = verify(model, ramet.clone(model), progress=False)

    assert report.ok, report


@pytest.mark.parametrize("jit_compile", [True, "auto"])
def test_compiled_functions_of_a_model_are_no_difference(jit_compile):
    if keras.backend.backend() == "torch":
        jit_compile = False  # torch's compiler takes minutes; its marks on functions are tested above
    x, y = np.ones((2, 4), "float32"), np.ones((2, 3), "float32")
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers.Dense(3)(layers.Dropout(0.5, seed=1)(inputs)))
    model.compile("sgd", "mse", jit_compile=jit_compile)
    model.fit(x, y, verbose=0)
    model.evaluate(x, y, verbose=0)
    twin = ramet.clone(model)

    model.predict(x, verbose=0)
    first = verify(model, twin, skip="file", progress=False)
    twin.predict(x, verbose=0)
    second = verify(model, twin, skip="file", progress=False)

    assert first.ok, first
    assert second.ok, second
