"""The form of these tests: a model, edits, and the model one would have built by hand instead.

    new = assert_edited(model, [e.remove("drop")], expected)

The graphs are equal, what was not touched has the weights it had, both models give the same numbers, both train alike, and
the edited one is the same again after saving and loading. The model passed in is as it was.
"""

import keras
import numpy as np

import ramet
from ramet._graph import lint
from ramet._keras import structure
from ramet._keras.tree import places_below
from tests.support.graph_models import data_for
from tests.support.reach import assert_independent
from tests.support.twins import outputs, same_random_state, values


def variables(model):
    """Every variable by the path of its op and its name; a shared one once."""
    return {
        f"{place.path}/{variable.name}": variable
        for place in places_below(model)
        if place.same_as is None
        for variable, _ in structure.variables_of(place.op)
    }


def value(variable):
    return np.array(keras.ops.convert_to_numpy(variable))


def scrambled(model, seed=1):
    """The model with random weights everywhere: zeros and ones hide mistakes."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        weight.assign(rng.uniform(0.3, 1.3, weight.shape).astype(str(value(weight).dtype)))
    return model


def edited(model, *edits, **options):
    """The edited twin. The model is exactly as it was, and they have nothing in common that can change."""
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
    return [(len(structure.calls_made(p.op)), len(structure.calls_following(p.op))) for p in places_below(model)]


def assert_edited(model, edits, expected, *, carried=None, fresh=(), tolerance=0.0, runs=True, saves=True, **options):
    """Edit the model and compare with the one built by hand.

    Args:
        model: The model passed in.
        edits: The edits.
        expected: The model that should come of it. It gets the weights that the model has at the same paths.
        carried: For a path of the expected model, the path in the model whose weights stand there, if it is another.
        fresh: Paths whose weights are new although the model has such.
        tolerance: How far outputs may be apart, as a part of the largest; 0 for bit-equal.
        runs: Whether numbers are compared, too.
        saves: Whether the result can be saved and loaded.
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
    """The graph, with raw operations numbered as they come: their names tell only how many the process has made before."""
    twin = ramet.clone(model)
    for place in places_below(twin):
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
    """Both give the same on the same data."""
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
    """A step of training makes of both what it makes of the other."""
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
    """Saved and loaded, the model is the same: graph, weights, outputs."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "edited.keras"
        new.save(file)
        keras.utils.clear_session(free_memory=False)  # parts that a layer makes itself are named by number
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
