"""Random functional models: cloned, compared, trained on both sides, compared again, cloned again, saved and loaded.

To run more examples, with failing ones reduced to small ones:

    RAMET_EXAMPLES=500 make test-jax ARGS=tests/copy/test_random_models.py
"""

import os

import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import ramet
from tests.support.reach import assert_independent
from tests.support.same import assert_same
from tests.support.strategies import OPTIMIZERS, STEPS, Sketch, functional_models, optimizers
from tests.support.twins import assert_equal_outputs, assert_equal_values, outputs, same_random_state, twin_of
from tests.support.versions import needs_keras

MORE = os.environ.get("RAMET_EXAMPLES")
several = settings(
    derandomize=not MORE,
    database=None,
    max_examples=int(MORE or 15),
    deadline=None,
    # Shrinking takes minutes, and sketches are small to begin with.
    phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if MORE else [])],
    # Building and compiling a Keras model takes longer than Hypothesis expects of one example.
    suppress_health_check=[HealthCheck.too_slow],
)

# A random graph may stop the gradient before some layers, as users' models may.
pytestmark = [
    # Masks reach every layer here, including those that destroy them.
    pytest.mark.filterwarnings("ignore:Layer '.*' .* was passed an input with a mask attached to it:UserWarning"),
    pytest.mark.filterwarnings("ignore:Gradients do not exist for variables:UserWarning"),
    pytest.mark.filterwarnings("ignore:The model contains .* trainable variables without gradients:UserWarning"),
]


def _equal_outputs(a, b, x, **kwargs):
    """Call `assert_equal_outputs` with torch's global generator seeded before each run."""
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


@pytest.mark.slow
@several
@given(functional_models(max_steps=5), optimizers())
def test_random_model_and_its_twin_stay_equal_step_by_step(sketch, optimizer):
    sample = sketch.build()
    model, x, y = sample.model, sample.make_inputs(0), sample.make_targets(1)
    loss = keras.tree.map_structure(lambda _: "mse", y)
    # Tracing takes TensorFlow seconds for each model, and adds nothing that a random graph could break.
    model.compile(OPTIMIZERS[optimizer](), loss, run_eagerly=keras.backend.backend() == "tensorflow")
    twin = twin_of(model)
    assert twin.get_config() == model.get_config()
    _equal_outputs(model, twin, x)

    losses = _trained(model, x, y), _trained(twin, x, y)

    np.testing.assert_array_equal(*losses)
    assert_equal_values(model, twin)
    _equal_outputs(model, twin, x)
    _equal_outputs(twin, twin_of(twin), x, training=True)


@pytest.mark.slow
@needs_keras(3, 14, "Keras itself refuses a file of a model with an unused input")
@several
@given(sketch=functional_models(steps=tuple(step for step in STEPS if step != "shared_across_levels")))
def test_random_twin_is_saved_and_loaded_like_its_original(sketch, tmp_path_factory):
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
    # Files do not record how many numbers were drawn. (A layer called with training=True makes Keras draw in later ones.)
    if not any(name in ("dropout", "nested_functional") for name, _ in sketch.steps):
        _equal_outputs(twin, twin_of(loaded[1]), x)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("choices", [(0,) * 6, (1,) * 6, (2, 0, 1, 2, 0, 1)], ids=["first", "second", "mixed"])
def test_every_step_alone_has_an_exact_twin(step, choices):
    sample = Sketch(("vector", "sequence", "ids"), ((step, choices),), outputs=(0, 1, 2)).build()

    twin = twin_of(sample.model)

    _equal_outputs(sample.model, twin, sample.make_inputs(0))
    _equal_outputs(sample.model, twin, sample.make_inputs(1), training=True)
    assert_equal_values(sample.model, twin)


@pytest.mark.slow
@several
@given(functional_models(max_steps=3))
def test_random_model_shared_by_two_models_is_cloned_once(sketch):
    inner = sketch.build().model
    inputs = [keras.Input(tensor.shape[1:], tensor.shape[0], tensor.dtype) for tensor in inner.inputs]
    outer = keras.Model(inputs, inner(keras.tree.pack_sequence_as(inner.input, inputs)))

    inner_twin, outer_twin = ramet.clone([inner, outer])

    assert any(layer is inner_twin for layer in outer_twin.layers)
    assert_same([inner, outer], [inner_twin, outer_twin])
    assert_independent([inner, outer], [inner_twin, outer_twin])


def test_sketch_is_built_the_same_way_each_time():
    sketch = Sketch(("ids",), (("embedding", (1,)), ("recurrent", (2, 1)), ("two_output_lambda", (0,))), (0, 1), (0, 3))
    first = sketch.build()
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(0)

    again = sketch.build()

    assert_equal_outputs(first.model, again.model, first.make_inputs(0))
