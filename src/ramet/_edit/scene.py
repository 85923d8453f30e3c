"""The model that is edited: what its ops are called, where they stand, and what shall happen to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras

from ramet._build import Orders
from ramet._edit.edit import Edit
from ramet._edit.plan import AdaptedWeight
from ramet._graph import Graph
from ramet._keras import capture, live_calls, places_below, rename, structure
from ramet._select import Candidate, Catalog, Search, require
from ramet.errors import NeedsCallGraphError


class Scene:
    """One model and the twin that becomes its successor.

    Selectors are asked about the model as it was passed in; what is found is answered with the ops of the twin.

    Args:
        model: The model passed in. It is only read.
        twin: Its twin, which is changed; the model itself for a plan, where nothing is changed.
    """

    def __init__(self, model: Any, twin: Any) -> None:
        self.model, self.twin = model, twin
        self.graph: Graph = capture(model)
        self.orders = Orders(word="edit")
        self.inputs: Any = None  # other inputs of the twin, in its structure
        self.carried: list[
            tuple[Any, Any]
        ] = []  # (old layer, new layer) whose weights of the same shape are taken over
        self.successors: dict[
            int, Any
        ] = {}  # by the id of a variable, the one whose optimizer slots it takes; None for fresh ones
        self.slot_fits: dict[int, Any] = {}  # by the id of a variable, what makes its optimizer slots of the old ones
        self.adapted: list[AdaptedWeight] = []  # weights that were made to fit
        self.updated: list[str] = []  # paths of layers whose settings were changed
        self.changed_settings: list[tuple[Any, Any]] = []  # settings of layers, each before and after
        self.flags: list[tuple[str, str]] = []  # paths, and what becomes of the flags there; see flags.py
        self.with_lora: list[str] = []  # paths of layers that got LoRA
        places, twins = places_below(model), places_below(twin)
        self._live = {place.path: place.op for place in places}
        self._search = Search(Catalog(self.graph, self._live))  # the ops are listed once for all edits
        self._ops = {place.path: place.op for place in twins}
        self._places: dict[int, list[str]] = {}
        for place in twins:
            self._places.setdefault(id(place.op), []).append(place.path)
        self._numbers = {key: number for number, key in enumerate(self._places)}
        self._inside: dict[str, Any] = {}
        for place in twins:
            if place.same_as is None:
                for child in place.called + place.extras:
                    self._inside[child.path] = place.op
        self._calls: dict[int, dict[str, Any]] = {}
        self._originals = {id(place.op) for place in places}
        self._given: dict[int, set[str]] = {}
        self._names: dict[int, set[str]] = {}
        self._owners: dict[int, int] | None = None
        self.latest: str | None = None  # the path that was asked for last, for errors that nobody foresaw
        self.holders_changed: dict[str, Any] = {}  # by path, what an edit changed something inside of

    def find(self, edit: Edit) -> tuple[Candidate, ...]:
        """The ops that an edit concerns, in the model's order."""
        assert edit.selector is not None, "every edit that asks has a selector"
        found = self._search.find(edit.selector)
        if not found and edit.required:
            require(edit.selector, self.graph, self._live)
        return found

    def op(self, path: str) -> Any:
        """The twin's op at a path."""
        found = self._ops[path]
        self.latest = path
        return found

    def successor(self, op: Any) -> Any:
        """What stands in the place of an op of the twin."""
        return self.orders.swap.get(id(op), op)

    def path_of(self, op: Any) -> str:
        """Where an op of the twin stands first."""
        return self._places[id(op)][0]

    def order_of(self, op: Any) -> int:
        """A number that grows in the order in which the ops of the twin are told."""
        return self._numbers[id(op)]

    def holder(self, path: str) -> Any:
        """The twin's model or layer that holds the op at a path directly."""
        return self._inside[path]

    def calls(self, path: str) -> dict[str, Any]:
        """The twin's calls of the op at a path, by id, in the order they were made; at other places with the path there."""
        op = self.op(path)
        found: dict[str, Any] = {}
        for number, place in enumerate(self._places[id(op)]):
            prefix = f"{place.rpartition('/')[0]}/".lstrip("/") if number else ""
            found |= {prefix + name: call for name, call in self.calls_beside(place).items() if call.operation is op}
        return found

    def calls_beside(self, path: str) -> dict[str, Any]:
        """The twin's calls of the graph that the op at a path stands in, by id."""
        holder = self.holder(path)
        if structure.function_of(holder) is None:
            return {}
        if id(holder) not in self._calls:
            self._calls[id(holder)] = live_calls(holder)
        return self._calls[id(holder)]

    def producer(self, tensor: Any) -> Any:
        """The call that a tensor comes from."""
        return structure.producing_call(tensor)

    def changed_inside(self, path: str) -> None:
        """Note that something inside the holder of the op at a path is another."""
        self.holders_changed[path] = self.holder(path)

    def is_of_the_original(self, op: Any) -> bool:
        """Whether an op is one of the model passed in."""
        return id(op) in self._originals and self.twin is not self.model

    def names_given(self, path: str) -> set[str]:
        """The names that new layers beside the op at a path already have."""
        return self._given.setdefault(id(self.holder(path)), set())

    def give_name(self, path: str, name: str) -> None:
        """Note the name of a new layer beside the op at a path."""
        self.names_given(path).add(name)

    def needs_calls(self, edit: Edit, candidate: Candidate) -> None:
        """Refuse an edit of calls inside a layer or model whose own code does the calling."""
        holder = self.holder(candidate.path)
        if structure.function_of(holder) is not None:
            return
        inside = "the model itself" if holder is self.twin else f"'{holder.name}'"
        raise NeedsCallGraphError(
            f"Cannot {edit.kind} '{candidate.path}': it is called by the code of {inside}, and that cannot be changed.",
            found=f"a {type(holder).__name__}, which has no call graph",
            fix="replace or wrap the layer instead, e.g. wrap it in a layer that does both.",
            path=candidate.path,
        )

    def names_beside(self, path: str) -> set[str]:
        """The names that ops beside the one at a path have: in one graph no name may stand twice."""
        holder = self.holder(path)
        if id(holder) not in self._names:
            function = structure.function_of(holder)
            ops = structure.layers_of(holder) if function is None else list(function.operations)
            self._names[id(holder)] = {structure.name_of(op) for op in ops}
        return self._names[id(holder)]

    def ancestors(self, path: str) -> list[str]:
        """The paths of everything that the op at a path stands in, the nearest first."""
        parts = path.split("/")
        above = ["/".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]
        return [name for name in above if name in self._ops]

    def is_input(self, path: str) -> bool:
        """Whether the op at a path is an input of its graph."""
        return isinstance(self.op(path), keras.layers.InputLayer)

    def op_or_twin(self, path: str) -> Any:
        """The twin's op at a path; the twin itself for the empty one."""
        return self._ops[path] if path else self.twin

    def holder_function(self, path: str) -> Any:
        """What holds the calls of the model at a path, or None."""
        return structure.function_of(self.op_or_twin(path))

    def readers(self, tensor: Any, prefix: str) -> list[Any]:
        """The calls of the graph at a path that take a tensor."""
        return [call for call in structure.calls_of(self.holder_function(prefix)) if _takes(call, tensor)]

    def is_output(self, tensor: Any, prefix: str) -> bool:
        """Whether a tensor is an output of the graph at a path."""
        outputs = keras.tree.flatten(structure.outputs_of(self.holder_function(prefix)))
        return any(tensor is output for output in outputs)

    def is_tied(self, variable: Any) -> bool:
        """Whether a variable stands in several layers."""
        if self._owners is None:
            self._owners = {}
            for op in {id(op): op for op in self._ops.values()}.values():
                for owned, _ in structure.variables_of(op):
                    self._owners[id(owned)] = self._owners.get(id(owned), 0) + 1
        return self._owners.get(id(variable), 0) > 1

    def changes_inside(self) -> list[tuple[Any, str]]:
        """Everything of the twin that something was changed inside of, at any depth, with the path of what was."""
        return self._around(self.holders_changed)

    def flags_inside(self) -> list[tuple[Any, str]]:
        """Everything of the twin inside of which a flag was set or LoRA enabled, with the path where it was."""
        return self._around([*(path for path, _ in self.flags), *self.with_lora])

    def _around(self, paths: Iterable[str]) -> list[tuple[Any, str]]:
        found: dict[int, tuple[Any, str]] = {}
        for path in paths:
            for holder in (*map(self.op, self.ancestors(path)), self.twin):
                found.setdefault(id(holder), (holder, path))
        return list(found.values())

    def place_of(self, op: Any) -> str:
        """Where an op of the twin, or what stands for one, is found; its name for a new one."""
        return next(iter(self._places.get(id(self._predecessor(op)), [structure.name_of(op)])))

    def original_of(self, op: Any) -> Any:
        """What stands in the model passed in where this op of the twin stands; None for a new op."""
        old = self._predecessor(op)
        return self.model if old is self.twin else self._live.get(next(iter(self._places.get(id(old), [""]))))

    def _predecessor(self, op: Any) -> Any:
        return next((old for old in self._ops.values() if self.orders.swap.get(id(old)) is op), op)

    def output_names(self, path: str) -> list[str]:
        """The names of the outputs of a compiled twin that the op at a path is a part of; none for an op inside another."""
        shown = self.holder(path) is self.twin and getattr(self.twin, "compiled", False)
        return list(getattr(self.twin, "output_names", None) or ()) if shown else []

    def rename_outputs(self, path: str) -> None:
        """A model's outputs are called like the ops that make them."""
        function = structure.function_of(self.holder(path))
        if function is not None:
            rename.name_outputs(function)


def _takes(call: Any, tensor: Any) -> bool:
    return any(tensor is taken for taken in call.input_tensors)
