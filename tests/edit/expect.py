"""Assertions of the form: a model, edits, and the expected model built by hand.

    new = assert_edited(model, [e.remove("drop")], expected)

The graphs are equal, untouched layers keep their weights, both models compute the same numbers and train alike, and the
edited one is the same after saving and loading. The original is not changed.
"""

import keras
import numpy as np

import ramet
from ramet._graph import lint
from ramet._keras import locations_below, structure
from tests.support.graph_models import data_for
from tests.support.reach import assert_independent
from tests.support.twins import outputs, same_random_state, values


def variables(model):
    """Return every variable by the path of its op and its name; a shared one once."""
    return {
        f"{place.path}/{variable.name}": variable
        for place in locations_below(model)
        if place.same_as is None
        for variable, _ in structure.variables_of(place.op)
    }


def value(variable):
    return np.array(keras.ops.convert_to_numpy(variable))


def scrambled(model, seed=1):
    """Set random weights everywhere: zeros and ones hide mistakes."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        weight.assign(rng.uniform(0.3, 1.3, weight.shape).astype(str(value(weight).dtype)))
    return model


def edited(model, *edits, **options):
    """Return the edited twin, and check that the model is not changed and shares no state with it."""
    before = ramet.capture(model), values(model), _calls(model)
    new = ramet.edit(model, *edits, **options)
    assert ramet.capture(model) == before[0]
    for old, now in zip(before[1], values(model), strict=True):
        np.testing.assert_array_equal(old, now)
    assert _calls(model) == before[2]
    assert_independent(model, new)
    assert lint(ramet.capture(new)) == []
    return new


def _calls(model):
    return [(len(structure.calls_made(p.op)), len(structure.calls_following(p.op))) for p in locations_below(model)]


def assert_edited(model, edits, expected, *, carried=None, fresh=(), tolerance=0.0, runs=True, saves=True, **options):
    """Edit the model and compare with the one built by hand.

    Args:
        model: The model passed in.
        edits: The edits.
        expected: The expected result. It gets the weights of the model at the same paths.
        carried: For a path of the expected model, the path in the model that its weights come from, if another.
        fresh: Paths whose weights are new although the model has the same path.
        tolerance: The largest relative difference of outputs; 0 for bit-equal.
        runs: Compare outputs, too.
        saves: Save and load the result.
        options: For `ramet.edit`.
    """
    new = edited(scrambled(model), *edits, **options)
    ours, theirs = graph_of(new), graph_of(expected)
    assert str(ours) == str(theirs)
    assert ours == theirs
    _take_weights(model, new, expected, carried or {}, set(fresh))
    if runs:
        assert_same_numbers(new, expected, tolerance)
        assert_trains_alike(new, expected, tolerance)
    if saves:
        assert_saved(new, runs=runs)
    return new


def graph_of(model):
    """Return the graph with raw operations renumbered: their names depend on what the process created before."""
    twin = ramet.clone(model)
    for place in locations_below(twin):
        numbers = {}
        for child in place.called:
            if not isinstance(child.op, keras.Layer):
                kind = type(child.op).__name__
                numbers[kind] = numbers.get(kind, 0) + 1
                child.op.name = f"{kind}_{numbers[kind]}"
    return ramet.capture(twin)


def _take_weights(model, new, expected, carried, fresh):
    before, after = variables(model), variables(new)
    for path, variable in variables(expected).items():
        old = before.get(carried.get(path, path))
        if old is None or path in fresh or tuple(old.shape) != tuple(variable.shape):
            variable.assign(value(after[path]))
        else:
            variable.assign(value(old).astype(str(value(variable).dtype)))
            np.testing.assert_array_equal(value(after[path]), value(variable), err_msg=path)


def assert_same_numbers(new, expected, tolerance=0.0, **kwargs):
    """Check that both models compute the same."""
    x = data_for(expected)
    same_random_state()
    ours = outputs(new, x, **kwargs)
    same_random_state()
    theirs = outputs(expected, x, **kwargs)
    assert_close(ours, theirs, tolerance)


def assert_close(ours, theirs, tolerance):
    assert [(y.shape, y.dtype) for y in ours] == [(y.shape, y.dtype) for y in theirs]
    for a, b in zip(ours, theirs, strict=True):
        if tolerance:
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())
        else:
            np.testing.assert_array_equal(a, b)


def assert_trains_alike(new, expected, tolerance=0.0):
    """Check that a training step changes both models in the same way."""
    trained = [_after_a_step(ramet.clone(one)) for one in (new, expected)]
    assert_close(*trained, tolerance)


def _after_a_step(model):
    if not model.trainable_variables:
        return []
    x = data_for(model)
    targets = keras.tree.map_structure(lambda y: np.ones_like(value(y)), model(x))
    model.compile("sgd", keras.tree.map_structure(lambda _: "mse", targets), run_eagerly=True)
    same_random_state()
    model.train_on_batch(x, targets)
    return [value(v) for v in model.trainable_variables]


def assert_saved(new, *, runs=True):
    """Check that graph, weights and outputs are the same after saving and loading."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "edited.keras"
        new.save(file)
        keras.utils.clear_session(free_memory=False)  # parts that a layer creates itself are named by number
        loaded = keras.models.load_model(file, safe_mode=False)
    assert str(graph_of(loaded)) == str(graph_of(new))
    ours, theirs = variables(new), variables(loaded)
    assert list(ours) == list(theirs)
    for path, variable in ours.items():
        if "seed_generator_state" not in path:  # files do not keep random states
            np.testing.assert_array_equal(value(variable), value(theirs[path]), err_msg=path)
    if runs:
        assert_same_numbers(new, loaded)
    return loaded
