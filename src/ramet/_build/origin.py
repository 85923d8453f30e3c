"""Which inputs of the outermost model arrive where: a layer that refuses its input says which input to blame."""

from __future__ import annotations

import re
from typing import Any

import keras

from ramet._build.fit import Fit
from ramet._keras import structure
from ramet.errors import DoesNotFitError, RebuildError


class Origin:
    """Of one graph that is made anew, by tensor: the names of the other inputs it comes from.

    Args:
        model: The name of the outermost model.
        path: Where the graph stands below it.
        names: By the id of an input tensor, the names of the outermost model's inputs that arrive there.
        fit: Which nested models were called, and with what.
        word: What is being done to the model.
    """

    def __init__(
        self, model: str, path: str, names: dict[int, tuple[str, ...]], fit: Fit, word: str = "rebuild"
    ) -> None:
        self.fit = fit
        self._word = word
        self._model = model
        self._path = path
        self._names = names

    @classmethod
    def of_inputs(cls, model: Any, old: list[Any], new: list[Any], word: str = "rebuild") -> Origin:
        """At the outermost model: each input that is not what it was stands for itself."""
        changed = ((a, b) for a, b in zip(old, new, strict=True) if (a.shape, a.dtype) != (b.shape, b.dtype))
        names: dict[int, tuple[str, ...]] = {
            id(a): (f"'{a.name}' of shape {tuple(b.shape)} and dtype {b.dtype}",) for a, b in changed
        }
        return cls(model.name, "", names, Fit(), word)

    @classmethod
    def of_nested(cls, model: Any, path: str, word: str) -> Origin:
        """At a nested model whose inputs are what they were."""
        return cls(model.name, f"{path}/", {}, Fit(), word)

    def path_of(self, op: Any) -> str:
        """Where an op of this graph is."""
        return f"{self._path}{structure.name_of(op)}"

    def follow(self, call: Any) -> None:
        """What arrives at a call leaves it, too."""
        names = self._arriving(call)
        for tensor in call.outputs:
            self._names[id(tensor)] = names

    def inside(self, call: Any) -> Origin:
        """The same in a nested model, at one of its calls."""
        names = self._arriving(call)
        own = keras.tree.flatten(structure.inputs_of(structure.function_of(call.operation)))
        path = f"{self._path}{structure.name_of(call.operation)}/"
        return Origin(self._model, path, {id(tensor): names for tensor in own}, self.fit, self._word)

    def refusal(self, call: Any, op: Any, arguments: Any, error: Exception) -> RebuildError:
        """The error for an op that did not take what it was called with."""
        blamed = self._arriving(call)
        path = self.path_of(op)
        if self._word == "edit" and not blamed:
            return self._misfit(call, op, arguments, error, path)
        word = "layer" if isinstance(op, keras.Layer) else "operation"
        on = f" on the input{'s' if len(blamed) > 1 else ''} {_and(blamed)}" if blamed else ""
        shapes = [str(tuple(t.shape)) for t in keras.tree.flatten(arguments) if isinstance(t, keras.KerasTensor)]
        return RebuildError(
            f"Cannot {self._word} '{self._model}'{on}: the {word} '{path}' refused what it was called with.",
            found=f"{_and(shapes)} at '{path}'; {type(error).__name__}: {_first_line(error)}",
            fix="choose inputs that this layer accepts, or replace the layer.",
            path=path,
        )

    def _misfit(self, call: Any, op: Any, arguments: Any, error: Exception, path: str) -> DoesNotFitError:
        """The error for an op and what an edit put before it, or in its place: both sides, and their shapes."""
        tensors = [t for t in keras.tree.flatten(arguments) if isinstance(t, keras.KerasTensor)]
        before = _and([_told(tensor) for tensor in call.input_tensors])
        giver = _giver(tensors[0]) if tensors else None
        said = f"what {giver} gives" if giver is not None and len(tensors) == 1 else "what it is given"
        return DoesNotFitError(
            f"Cannot edit '{self._model}': '{path}' does not take {said}.",
            expected=f"{before}, as before" if op is call.operation else None,
            found=f"{_and([_told(tensor) for tensor in tensors])}; {type(error).__name__}: {_first_line(error)}",
            fix=f"put in what '{structure.name_of(op)}' takes, or replace '{structure.name_of(op)}', too."
            if op is call.operation
            else "put in a layer that takes this.",
            path=path,
        )

    def _arriving(self, call: Any) -> tuple[str, ...]:
        found = [self._names.get(id(tensor), ()) for tensor in call.input_tensors]
        if all(names is found[0] for names in found):
            return found[0] if found else ()
        return tuple(dict.fromkeys(name for names in found for name in names))


def _told(tensor: Any) -> str:
    giver = _giver(tensor)
    return f"{tuple(tensor.shape)}{'' if giver is None else f' from {giver}'}"


def _giver(tensor: Any) -> str | None:
    call = structure.producing_call(tensor)
    return None if call is None else f"'{structure.name_of(call.operation)}'"


def _and(items: Any, limit: int = 3) -> str:
    shown = list(items[:limit]) + ([f"{len(items) - limit} more"] if len(items) > limit else [])
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1]))) if shown else "no tensor"


def _first_line(error: Exception) -> str:
    # A KeyError says its text as a literal. Keras puts its own words in bold, and a line about the call before them.
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()]
    lines = [line for line in lines if line and not line.startswith("Exception encountered when calling")]
    told = next((line for line in lines if "is incompatible" in line or "nvalid" in line), lines[0] if lines else "")
    return told[:200]
