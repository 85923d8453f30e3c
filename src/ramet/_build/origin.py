"""Errors of layers that refuse their input, with the input of the outermost model to blame; and inputs of nested models."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import keras

from ramet._keras import structure
from ramet.errors import DoesNotFitError, RebuildError


class NestedInputs:
    """The nested models of one rebuild, on all levels, that are called with shapes other than their own."""

    def __init__(self) -> None:
        self._called: set[int] = set()
        self._changed: set[int] = set()

    def inputs_for(self, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the inputs to rebuild a nested model on so that it takes these arguments; None if it takes them already.

        A model that is called several times must take all of its arguments: sizes that differ between calls become None.
        """
        op = call.operation
        first, self._called = id(op) not in self._called, self._called | {id(op)}
        function = structure.function_of(op)
        own = keras.tree.flatten(structure.inputs_of(function))
        before = keras.tree.flatten(_first_argument(call.arguments.args, call.arguments.kwargs))
        now = keras.tree.flatten(_first_argument(args, kwargs))
        if len(own) != len(now) or all(map(_takes, own, now)):
            return None
        if id(op) not in self._changed and list(map(_shape, before)) == list(map(_shape, now)):
            return None  # the call has always been like this
        self._changed.add(id(op))
        made = {id(old): _input_for(old, new, merge=not first) for old, new in zip(own, now, strict=True)}
        return keras.tree.map_structure(lambda old: made[id(old)], structure.inputs_of(function))


def _first_argument(args: Any, kwargs: Any) -> Any:
    return args[0] if args else kwargs.get("inputs")


def _shape(tensor: Any) -> Any:
    return None if tensor is None else tuple(tensor.shape)


def _takes(old: Any, new: Any) -> bool:
    if new is None or len(old.shape) != len(new.shape):
        return True  # the model itself raises a good error
    return all(size in (None, given) for size, given in zip(old.shape[1:], new.shape[1:], strict=True))


def _input_for(old: Any, new: Any, *, merge: bool) -> Any:
    if _takes(old, new):
        return structure.input_like(old, old.shape)
    sizes = [None if merge and a != b else b for a, b in zip(old.shape[1:], new.shape[1:], strict=True)]
    return structure.input_like(old, (old.shape[0], *sizes))


@dataclass
class InputOrigins:
    """For each tensor of a graph that is rebuilt, the changed inputs of the outermost model that it depends on.

    Attributes:
        model: The name of the outermost model.
        path: The path of the graph below it, empty or ending in a slash.
        names: By the id of a tensor, descriptions of the inputs that it depends on.
        nested: The nested models called so far.
        verb: For error messages: "rebuild" or "edit".
    """

    model: str
    path: str
    names: dict[int, tuple[str, ...]]
    nested: NestedInputs
    verb: str

    @classmethod
    def of_inputs(cls, model: Any, old: list[Any], new: list[Any], verb: str) -> InputOrigins:
        """Return the origins for the outermost model: each input with another shape or dtype depends on itself."""
        changed = ((a, b) for a, b in zip(old, new, strict=True) if (a.shape, a.dtype) != (b.shape, b.dtype))
        names: dict[int, tuple[str, ...]] = {
            id(a): (f"'{a.name}' of shape {tuple(b.shape)} and dtype {b.dtype}",) for a, b in changed
        }
        return cls(model.name, "", names, NestedInputs(), verb)

    @classmethod
    def of_nested(cls, model: Any, path: str, verb: str) -> InputOrigins:
        """Return the origins for a nested model whose inputs did not change."""
        return cls(model.name, f"{path}/", {}, NestedInputs(), verb)

    def path_of(self, op: Any) -> str:
        """Return the path of an op of this graph."""
        return f"{self.path}{structure.name_of(op)}"

    def follow(self, call: Any) -> None:
        """Record that the outputs of a call depend on the same inputs as its arguments."""
        names = self._names_at(call)
        for tensor in call.outputs:
            self.names[id(tensor)] = names

    def inside(self, call: Any) -> InputOrigins:
        """Return the origins for the nested model that a call is made to."""
        names = self._names_at(call)
        own = keras.tree.flatten(structure.inputs_of(structure.function_of(call.operation)))
        path = f"{self.path_of(call.operation)}/"
        return InputOrigins(self.model, path, {id(tensor): names for tensor in own}, self.nested, self.verb)

    def refusal(self, call: Any, op: Any, arguments: Any, error: Exception) -> RebuildError:
        """Return the error for an op that raised when it was called."""
        blamed = self._names_at(call)
        path = self.path_of(op)
        if self.verb == "edit" and not blamed:
            return self._misfit(call, op, arguments, error, path)
        kind = "layer" if isinstance(op, keras.Layer) else "operation"
        on = f" on the input{'s' if len(blamed) > 1 else ''} {_enumerate(blamed)}" if blamed else ""
        shapes = [str(tuple(tensor.shape)) for tensor in structure.tensors_in(arguments)]
        return RebuildError(
            f"Cannot {self.verb} '{self.model}'{on}: the {kind} '{path}' refused its arguments.",
            found=f"{_enumerate(shapes)} at '{path}'; {type(error).__name__}: {_key_line(error)}",
            fix="choose inputs that this layer accepts, or replace the layer.",
            path=path,
        )

    def _misfit(self, call: Any, op: Any, arguments: Any, error: Exception, path: str) -> DoesNotFitError:
        """Return the error for an op that does not fit what an edit placed before it or in its place."""
        tensors = structure.tensors_in(arguments)
        producer = _producer(tensors[0]) if len(tensors) == 1 else None
        same = op is call.operation
        return DoesNotFitError(
            f"Cannot edit '{self.model}': '{path}' does not accept "
            f"{'its arguments' if producer is None else f'the output of {producer}'}.",
            expected=f"{_enumerate([_described(tensor) for tensor in call.input_tensors])}, as before"
            if same
            else None,
            found=f"{_enumerate([_described(tensor) for tensor in tensors])}; {type(error).__name__}: {_key_line(error)}",
            fix=f"insert a layer whose output '{structure.name_of(op)}' accepts, or replace '{structure.name_of(op)}', too."
            if same
            else "use a layer that accepts this.",
            path=path,
        )

    def _names_at(self, call: Any) -> tuple[str, ...]:
        found = [self.names.get(id(tensor), ()) for tensor in call.input_tensors]
        if all(names is found[0] for names in found):
            return found[0] if found else ()
        return tuple(dict.fromkeys(name for names in found for name in names))


def _described(tensor: Any) -> str:
    producer = _producer(tensor)
    return f"{tuple(tensor.shape)}{'' if producer is None else f' from {producer}'}"


def _producer(tensor: Any) -> str | None:
    call = structure.producing_call(tensor)
    return None if call is None else f"'{structure.name_of(call.operation)}'"


def _enumerate(items: Any, limit: int = 3) -> str:
    texts = list(items[:limit]) + ([f"{len(items) - limit} more"] if len(items) > limit else [])
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1]))) if texts else "no tensor"


def _key_line(error: Exception) -> str:
    """Return the line of an error's text that best explains it."""
    # The text of a KeyError is a quoted literal. Keras uses bold text, and puts a line about the call first.
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()]
    lines = [line for line in lines if line and not line.startswith("Exception encountered when calling")]
    best = next((line for line in lines if "is incompatible" in line or "nvalid" in line), lines[0] if lines else "")
    return best[:200]
