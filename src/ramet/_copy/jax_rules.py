"""Copy rules for JAX: arrays and compiled functions.

Arrays are immutable, but Keras' train step donates the buffers of variables: two holders of one buffer would break on
the first `fit`. So arrays are copied, those of variables in batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from ramet._copy.copier import Copier
from ramet._copy.functions import WrapperRule
from ramet._copy.rule import CopyRule

try:
    from jax._src.lib import xla_client

    _batched_copy = xla_client.batched_copy_array_to_devices_with_sharding
    _ALWAYS_COPY = xla_client.ArrayCopySemantics.ALWAYS_COPY
except (ImportError, AttributeError):  # missing in this version of JAX
    _batched_copy = None


def copy_arrays(arrays: Sequence[Any]) -> list[Any]:
    """Return copies with new buffers: same bits, dtype, sharding, and commitment to devices."""
    copies = _copy_directly(arrays) or jax.device_put(list(arrays), may_alias=False)
    return [new if _is_alike(old, new) else old.copy() for old, new in zip(arrays, copies, strict=True)]


def _copy_directly(arrays: Sequence[Any]) -> list[Any] | None:
    """Do what `device_put` does in the end, or return None if that is impossible.

    Its checks take ten times as long as the copy. As in
    `device_put`, this works only for arrays that this process holds completely.
    """
    if _batched_copy is None or not all(array.is_fully_addressable for array in arrays):
        return None
    shardings = [array.sharding for array in arrays]
    try:
        devices = [sharding._internal_device_list.addressable_device_list for sharding in shardings]
        return list(_batched_copy(list(arrays), devices, shardings, [_ALWAYS_COPY] * len(arrays)))
    except (AttributeError, TypeError):  # a version of JAX with other internals
        return None


def _is_alike(old: Any, new: Any) -> bool:
    # Checks exactly the properties that `device_put` is relied on to keep; see tests/copy/test_backend_jax.py.
    return bool(
        (old.sharding is new.sharding or old.sharding == new.sharding)
        and old.committed == new.committed
        and old.weak_type == new.weak_type
    )


class JaxArrayRule(CopyRule):
    """An array. Values of variables wait and are copied in batches (`is_batched`)."""

    is_batched = True

    def copy(self, old: Any, copier: Copier) -> Any:
        if isinstance(old, jax.core.Tracer):
            return old  # a dead tracer, which raises if it is used
        if old.is_deleted():
            copier.refuse(old, "its buffer was deleted or donated", "remove the array from the model")
        new = copier.memo[id(old)] = (
            old.copy() if jax.dtypes.issubdtype(old.dtype, jax.dtypes.extended) else copy_arrays([old])[0]
        )
        return new


class JitFunctionRule(WrapperRule):
    """A function compiled by `jax.jit`: shared, or compiled again around the copied function."""

    def wrapped(self, old: Any) -> Any:
        return getattr(old, "__wrapped__", None)

    def wrap(self, old: Any, function: Any, copier: Copier) -> Any:
        return jax.jit(function, **self._options(old, copier))

    def _options(self, old: Any, copier: Copier) -> dict[str, Any]:
        state = old.__getstate__()
        keys = state["global_cache_key"]
        if keys.device is not None or keys.backend is not None or keys.compiler_options_kvs:
            copier.refuse(
                old,
                "a compiled function with devices or compiler options cannot be compiled again",
                "share it, or compile it when it is needed",
            )
        return {
            "static_argnums": tuple(state["static_argnums"]),
            "static_argnames": tuple(state["static_argnames"]),
            "donate_argnums": tuple(keys.donate_argnums),
            "donate_argnames": tuple(keys.donate_argnames),
        }


def jax_rule(cls: type) -> CopyRule | None:
    """Return the copy rule for a class of JAX, or None."""
    if issubclass(cls, jax.core.Tracer):
        return None
    if issubclass(cls, jax.Array):
        return JaxArrayRule()
    if cls.__name__ == "PjitFunction" and cls.__module__.startswith("jaxlib"):
        return JitFunctionRule()
    return None
