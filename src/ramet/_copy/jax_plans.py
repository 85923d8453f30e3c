"""JAX arrays, compiled functions and sparse arrays.

Arrays cannot change, but Keras' train step donates the buffers of variables: two holders of one buffer break on the
first `fit`. So arrays are copied, many in one call where they are variables' values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax

from ramet._copy.copier import Copier
from ramet._copy.functions import is_importable
from ramet._copy.plan import Assembly, Plan

try:
    from jax._src.lib import xla_client

    _batched_copy = xla_client.batched_copy_array_to_devices_with_sharding
    _ALWAYS_COPY = xla_client.ArrayCopySemantics.ALWAYS_COPY
except (ImportError, AttributeError):  # not there in this JAX
    _batched_copy = None


def copy_arrays(arrays: Sequence[Any]) -> list[Any]:
    """New arrays with new buffers: same bits, dtype, sharding, and committed to their devices only if they were."""
    copies = _copy_directly(arrays) or jax.device_put(list(arrays), may_alias=False)
    return [new if _is_alike(old, new) else old.copy() for old, new in zip(arrays, copies, strict=True)]


def _copy_directly(arrays: Sequence[Any]) -> list[Any] | None:
    """What `device_put` does in the end, without the checks before, which take ten times as long; None where it is not there.

    Only for arrays all of which this process holds, as `device_put` does it.
    """
    if _batched_copy is None or not all(array.is_fully_addressable for array in arrays):
        return None
    shardings = [array.sharding for array in arrays]
    try:
        devices = [sharding._internal_device_list.addressable_device_list for sharding in shardings]
        return list(_batched_copy(list(arrays), devices, shardings, [_ALWAYS_COPY] * len(arrays)))
    except (AttributeError, TypeError):  # another JAX, with another inside
        return None


def _is_alike(old: Any, new: Any) -> bool:
    # The guard of exactly what `device_put` is trusted with here; test_sharding_and_commitment_are_kept covers it.
    return bool(
        (old.sharding is new.sharding or old.sharding == new.sharding)
        and old.committed == new.committed
        and old.weak_type == new.weak_type
    )


class ArrayPlan(Plan):
    """An array. `is_batched`: values of variables wait, to be copied in one call."""

    is_batched = True

    def copy(self, old: Any, copier: Copier) -> Any:
        if isinstance(old, jax.core.Tracer):
            return old  # dead: it raises when touched
        if old.is_deleted():
            copier.refuse(old, "its buffer was deleted or donated", "remove the array from the model")
        new = copier.memo[id(old)] = (
            old.copy() if jax.dtypes.issubdtype(old.dtype, jax.dtypes.extended) else copy_arrays([old])[0]
        )
        return new


class CompiledFunctionPlan(Assembly):
    """A function behind `jax.jit`: shared, or compiled anew around the copied function."""

    def copy(self, old: Any, copier: Copier) -> Any:
        return old if self.shares(old, copier) else copier.assemble(old)

    def wrapped(self, old: Any) -> Any:
        """The function behind it."""
        return getattr(old, "__wrapped__", None)

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return (old.__wrapped__,)

    def make(self, old: Any, copier: Copier) -> Any:
        function = copier.copy(old.__wrapped__)
        return old if function is old.__wrapped__ else jax.jit(function, **self._options(old, copier))

    def shares(self, old: Any, copier: Copier) -> bool:
        return is_importable(old) or not hasattr(old, "__wrapped__") or copier.shares(old.__wrapped__)

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


def jax_plan(cls: type) -> Plan | None:
    """The plan for a class of JAX's, or None."""
    if issubclass(cls, jax.core.Tracer):
        return None
    if issubclass(cls, jax.Array):
        return ArrayPlan()
    if cls.__name__ == "PjitFunction" and cls.__module__.startswith("jaxlib"):
        return CompiledFunctionPlan()
    return None
