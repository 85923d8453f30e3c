"""What is derived from identity, or says how a model was run, is no difference: ids, caches, locks, compilers' notes."""

import functools
import threading
import weakref

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet._verify.door import verify


class Remembering(layers.Layer):
    """A layer with one of each thing that a user's layer may know its parts by."""

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


def test_what_is_known_by_identity_is_no_difference():
    model = remembering()

    report = verify(model, ramet.clone(model), skip="file", progress=False)

    assert report.ok, report


@pytest.mark.parametrize("attribute", ["own_id", "made_at"])
def test_a_number_that_is_no_id_of_a_counterpart_is_a_difference(attribute):
    model = remembering()
    twin = ramet.clone(model)
    layer = twin.get_layer("remembering")
    setattr(layer, attribute, getattr(layer, attribute) + 16)

    report = verify(model, twin, only="settings", progress=False)

    assert [one.path for one in report["settings"].differences] == [f"remembering.{attribute}"]


def marked(function, mark):
    """What torch's compiler attaches to a function, without a compiler."""

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


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="torch's own compiler; the run on torch covers it")
def test_a_function_of_torch_compile_is_no_difference():
    import torch

    x = keras.Input((4,))
    model = keras.Model(x, layers.Dense(2, name="d")(x))
    layer = model.get_layer("d")
    layer.quick = torch.compile(layer.compute_output_shape, backend="eager", dynamic=True)

    report = verify(model, ramet.clone(model), progress=False)

    assert report.ok, report


@pytest.mark.parametrize("jit_compile", [True, "auto"])
def test_a_model_that_was_run_compiled_is_like_its_twin_however_either_was_run(jit_compile):
    if keras.backend.backend() == "torch":
        jit_compile = False  # torch's compiler takes minutes; what it leaves on functions is tested above
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
