"""TensorFlow: one function over all variables of two models, made once."""

from __future__ import annotations

import weakref
from typing import Any

import tensorflow as tf

from ramet._keras import structure
from ramet._weights.symbolic import assign_all

__all__ = ["Blend", "is_in_function"]


def is_in_function() -> bool:
    """Whether operations are recorded into a function right now, rather than run."""
    return not tf.executing_eagerly()


class Blend:
    """Moves the values of some variables towards those of others, in one function that is traced once.

    It keeps none of the variables alive: TensorFlow refers to them weakly, and so does what it traces.
    """

    def __init__(self, sources: list[Any], targets: list[Any]) -> None:
        self._sources = [weakref.ref(variable) for variable in sources]
        self._targets = [weakref.ref(variable) for variable in targets]
        self._traced = [weakref.ref(structure.value_of(variable)) for variable in sources + targets]
        self._hard = tf.function(self._copy, autograph=False)
        # Double precision, for variables that have it; a tensor, so that another tau is no other trace.
        signature = [tf.TensorSpec((), tf.float64)]
        self._soft = tf.function(self._move, autograph=False, input_signature=signature)

    def fits(self, variables: list[Any]) -> bool:
        """Whether the variables still hold what was traced."""
        return all(ref() is structure.value_of(variable) for ref, variable in zip(self._traced, variables, strict=True))

    def __call__(self, tau: float) -> None:
        if tau == 1:
            self._hard()
        else:
            self._soft(tf.constant(tau, tf.float64))

    def _copy(self) -> None:
        assign_all([ref() for ref in self._sources], [ref() for ref in self._targets], 1.0)

    def _move(self, tau: Any) -> None:
        assign_all([ref() for ref in self._sources], [ref() for ref in self._targets], tau, between=True)
