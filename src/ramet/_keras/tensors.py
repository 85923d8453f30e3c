"""Tensors and variables of every backend as NumPy arrays, and special tensors made from NumPy arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from ramet._keras import names, structure
from ramet._keras.capture import locations_below, variables_at
from ramet._keras.global_state import keras_global
from ramet._keras.training import values_in_running_loops

# The dtypes of torch and TensorFlow that NumPy has as well.
_PLAIN = frozenset({"float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"})


def arrays_of(value: Any) -> list[Any]:
    """Return a tensor or variable as NumPy arrays: one, or the parts of a sparse or ragged tensor."""
    if isinstance(value, keras.Variable):
        value = structure.value_of(value)
    if value is None:
        return []
    if isinstance(value, np.ndarray | np.generic | bool | int | float | complex | str | bytes):
        return [np.asarray(value)]
    composite = type(value).__name__ in {"SparseTensor", "IndexedSlices", "RaggedTensor", "BCOO"}
    for parts in (("indices", "values", "dense_shape"), ("flat_values", "nested_row_splits"), ("data", "indices")):
        if composite and all(hasattr(value, part) for part in parts):
            held = [one for part in parts for one in keras.tree.flatten(getattr(value, part))]
            return [array for one in held for array in arrays_of(one)]
    if _is_key(value):
        value = sys.modules["jax"].random.key_data(value)
    return [np.asarray(keras.ops.convert_to_numpy(value))]


def views_of(value: Any) -> list[Any]:
    """Return the same arrays, without copying numbers if possible.

    A view of a variable on torch changes with the variable, see `is_live`. JAX and TensorFlow never write to memory
    that anything else holds.
    """
    if isinstance(value, keras.Variable):
        value = structure.value_of(value)
    backend = keras.backend.backend()
    if backend == "torch" and is_live(value):
        return [value.detach().numpy()]
    if backend == "tensorflow" and hasattr(value, "read_value"):
        value = value.read_value()
        return [np.asarray(memoryview(value))] if value.dtype.name in _PLAIN else arrays_of(value)
    return arrays_of(value)


def wide(value: Any) -> Any:
    """Return a tensor or variable as a NumPy array in double precision."""
    return keras.ops.convert_to_numpy(value).astype("float64")


def is_live(value: Any) -> bool:
    """Return whether a NumPy view shares memory with a tensor, as it does for torch tensors on the CPU."""
    torch = sys.modules.get("torch")
    return (
        torch is not None
        and isinstance(value, torch.Tensor)
        and value.device.type == "cpu"
        and value.layout is torch.strided
        and not value.is_neg()
        and str(value.dtype).removeprefix("torch.") in _PLAIN
    )


def _is_key(value: Any) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended)


def is_concrete(value: Any) -> bool:
    """Return whether a tensor has values: symbolic tensors and those in a compiler have none."""
    if isinstance(value, keras.KerasTensor):
        return False
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(value, jax.core.Tracer):
        return False
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None and isinstance(value, tensorflow.Tensor):
        return hasattr(value, "numpy")
    return not (type(value).__module__.partition(".")[0] == "torch" and getattr(value, "is_meta", False))


def mask_of(value: Any) -> Any:
    """Return the mask that a tensor carries. JAX arrays take no attributes, so Keras keeps theirs in a table."""
    found = structure.mask_of(value)
    if found is None:
        table = keras_global("get_global_attribute")(f"{names.MASK}_dict")
        found = None if table is None else table.get(id(value))
    return found


def sparse(array: Any) -> Any:
    """Return a NumPy array as a sparse tensor of the backend, or None if the backend has none."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        return sys.modules["tensorflow"].sparse.from_dense(array)
    if backend == "jax":
        from jax.experimental import sparse as jax_sparse

        return jax_sparse.BCOO.fromdense(array)
    return None


def ragged(rows: list[Any]) -> Any:
    """Return rows of different lengths as a ragged tensor, or None if the backend has none."""
    return sys.modules["tensorflow"].ragged.constant(rows) if keras.backend.backend() == "tensorflow" else None


def text(array: Any) -> Any:
    """Return an array of strings as the tensor that text layers take, or the array itself without TensorFlow."""
    return sys.modules["tensorflow"].constant(array) if "tensorflow" in sys.modules else array


class LiveVariables:
    """Live variables by their paths, fetched from the device one at a time."""

    def __init__(self, variables: dict[str, Any]) -> None:
        # While Keras trains on JAX, the values are not in the variables.
        self._elsewhere = values_in_running_loops()
        self._variables = variables

    def paths(self) -> Iterable[str]:
        """Return the paths of all variables that have a value."""
        return [path for path, variable in self._variables.items() if self._value(variable) is not None]

    def read(self, path: str) -> np.ndarray[Any, np.dtype[Any]]:
        """Return the value of the variable at this path."""
        return np.asarray(keras.ops.convert_to_numpy(self._value(self._variables[path])))

    def _value(self, variable: Any) -> Any:
        found = self._elsewhere.get(id(variable))
        return found if found is not None or structure.value_of(variable) is None else variable


class LiveWeights(LiveVariables):
    """The variables of a live model, and the states of its random generators."""

    def __init__(self, model: Any) -> None:
        super().__init__(
            {
                f"{location.path}/{own_id}".lstrip("/"): variable
                for location in locations_below(model)
                for own_id, variable, _ in variables_at(location)
            }
        )
