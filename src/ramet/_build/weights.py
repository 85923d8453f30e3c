"""`weights=`: copied, fresh, or the very same variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras

from ramet._arguments import check_choice
from ramet._build.fresh import reinitialise
from ramet._keras import kinds, structure
from ramet._copy import clone
from ramet.errors import ArgumentError

WEIGHTS = ("copy", "fresh", "share")


def clone_with(
    target: Any,
    *,
    weights: str = "copy",
    name: str | None = None,
    seed: int | None = None,
    keep_compiled: bool = True,
    share: Iterable[Any] = (),
) -> Any:
    """The twin with its weights copied, newly initialised, or shared with the original."""
    check_choice("clone", "weights", weights, WEIGHTS)
    if weights == "share" and name is not None:
        raise ArgumentError(
            "Cannot clone with weights='share' and name=: shared variables have one path, and name= needs another.",
            fix="leave name= out, or copy the weights.",
        )
    if weights != "share":
        twin = clone(target, name=name, seed=seed, keep_compiled=keep_compiled, share=share)
        if weights == "fresh":
            for root in _roots(twin):
                reinitialise(root, seed=seed)
        return twin
    shared = [held for root in _roots(target) for held in shared_state(root, seeded=seed is not None)]
    return clone(target, seed=seed, keep_compiled=keep_compiled, share=[*share, *shared])


def shared_state(root: Any, *, seeded: bool) -> list[Any]:
    """The variables of a model or layer, and what they hold. Generators that get seeds of their own are not shared."""
    if not isinstance(root, keras.Layer):
        return []
    variables = root.weights if seeded else root.variables
    return [part for variable in variables for part in (variable, structure.value_of(variable)) if part is not None]


def _roots(target: Any) -> list[Any]:
    if kinds.is_clonable(target):
        return [target]
    return list(target.values()) if isinstance(target, dict) else list(target)
