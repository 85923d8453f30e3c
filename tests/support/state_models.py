"""Small models with state, and data for them."""

import keras
import numpy as np

import ramet
from tests.support.twins import outputs, same_random_state


def floats(*shape, seed=0):
    """Return random numbers between -1 and 1, the same for the same seed."""
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


def dense_model(*layers, width=4, **options):
    """Return a functional model on rows of `width` numbers, with the given layers or one Dense."""
    inputs = keras.Input((width,))
    x = inputs
    for layer in layers or (keras.layers.Dense(3, name="dense"),):
        x = layer(x)
    return keras.Model(inputs, x, **options)


def trained(model, x, y, **compile_options):
    """Compile the model, train it for two steps, so that slots and counters have changed, and return it."""
    compile_options.setdefault("loss", "mse")
    if keras.backend.backend() == "tensorflow":
        # Tracing would take most of the time; tests/copy/test_life.py covers traced functions.
        compile_options.setdefault("run_eagerly", True)
    model.compile(**compile_options)
    model.fit(x, y, batch_size=len(x), epochs=2, shuffle=False, verbose=0)
    return model


def draws(model, x, times=3):
    """Return the outputs of a model with random layers for several calls in a row."""
    same_random_state()
    return np.stack([outputs(model, x, training=True)[0] for _ in range(times)])


def numbers(values):
    """Return arrays of any backend as NumPy arrays."""
    return [np.array(keras.ops.convert_to_numpy(value)) for value in values]


def twin_or_refusal(model):
    """Return the twin and None, or None and the error."""
    try:
        return ramet.clone(model), None
    except ramet.errors.CannotCopyError as error:
        return None, error


def assert_gives_path_and_fix(error, model):
    """Check that the error gives a path below the model, and a fix."""
    assert error.path.startswith(model.name)
    assert error.path != model.name
    assert error.fix
