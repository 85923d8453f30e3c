"""`clone` with all its options: the twin first, then, with `inputs=`, its calls made anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras

from ramet._build.inputs import new_inputs
from ramet._build.rebuild import rebuild
from ramet._build.trampoline import run
from ramet._build.weights import clone_with
from ramet._keras import structure
from ramet._keras import names_untouched
from ramet.errors import ArgumentError, RebuildError, foreign_errors


def clone(
    target: Any,
    *,
    weights: str = "copy",
    inputs: Any = None,
    name: str | None = None,
    seed: int | None = None,
    keep_compiled: bool = True,
    share: Iterable[Any] = (),
) -> Any:
    """The twin; see `ramet.clone`."""
    if inputs is None:
        return clone_with(target, weights=weights, name=name, seed=seed, keep_compiled=keep_compiled, share=share)
    _check_has_calls(target)
    twin = clone_with(target, weights=weights, name=name, seed=seed, keep_compiled=keep_compiled, share=share)
    own = structure.inputs_of(structure.function_of(twin))
    # Layers make ops while they are called, for masks.
    with names_untouched(), foreign_errors("rebuild", f"'{target.name}' on other inputs", RebuildError):
        return run(rebuild(twin, new_inputs(twin, own, inputs, original=target)))


def _check_has_calls(target: Any) -> None:
    if isinstance(target, keras.Model) and structure.function_of(target) is not None:
        return
    if isinstance(target, keras.Sequential):
        raise ArgumentError(
            f"Cannot rebuild '{target.name}' on other inputs: it has not been built, so it has none yet.",
            fix="clone it without inputs= and build the twin: twin.build(shape).",
        )
    what = f"'{target.name}'" if isinstance(target, keras.Operation) else "this"
    raise ArgumentError(
        f"Cannot rebuild {what} on other inputs: it has no call graph.",
        expected="a functional or Sequential model",
        found=f"an object of class {type(target).__name__}",
        fix="clone it without inputs=; a subclassed model takes other inputs as it is.",
    )
