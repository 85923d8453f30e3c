"""Small models with state, and the data they take."""

import keras
import numpy as np

import ramet
from tests.support.twins import outputs, same_random_state


def floats(*shape, seed=0):
    """The same numbers every time, between -1 and 1."""
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


def dense_model(*layers, width=4, **options):
    """A functional model on rows of `width` numbers: the given layers, or one Dense."""
    inputs = keras.Input((width,))
    x = inputs
    for layer in layers or (keras.layers.Dense(3, name="dense"),):
        x = layer(x)
    return keras.Model(inputs, x, **options)


def trained(model, x, y, **compile_options):
    """The model, compiled and trained for two steps, so that slots and counters are not at their start."""
    compile_options.setdefault("loss", "mse")
    if keras.backend.backend() == "tensorflow":
        # Tracing takes longer than everything else; what becomes of traced functions, tests/copy/test_life.py says.
        compile_options.setdefault("run_eagerly", True)
    model.compile(**compile_options)
    model.fit(x, y, batch_size=len(x), epochs=2, shuffle=False, verbose=0)
    return model


def draws(model, x, times=3):
    """What a model with random layers gives, several times in a row."""
    same_random_state()
    return np.stack([outputs(model, x, training=True)[0] for _ in range(times)])


def numbers(values):
    """Arrays of any backend as NumPy arrays."""
    return [np.array(keras.ops.convert_to_numpy(value)) for value in values]


def twin_or_refusal(model):
    """The twin, or else the error that says where the culprit stands and what to do."""
    try:
        return ramet.clone(model), None
    except ramet.errors.CannotCopyError as error:
        return None, error


def assert_says_where(error, model):
    """The error names a place below the model, and a way out."""
    assert error.path.startswith(model.name)
    assert error.path != model.name
    assert error.fix
