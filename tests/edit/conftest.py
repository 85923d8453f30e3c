"""Fixtures for the tests of edits."""

import keras
import pytest


@pytest.fixture
def double():
    """Enable double precision, which JAX has only on request."""
    if keras.backend.backend() != "jax":
        yield
        return
    import jax

    with jax.enable_x64(True):
        yield
