"""Cases in tests/CASES.md, "Functions, closures and custom code", and further kinds of functions.

A function is shared if it leads to nothing mutable, and copied otherwise.
"""

import functools
import itertools
import operator
import sys
import types

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet.errors import SharedGlobalWarning
from tests.support.cases_models import Scale, Swap, assert_alike, numbers
from tests.support.twins import outputs, twin_of

X = numbers(2, 3)


def number(variable):
    return np.array(keras.ops.convert_to_numpy(variable))


def with_function(function):
    inputs = keras.Input((3,))
    return keras.Model(inputs, layers.Lambda(function, name="f")(inputs))


# --- reported cases


def test_lambda_with_several_outputs_and_no_mask_support_is_copied():
    # keras#12202 / PR#12205
    inputs = keras.Input((3,))
    a, b = layers.Lambda(lambda x: [x + 1, x])(inputs)
    model = keras.Model(inputs, Swap()([a, b]))

    assert_alike(model, twin_of(model), X)


def test_lambda_layer_with_a_python_lambda_is_copied():
    # keras PR#23048 side effect; keras#11413
    model = with_function(lambda x: x * 2)

    twin = twin_of(model)

    assert_alike(model, twin, X)
    assert twin.get_layer("f").function is model.get_layer("f").function


def plain_function(x):
    return x * 3


def test_lambda_layer_with_an_unregistered_function_is_copied():
    # tf#18660
    model = with_function(plain_function)

    twin = twin_of(model)

    assert_alike(model, twin, X)
    assert twin.get_layer("f").function is plain_function


def test_lambda_layer_with_an_output_shape_and_a_mask_function_is_copied():
    inputs = keras.Input((3,))
    masked = layers.Lambda(
        lambda x: keras.ops.expand_dims(x, -1),
        output_shape=lambda shape: (*shape, 1),
        mask=lambda x, mask=None: x > 0,
    )(inputs)
    model = keras.Model(inputs, layers.GlobalAveragePooling1D()(masked))

    assert_alike(model, twin_of(model), X)


def times_table(x, table):
    return x * keras.ops.convert_to_tensor(table)


def test_arguments_of_a_lambda_layer_are_independent():
    table = np.ones(3, "float32")
    inputs = keras.Input((3,))
    model = keras.Model(inputs, layers.Lambda(times_table, arguments={"table": table})(inputs))

    twin = twin_of(model)
    table[:] = 0

    np.testing.assert_array_equal(outputs(twin, X)[0], X)
    np.testing.assert_array_equal(outputs(model, X)[0], X * 0)


def test_unregistered_activation_function_is_copied():
    # Stack Overflow: 'custom activation clone'
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, activation=plain_function)])

    twin = twin_of(model)

    assert_alike(model, twin, X)
    assert twin.layers[0].activation is plain_function


def test_activation_that_is_a_lambda_is_copied():
    # Stack Overflow: 'custom activation clone'
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, activation=lambda x: x**2)])

    twin = twin_of(model)

    assert_alike(model, twin, X, config=False)  # Keras warns when it serializes a lambda
    assert twin.layers[0].activation is model.layers[0].activation


class TakesAnObject(keras.Layer):
    """A layer without `get_config`, with an argument that Keras cannot serialize."""

    def __init__(self, table):
        super().__init__()
        self.table = table

    def call(self, x):
        return x * self.table.factor


class Table:
    def __init__(self, factor):
        self.factor = factor


def test_layer_without_get_config_and_with_an_unserializable_argument_is_copied():
    # t3f#176, tfp#1627, handson-ml2#134
    table = Table(4.0)
    model = keras.Sequential([keras.Input((3,)), TakesAnObject(table)])

    twin = twin_of(model)
    table.factor = 0.0

    assert type(twin.layers[0].table) is Table
    np.testing.assert_array_equal(outputs(twin, X)[0], X * np.float32(4))
    np.testing.assert_array_equal(outputs(model, X)[0], X * 0)


class Forgetful(keras.Layer):
    def __init__(self, factor=1.0, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def get_config(self):
        return super().get_config()

    def call(self, x):
        return x * self.factor


def test_layer_whose_get_config_omits_an_argument_is_copied():
    # very common
    model = keras.Sequential([keras.Input((3,)), Forgetful(factor=5.0)])

    twin = twin_of(model)

    assert twin.layers[0].factor == 5.0
    assert_alike(model, twin, X)


class WrongConfig(keras.Layer):
    def get_config(self):
        raise RuntimeError("no config")

    def call(self, x):
        return x + 1


def test_layer_whose_get_config_raises_is_copied():
    model = keras.Sequential([keras.Input((3,)), WrongConfig()])

    assert_alike(model, twin_of(model), X, config=False)


# --- closures over state


def test_closure_over_a_variable_has_the_twins_variable():
    scale = keras.Variable(2.0)
    model = with_function(lambda x: x * scale)

    twin = twin_of(model)
    scale.assign(0.0)

    np.testing.assert_array_equal(outputs(twin, X)[0], X * 2)
    np.testing.assert_array_equal(outputs(model, X)[0], X * 0)


def test_closure_over_a_weight_of_another_layer_is_tied_in_the_twin():
    scale = Scale(2.0, name="scale")
    inputs = keras.Input((3,))
    scaled = scale(inputs)
    model = keras.Model(inputs, layers.Lambda(lambda x: x / scale.factor, name="undo")(scaled))

    twin = twin_of(model)
    twin.get_layer("scale").factor.assign(8.0)

    np.testing.assert_allclose(outputs(twin, X)[0], X, rtol=1e-6)
    np.testing.assert_allclose(outputs(model, X)[0], X, rtol=1e-6)
    assert number(model.get_layer("scale").factor) == 2.0


def test_closure_over_a_layer_has_the_twins_layer():
    inner = layers.Dense(3)
    inner.build((None, 3))
    model = with_function(lambda x: inner(x) + 0)
    expected = outputs(model, X)[0]

    twin = twin_of(model)
    inner.set_weights([np.zeros((3, 3)), np.zeros(3)])

    np.testing.assert_array_equal(outputs(twin, X)[0], expected)


def test_closure_over_the_model_has_the_twin():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, name="d")], name="net")
    model.get_layer("d").model_of = lambda: model

    twin = twin_of(model)

    assert twin.get_layer("d").model_of() is twin


@pytest.mark.parametrize(
    ("held", "change"),
    [
        pytest.param([2.0], lambda held: held.__setitem__(0, 0.0), id="list"),
        pytest.param({"by": 2.0}, lambda held: held.__setitem__("by", 0.0), id="dict"),
        pytest.param(np.full(1, 2.0, "float32"), lambda held: held.fill(0.0), id="ndarray"),
        pytest.param(({"by": [2.0]},), lambda held: held[0]["by"].__setitem__(0, 0.0), id="list in a dict in a tuple"),
        pytest.param(Table(2.0), lambda held: setattr(held, "factor", 0.0), id="object"),
    ],
)
def test_closure_over_mutable_state_has_the_twins_state(held, change):
    held = ramet_copy_of(held)

    def by():
        value = held
        while not isinstance(value, float):
            value = (
                next(iter(value.values())) if isinstance(value, dict) else getattr(value, "factor", None) or value[0]
            )
            value = float(value) if isinstance(value, np.floating) else value
        return value

    layer = layers.Identity()
    layer.by = by

    twin = twin_of(layer)
    change(held)

    assert twin.by() == 2.0


def ramet_copy_of(value):
    """Return a copy for each test: the parameters above are created once."""
    import copy

    return copy.deepcopy(value)


def test_one_list_behind_two_closures_is_one_list_in_the_twin():
    log = []
    layer = layers.Identity()
    layer.write = lambda item: log.append(item) or len(log)
    layer.read = lambda: list(log)

    twin = twin_of(layer)
    twin.write("twin")
    layer.write("original")

    assert twin.read() == ["twin"]
    assert layer.read() == ["original"]


def _counter():
    count = 3

    def step():
        nonlocal count
        count += 1
        return count

    def look():
        return count

    return step, look


def test_nonlocal_counter_continues_independently_in_the_twin():
    layer = layers.Identity()
    layer.step, _ = _counter()

    twin = twin_of(layer)

    assert [layer.step(), layer.step()] == [4, 5]
    assert [twin.step()] == [4]


@pytest.mark.parametrize("order", [("step", "look"), ("look", "step")])
def test_nonlocal_counter_with_a_reader_stays_one_counter(order):
    layer = layers.Identity()
    step, look = _counter()
    for name in order:  # the order in which the copier visits them must not matter
        setattr(layer, name, {"step": step, "look": look}[name])

    twin = twin_of(layer)
    twin.step()

    assert twin.look() == 4
    assert layer.look() == 3


def test_nonlocal_counter_written_by_an_inner_function_is_independent():
    def make():
        count = 0

        def outer():
            def inner():
                nonlocal count
                count += 1

            inner()
            return count

        return outer

    layer = layers.Identity()
    layer.step = make()

    twin = twin_of(layer)
    layer.step()

    assert twin.step() == 1


def test_counter_attribute_of_a_local_function_is_independent():
    def step():
        step.count += 1
        return step.count

    step.count = 0
    layer = layers.Identity()
    layer.step = step

    twin = twin_of(layer)
    layer.step()

    assert twin.step() == 1


def test_defaults_that_hold_state_are_independent():
    def remember(x, *, seen=[], weights={"by": 2.0}):  # noqa: B006  # this is what is tested
        seen.append(x)
        return len(seen) * weights["by"]

    layer = layers.Identity()
    layer.remember = remember

    twin = twin_of(layer)
    layer.remember("a")
    layer.remember.__kwdefaults__["weights"]["by"] = 0.0

    assert twin.remember("b") == 2.0


def test_default_that_is_a_variable_is_independent():
    def scaled(x, by=keras.Variable(2.0)):  # noqa: B008  # this is what is tested
        return x * by

    model = with_function(scaled)

    twin = twin_of(model)
    model.get_layer("f").function.__defaults__[0].assign(0.0)

    np.testing.assert_array_equal(outputs(twin, X)[0], X * 2)


def test_recursive_closure_over_state_is_copied_whole():
    scale = keras.Variable(2.0)

    def power(x, n):
        return x if n == 0 else power(x, n - 1) * scale

    model = with_function(lambda x: power(x, 3))

    twin = twin_of(model)
    scale.assign(0.0)

    np.testing.assert_array_equal(outputs(twin, X)[0], X * 8)


def test_two_functions_that_call_each_other_over_state_are_copied_together():
    log = []

    def even(n):
        log.append(n)
        return True if n == 0 else odd(n - 1)

    def odd(n):
        return False if n == 0 else even(n - 1)

    layer = layers.Identity()
    layer.even, layer.odd = even, odd

    twin = twin_of(layer)

    assert twin.odd(3)
    assert log == []
    assert twin.even.__closure__[1].cell_contents is twin.odd


def test_recursive_closure_without_state_is_shared():
    def power(x, n):
        return x if n == 0 else power(x, n - 1) * x

    layer = layers.Identity()
    layer.power = power

    assert twin_of(layer).power is power


def test_closure_whose_cell_is_still_empty_is_copied_with_an_empty_cell():
    layer = layers.Identity()
    log = []

    def later():
        log.append(1)
        return defined_later

    layer.later = later

    twin = twin_of(layer)
    defined_later = 1

    assert layer.later() == defined_later
    with pytest.raises(NameError):
        twin.later()


def test_closure_over_a_random_generator_draws_the_same_numbers():
    rng = np.random.default_rng(3)
    layer = layers.Identity()
    layer.draw = lambda: rng.random() * 2
    rng.random()

    twin = twin_of(layer)

    assert [layer.draw(), layer.draw()] == [twin.draw(), twin.draw()]


def test_iterators_in_a_closure_continue_at_the_same_position():
    rest = iter(["a", "b", "c"])
    next(rest)
    layer = layers.Identity()
    layer.pull = lambda: next(rest)

    twin = twin_of(layer)

    assert [layer.pull(), layer.pull()] == ["b", "c"]
    assert [twin.pull(), twin.pull()] == ["b", "c"]


def test_iterator_of_itertools_is_copied_or_refused():
    counter = itertools.count(5)
    next(counter)
    layer = layers.Identity()
    layer.pull = lambda: next(counter)

    if sys.version_info >= (3, 14):  # which can no longer copy them
        with pytest.raises(ramet.errors.CannotCopyError, match="is a count"):
            twin_of(layer)
        return
    twin = twin_of(layer)

    assert [layer.pull(), layer.pull()] == [6, 7]
    assert [twin.pull(), twin.pull()] == [6, 7]


# --- partials, callables, decorated functions


def test_partial_over_a_layer_has_the_twins_layer():
    inner = Scale(2.0)
    inner.build((None, 3))

    def through(layer, x, times=1):
        return layer(x) * times

    model = with_function(functools.partial(through, inner, times=3))

    twin = twin_of(model)
    inner.factor.assign(0.0)

    np.testing.assert_array_equal(outputs(twin, X)[0], X * 2 * 3)


def test_partial_over_a_partial_over_a_variable_has_the_twins_variable():
    scale = keras.Variable(2.0)

    def times(x, by, plus):
        return x * by + plus

    model = with_function(functools.partial(functools.partial(times, by=scale), plus=1))

    twin = twin_of(model)
    scale.assign(0.0)

    np.testing.assert_array_equal(outputs(twin, X)[0], X * 2 + 1)


class Activation:
    """A callable object with its own state."""

    def __init__(self, by):
        self.by = by
        self.calls = []

    def __call__(self, x):
        self.calls.append("call")
        return x * self.by


def test_activation_that_is_an_object_with_state_is_copied():
    activation = Activation(2.0)
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, activation=activation)])

    twin = twin_of(model)
    activation.by = 0.0

    assert type(twin.layers[0].activation) is Activation
    assert outputs(twin, X)[0].any()
    assert not outputs(model, X)[0].any()


def test_bound_method_of_another_layer_as_activation_is_bound_to_the_twins_layer():
    class Gate(keras.Layer):
        def build(self, shape):
            self.level = self.add_weight(shape=(), initializer="ones", name="level")

        def call(self, x):
            return x

        def gate(self, x):
            return x * self.level

    gate = Gate(name="gate")
    inputs = keras.Input((3,))
    model = keras.Model(inputs, layers.Activation(gate.gate, name="act")(gate(inputs)))

    twin = twin_of(model)
    twin.get_layer("gate").level.assign(5.0)

    assert twin.get_layer("act").activation.__self__ is twin.get_layer("gate")
    np.testing.assert_array_equal(outputs(twin, X)[0], X * 5)
    np.testing.assert_array_equal(outputs(model, X)[0], X)


def test_bound_method_of_an_object_outside_keras_is_bound_to_its_copy():
    table = Table(2.0)

    def scaled(self, x):
        return x * self.factor

    model = with_function(types.MethodType(scaled, table))

    twin = twin_of(model)
    table.factor = 0.0

    np.testing.assert_array_equal(outputs(twin, X)[0], X * 2)


def test_builtin_method_of_a_list_is_bound_to_the_twins_list():
    layer = layers.Identity()
    box = {"log": []}
    layer.box = box
    object.__setattr__(layer, "write", layer.box["log"].append)

    twin = twin_of(layer)
    twin.write(1)

    assert list(twin.box["log"]) == [1]
    assert list(layer.box["log"]) == []


def test_decorated_function_keeps_what_it_wraps():
    scale = keras.Variable(2.0)

    def twice(function):
        @functools.wraps(function)
        def wrapper(x):
            return function(function(x))

        return wrapper

    @twice
    def scaled(x):
        """Scaled."""
        return x * scale

    scaled.note = "kept"
    model = with_function(scaled)

    twin = twin_of(model)
    scale.assign(0.0)

    function = twin.get_layer("f").function
    assert (function.__name__, function.__doc__, function.note) == ("scaled", "Scaled.", "kept")
    assert function.__wrapped__ is not scaled.__wrapped__
    np.testing.assert_array_equal(outputs(twin, X)[0], X * 4)


def test_cached_function_over_state_gets_its_own_cache():
    table = {"by": 2.0}

    @functools.lru_cache(maxsize=8)
    def factor(n):
        return table["by"] * n

    layer = layers.Identity()
    layer.factor, layer.table = factor, None
    layer.factor(1)
    object.__setattr__(layer, "change", lambda by: table.__setitem__("by", by))

    twin = twin_of(layer)
    twin.change(5.0)

    assert twin.factor(1) == 5.0
    assert layer.factor(1) == 2.0
    assert twin.factor.cache_parameters() == factor.cache_parameters()


def test_functions_written_in_c_are_shared():
    layer = layers.Identity()
    layer.functions = {"neg": operator.neg, "first": operator.itemgetter(0), "ufunc": np.tanh, "len": len}

    twin = twin_of(layer)

    assert twin.functions["neg"] is operator.neg
    assert twin.functions["ufunc"] is np.tanh
    assert twin.functions["first"]([7]) == 7


# --- functions that stay the same object


@keras.saving.register_keras_serializable("cases")
def registered(x):
    return x + 7


def test_registered_function_stays_the_same_object():
    # Keras' registry is keyed by the function object: a copy could not be saved under its name.
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, activation=registered)])

    twin = twin_of(model)

    assert twin.layers[0].activation is registered
    assert twin.layers[0].get_config()["activation"] == model.layers[0].get_config()["activation"]
    assert "registered_name" in str(twin.layers[0].get_config()["activation"])


@keras.saving.register_keras_serializable("cases")
def registered_with_state(x, cache={}):  # noqa: B006  # this is what is tested
    return x + len(cache)


def test_registered_function_with_a_cache_stays_the_same_object():
    layer = layers.Activation(registered_with_state)

    assert ramet.clone(layer).activation is registered_with_state


@pytest.mark.parametrize("name", ["relu", "softmax", "gelu", "silu", "tanh"])
def test_activation_of_keras_stays_the_same_object(name):
    layer = layers.Dense(2, activation=name)

    assert twin_of(layer).activation is keras.activations.get(name)


def test_closures_over_immutable_values_are_shared():
    by, name, shape, kind, module = 2.0, "name", (1, (2, "x")), Table, np

    def function(x):
        return x * by, name, shape, kind, module

    layer = layers.Identity()
    layer.function = function

    assert twin_of(layer).function is function


MISSING = object()


def test_sentinel_object_stays_the_same_object():
    layer = layers.Identity()
    layer.default = MISSING
    layer.is_missing = lambda value: value is MISSING

    twin = twin_of(layer)

    assert twin.default is MISSING
    assert twin.is_missing(twin.default)


# --- patched methods


def test_patched_call_is_bound_to_the_twin():
    def tripled(self, x):
        return x * self.factor * 3

    scale = Scale(2.0, name="scale")
    scale.call = types.MethodType(tripled, scale)
    model = keras.Sequential([keras.Input((3,)), scale])

    twin = twin_of(model)
    scale.factor.assign(0.0)

    assert twin.get_layer("scale").call.__self__ is twin.get_layer("scale")
    np.testing.assert_array_equal(outputs(twin, X)[0], X * 6)


def test_call_patched_by_a_closure_around_the_old_one_calls_the_twin():
    scale = Scale(2.0, name="scale")
    old_call = scale.call

    def louder(x):
        return old_call(x) + 1

    scale.call = louder
    model = keras.Sequential([keras.Input((3,)), scale])

    twin = twin_of(model)
    scale.factor.assign(0.0)

    np.testing.assert_array_equal(outputs(twin, X)[0], X * 2 + 1)


def test_patched_train_step_trains_the_twin():
    model = keras.Sequential([keras.Input((3,)), Scale(2.0, name="scale")])

    def step(*args, **kwargs):
        seen.append(model)
        return {"loss": 0.0}

    seen = []
    model.test_step_of_mine = step

    twin = twin_of(model)
    twin.test_step_of_mine()

    assert seen == []
    assert twin.test_step_of_mine.__closure__[1].cell_contents == [twin]


def test_user_attributes_on_a_layer_are_kept():
    # like torch.fx#78892
    layer = layers.Dense(2)
    layer.tag, layer.notes = "mine", {"a": [1, 2]}
    model = keras.Sequential([keras.Input((3,)), layer])

    twin = twin_of(model)
    layer.notes["a"].append(3)

    assert twin.layers[0].tag == "mine"
    assert twin.layers[0].notes == {"a": [1, 2]}


# --- state behind global names


def _read_global_scale(x):
    return x * GLOBAL_SCALE  # noqa: F821  # set by the test


def _read_global_box(x):
    return x * GLOBAL_BOX["scale"]  # noqa: F821  # set by the test


class ReadsAGlobal(keras.Layer):
    def call(self, x):
        return x * GLOBAL_SCALE  # noqa: F821  # set by the test


@pytest.fixture
def global_scale(monkeypatch):
    scale = keras.Variable(2.0)
    monkeypatch.setattr(sys.modules[__name__], "GLOBAL_SCALE", scale, raising=False)
    return scale


def test_global_variable_read_by_a_function_is_reported_and_shared(global_scale):
    model = with_function(_read_global_scale)

    with pytest.warns(SharedGlobalWarning) as caught:
        twin = twin_of(model)

    assert len(caught) == 1
    assert str(caught[0].message) == (
        "The function '_read_global_scale' reads the global 'GLOBAL_SCALE', a Variable that holds variables. "
        "Globals are not copied: the original and the twin both use it. "
        "To give the twin its own, make it an attribute of the layer or a default argument of the function."
    )
    assert caught[0].filename == __file__.replace("copy/test_cases_functions", "support/twins")
    global_scale.assign(3.0)
    np.testing.assert_array_equal(outputs(twin, X)[0], X * 3)


def test_method_that_reads_a_global_variable_is_reported(global_scale):
    model = keras.Sequential([keras.Input((3,)), ReadsAGlobal()])

    with pytest.warns(SharedGlobalWarning, match="'ReadsAGlobal.call' reads the global 'GLOBAL_SCALE'"):
        twin_of(model)


def test_lambda_that_reads_a_global_variable_is_reported(global_scale):
    model = with_function(lambda x: x * GLOBAL_SCALE)  # noqa: F821

    with pytest.warns(SharedGlobalWarning, match="reads the global 'GLOBAL_SCALE'"):
        twin_of(model)


def test_partial_of_a_function_that_reads_a_global_variable_is_reported(global_scale):
    model = with_function(functools.partial(_read_global_scale))

    with pytest.warns(SharedGlobalWarning, match="reads the global 'GLOBAL_SCALE'"):
        twin_of(model)


@pytest.mark.parametrize("kind", ["dict", "layer in a dict"])
def test_global_collection_that_holds_variables_is_reported(monkeypatch, kind):
    scale = Scale(2.0)
    scale.build((None, 3))
    held = {"scale": keras.Variable(2.0) if kind == "dict" else scale.factor, "layer": scale}
    monkeypatch.setattr(sys.modules[__name__], "GLOBAL_BOX", held, raising=False)
    model = with_function(_read_global_box)

    with pytest.warns(SharedGlobalWarning, match="reads the global 'GLOBAL_BOX'"):
        twin_of(model)


def test_global_that_is_part_of_the_model_is_reported(monkeypatch):
    # The function still reads the original's layer, although the twin has its own.
    scale = Scale(2.0, name="scale")
    inputs = keras.Input((3,))
    scaled = scale(inputs)
    monkeypatch.setattr(sys.modules[__name__], "GLOBAL_SCALE", scale.factor, raising=False)
    model = keras.Model(inputs, layers.Lambda(_read_global_scale)(scaled))

    with pytest.warns(SharedGlobalWarning, match="reads the global 'GLOBAL_SCALE'"):
        twin_of(model)


def test_globals_without_variables_are_not_reported():
    model = with_function(lambda x: x * float(np.pi) + len(X))

    twin = twin_of(model)  # warnings are errors

    assert_alike(model, twin, X)


class HasAnAttributeOfThatName(keras.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.GLOBAL_SCALE = 2.0

    def call(self, x):
        return x * self.GLOBAL_SCALE


@pytest.mark.usefixtures("global_scale")
def test_attribute_with_the_name_of_a_global_gives_no_warning():
    model = keras.Sequential([keras.Input((3,)), HasAnAttributeOfThatName()])

    twin = twin_of(model)  # warnings are errors

    assert_alike(model, twin, X)


def test_global_passed_as_share_gives_no_warning(global_scale):
    model = with_function(_read_global_scale)

    twin = twin_of(model, share=[global_scale])  # warnings are errors

    assert_alike(model, twin, X)


def test_state_closed_over_by_a_method_of_a_local_class_is_reported():
    # Classes are shared, and with them the cells of their methods.
    scale = keras.Variable(2.0)

    class Local(keras.Layer):
        def call(self, x):
            return x * scale

    model = keras.Sequential([keras.Input((3,)), Local()])

    with pytest.warns(SharedGlobalWarning, match="scale"):
        ramet.clone(model)


def test_variable_that_is_a_class_attribute_is_reported():
    class Local(keras.Layer):
        scale = keras.Variable(2.0)

        def call(self, x):
            return x * self.scale

    model = keras.Sequential([keras.Input((3,)), Local()])

    with pytest.warns(SharedGlobalWarning, match="scale"):
        ramet.clone(model)


def test_local_class_with_super_in_its_methods_gives_no_warning():
    class Local(keras.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.inner = layers.Dense(3)

        def call(self, x):
            return self.inner(x)

    model = keras.Sequential([keras.Input((3,)), Local()])

    twin = twin_of(model)  # warnings are errors

    assert_alike(model, twin, X)
