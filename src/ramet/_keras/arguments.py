"""Live arguments as frozen data: tensors as refs, arrays by their bytes, other objects by what they are called."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

from ramet._graph import Argument, Constant, Ref, freeze

RefOf = Callable[[Any], Ref | None]


def freeze_argument(value: Any, ref_of: RefOf = lambda _: None) -> Argument:
    """An argument of a call, or a config, as frozen data.

    Args:
        value: Anything.
        ref_of: The ref of a symbolic tensor; None for one that no call of the graph makes.
    """

    def leaf(item: Any) -> object:
        if isinstance(item, keras.KerasTensor):
            return ref_of(item) or Constant("object", "KerasTensor", summary=f"tensor {item.shape} from outside")
        return _describe(item)

    return freeze(value, leaf)


def _describe(item: Any) -> object:
    if isinstance(item, keras.Variable):
        return Constant(
            "object", "Variable", shape=tuple(item.shape), dtype=item.dtype, summary=f"variable {item.path}"
        )
    if isinstance(item, keras.Operation):
        return Constant("object", type(item).__name__, summary=f"{type(item).__name__} {item.name}")
    if isinstance(item, Mapping):
        return _plain_dict(item)
    if isinstance(item, list):
        return list(item)
    if isinstance(item, tuple):
        return tuple(item)
    if isinstance(item, set | frozenset):
        return sorted(item, key=str)
    if isinstance(item, types.FunctionType | types.MethodType | types.BuiltinFunctionType | type):
        kind = "class" if isinstance(item, type) else "function"
        return Constant("object", kind, summary=f"{item.__module__}.{item.__qualname__}")
    array = _as_array(item)
    if array is not None:
        return Constant.array("array", array.shape, str(array.dtype), array.tobytes())
    return Constant("object", f"{type(item).__module__}.{type(item).__qualname__}", summary=_short(item))


def _plain_dict(item: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key if isinstance(key, str | int | float | bool | bytes | None) else str(key): item[key] for key in item}


def _as_array(item: Any) -> Any:
    if isinstance(item, np.ndarray | np.generic):
        return None if np.asarray(item).dtype.hasobject else np.asarray(item)
    if keras.ops.is_tensor(item):
        return np.asarray(keras.ops.convert_to_numpy(item))
    return None


def _short(item: Any) -> str | None:
    """A dtype, a device or an enum member says more than its class does; most objects do not."""
    text = str(item)
    return text if len(text) <= 60 and " object at 0x" not in text else None
