"""Inputs for models: what a model takes, and the cases it is run on.

What a model takes is read from its inputs, or for a subclassed model from the shapes it was built with. From that come the
cases: ordinary numbers, zeros, extremes, padded sequences, a batch of one, None for optional inputs.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import keras
import numpy as np

from ramet._keras import SHAPE_ARGUMENT_SUFFIX, OpLocation, kind_of, structure, tensors
from ramet._verify.findings import not_run
from ramet._verify.side import vocabulary_of

_BATCH = 3
# Sizes for free dimensions, tried until the original accepts one.
SIZES = (8, 16, 32, 64, 224)
_WORDS = ("", "a", "the quick brown fox", "zebra", "\u00fc")
_FIX = "pass example inputs: verify(model, twin, inputs=...)"
# Makes the array for a spec, of a shape, from a random generator.
_Make: TypeAlias = Callable[["Spec", tuple[int, ...], Any], Any]


@dataclass(frozen=True)
class Spec:
    """One input: its shape with the batch first, and its values."""

    shape: tuple[int | None, ...]  # None for a free dimension
    dtype: str = "float32"
    sparse: bool = False
    ragged: bool = False
    optional: bool = False
    limit: int | None = None  # the upper bound for whole numbers
    words: tuple[str, ...] = ()  # strings in the vocabulary of the model


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
    limit = _limit(locations)
    words = tuple(word for location in locations for word in (vocabulary_of(location.op) or ())[:8])
    function = structure.function_of(model)
    if function is not None:
        # Inputs of an embedding are indices into a table, whatever their dtype.
        lookups = [call for call in structure.calls_of(function) if _is_number(call.operation, "input_dim")]
        whole = {id(tensor) for call in lookups for tensor in call.input_tensors}

        def spec(tensor: Any) -> Spec:
            flags = {"sparse": bool(tensor.sparse), "ragged": bool(getattr(tensor, "ragged", False))}
            counted = limit if "int" in tensor.dtype or id(tensor) in whole else None
            optional = structure.is_optional(tensor)
            return Spec(tuple(tensor.shape), tensor.dtype, **flags, optional=optional, limit=counted, words=words)

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


def _is_number(op: Any, name: str) -> bool:
    return isinstance(getattr(op, name, None), int)


def _limit(locations: list[OpLocation]) -> int | None:
    """Return the size of the smallest lookup table: an index outside it may end the process on a GPU."""
    names = ("input_dim", "num_tokens", "vocabulary_size", "sequence_length", "max_position_embeddings")
    ops = [location.op for location in locations]
    sizes = [getattr(op, name) for op in ops for name in names if _is_number(op, name)]
    return min((size for size in sizes if size > 0), default=None)


@dataclass(frozen=True)
class Case:
    """Inputs for one run: the arguments of a call, under a name for reports."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    trains: bool = False  # whether the models are also run on it in training mode
    is_first: bool = False  # whether gradients and the training step use it

    def call(self, model: Any, *, training: bool) -> Any:
        """Call a model with these inputs."""
        return model(*self.args, training=training, **self.kwargs)


def cases_for(signature: Signature, seed: int, size: int, *, whole: bool, padded: bool) -> Iterator[Case]:
    """Yield the cases for a signature, the ordinary one first.

    Args:
        signature: The signature of the model.
        seed: The seed of the numbers.
        size: The size of free dimensions.
        whole: Whether floating-point inputs get whole numbers >= 0, as indices into a table.
        padded: Whether there is a case with padded sequences.
    """

    def case(name: str, make: _Make, *, batch: int = _BATCH, optional: bool = True) -> Case:
        rng = np.random.default_rng([seed, zlib.crc32(name.encode())])

        def value(spec: Spec) -> Any:
            if spec.optional and not optional:
                return None
            lengths = enumerate(spec.shape)
            shape = tuple((size if axis else batch) if length is None else length for axis, length in lengths)
            return _as_tensor(spec, make(spec, shape, rng))

        args, kwargs = keras.tree.map_structure(value, (signature.args, signature.kwargs))
        return Case(name, tuple(args), dict(kwargs), trains=name in ("ordinary", "padded"), is_first=name == "ordinary")

    leaves = signature.leaves()
    ordinary = functools.partial(_ordinary, whole=whole)
    yield case("ordinary", ordinary)
    yield case("zeros", _zeros)
    yield case("extremes", functools.partial(_extremes, whole=whole))
    if padded:
        yield case("padded", _padded)
    if all(spec.shape[:1] in ((), (None,)) for spec in leaves):
        yield case("batch of one", ordinary, batch=1)
    if any(spec.optional for spec in leaves):
        yield case("without optional inputs", ordinary, optional=False)


def _as_tensor(spec: Spec, array: Any) -> Any:
    special = None
    if spec.dtype == "string":
        special = tensors.text(array)
    elif spec.sparse:
        special = tensors.sparse(array)
    elif spec.ragged:
        special = tensors.ragged([row[: len(row) - number % 2] for number, row in enumerate(array.tolist())])
    return array if special is None else special


def _is_whole(spec: Spec, *, whole: bool) -> bool:
    return "int" in spec.dtype or whole or spec.limit is not None


def _ordinary(spec: Spec, shape: tuple[int, ...], rng: Any, *, whole: bool) -> Any:
    if spec.dtype == "string":
        return rng.choice([*spec.words, *_WORDS], shape)
    if spec.dtype == "bool":
        return rng.random(shape) > 0.4
    numbers = rng.integers(0, spec.limit or 8, shape) if _is_whole(spec, whole=whole) else rng.standard_normal(shape)
    array = _of_dtype(numbers, spec.dtype)
    return array * (rng.random(array.shape) > 0.6).astype(array.dtype) if spec.sparse else array


def _zeros(spec: Spec, shape: tuple[int, ...], _: Any) -> Any:
    return np.full(shape, "") if spec.dtype == "string" else _of_dtype(np.zeros(shape), spec.dtype)


def _extremes(spec: Spec, shape: tuple[int, ...], _: Any, *, whole: bool) -> Any:
    if spec.dtype == "string":
        return np.resize(["", "\u00fc" * 50, "\n\t", "0"], shape)
    if spec.dtype == "bool":
        return np.full(shape, fill_value=True)
    if not _is_whole(spec, whole=whole):
        values = np.array([0.0, -0.0, 1e30, -1e30, np.inf, -np.inf, np.nan, 1e-40])
    elif spec.limit is None and "int" in spec.dtype and not whole:
        reach = np.iinfo(spec.dtype)
        values = np.array([0, reach.max, reach.min], spec.dtype)
    else:
        values = np.array([0, (spec.limit or 8) - 1])
    with np.errstate(all="ignore"):
        return _of_dtype(np.resize(values, shape), spec.dtype)


def _padded(spec: Spec, shape: tuple[int, ...], rng: Any) -> Any:
    """Return whole numbers padded with zeros: each row is one step shorter than the one before, the first unchanged."""
    array = _ordinary(spec, shape, rng, whole=True)
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
