"""The update of `sync` on TensorFlow."""

from __future__ import annotations

import weakref
from typing import Any

import tensorflow as tf

from ramet._keras import structure
from ramet._weights.syncing import assign_all


class Blend:
    """One TensorFlow function over all variables of two models, traced once.

    It keeps none of the variables alive: TensorFlow refers to them weakly, and so does the traced code.
    """

    def __init__(self, sources: list[Any], targets: list[Any]) -> None:
        self._sources = [weakref.ref(variable) for variable in sources]
        self._targets = [weakref.ref(variable) for variable in targets]
        self._traced = [weakref.ref(structure.value_of(variable)) for variable in sources + targets]
        # Bound methods, which TensorFlow wraps weakly: a lambda would keep this object in a reference cycle.
        self._hard = tf.function(self._copy, autograph=False)
        # Double precision, for variables that have it; a tensor, so that a new tau is not traced again.
        signature = [tf.TensorSpec((), tf.float64)]
        self._soft = tf.function(self._move, autograph=False, input_signature=signature)

    def fits(self, variables: list[Any]) -> bool:
        """Return whether the variables still hold the values that were traced."""
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
