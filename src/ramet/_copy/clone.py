"""The door of the twin room: what may be cloned, the walk, the finish, and errors with a path."""

from __future__ import annotations

import gc
import inspect
import time
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from ramet._copy.copier import Copier, RefusalError, UnsettledError
from ramet._copy.finish import finish
from ramet._copy.functions import wrongly_shared
from ramet._copy.plans import plan_for
from ramet._copy.rename import rename
from ramet._copy.seed import reseed
from ramet._copy.state_in_globals import report_globals
from ramet._copy.values import check_nothing_moved, copy_values, moving
from ramet._copy.weak import unsettled_references
from ramet._copy.where import path_to
from ramet._keras import check_version, collector_paused, kinds, list_of_shared, names
from ramet.errors import ArgumentError, CannotCopyError, NotAModelError

# Tries at a model that another thread runs, and the first pause between them in seconds, doubled each time.
_TRIES = 8
_PAUSE = 0.001


def clone(
    target: Any,
    *,
    name: str | None = None,
    seed: int | None = None,
    keep_compiled: bool = True,
    share: Iterable[Any] = (),
    replace: dict[int, Any] | None = None,
) -> Any:
    """The twin of a model, or of a collection of them; see `ramet.clone`.

    `replace` says, by id, which object stands in the twin for which of the original: every reference changes. Layers
    and variables, that is; bare lists, dicts and sets that one object holds are not looked up.
    """
    check_version()
    roots = _roots(target)
    _check_name(name, target)
    _check_seed(seed)
    shared = list_of_shared(share, "clone", roots)
    with collector_paused():
        return _clone(target, roots, shared, name=name, seed=seed, keep_compiled=keep_compiled, replace=replace or {})


def _clone(
    target: Any,
    roots: list[Any],
    shared: list[Any],
    *,
    name: str | None,
    seed: int | None,
    keep_compiled: bool,
    replace: dict[int, Any],
) -> Any:
    for attempt in range(_TRIES):
        try:
            copier = _walk(roots, shared, keep_compiled=keep_compiled, replace=replace)
            break
        except UnsettledError:
            time.sleep(_PAUSE * 2**attempt)
        except RefusalError as refusal:
            raise _explain(refusal, roots) from refusal.__cause__
    else:
        raise moving(_TRIES)
    twins = [copier.copy(root) for root in roots]
    finish(copier)
    if name is not None:
        rename(twins[0], roots[0].name, name, copier)
    if seed is not None:
        reseed(twins, seed, copier)
    report_globals(copier)
    return _in_structure(target, twins)


def _walk(roots: list[Any], shared: list[Any], *, keep_compiled: bool, replace: dict[int, Any]) -> Copier:
    """Copy until nothing waits. Starts again, knowing more, where an early guess turned out wrong."""
    forced: set[int] = set()
    first: list[Any] = []  # objects whose ids stand in tuples: with their twins made first, the twins' ids are known
    while True:
        copier = Copier(plan_for)
        copier.keep_compiled = keep_compiled
        copier.forced = forced
        copier.memo.update(replace)
        for value in shared:
            copier.share(value)
        if keras.backend.backend() == "tensorflow":
            from ramet._copy.tensorflow_saved_model import reload_saved_models

            for root in roots:
                reload_saved_models(root, copier)
        for value in first:
            copier.copy(value)
        for root in sorted(roots, key=lambda root: isinstance(root, keras.optimizers.Optimizer)):
            if isinstance(root, keras.optimizers.Optimizer):
                _keep_foreign_variables(root, copier)
            copier.copy(root)
            copier.run()
        again = wrongly_shared(copier) | unsettled_references(copier)
        if again - forced:
            forced = forced | again
            continue
        # An id of something that is shared stays what it is.
        known = [value for value in copier.frozen_ids if value in copier.memo and id(copier.memo[value]) != value]
        if known and not first:
            first = [value for value in gc.get_objects() if id(value) in set(known)]
            continue
        while copier.finishers:
            copier.finishers.pop(0)(copier)
            copier.run()
        copy_values(copier)
        check_nothing_moved(copier)
        return copier


def _keep_foreign_variables(optimizer: Any, copier: Copier) -> None:
    """An optimizer on its own goes on optimising the same variables; with its model, the twin's."""
    for variable in _optimized(optimizer):
        if id(variable) not in copier.memo:
            copier.share(variable)


def _optimized(optimizer: Any) -> list[Any]:
    variables = list(optimizer.__dict__.get(names.OPTIMIZED) or ())
    inner = optimizer.__dict__.get("inner_optimizer")
    return variables + (_optimized(inner) if inner is not None else [])


def _roots(target: Any) -> list[Any]:
    if kinds.is_clonable(target):
        return [target]
    if isinstance(target, list | tuple | dict):
        items = list(target.items()) if isinstance(target, dict) else list(enumerate(target))
        for key, item in items:
            if not kinds.is_clonable(item):
                raise _not_a_model(item, f"item {key!r}")
        return [item for _, item in items]
    raise _not_a_model(target, "")


def _not_a_model(value: Any, place: str) -> NotAModelError:
    if isinstance(value, type):
        shown = found = f"the class {value.__name__}"
        fix = f"pass an instance, {value.__name__}(...)."
    elif inspect.isroutine(value):
        shown = found = f"the function {getattr(value, '__name__', '?')}"
        fix = "pass the model that it makes."
    else:
        shown, kind = _shown(value), type(value).__name__
        found = shown if shown.endswith(kind) else f"{shown} (class {kind})"
        fix = "pass a keras model, or a list of them."
    return NotAModelError(
        f"Cannot clone {f'{place} of the collection' if place else shown}: it is not a model.",
        expected="a keras model, layer, optimizer or metric, or a list, tuple or dict of them",
        found=found,
        fix=fix,
    )


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, int | float | str | bytes | None) else ""
    return text if text and len(text) <= 40 else f"an object of class {type(value).__name__}"


def _check_name(name: Any, target: Any) -> None:
    if name is None:
        return
    if isinstance(target, list | tuple | dict):
        raise ArgumentError(
            "Cannot clone a collection with name=: one name cannot stand for several objects.",
            found=f"name={name!r} with a {type(target).__name__} of {len(target)}",
            fix="clone without name=, or clone each on its own.",
        )
    if not isinstance(name, str) or not name or "/" in name:
        raise ArgumentError(
            f"Cannot clone '{target.name}' with name={name!r}: a name is a text without '/'.",
            fix="choose another name.",
        )
    if name == target.name:
        raise ArgumentError(
            f"Cannot clone '{target.name}' with name={name!r}: that is the original's name.",
            fix="choose a name that differs, or leave name= out for an exact twin.",
        )


def _check_seed(seed: Any) -> None:
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
        raise ArgumentError(
            f"Cannot clone with seed={seed!r}: a seed is an int.",
            found=f"a {type(seed).__name__}",
            fix="pass an int, or leave seed= out to keep the random state.",
        )


def _explain(refusal: RefusalError, roots: list[Any]) -> CannotCopyError:
    """The refusal with the way to the object."""
    root = roots[0]
    path, found = root.name, ""
    for candidate in roots:
        path, found = path_to(refusal.culprit, candidate, candidate.name)
        if path != candidate.name:
            root = candidate
            break
    kind = type(refusal.culprit)
    default = f"register a plan, ramet.register_copy({kind.__name__}, how), or keep it as it is with share=[...]."
    fix = refusal.fix or default
    return CannotCopyError(
        f"Cannot clone '{root.name}': {path} is a {kind.__name__}; {refusal.reason}.",
        found=found,
        fix=fix if fix.endswith(".") else f"{fix}.",
        path=path,
    )


def _in_structure(target: Any, twins: list[Any]) -> Any:
    if kinds.is_clonable(target):
        return twins[0]
    if isinstance(target, dict):
        return type(target)(zip(target, twins, strict=True))
    if isinstance(target, tuple) and hasattr(target, "_fields"):
        return type(target)(*twins)
    return type(target)(twins)
