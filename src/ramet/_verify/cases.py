"""Inputs made from specs: ordinary, zeros, extremes, padded sequences, a batch of one, None for what is optional."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from ramet._keras import tensors
from ramet._verify.specs import Signature, Spec

BATCH = 3
# Tried for dimensions that are free, until the original takes one.
SIZES = (8, 16, 32, 64, 224)
_WORDS = ("", "a", "the quick brown fox", "zebra", "\u00fc")


@dataclass(frozen=True)
class Case:
    """Inputs for one run.

    Attributes:
        name: How reports name it.
        args: Positional arguments of the call.
        kwargs: Keyword arguments of the call.
        trains: Whether the models also run on it in training mode.
        is_first: Whether gradients and the training step use it.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    trains: bool = False
    is_first: bool = False


def ordinary(signature: Signature, seed: int, size: int, *, whole: bool = False) -> Case:
    """The first case to try.

    Args:
        signature: What the model takes.
        seed: Of the numbers.
        size: Of the free dimensions.
        whole: Whether floating-point inputs get whole numbers from zero up, as a layer that looks them up wants.
    """
    return _case("ordinary", signature, seed, size, lambda spec, shape, rng: _ordinary(spec, shape, rng, whole=whole))


def others(signature: Signature, seed: int, size: int, *, whole: bool, padded: bool) -> Iterator[Case]:
    """The further cases."""
    leaves = signature.leaves()

    def like_ordinary(spec: Spec, shape: tuple[int, ...], rng: Any) -> Any:
        return _ordinary(spec, shape, rng, whole=whole)

    yield _case("zeros", signature, seed, size, lambda spec, shape, _: _zeros(spec, shape))
    yield _case("extremes", signature, seed, size, lambda spec, shape, _: _extremes(spec, shape, whole=whole))
    if padded:
        yield _case(
            "padded", signature, seed, size, lambda s, shape, rng: _padded(_ordinary(s, shape, rng, whole=True))
        )
    if all(spec.shape[:1] in ((), (None,)) for spec in leaves):
        yield _case("batch of one", signature, seed, size, like_ordinary, batch=1)
    if any(spec.optional for spec in leaves):
        yield _case("without optional inputs", signature, seed, size, like_ordinary, optional=False)


def _case(
    name: str,
    signature: Signature,
    seed: int,
    size: int,
    make: Callable[[Spec, tuple[int, ...], Any], Any],
    *,
    batch: int = BATCH,
    optional: bool = True,
) -> Case:
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])

    def value(spec: Spec) -> Any:
        if spec.optional and not optional:
            return None
        shape = tuple(
            (batch if place == 0 else size) if length is None else length for place, length in enumerate(spec.shape)
        )
        return _as_tensor(spec, make(spec, shape, rng))

    args, kwargs = keras.tree.map_structure(value, (signature.args, signature.kwargs))
    return Case(name, tuple(args), dict(kwargs), trains=name in ("ordinary", "padded"), is_first=name == "ordinary")


def _as_tensor(spec: Spec, array: Any) -> Any:
    special = None
    if spec.dtype == "string":
        special = tensors.text(array)
    elif spec.sparse:
        special = tensors.sparse(array)
    elif spec.ragged:
        special = tensors.ragged([row[: len(row) - number % 2] for number, row in enumerate(array.tolist())])
    return array if special is None else special


def _ordinary(spec: Spec, shape: tuple[int, ...], rng: Any, *, whole: bool) -> Any:
    if spec.dtype == "string":
        known = [*spec.words, *_WORDS]
        return np.array([known[place] for place in rng.integers(0, len(known), int(np.prod(shape)))]).reshape(shape)
    if spec.dtype == "bool":
        return rng.random(shape) > 0.4
    if "int" in spec.dtype or whole or spec.limit is not None:
        numbers = rng.integers(0, spec.limit or 8, shape)
    else:
        numbers = rng.standard_normal(shape)
    return _sparsely(spec, _of_dtype(numbers, spec.dtype), rng)


def _sparsely(spec: Spec, array: Any, rng: Any) -> Any:
    return array * (rng.random(array.shape) > 0.6).astype(array.dtype) if spec.sparse else array


def _zeros(spec: Spec, shape: tuple[int, ...]) -> Any:
    return np.full(shape, "") if spec.dtype == "string" else _of_dtype(np.zeros(shape), spec.dtype)


def _extremes(spec: Spec, shape: tuple[int, ...], *, whole: bool) -> Any:
    if spec.dtype == "string":
        values: Any = np.array(["", "\u00fc" * 50, "\n\t", "0"])
    elif spec.dtype == "bool":
        values = np.array([True])
    elif "int" in spec.dtype or whole or spec.limit is not None:
        values = np.array([0, (spec.limit or 8) - 1])
        if spec.limit is None and "int" in spec.dtype and not whole:
            reach = np.iinfo(spec.dtype)
            values = np.array([0, reach.max, reach.min], spec.dtype)
    else:
        values = np.array([0.0, -0.0, 1e30, -1e30, np.inf, -np.inf, np.nan, 1e-40])
    with np.errstate(all="ignore"):
        flat = np.resize(values, int(np.prod(shape)))
        return flat.reshape(shape) if spec.dtype in ("string", "bool") else _of_dtype(flat.reshape(shape), spec.dtype)


def _padded(array: Any) -> Any:
    """Every row one step shorter than the one before, zeros at its end; the first as long as it was."""
    if array.ndim < 2 or array.dtype.kind in "bOUS":
        return array
    array = np.where(array == 0, np.ones_like(array), array)
    for number in range(len(array)):
        array[number, max(1, array.shape[1] - number) :] = 0
    return array


def _of_dtype(array: Any, dtype: str) -> Any:
    try:
        return array.astype(dtype)
    except TypeError:  # bfloat16 and the like, which NumPy does not know by name
        return keras.ops.convert_to_numpy(keras.ops.cast(keras.ops.convert_to_tensor(array.astype("float32")), dtype))
