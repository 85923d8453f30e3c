"""Random graphs and random edits: results are sound and run, and the original never changes.

More examples than the usual few, with failing ones made small:

    RAMET_EXAMPLES=500 make test-jax ARGS=tests/edit/test_random.py
"""

import os

import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from keras import layers

import ramet
from ramet import edits as e
from ramet import errors
from tests.edit.expect import assert_close, edited
from tests.support.strategies import functional_models
from tests.support.twins import outputs, same_random_state

MORE = os.environ.get("RAMET_EXAMPLES")
several = settings(
    derandomize=not MORE,
    database=None,
    max_examples=int(MORE or 12),
    deadline=None,
    phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if MORE else [])],
    suppress_health_check=[HealthCheck.too_slow],
)
pytestmark = [
    pytest.mark.filterwarnings("ignore:Layer '.*' .* was passed an input with a mask attached to it:UserWarning"),
]


def _layers(model):
    return [layer.name for layer in model.layers if not isinstance(layer, layers.InputLayer)]


def _picked(model, number):
    names = _layers(model)
    return names[number % len(names)]


# Each makes one edit of a model; the number picks the layer.
MAKERS = {
    "identity_after": lambda m, n: e.insert_after(_picked(m, n), lambda old: layers.Identity()),
    "identity_before": lambda m, n: e.insert_before(_picked(m, n), lambda old: layers.Identity()),
    "scale_after": lambda m, n: e.insert_after(_picked(m, n), lambda old: layers.Rescaling(1.0)),
    "remove": lambda m, n: e.remove(_picked(m, n)),
    "replace": lambda m, n: e.replace(_picked(m, n), lambda old: layers.Identity()),
    "same_again": lambda m, n: e.replace(_picked(m, n), lambda old: type(old).from_config(old.get_config())),
    "rename": lambda m, n: e.rename(_picked(m, n), f"other_{n}"),
    "prefix": lambda m, n: e.prefix(f"p{n}_"),
    "freeze": lambda m, n: e.freeze(_picked(m, n)),
    "unfreeze": lambda m, n: e.unfreeze(_picked(m, n)),
    "tanh": lambda m, n: e.update(ramet.of_class("Dense"), activation="tanh", required=False),
    "cast": lambda m, n: e.cast("float64"),
    "flatten": lambda m, n: e.flatten(),
    "fold": lambda m, n: e.fold_batchnorm(),
    "drop": lambda m, n: e.drop_dropout(),
    "split": lambda m, n: e.split_activation(),
    "merge": lambda m, n: e.merge_lora(),
}
PRESERVING = ("rename", "prefix", "flatten", "fold", "drop", "split", "merge")


def _edits(names):
    return st.lists(st.tuples(st.sampled_from(names), st.integers(0, 20)), min_size=1, max_size=4)


def _attempt(model, *edits):
    """Return the edited twin or the error, and check that the model is not changed."""
    before = ramet.capture(model)
    try:
        return edited(model, *edits, unsaved=True), None
    except errors.RametError as error:
        assert ramet.capture(model) == before
        return None, error


@pytest.mark.slow
@several
@given(functional_models(max_steps=4), _edits(tuple(MAKERS)))
def test_random_edits_give_a_sound_model_or_an_error(sketch, wanted):
    sample = sketch.build()
    model, x = sample.model, sample.make_inputs(0)
    for name, number in wanted:
        new, error = _attempt(model, MAKERS[name](model, number))
        model = model if new is None else new
        # Impossible edits are refused with a fix.
        assert error is None or (str(error).startswith("Cannot ") and error.fix)
    if not any("bfloat16" in str(op.dtype_policy) for _, op in ramet.capture(model).walk()):
        assert all(np.size(y) for y in outputs(model, x))


@pytest.mark.slow
@several
@given(functional_models(max_steps=4), _edits(PRESERVING))
def test_preserving_edits_keep_the_outputs(sketch, wanted):
    sample = sketch.build()
    model, x = sample.model, sample.make_inputs(0)
    if any("bfloat16" in str(op.dtype_policy) for _, op in ramet.capture(model).walk()):
        return  # products of this dtype need instructions that not every processor has
    same_random_state()
    before = outputs(ramet.clone(model), x)
    for name, number in wanted:
        model = edited(model, MAKERS[name](model, number))
    same_random_state()
    after = outputs(model, x)

    for ours, theirs in zip(after, before, strict=True):
        assert_close([ours], [theirs], 1e-4 if np.abs(theirs).max() else 0.0)


@several
@given(functional_models(max_steps=3), _edits(tuple(MAKERS)))
def test_edits_apply_together_or_conflict_in_plan_and_edit(sketch, wanted):
    model = sketch.build().model
    edits = [MAKERS[name](model, number) for name, number in wanted]
    new, error = _attempt(model, *edits)
    try:
        plan = ramet.plan(model, *edits)
    except errors.RametError as planned:
        refusal = planned
    else:
        refusal = None

    if refusal is not None:
        assert str(error) == str(refusal)
        return
    if error is not None:
        return  # only a call shows what a layer accepts
    assert len(plan.steps) == len(edits)
    if not any(step.touched for step in plan.steps):
        assert ramet.capture(new) == ramet.capture(model)


def test_name_counters_do_not_advance_without_new_layers():
    x = keras.Input((5,), dtype="int32")
    model = keras.Model(x, layers.LSTM(2)(layers.Embedding(5, 2, mask_zero=True)(x)))
    ramet.edit(
        model, e.update(ramet.of_class("Embedding"), input_dim=6, weights="pad"), e.update("lstm", activation="relu")
    )

    assert layers.Embedding(5, 2).name == "embedding_1"
    assert keras.ops.not_equal(keras.Input((2,)), 0)._keras_history[0].name == "not_equal_1"
