"""Changes to apply while the calls of a graph are made again."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import keras

from ramet._keras import structure

# Makes one call: takes the op, its positional and its keyword arguments, and returns the outputs.
MakeCall = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


class Refitting(Protocol):
    """Adapts layers to tensors of other shapes while a graph is rebuilt."""

    def inputs_for(self, model: Any, args: Any, kwargs: Any, fitting: Any) -> Any:
        """Return the inputs to rebuild a nested model on, or None to leave it as it is."""

    def enter(self, model: Any, path: str) -> None:
        """Begin the rebuild of a nested model."""

    def leave(self) -> None:
        """End the rebuild of a nested model."""

    def before(self, call: Any, path: str, op: Any, args: Any, kwargs: Any) -> None:
        """Run before each call of an op."""

    def after(self, call: Any, path: str, op: Any, args: Any, kwargs: Any, outputs: Any) -> None:
        """Run after each call of an op."""

    def finish(self) -> None:
        """Run after all graphs were rebuilt."""


@dataclass
class CallChange:
    """The changes at one call.

    Attributes:
        call: The call, referenced so that its id stays valid.
        feeds: By the index of an input tensor, a function that makes the tensor to use instead.
        before: By the index of an input tensor, the layers to apply to it first.
        after: By the index of an output, the layers to apply to it.
        keep: Do not call the op; each output is the input tensor with this index.
        instead: Makes the outputs in another way, from a function that maps old tensors to new ones, and the arguments.
    """

    call: Any
    feeds: dict[int, Callable[[Callable[[Any], Any], MakeCall], Any]] = field(default_factory=dict)
    before: dict[int, list[Any]] = field(default_factory=dict)
    after: dict[int, list[Any]] = field(default_factory=dict)
    keep: tuple[int, ...] | None = None
    instead: Callable[..., Any] | None = None

    def make_outputs(self, op: Any, args: Any, kwargs: Any, make: MakeCall, successor: Callable[[Any], Any]) -> Any:
        """Make the changed call and return its outputs."""
        if self.before or self.feeds:
            args, kwargs = self._prepare_inputs(args, kwargs, make, successor)
        if self.instead is not None:
            outputs = self.instead(successor, args, kwargs)
        elif self.keep is not None:
            tensors = structure.tensors_in((args, kwargs))
            kept = [tensors[index] for index in self.keep]
            outputs = kept[0] if len(kept) == 1 else kept
        else:
            outputs = make(op, args, kwargs)
        return self.append_layers(outputs, make)

    def append_layers(self, outputs: Any, make: MakeCall) -> Any:
        """Return the outputs after the layers in `after` were applied."""
        if not self.after:
            return outputs
        tensors = keras.tree.flatten(outputs)
        for index, layers in self.after.items():
            for layer in layers:
                tensors[index] = make(layer, (tensors[index],), {})
        return tensors[0] if len(tensors) == 1 else tensors

    def _prepare_inputs(self, args: Any, kwargs: Any, make: MakeCall, successor: Callable[[Any], Any]) -> Any:
        index = -1

        def prepare(value: Any) -> Any:
            nonlocal index
            if not isinstance(value, keras.KerasTensor):
                return value
            index += 1
            value = self.feeds[index](successor, make) if index in self.feeds else value
            for layer in self.before.get(index, ()):
                value = make(layer, (value,), {})
            return value

        return keras.tree.map_structure(prepare, (args, kwargs))


@dataclass
class PendingChanges:
    """The changes to a model's graphs, on all levels.

    Attributes:
        swap: By the id of an op, the op to call instead.
        redone: The ids of ops whose calls are made again because something about the op changed.
        calls: By the id of a call, the changes there.
        held: The objects that the ids above belong to, so that the ids stay valid.
        refit: Adapts the weights of layers to inputs of another shape, before each call.
        verb: For error messages: "rebuild" or "edit".
    """

    swap: dict[int, Any] = field(default_factory=dict)
    redone: set[int] = field(default_factory=set)
    calls: dict[int, CallChange] = field(default_factory=dict)
    held: list[Any] = field(default_factory=list)
    refit: Refitting | None = None
    verb: str = "rebuild"

    def at(self, call: Any) -> CallChange:
        """Return the changes at a call, creating an empty entry if there is none."""
        return self.calls.setdefault(id(call), CallChange(call))

    def replace(self, op: Any, new: Any) -> None:
        """Call and hold another op wherever this one is called or held."""
        self.swap[id(op)] = new
        self.held += [op, new]

    def redo(self, op: Any) -> None:
        """Make the calls of an op again."""
        self.redone.add(id(op))
        self.held.append(op)

    def concerns(self, call: Any) -> bool:
        """Return whether the call must be made again."""
        op = id(call.operation)
        return id(call) in self.calls or op in self.redone or op in self.swap


def accepted_arguments(op: Any, kwargs: dict[str, Any], *, mask_was_passed: bool) -> dict[str, Any]:
    """Return the keyword arguments of a call without those that a replacement op does not take.

    Keras passes masks that it found, and `training`, only to layers that take them. A mask that the user passed is never
    dropped: an op that does not take it raises an error.
    """
    if not isinstance(op, keras.Layer):
        return kwargs
    dropped = [
        name
        for name in (("training",) if mask_was_passed else ("mask", "training"))
        if name in kwargs and structure.default_of(op, name) is inspect.Parameter.empty
    ]
    return {name: value for name, value in kwargs.items() if name not in dropped}
