"""The door: two models, two files, or one file on several backends."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras

from ramet._keras import (
    check_version,
    list_of_shared,
    load_copy,
    names_untouched,
    randomness_untouched,
    safe_copy,
    start_alike,
)
from ramet._verify.checks import CHECKS
from ramet._verify.compare import Tolerance, check_tolerance
from ramet._verify.findings import NotRun
from ramet._verify.pair import Pair
from ramet._verify.progress import Progress, teller
from ramet._verify.report import Check, Report
from ramet._verify.variables import size_of
from ramet.errors import ArgumentError, NotAModelError, RametError, foreign_errors


def verify(
    model: Any,
    twin: Any = None,
    *,
    tolerance: Tolerance = None,
    only: Iterable[str] | str | None = None,
    skip: Iterable[str] | str | None = None,
    inputs: Any = None,
    targets: Any = None,
    seed: int = 0,
    share: Iterable[Any] = (),
    backends: Iterable[str] | None = None,
    progress: Progress = None,
) -> Report:
    """The report on two models, or on one file on several backends; see `ramet.verify`."""
    check_version()
    check_tolerance(tolerance)
    if backends is not None:
        return _across(model, twin, list(backends), tolerance, seed)
    chosen = _chosen(only, skip)
    with names_untouched(), randomness_untouched():
        ours, theirs = _model(model, "the original", seed), _model(twin, "the other", seed)
        shared = list_of_shared(share, "verify", [ours, theirs])
        pair = Pair(
            ours,
            theirs,
            tolerance=tolerance,
            seed=seed,
            inputs=inputs,
            targets=targets,
            share=shared,
            differentiates="gradients" in chosen,
        )
        with _raising(ours):
            big = _is_big(ours)
        tell = teller(progress, big=big)
        checks = []
        try:
            for number, name in enumerate(chosen):
                tell(name, number, len(chosen))
                checks.append(_run(CHECKS[name], name, pair))
        finally:
            pair.end()
            tell("", len(chosen), len(chosen))
        graphs = pair.ours.graph, pair.theirs.graph
    return Report(ours.name, theirs.name, tuple(checks), _about(ours, tolerance), graphs)


def _raising(model: Any) -> contextlib.AbstractContextManager[None]:
    return foreign_errors("verify", f"'{model.name}'", RametError)


def _run(check: Callable[[Pair], Check], name: str, pair: Pair) -> Check:
    if pair.tolerance is not None:
        pair.tolerance.largest = None
    try:
        with _raising(pair.ours.model):
            try:
                found = check(pair)
            except NotRun as reason:
                return Check(name, "not run", reason=str(reason))
        return found if pair.tolerance is None else dataclasses.replace(found, largest=pair.tolerance.largest)
    finally:
        pair.end()


def _across(model: Any, twin: Any, backends: list[str], tolerance: Tolerance, seed: int) -> Report:
    if twin is not None or not isinstance(model, str | os.PathLike):
        raise ArgumentError(
            "Cannot verify across backends: that takes one file, which each backend loads for itself.",
            expected="verify('model.keras', backends=['jax', 'torch', 'tensorflow'])",
            fix="save the model first: model.save('model.keras').",
        )
    from ramet._verify.across import check_request, verify_across

    check_request(Path(model), backends)
    with safe_copy(Path(model)) as copy:
        return verify_across(copy, backends, tolerance, seed)


def _chosen(only: Iterable[str] | str | None, skip: Iterable[str] | str | None) -> list[str]:
    wanted, unwanted = ([names] if isinstance(names, str) else list(names or ()) for names in (only, skip))
    for name in [*wanted, *unwanted]:
        if name not in CHECKS:
            raise ArgumentError(
                f"Cannot verify {name!r}: there is no such check.",
                expected=", ".join(CHECKS),
                closest=difflib.get_close_matches(str(name), CHECKS, n=3),
                fix="use one of these names.",
            )
    return [name for name in CHECKS if (only is None or name in wanted) and name not in unwanted]


def _model(given: Any, which: str, seed: int) -> Any:
    if isinstance(given, str | os.PathLike):
        # A file does not keep random choices: a `Dropout` without a seed draws one whenever it is made. They are made
        # alike, or no two files of such a model would be equal.
        with names_untouched():
            start_alike(seed)
            with safe_copy(Path(given)) as copy:
                return load_copy(copy)
    if not isinstance(given, keras.Layer):
        raise NotAModelError(
            f"Cannot verify an object of class {type(given).__name__} ({which}): it is not a model or layer.",
            expected="two keras models or layers of any kind, or two .keras files",
            fix="pass models or layers.",
        )
    return given


def _is_big(model: Any) -> bool:
    return len(model.variables) > 500 or sum(map(size_of, model.variables)) > 2e7


def _about(model: Any, tolerance: Tolerance) -> str:
    how = "bit by bit" if tolerance is None else f"within {tolerance}"
    return f"{type(model).__name__}, compared {how}; Keras {keras.__version__} on {keras.backend.backend()}"
