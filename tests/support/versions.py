"""The Keras version under test, for tests that need a newer one than the oldest supported."""

import re

import keras
import pytest

KERAS = tuple(int(part) for part in keras.__version__.split(".")[:2])


def as_worded_by_keras(text):
    """Return a message of Keras about an invalid input as the Keras under test words it."""
    return text if KERAS >= (3, 13) else re.sub(r" with name 'None' of layer '(\w+)'", r' of layer "\1"', text)


def needs_keras(major, minor, why):
    """Skip a test on Keras versions before this one; `why` describes what they do."""
    reason = f"before Keras {major}.{minor}, {why}"
    return pytest.mark.skipif((major, minor) > KERAS, reason=reason)
