"""A model while it is ported: layers and calls as mutable data, between the configs of two versions of Keras.

Calls are numbered from 0 here, whatever a version of Keras does. The arguments of a call are plain Python values: numbers,
texts, lists, dicts, slices, `...`, and a `Tensor` for each tensor of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

# A JSON value, with `Tensor`, slice and `...` among its leaves.
Argument: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Tensor:
    """An output of a call: the name of the layer, the number of the call and the number of the output, all from 0."""

    layer: str
    call: int = 0
    output: int = 0


KERAS_PACKAGES = ("keras", "tf_keras", "tensorflow")
# Layers that Keras 2 makes of operations of TensorFlow.
OPERATION_CLASSES = frozenset(
    {"TFOpLambda", "SlicingOpLambda", "ClassMethod", "InstanceMethod", "InstanceProperty", "TensorFlowOpLayer"}
)
_REGISTERED_BY_KERAS = frozenset({"Custom>CustomScaleLayer"})


@dataclass(slots=True)
class Call:
    """One call of a layer, with its arguments by position and by name."""

    args: list[Argument]
    kwargs: dict[str, Argument] = field(default_factory=dict)

    def tensors(self) -> Iterator[Tensor]:
        """Yield the tensors among the arguments, in the order in which Keras finds them."""
        yield from tensors_in([self.args, self.kwargs])


@dataclass(slots=True)
class Layer:
    """A layer, an operation or a nested model of a functional or Sequential model.

    Attributes:
        name: Its name.
        class_name: The name of its class.
        module: The module of its class, `keras.layers` for a layer of Keras.
        config: Its settings; for a nested model, only what is not in `model`.
        calls: Its calls. An input layer has one without arguments. Empty inside a Sequential model.
        registered_name: The name of a class of the user, as in its `@register_keras_serializable`.
        build_config: How it was built, as the file says.
        model: The nested model, or None for a layer.
        source: The name under which the source file keeps its weights.
        arrays: The values of its variables, by group inside the layer and number.
        backward: The second layer of a Bidirectional, which Keras derives from the first if the config has only that.
        specs: Shape and dtype of the tensors among the arguments of its calls, as far as they are known.
    """

    name: str
    class_name: str
    module: str | None
    config: dict[str, Any]
    calls: list[Call] = field(default_factory=list)
    registered_name: str | None = None
    build_config: Any = None
    model: Model | None = None
    source: str = ""
    arrays: dict[tuple[str, int | str], Any] = field(default_factory=dict)
    backward: Layer | None = None
    specs: dict[Tensor, tuple[Any, str | None]] = field(default_factory=dict)

    @property
    def is_of_keras(self) -> bool:
        """True for a class of Keras, even if a class of the user has the same name.

        Before Keras 2.12, files name no modules; but a class that was registered has a package: `Custom>Name`.
        """
        name = self.registered_name or self.class_name
        if ">" in name:
            return name in _REGISTERED_BY_KERAS
        return self.registered_name is None if self.module is None else self.module.split(".")[0] in KERAS_PACKAGES


@dataclass(slots=True)
class Model:
    """A functional or Sequential model.

    Attributes:
        name: Its name.
        class_name: "Functional", "Sequential", or the name of a subclass.
        layers: Its layers, in the order of the file.
        inputs: Its inputs, nested as it takes them; None for a Sequential model.
        outputs: Its outputs, nested as it returns them; None for a Sequential model.
        config: Its other settings, such as `trainable`.
        registered_name: The name of a class of the user, as in its `@register_keras_serializable`.
    """

    name: str
    class_name: str
    layers: list[Layer]
    inputs: Argument = None
    outputs: Argument = None
    config: dict[str, Any] = field(default_factory=dict)
    build_input_shape: Any = None
    registered_name: str | None = None

    @property
    def is_functional(self) -> bool:
        """True for a model with a call graph, false for a Sequential one."""
        return self.inputs is not None


def map_leaves(value: Argument, change: Callable[[Any], Any]) -> Argument:
    """Return nested lists, tuples and dicts with `change(leaf)` for everything else; bounds of slices are leaves, too."""
    if isinstance(value, dict):
        return {key: map_leaves(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map_leaves(item, change) for item in value)
    if isinstance(value, slice):
        return slice(change(value.start), change(value.stop), change(value.step))
    return change(value)


def tensors_in(value: Argument) -> Iterator[Tensor]:
    """Yield the tensors in nested lists, tuples, dicts and slices; dicts in the order of their keys, as Keras does."""
    found: list[Tensor] = []
    map_leaves(_sorted_dicts(value), lambda leaf: found.append(leaf) if isinstance(leaf, Tensor) else None)
    yield from found


def _sorted_dicts(value: Argument) -> Argument:
    if isinstance(value, dict):
        return {key: _sorted_dicts(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return type(value)(_sorted_dicts(item) for item in value)
    return value
