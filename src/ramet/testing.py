"""For test suites: assertions about models, with messages worth reading.

from ramet.testing import assert_twin

def test_my_model_can_be_cloned():
    model = make_model()
    assert_twin(model, ramet.clone(model))
"""

from __future__ import annotations

from typing import Any

__all__ = ["assert_twin"]


def assert_twin(model: Any, twin: Any, **options: Any) -> None:
    """Fail, with the first differences of every check, unless `twin` is an exact and independent twin of `model`.

    Both are as they were afterwards.

    Args:
        model: The original.
        twin: The other.
        **options: As for `ramet.verify`: `tolerance=`, `only=`, `skip=`, `inputs=`, `targets=`, `seed=`.

    Raises:
        VerifyError: They differ. It is an AssertionError, too.

    >>> import keras, ramet
    >>> from ramet.testing import assert_twin
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> assert_twin(model, ramet.clone(model))
    """
    # Some test runners hide this frame from the traceback: the message says it all.
    __tracebackhide__ = True
    from ramet._verify.door import verify

    verify(model, twin, progress=False, **options).raise_if_failed()
