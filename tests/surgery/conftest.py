"""What tests of the surgery need around them."""

import keras
import pytest


@pytest.fixture
def double():
    """Numbers of double precision, which JAX has only on request."""
    if keras.backend.backend() != "jax":
        yield
        return
    import jax

    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True)
def without_tracing(request):
    """On TensorFlow, half of the time of these tests would be tracing functions that run once.

    What becomes of functions that were traced before is the matter of the tests that ask for `traced`.
    """
    if keras.backend.backend() != "tensorflow" or "traced" in request.fixturenames:
        yield
        return
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture
def traced():
    """Functions are traced, as they are for users."""
