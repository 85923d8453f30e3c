"""Subclassed and unbuilt models, and other arguments of `clone`: layers, optimizers, metrics, collections, `share=`."""

import collections
import copy
import dataclasses
import pickle
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import layers, ops

import ramet
from tests.support.reach import reachable
from tests.support.state_models import dense_model, floats, numbers, trained
from tests.support.twins import assert_equal_outputs, assert_equal_values, fit_once, outputs, twin_of, values

X, Y = floats(8, 4), floats(8, 3, seed=1)


def _ones(variables):
    return [ops.ones(v.shape) for v in variables]


def assert_unmoved(model, before):
    for now, was in zip(values(model), before, strict=True):
        np.testing.assert_array_equal(now, was)


# --- Subclassed models ------------------------------------------------------------------------------------------------


class Plain(keras.Model):
    def __init__(self, units):
        super().__init__()
        self.first = layers.Dense(units, activation="relu")
        self.second = layers.Dense(3)

    def call(self, x, training=False):
        return self.second(self.first(x))


# tf-keras#355, tf#47048, #59275, keras#17261
def test_subclassed_model_is_exact():
    model = Plain(5)
    model(X)
    twin = twin_of(model)

    assert type(twin) is Plain
    assert_equal_outputs(model, twin, X)


def test_subclassed_model_trains_identically_and_independently():
    model = trained(Plain(5), X, Y, optimizer="adam", metrics=["mae"])
    before = values(model)
    twin = twin_of(model)
    fit_once(twin, X, Y)

    assert_unmoved(model, before)
    fit_once(model, X, Y)
    assert_equal_values(model, twin)


class Gan(keras.Model):
    def __init__(self, generator, discriminator):
        super().__init__()
        self.generator = generator
        self.discriminator = discriminator
        self.seen = keras.metrics.Mean(name="seen")

    def compile(self, g_optimizer, d_optimizer, **options):
        super().compile(**options)
        self.g_optimizer = g_optimizer
        self.d_optimizer = d_optimizer

    @property
    def metrics(self):
        return [self.seen]

    def call(self, x):
        return self.discriminator(self.generator(x))


def _gan():
    generator = keras.Sequential([keras.Input((4,)), layers.Dense(4, name="g")], name="generator")
    discriminator = dense_model(layers.Dropout(0.2), layers.Dense(1), name="discriminator")
    return Gan(generator, discriminator)


# tf#59275
def test_model_that_takes_models_in_its_constructor_is_exact():
    model = _gan()
    model(X)
    twin = twin_of(model)

    assert type(twin.generator) is keras.Sequential
    assert_equal_outputs(model, twin, X)
    assert twin.get_layer("generator") is twin.generator


def test_several_optimizers_as_attributes_each_follow_their_part():
    model = _gan()
    model.compile(keras.optimizers.Adam(0.1), keras.optimizers.SGD(0.1, momentum=0.9))
    model(X)
    for optimizer, part in ((model.g_optimizer, model.generator), (model.d_optimizer, model.discriminator)):
        optimizer.build(part.trainable_variables)
        optimizer.apply(_ones(part.trainable_variables))
    before = values(model)
    twin = twin_of(model)
    part = twin.generator.trainable_variables
    twin.g_optimizer.apply(_ones(part), part)

    assert_unmoved(model, before)
    assert not np.array_equal(*numbers((model.generator.trainable_variables[0], part[0])))
    model.g_optimizer.apply(_ones(part))
    np.testing.assert_array_equal(*numbers((model.generator.trainable_variables[0], part[0])))


def test_moving_average_wrapper_keeps_online_and_target_distinct_and_equal():
    class Averaged(keras.Model):
        def __init__(self, online):
            super().__init__()
            self.online = online
            self.target = ramet.clone(online, name="target")

        def call(self, x):
            return self.online(x) - self.target(x)

        def follow(self, rate):
            for slow, fast in zip(self.target.variables, self.online.variables, strict=True):
                slow.assign(rate * slow + (1 - rate) * fast)

    model = Averaged(dense_model(name="online"))
    model.online.layers[-1].kernel.assign(floats(4, 3, seed=7))
    model.follow(0.5)
    twin = twin_of(model)

    assert_equal_outputs(model, twin, X)
    twin.follow(0.5)
    model.follow(0.5)
    assert_equal_outputs(model, twin, X)
    assert twin.online is not twin.target


def test_model_in_two_attributes_is_copied_once():
    model = Plain(5)
    model(X)
    model.again = model.first
    model.both = [model.first, model.second, model.first]
    twin = twin_of(model)

    assert twin.again is twin.first
    assert twin.both[0] is twin.both[2] is twin.first
    assert twin.both[1] is twin.second


def test_lists_dicts_and_nests_of_layers_are_tracked_in_the_twin():
    class Tower(keras.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [[layers.Dense(4), layers.BatchNormalization()], [layers.Dense(4)]]
            self.heads = {"a": layers.Dense(2), "b": {"deep": layers.Dense(1)}}
            self.pair = (layers.Dense(4), layers.ReLU())

        def call(self, x):
            for block in self.blocks:
                for layer in block:
                    x = layer(x)
            for layer in self.pair:
                x = layer(x)
            return {"a": self.heads["a"](x), "b": self.heads["b"]["deep"](x)}

    model = Tower()
    model(X)
    twin = twin_of(model)

    assert_equal_outputs(model, twin, X)
    assert [v.path for v in twin.variables] == [v.path for v in model.variables]
    assert twin.blocks[0][0] in twin._flatten_layers()
    assert len(twin.layers) == len(model.layers)


def test_lists_of_the_twin_keep_tracking():
    class Growing(keras.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [layers.Dense(4)]

        def call(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    model = Growing()
    twin = twin_of(model)
    twin.blocks.append(layers.Dense(2))
    twin(X), model(X)

    assert (len(model.layers), len(twin.layers)) == (1, 2)
    assert (len(model.variables), len(twin.variables)) == (2, 4)


def test_variables_outside_of_layers_are_kept():
    class Scaled(keras.Model):
        def __init__(self):
            super().__init__()
            self.scale = self.add_weight(shape=(), initializer="ones", name="scale")
            self.steps = keras.Variable(0, dtype="int32", trainable=False, name="steps")
            self.tables = {"one": keras.Variable(np.ones(3, "float32"), name="one")}
            self.dense = layers.Dense(3)

        def call(self, x):
            return self.dense(x) * self.scale + self.tables["one"]

    model = Scaled()
    model(X)
    model.scale.assign(3.0)
    model.steps.assign_add(5)
    twin = twin_of(model)

    assert_equal_values(model, twin)
    twin.steps.assign_add(1)
    assert int(ops.convert_to_numpy(model.steps)) == 5
    assert {id(v) for v in twin.variables} >= {id(twin.scale), id(twin.steps), id(twin.tables["one"])}


@dataclasses.dataclass
class Options:
    rate: float
    names: list


Pair = collections.namedtuple("Pair", "left right")


def test_attributes_set_by_hand_are_kept_and_independent():
    model = Plain(5)
    model(X)
    model.options = Options(0.5, ["a"])
    model.history_of_mine = collections.deque([1, 2], maxlen=3)
    model.counts = collections.Counter("aab")
    model.array = np.arange(4)
    model.nothing = None
    model.first.tag = {"seen": {1, 2}}
    model.pair = Pair(model.first, [1])
    model.rows = collections.defaultdict(list, a=[1])
    model.ordered = collections.OrderedDict(b=1, a=2)
    twin = twin_of(model)

    assert twin.options == model.options
    twin.options.names.append("b")
    twin.history_of_mine.append(9)
    twin.array[0] = 9
    twin.first.tag["seen"].add(3)
    twin.rows["a"].append(1)
    assert model.options.names == ["a"]
    assert list(model.history_of_mine) == [1, 2]
    assert model.array[0] == 0
    assert model.first.tag == {"seen": {1, 2}}
    assert dict(model.rows) == {"a": [1]}
    assert list(twin.ordered) == ["b", "a"]
    assert type(twin.pair) is type(model.pair)
    assert twin.pair.left is twin.first


def test_user_defined_train_step_runs_on_the_twin(backend):
    class Stepping(Plain):
        def __init__(self, units):
            super().__init__(units)
            self.calls = []

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            self.calls.append(id(self))
            return ops.mean(ops.square(y - y_pred)) * 2

    model = Stepping(5)
    model.compile("sgd", run_eagerly=backend != "jax")
    fit_once(model, X, Y)
    model.calls.clear()
    twin = twin_of(model)
    ours = fit_once(twin, X, Y)

    assert set(twin.calls) == {id(twin)}
    assert model.calls == []
    assert fit_once(model, X, Y) == ours


def test_functional_subclass_keeps_class_arguments_and_methods():
    class Backbone(keras.Model):
        def __init__(self, units, alpha):
            inputs = keras.Input((4,))
            second = layers.Dense(3, name="second")
            first = layers.Dense(units, name="first")
            super().__init__(inputs, second(first(inputs)))
            self.second, self.first = second, first
            self.alpha = alpha

        def scaled(self, x):
            return self(x) * self.alpha[0]

        def get_config(self):
            return {"units": self.first.units, "alpha": self.alpha}

    model = Backbone(5, [0.5])
    twin = twin_of(model)

    assert type(twin) is Backbone
    assert (twin.first, twin.second) == (twin.get_layer("first"), twin.get_layer("second"))
    assert twin.alpha == [0.5]
    assert twin.alpha is not model.alpha
    np.testing.assert_array_equal(*numbers((model.scaled(X), twin.scaled(X))))


def test_model_that_refers_to_itself_and_its_parent_is_exact():
    class Child(layers.Layer):
        def call(self, x):
            return x * self.parent_scale()

    model = Plain(5)
    model(X)
    child = Child()
    model.__dict__["child"] = child
    model.__dict__["loop"] = {"me": model}
    child.__dict__["parent_scale"] = lambda: float(model.second.units)
    twin = twin_of(model)

    assert twin.loop["me"] is twin
    np.testing.assert_array_equal(*numbers((child(X), twin.child(X))))
    model.second.units = 7
    np.testing.assert_array_equal(numbers([twin.child(X)])[0], X * 3)


def test_method_bound_to_the_model_is_bound_to_the_twin():
    model = Plain(5)
    model(X)
    model.run = model.first.call
    model.patched = lambda x: model.second(model.first(x)) * 2
    twin = twin_of(model)

    assert twin.run.__self__ is twin.first
    twin.second.kernel.assign(ops.zeros((5, 3)))
    twin.second.bias.assign(ops.zeros(3))
    assert not numbers([twin.patched(X)])[0].any()
    assert numbers([model.patched(X)])[0].any()


def test_attention_and_other_composite_layers_inside_a_subclass_are_exact():
    class Block(layers.Layer):
        def __init__(self):
            super().__init__()
            self.attention = layers.MultiHeadAttention(2, 3, dropout=0.1)
            self.grouped = layers.GroupQueryAttention(2, 4, 2)
            self.norm = layers.LayerNormalization()
            self.mlp = keras.Sequential([layers.Dense(6, activation="gelu"), layers.Dense(4)])

        def call(self, x):
            x = self.norm(x + self.attention(x, x))
            return x + self.mlp(x + self.grouped(x, x))

    model = keras.Sequential([Block(), Block()])
    x = floats(2, 5, 4)
    model(x)
    twin = twin_of(model)

    assert_equal_outputs(model, twin, x)
    assert [v.path for v in twin.variables] == [v.path for v in model.variables]


# --- Unbuilt models ---------------------------------------------------------------------------------------------------


def test_unbuilt_sequential_stays_unbuilt_and_builds_independently():
    model = keras.Sequential([layers.Dense(3), layers.ReLU()])
    twin = twin_of(model)
    twin(X)

    assert (model.built, twin.built) == (False, True)
    assert model.variables == []
    assert twin.layers[0] is not model.layers[0]


def test_unbuilt_subclass_stays_unbuilt_and_trains():
    model = Plain(5)
    model.compile("adam", "mse")
    twin = twin_of(model)
    fit_once(twin, X, Y)

    assert not model.built
    assert model.variables == []
    assert len(twin.variables) == 4


def test_partly_built_model_keeps_its_built_layers():
    model = Plain(5)
    model.first.build((None, 4))
    twin = twin_of(model)

    np.testing.assert_array_equal(*numbers((model.first.kernel, twin.first.kernel)))
    assert not twin.second.built


def test_sequential_without_layers_can_be_filled_after_cloning():
    model = keras.Sequential(name="empty")
    twin = twin_of(model)
    twin.add(keras.Input((4,)))
    twin.add(layers.Dense(3))

    assert (len(model.layers), len(twin.layers)) == (0, 1)
    assert outputs(twin, X)[0].shape == (8, 3)


def test_adding_and_popping_layers_changes_the_twin_only():
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.Dense(2)])
    twin = twin_of(model)
    twin.pop()
    twin.add(layers.Dense(7))

    assert outputs(model, X)[0].shape == (8, 2)
    assert outputs(twin, X)[0].shape == (8, 7)
    np.testing.assert_array_equal(*numbers((model.layers[0].kernel, twin.layers[0].kernel)))


def test_uninitialized_variables_stay_uninitialized():
    class Late(layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(shape=(shape[-1],), initializer=keras.initializers.RandomNormal(seed=3))

        def call(self, x):
            return x * self.w

    with keras.StatelessScope():
        layer = Late()
        layer.build((None, 4))
    twin = twin_of(layer)

    np.testing.assert_array_equal(*numbers((layer(X), twin(X))))


# --- Files, pickles and deepcopies ------------------------------------------------------------------------------------


def test_twin_saves_loads_pickles_and_clones_again(tmp_path):
    model = trained(dense_model(layers.Dense(5), layers.Dense(3)), X, Y, optimizer="adam")
    twin = twin_of(model)
    twin.save(tmp_path / "twin.keras")
    loaded = keras.models.load_model(tmp_path / "twin.keras")

    for ours, theirs in zip(numbers(model.optimizer.variables), numbers(loaded.optimizer.variables), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert_equal_outputs(model, pickle.loads(pickle.dumps(twin)), X)
    assert_equal_outputs(model, copy.deepcopy(twin), X)
    assert_equal_outputs(model, twin_of(loaded), X)


# keras#466
def test_layer_cloned_alone_has_no_calls():
    model = dense_model(layers.Dense(3, name="d"))
    twin = twin_of(model.get_layer("d"))

    assert twin._inbound_nodes == []
    np.testing.assert_array_equal(*numbers((model.get_layer("d")(X), twin(X))))


def test_raw_operation_can_be_cloned():
    inputs = keras.Input((4,))
    model = keras.Model(inputs, ops.reshape(inputs * 2, (-1, 2, 2)))
    twin = twin_of(model)
    operation = twin_of(model.operations[-1])

    assert_equal_outputs(model, twin, X)
    assert operation._inbound_nodes == []


# --- Optimizers, metrics, losses --------------------------------------------------------------------------------------


def _apply(optimizer, variables):
    optimizer.apply(_ones(variables), variables)


def test_optimizer_cloned_alone_keeps_its_slots_and_its_variables():
    model = trained(dense_model(), X, Y, optimizer=keras.optimizers.Adam(0.1))
    kernel = numbers(model.trainable_variables)[0]
    slots = numbers(model.optimizer.variables)
    twin = twin_of(model.optimizer, share=model.trainable_variables)
    _apply(twin, model.trainable_variables)

    assert twin._trainable_variables[0] is model.trainable_variables[0]
    assert not np.array_equal(numbers(model.trainable_variables)[0], kernel)
    for now, was in zip(numbers(model.optimizer.variables), slots, strict=True):
        np.testing.assert_array_equal(now, was)


def test_optimizer_cloned_alone_needs_no_share():
    model = trained(dense_model(), X, Y, optimizer=keras.optimizers.SGD(0.1, momentum=0.5))

    twin = ramet.clone(model.optimizer)

    assert [a is b for a, b in zip(twin._trainable_variables, model.trainable_variables, strict=True)] == [True, True]
    assert not {id(v) for v in twin.variables} & {id(v) for v in model.optimizer.variables}


def test_optimizer_with_its_model_optimizes_the_twins_variables():
    model = dense_model()
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.build(model.trainable_variables)
    _apply(optimizer, model.trainable_variables)
    before = values(model)
    for first, second in (((model, optimizer)), (optimizer, model)):
        twins = twin_of([first, second])
        other, its = twins if isinstance(twins[0], keras.Model) else twins[::-1]
        _apply(its, other.trainable_variables)

        assert its._trainable_variables[0] is other.trainable_variables[0]
        assert_unmoved(model, before)


def test_loss_scale_optimizer_cloned_alone_keeps_its_inner_slots():
    model = dense_model()
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.1), initial_scale=4.0)
    optimizer.build(model.trainable_variables)
    optimizer.inner_optimizer.apply(_ones(model.trainable_variables))
    slots = numbers(optimizer.variables)
    twin = twin_of(optimizer, share=model.trainable_variables)

    for ours, theirs in zip(slots, numbers(twin.variables), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    twin.inner_optimizer.apply(_ones(model.trainable_variables))
    twin.dynamic_scale.assign(2.0)
    for now, was in zip(numbers(optimizer.variables), slots, strict=True):
        np.testing.assert_array_equal(now, was)


def test_unbuilt_optimizer_can_be_cloned_and_used():
    model = dense_model()
    twin = twin_of(keras.optimizers.AdamW(0.1))
    _apply(twin, model.trainable_variables)

    assert int(ops.convert_to_numpy(twin.iterations)) == 1


def test_metric_and_a_loss_cloned_alone_are_exact():
    metric = keras.metrics.Mean()
    metric.update_state([1.0, 3.0])
    loss = keras.losses.CategoricalCrossentropy(label_smoothing=0.1, reduction="sum")
    twin_metric, twin_loss = twin_of(metric), twin_of(loss)
    twin_metric.update_state([8.0])

    assert (float(metric.result()), float(twin_metric.result())) == (2.0, 4.0)
    y, p = np.eye(3, dtype="float32"), np.full((3, 3), 1 / 3, "float32")
    np.testing.assert_array_equal(*numbers((loss(y, p), twin_loss(y, p))))


def test_loss_with_variables_has_independent_ones_in_the_twin():
    class Weighted(keras.losses.Loss):
        def __init__(self):
            super().__init__()
            self.weight = keras.Variable(2.0)

        def call(self, y, p):
            return self.weight * ops.mean(ops.square(y - p), axis=-1)

    loss = Weighted()
    twin = twin_of(loss)
    twin.weight.assign(0.0)

    assert float(ops.convert_to_numpy(loss(Y, 0 * Y))) > 0
    assert float(ops.convert_to_numpy(twin(Y, 0 * Y))) == 0


# --- compile=False ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [dense_model, lambda: Plain(5), lambda: keras.Sequential([keras.Input((4,)), layers.Dense(3)])]
)
def test_without_compile_the_twin_has_no_optimizer_loss_or_metrics(make):
    model = trained(make(), X, Y, optimizer="adam", metrics=["mae"])
    twin = twin_of(model, compile=False)

    assert not twin.compiled
    assert getattr(twin, "optimizer", None) is None
    assert twin.metrics == []
    assert_equal_outputs(model, twin, X)
    trained(twin, X, Y, optimizer="sgd")
    assert model.optimizer.name == "adam"


def test_without_compile_the_twin_is_like_a_model_never_compiled():
    model = trained(dense_model(), X, Y, optimizer="adam", metrics=["mae"])
    twin = twin_of(model, compile=False)

    compiled = keras.optimizers.Optimizer | keras.losses.Loss | keras.metrics.Metric
    assert [found for found, _ in reachable(twin).values() if isinstance(found, compiled)] == []
    with pytest.raises(ValueError, match="compile"):
        twin.fit(X, Y, verbose=0)


def test_without_compile_nested_models_lose_their_settings_as_well():
    inner = trained(dense_model(name="inner"), X, Y, optimizer="adam")
    model = dense_model(inner)
    model.compile("sgd", "mse")
    twin = twin_of(model, compile=False)

    assert not twin.get_layer("inner").compiled
    assert_equal_outputs(model, twin, X)


# --- share= -----------------------------------------------------------------------------------------------------------


def test_shared_attribute_stays_the_same_object():
    model = _gan()
    model(X)
    twin = twin_of(model, share=[model.discriminator])

    assert twin.discriminator is model.discriminator
    assert twin.generator is not model.generator
    assert_equal_outputs(model, twin, X)
    assert model.discriminator in twin.layers


def test_object_of_any_class_can_be_shared():
    class Log:
        def __init__(self):
            self.lines = []
            self.file = Path(__file__).open(encoding="utf-8")  # noqa: SIM115  # something that cannot be copied

    model = dense_model()
    model.log = Log()
    try:
        twin = twin_of(model, share=[model.log])
        twin.log.lines.append("both")

        assert model.log.lines == ["both"]
    finally:
        model.log.file.close()


def test_shared_layer_of_a_functional_model_is_called_in_both_graphs(tmp_path):
    shared = layers.Dense(4, name="shared")
    model = dense_model(layers.Dense(4, name="before"), shared, layers.Dense(3, name="after"))
    calls = len(shared._inbound_nodes)

    twin = ramet.clone(model, share=[shared])

    assert twin.get_layer("shared") is shared
    assert twin.get_layer("after") is not model.get_layer("after")
    assert len(shared._inbound_nodes) == calls + 1
    assert_equal_outputs(model, twin, X)
    for one in (model, twin):
        one.save(tmp_path / "one.keras")
        assert_equal_outputs(one, keras.models.load_model(tmp_path / "one.keras"), X)
        cut = keras.Model(one.input, one.get_layer("after").output)
        assert_equal_outputs(one, cut, X)
    assert_equal_outputs(model, ramet.clone(twin), X)


def test_training_a_shared_layer_affects_both_models():
    model = dense_model(layers.Dense(3, name="shared"))
    model.compile("sgd", "mse")

    twin = ramet.clone(model, share=[model.get_layer("shared")])
    fit_once(twin, X, Y)

    assert_equal_outputs(model, twin, X)


def test_shared_variable_stays_the_same_object():
    model = dense_model()
    kernel = model.layers[-1].kernel
    twin = twin_of(model, share=[kernel])
    twin.layers[-1].bias.assign(ops.ones(3))

    assert twin.layers[-1].kernel is kernel
    assert not numbers([model.layers[-1].bias])[0].any()


# --- Collections ------------------------------------------------------------------------------------------------------


def _actor_and_critic():
    trunk = layers.Dense(4, name="trunk")
    return dense_model(trunk, layers.Dense(3), name="actor"), dense_model(trunk, layers.Dense(1), name="critic")


Agents = collections.namedtuple("Agents", "actor critic")


@pytest.mark.parametrize(
    "collect",
    [
        list,
        tuple,
        lambda pair: Agents(*pair),
        lambda pair: dict(zip(("actor", "critic"), pair, strict=True)),
        lambda pair: collections.OrderedDict(zip(("actor", "critic"), pair, strict=True)),
    ],
    ids=["list", "tuple", "namedtuple", "dict", "ordered"],
)
def test_sharing_between_models_of_a_collection_is_kept(collect):
    originals = collect(_actor_and_critic())
    twins = twin_of(originals)

    assert type(twins) is type(originals)
    actor, critic = twins.values() if isinstance(twins, dict) else twins
    old_actor, old_critic = originals.values() if isinstance(originals, dict) else originals
    assert actor.get_layer("trunk") is critic.get_layer("trunk")
    assert actor.get_layer("trunk") is not old_actor.get_layer("trunk")
    assert_equal_outputs(old_actor, actor, X)
    assert_equal_outputs(old_critic, critic, X)


def test_model_that_is_twice_in_a_list_is_cloned_once():
    model = dense_model()
    first, second = twin_of([model, model])

    assert first is second


def test_empty_collection_returns_an_empty_collection():
    assert ramet.clone([]) == []
    assert ramet.clone({}) == {}


def test_models_layers_metrics_and_optimizers_mix_in_one_collection():
    model = trained(dense_model(), X, Y, optimizer="adam", metrics=["mae"])
    twins = twin_of(
        {"model": model, "layer": model.layers[-1], "optimizer": model.optimizer, "metric": model.metrics[0]}
    )

    assert twins["layer"] is twins["model"].layers[-1]
    assert twins["optimizer"] is twins["model"].optimizer
    assert twins["metric"] is twins["model"].metrics[0]
    assert len(twins["layer"]._inbound_nodes) == 1


def test_teacher_reached_through_a_closure_of_a_student_is_cloned_once():
    teacher = dense_model(name="teacher")
    student = dense_model(name="student")
    student.compile("sgd", loss=lambda y, p: ops.mean(ops.square(p - teacher(X)), axis=-1))
    fit_once(student, X, Y)
    new_teacher, new_student = twin_of([teacher, student])

    assert new_student.loss.__closure__[0].cell_contents is new_teacher
    assert fit_once(student, X, Y) == fit_once(new_student, X, Y)


def test_names_and_seeds_are_checked_before_cloning():
    model = dense_model(name="net")

    with pytest.raises(ramet.errors.ArgumentError, match="the original has the same name"):
        ramet.clone(model, name="net")
    with pytest.raises(ramet.errors.ArgumentError, match="a seed is an int"):
        ramet.clone(model, seed="7")
    with pytest.raises(ramet.errors.ArgumentError, match="collection"):
        ramet.clone([model], name="other")
    with pytest.raises(ramet.errors.NotAModelError, match="item 1"):
        ramet.clone([model, 42])


@pytest.mark.parametrize(
    "make", [dense_model, lambda **o: Plain(5, **o) if not o else Plain(5)], ids=["functional", "subclass"]
)
def test_original_and_named_twin_train_in_one_model(make):
    net = make()
    net(X)
    twin = ramet.clone(net, name="target")

    inputs = keras.Input((4,))
    both = keras.Model(inputs, [net(inputs), twin(inputs)])

    assert len({v.path for v in both.variables}) == len(both.variables) == 2 * len(net.variables)
    assert all(v.path.startswith("target") for v in twin.variables)
    both.compile("adam", ["mse", "mse"])
    both.fit(X, [Y, Y], verbose=0)
    assert_equal_outputs(net, twin, X)
