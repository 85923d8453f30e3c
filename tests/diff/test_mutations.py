"""The diff of live models, tested by changing one thing at a time, for everything a model holds."""

import keras
import numpy as np
import pytest

import ramet
from ramet._verify.live_diff import diff_models
from tests.verify import models
from tests.verify.test_mutations import MUTATIONS

# Objects shared between the two models are no difference between them.
BETWEEN_MODELS = {"shared_with_the_original"}


@pytest.mark.parametrize(
    "mutation",
    [one for one in MUTATIONS if not any(word in one.name for word in BETWEEN_MODELS)],
    ids=lambda mutation: mutation.name,
)
def test_corrupted_live_model_differs(mutation):
    original = mutation.model()
    twin = ramet.clone(original)

    mutation.apply(twin, original)

    diff = diff_models(original, twin)
    assert not diff.empty
    assert diff_models(twin, original) == diff.mirrored()


@pytest.mark.parametrize("make", [models.net, models.words, models.tuned, models.stepping])
def test_every_bit_of_state_of_a_live_model_is_compared(make):
    original = make()
    twin = ramet.clone(original)
    generators = [state for state in _states(twin) if "seed_generator" in state.path]
    metrics = [variable for metric in twin.metrics for variable in metric.variables]
    optimizer = twin.optimizer.variables if twin.compiled else []
    for variable in [*twin.variables, *generators, *metrics, *optimizer]:
        before = np.array(keras.ops.convert_to_numpy(variable))
        variable.assign(flipped(before))

        assert not diff_models(original, twin).empty, variable.path
        variable.assign(before)
    assert diff_models(original, twin).empty


def _states(model):
    return [generator.state for layer in model._flatten_layers() for generator in layer._seed_generators]


def flipped(array):
    """Return the array with the last bit of its last number flipped; a float becomes a neighboring float."""
    array = array.copy()
    flat = array.reshape(-1)
    if flat.dtype == bool:
        flat[-1] = not flat[-1]
    else:
        raw = flat.view(f"u{flat.dtype.itemsize}")
        raw[-1] ^= 1
    return array
