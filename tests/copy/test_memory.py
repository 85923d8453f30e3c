"""Memory: dropped clones are freed, and nothing outside of the model is copied."""

import gc
import weakref

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet._copy.copier import Copier
from tests.support.reach import reachable
from tests.support.twins import twin_of


def _model():
    inputs = keras.Input((4,))
    x = layers.Dropout(0.5)(layers.Dense(3)(inputs))
    model = keras.Model(inputs, layers.Lambda(lambda t: t + 1)(layers.BatchNormalization()(x)))
    model.compile("adam", "mse", metrics=["mae"])
    return model


def _trained():
    model = _model()
    model.fit(np.ones((4, 4), "float32"), np.ones((4, 3), "float32"), verbose=0)
    model.predict(np.ones((4, 4), "float32"), verbose=0)
    return model


def _live(kind):
    gc.collect()
    return sum(
        1 for value in gc.get_objects() if issubclass(type(value), kind)
    )  # `isinstance` would trigger lazy modules


@pytest.mark.parametrize("make", [_model, _trained])
def test_no_variables_of_200_dropped_clones_stay_alive(make):
    model = make()
    ramet.clone(model)  # fill the caches
    before = _live(keras.Variable | keras.Operation | keras.optimizers.Optimizer | keras.KerasTensor)
    gone = []

    for _ in range(200):
        twin = ramet.clone(model)
        gone.append(weakref.ref(twin))
    del twin

    assert _live(keras.Variable | keras.Operation | keras.optimizers.Optimizer | keras.KerasTensor) == before
    assert all(reference() is None for reference in gone)


def test_no_objects_of_200_dropped_clones_stay_alive():
    model = _model()
    for _ in range(3):
        ramet.clone(model)
    gc.collect()
    before = len(gc.get_objects())

    for _ in range(200):
        ramet.clone(model)

    gc.collect()
    assert len(gc.get_objects()) - before < 200  # fewer than one per clone: noise


def test_used_twins_are_freed_as_well():
    model = _model()
    x = np.ones((4, 4), "float32")
    gone = []

    for _ in range(3):
        twin = ramet.clone(model)
        twin.fit(x, np.ones((4, 3), "float32"), verbose=0)
        gone.append(weakref.ref(twin.layers[1].kernel))
        del twin
    # State that the backend itself keeps for a trained model is freed with the session.
    keras.utils.clear_session()
    gc.collect()

    original_stays = _leaks_after_fit()
    assert sum(reference() is not None for reference in gone) <= 3 * original_stays


def _leaks_after_fit():
    """Return whether even a model that was never cloned outlives its last reference."""
    model = _model()
    model.fit(np.ones((4, 4), "float32"), np.ones((4, 3), "float32"), verbose=0)
    reference = weakref.ref(model.layers[1].kernel)
    del model
    keras.utils.clear_session()
    gc.collect()
    return reference() is not None


def test_twin_outlives_its_original():
    model = _model()
    x = np.ones((1, 4), "float32")
    expected = np.array(keras.ops.convert_to_numpy(model(x)))
    twin = ramet.clone(model)
    reference = weakref.ref(model)

    del model
    gc.collect()

    assert reference() is None
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(twin(x)), expected)


def test_original_outlives_its_twin_and_does_not_refer_to_it():
    model = _model()
    twin = ramet.clone(model)
    ids = {id(value) for value in twin.variables}

    held = reachable(model)

    assert not ids & set(held)


def _backbone():
    inputs = keras.Input((4,))
    x = inputs
    for _ in range(4):
        x = layers.Dense(4)(x)
    return keras.Model(inputs, x, name="backbone")


def _use(backbone, times):
    """Build other models on the backbone: on the whole, and on tensors inside."""
    heads = []
    for _ in range(times):
        inputs = keras.Input((4,))
        heads.append(keras.Model(inputs, layers.Dense(2)(backbone(inputs))))
        heads.append(keras.Model(backbone.inputs, layers.Dense(2)(backbone.layers[2].output)))
        other = keras.Input((4,))
        heads.append(keras.Model(other, layers.Dense(2)(backbone.layers[1](other))))
    return heads


@pytest.fixture
def touched(monkeypatch):
    """Return how many objects each copier made or visited, in the order of the clones."""
    copiers = []
    plain = Copier.__init__

    def remember(self, *args, **kwargs):
        plain(self, *args, **kwargs)
        copiers.append(self)

    monkeypatch.setattr(Copier, "__init__", remember)
    return copiers


def _sizes(model, copiers):
    copiers.clear()
    twin = ramet.clone(model)
    return len(reachable(twin)), sum(len(copier.memo) for copier in copiers), len(copiers)


def test_cloning_a_backbone_used_in_many_models_copies_no_more_objects(touched):
    keras.utils.clear_session(free_memory=False)
    lonely = _sizes(_backbone(), touched)
    keras.utils.clear_session(free_memory=False)
    popular = _backbone()
    heads = _use(popular, 50)

    found = _sizes(popular, touched)

    assert len(heads) == 150
    assert found == lonely


def test_backbone_used_in_many_models_has_an_exact_twin_that_is_used_in_none():
    popular = _backbone()
    heads = _use(popular, 5)

    twin = twin_of(popular)

    assert [len(layer._inbound_nodes) for layer in twin.layers] == [1] * len(twin.layers)
    assert [len(layer._outbound_nodes) for layer in twin.layers] == [1] * (len(twin.layers) - 1) + [0]
    assert len(heads) == 15


def test_one_of_many_models_on_a_backbone_is_cloned_without_the_others(touched):
    popular = _backbone()
    first = _use(popular, 1)[0]
    alone = _sizes(first, touched)
    others = _use(popular, 50)

    found = _sizes(first, touched)

    assert len(others) == 150
    assert found == alone


@pytest.mark.parametrize("make", [_model, _backbone, lambda: layers.Dense(2)], ids=["compiled", "backbone", "layer"])
def test_ordinary_model_is_walked_once(make, touched):
    model = make()
    touched.clear()

    ramet.clone(model)

    assert len(touched) == 1


def test_layer_is_cloned_without_its_calls_and_models():
    heads = _use(_backbone(), 3)
    layer = heads[0].layers[1].layers[1]

    twin = twin_of(layer)

    assert twin._inbound_nodes == []
    assert twin._outbound_nodes == []
    ops = [value for value, _ in reachable(twin).values() if isinstance(value, keras.Operation)]
    assert [op for op in ops if op is not twin and isinstance(op, keras.Layer)] == []
    assert not [value for value, _ in reachable(twin).values() if isinstance(value, keras.KerasTensor)]


def test_submodel_is_cloned_without_the_model_around_it():
    inner = _backbone()
    x = keras.Input((4,))
    outer = keras.Model(x, layers.Dense(2, name="outside")(inner(x)), name="outer")

    twin = twin_of(outer.layers[1])

    names = {value.name for value, _ in reachable(twin).values() if isinstance(value, keras.Operation)}
    assert not names & {"outer", "outside"}


def test_metric_and_an_optimizer_are_cloned_without_the_model():
    model = _trained()

    optimizer, metric = ramet.clone(model.optimizer), ramet.clone(model.metrics[0])

    assert not [v for v, _ in reachable(metric).values() if isinstance(v, keras.Model)]
    own = {id(v) for v in optimizer.variables}
    assert not own & {id(v) for v in model.optimizer.variables}


class Stubborn:
    """A class that cannot be copied."""

    def __reduce_ex__(self, protocol):
        raise TypeError("no")


def test_failed_clone_is_freed():
    model = _model()
    model.last = Stubborn()
    x = np.ones((1, 4), "float32")
    for _ in range(3):
        with pytest.raises(ramet.errors.CannotCopyError):
            ramet.clone(model)
    before = _live(keras.Variable | keras.Operation | keras.KerasTensor)
    calls = [len(layer._inbound_nodes) for layer in model.layers]

    for _ in range(20):
        with pytest.raises(ramet.errors.CannotCopyError):
            ramet.clone(model)

    assert _live(keras.Variable | keras.Operation | keras.KerasTensor) == before
    assert [len(layer._inbound_nodes) for layer in model.layers] == calls
    del model.last
    np.testing.assert_array_equal(*(keras.ops.convert_to_numpy(one(x)) for one in (model, twin_of(model))))


def test_failed_clone_keeps_the_model_alive_only_as_long_as_its_error():
    model = _model()
    model.last = Stubborn()
    reference = weakref.ref(model)
    with pytest.raises(ramet.errors.CannotCopyError):
        ramet.clone(model)

    del model
    gc.collect()

    assert reference() is None


def test_copy_rules_do_not_keep_user_defined_classes_alive():
    def scope():
        class Local(layers.Dense):
            pass

        class Note:
            pass

        layer = Local(2)
        layer.note = Note()
        ramet.clone(layer)
        return weakref.ref(Local), weakref.ref(Note)

    references = scope()
    keras.utils.clear_session(free_memory=False)
    gc.collect()

    assert [reference() for reference in references] == [None, None]
