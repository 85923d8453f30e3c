"""Values of a config as frozen data, as capture says them of a live model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ramet._files.text import Json
from ramet._graph import Argument, Constant, FrozenDict, FrozenList, Ref, Slice, fold

__all__ = ["RefOf", "freeze_json", "freeze_settings", "is_shape", "map_json", "shape_of"]

# The ref of a tensor in an argument, given what is written of the tensor; None for one from outside.
RefOf: TypeAlias = Callable[[dict[str, Json]], Ref | None]

_TENSOR = "__keras_tensor__"
_ARRAYS = ("__numpy__", "__tensor__")
_TAGS = frozenset({_TENSOR, *_ARRAYS, "__ellipsis__", "__bytes__", "__slice__"})
_DTYPES = frozenset(
    [
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]
)
_MOST_SIZES = 64


def map_json(value: Json, is_leaf: Callable[[Json], bool], leaf: Callable[[Json], Argument]) -> Argument:
    """The same nesting as frozen data, with `leaf(item)` for whatever is a leaf or no list or object."""

    def parts(item: Json) -> Iterable[Json] | None:
        if is_leaf(item):
            return None
        if isinstance(item, dict):
            return item.values()
        return item if isinstance(item, list) else None

    def join(item: Json, done: list[Argument]) -> Argument:
        if is_leaf(item) or not isinstance(item, dict | list):
            return leaf(item)
        return FrozenDict(tuple(zip(item, done, strict=True))) if isinstance(item, dict) else FrozenList(tuple(done))

    return fold(value, parts, join)


def freeze_json(value: Json, ref_of: RefOf) -> Argument:
    """An argument of a call as frozen data: tensors as refs, arrays by what their bytes are."""

    def leaf(item: Json) -> Argument:
        tag, config = _tagged(item)
        if tag == "__slice__":
            # Bounds of a slice are numbers or tensors: nothing nests in them.
            start, stop, step = (
                map_json(config.get(key), _is_tagged, lambda bound: _leaf(*_tagged(bound), bound, ref_of))
                for key in ("start", "stop", "step")
            )
            return Slice(start, stop, step)
        return _leaf(tag, config, item, ref_of)

    return map_json(value, _is_tagged, leaf)


def freeze_settings(config: dict[str, Json]) -> FrozenDict:
    """A config as frozen data, without the numbers of shared objects: they differ from one save to the next."""
    frozen = map_json(_without_addresses(config), lambda _: False, lambda item: item)
    assert isinstance(frozen, FrozenDict), "a dict is frozen to a dict"
    return frozen


def is_shape(value: Json) -> bool:
    """Whether it is a list of sizes, null where any size will do."""
    return (
        isinstance(value, list)
        and len(value) <= _MOST_SIZES
        and all(size is None or (type(size) is int and 0 <= size < 2**63) for size in value)
    )


def shape_of(value: Json) -> tuple[int | None, ...] | None:
    """The shape that is written there; None for anything else."""
    return tuple(value) if is_shape(value) else None


def _without_addresses(config: dict[str, Json]) -> Json:
    def parts(item: Json) -> Iterable[Json] | None:
        if isinstance(item, dict):
            return item.values()
        return item if isinstance(item, list) else None

    def join(item: Json, done: list[Json]) -> Json:
        if not isinstance(item, dict):
            return done if isinstance(item, list) else item
        kept = dict(zip(item, done, strict=True))
        if "class_name" in kept:
            kept.pop("shared_object_id", None)
        return kept

    return fold(config, parts, join)


def _is_tagged(item: Json) -> bool:
    return _tagged(item)[0] in _TAGS


def _tagged(item: Json) -> tuple[str | None, dict[str, Any]]:
    """The kind of a value that JSON has no word for, and what is written of it."""
    if isinstance(item, dict) and isinstance(item.get("class_name"), str) and isinstance(item.get("config"), dict):
        return item["class_name"], item["config"]
    return None, {}


def _leaf(tag: str | None, config: dict[str, Json], item: Json, ref_of: RefOf) -> Argument:
    if tag == _TENSOR:
        shape = shape_of(config.get("shape"))
        found = ref_of(config) if config.get("keras_history") is not None else None
        return found or Constant("object", "KerasTensor", summary=f"tensor {shape} from outside")
    if tag == "__ellipsis__":
        return ...
    if tag == "__bytes__":
        text = config.get("value")
        return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else Constant("object", "bytes")
    if tag in _ARRAYS:
        return _array(config)
    return Constant("object", "slice") if tag == "__slice__" else item


def _array(config: dict[str, Json]) -> Argument:
    """An array that is written as nested lists."""
    dtype = config.get("dtype")
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        return Constant("object", "array", summary="array")
    import numpy as np

    try:
        array = np.array(config.get("value"), dtype=dtype)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return Constant("object", "array", dtype=dtype, summary="array that is none")
    return Constant.array("array", array.shape, dtype, array.tobytes())
