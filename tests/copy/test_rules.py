"""Copy rules of the user: `register_copy`, `__ramet_copy__` and `share=`."""

import copy
import types

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from tests.support.twins import assert_equal_outputs, twin_of

X = np.ones((8, 4), "float32")


@pytest.fixture
def rules(monkeypatch):
    """Undo the registrations of a test afterwards."""
    from ramet._copy import rules

    monkeypatch.setattr(rules, "_registered", dict(rules._registered))
    yield
    rules._known.clear()


@pytest.fixture
def connection():
    """Return a class whose instances cannot be copied."""

    class Connection:
        def __init__(self):
            self.log = []

        def __reduce_ex__(self, protocol):
            raise TypeError("a connection cannot be copied")

    return Connection


def _with(part):
    layer = layers.Dense(2, name="holder")
    layer.parts = {"inside": [part]}
    return layer


def _part(layer):
    return layer.parts["inside"][0]


def test_unknown_class_is_refused_with_its_path(rules, connection):
    with pytest.raises(ramet.errors.CannotCopyError) as caught:
        ramet.clone(_with(connection()))

    assert caught.value.path == "holder.parts['inside'][0]"
    assert "register_copy(Connection, how)" in caught.value.fix


def test_class_registered_as_shared_is_shared(rules, connection):
    layer = _with(connection())
    ramet.register_copy(connection, "share")

    assert _part(twin_of(layer, share=[_part(layer)])) is _part(layer)
    assert _part(ramet.clone(layer)) is _part(layer)


def test_class_registered_as_refused_is_refused(rules):
    class Secret:
        pass

    assert ramet.clone(_with(Secret())) is not None
    ramet.register_copy(Secret, "refuse")

    with pytest.raises(ramet.errors.CannotCopyError, match="Secret is registered as not to be copied"):
        ramet.clone(_with(Secret()))


def test_function_makes_the_copy(rules, connection):
    def how(old, copy):
        new = connection()
        new.log = copy(old.log)
        return new

    ramet.register_copy(connection, how)
    layer = _with(connection())
    _part(layer).log.append("hello")

    twin = ramet.clone(layer)

    assert _part(twin) is not _part(layer)
    assert _part(twin).log == ["hello"]
    assert _part(twin).log is not _part(layer).log


def test_rule_applies_to_subclasses_and_the_nearest_one_wins(rules, connection):
    class Pooled(connection):
        pass

    class Special(Pooled):
        pass

    ramet.register_copy(connection, "share")
    ramet.register_copy(Special, "refuse")
    layer = _with(Pooled())

    assert _part(ramet.clone(layer)) is _part(layer)
    with pytest.raises(ramet.errors.CannotCopyError):
        ramet.clone(_with(Special()))


def test_later_rule_replaces_an_earlier_one(rules, connection):
    layer = _with(connection())
    ramet.register_copy(connection, "share")
    ramet.clone(layer)

    ramet.register_copy(connection, "refuse")

    with pytest.raises(ramet.errors.CannotCopyError):
        ramet.clone(layer)


def test_object_registered_by_function_is_copied_once(rules, connection):
    made = []
    ramet.register_copy(connection, lambda old, copy: made.append(connection()) or made[-1])
    layer = layers.Dense(2)
    layer.a = layer.b = connection()

    twin = ramet.clone(layer)

    assert twin.a is twin.b is made[0]
    assert len(made) == 1


def test_class_of_a_keras_layer_can_be_registered(rules):
    class Frozen(layers.Dense):
        pass

    frozen = Frozen(4)
    model = keras.Sequential([keras.Input((4,)), frozen, layers.Dense(2)])
    ramet.register_copy(Frozen, "share")

    twin = ramet.clone(model)

    assert twin.layers[0] is frozen
    assert twin.layers[1] is not model.layers[1]
    assert_equal_outputs(model, twin, X)


class Versioned:
    """An object that copies itself and counts the copies."""

    def __init__(self, load, version=0):
        self.load = load
        self.version = version

    def __ramet_copy__(self, copy):
        return type(self)(copy(self.load), self.version + 1)


class VersionedChild(Versioned):
    pass


@pytest.mark.parametrize("kind", [Versioned, VersionedChild])
def test_copy_method_of_a_class_is_used(kind):
    layer = _with(kind([1]))

    twin = ramet.clone(ramet.clone(layer))

    assert type(_part(twin)) is kind
    assert (_part(twin).version, _part(twin).load) == (2, [1])
    assert _part(twin).load is not _part(layer).load


def test_rule_for_the_class_wins_over_its_method(rules):
    class Local(Versioned):
        pass

    ramet.register_copy(Local, "share")
    layer = _with(Local([1]))

    assert _part(ramet.clone(layer)) is _part(layer)


def test_parts_copied_by_a_method_are_the_twins_parts():
    layer = layers.Dense(2)
    layer.build((None, 2))
    layer.view = Versioned(layer.kernel)

    twin = ramet.clone(layer)

    assert twin.view.load is twin.kernel


class Doubled:
    """An object that uses the twins of its parts while it is copied."""

    def __init__(self, items):
        self.items = items

    def __ramet_copy__(self, copy):
        return Doubled([item for item in copy(self.items) for _ in range(2)])


@pytest.mark.parametrize("known_before", [False, True])
def test_copy_function_gets_complete_parts(known_before):
    inner = [np.ones(3)]
    items = [{"inner": inner}, (inner, 1)]
    layer = layers.Dense(2)
    if known_before:
        layer.holder = types.SimpleNamespace(items=items)
    layer.doubled = Doubled(items)
    layer.again = [layer.doubled]

    twin = ramet.clone(layer)

    first, _, (second, one), _ = twin.doubled.items
    assert twin.again[0] is twin.doubled
    assert first["inner"] is second
    assert second[0] is not inner[0]
    assert second[0].tolist() == [1, 1, 1]
    assert one == 1
    if known_before:
        assert twin.holder.items[0] is first


class Child:
    def __init__(self, parent):
        self.parent = parent
        self.siblings = [self]


def test_copy_function_gets_complete_parts_that_refer_to_its_object():
    layer = layers.Dense(2)
    layer.doubled = Doubled([])
    layer.doubled.items += [Child(layer.doubled), Child(None), {"layer": layer}]

    twin = ramet.clone(layer)

    first, _, second, _, third, _ = twin.doubled.items
    assert (first.parent, second.parent) == (twin.doubled, None)
    assert third["layer"] is twin
    for child, original in zip((first, second), layer.doubled.items, strict=False):
        assert child.siblings == [child]
        assert child is not original


def test_copy_functions_of_two_objects_may_refer_to_each_other():
    layer = layers.Dense(2)
    layer.versioned = Versioned([])
    layer.versioned.load.append(Versioned([layer.versioned]))

    twin = ramet.clone(layer)

    (inner,) = twin.versioned.load
    assert inner.load[0] is twin.versioned
    assert (inner.version, twin.versioned.version) == (1, 1)


def test_part_may_be_a_closure_over_its_object():
    layer = layers.Dense(2)
    versioned = layer.versioned = Versioned(None)
    versioned.load = lambda: versioned

    twin = ramet.clone(layer)

    assert twin.versioned.load() is twin.versioned


def test_part_that_leads_back_to_its_object_is_filled_later():
    layer = layers.Dense(2)
    layer.versioned = Versioned([])
    layer.versioned.load.append(layer.versioned)

    twin = ramet.clone(layer)

    assert twin.versioned.load[0] is twin.versioned


class DeepCopied:
    def __init__(self, load):
        self.load = load

    def __deepcopy__(self, memo):
        return DeepCopied([*copy.deepcopy(self.load, memo)])


def test_object_with_its_own_deepcopy_may_be_in_two_layers():
    model = keras.Sequential([keras.Input((2,)), layers.Dense(2), layers.Dense(2)])
    load = [np.ones(3), [model.layers[0]]]
    model.holder = types.SimpleNamespace(load=load)
    model.layers[0].part = model.layers[1].part = model.part = DeepCopied(load)

    twin = ramet.clone(model)

    assert twin.layers[0].part is twin.layers[1].part is twin.part is not model.part
    assert twin.part.load[0] is twin.holder.load[0] is not load[0]
    assert twin.part.load[1][0] is twin.layers[0]


def test_copy_function_that_copies_its_own_object_is_refused(rules, connection):
    ramet.register_copy(connection, lambda old, copy: copy(old))

    with pytest.raises(ramet.errors.CannotCopyError, match="requested the object that it was making"):
        ramet.clone(_with(connection()))


def test_error_in_a_copy_function_reaches_the_user(rules, connection):
    def how(old, copy):
        raise ZeroDivisionError("mine")

    ramet.register_copy(connection, how)

    with pytest.raises((ZeroDivisionError, ramet.errors.CannotCopyError), match="mine"):
        ramet.clone(_with(connection()))


def test_after_an_error_in_a_copy_function_cloning_works_again(rules, connection):
    failing = [True]

    def how(old, copy):
        if failing:
            raise ZeroDivisionError("mine")
        return connection()

    ramet.register_copy(connection, how)
    layer = _with(connection())
    with pytest.raises((ZeroDivisionError, ramet.errors.CannotCopyError)):
        ramet.clone(layer)
    failing.clear()

    assert _part(ramet.clone(layer)) is not _part(layer)


@pytest.mark.parametrize("how", ["copy", None, 3])
def test_unknown_copy_rule_is_refused(how):
    class Thing:
        pass

    with pytest.raises(ramet.errors.ArgumentError, match="unknown copy rule"):
        ramet.register_copy(Thing, how)


def test_registering_an_instance_is_refused():
    with pytest.raises(ramet.errors.ArgumentError, match="it is not a class"):
        ramet.register_copy(object(), "share")


def test_shared_object_is_the_same_in_the_twin(connection):
    part = connection()
    layer = _with(part)

    assert _part(ramet.clone(layer, share=[part])) is part


def test_shared_layer_has_its_weights_in_both_models():
    backbone = layers.Dense(4)
    model = keras.Sequential([keras.Input((4,)), backbone, layers.Dense(2)])

    twin = ramet.clone(model, share=[backbone])

    assert twin.layers[0] is backbone
    assert twin.layers[1].kernel is not model.layers[1].kernel
    assert_equal_outputs(model, twin, X)


def _judge():
    return keras.Sequential([keras.Input((3,)), layers.Dense(2, name="eye")], name="judge")


def test_training_a_twin_trains_its_shared_part():
    judge = _judge()
    inputs = keras.Input((4,))
    model = keras.Model(inputs, judge(layers.Dense(3)(inputs)))
    model.compile("adam", "mse")
    model.fit(np.ones((2, 4)), np.ones((2, 2)), verbose=0)
    twin = ramet.clone(model, share=[judge])
    before = judge.get_weights()

    twin.fit(np.ones((2, 4)), np.zeros((2, 2)), verbose=0)

    assert not np.array_equal(before[0], judge.get_weights()[0])
    assert twin.optimizer._trainable_variables_indices.keys() & model.optimizer._trainable_variables_indices.keys()


def test_layer_inside_a_shared_model_is_shared_wherever_it_is_held():
    class Net(keras.Model):
        def __init__(self, judge):
            super().__init__()
            self.eye = judge.get_layer("eye")
            self.judge = judge

        def call(self, x):
            return self.judge(x)

    judge = _judge()
    net = Net(judge)
    net(np.ones((1, 3)))

    twin = ramet.clone(net, share=[judge])

    assert twin.judge is judge
    assert twin.eye is judge.get_layer("eye")


def test_sharing_an_owner_of_the_cloned_model_does_not_share_the_model():
    generator = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
    gan = keras.Sequential([generator, layers.Dense(1)])
    gan(np.ones((1, 3)))
    generator.trainer = gan

    twin = ramet.clone(generator, share=[gan])

    assert twin is not generator
    assert twin.trainer is gan
    assert twin.layers[0] is not generator.layers[0]
