"""Inputs for models: what a model takes, and the cases it is run on.

What a model takes is read from its inputs, or for a subclassed model from the shapes it was built with. From that come the
cases: ordinary numbers, zeros, extremes, padded sequences, a batch of one, None for optional inputs.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from ramet._keras import SHAPE_ARGUMENT_SUFFIX, OpLocation, kind_of, structure, tensors
from ramet._verify.findings import not_run

BATCH = 3
# Sizes for free dimensions, tried until the original accepts one.
SIZES = (8, 16, 32, 64, 224)
_WORDS = ("", "a", "the quick brown fox", "zebra", "\u00fc")
_FIX = "pass example inputs: verify(model, twin, inputs=...)"


@dataclass(frozen=True)
class Spec:
    """One input: its shape with the batch first, and its values.

    Attributes:
        shape: The shape, with None for a free dimension.
        dtype: The dtype of the values.
        limit: The upper bound for whole numbers; None if there is none.
        words: Strings in the vocabulary of the model.
    """

    shape: tuple[int | None, ...]
    dtype: str = "float32"
    sparse: bool = False
    ragged: bool = False
    optional: bool = False
    limit: int | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Signature:
    """The arguments of a model: nested specs, by position and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def leaves(self) -> list[Spec]:
        """Return all specs in order."""
        return list(keras.tree.flatten((self.args, self.kwargs)))


def signatures_of(model: Any, locations: list[OpLocation]) -> list[Signature]:
    """Return the possible signatures of a model, the likeliest first. If none is known, the check is not run."""
    limit, words = _limit(locations), tuple(_words(locations))
    function = structure.function_of(model)
    if function is not None:
        whole = {id(tensor) for tensor in _read_as_indices(function)}

        def spec(tensor: Any) -> Spec:
            flags = {"sparse": bool(tensor.sparse), "ragged": bool(getattr(tensor, "ragged", False))}
            counted = limit if "int" in tensor.dtype or id(tensor) in whole else None
            return Spec(
                tuple(tensor.shape), tensor.dtype, **flags, optional=_is_optional(tensor), limit=counted, words=words
            )

        return [Signature((keras.tree.map_structure(spec, structure.inputs_of(function)),), {})]
    if not model.built:
        not_run(f"the {kind_of(model)} is not built, so its inputs are unknown; {_FIX}")
    try:
        shapes = model.get_build_config()
    except Exception:  # noqa: BLE001  # a user's method may raise anything
        shapes = None
    if not shapes:
        not_run(f"'{type(model).__name__}' does not record the shapes it was built with; {_FIX}")
    # The batch size is that of the first call; a stateful model accepts no other.
    return [_from_shapes(shapes, limit, words, free=free) for free in (True, False)]


def _from_shapes(shapes: dict[str, Any], limit: int | None, words: tuple[str, ...], *, free: bool) -> Signature:
    def spec(shape: Any) -> Any:
        if _is_shape(shape):
            return Spec((None, *shape[1:]) if free and shape else tuple(shape), limit=limit, words=words)
        if isinstance(shape, dict):
            return {key: spec(part) for key, part in shape.items()}
        if isinstance(shape, list | tuple):
            return [spec(part) for part in shape]
        return not_run(f"the model records invalid shapes; {_FIX}")

    if "input_shape" in shapes:
        return Signature((spec(shapes["input_shape"]),), {})
    named = {
        name.removesuffix(SHAPE_ARGUMENT_SUFFIX): spec(shape)
        for name, shape in shapes.get("shapes_dict", shapes).items()
    }
    return Signature((), named)


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list | tuple) and all(size is None or isinstance(size, int) for size in shape)


def _is_optional(tensor: Any) -> bool:
    call = structure.producing_call(tensor)
    return call is not None and bool(getattr(call.operation, "optional", False))


def _limit(locations: list[OpLocation]) -> int | None:
    """Return the size of the smallest lookup table: an index outside it may end the process on a GPU."""
    sizes = [
        getattr(location.op, name, None)
        for location in locations
        for name in ("input_dim", "num_tokens", "vocabulary_size", "sequence_length", "max_position_embeddings")
    ]
    found = [size for size in sizes if isinstance(size, int) and size > 0]
    return min(found) if found else None


def _read_as_indices(function: Any) -> Iterator[Any]:
    """Yield the inputs that are indices into a table, whatever their dtype."""
    for call in structure.calls_of(function):
        if isinstance(getattr(call.operation, "input_dim", None), int):
            yield from call.input_tensors


def _words(locations: list[OpLocation]) -> Iterator[str]:
    for location in locations:
        vocabulary = getattr(location.op, "get_vocabulary", None)
        if callable(vocabulary):
            try:
                yield from (str(word) for word in list(vocabulary())[:8])
            except Exception:  # noqa: BLE001  # a layer without a vocabulary yet
                continue


@dataclass(frozen=True)
class Case:
    """Inputs for one run.

    Attributes:
        name: The name in reports.
        args: The positional arguments of the call.
        kwargs: The keyword arguments of the call.
        trains: Whether the models are also run on it in training mode.
        is_first: Whether gradients and the training step use it.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    trains: bool = False
    is_first: bool = False


def ordinary_case(signature: Signature, seed: int, size: int, *, whole: bool = False) -> Case:
    """Return the first case to try.

    Args:
        signature: The signature of the model.
        seed: The seed of the numbers.
        size: The size of free dimensions.
        whole: Whether floating-point inputs get whole numbers >= 0, as indices into a table.
    """
    return _case("ordinary", signature, seed, size, lambda spec, shape, rng: _ordinary(spec, shape, rng, whole=whole))


def other_cases(signature: Signature, seed: int, size: int, *, whole: bool, padded: bool) -> Iterator[Case]:
    """Yield the further cases."""
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
            (batch if axis == 0 else size) if length is None else length for axis, length in enumerate(spec.shape)
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
        return np.array([known[index] for index in rng.integers(0, len(known), int(np.prod(shape)))]).reshape(shape)
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
    """Pad with zeros: each row is one step shorter than the one before, and the first is unchanged."""
    if array.ndim < 2 or array.dtype.kind in "bOUS":
        return array
    array = np.where(array == 0, np.ones_like(array), array)
    for number in range(len(array)):
        array[number, max(1, array.shape[1] - number) :] = 0
    return array


def _of_dtype(array: Any, dtype: str) -> Any:
    try:
        return array.astype(dtype)
    except TypeError:  # bfloat16 and others that NumPy does not have
        return keras.ops.convert_to_numpy(keras.ops.cast(keras.ops.convert_to_tensor(array.astype("float32")), dtype))
