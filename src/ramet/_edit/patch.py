"""A layer changed in place into what another setting would have made of it.

Two layers are made from the config, as it is and changed. What differs between them is what the setting decides, and only
that is taken over: whatever else the layer is and holds, it stays, variables and flags first of all.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import keras

from ramet._edit.alike import alike, reached
from ramet._edit.round_trip import calls_as_text
from ramet._keras import exchange, layers, names, quantization, rewire, structure
from ramet._weights import adapt
from ramet.errors import EditError

# Makes the value of a new variable: the old variable, the new one, and where it is.
Fit = Callable[[Any, Any, str], Any]


def patch(
    layer: Any,
    as_it_is: Any,
    changed: Any,
    path: str,
    *,
    policy: str = "refuse",
    fit: Fit | None = None,
    quantised: bool = False,
) -> dict[int, Any]:
    """Change a layer in place. Returns, by the id of each new variable, the old one that it stands for.

    Args:
        layer: The layer to change.
        as_it_is: A layer made from its config.
        changed: One made from the changed config; its parts are used.
        path: Where the layer stands.
        policy: What happens to weights whose shape changes.
        fit: Makes their values instead, where another shape alone does not say how.
        quantised: Whether quantised weights may change, too: the caller gives them their values.
    """
    fit = fit or (lambda old, new, where: _fitted(old, new, policy, where))
    successors: dict[int, Any] = {}
    waiting = [(layer, as_it_is, changed, path)]
    seen: set[int] = set()
    while waiting:
        ours, same, other, where = waiting.pop()
        if id(ours) in seen:  # a layer may stand in an attribute and in a list, too
            continue
        seen.add(id(ours))
        inner = [layers.layers_by_place(one) for one in (ours, same, other)]
        shared = inner[0].keys() & inner[1].keys() & inner[2].keys()
        kept = {name for name in shared if type(inner[1][name]) is type(inner[2][name]) is type(inner[0][name])}
        if not quantised:
            _check_quantised(ours, other, where)
        successors |= _patch_one(ours, same, other, where, kept, fit)
        waiting.extend(
            (inner[0][name], inner[1][name], inner[2][name], f"{where}/{inner[0][name].name}") for name in sorted(kept)
        )
    return successors


def _patch_one(ours: Any, same: Any, other: Any, path: str, kept: set[str], fit: Fit) -> dict[int, Any]:
    layers.take_build_shapes(ours, other)
    successors = _patch_variables(ours, same, other, path, fit)
    mine = set(map(id, layers.own_variables(ours)))
    before, after = layers.settings_of(same), layers.settings_of(other)
    graph = _graph_attributes(same, other, path)
    before, after = ({name: one[name] for name in one if name not in graph} for one in (before, after))
    with exchange.unlocked(ours):
        for name in before.keys() - after.keys():
            if name in layers.settings_of(ours):
                layers.let_go(ours, name)
        for name, value in after.items():
            if name in kept:
                continue
            if isinstance(value, keras.Variable):
                if id(value) in mine:  # a new one, which nothing of the layer stands for
                    layers.put(ours, name, value)
            elif name not in before or not alike(before[name], value):
                if isinstance(value, types.MethodType) and value.__self__ is other:
                    value = types.MethodType(value.__func__, ours)
                elif not isinstance(value, keras.Layer):
                    _check_plain(value, name, path)
                layers.put(ours, name, value)
    return successors


def _check_quantised(ours: Any, other: Any, path: str) -> None:
    """Refuse other shapes for weights that mean nothing without their scales, and may be packed two to a byte."""
    mode = quantization.mode_of(ours) or quantization.mode_of(other)
    if mode is None or mode == "float8":
        return
    held, made = ([(v.name, tuple(v.shape), str(v.dtype)) for v in layers.own_variables(one)] for one in (ours, other))
    if sorted(held) != sorted(made):
        raise EditError(
            f"Cannot change the weights of '{path}': it is quantised to {mode}.",
            found=f"weights that would have to change: {', '.join(sorted({name for name, _, _ in set(held) ^ set(made)}))}",
            fix="first make it float, model = ramet.edit(model, e.cast('float32')); quantise again at the end.",
            path=path,
        )


def _graph_attributes(same: Any, other: Any, path: str) -> tuple[str, ...]:
    """The attributes of a functional model or an input that hold tensors and calls: two models never have the same.

    A layer keeps its own. A setting that changes the calls inside it, or the shapes between them, is refused.
    """
    if isinstance(same, keras.layers.InputLayer) and (same.batch_shape, same.dtype) == (other.batch_shape, other.dtype):
        return (names.INPUT_TENSOR,)
    if not isinstance(same, keras.Function):
        return ()
    if calls_as_text(same) != calls_as_text(other) or _shapes(same) != _shapes(other):
        raise EditError(
            f"Cannot update '{path}': with this setting it has other calls.",
            fix="replace the layer by one that has the setting.",
            path=path,
        )
    return (*rewire.GRAPH_ATTRIBUTES, "output_names")


def _shapes(function: Any) -> list[Any]:
    return [[tuple(tensor.shape) for tensor in call.outputs] for call in structure.calls_of(function)]


def _check_plain(value: Any, name: str, path: str) -> None:
    """What holds layers or variables, as a list or a function may, is not taken over: those of the layer would be lost."""
    if any(isinstance(item, keras.Layer | keras.Variable) for item in reached(value)):
        raise EditError(
            f"Cannot update '{path}': with this setting its attribute '{name}' holds other layers or variables.",
            fix="replace the layer by one that has the setting.",
            path=path,
        )


def _patch_variables(ours: Any, same: Any, other: Any, path: str, fit: Fit) -> dict[int, Any]:
    """The variables: old ones where nothing about them differs, the changed layer's with the old values elsewhere."""
    held = layers.own_variables(ours)
    references = layers.own_variables(same)
    if sorted(layers.keys_of(held)) != sorted(layers.keys_of(references)):
        raise EditError(
            f"Cannot update '{path}': made again from its config, it has other variables.",
            expected=", ".join(v.name for v in held) or "none",
            found=", ".join(v.name for v in references) or "none",
            fix="replace the layer instead.",
            path=path,
        )
    # What was quantised has its variables in another order than what is made quantised.
    by_key = dict(zip(layers.keys_of(references), references, strict=True))
    keys = layers.keys_of(held)
    old_by_key = {key: (mine, by_key[key]) for key, mine in zip(keys, held, strict=True)}
    successors: dict[int, Any] = {}
    order = []
    made = layers.own_variables(other)
    for key, new in zip(layers.keys_of(made), made, strict=True):
        mine, reference = old_by_key.pop(key, (None, None))
        if mine is None:
            layers.adopt(ours, new)
            order.append(new)
        elif (tuple(new.shape), new.dtype) == (tuple(reference.shape), reference.dtype):
            layers.patch_variable(mine, reference, new)
            order.append(mine)
        else:
            value = fit(mine, new, f"{path}/{new.name}")
            new.assign(keras.ops.cast(value, new.dtype))
            new.trainable = mine.trainable
            layers.set_path_like(new, mine)
            exchange.exchange(ours, {id(mine): new})
            successors[id(new)] = mine
            order.append(new)
    for gone, _ in old_by_key.values():
        layers.drop(ours, gone)
    layers.order_variables(ours, order)
    return successors


def _fitted(old: Any, new: Any, policy: str, path: str) -> Any:
    fresh = keras.ops.convert_to_numpy(new)
    return adapt(keras.ops.convert_to_numpy(old), tuple(new.shape), policy, fresh=fresh, path=path)
