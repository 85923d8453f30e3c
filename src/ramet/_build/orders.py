"""What shall be different at some calls of a graph that is made anew."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import keras

from ramet._keras import structure

# Makes one call: the op, its arguments; answers with the outputs.
Make = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


class Refitting(Protocol):
    """What fits layers to tensors of other shapes while a graph is made anew."""

    def inputs_for(self, model: Any, args: Any, kwargs: Any, fitting: Any) -> Any:
        """The inputs that a nested model is rebuilt on; None if it stays as it is."""

    def enter(self, model: Any, path: str) -> None:
        """A nested model is rebuilt from here on."""

    def leave(self) -> None:
        """The nested model is rebuilt."""

    def before(self, call: Any, path: str, op: Any, args: Any, kwargs: Any) -> None:
        """An op is about to be called."""

    def after(self, call: Any, path: str, op: Any, args: Any, kwargs: Any, outputs: Any) -> None:
        """An op was called."""

    def finish(self) -> None:
        """All graphs are made anew."""


@dataclass
class CallOrder:
    """What happens at one call.

    Attributes:
        call: The call, held so that its id stays its own.
        feeds: For an input tensor of the call, by its number, what makes the one that is taken instead.
        before: For an input tensor of the call, by its number, the layers it goes through first.
        after: For an output of the call, by its number, the layers it goes through afterwards.
        keep: Nothing is called: each output is this one of the input tensors.
        instead: Makes the outputs in another way; gets what finds the successor of a tensor, and the arguments.
    """

    call: Any
    feeds: dict[int, Callable[[Callable[[Any], Any], Make], Any]] = field(default_factory=dict)
    before: dict[int, list[Any]] = field(default_factory=dict)
    after: dict[int, list[Any]] = field(default_factory=dict)
    keep: tuple[int, ...] | None = None
    instead: Callable[..., Any] | None = None

    def made(self, op: Any, args: Any, kwargs: Any, make: Make, successor: Callable[[Any], Any]) -> Any:
        """The outputs of the call."""
        if self.before or self.feeds:
            args, kwargs = self._led_through(args, kwargs, make, successor)
        if self.instead is not None:
            outputs = self.instead(successor, args, kwargs)
        elif self.keep is not None:
            tensors = _tensors(args, kwargs)
            kept = [tensors[place] for place in self.keep]
            outputs = kept[0] if len(kept) == 1 else kept
        else:
            outputs = make(op, args, kwargs)
        return self.led_on(outputs, make)

    def led_on(self, outputs: Any, make: Make) -> Any:
        """The outputs after the layers that follow the call."""
        if not self.after:
            return outputs
        found = keras.tree.flatten(outputs)
        for place, layers in self.after.items():
            for layer in layers:
                found[place] = make(layer, (found[place],), {})
        return found[0] if len(found) == 1 else found

    def _led_through(self, args: Any, kwargs: Any, make: Make, successor: Callable[[Any], Any]) -> Any:
        number = -1

        def led(value: Any) -> Any:
            nonlocal number
            if not isinstance(value, keras.KerasTensor):
                return value
            number += 1
            value = self.feeds[number](successor, make) if number in self.feeds else value
            for layer in self.before.get(number, ()):
                value = make(layer, (value,), {})
            return value

        return keras.tree.map_structure(led, (args, kwargs))


@dataclass
class Orders:
    """What is different in a model's graphs, on all levels.

    Attributes:
        swap: By the id of an op, what is called in its place.
        again: The ids of ops whose calls are made again, because something about them changed.
        calls: By the id of a call, what happens there.
        held: What the ids above belong to.
        refit: Fits the weights of layers to inputs of another shape, before each call.
        word: What is being done, for messages: rebuild, edit.
    """

    swap: dict[int, Any] = field(default_factory=dict)
    again: set[int] = field(default_factory=set)
    calls: dict[int, CallOrder] = field(default_factory=dict)
    held: list[Any] = field(default_factory=list)
    refit: Refitting | None = None
    word: str = "rebuild"

    def at(self, call: Any) -> CallOrder:
        """The order for a call; made if there is none yet."""
        return self.calls.setdefault(id(call), CallOrder(call))

    def replace(self, op: Any, new: Any) -> None:
        """Call another op wherever this one is called, and hold it wherever this one is held."""
        self.swap[id(op)] = new
        self.held += [op, new]

    def touch(self, op: Any) -> None:
        """Make the calls of an op again."""
        self.again.add(id(op))
        self.held.append(op)

    def concern(self, call: Any) -> bool:
        """Whether the call must be made anew."""
        op = id(call.operation)
        return id(call) in self.calls or op in self.again or op in self.swap


def accepted(op: Any, kwargs: dict[str, Any], *, mask_was_passed: bool) -> dict[str, Any]:
    """The keyword arguments for an op that stands for another: without those that only the other could take.

    A mask that was found and the phase of training go to layers that take them, as always. A mask that the user passed is
    never dropped: an op that cannot take it refuses it.
    """
    if not isinstance(op, keras.Layer):
        return kwargs
    dropped = [
        name
        for name in (("training",) if mask_was_passed else ("mask", "training"))
        if name in kwargs and structure.default_of(op, name) is inspect.Parameter.empty
    ]
    return {name: value for name, value in kwargs.items() if name not in dropped}


def _tensors(args: Any, kwargs: Any) -> list[Any]:
    return [value for value in keras.tree.flatten((args, kwargs)) if isinstance(value, keras.KerasTensor)]
