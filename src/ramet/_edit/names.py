"""Names of layers: free names for new ones, and code or settings that refer to a layer by its name."""

from __future__ import annotations

import contextlib
import functools
import re
import types
from collections.abc import Iterable, Iterator
from typing import Any

import keras

from ramet._edit.session import EditSession, inside_first, layers_below
from ramet._graph import FrozenDict, FrozenList
from ramet._keras import OpLocation, locations_below, op_settings, policies, rewire, structure, training
from ramet._report import with_article
from ramet.errors import EditError

# Code that uses one of these names together with the name of a layer looks up that layer.
_LOOKUPS = frozenset({"get_layer", "layers", "operations", "name", "path", "output_names", "get_operation"})
# These methods name new layers.
_CONSTRUCTORS = frozenset({"__init__", "build", "get_config", "from_config", "__new__"})
# Strings in configs that mean something to Keras, whatever a layer is called.
_KERAS_WORDS = frozenset(
    name
    for module in (keras.activations, keras.initializers, keras.regularizers, keras.losses, keras.metrics)
    for name in dir(module)
) | {"same", "valid", "causal", "channels_last", "channels_first", "float16", "bfloat16", "float32", "float64"}


def settle_name(layer: Any, path: str, session: EditSession, *, without: Iterable[Any] = ()) -> None:
    """Give a new layer at or beside a path a free name if Keras chose its name, and refuse a taken one otherwise.

    The names of the ops in `without`, which leave the graph, are free again.
    """
    taken = session.taken_names(path, without=without)
    if not isinstance(layer.name, str):
        rewire.set_name(layer, free_name(structure.name_of(layer), taken))
    elif layer.name in taken:
        if not is_chosen_by_keras(layer):
            raise EditError(
                f"Cannot put '{layer.name}' at '{path}': the graph already has an op of that name.",
                found=f"a new {type(layer).__name__} called '{layer.name}'",
                fix="give the new layer another name, or none: then a free one is chosen.",
                path=path,
            )
        rewire.set_name(layer, free_name(re.sub(r"_\d+$", "", layer.name), taken))
    session.take_name(path, layer.name)


def free_name(base: str, taken: set[str]) -> str:
    """Return the name with the first number that makes it unique."""
    name, number = base, 0
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name


def is_chosen_by_keras(layer: Any) -> bool:
    """Return whether a name looks like the one that Keras makes from the class and a number."""
    words = re.sub(
        r"\W+", "", re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", type(layer).__name__))
    )
    return re.fullmatch(rf"{re.escape(words.lower())}(_\d+)?", structure.name_of(layer)) is not None


@contextlib.contextmanager
def policies_follow(root: Any) -> Iterator[None]:
    """Rename the keys of dtype policy maps together with the layers inside: the keys are paths of layers."""
    layers = layers_below(root)
    holders = [layer for layer in layers if policies.is_map(policies.held_policy(layer))]
    before = {id(layer): str(layer.path or "") for layer in layers} if holders else {}
    yield
    moved = [(before[id(layer)], layer.path) for layer in layers if holders and layer.path]
    moved = [(old, new) for old, new in moved if old and old != new]
    made: dict[int, tuple[Any, Any]] = {}  # several layers may share a map, and still do so afterwards
    for holder in holders if moved else ():
        old = policies.held_policy(holder)
        new = made.setdefault(id(old), (old, policies.moved_map(old, moved)))[1]
        for layer in inside_first(holder):
            if isinstance(layer, keras.Layer) and before[id(layer)]:
                _check_same_policy(old, before[id(layer)], new, layer.path)
        policies.put_policy(holder, new)


def _check_same_policy(old: Any, old_path: str, new: Any, new_path: str) -> None:
    expected, found = policies.look_up(old, old_path), policies.look_up(new, new_path)
    if getattr(expected, "name", None) != getattr(found, "name", None):
        raise EditError(
            f"Cannot rename '{old_path}': a DTypePolicyMap finds its policy by its path.",
            expected=f"the policy {getattr(expected, 'name', None)!r} for '{new_path}', too",
            found=repr(getattr(found, "name", None)),
            fix="use the whole path of the layer as the key in the map instead of a pattern, or keep its name.",
            path=old_path,
        )


def uses_of_names(model: Any) -> dict[str, str]:
    """Return, by name, a description of the first code or setting of a model that refers to a layer by this name.

    Names that Keras itself uses follow a new name (`ramet._keras.rewire`, `ramet._keras.training`). But a user's class may
    call `get_layer("logits")` in its `train_step`, in a property or in a loss, or keep the name in its config. Such code
    cannot be changed, so these renames are refused.
    """
    found: dict[str, str] = {}
    locations = [location for location in locations_below(model) if location.same_as is None]
    for name, use in (*_uses_in_code(model, locations), *_uses_in_settings(locations)):
        found.setdefault(name, use)
    return found


def check_names_found(model: Any, result: Any) -> None:
    """Refuse a result that refers to a layer by a name that no layer has any more."""
    paths = {structure.name_of(one.op): one.path for one in reversed(locations_below(model)) if one.path}
    gone = paths.keys() - {structure.name_of(one.op) for one in locations_below(result)}
    uses = uses_of_names(result) if gone else {}
    if missing := gone & uses.keys():
        name = min(missing)
        raise EditError(
            f"Cannot edit '{paths[name]}': {uses[name]}, and no layer has that name afterwards.",
            fix="keep a layer of that name, or change that class or function first.",
            path=paths[name],
        )


def _uses_in_code(model: Any, locations: list[OpLocation]) -> Iterator[tuple[str, str]]:
    """Yield strings in the code of classes, losses and metrics that look up layers, each with the user of the name."""
    classes = {type(location.op): None for location in locations}
    for cls in {base: None for one in classes for base in one.__mro__ if _is_users(base)}:
        for name, function in _methods(cls):
            if name not in _CONSTRUCTORS:
                yield from ((text, f"{cls.__name__}.{name} looks it up by name") for text in _strings_in(function))
    settings = training.compile_settings(model) or {}
    for argument in ("loss", "metrics", "weighted_metrics"):
        for value in keras.tree.flatten(settings.get(argument)):
            loss = value if isinstance(value, types.FunctionType) else getattr(value, "fn", None)
            if isinstance(loss, types.FunctionType) and _is_users(loss):
                use = f"the {argument} '{loss.__name__}' looks it up by name"
                yield from ((text, use) for text in _strings_in(loss))
            elif value is not None and _is_users(type(value)):
                for name, method in _methods(type(value)):
                    use = f"{type(value).__name__}.{name}, of the {argument}, looks it up by name"
                    yield from ((text, use) for text in _strings_in(method) if name not in _CONSTRUCTORS)


def _methods(cls: type) -> Iterator[tuple[str, types.FunctionType]]:
    for name, value in vars(cls).items():
        if isinstance(value, property):
            found = [value.fget, value.fset]
        elif isinstance(value, staticmethod | classmethod):
            found = [value.__func__]
        elif isinstance(value, functools.cached_property):
            found = [value.func]
        else:
            found = [value]
        yield from ((name, function) for function in found if isinstance(function, types.FunctionType))


def _strings_in(function: types.FunctionType) -> set[str]:
    """Return the strings in a function's code, if the code looks up layers."""
    found: set[str] = set()
    looks_up = False
    waiting: list[Any] = [function.__code__]
    while waiting:
        value = waiting.pop()
        if isinstance(value, types.CodeType):
            looks_up = looks_up or bool(_LOOKUPS & set(value.co_names))
            waiting.extend(value.co_consts)
        elif isinstance(value, tuple | frozenset):
            waiting.extend(value)
        elif isinstance(value, str):
            found.add(value)
    cells = map(cell_content, function.__closure__ or ())
    found.update(text for text in cells if isinstance(text, str))
    return found if looks_up else set()


def cell_content(cell: Any) -> Any:
    """Return the content of a closure's cell; None for an empty one."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _uses_in_settings(locations: list[OpLocation]) -> Iterator[tuple[str, str]]:
    """Yield strings in the configs of classes that are not Keras' own, each with the user of the name."""
    for location in locations:
        if not _is_users(type(location.op)):
            continue
        config = op_settings(location.op)["config"]
        for key, value in config.pairs if isinstance(config, FrozenDict) else ():
            texts = value.items if isinstance(value, FrozenList) else value if isinstance(value, tuple) else (value,)
            for text in texts:
                if key != "name" and isinstance(text, str) and text not in _KERAS_WORDS:
                    user = f"'{location.path}'" if location.path else "the model"
                    yield (
                        text,
                        f"{user}, {with_article(type(location.op).__name__)}, refers to it in its setting {str(key)!r}",
                    )


def _is_users(thing: Any) -> bool:
    return str(thing.__module__).partition(".")[0] not in ("keras", "builtins", "torch", "tensorflow", "jax", "flax")
