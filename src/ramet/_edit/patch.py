"""Changing a layer in place into what other settings would have made of it."""

from __future__ import annotations

import contextlib
import functools
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np

from ramet._build import build_like
from ramet._edit.base import described
from ramet._edit.layer_config import objects_in
from ramet._edit.names import cell_content
from ramet._edit.round_trip import calls_as_text
from ramet._keras import (
    draw_from_seed,
    exchange,
    keep_name_counters,
    layers,
    lora,
    names,
    quantization,
    rewire,
    safe_mode,
    structure,
)
from ramet.errors import EditError

# A function that computes the value of a new variable from the old variable, the new one, and its path.
Fit = Callable[[Any, Any, str], Any]


def fresh_value(old: Any, new: Any, path: str) -> Any:
    """Return the value of a new variable; the old value if only the dtype changes."""
    return keras.ops.convert_to_numpy(old if tuple(old.shape) == tuple(new.shape) else new)


def patch(
    layer: Any, as_is: Any, changed: Any, path: str, *, fit: Fit = fresh_value, quantized: bool = False
) -> dict[int, Any]:
    """Change a layer in place. Return, by the id of each new variable, the old one that it replaces.

    The obvious way, a new layer from the changed config with the old weights loaded into it, loses whatever a config does
    not contain: attributes set by hand, trainable flags, the identity of variables (and with it their optimizer slots),
    random state. So the layer itself stays, and only the effect of the settings is transferred to it. That effect is found
    by comparison: two layers are made from the config, one as it is and one changed (`made_twice`), and each attribute or
    variable that differs between these two is taken from the changed one. The original layer is not part of the
    comparison, because it may differ from both by what its owner did to it after it was made. Layers inside are patched
    in the same way, paired by their positions; attributes that hold layers or variables in other ways are refused.

    Args:
        layer: The layer to change.
        as_is: A layer made from its config.
        changed: One made from the changed config; its parts are used.
        path: The path of the layer.
        fit: Computes the values of weights whose shape or dtype changes.
        quantized: Allow changes of quantized weights: the caller sets their values.
    """
    successors: dict[int, Any] = {}
    waiting = [(layer, as_is, changed, path)]
    seen: set[int] = set()
    while waiting:
        ours, same, other, where = waiting.pop()
        if id(ours) in seen:  # an attribute and a list may hold the same layer
            continue
        seen.add(id(ours))
        inner = [layers.layers_by_position(one) for one in (ours, same, other)]
        shared = inner[0].keys() & inner[1].keys() & inner[2].keys()
        kept = {name for name in shared if type(inner[1][name]) is type(inner[2][name]) is type(inner[0][name])}
        if not quantized:
            _check_quantized(ours, other, where)
        successors |= _patch_one(ours, same, other, where, kept, fit)
        for name in sorted(kept):
            mine = inner[0][name]
            waiting.append((mine, inner[1][name], inner[2][name], f"{where}/{mine.name}"))
    return successors


def _patch_one(ours: Any, same: Any, other: Any, path: str, kept: set[str], fit: Fit) -> dict[int, Any]:
    layers.take_build_shapes(ours, other)
    successors = _patch_variables(ours, same, other, path, fit)
    mine = set(map(id, layers.own_variables(ours)))
    graph = _graph_attributes(same, other, path)
    before, after = (
        {name: value for name, value in layers.settings_of(one).items() if name not in graph} for one in (same, other)
    )
    with exchange.unlock(ours):
        for name in before.keys() - after.keys():
            if name in layers.settings_of(ours):
                layers.remove_attribute(ours, name)
        for name, value in after.items():
            if name in kept:
                continue
            if isinstance(value, keras.Variable):
                if id(value) in mine:  # a new one, which replaces nothing
                    layers.set_attribute(ours, name, value)
            elif name not in before or not is_same_setting(before[name], value):
                if isinstance(value, types.MethodType) and value.__self__ is other:
                    value = types.MethodType(value.__func__, ours)
                elif not isinstance(value, keras.Layer):
                    _check_plain(value, name, path)
                layers.set_attribute(ours, name, value)
    return successors


def _check_quantized(ours: Any, other: Any, path: str) -> None:
    """Refuse to reshape quantized weights: they depend on their scales, and may be packed two to a byte."""
    mode = quantization.mode_of(ours) or quantization.mode_of(other)
    if mode is None or mode == "float8":
        return
    held, made = ([(v.name, tuple(v.shape), str(v.dtype)) for v in layers.own_variables(one)] for one in (ours, other))
    if sorted(held) != sorted(made):
        changing = sorted({name for name, _, _ in set(held) ^ set(made)})
        raise weights_are_quantized(path, mode, found=f"weights that would have to change: {', '.join(changing)}")


def weights_are_quantized(path: str, mode: str, found: str | None = None) -> EditError:
    """Return the error for a layer whose quantized weights would have to change."""
    return EditError(
        f"Cannot change the weights of '{path}': it is quantized to {mode}.",
        found=found,
        fix="first make it float, model = ramet.edit(model, e.cast('float32')); quantize again at the end.",
        path=path,
    )


def _graph_attributes(same: Any, other: Any, path: str) -> tuple[str, ...]:
    """Return the attributes of a functional model or an input that hold tensors and calls, which the layer keeps.

    A setting that changes the calls inside a layer, or the shapes between them, is refused.
    """
    if isinstance(same, keras.layers.InputLayer) and (same.batch_shape, same.dtype) == (other.batch_shape, other.dtype):
        return (names.INPUT_TENSOR,)
    if not isinstance(same, keras.Function):
        return ()
    if calls_as_text(same) != calls_as_text(other) or _shapes(same) != _shapes(other):
        raise _changes_too_much(path, "the calls inside it")
    return (*rewire.GRAPH_ATTRIBUTES, "output_names")


def _shapes(function: Any) -> list[Any]:
    return [[tuple(tensor.shape) for tensor in call.outputs] for call in structure.calls_of(function)]


def _check_plain(value: Any, name: str, path: str) -> None:
    """Refuse a value that holds layers or variables, as a list or a function may: those of the layer would be lost."""
    if any(isinstance(item, keras.Layer | keras.Variable) for item in _contents(value)):
        raise _changes_too_much(path, f"the layers or variables in its attribute '{name}'")


def _changes_too_much(path: str, what: str) -> EditError:
    return EditError(
        f"Cannot update '{path}': this setting changes {what}.",
        fix="replace the layer by one that has the setting.",
        path=path,
    )


def _patch_variables(ours: Any, same: Any, other: Any, path: str, fit: Fit) -> dict[int, Any]:
    """Keep variables that do not change; replace the others by those of the changed layer, with the old values."""
    held = layers.own_variables(ours)
    references = layers.own_variables(same)
    if sorted(layers.variable_keys(held)) != sorted(layers.variable_keys(references)):
        raise EditError(
            f"Cannot update '{path}': a layer made from its config has other variables.",
            expected=", ".join(v.name for v in held) or "none",
            found=", ".join(v.name for v in references) or "none",
            fix="replace the layer instead.",
            path=path,
        )
    # A layer that was quantized has its variables in another order than one that is created quantized.
    by_key = dict(zip(layers.variable_keys(references), references, strict=True))
    old_by_key = {key: (mine, by_key[key]) for key, mine in zip(layers.variable_keys(held), held, strict=True)}
    successors: dict[int, Any] = {}
    order = []
    made = layers.own_variables(other)
    for key, new in zip(layers.variable_keys(made), made, strict=True):
        mine, reference = old_by_key.pop(key, (None, None))
        if mine is None:
            layers.adopt_variable(ours, new)
            order.append(new)
        elif (tuple(new.shape), new.dtype) == (tuple(reference.shape), reference.dtype):
            layers.patch_variable(mine, reference, new)
            order.append(mine)
        else:
            value = fit(mine, new, f"{path}/{new.name}")
            new.assign(keras.ops.cast(value, new.dtype))
            new.trainable = mine.trainable
            layers.set_path_like(new, mine)
            exchange.exchange_parts(ours, {id(mine): new})
            successors[id(new)] = mine
            order.append(new)
    for gone, _ in old_by_key.values():
        layers.untrack(ours, gone)
    layers.order_variables(ours, order)
    return successors


def made_twice(
    layer: Any, path: str, settings: dict[str, Any], shapes: dict[str, Any] | None = None, *, seed: int = 0
) -> tuple[Any, Any]:
    """Make a layer from its config twice, as it is and with some settings changed; both built if the layer is.

    Args:
        layer: The layer. It is only read.
        path: Its path, for messages.
        settings: The changes to the config of the second.
        shapes: The build config of the second, if it changes, too.
        seed: The seed of random values in both.
    """

    def make(settings: dict[str, Any], shapes: dict[str, Any] | None) -> Any:
        # A new config each time: some classes take it apart.
        config = {**layer.get_config(), **settings}
        # Layers inside a wrapper carry the shapes they were built with, and would be built with these again.
        made = type(layer).from_config(config if shapes is None else _without_shapes(config))
        build_like(made, layer, shapes)
        if "lora_rank" not in settings:
            _enable_lora_inside(made, layer)
        return made

    with (
        warnings.catch_warnings(),
        keep_name_counters(),
        keras.saving.custom_object_scope({type(layer).__name__: type(layer)}),
    ):
        warnings.simplefilter("ignore")  # about layers that nobody else will ever see
        try:
            with draw_from_seed(seed):
                as_is = make({}, None)
        except Exception as error:
            raise EditError(
                f"Cannot update '{path}': its class {type(layer).__name__} cannot be made from its config.",
                found=_innermost(error),
                fix=f"give {type(layer).__name__} a get_config() that contains every argument, or replace the layer.",
                path=path,
            ) from error
        try:
            # Serialized objects in settings may come from a recipe.
            safely = safe_mode() if any(objects_in(settings)) else contextlib.nullcontext()
            with safely, draw_from_seed(seed):
                changed = make(settings, shapes)
        except Exception as error:
            values = ", ".join(f"{name}={value!r}" for name, value in settings.items())
            raise EditError(
                f"Cannot update '{path}' with {values or 'another shape'}: {type(layer).__name__} refuses it.",
                found=_innermost(error),
                fix="pass a value that the constructor accepts.",
                path=path,
            ) from error
    return as_is, changed


def _enable_lora_inside(made: Any, layer: Any) -> None:
    """Enable LoRA where a layer has it: a class that creates its parts does not describe them in its config."""
    for _, ours, theirs in paired_layers(layer, made, ""):
        if lora.is_enabled(ours) and not lora.is_enabled(theirs) and lora.objection(theirs) is None:
            lora.enable(theirs, ours.lora_rank, ours.lora_alpha if lora.takes_alpha(theirs) else None)


def paired_layers(one: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield each layer inside a layer with its counterpart inside another one, and its path; both layers themselves first."""
    waiting = [(path, one, other)]
    seen: set[int] = set()
    while waiting:
        where, ours, theirs = waiting.pop(0)
        if id(ours) in seen:  # an attribute and a list may hold the same layer
            continue
        seen.add(id(ours))
        yield where, ours, theirs
        inner, outer = layers.layers_by_position(ours), layers.layers_by_position(theirs)
        waiting += [(f"{where}/{inner[key].name}", inner[key], outer[key]) for key in inner if key in outer]


def _without_shapes(config: Any) -> Any:
    """Return a config without the build configs of layers inside. Configs nest a few levels deep: this may recurse."""
    if isinstance(config, dict):
        serialized = {"class_name", "config"} <= config.keys()
        return {
            key: _without_shapes(value) for key, value in config.items() if not (serialized and key == "build_config")
        }
    if type(config) in (list, tuple):
        return type(config)(map(_without_shapes, config))
    return config


def _innermost(error: BaseException) -> str:
    """Return the error that a class raised, in one line: Keras repeats it at the end of a long message."""
    while str(error).startswith("Error when deserializing class") and error.__context__ is not None:
        error = error.__context__
    return described(error)


# Comparing settings by structure: many classes of values have no equality.

_ATOMS = (int, float, complex, str, bytes, bool, type(None), type, range)
_NOT_ENTERED = (keras.Layer, keras.Variable, keras.random.SeedGenerator, types.ModuleType, types.CodeType)


def is_same_setting(first: Any, second: Any) -> bool:
    """Return whether attributes of two layers of one class have the same value. Layers inside are not compared."""
    waiting = [(first, second)]
    seen: set[tuple[int, int]] = set()
    while waiting:
        a, b = waiting.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        seen.add((id(a), id(b)))
        if type(a) is not type(b):
            return False
        if isinstance(a, keras.Layer | keras.Variable):
            continue
        if isinstance(a, keras.random.SeedGenerator):
            waiting.append((a.get_config()["seed"], b.get_config()["seed"]))
        elif isinstance(a, _ATOMS) and not (a == b or (a != a and b != b)):  # noqa: PLR0124  # NaN
            return False
        elif isinstance(a, np.ndarray) or keras.ops.is_tensor(a):
            if not np.array_equal(keras.ops.convert_to_numpy(a), keras.ops.convert_to_numpy(b)):
                return False
        else:
            ours, theirs = _parts(a), _parts(b)
            if ours is None or theirs is None:
                if a != b:
                    return False
            elif [key for key, _ in ours] != [key for key, _ in theirs]:
                return False
            else:
                waiting.extend((x, y) for (_, x), (_, y) in zip(ours, theirs, strict=True))
    return True


def _contents(value: Any) -> list[Any]:
    """Return everything inside a value, through containers, closures and attributes; layers are not entered."""
    found: list[Any] = []
    waiting, seen = [value], {id(value)}
    while waiting:
        item = waiting.pop()
        found.append(item)
        if isinstance(item, (*_ATOMS, *_NOT_ENTERED)) or keras.ops.is_tensor(item):
            continue
        parts = [part for pair in _parts(item) or () for part in pair]
        if isinstance(item, types.MethodType):
            parts.append(item.__self__)
        new = [part for part in parts if id(part) not in seen]
        seen.update(map(id, new))
        waiting.extend(new)
    return found


def _parts(value: Any) -> list[tuple[Any, Any]] | None:
    """Return the parts of an object by name or position; None for one that can only be compared as a whole."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list | tuple):
        return list(enumerate(value))
    if isinstance(value, set | frozenset):
        return [(item, None) for item in sorted(value, key=repr)]
    if isinstance(value, functools.partial):
        return [("function", value.func), ("args", value.args), ("keywords", value.keywords)]
    if callable(value) and hasattr(value, "__code__"):
        cells = [cell_content(cell) for cell in value.__closure__ or ()]
        return [("code", value.__code__), ("defaults", value.__defaults__), ("closure", cells)]
    if hasattr(value, "__func__") and hasattr(value, "__self__"):
        return [("function", value.__func__)]
    attributes = getattr(value, "__dict__", None)
    return list(attributes.items()) if attributes else None
