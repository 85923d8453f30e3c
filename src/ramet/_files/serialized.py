"""Objects as Keras serializes them into a config: layers, arguments of calls, settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ramet._files.json_data import Json, items_of, map_objects, misfit
from ramet._graph import Argument, Constant, FrozenDict, FrozenList, OpKind, Ref, Slice, fold

# Returns the ref of a serialized tensor in an argument; None for a tensor from outside the model.
RefOf: TypeAlias = Callable[[dict[str, Json]], Ref | None]

# Modules of raw operations; everything else in a model is a layer or a model.
_OPERATIONS = ("keras.src.ops.", "keras.ops.", "keras.ops", "keras.src.ops")
_MODELS = frozenset({"Functional", "Model", "Sequential"})
_TENSOR = "__keras_tensor__"
_ARRAYS = ("__numpy__", "__tensor__")
_TAGS = frozenset({_TENSOR, *_ARRAYS, "__ellipsis__", "__bytes__", "__slice__"})
_ARRAY_DTYPES = frozenset(
    ["bool", "complex64", "complex128", "float16", "float32", "float64"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
_MOST_AXES = 64


@dataclass(frozen=True, slots=True)
class SerializedLayer:
    """One layer, model or operation in a config.

    Attributes:
        class_name: The name of its class.
        name: Its Keras name; empty if the config does not contain it.
        config: Its settings; empty if there are none, or if they are not an object.
        position: Its position in the config, such as `config.layers[3]`.
        raw: All of it.
    """

    class_name: str
    name: str
    config: dict[str, Json]
    position: str
    raw: dict[str, Json] = field(repr=False)

    @property
    def module(self) -> str | None:
        """The module of its class."""
        return self.text("module")

    @property
    def kind(self) -> OpKind:
        """Input, model, layer or operation."""
        if self.class_name == "InputLayer":
            return "input"
        # Only models can be compiled: Keras writes for each of them how it was compiled, or that it was not.
        if self.class_name in _MODELS or "compile_config" in self.raw or self._lists_layers:
            return "model"
        return "operation" if (self.module or "").startswith(_OPERATIONS) else "layer"

    @property
    def is_functional(self) -> bool:
        """True if its config lists the calls of its layers."""
        return self._lists_layers and "input_layers" in self.config and "output_layers" in self.config

    @property
    def is_sequential(self) -> bool:
        """True if its config is a sequence of layers."""
        return self.class_name == "Sequential" or (self._lists_layers and "build_input_shape" in self.config)

    @property
    def _lists_layers(self) -> bool:
        return isinstance(self.config.get("layers"), list)

    @property
    def shared_id(self) -> int | None:
        """The number that all occurrences of one shared object have in common."""
        found = self.raw.get("shared_object_id")
        return found if type(found) is int else None

    def text(self, key: str) -> str | None:
        """Return a field if it is text, else None."""
        found = self.raw.get(key)
        return found if isinstance(found, str) else None

    def layers(self) -> Iterator[SerializedLayer]:
        """Yield the layers that its config lists."""
        position = f"{self.position}.config.layers"
        found = self.config.get("layers")
        if not isinstance(found, list):
            raise misfit("a list of layers", found, position)
        return (parse_layer(item, f"{position}[{number}]") for number, item in enumerate(found))


def parse_layer(raw: Json, position: str) -> SerializedLayer:
    """Return the layer, model or operation at a position of a config."""
    if not isinstance(raw, dict):
        raise misfit("a layer", raw, position)
    class_name = raw.get("class_name")
    if not isinstance(class_name, str) or not class_name:
        raise misfit("the name of a class", class_name, f"{position}.class_name")
    config = raw.get("config")
    if isinstance(config, list) and class_name == "Sequential":
        # Keras 1 and early Keras 2: the config of a Sequential model is the list of its layers.
        config = {"layers": config}
        raw = {**raw, "config": config}
    settings = config if isinstance(config, dict) else {}
    name = raw.get("name", settings.get("name"))
    if name is not None and not isinstance(name, str):
        raise misfit("a name", name, f"{position}.name")
    return SerializedLayer(class_name, name or "", settings, position, raw)


def inner_layers(layer: SerializedLayer) -> list[tuple[str, SerializedLayer]]:
    """Return the layers inside a layer that its config contains, such as the one of a wrapper, each with its key."""
    found: list[tuple[str, SerializedLayer]] = []
    waiting: list[tuple[str, str, Json]] = [("", f"{layer.position}.config", layer.config)]
    while waiting:
        key, position, value = waiting.pop()
        if key and _is_layer(value):
            found.append((key, parse_layer(value, position)))
        elif isinstance(value, dict):
            inner = [(key or str(name), f"{position}.{name}", item) for name, item in value.items()]
            waiting += reversed(inner)
        elif isinstance(value, list):
            waiting += reversed([(key, f"{position}[{number}]", item) for number, item in enumerate(value)])
    return found


def _is_layer(value: Json) -> bool:
    """Return whether a value in a config is a serialized layer: of all objects, only layers can be trainable."""
    if not isinstance(value, dict) or not isinstance(value.get("class_name"), str):
        return False
    config = value.get("config")
    if not isinstance(config, dict) or not isinstance(config.get("name"), str):
        return False
    return "trainable" in config or value.get("module") == "keras.layers" or value["class_name"] in _MODELS


# Frozen values.


def map_json(
    value: Json,
    is_leaf: Callable[[Json], bool] = lambda _: False,
    leaf: Callable[[Json], Argument] = lambda item: item,
) -> Argument:
    """Freeze nested lists and objects, with `leaf(item)` for every leaf and every other value."""

    def parts(item: Json) -> Iterable[Json] | None:
        return None if is_leaf(item) else items_of(item)

    def join(item: Json, done: list[Argument]) -> Argument:
        if is_leaf(item) or not isinstance(item, dict | list):
            return leaf(item)
        return FrozenDict(tuple(zip(item, done, strict=True))) if isinstance(item, dict) else FrozenList(tuple(done))

    return fold(value, parts, join)


def freeze_arguments(value: Json, ref_of: RefOf) -> Argument:
    """Freeze the arguments of a call: tensors become refs, arrays become constants with a digest."""

    def bound(item: Json) -> Argument:
        return _leaf(item, ref_of)

    def leaf(item: Json) -> Argument:
        tag, config = _tagged(item)
        if tag == "__slice__":
            # The bounds of a slice are numbers or tensors, never nested.
            return Slice(*(map_json(config.get(key), _is_tagged, bound) for key in ("start", "stop", "step")))
        return _leaf(item, ref_of)

    return map_json(value, _is_tagged, leaf)


def freeze_config(config: dict[str, Json]) -> FrozenDict:
    """Freeze a config, without the numbers of shared objects, which differ from one save to the next."""

    def without_number(fields: dict[str, Json]) -> Json:
        if "class_name" in fields:
            fields.pop("shared_object_id", None)
        return fields

    frozen = map_json(map_objects(config, without_number))
    assert isinstance(frozen, FrozenDict), "a dict is frozen to a dict"
    return frozen


def parse_shape(value: Json) -> tuple[int | None, ...] | None:
    """Return a shape, with None for each axis of any size; None for a value that is not a shape."""
    is_shape = (
        isinstance(value, list)
        and len(value) <= _MOST_AXES
        and all(size is None or (type(size) is int and 0 <= size < 2**63) for size in value)
    )
    return tuple(value) if is_shape else None


def _is_tagged(item: Json) -> bool:
    return _tagged(item)[0] in _TAGS


def _tagged(item: Json) -> tuple[str | None, dict[str, Any]]:
    """Return the tag and the config of a value that JSON has no type for."""
    if isinstance(item, dict) and isinstance(item.get("class_name"), str) and isinstance(item.get("config"), dict):
        return item["class_name"], item["config"]
    return None, {}


def _leaf(item: Json, ref_of: RefOf) -> Argument:
    tag, config = _tagged(item)
    if tag == _TENSOR:
        shape = parse_shape(config.get("shape"))
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
    """Return an array that is written as nested lists, as a constant."""
    dtype = config.get("dtype")
    if not isinstance(dtype, str) or dtype not in _ARRAY_DTYPES:
        return Constant("object", "array", summary="array")
    import numpy as np

    try:
        array = np.array(config.get("value"), dtype=dtype)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return Constant("object", "array", dtype=dtype, summary="invalid array")
    return Constant.array("array", array.shape, dtype, array.tobytes())
