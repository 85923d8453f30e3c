"""One run of edits: the model passed in, its twin, and everything the edits have recorded so far."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import keras

from ramet._build import PendingChanges
from ramet._copy import copy_model
from ramet._edit.plans import AdaptedWeight
from ramet._graph import Graph
from ramet._keras import capture_model, live_calls, locations_below, ops_inside, structure
from ramet._report import with_article
from ramet._select import Candidate, Catalog, Search, as_selector, require
from ramet.errors import NeedsCallGraphError

if TYPE_CHECKING:
    from ramet._edit.base import SelectorLike

# The way out for a Sequential model that has no call graph yet.
BUILD_FIRST = "build it first: model.build(input_shape)."


class EditSession:
    """A model and the twin that becomes the edited model.

    Selectors are resolved against the model as it was passed in, so the order of edits matters only where two of them
    meet. Paths are those of the model; the ops returned are those of the twin.

    Args:
        model: The model passed in. It is only read.
        twin: Its twin, which is changed. For a plan, where nothing is changed, the model itself.
    """

    def __init__(self, model: Any, twin: Any) -> None:
        self.model, self.twin = model, twin
        self.graph: Graph = capture_model(model)
        self.changes = PendingChanges(verb="edit")
        self.inputs: Any = None  # new inputs of the twin, in its input structure
        self.carried: list[tuple[Any, Any]] = []  # (old layer, new layer): weights to carry over
        # By the id of a new variable, the old one whose optimizer slots it takes over; None for fresh slots.
        self.successors: dict[int, Any] = {}
        self.slot_fits: dict[int, Any] = {}  # by the id of a new variable, what makes its slots from the old ones
        self.adapted: list[AdaptedWeight] = []  # weights that were adapted to another shape
        self.updated: list[str] = []  # paths of layers whose settings changed
        self.changed_settings: list[tuple[Any, Any]] = []  # old and new values of these settings
        self.flags: list[tuple[str, Any]] = []  # paths, and what happens to the trainable flags there
        self.with_lora: list[str] = []  # paths of layers on which LoRA was enabled
        self.changed: list[str] = []  # paths of changed ops: saving is checked for everything around them
        self.latest: str | None = None  # the path last looked up, for errors raised by a user's class
        twins = locations_below(twin)
        self._live = {place.path: place.op for place in locations_below(model)}
        self._originals = set(map(id, self._live.values()))
        self._search = Search(Catalog(self.graph, self._live))  # the ops are listed once for all edits
        self._ops = {place.path: place.op for place in twins}
        self._paths: dict[int, list[str]] = {}
        for place in twins:
            self._paths.setdefault(id(place.op), []).append(place.path)
        self._positions = {key: number for number, key in enumerate(self._paths)}
        self._holders: dict[str, Any] = {}
        for place in twins:
            if place.same_as is None:
                for child in place.called + place.extras:
                    self._holders[child.path] = place.op
        self._calls: dict[int, dict[str, Any]] = {}
        self._copies: dict[int, Any] = {}  # by the id of a layer passed to an edit, the copy that the result uses
        self._new_names: dict[int, set[str]] = {}
        self._names: dict[int, set[str]] = {}

    # Finding ops.

    def find(self, selector: SelectorLike, *, required: bool = False) -> tuple[Candidate, ...]:
        """Return the matches of a selector, in the model's order.

        Raises:
            NoMatchError: Nothing matches and at least one match is required.
        """
        selector = as_selector(selector)
        found = self._search.find(selector)
        if not found and required:
            require(selector, self.graph, self._live)
        return found

    def op(self, path: str) -> Any:
        """Return the twin's op at a path. While `ramet.plan` runs, there is no twin, and it is the op of the model itself."""
        found = self._ops[path]
        self.latest = path
        return found

    def op_or_twin(self, path: str) -> Any:
        """Return the twin's op at a path, or the twin itself for the empty path."""
        return self._ops[path]

    def successor(self, op: Any) -> Any:
        """Return the op that replaces an op of the twin, or the op itself."""
        return self.changes.swap.get(id(op), op)

    def path_of(self, op: Any) -> str:
        """Return the first path of an op of the twin."""
        return self._paths[id(op)][0]

    def old_path_of(self, op: Any) -> str:
        """Return the first path of an op of the result: of the op that it replaces, or else its own."""
        return self.path_of(next((old for old in self._ops.values() if self.changes.swap.get(id(old)) is op), op))

    def position_of(self, op: Any) -> int:
        """Return the position of an op of the twin in the model's order."""
        return self._positions[id(op)]

    def original_of(self, op: Any) -> Any:
        """Return the op of the model passed in that corresponds to an op of the result."""
        return self._live[self.old_path_of(op)]

    def is_original(self, op: Any) -> bool:
        """Return whether an op belongs to the model passed in."""
        return id(op) in self._originals and self.twin is not self.model

    def copy_of(self, layer: Any) -> Any:
        """Return the copy of a layer passed to an edit that the result uses; the same one wherever the layer is passed."""
        if id(layer) not in self._copies:
            self._copies[id(layer)] = copy_model(layer)
        return self._copies[id(layer)]

    def is_input(self, path: str) -> bool:
        """Return whether the op at a path is an input of its graph."""
        return isinstance(self.op(path), keras.layers.InputLayer)

    def holder(self, path: str) -> Any:
        """Return the model or layer of the twin that directly holds the op at a path."""
        return self._holders[path]

    def ancestors(self, path: str) -> list[str]:
        """Return the paths of everything around the op at a path, the nearest first."""
        parts = path.split("/")
        above = ["/".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]
        return [name for name in above if name in self._ops]

    def holders(self, path: str) -> list[Any]:
        """Return everything of the twin around the op at a path, the nearest first and the twin last."""
        return [*map(self.op, self.ancestors(path)), self.twin]

    # Calls and tensors.

    def calls(self, path: str) -> dict[str, Any]:
        """Return the twin's calls of the op at a path by id, in the order they were made.

        The ids of calls in other graphs that share the op start with the path of that graph.
        """
        op = self.op(path)
        found: dict[str, Any] = {}
        for number, place in enumerate(self._paths[id(op)]):
            prefix = f"{place.rpartition('/')[0]}/".lstrip("/") if number else ""
            found |= {prefix + name: call for name, call in self.calls_beside(place).items() if call.operation is op}
        return found

    def calls_beside(self, path: str) -> dict[str, Any]:
        """Return all calls of the twin's graph that contains the op at a path, by id."""
        holder = self.holder(path)
        if structure.function_of(holder) is None:
            return {}
        if id(holder) not in self._calls:
            self._calls[id(holder)] = live_calls(holder)
        return self._calls[id(holder)]

    def check_has_calls(self, kind: str, candidate: Candidate) -> None:
        """Refuse an edit of calls that the code of a layer or subclassed model makes."""
        holder = self.holder(candidate.path)
        if structure.function_of(holder) is not None:
            return
        if isinstance(holder, keras.Sequential):
            raise NeedsCallGraphError(
                f"Cannot {kind} '{candidate.path}': '{holder.name}' is not built, so it makes no calls yet.",
                fix=BUILD_FIRST,
                path=candidate.path,
            )
        caller = "the model itself" if holder is self.twin else f"'{holder.name}'"
        raise NeedsCallGraphError(
            f"Cannot {kind} '{candidate.path}': it is called by the code of {caller}, which cannot be changed.",
            found=f"{with_article(type(holder).__name__)}, which has no call graph",
            fix="replace or wrap the layer instead, with unsaved=True if its class creates it; or change the class.",
            path=candidate.path,
        )

    # Names.

    def taken_names(self, path: str, *, without: Iterable[Any] = ()) -> set[str]:
        """Return the names in use beside the op at a path, new layers included: names are unique within a graph.

        The names of the ops in `without`, which leave the graph, are free again.
        """
        holder = self.holder(path)
        if id(holder) not in self._names:
            function = structure.function_of(holder)
            ops = structure.layers_of(holder) if function is None else list(function.operations)
            self._names[id(holder)] = {structure.name_of(op) for op in ops}
        free = {structure.name_of(op) for op in without}
        return (self._names[id(holder)] - free) | self._new_names.get(id(holder), set())

    def take_name(self, path: str, name: str) -> None:
        """Record the name of a new layer beside the op at a path."""
        self._new_names.setdefault(id(self.holder(path)), set()).add(name)

    def output_names(self, path: str) -> list[str]:
        """Return the output names of the compiled twin if it directly holds the op at a path, else none.

        A dict of outputs has keys of its own, which the names of ops do not change.
        """
        function = structure.function_of(self.twin)
        keyed = function is not None and isinstance(structure.outputs_of(function), dict)
        direct = self.holder(path) is self.twin and getattr(self.twin, "compiled", False) and not keyed
        return list(getattr(self.twin, "output_names", None) or ()) if direct else []

    def is_tied(self, variable: Any) -> bool:
        """Return whether several layers own a variable."""
        return self._owner_counts[id(variable)] > 1

    @functools.cached_property
    def _owner_counts(self) -> Counter[int]:
        ops = {id(op): op for op in self._ops.values()}.values()
        return Counter(id(variable) for op in ops for variable, _ in structure.variables_of(op))


def inside_first(root: Any) -> list[Any]:
    """Return every op below a model, each once and after everything inside it; the model itself comes last."""
    found: list[Any] = []
    begun: set[int] = set()
    waiting = [(root, False)]
    while waiting:
        op, entered = waiting.pop()
        if entered:
            found.append(op)
        elif id(op) not in begun:
            begun.add(id(op))
            waiting.append((op, True))
            waiting.extend((child, False) for child in ops_inside(op) if id(child) not in begun)
    return found


def layers_below(root: Any) -> list[Any]:
    """Return every layer below a layer or model and itself, each after everything inside it."""
    return [op for op in inside_first(root) if isinstance(op, keras.Layer)]
