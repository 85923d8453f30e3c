"""Deep models at the default recursion limit: the copier does not recurse over the user's objects."""

import functools
import sys

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from tests.support.twins import assert_equal_outputs, assert_equal_values, twin_of


@pytest.fixture(autouse=True)
def default_limit():
    """Set the recursion limit that Python starts with; other code in the process may have raised it."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


def _chain(length, make):
    """Return a functional chain. Keras itself recurses once per layer when it sorts the calls."""
    sys.setrecursionlimit(20_000)
    x = inputs = keras.Input((2,))
    for index in range(length):
        x = make(index)(x)
    model = keras.Model(inputs, x)
    sys.setrecursionlimit(1000)
    return model


@pytest.mark.slow
def test_chain_of_900_layers_has_an_exact_twin():
    shared = layers.Dense(2)
    model = _chain(
        900, lambda index: layers.Dense(2) if index % 30 == 0 else layers.Activation("tanh") if index % 7 else shared
    )

    twin = twin_of(model)

    assert len(twin.layers) == len(model.layers)
    assert_equal_outputs(model, twin, np.ones((1, 2), "float32"))


@pytest.mark.slow
def test_chain_of_1500_layers_has_a_twin_of_the_same_length():
    model = _chain(1500, lambda index: layers.Activation("tanh"))

    twin = ramet.clone(model)

    assert len(twin.layers) == 1501
    assert twin.layers[-1] is not model.layers[-1]


@pytest.mark.slow
def test_chain_of_900_layers_in_a_sequential_has_an_exact_twin():
    sys.setrecursionlimit(20_000)
    model = keras.Sequential([keras.Input((2,)), *(layers.Activation("tanh") for _ in range(900))])
    sys.setrecursionlimit(1000)

    twin = twin_of(model)

    assert [layer.name for layer in twin.layers] == [layer.name for layer in model.layers]


class Link:
    """An object that holds the next one."""

    def __init__(self, after=None, load=None):
        self.after = after
        self.load = load


class SlottedLink:
    """The same with slots."""

    __slots__ = ("after", "load")

    def __init__(self, after=None, load=None):
        self.after = after
        self.load = load


class Holder(keras.Model):
    """A subclassed model that holds one object."""

    def __init__(self, held=None, **kwargs):
        super().__init__(**kwargs)
        self.dense = layers.Dense(2)
        self.held = held

    def build(self, shape):
        self.dense.build(shape)

    def call(self, x):
        return self.dense(x)


def _built(held):
    model = Holder(held)
    model(np.ones((1, 2), "float32"))
    return model


def _length(link, step):
    count = 0
    while link is not None:
        count, link = count + 1, step(link)
    return count


@pytest.mark.parametrize("kind", [Link, SlottedLink])
def test_subclassed_model_nested_2000_objects_deep_has_an_exact_twin(kind):
    link = None
    for index in range(2000):
        link = kind(link, load=[index])
    model = _built(link)

    twin = ramet.clone(model)

    assert _length(twin.held, lambda link: link.after) == 2000
    assert twin.held.load == [1999]
    assert twin.held.load is not model.held.load
    assert_equal_outputs(model, twin, np.ones((1, 2), "float32"))


class Shell(layers.Layer):
    """A layer that holds a layer."""

    def __init__(self, inner, **kwargs):
        super().__init__(**kwargs)
        self.inner = inner
        self.bend = self.add_weight(shape=(), initializer="ones")

    def call(self, x):
        return self.bend * x


def test_layers_nested_300_deep_have_an_exact_twin():
    """Keras itself recurses over nested layers; this depth is within its limit."""
    layer = None
    for _ in range(300):
        layer = Shell(layer)
    model = _built(layer)

    twin = ramet.clone(model)

    assert _length(twin.held, lambda layer: layer.inner) == 300
    assert_equal_values(model, twin)


@pytest.mark.slow
def test_layers_nested_2000_deep_have_a_twin_of_the_same_depth():
    """At this depth, Keras cannot count variables any more."""
    layer = None
    for _ in range(2000):
        layer = Shell(layer)
    top = Shell(layer)

    twin = ramet.clone(top)

    assert _length(twin, lambda layer: layer.inner) == 2001
    assert twin.inner.bend is not top.inner.bend


def test_models_nested_100_deep_have_an_exact_twin():
    inner = keras.Sequential([keras.Input((2,)), layers.Dense(2)])
    for _ in range(100):
        x = keras.Input((2,))
        inner = keras.Model(x, inner(x))

    twin = ramet.clone(inner)

    assert_equal_values(inner, twin)
    assert _length(twin, lambda model: model.layers[-1] if isinstance(model, keras.Model) else None) == 102


def _nested_tuple(depth, core):
    for _ in range(depth):
        core = (core,)
    return core


def _core(value, step):
    depth = 0
    while type(value) in (tuple, functools.partial, frozenset):
        value, depth = step(value), depth + 1
    return value, depth


@pytest.mark.parametrize("core", [[], 7], ids=["mutable core", "fixed core"])
def test_tuples_nested_50000_deep_around_mutable_objects_are_copied(core):
    layer = layers.Dense(2)
    layer.__dict__["nest"] = _nested_tuple(50_000, core)  # on assignment, Keras would search it recursively

    twin = ramet.clone(layer)

    found, depth = _core(twin.nest, lambda value: value[0])
    assert depth == 50_000
    assert found == core
    assert (found is core) == isinstance(core, int)


class Core:
    """A mutable object at the innermost level."""


@pytest.mark.parametrize(
    ("wrap", "step"),
    [
        (lambda value: [value], lambda value: value[0]),
        (lambda value: {"k": value}, lambda value: value["k"]),
        (lambda value: frozenset([value]), lambda value: next(iter(value))),
        (lambda value: functools.partial(max, value), lambda value: value.args[0]),
        (lambda value: functools.partial(max, key=value), lambda value: value.keywords["key"]),
        (lambda value: lambda: value, lambda value: value.__closure__[0].cell_contents),
        (lambda value: lambda x=value: x, lambda value: value.__defaults__[0]),
    ],
    ids=["lists", "dicts", "frozensets", "partial arguments", "partial keywords", "closures", "defaults"],
)
def test_containers_and_functions_nested_5000_deep_are_copied(wrap, step):
    core = value = Core()
    for _ in range(5000):
        value = wrap(value)
    layer = layers.Dense(2)
    layer.__dict__["nest"] = value

    twin = ramet.clone(layer)

    found = twin.nest
    for _ in range(5000):
        found = step(found)
    assert type(found) is Core
    assert found is not core


def test_nested_partials_that_reach_a_layer_reach_the_twins_layer():
    layer = layers.Dense(2)
    layer.build((None, 2))
    function = layer
    chain = [function]
    for _ in range(1500):
        chain.append(functools.partial(_call, chain[-1]))
    layer.__dict__["chain"] = chain[-1]

    twin = ramet.clone(layer)

    found, _ = _core(twin.chain, lambda value: value.args[0])
    assert found is twin


def _call(function, x):
    return function(x)


def test_long_chain_of_methods_and_decorators_reaches_the_twins_layer():
    layer = layers.Dense(2)

    class Step:
        def __init__(self, run):
            self.run = run

        def go(self):
            return self.run

    run = layer.call
    for _ in range(3000):
        run = Step(run).go
    layer.__dict__["run"] = run

    twin = ramet.clone(layer)

    found = twin.run
    for _ in range(3000):
        found = found.__self__.run
    assert found.__self__ is twin


def test_cycle_through_many_objects_is_a_cycle_in_the_twin():
    first = link = Link()
    for _ in range(5000):
        link.after = Link()
        link = link.after
    link.after = first
    layer = layers.Dense(2)
    layer.ring = first

    twin = ramet.clone(layer)

    link = twin.ring
    for _ in range(5001):
        link = link.after
    assert link is twin.ring
    assert twin.ring is not first


def test_deeply_nested_object_that_cannot_be_copied_is_named():
    link = Link(load=(step for step in ()))
    for _ in range(3000):
        link = Link(link)
    layer = layers.Dense(2, name="deep")
    layer.chain = link

    with pytest.raises(ramet.errors.CannotCopyError, match="a running generator cannot be copied") as caught:
        ramet.clone(layer)

    assert caught.value.path.count(".after") == 3000
