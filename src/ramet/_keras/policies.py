"""Dtype policies, which Keras changes while it reads them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import keras

_POLICIES = "_policy_map"


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
