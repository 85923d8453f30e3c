"""For test suites: assertions about models, with messages worth reading.

from ramet.testing import assert_twin

def test_my_model_can_be_cloned():
    model = make_model()
    assert_twin(model, ramet.clone(model))
"""

from __future__ import annotations

from typing import Any

__all__ = ["assert_edit", "assert_twin"]


def assert_edit(before: Any, edits: Any, after: Any, *, inputs: Any = None, tolerance: float = 0.0) -> None:
    """Fail, with the lines of the graphs or the number that differ, unless the edits make of `before` the model `after`.

    The graphs must be the same, names and settings of layers included; only the name of the model may differ. With the
    edited model's weights, by path, `after` must compute the same numbers. Both models are as they were afterwards.

    Args:
        before: The model to edit.
        edits: An edit, a recipe, or a list of these.
        after: The model that is expected, built by hand.
        inputs: What both are called with; made up from the inputs of the model when left out.
        tolerance: How far a number may be off, as a part of the largest one.

    >>> import keras
    >>> from ramet import edits as e
    >>> from ramet.testing import assert_edit
    >>> def model(rate):
    ...     return keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dropout(rate, name="drop")])
    >>> assert_edit(model(0.5), e.update("drop", rate=0.1), model(0.1))
    """
    __tracebackhide__ = True
    from ramet._edit import assert_edit as check

    check(before, edits, after, inputs=inputs, tolerance=tolerance)


def assert_twin(model: Any, twin: Any, **options: Any) -> None:
    """Fail, with the first differences of every check, unless `twin` is an exact and independent twin of `model`.

    Both are as they were afterwards.

    Args:
        model: The original.
        twin: The other.
        **options: As for `ramet.verify`: `tolerance=`, `only=`, `skip=`, `inputs=`, `targets=`, `seed=`, `share=`.

    Raises:
        VerifyError: They differ. It is an AssertionError, too.

    >>> import keras, ramet
    >>> from ramet.testing import assert_twin
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> assert_twin(model, ramet.clone(model))
    """
    # Some test runners hide this frame from the traceback: the message says it all.
    __tracebackhide__ = True
    from ramet._verify import verify

    verify(model, twin, progress=False, **options).raise_if_failed()
