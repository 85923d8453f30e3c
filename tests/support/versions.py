"""What the Keras under test can do, for tests that need more than the oldest supported one."""

import re

import keras
import pytest

KERAS = tuple(int(part) for part in keras.__version__.split(".")[:2])


def in_words_of_keras(text):
    """What a layer itself says when it refuses an input, in the words of the Keras under test."""
    return text if KERAS >= (3, 13) else re.sub(r" with name 'None' of layer '(\w+)'", r' of layer "\1"', text)


def needs_keras(major, minor, why):
    """Run only on a Keras that has the feature; `why` says what older ones do instead."""
    reason = f"{why}; a Keras of {major}.{minor} or newer lifts this"
    return pytest.mark.skipif((major, minor) > KERAS, reason=reason)
