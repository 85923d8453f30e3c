"""What the Keras under test can do, for tests that need more than the oldest supported one."""

import keras
import pytest

KERAS = tuple(int(part) for part in keras.__version__.split(".")[:2])


def needs_keras(major, minor, why):
    """Run only on a Keras that has the feature; `why` says what older ones do instead."""
    reason = f"{why}; a Keras of {major}.{minor} or newer lifts this"
    return pytest.mark.skipif((major, minor) > KERAS, reason=reason)
