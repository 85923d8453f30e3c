"""The parts of a layer by kind (settings, variables, layers), and changes to them."""

from __future__ import annotations

import re
from typing import Any

import keras

from ramet._keras import names, structure

# The names that Keras gives to unnamed variables.
_NUMBERED = re.compile(r"variable(_\d+)?")
# Bookkeeping that every layer has, and what is handled elsewhere.
_BOOKKEEPING = frozenset(
    {
        *(names.INBOUND, names.OUTBOUND, names.TRACKER, names.LAYERS, names.OWN_TRAINABLE, names.OWN_NON_TRAINABLE),
        *(names.SEED_GENERATORS, names.LOCK, names.PATH, names.PARENT_PATH, names.LOSS_IDS, names.BUILD_SHAPES),
        *("_losses", "_losses_override", "_metrics", "_called", "_trainable", "_tracked"),
        *("_saved_model_inputs_spec", "_saved_model_arg_spec", "build", "quantize", "built", "name", "training"),
        # torch's own attributes of a module.
        *("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "_backward_pre_hooks"),
        *("_backward_hooks", "_is_full_backward_hook", "_forward_hooks", "_forward_hooks_with_kwargs"),
        *("_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs"),
        *("_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks"),
        "_load_state_dict_post_hooks",
        # TensorFlow's own attributes of a trackable. The prefix `_self_` is not enough: users have `_self_attention_layer`.
        *(names.TF_DEPENDENCIES, names.TF_DEPENDENCY_NAMES),
        *("_self_name_based_restores", "_self_saveable_object_factories", "_self_setattr_tracking"),
        *("_self_unconditional_deferred_dependencies", "_self_update_uid"),
    }
)
_TENSORFLOW_PREFIX = "_obj_reference_counts"
# Objects that a layer tracks when they are set as attributes.
_PARTS = (keras.Layer, keras.random.SeedGenerator)


def settings_of(layer: Any) -> dict[str, Any]:
    """Return the attributes of a layer without bookkeeping.

    On torch, the layers inside are not in `__dict__` with the other attributes.
    """
    found = dict(layer.__dict__)
    found |= {name: part for name, part in (found.get("_modules") or {}).items() if name != names.TORCH_PARAMS}
    return {
        name: value
        for name, value in found.items()
        if name not in _BOOKKEEPING and not name.startswith(_TENSORFLOW_PREFIX)
    }


def layers_by_position(layer: Any) -> dict[str, Any]:
    """Return the layers in attributes, in lists and dicts there, and in the call graph, by their positions."""
    waiting = list(settings_of(layer).items())
    if isinstance(layer, keras.Sequential) or structure.function_of(layer) is not None:
        waiting += [(f"[{number}]", part) for number, part in enumerate(structure.ops_inside(layer))]
    found: dict[str, Any] = {}
    seen: set[int] = set()
    while waiting:
        position, value = waiting.pop()
        if isinstance(value, keras.Layer):
            found[position] = value
        elif isinstance(value, list | tuple | dict) and id(value) not in seen:
            seen.add(id(value))
            parts = value.items() if isinstance(value, dict) else enumerate(value)
            waiting.extend((f"{position}[{key!r}]", part) for key, part in parts)
    return found


def own_variables(layer: Any) -> list[Any]:
    """Return the weights that a layer owns itself."""
    return [variable for variable, is_weight in structure.variables_of(layer) if is_weight]


def set_attribute(layer: Any, name: str, value: Any) -> None:
    """Set an attribute of a layer, even if Keras would not allow it. A part that it replaces is no longer tracked."""
    if isinstance(settings_of(layer).get(name), _PARTS):
        remove_attribute(layer, name)
    try:
        setattr(layer, name, value)
    except AttributeError:
        layer.__dict__[name] = value


def remove_attribute(layer: Any, name: str) -> None:
    """Remove an attribute. A layer or random generator that no other attribute holds is no longer tracked."""
    found = settings_of(layer)
    part = found.pop(name)
    delattr(layer, name)
    if isinstance(part, _PARTS) and not any(other is part for other in found.values()):
        untrack(layer, part)


def adopt_variable(layer: Any, variable: Any) -> None:
    """Track a variable that another layer of the same class made, under the same attribute."""
    prefix = layer.path or layer.name
    variable.__dict__[names.PATH] = f"{prefix}/{variable.name}"
    variable.trainable = variable.trainable and layer.trainable
    _track(layer, variable, "trainable_variables" if variable.trainable else "non_trainable_variables")


def _track(layer: Any, variable: Any, store: str) -> None:
    tracker = layer.__dict__[names.TRACKER]
    getattr(tracker, names.STORES)[store][1].append(variable)
    getattr(tracker, names.STORED_IDS)[store].add(id(variable))


def untrack(layer: Any, part: Any) -> None:
    """Stop tracking a variable, layer or generator, whether or not the tracker lists its id."""
    tracker = layer.__dict__[names.TRACKER]
    for store, (_, items) in getattr(tracker, names.STORES).items():
        items[:] = [item for item in items if item is not part]
        getattr(tracker, names.STORED_IDS)[store].discard(id(part))


def order_variables(layer: Any, order: list[Any]) -> None:
    """Sort the tracked variables into this order, each in its own list."""
    positions = {id(variable): number for number, variable in enumerate(order)}
    tracker = layer.__dict__[names.TRACKER]
    for store in ("trainable_variables", "non_trainable_variables"):
        items = getattr(tracker, names.STORES)[store][1]
        items[:] = sorted(items, key=lambda variable: positions.get(id(variable), len(positions)))


def own_trainable(layer: Any) -> list[Any]:
    """Return the variables that `layer.trainable = ...` changes as well."""
    return list(getattr(layer.__dict__[names.TRACKER], names.STORES)["trainable_variables"][1])


def list_as_trainable(layer: Any, variable: Any, order: list[str]) -> None:
    """Track a variable among those that the layer's flag applies to, sorted by these names."""
    untrack(layer, variable)
    _track(layer, variable, "trainable_variables")
    held = own_variables(layer)
    known = dict(zip(variable_keys(held), held, strict=True))
    order_variables(layer, [known[name] for name in order if name in known])


def set_path_like(variable: Any, other: Any) -> None:
    """Give a variable the name and path of another."""
    variable.__dict__[names.NAME] = other.name
    variable.__dict__[names.PATH] = other.path


def take_build_shapes(layer: Any, other: Any) -> None:
    """Copy the build shapes of another layer: a file builds the layer with them before it reads weights."""
    if names.BUILD_SHAPES in layer.__dict__ and names.BUILD_SHAPES in other.__dict__:
        layer.__dict__[names.BUILD_SHAPES] = other.__dict__[names.BUILD_SHAPES]


def variable_keys(variables: list[Any]) -> list[str]:
    """Return the names of a layer's variables; for names that Keras numbers across the process, the position."""
    return [
        f"variable {position}" if _NUMBERED.fullmatch(variable.name) else variable.name
        for position, variable in enumerate(variables)
    ]


def patch_variable(variable: Any, before: Any, after: Any) -> None:
    """Apply the difference between two other variables, such as a regularizer or a constraint."""
    for name in ("regularizer", "constraint", "autocast", "aggregation"):
        old, new = (getattr(one, name, None) for one in (before, after))
        if _config_of(old) != _config_of(new):
            setattr(variable, name, new)


def _config_of(value: Any) -> Any:
    return (type(value), value.get_config()) if hasattr(value, "get_config") else value
