"""Cases in tests/CASES.md, "Classes, flags and attributes", and other flags and attributes of the same kinds."""

import abc
import collections
import dataclasses
import enum
import functools
import pathlib
import types

import keras
import numpy as np
import pytest
from keras import layers

from tests.support.cases_models import assert_alike, numbers, paths, scramble
from tests.support.twins import assert_equal_values, fit_once, outputs, twin_of
from tests.support.versions import needs_keras

X = numbers(2, 3)


# --- classes


class KwModel(keras.Model):
    """A functional model of another class, with its own argument and its own training."""

    def __init__(self, *args, alpha=0.5, **kwargs):
        super().__init__(*args, **kwargs)
        self.alpha = alpha
        self.steps_done = 0

    def train_step(self, *args, **kwargs):
        self.steps_done += 1
        return super().train_step(*args, **kwargs)


def test_subclass_of_functional_keeps_its_class_train_step_and_attributes():
    # tf#39856
    inputs = keras.Input((3,))
    model = KwModel(inputs, layers.Dense(1)(inputs), alpha=0.25)
    model.compile("sgd", "mse", run_eagerly=True)

    twin = twin_of(model)
    fit_once(twin, X, numbers(2, 1))

    assert type(twin) is KwModel
    assert (twin.alpha, twin.steps_done, model.steps_done) == (0.25, 1, 0)


class Backbone(keras.Model):
    """A backbone like published ones: functional inside, with its own `get_config`."""

    def __init__(self, units, **kwargs):
        second = layers.Dense(units, name="second")
        first = layers.Dense(units, name="first")
        inputs = keras.Input((3,))
        super().__init__(inputs, second(first(inputs)), **kwargs)
        self.second = second  # attributes in a different order than the graph
        self.first = first
        self.units = units

    def get_config(self):
        return {"units": self.units, "name": self.name}

    def describe(self):
        return f"{self.units} units"


def test_subclass_with_its_own_get_config_keeps_its_class_and_methods():
    model = Backbone(4)

    twin = twin_of(model)

    assert twin.describe() == "4 units"
    assert twin.first is twin.get_layer("first")
    assert_alike(model, twin, X)


def test_subclass_with_reordered_attributes_keeps_the_order_of_its_weights():
    # tfjs#1748, keras#7906
    model = scramble(Backbone(4))

    twin = twin_of(model)

    assert paths(twin) == paths(model)
    assert_equal_values(model, twin)
    assert_alike(model, twin, X)


def test_backbone_inside_another_model_keeps_its_class():
    inputs = keras.Input((3,))
    model = keras.Model(inputs, layers.Dense(1)(Backbone(4, name="backbone")(inputs)))

    twin = twin_of(model)

    assert type(twin.get_layer("backbone")) is Backbone
    assert twin.get_layer("backbone").first is not model.get_layer("backbone").first
    assert_alike(model, twin, X)


class Stack(keras.Sequential):
    def __init__(self, *args, note="", **kwargs):
        super().__init__(*args, **kwargs)
        self.note = note


def test_subclass_of_sequential_keeps_its_class():
    model = Stack([keras.Input((3,)), layers.Dense(2)], note="kept")

    twin = twin_of(model)

    assert type(twin) is Stack
    assert twin.note == "kept"
    assert_alike(model, twin, X)


class Mixin:
    registry = ()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.registry = (*cls.registry, cls.__name__)


class Meta(abc.ABCMeta):
    pass


class WithMetaclass(Mixin, keras.Layer, metaclass=type("Both", (Meta, type(keras.Layer)), {})):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._hidden = 3

    @property
    def hidden(self):
        return self._hidden

    @functools.cached_property
    def cached(self):
        return [self._hidden]

    @abc.abstractmethod
    def unused(self):
        """Abstract, so the class cannot be instantiated."""

    def call(self, x):
        return x * self.hidden


class Concrete(WithMetaclass):
    def unused(self):
        return None


def test_layer_with_a_mixin_a_metaclass_and_properties_is_copied():
    layer = Concrete()
    layer.cached.append("seen")
    model = keras.Sequential([keras.Input((3,)), layer])

    twin = twin_of(model)

    assert twin.layers[0].hidden == 3
    assert twin.layers[0].cached == [3, "seen"]
    assert_alike(model, twin, X)


class Alike:
    """All instances are equal."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return isinstance(other, Alike)

    def __hash__(self):
        return 7


def test_objects_that_compare_equal_are_not_confused():
    layer = layers.Identity()
    layer.pair = [Alike(1), Alike(2)]
    layer.by_object = {layer.pair[1]: "second"}

    twin = twin_of(layer)

    assert [item.number for item in twin.pair] == [1, 2]
    assert next(iter(twin.by_object)) is twin.pair[1]


class Counted(keras.Layer):
    made = 0

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        type(self).made += 1

    def call(self, x):
        return x


def test_no_constructor_runs_again():
    model = keras.Sequential([keras.Input((3,)), Counted()])
    made = Counted.made

    twin_of(model)

    assert Counted.made == made


class Guarded(keras.Layer):
    def __setattr__(self, name, value):
        if name == "limit" and hasattr(self, "limit"):
            raise AttributeError("set once")
        super().__setattr__(name, value)

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.limit = 4

    def call(self, x):
        return x * self.limit


def test_layer_whose_attributes_can_only_be_set_once_is_copied():
    model = keras.Sequential([keras.Input((3,)), Guarded()])

    assert_alike(model, twin_of(model), X)


# --- trainable


def test_frozen_model_stays_frozen():
    # keras#11022
    inputs = keras.Input((3,))
    model = keras.Model(inputs, layers.Dense(2)(inputs))
    model.trainable = False

    twin = twin_of(model)

    assert twin.trainable is False
    assert twin.trainable_weights == []
    assert_alike(model, twin, X)


def test_trainable_layer_in_a_frozen_model_stays_trainable():
    # keras#11022, consequence
    inputs = keras.Input((3,))
    model = keras.Model(inputs, layers.Dense(2, name="head")(layers.Dense(3, name="body")(inputs)))
    model.trainable = False
    model.get_layer("head").trainable = True

    twin = twin_of(model)

    assert [layer.trainable for layer in twin.layers] == [layer.trainable for layer in model.layers]
    assert len(twin.trainable_weights) == len(model.trainable_weights)
    twin.trainable = True
    assert len(twin.trainable_weights) == 4
    assert model.trainable is False
    assert model.get_layer("body").trainable is False


def test_frozen_sublayer_of_a_composite_layer_stays_frozen():
    # LoRA and fine-tuning
    inputs = keras.Input((4, 3))
    model = keras.Model(inputs, layers.MultiHeadAttention(2, 2, name="mha")(inputs, inputs))
    model.get_layer("mha").query_dense.trainable = False

    twin = twin_of(model)

    assert twin.get_layer("mha").query_dense.trainable is False
    assert len(twin.trainable_weights) == len(model.trainable_weights) == 6
    assert_alike(model, twin, numbers(2, 4, 3))


def test_frozen_nested_sequential_model_stays_frozen():
    # Sequential.from_config ignores trainable
    inner = keras.Sequential([keras.Input((3,)), layers.Dense(3)], name="inner")
    inner.trainable = False
    inputs = keras.Input((3,))
    model = keras.Model(inputs, layers.Dense(1)(inner(inputs)))

    twin = twin_of(model)

    assert twin.get_layer("inner").trainable is False
    assert len(twin.trainable_weights) == 2
    assert_alike(model, twin, X)


def test_one_frozen_variable_of_a_layer_stays_frozen():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, name="d")])
    model.get_layer("d").kernel.trainable = False
    model.compile("sgd", "mse")

    twin = twin_of(model)
    fit_once(twin, X, numbers(2, 2))

    assert [v.trainable for v in twin.variables[:2]] == [False, True]
    np.testing.assert_array_equal(twin.get_weights()[0], model.get_weights()[0])
    assert not np.array_equal(twin.get_weights()[1], model.get_weights()[1])


def test_freezing_the_twin_leaves_the_original_trainable():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2)])

    twin = twin_of(model)
    twin.trainable = False

    assert model.trainable is True
    assert len(model.trainable_weights) == 2
    assert all(variable.trainable for variable in model.weights)


# --- arguments that get_config omits


@pytest.mark.parametrize(
    ("make", "attribute", "value"),
    [
        pytest.param(lambda: layers.LSTM(2, use_cudnn=False), "use_cudnn", False, id="LSTM.use_cudnn"),
        pytest.param(lambda: layers.GRU(2, use_cudnn=False), "use_cudnn", False, id="GRU.use_cudnn"),
        pytest.param(
            lambda: layers.MaxNumBoundingBoxes(5, fill_value=7), "fill_value", 7, id="MaxNumBoundingBoxes.fill_value"
        ),
        pytest.param(lambda: layers.Dense(2, lora_rank=1, lora_alpha=8), "lora_alpha", 8, id="Dense.lora_alpha"),
        pytest.param(lambda: layers.Dense(2, autocast=False), "autocast", False, id="autocast"),
    ],
)
def test_argument_that_get_config_omits_is_kept(make, attribute, value):
    layer = make()

    twin = twin_of(layer)

    assert getattr(twin, attribute) == getattr(layer, attribute) == value


def test_category_encoding_stays_sparse():
    layer = layers.CategoryEncoding(num_tokens=4, sparse=True)

    assert twin_of(layer).sparse is True


@needs_keras(3, 13, "a plain function cannot be a regularizer")
def test_regularizers_and_constraints_are_kept():
    dense = layers.Dense(
        2,
        kernel_regularizer=keras.regularizers.L2(0.1),
        activity_regularizer=keras.regularizers.L1(0.2),
        kernel_constraint=keras.constraints.MaxNorm(0.5),
        bias_regularizer=lambda w: keras.ops.sum(keras.ops.abs(w)) * 0.3,
        name="d",
    )
    model = keras.Sequential([keras.Input((3,)), dense])
    model.compile("sgd", "mse")
    model(X)

    twin = twin_of(model)

    assert twin.get_layer("d").kernel_regularizer is not dense.kernel_regularizer
    assert twin.get_layer("d").kernel.regularizer is twin.get_layer("d").kernel_regularizer
    assert fit_once(twin, X, numbers(2, 2)) == fit_once(model, X, numbers(2, 2))
    assert_equal_values(model, twin)


def test_losses_added_by_a_call_are_kept_and_independent():
    class Penal(keras.Layer):
        def call(self, x):
            self.add_loss(keras.ops.sum(x) * 0.5)
            return x

    model = keras.Sequential([keras.Input((3,)), Penal()])
    model(X)

    twin = twin_of(model)
    twin(X * 2)

    assert len(twin.losses) == len(model.losses) == 1
    np.testing.assert_allclose(number(model.losses[0]), X.sum() * 0.5, rtol=1e-5)
    np.testing.assert_allclose(number(twin.losses[0]), X.sum(), rtol=1e-5)


def number(value):
    return np.array(keras.ops.convert_to_numpy(value))


# --- paths


def test_variable_paths_are_kept():
    # Layout maps and weight decay match on them.
    inner = keras.Sequential([keras.Input((3,)), layers.Dense(3, name="d")], name="inner")
    inputs = keras.Input((4, 3))
    attended = layers.MultiHeadAttention(1, 2, name="mha")(inputs, inputs)
    model = keras.Model(inputs, layers.TimeDistributed(inner, name="td")(attended), name="net")
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)

    twin = twin_of(model)

    assert paths(twin) == paths(model)
    assert [v.path for v in twin.optimizer.variables] == [v.path for v in model.optimizer.variables]
    assert [layer.path for layer in twin._flatten_layers()] == [layer.path for layer in model._flatten_layers()]


class Lazy(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.body = keras.Sequential([layers.Dense(3, name="d")], name="body")
        self.head = layers.Dense(2, name="head")

    def call(self, x):
        return self.head(self.body(x))


def test_variable_paths_of_layers_built_on_the_first_call_are_kept():
    model = Lazy(name="lazy")
    model(X)

    twin = twin_of(model)

    assert (
        paths(twin) == paths(model) == ["lazy/body/d/kernel", "lazy/body/d/bias", "lazy/head/kernel", "lazy/head/bias"]
    )
    assert_alike(model, twin, X, config=False)


def test_twin_made_before_the_first_call_has_the_same_variable_paths():
    model = Lazy(name="lazy")

    twin = twin_of(model)
    model(X)
    twin(X)

    assert paths(twin) == paths(model)


# --- attributes


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Options:
    rate: float
    names: list


@dataclasses.dataclass(frozen=True)
class Frozen:
    parts: tuple


@dataclasses.dataclass(slots=True)
class Slotted:
    value: list


Pair = collections.namedtuple("Pair", "left right")


class Slots:
    __slots__ = ("__private", "never_set", "value")

    def __init__(self, value):
        self.value = value
        self.__private = [value]

    def private(self):
        return self.__private


class Elusive:
    """An object that has every attribute, has no truth value, and compares like an array."""

    def __init__(self):
        self.__dict__["kept"] = [1]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return "anything"

    def __eq__(self, other):
        return np.array([True, False])

    __hash__ = None

    def __bool__(self):
        raise ValueError("ambiguous")


@pytest.mark.parametrize(
    ("value", "look"),
    [
        pytest.param(Color.RED, lambda v: v is Color.RED, id="enum member"),
        pytest.param(Options(0.1, ["a"]), lambda v: v == Options(0.1, ["a"]), id="dataclass"),
        pytest.param(Frozen(([1],)), lambda v: v == Frozen(([1],)), id="frozen dataclass over a list"),
        pytest.param(Slotted([1]), lambda v: v == Slotted([1]), id="dataclass with slots"),
        pytest.param(Pair([1], 2), lambda v: v == Pair([1], 2) and v.left == [1], id="named tuple"),
        pytest.param(Slots(3), lambda v: v.value == 3 and v.private() == [3], id="private slot, and one never set"),
        pytest.param(Elusive(), lambda v: v.__dict__ == {"kept": [1]}, id="object with every attribute"),
        pytest.param(pathlib.Path("a/b"), lambda v: v == pathlib.Path("a/b"), id="path"),
        pytest.param(frozenset({1, "a"}), lambda v: v == {1, "a"}, id="frozenset"),
        pytest.param(
            {(1, "a"): [2], None: {3}}, lambda v: v == {(1, "a"): [2], None: {3}}, id="dict with unusual keys"
        ),
        pytest.param(collections.deque([1, 2], 3), lambda v: v.maxlen == 3 and list(v) == [1, 2], id="deque"),
        pytest.param(
            collections.OrderedDict(z=1, a=[2]), lambda v: list(v.items()) == [("z", 1), ("a", [2])], id="OrderedDict"
        ),
        pytest.param(
            collections.defaultdict(list, a=[1]), lambda v: v["a"] == [1] and v["new"] == [], id="defaultdict"
        ),
        pytest.param(collections.Counter("aab"), lambda v: v["a"] == 2 and v["c"] == 0, id="Counter"),
        pytest.param(types.SimpleNamespace(a=[1]), lambda v: v.a == [1], id="namespace"),
        pytest.param(types.MappingProxyType({"a": [1]}), lambda v: v["a"] == [1], id="read-only mapping"),
        pytest.param(bytearray(b"ab"), lambda v: v == b"ab", id="bytearray"),
        pytest.param(np.array([1, None], object), lambda v: list(v) == [1, None], id="array of objects"),
        pytest.param(np.float32(2), lambda v: v == 2 and type(v) is np.float32, id="numpy scalar"),
        pytest.param(ValueError("kept", 3), lambda v: v.args == ("kept", 3), id="exception"),
        pytest.param(range(3), lambda v: v == range(3), id="range"),
        pytest.param(2**70, lambda v: v == 2**70, id="large int"),
    ],
)
def test_attribute_set_by_hand_is_kept(value, look):
    layer = layers.Dense(2)
    object.__setattr__(layer, "mine", value)
    model = keras.Sequential([keras.Input((3,)), layer])

    twin = twin_of(model)

    assert type(twin.layers[0].mine) is type(layer.mine)
    assert look(twin.layers[0].mine)


@pytest.mark.parametrize("value", [[1, [2]], {"a": [1]}, {1, 2}, (1, [2])], ids=["list", "dict", "set", "tuple"])
def test_collection_assigned_to_an_attribute_is_kept(value):
    # Keras and TensorFlow wrap collections in classes that track their items.
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
    model.mine = value
    model.layers[0].mine = value

    twin = twin_of(model)

    assert type(twin.mine) is type(model.mine)
    assert twin.mine == value
    assert twin.layers[0].mine == value


def test_layer_added_to_a_list_of_the_twin_is_tracked_by_the_twin_only():
    class Many(keras.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.many = [layers.Dense(2, name="a")]
            self.named = {"b": layers.Dense(2, name="b")}

        def call(self, x):
            return x

    layer = Many()

    twin = twin_of(layer)
    twin.many.append(layers.Dense(2, name="c"))
    twin.named["d"] = layers.Dense(2, name="d")

    assert sorted(part.name for part in twin._flatten_layers(include_self=False)) == ["a", "b", "c", "d"]
    assert sorted(part.name for part in layer._flatten_layers(include_self=False)) == ["a", "b"]


def test_variable_deleted_from_the_twin_is_no_longer_tracked():
    class Two(keras.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.first = self.add_weight(shape=(2,), name="first")
            self.second = self.add_weight(shape=(2,), name="second")

        def call(self, x):
            return x

    layer = Two()

    twin = twin_of(layer)
    del twin.second

    assert [variable.name for variable in twin.weights] == ["first"]
    assert [variable.name for variable in layer.weights] == ["first", "second"]


def test_instance_patches_are_kept():
    # like torch.fx#78892
    layer = layers.Dense(2, name="d")
    layer.tag = "mine"
    layer.call = types.MethodType(lambda self, x: keras.ops.matmul(x, self.kernel) * 2, layer)
    model = keras.Sequential([keras.Input((3,)), layer])

    twin = twin_of(model)

    assert twin.get_layer("d").tag == "mine"
    assert twin.get_layer("d").call.__self__ is twin.get_layer("d")
    assert_alike(model, twin, X)


class TakesContext(keras.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._register_call_context_args("loud")

    def call(self, x, loud=False):
        return x * 10 if loud else x


def test_call_context_arguments_still_reach_the_layers_inside():
    class Outer(keras.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self._register_call_context_args("loud")
            self.inner = TakesContext()

        def call(self, x):
            return self.inner(x)

    layer = Outer()
    layer(X)

    twin = twin_of(layer)

    np.testing.assert_array_equal(number(twin(X, loud=True)), X * 10)
    np.testing.assert_array_equal(number(twin(X)), X)


def test_call_context_arguments_registered_on_a_model_are_kept():
    inputs = keras.Input((3,))
    model = keras.Model(inputs, TakesContext()(inputs))
    model._register_call_context_args("loud")

    twin = twin_of(model)

    np.testing.assert_array_equal(number(twin(X, loud=True)), number(model(X, loud=True)))


# --- dtypes


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16", "bfloat16"])
def test_dtype_policy_is_kept(policy, backend):
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, dtype=policy), layers.Dense(2)])

    twin = twin_of(model)

    assert [layer.dtype_policy.name for layer in twin.layers] == [policy, "float32"]
    assert [variable.dtype for variable in twin.variables] == [variable.dtype for variable in model.variables]
    # TensorFlow's own bfloat16 product stops the program ("illegal instruction") on some processors.
    runs = backend != "tensorflow" or "bfloat16" not in policy
    assert_alike(model, twin, X if runs else None)


def test_map_of_dtype_policies_is_kept():
    policies = keras.dtype_policies.DTypePolicyMap()
    policies["net/a"] = "mixed_float16"

    class Net(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.a = layers.Dense(2, name="a", dtype=policies)
            self.b = layers.Dense(2, name="b", dtype=policies)

        def call(self, x):
            return self.b(self.a(x))

    model = Net(name="net")
    model(X)

    twin = twin_of(model)

    assert twin.a.dtype_policy is twin.b.dtype_policy
    assert [v.dtype for v in twin.variables] == [v.dtype for v in model.variables]
    np.testing.assert_array_equal(outputs(twin, X)[0], outputs(model, X)[0])


def test_supports_masking_set_on_an_instance_is_kept():
    blind = layers.Lambda(lambda x: x)
    blind.supports_masking = True

    assert twin_of(blind).supports_masking is True


def test_settings_of_compile_are_kept():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
    model.compile(
        "sgd", "mse", loss_weights=[0.5], metrics=["mae"], run_eagerly=True, steps_per_execution=3, jit_compile=False
    )

    twin = twin_of(model)

    assert twin.compiled
    assert (twin.run_eagerly, twin.jit_compile, twin.steps_per_execution) == (True, False, 3)
    assert twin.get_compile_config() == model.get_compile_config()
