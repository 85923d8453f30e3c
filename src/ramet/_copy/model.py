"""Copy a model: check the arguments, walk its objects, copy values, and finish the twin.

The walk is repeated in two cases. First, two facts are known only at its end: whether the target of a weak reference is part
of the model, and whether a function that looked stateless shares a cell with one that assigns to it. If a guess was wrong, the
walk restarts with the right answer. That is rare, and simpler and safer than repairing immutable objects afterwards. Second,
if another thread trains the model, the values may belong to different steps; everything is then copied again after a pause.
"""

from __future__ import annotations

import gc
import inspect
import os
import time
import types
import weakref
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from ramet._copy.atoms import is_from_library
from ramet._copy.copier import Copier
from ramet._copy.finish import finish, rename, reseed
from ramet._copy.functions import wrongly_shared
from ramet._copy.refusal import RefusalError, ValuesChangedError, explain
from ramet._copy.rules import rule_for
from ramet._copy.shared_globals import names_read, warn_about_globals
from ramet._copy.stdlib_rules import premature_references
from ramet._copy.values import check_unchanged, copy_values, values_keep_changing
from ramet._keras import check_version, expand_shared, names, pause_collector, structure
from ramet.errors import ArgumentError, NotAModelError

# Attempts to copy a model that another thread runs, and the first pause between attempts in seconds, doubled each time.
_ATTEMPTS = 8
_PAUSE = 0.001


def copy_model(
    target: Any,
    *,
    name: str | None = None,
    seed: int | None = None,
    compile: bool = True,
    share: Iterable[Any] = (),
    replace: dict[int, Any] | None = None,
) -> Any:
    """Return the twin of a model, or of a collection of models; the arguments are those of `ramet.clone`.

    `replace` maps the id of an object in the original to the object that the twin uses instead. It works
    for layers and variables, not for bare lists, dicts and sets that one object holds: those are not looked up.
    """
    check_version()
    roots = _roots(target)
    _check_name(name, target)
    _check_seed(seed)
    shared = expand_shared(share, "clone", roots)
    _check_shared(shared, roots)
    with pause_collector():
        copier = _walk_until_consistent(roots, shared, compile=compile, replace=replace or {})
        twins = [copier.copy(root) for root in roots]
        finish(copier)
        if name is not None:
            rename(twins[0], roots[0].name, name, copier)
        if seed is not None:
            reseed(twins, seed, copier)
        warn_about_globals(copier)
        return _with_structure_of(target, twins)


def _walk_until_consistent(roots: list[Any], shared: list[Any], *, compile: bool, replace: dict[int, Any]) -> Copier:
    for attempt in range(_ATTEMPTS):
        try:
            return _walk(roots, shared, compile=compile, replace=replace)
        except ValuesChangedError:
            time.sleep(_PAUSE * 2**attempt)
        except RefusalError as refusal:
            raise explain(refusal, roots) from refusal.__cause__
    raise values_keep_changing(_ATTEMPTS)


def _walk(roots: list[Any], shared: list[Any], *, compile: bool, replace: dict[int, Any]) -> Copier:
    """Copy everything reachable from the roots; restart if an early guess was wrong."""
    forced: set[int] = set()
    first: list[Any] = []  # objects whose ids are in tuples: if their twins are made first, the twins' ids are known
    while True:
        copier = Copier(rule_for)
        copier.keep_compiled = compile
        copier.forced = forced
        copier.memo.update(replace)
        for value in shared:
            copier.share(value)
        if keras.backend.backend() == "tensorflow":
            from ramet._copy.tensorflow_rules import reload_saved_models

            for root in roots:
                reload_saved_models(root, copier)
        for value in first:
            copier.copy(value)
        for root in sorted(roots, key=lambda root: isinstance(root, keras.optimizers.Optimizer)):
            if isinstance(root, keras.optimizers.Optimizer):
                _share_foreign_variables(root, copier)
            copier.copy(root)
            copier.run()
        again = wrongly_shared(copier) | premature_references(copier)
        if again - forced:
            forced = forced | again
            continue
        # The id of a shared object stays as it is.
        known = [value for value in copier.frozen_ids if value in copier.memo and id(copier.memo[value]) != value]
        if known and not first:
            first = [value for value in gc.get_objects() if id(value) in set(known)]
            continue
        while copier.finishers:
            copier.finishers.pop(0)(copier)
            copier.run()
        copy_values(copier)
        check_unchanged(copier)
        return copier


def _share_foreign_variables(optimizer: Any, copier: Copier) -> None:
    """Let an optimizer that is cloned alone keep its variables; one that is cloned with its model gets the twin's."""
    waiting = [optimizer]
    while waiting:
        part = waiting.pop()
        for variable in part.__dict__.get(names.OPTIMIZED) or ():
            if id(variable) not in copier.memo:
                copier.share(variable)
        inner = part.__dict__.get("inner_optimizer")
        waiting += [] if inner is None else [inner]


def _roots(target: Any) -> list[Any]:
    if structure.is_clonable(target):
        return [target]
    if isinstance(target, list | tuple | dict):
        items = list(target.items()) if isinstance(target, dict) else list(enumerate(target))
        for key, item in items:
            if not structure.is_clonable(item):
                raise _not_a_model(item, f"item {key!r}")
        return [item for _, item in items]
    raise _not_a_model(target, "")


def _with_structure_of(target: Any, twins: list[Any]) -> Any:
    if structure.is_clonable(target):
        return twins[0]
    if isinstance(target, dict):
        return type(target)(zip(target, twins, strict=True))
    if isinstance(target, tuple) and hasattr(target, "_fields"):
        return type(target)(*twins)
    return type(target)(twins)


_PASS_A_MODEL = "pass a Keras model, or a list of models."


def _not_a_model(value: Any, item: str) -> NotAModelError:
    if isinstance(value, type):
        description = found = f"the class {value.__name__}"
        fix = f"pass an instance, {value.__name__}(...)."
    elif inspect.isroutine(value):
        description = found = f"the function {getattr(value, '__name__', '?')}"
        fix = "call the function and pass the model it returns."
    else:
        description, kind = _describe(value), type(value).__name__
        found = description if description.endswith(kind) else f"{description} (class {kind})"
        is_file = isinstance(value, os.PathLike) or (isinstance(value, str) and value.endswith((".keras", ".h5")))
        fix = "load the file and pass the model, or use the command `ramet clone`." if is_file else _PASS_A_MODEL
    return NotAModelError(
        f"Cannot clone {f'{item} of the collection' if item else description}: it is not a model.",
        expected="a Keras model, layer, optimizer or metric, or a list, tuple or dict of them",
        found=found,
        fix=fix,
    )


def _describe(value: Any) -> str:
    text = repr(value) if isinstance(value, int | float | str | bytes | None) else ""
    return text if text and len(text) <= 40 else f"an object of class {type(value).__name__}"


def _check_name(name: Any, target: Any) -> None:
    if name is None:
        return
    if isinstance(target, list | tuple | dict):
        raise ArgumentError(
            "Cannot clone a collection with name=: one name cannot be given to several objects.",
            found=f"name={name!r} with a {type(target).__name__} of {len(target)}",
            fix="clone without name=, or clone each object separately.",
        )
    if not isinstance(name, str) or not name or "/" in name:
        raise ArgumentError(
            f"Cannot clone '{target.name}' with name={name!r}: a name is a non-empty string without '/'.",
            fix="choose another name.",
        )
    if name == target.name:
        raise ArgumentError(
            f"Cannot clone '{target.name}' with name={name!r}: the original has the same name.",
            fix="choose a different name, or omit name= for an exact twin.",
        )


def _check_seed(seed: Any) -> None:
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
        raise ArgumentError(
            f"Cannot clone with seed={seed!r}: a seed is an int.",
            found=f"a {type(seed).__name__}",
            fix="pass an int, or omit seed= to keep the random state.",
        )


def _check_shared(share: list[Any], roots: list[Any]) -> None:
    """Raise an error for a layer in `share=` that the models do not use, such as one of another twin.

    Everything that can hold a layer is searched, so that none is refused wrongly: more than the walk copies.
    """
    missing = {id(one): one for one in share if isinstance(one, keras.Operation)}
    for root in roots:
        for layer in structure.layer_tree(root) if missing and isinstance(root, keras.Operation) else ():
            missing.pop(id(layer), None)
    waiting = list(roots) if missing else []
    seen = set(map(id, waiting))
    while waiting and missing:
        for part in _held_by(waiting.pop()):
            if id(part) not in seen:
                seen.add(id(part))
                missing.pop(id(part), None)
                waiting.append(part)
    if not missing:
        return
    layer = next(iter(missing.values()))
    name = structure.name_of(layer)
    names = {
        structure.name_of(one)
        for root in roots
        if isinstance(root, keras.Operation)
        for one in structure.layer_tree(root)
    }
    raise ArgumentError(
        f"Cannot clone '{roots[0].name}' with share=: the layer '{name}' is not part of it.",
        found=f"a {type(layer).__name__}{'; the model has another layer of that name' if name in names else ''}",
        fix="pass layers of the model that is cloned, for example model.get_layer(...).",
    )


def _held_by(value: Any) -> Iterable[Any]:
    """Return everything that an object refers to; of classes and functions, only what is the user's."""
    if isinstance(value, types.ModuleType | types.FrameType):
        return ()
    if isinstance(value, type):
        return () if is_from_library(value) else vars(value).values()
    if isinstance(value, types.FunctionType):
        read = [value.__globals__.get(name) for name in names_read(value.__code__)]
        return [*read, value.__closure__, value.__defaults__, value.__kwdefaults__, value.__dict__]
    if isinstance(value, weakref.ReferenceType):
        return (value(),)
    if type(value).__module__.partition(".")[0] in ("jax", "jaxlib"):
        # A compiled function refers to caches of JAX, and through them to every model that ran.
        return (getattr(value, "__wrapped__", None),)
    if isinstance(value, np.ndarray):  # says nothing to the garbage collector
        return value.ravel().tolist() if value.dtype.hasobject else ()
    return gc.get_referents(value)
