"""Random functional models: cloned, compared, trained on both sides, compared again, cloned again, saved and loaded.

More examples than the usual few: RAMET_EXAMPLES=500 make test-jax ARGS=tests/test_random_models.py
"""

import os

import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.strategies import OPTIMIZERS, STEPS, Sketch, functional_models, optimizers
from tests.support.twins import assert_equal_outputs, assert_equal_values, outputs, same_random_state, twin_of

several = settings(
    derandomize=True,
    database=None,
    max_examples=int(os.environ.get("RAMET_EXAMPLES", "25")),
    deadline=None,
    # Building and compiling a Keras model takes longer than Hypothesis expects of one example.
    suppress_health_check=[HealthCheck.too_slow],
)

# A random graph may stop the gradient on its way to some layer, which is what it would do in the user's model.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Gradients do not exist for variables:UserWarning"),
    pytest.mark.filterwarnings("ignore:The model contains .* trainable variables without gradients:UserWarning"),
]


def _equal_outputs(a, b, x, **kwargs):
    """As `assert_equal_outputs`, with torch's global generator set before each."""
    same_random_state()
    ours = outputs(a, x, **kwargs)
    same_random_state()
    theirs = outputs(b, x, **kwargs)
    assert [y.shape for y in ours] == [y.shape for y in theirs]
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(p, q)


def _trained(model, x, y):
    same_random_state()
    return model.train_on_batch(x, y)


@several
@given(functional_models(), optimizers(), st.booleans())
def test_a_random_model_and_its_twin_stay_equal_step_by_step(sketch, optimizer, run_eagerly):
    sample = sketch.build()
    model, x, y = sample.model, sample.make_inputs(0), sample.make_targets(1)
    model.compile(OPTIMIZERS[optimizer](), keras.tree.map_structure(lambda _: "mse", y), run_eagerly=run_eagerly)
    twin = twin_of(model)
    assert twin.get_config() == model.get_config()
    _equal_outputs(model, twin, x)

    losses = _trained(model, x, y), _trained(twin, x, y)

    np.testing.assert_array_equal(*losses)
    assert_equal_values(model, twin)
    _equal_outputs(model, twin, x)
    _equal_outputs(twin, twin_of(twin), x, training=True)


@several
@given(sketch=functional_models(steps=tuple(set(STEPS) - {"shared_across_levels"})))
def test_a_random_twin_is_saved_and_loaded_as_its_original_is(sketch, tmp_path_factory):
    sample = sketch.build()
    model, x = sample.model, sample.make_inputs(0)
    twin = twin_of(model)
    folder = tmp_path_factory.mktemp("saved")

    loaded = []
    for index, one in enumerate((model, twin)):
        one.save(folder / f"{index}.keras")
        loaded.append(keras.models.load_model(folder / f"{index}.keras", safe_mode=False))

    assert loaded[0].get_config() == loaded[1].get_config()
    _equal_outputs(*loaded, x)
    _equal_outputs(twin, twin_of(loaded[1]), x) if not _is_random(sketch) else None


def _is_random(sketch):
    """Whether a call draws random numbers outside training: files do not keep how many were drawn."""
    return any(name == "dropout" for name, _ in sketch.steps)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("choices", [(0,) * 6, (1,) * 6, (2, 0, 1, 2, 0, 1)], ids=["first", "second", "mixed"])
def test_every_step_alone_has_an_exact_twin(step, choices):
    sample = Sketch(("vector", "sequence", "ids"), ((step, choices),), outputs=(0, 1, 2)).build()

    twin = twin_of(sample.model)

    _equal_outputs(sample.model, twin, sample.make_inputs(0))
    _equal_outputs(sample.model, twin, sample.make_inputs(1), training=True)
    assert_equal_values(sample.model, twin)


@several
@given(functional_models(max_steps=3), functional_models(max_steps=3))
def test_two_random_models_cloned_together_keep_what_they_share(first, second):
    a = first.build()
    x = {name: keras.Input(tensor.shape[1:], tensor.shape[0], tensor.dtype) for name, tensor in _named_inputs(a.model)}
    b = keras.Model(x, a.model(_like(a.model, x)))
    c = second.build().model

    twins = twin_of_list([a.model, b, c])

    assert twins[1].layers[-1] is twins[0] or twins[0] in twins[1].layers
    assert not set(map(id, twins[2].variables)) & set(map(id, twins[0].variables))
    assert_equal_values(b, twins[1])


def _named_inputs(model):
    return [(f"k{index}", tensor) for index, tensor in enumerate(model.inputs)]


def _like(model, named):
    return keras.tree.pack_sequence_as(model.input, list(named.values()))


def twin_of_list(models):
    import ramet

    return ramet.clone(models)


def test_a_sketch_is_built_the_same_way_each_time():
    sketch = Sketch(("ids",), (("embedding", (1,)), ("recurrent", (2, 1)), ("two_output_lambda", (0,))), (0, 1), (0, 3))
    first = sketch.build()
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(0)
    again = sketch.build()

    assert_equal_outputs_of_shape(first, again)


def assert_equal_outputs_of_shape(first, again):
    assert [v.shape for v in first.model.variables] == [v.shape for v in again.model.variables]
    assert_equal_outputs(first.model, twin_of(first.model), first.make_inputs(0))
