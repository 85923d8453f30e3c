"""The optimizer of an edited model: slots follow variables, new variables get fresh slots, frozen ones lose theirs."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet._keras import structure
from tests.edit.expect import assert_saved, edited, value
from tests.support.state_models import floats
from tests.support.versions import KERAS

# On these backends, tracing takes longer than everything else.
EAGERLY = keras.backend.backend() == "tensorflow"


def trained(optimizer=None, steps=2):
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, name="a")(x)
    y = layers.Dense(3, name="b")(y)
    model = keras.Model(x, layers.Dense(2, name="head")(y), name="m")
    model.compile(optimizer or keras.optimizers.Adam(0.1), "mse", metrics=["mae"], run_eagerly=EAGERLY)
    for _ in range(steps):
        model.fit(floats(4, 4), floats(4, 2), shuffle=False, verbose=0)
    return model


def slots(model):
    """Return the values of slots by the path of their variable."""
    found = {}
    for part in _parts(model.optimizer):
        optimized = structure.optimized_variables(part)
        for held in vars(part).values():
            if isinstance(held, list) and len(held) == len(optimized) and held is not optimized:
                for variable, slot in zip(optimized, held, strict=True):
                    if isinstance(slot, keras.Variable) and slot is not variable:
                        found.setdefault(variable.path, []).append(value(slot))
    return found


def _parts(optimizer):
    inner = getattr(optimizer, "inner_optimizer", None)
    return [optimizer, *([inner] if inner is not None else []), *(getattr(optimizer, "optimizers", None) or ())]


def assert_slots(new, model, kept, fresh=()):
    """Check that these slots are unchanged, those are all zero, and there are no others."""
    before, after = slots(model), slots(new)
    assert sorted(after) == sorted([*kept, *fresh])
    for path in kept:
        assert len(before[path]) == len(after[path]) > 0
        for old, now in zip(before[path], after[path], strict=True):
            np.testing.assert_array_equal(old, now, err_msg=path)
            assert np.any(old)
    for path in fresh:
        assert not any(np.any(slot) for slot in after[path])


def of(*names):
    return [f"{name}/{part}" for name in names for part in ("kernel", "bias")]


def fit(model):
    return model.fit(floats(4, model.input_shape[-1]), floats(4, model.output_shape[-1]), shuffle=False, verbose=0)


def test_edit_without_weights_keeps_all_slots():
    model = trained()

    new = edited(model, e.insert_after("a", lambda old: layers.ELU(name="elu")))

    assert_slots(new, model, of("a", "b", "head"))
    assert int(value(new.optimizer.iterations)) == 2
    assert float(value(new.optimizer.learning_rate)) == pytest.approx(0.1)
    fit(new)


def test_new_layer_gets_fresh_slots():
    model = trained()

    new = edited(model, e.insert_after("a", lambda old: layers.Dense(3, name="new")))

    assert_slots(new, model, of("a", "b", "head"), fresh=of("new"))
    fit(new)
    assert int(value(new.optimizer.iterations)) == 3


def test_removed_layer_loses_its_slots():
    model = trained()

    new = edited(model, e.remove("b"))

    assert_slots(new, model, of("a", "head"))
    fit(new)


def test_frozen_layer_loses_its_slots_and_gets_fresh_ones_later():
    model = trained()

    frozen = edited(model, e.freeze("a"))
    free = edited(frozen, e.unfreeze("a"))

    assert_slots(frozen, model, of("b", "head"))
    fit(frozen)
    assert_slots(free, model, of("b", "head"), fresh=of("a"))
    fit(free)


def test_carried_weights_bring_their_slots():
    model = trained()

    new = edited(model, e.replace("a", lambda old: layers.Dense(3, activation="tanh", name="a")))

    assert_slots(new, model, of("a", "b", "head"))
    fit(new)


def test_new_weights_have_fresh_slots():
    model = trained()

    new = edited(model, e.replace("a", lambda old: layers.Dense(3, name="a"), weights=False))

    assert_slots(new, model, of("b", "head"), fresh=of("a"))


def test_new_head_has_fresh_slots():
    model = trained()

    new = edited(model, e.swap_head(5))

    assert_slots(new, model, of("a", "b"), fresh=of("head"))
    fit(new)


def test_new_head_of_the_same_size_has_fresh_slots():
    model = trained()

    new = edited(model, e.swap_head(2))

    assert_slots(new, model, of("a", "b"), fresh=of("head"))


def test_renamed_layer_keeps_its_slots():
    model = trained()

    new = edited(model, e.rename("a", "first"))

    before, after = slots(model), slots(new)
    for part in ("kernel", "bias"):
        for old, now in zip(before[f"a/{part}"], after[f"first/{part}"], strict=True):
            np.testing.assert_array_equal(old, now)
    fit(new)


def test_next_training_step_is_the_same():
    model = trained()
    new = edited(model, e.update("a", activation="linear"))

    fit(model)
    fit(new)

    for old, now in zip(model.weights, new.weights, strict=True):
        np.testing.assert_allclose(value(old), value(now), rtol=1e-6)


def _mixed():
    return keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.01), initial_scale=4.0)


OPTIMIZERS = {
    "SGD": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "RMSprop": lambda: keras.optimizers.RMSprop(0.1, momentum=0.5, centered=True),
    "AdamW": lambda: keras.optimizers.AdamW(0.1, amsgrad=True),
    "Adafactor": lambda: keras.optimizers.Adafactor(0.1),
    "Lion": lambda: keras.optimizers.Lion(0.1),
    "Ftrl": lambda: keras.optimizers.Ftrl(0.1),
    "Nadam": lambda: keras.optimizers.Nadam(0.1),
    "LossScale": _mixed,
    "schedule": lambda: keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5), momentum=0.9),
}
AVERAGING = pytest.param(
    lambda: keras.optimizers.SGD(0.1, momentum=0.9, use_ema=True),
    id="EMA",
    marks=pytest.mark.skipif(
        keras.backend.backend() == "jax",
        reason="Keras' own fit fails with use_ema=True on JAX; a Keras that mends it lifts this",
    ),
)


@pytest.mark.parametrize("make", [*(pytest.param(make, id=kind) for kind, make in OPTIMIZERS.items()), AVERAGING])
def test_every_optimizer_continues(make):
    model = trained(make())

    new = edited(model, e.insert_after("a", lambda old: layers.Dense(3, name="new")), e.freeze("b"))

    assert type(new.optimizer) is type(model.optimizer)
    before, after = slots(model), slots(new)
    assert not any(path.startswith("b/") for path in after)
    for path in of("a", "head"):
        for old, now in zip(before.get(path, []), after.get(path, []), strict=True):
            np.testing.assert_array_equal(old, now, err_msg=path)
    assert int(value(new.optimizer.iterations)) == int(value(model.optimizer.iterations))
    fit(new)
    assert_saved(new)


def test_loss_scale_is_kept():
    model = trained(_mixed())

    new = edited(model, e.remove("b"))

    scales = [float(value(one.optimizer.dynamic_scale)) for one in (model, new)]
    assert scales[0] == scales[1] == 4.0


@pytest.mark.skipif(
    not hasattr(keras.optimizers, "OptimizerMap"),
    reason=f"Keras {KERAS} has no MultiOptimizer; a newer Keras lifts this",
)
def test_several_optimizers_in_one_continue():
    chosen = keras.optimizers.OptimizerMap(keras.optimizers.SGD(0.1, momentum=0.9))
    chosen["head/.*"] = keras.optimizers.Adam(0.1)
    model = trained(keras.optimizers.MultiOptimizer(chosen))

    new = edited(model, e.remove("b"))

    before, after = slots(model), slots(new)
    assert sorted(after) == sorted(of("a", "head"))
    for path, held in after.items():
        for old, now in zip(before[path], held, strict=True):
            np.testing.assert_array_equal(old, now, err_msg=path)
    fit(new)


def test_metrics_loss_and_compile_settings_are_kept():
    model = trained()

    new = edited(model, e.swap_head(5))

    assert new.compiled
    assert new.loss == "mse"
    assert [metric.name for metric in new.metrics] == [metric.name for metric in model.metrics]
    history = fit(new).history
    assert set(history) == {"loss", "mae"}


def test_compiled_sequential_keeps_its_slots():
    model = keras.Sequential(
        [keras.Input((4,), name="x"), layers.Dense(3, name="a"), layers.Dense(2, name="head")], name="s"
    )
    model.compile(keras.optimizers.Adam(0.1), "mse", run_eagerly=EAGERLY)
    model.fit(floats(4, 4), floats(4, 2), shuffle=False, verbose=0)

    new = edited(model, e.insert_after("a", lambda old: layers.ELU(name="elu")))

    assert_slots(new, model, of("s/a", "s/head"))
    assert new.compiled
    fit(new)


def test_unbuilt_optimizer_stays_unbuilt():
    model = trained(steps=0)

    new = edited(model, e.remove("b"))

    fit(new)
    assert int(value(new.optimizer.iterations)) == 1


def test_uncompiled_model_stays_uncompiled():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dense(2, name="d")(x), name="m")

    assert not edited(model, e.update("d", activation="relu")).compiled


def test_exclusions_from_weight_decay_are_kept():
    optimizer = keras.optimizers.AdamW(0.1, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    model = trained(optimizer)

    new = edited(model, e.remove("b"))

    assert not new.optimizer._use_weight_decay(new.get_layer("a").bias)
    assert new.optimizer._use_weight_decay(new.get_layer("a").kernel)


def test_original_trains_as_before():
    model, other = trained(), trained()
    for ours, theirs in zip(other.weights, model.weights, strict=True):
        ours.assign(value(theirs))
    for ours, theirs in zip(other.optimizer.variables, model.optimizer.variables, strict=True):
        ours.assign(value(theirs))
    new = ramet.edit(model, e.swap_head(5))
    fit(new)

    fit(model)
    fit(other)

    for ours, theirs in zip(other.weights, model.weights, strict=True):
        np.testing.assert_array_equal(value(ours), value(theirs))
