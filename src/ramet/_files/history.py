"""Tensors as configs name them: layer, number of the call, number of the output."""

from __future__ import annotations

from dataclasses import dataclass

from ramet._files.frozen import shape_of
from ramet._files.limits import Limits
from ramet._files.part import Part
from ramet._files.problem import HostileFileError, ModelFileError, described, misfit
from ramet._files.text import Json
from ramet._graph import Ref, Shape, call_id, escape

__all__ = ["Callee", "Tensors", "is_history"]


@dataclass
class Callee:
    """One op of a level, and how often it is called.

    Attributes:
        part: the op.
        calls: how many calls the config lists.
        offset: the number of its first call among the outputs of a config: 1 for a functional model, else 0.
        first: the number of its first call among the arguments of calls.
    """

    part: Part
    calls: int
    offset: int = 0
    first: int = 0


class Tensors:
    """The outputs of the calls of one level: how many each call has, and what is known of them."""

    def __init__(self, callees: dict[str, Callee], limits: Limits) -> None:
        self._callees = callees
        self._limits = limits
        self._counts: dict[str, int] = {}
        self.known: dict[Ref, tuple[Shape | None, str | None]] = {}

    def knows(self, name: str) -> bool:
        """Whether a layer of this level has the name."""
        return name in self._callees

    def count(self, call: str) -> int:
        """How many outputs of a call are used."""
        return self._counts.get(call, 0)

    def ref(self, history: Json, place: str, *, among_outputs: bool = False) -> Ref:
        """The output that `[layer, call, output]` names.

        Args:
            history: the three of them.
            place: where it stands.
            among_outputs: whether it stands among the inputs and outputs of the model, where Keras counts the calls of
                nested functional models from 1.
        """
        if not is_history(history):
            raise misfit("a layer, the number of a call and the number of an output", history, place)
        name, number, output = history[:3]
        callee = self._callees.get(name)
        if callee is None:
            raise ModelFileError(
                f"Cannot read the model: '{escape(place)}' of its config names the layer {name!a}, and there is none.",
                path=place,
            )
        first = callee.offset if among_outputs else callee.first
        if number >= first:
            number -= first
        if number == callee.calls and number > 0:
            # A model that only its weights tell to be functional.
            number -= 1
        if number == 0 and callee.calls == 0:
            callee.calls = 1
        if number >= callee.calls:
            raise ModelFileError(
                f"Cannot read the model: '{escape(place)}' of its config names call {described(number)[11:]} of "
                f"{name!a}, which has {callee.calls}.",
                path=place,
            )
        if output >= self._limits.outputs:
            raise HostileFileError(
                f"Cannot read the model: '{escape(place)}' of its config names output {output:,}.", path=place
            )
        ref = Ref(call_id(callee.part.id, number + 1), output)
        self._counts[ref.call] = max(self._counts.get(ref.call, 0), output + 1)
        return ref

    def note(self, ref: Ref, shape: Json, dtype: Json) -> None:
        """Remember what a config says of a tensor where it is used."""
        told = shape_of(shape)
        known_shape, known_dtype = self.known.get(ref, (None, None))
        word = dtype if isinstance(dtype, str) else None
        self.known[ref] = (known_shape if told is None else told, known_dtype or word)


def is_history(value: Json) -> bool:
    """Whether it is a layer's name and two numbers."""
    return (
        isinstance(value, list)
        and len(value) >= 3
        and isinstance(value[0], str)
        and all(type(number) is int and 0 <= number < 2**31 for number in value[1:3])
    )
