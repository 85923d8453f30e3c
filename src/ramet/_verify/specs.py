"""What a model takes: read from its inputs, or for a subclassed model from the shapes it was built with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import keras

from ramet._keras import SHAPE_OF, Place, kind_of, structure
from ramet._verify.findings import not_run

_WAY_OUT = "pass example inputs: verify(model, twin, inputs=...)"


@dataclass(frozen=True)
class Spec:
    """One input: its shape with the batch first, and its kind of values.

    Attributes:
        shape: None for a dimension that is free.
        dtype: of the values.
        limit: whole numbers must stay below this one; None where nothing is known of it.
        words: texts that the model knows.
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
    """What a model is called with: nested specs, by position and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def leaves(self) -> list[Spec]:
        """All specs, in order."""
        return list(keras.tree.flatten((self.args, self.kwargs)))


def signatures_of(model: Any, places: list[Place]) -> list[Signature]:
    """What the model takes, the likeliest first. Where that is not known, the check is not run."""
    limit, words = _limit(places), tuple(_words(places))
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
        not_run(f"the {kind_of(model)} is not built, so what it takes is not known; {_WAY_OUT}")
    try:
        shapes = model.get_build_config()
    except Exception:  # noqa: BLE001  # a user's method may raise anything
        shapes = None
    if not shapes:
        not_run(f"'{type(model).__name__}' does not say what shapes it was built with; {_WAY_OUT}")
    # The batch is the one that it happened to be built with; a stateful model takes no other.
    return [_from_shapes(shapes, limit, words, free=free) for free in (True, False)]


def _from_shapes(shapes: dict[str, Any], limit: int | None, words: tuple[str, ...], *, free: bool) -> Signature:
    def spec(shape: Any) -> Any:
        if _is_shape(shape):
            return Spec((None, *shape[1:]) if free and shape else tuple(shape), limit=limit, words=words)
        if isinstance(shape, dict):
            return {key: spec(part) for key, part in shape.items()}
        if isinstance(shape, list | tuple):
            return [spec(part) for part in shape]
        return not_run(f"the shapes the model was built with are no shapes; {_WAY_OUT}")

    if "input_shape" in shapes:
        return Signature((spec(shapes["input_shape"]),), {})
    named = {name.removesuffix(SHAPE_OF): spec(shape) for name, shape in shapes.get("shapes_dict", shapes).items()}
    return Signature((), named)


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list | tuple) and all(size is None or isinstance(size, int) for size in shape)


def _is_optional(tensor: Any) -> bool:
    call = structure.producing_call(tensor)
    return call is not None and bool(getattr(call.operation, "optional", False))


def _limit(places: list[Place]) -> int | None:
    """The smallest table that any layer looks numbers up in: an index outside it may end the process on a GPU."""
    sizes = [
        getattr(place.op, name, None)
        for place in places
        for name in ("input_dim", "num_tokens", "vocabulary_size", "sequence_length", "max_position_embeddings")
    ]
    found = [size for size in sizes if isinstance(size, int) and size > 0]
    return min(found) if found else None


def _read_as_indices(function: Any) -> Iterator[Any]:
    """The inputs that a table is read with, whatever their dtype."""
    for call in structure.calls_of(function):
        if isinstance(getattr(call.operation, "input_dim", None), int):
            yield from call.input_tensors


def _words(places: list[Place]) -> Iterator[str]:
    for place in places:
        vocabulary = getattr(place.op, "get_vocabulary", None)
        if callable(vocabulary):
            try:
                yield from (str(word) for word in list(vocabulary())[:8])
            except Exception:  # noqa: BLE001  # a layer without a vocabulary yet
                continue
