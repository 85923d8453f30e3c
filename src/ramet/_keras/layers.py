"""The parts of a layer by kind: its settings, its variables, the layers it holds; and changing them."""

from __future__ import annotations

import re
from typing import Any

import keras

from ramet._keras import names, structure

# Names that Keras gives to variables without one.
_NUMBERED = re.compile(r"variable(_\d+)?")
# What every layer holds for the bookkeeping of Keras or the backend, and what is said elsewhere.
_BOOKKEEPING = frozenset(
    {
        names.INBOUND,
        names.OUTBOUND,
        names.TRACKER,
        names.LAYERS,
        names.OWN_TRAINABLE,
        names.OWN_NON_TRAINABLE,
        names.SEED_GENERATORS,
        names.LOCK,
        names.PATH,
        names.PARENT_PATH,
        names.LOSS_IDS,
        "_losses",
        "_losses_override",
        "_metrics",
        "_called",
        "_trainable",
        names.BUILD_SHAPES,
        "_tracked",
        "_saved_model_inputs_spec",
        "_saved_model_arg_spec",
        "build",
        "quantize",
        "built",
        "name",
        "training",
    }
)
# torch's own attributes of a module.
_TORCH = frozenset(
    {
        "_parameters",
        "_buffers",
        "_modules",
        "_non_persistent_buffers_set",
        "_backward_pre_hooks",
        "_backward_hooks",
        "_is_full_backward_hook",
        "_forward_hooks",
        "_forward_hooks_with_kwargs",
        "_forward_hooks_always_called",
        "_forward_pre_hooks",
        "_forward_pre_hooks_with_kwargs",
        "_state_dict_hooks",
        "_state_dict_pre_hooks",
        "_load_state_dict_pre_hooks",
        "_load_state_dict_post_hooks",
    }
)
# TensorFlow's own attributes of a trackable. Not all that begins with `_self_` is one: think of `_self_attention_layer`.
_TENSORFLOW = frozenset(
    {
        "_self_name_based_restores",
        "_self_saveable_object_factories",
        "_self_setattr_tracking",
        names.TF_DEPENDENCIES,
        "_self_unconditional_deferred_dependencies",
        names.TF_DEPENDENCY_NAMES,
        "_self_update_uid",
    }
)
_TENSORFLOW_PREFIX = "_obj_reference_counts"


# What a layer lists among its parts when it is set as an attribute.
_PARTS = (keras.Layer, keras.random.SeedGenerator)


def settings_of(layer: Any) -> dict[str, Any]:
    """The attributes of a layer that are no bookkeeping. On torch, layers it holds stand apart from the others."""
    found = dict(layer.__dict__)
    found |= {name: part for name, part in (found.get("_modules") or {}).items() if name != names.TORCH_PARAMS}
    return {
        name: value
        for name, value in found.items()
        if name not in _BOOKKEEPING
        and name not in _TORCH
        and name not in _TENSORFLOW
        and not name.startswith(_TENSORFLOW_PREFIX)
    }


def layers_by_place(layer: Any) -> dict[str, Any]:
    """The layers that a layer holds in attributes, in lists and dicts there, and in its call graph, by their places."""
    waiting = list(settings_of(layer).items())
    if isinstance(layer, keras.Sequential) or structure.function_of(layer) is not None:
        waiting += [(f"[{number}]", part) for number, part in enumerate(structure.inside(layer))]
    found: dict[str, Any] = {}
    seen: set[int] = set()
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, keras.Layer):
            found[place] = value
        elif isinstance(value, list | tuple | dict) and id(value) not in seen:
            seen.add(id(value))
            parts = value.items() if isinstance(value, dict) else enumerate(value)
            waiting.extend((f"{place}[{key!r}]", part) for key, part in parts)
    return found


def own_variables(layer: Any) -> list[Any]:
    """The weights a layer owns itself."""
    return [variable for variable, is_weight in structure.variables_of(layer) if is_weight]


def put(layer: Any, name: str, value: Any) -> None:
    """Set an attribute of a layer, whether Keras would let it be set or not; a part that stood there is let go."""
    if isinstance(settings_of(layer).get(name), _PARTS):
        let_go(layer, name)
    try:
        setattr(layer, name, value)
    except AttributeError:
        layer.__dict__[name] = value


def let_go(layer: Any, name: str) -> None:
    """Without an attribute; a layer or random generator that no other attribute holds is not listed any more, either."""
    found = settings_of(layer)
    part = found.pop(name)
    delattr(layer, name)
    if isinstance(part, _PARTS) and not any(other is part for other in found.values()):
        drop(layer, part)


def adopt(layer: Any, variable: Any) -> None:
    """Hold a variable that another layer of the same class made, under the same attribute."""
    prefix = layer.path or layer.name
    variable.__dict__[names.PATH] = f"{prefix}/{variable.name}"
    variable.trainable = variable.trainable and layer.trainable
    tracker = layer.__dict__[names.TRACKER]
    store = "trainable_variables" if variable.trainable else "non_trainable_variables"
    getattr(tracker, names.STORES)[store][1].append(variable)
    getattr(tracker, names.STORED_IDS)[store].add(id(variable))


def drop(layer: Any, part: Any) -> None:
    """Hold a variable, layer or generator no more, whether the tracker knows its id or not."""
    tracker = layer.__dict__[names.TRACKER]
    for store, (_, items) in getattr(tracker, names.STORES).items():
        items[:] = [item for item in items if item is not part]
        getattr(tracker, names.STORED_IDS)[store].discard(id(part))


def order_variables(layer: Any, order: list[Any]) -> None:
    """List the variables in this order, each in the list it is in."""
    place = {id(variable): number for number, variable in enumerate(order)}
    tracker = layer.__dict__[names.TRACKER]
    for store in ("trainable_variables", "non_trainable_variables"):
        items = getattr(tracker, names.STORES)[store][1]
        items[:] = sorted(items, key=lambda variable: place.get(id(variable), len(place)))


def own_trainable(layer: Any) -> list[Any]:
    """The variables that setting `layer.trainable` sets, too."""
    return list(getattr(layer.__dict__[names.TRACKER], names.STORES)["trainable_variables"][1])


def list_as_trainable(layer: Any, variable: Any, order: list[str]) -> None:
    """List a variable among those that the flag of the layer speaks of; all in the order of these names."""
    tracker = layer.__dict__[names.TRACKER]
    stores, ids = getattr(tracker, names.STORES), getattr(tracker, names.STORED_IDS)
    drop(layer, variable)
    stores["trainable_variables"][1].append(variable)
    ids["trainable_variables"].add(id(variable))
    held = own_variables(layer)
    known = dict(zip(keys_of(held), held, strict=True))
    order_variables(layer, [known[name] for name in order if name in known])


def set_path_like(variable: Any, other: Any) -> None:
    """Let a variable be called like another, and say that it stands there."""
    variable.__dict__[names.NAME] = other.name
    variable.__dict__[names.PATH] = other.path


def take_build_shapes(layer: Any, other: Any) -> None:
    """Let a layer say that it was built with the shapes of another: a file builds it with these before it reads weights."""
    if names.BUILD_SHAPES in layer.__dict__ and names.BUILD_SHAPES in other.__dict__:
        layer.__dict__[names.BUILD_SHAPES] = other.__dict__[names.BUILD_SHAPES]


def keys_of(variables: list[Any]) -> list[str]:
    """What the variables of a layer are called; those that Keras numbered through the process, by their places."""
    found = []
    for place, variable in enumerate(variables):
        found.append(f"variable {place}" if _NUMBERED.fullmatch(variable.name) else variable.name)
    return found


def patch_variable(variable: Any, before: Any, after: Any) -> None:
    """Take over what differs between two other variables: a regulariser, a constraint."""
    for name in ("regularizer", "constraint", "autocast", "aggregation"):
        old, new = (getattr(one, name, None) for one in (before, after))
        if _said(old) != _said(new):
            setattr(variable, name, new)


def _said(value: Any) -> Any:
    return (type(value), value.get_config()) if hasattr(value, "get_config") else value
