"""Dtype policies, and maps of policies by the paths of layers."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import keras

_POLICIES = "_policy_map"
_POLICY = "_dtype_policy"


@contextlib.contextmanager
def keep_policies(values: Iterable[Any]) -> Iterator[None]:
    """Restore the names of policies in maps, which Keras blanks while it makes the config of a map."""
    maps = [value for value in values if isinstance(value, keras.dtype_policies.DTypePolicyMap)]
    kept = [(policy, policy.__dict__.copy()) for one in maps for policy in getattr(one, _POLICIES).values()]
    try:
        yield
    finally:
        for policy, attributes in kept:
            policy.__dict__.update(attributes)


def effective_policy(layer: Any) -> Any:
    """Return the policy that a layer computes with; a map of policies is looked up by the layer's path, as in Keras."""
    policy = getattr(layer, _POLICY, None)
    if isinstance(policy, keras.dtype_policies.DTypePolicyMap):
        return policy[layer.path] if layer.path else policy.default_policy
    return policy


def parts_of(policy: Any) -> list[Any]:
    """Return the policies that a policy consists of: those of a map with its default, or the policy alone."""
    if isinstance(policy, keras.dtype_policies.DTypePolicyMap):
        return [policy.default_policy, *getattr(policy, _POLICIES).values()]
    return [policy]


def unavailable(policy: Any) -> str | None:
    """Return a dtype of a policy that the backend would replace, or None.

    JAX replaces 64-bit dtypes unless x64 is enabled.
    """
    names = dict.fromkeys(name for one in parts_of(policy) for name in (one.variable_dtype, one.compute_dtype) if name)
    with warnings.catch_warnings(action="ignore"):
        made = {name: keras.backend.standardize_dtype(keras.ops.zeros((), name).dtype) for name in names}
    return next((name for name, found in made.items() if found != name), None)


def is_map(policy: Any) -> bool:
    """Return whether a policy is a map of policies by the paths of layers."""
    return isinstance(policy, keras.dtype_policies.DTypePolicyMap)


def look_up(policy: Any, path: str) -> Any:
    """Return the policy of a path in a map, or None if several patterns match."""
    try:
        return policy[path]
    except ValueError:  # several patterns match
        return None


def moved_map(policy: Any, moved: list[tuple[str, str]]) -> Any:
    """Return a map whose keys follow layers to other paths. Keys are paths, or patterns that begin with one.

    Args:
        policy: The map.
        moved: Old and new path of each layer; the same old path may occur several times.
    """
    longest = sorted(moved, key=lambda one: -len(one[0]))
    found: dict[str, Any] = {}
    for key, value in getattr(policy, _POLICIES).items():
        exact = [new for old, new in moved if old == key]
        begins = [new + key.removeprefix(old) for old, new in longest if key.startswith(f"{old}/")][:1]
        found |= dict.fromkeys(exact or begins or [key], value)
    return keras.dtype_policies.DTypePolicyMap(policy.default_policy, found)


def add_paths(layer: Any, moved: list[tuple[str, str]]) -> None:
    """Give the new paths of layers the policies of the old ones, in the map that a layer holds, if any."""
    held = layer.__dict__.get(_POLICY)
    if is_map(held):
        found = getattr(held, _POLICIES)
        found |= {key: value for key, value in getattr(moved_map(held, moved), _POLICIES).items() if key not in found}


def put_policy(layer: Any, policy: Any) -> None:
    """Give a layer a policy without changing its variables, as setting `dtype_policy` would."""
    layer.__dict__[_POLICY] = policy


def held_policy(layer: Any) -> Any:
    """Return the policy or map of policies that a layer holds."""
    return layer.__dict__[_POLICY]
