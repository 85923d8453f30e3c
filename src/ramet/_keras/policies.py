"""Dtype policies, which Keras changes while it reads them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import keras

_POLICIES = "_policy_map"
_POLICY = "_dtype_policy"


@contextlib.contextmanager
def policies_kept(values: Iterable[Any]) -> Iterator[None]:
    """Maps of policies may be asked for their config inside: Keras blanks the names of the policies in them for that."""
    maps = [value for value in values if isinstance(value, keras.dtype_policies.DTypePolicyMap)]
    kept = [(policy, policy.__dict__.copy()) for one in maps for policy in getattr(one, _POLICIES).values()]
    try:
        yield
    finally:
        for policy, attributes in kept:
            policy.__dict__.update(attributes)


def effective(layer: Any) -> Any:
    """The policy that a layer computes with; a map of policies is asked by the layer's path, as Keras does."""
    policy = getattr(layer, _POLICY, None)
    if isinstance(policy, keras.dtype_policies.DTypePolicyMap):
        return policy[layer.path] if layer.path else policy.default_policy
    return policy


def parts_of(policy: Any) -> list[Any]:
    """The policies that a policy consists of: those of a map with its default, or the policy alone."""
    if isinstance(policy, keras.dtype_policies.DTypePolicyMap):
        return [policy.default_policy, *getattr(policy, _POLICIES).values()]
    return [policy]


def put_policy(layer: Any, policy: Any) -> None:
    """Give a layer a policy without changing its variables, as setting `dtype_policy` would."""
    layer.__dict__[_POLICY] = policy


def held_policy(layer: Any) -> Any:
    """The policy or map of policies that a layer holds."""
    return layer.__dict__[_POLICY]
