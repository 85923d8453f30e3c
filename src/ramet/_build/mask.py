"""Masks in a graph that is made anew: made by the ops that made them before, where nothing about them changed.

A layer that is called again makes its mask again, with new ops under new names. Where the new mask is made as the old one
was, the ops of the old one are called instead: the graph keeps its ops, and an explicit use of the same mask stays one.
"""

from __future__ import annotations

from typing import Any

import keras

from ramet._keras import made_alike
from ramet._keras import structure


class KeptMasks:
    """The masks that calls of one graph take.

    Args:
        calls: The calls of the graph as it was.
        replaced: By the id of a tensor of that graph, its successor; calls made here are added to it.
    """

    def __init__(self, calls: list[Any], replaced: dict[int, Any]) -> None:
        self._replaced = replaced
        self._position = {id(call): number for number, call in enumerate(calls)}
        self._call_of = {id(tensor): call for call in calls for tensor in call.outputs}
        taken = (tensor for call in calls for tensor in call.input_tensors)
        self._masks = [t for t in taken if t.dtype == "bool" and id(t) in self._call_of]

    def keep(self, old: Any, new: Any) -> None:
        """Let a new tensor carry the mask of its predecessor, made again, if its own is made the same way."""
        carried, found = structure.mask_of(old), structure.mask_of(new)
        if carried is None or found is None:
            return
        recorded = carried if id(carried) in self._call_of else self._alike(carried)
        if recorded is None or not made_alike(recorded, found, self._replaced):
            return
        needed = self._needed(recorded)
        if any(isinstance(call.operation, keras.Layer) for call in needed):
            return  # a layer waits for its turn
        for call in needed:
            args, kwargs = keras.tree.map_structure(self._successor, (call.arguments.args, call.arguments.kwargs))
            made = keras.tree.flatten(call.operation(*args, **kwargs))
            self._replaced.update(zip(map(id, call.outputs), made, strict=True))
        structure.set_mask(new, self._successor(recorded))

    def _alike(self, mask: Any) -> Any:
        """In a model that was loaded, the mask a tensor carries is not the very one that calls take."""
        return next((other for other in self._masks if made_alike(mask, other)), None)

    def _needed(self, mask: Any) -> list[Any]:
        """The calls that lead to a mask and have not been made again, in order."""
        found: dict[int, Any] = {}
        waiting = [mask]
        while waiting:
            tensor = waiting.pop()
            call = self._call_of.get(id(tensor))
            if call is None or call.is_input or id(tensor) in self._replaced or id(call) in found:
                continue
            found[id(call)] = call
            waiting.extend(call.input_tensors)
        return sorted(found.values(), key=lambda call: self._position[id(call)])

    def _successor(self, value: Any) -> Any:
        return self._replaced.get(id(value), value) if isinstance(value, keras.KerasTensor) else value
