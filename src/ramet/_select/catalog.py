"""All ops of a model, each once, with every occurrence, every path and the number of its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ramet._graph import Graph, Op, Shape

# An op inside nested shared ops has one path for each combination of occurrences. Only the first ones are listed.
MOST_PATHS = 100


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One occurrence of an op in a model.

    Attributes:
        path: Its path from below the root.
        op: The id of the op there.
        graph: The graph that directly contains it; None inside a layer.
        calls: The ids of its calls in that graph.
    """

    path: str
    op: str
    graph: Graph | None = field(repr=False, hash=False)
    calls: tuple[str, ...] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One op of a model that a selector may match.

    Attributes:
        op: The op as data.
        occurrences: Where it occurs: a shared op occurs several times.
        paths: Every path that leads to it, starting with its first occurrence. An op inside a shared op has more paths than
            occurrences.
        live: The live op, if there is a model.
    """

    op: Op = field(hash=False)
    occurrences: tuple[Occurrence, ...]
    paths: tuple[str, ...] = field(repr=False)
    live: Any = field(default=None, compare=False, repr=False)

    @property
    def path(self) -> str:
        """The path of its first occurrence."""
        return self.paths[0]

    @property
    def graph(self) -> Graph | None:
        """The graph that directly contains its first occurrence; None inside a layer."""
        return self.occurrences[0].graph

    @property
    def calls(self) -> tuple[str, ...]:
        """The ids of its calls at its first occurrence."""
        return self.occurrences[0].calls

    @property
    def shapes(self) -> tuple[tuple[Shape | None, ...], ...]:
        """The shapes of its outputs, call by call, without repetition; () for an op without calls."""
        found: dict[tuple[Shape | None, ...], None] = {}
        for one in self.occurrences:
            for call in () if one.graph is None else one.graph.calls_of(one.op):
                found[tuple(value.shape for value in call.outputs)] = None
        return tuple(found)


class Catalog:
    """The ops of a model by number, and which of them are inside which.

    Attributes:
        graph: The graph of the model.
        candidates: The ops in the model's order, each once.
        inside: For each op, and under -1 for the model itself, the numbers of the ops directly inside it, by id.
    """

    def __init__(self, graph: Graph, live: Mapping[str, Any] | None = None) -> None:
        self.graph = graph
        self.inside: dict[int, dict[str, int]] = {-1: {}}
        ops: list[Op] = []
        occurrences: list[list[Occurrence]] = []
        holders: list[list[tuple[int, str]]] = []
        at = {"": -1}  # the numbers of ops by their paths, with a slash at the end
        for path, op in graph.walk():
            owner = at[path[: len(path) - len(op.id)]]
            holder = graph if owner < 0 else ops[owner].graph
            number = -1 if op.same_as is None else at.get(f"{op.same_as}/", -1)
            if number < 0:
                # A stub that names no earlier op, as in a graph with lint problems, counts as a separate op.
                number = at[f"{path}/"] = len(ops)
                ops.append(op)
                occurrences.append([])
                holders.append([])
            self.inside.setdefault(owner, {}).setdefault(op.id, number)
            calls = () if holder is None else tuple(call.id for call in holder.calls_of(op.id))
            occurrences[number].append(Occurrence(path, op.id, holder, calls))
            # No path goes through an op that is inside itself, such as a layer that keeps a reference to its parent.
            if op.same_as is None or not path.startswith(f"{op.same_as}/"):
                holders[number].append((owner, op.id))
        self.candidates = tuple(
            Candidate(op, tuple(found), paths, None if live is None else live.get(paths[0]))
            for op, found, paths in zip(ops, occurrences, _all_paths(occurrences, holders), strict=True)
        )

    def __len__(self) -> int:
        return len(self.candidates)

    def graph_of(self, number: int) -> Graph | None:
        """Return the graph inside an op, or, for -1, of the model itself."""
        return self.graph if number < 0 else self.candidates[number].op.graph


def _all_paths(occurrences: list[list[Occurrence]], holders: list[list[tuple[int, str]]]) -> list[tuple[str, ...]]:
    """Return every path of every op, that of its first occurrence first."""
    direct = [tuple(one.path for one in found) for found in occurrences]
    if all(len(found) == 1 for found in occurrences):
        return direct
    inner: list[list[int]] = [[] for _ in occurrences]
    missing = [0] * len(occurrences)
    for number, owners in enumerate(holders):
        for owner, _ in owners:
            if owner >= 0:
                inner[owner].append(number)
                missing[number] += 1
    # The paths of an op follow from those of all ops that hold it. A shared op may be held by ops that come after it.
    paths: list[tuple[str, ...]] = [()] * len(occurrences)
    ready = [number for number, count in enumerate(missing) if not count]
    while ready:
        number = ready.pop()
        found: dict[str, None] = {}
        for owner, own in holders[number]:
            if len(found) < MOST_PATHS:
                found.update(dict.fromkeys((own,) if owner < 0 else (f"{path}/{own}" for path in paths[owner])))
        paths[number] = tuple(found)[:MOST_PATHS]
        for other in inner[number]:
            missing[other] -= 1
            if not missing[other]:
                ready.append(other)
    # Every occurrence has its path listed, even one inside the op itself, which adds no new paths.
    return [tuple(dict.fromkeys((*found, *own))) for found, own in zip(paths, direct, strict=True)]


class Parameters:
    """Counts the parameters of ops and everything inside them; a variable that occurs several times counts once."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._sums = [0] * len(catalog)
        # Whether something in the op also occurs elsewhere, so that a plain sum could count it twice.
        self._shared = [False] * len(catalog)
        ops = catalog.candidates
        # The ops inside an op come after it.
        for number in reversed(range(len(ops))):
            specs = [spec for spec in ops[number].op.variables if spec.weight]
            inner = catalog.inside.get(number, {}).values()
            self._sums[number] = sum(spec.size for spec in specs) + sum(self._sums[other] for other in inner)
            self._shared[number] = any(spec.tied is not None for spec in specs) or any(
                self._shared[other] or len(ops[other].occurrences) > 1 for other in inner
            )

    def of(self, number: int) -> int:
        """Return the number of parameters of one op and everything inside it."""
        return self.together([number]) if self._shared[number] else self._sums[number]

    def together(self, numbers: Iterable[int]) -> int:
        """Return the number of parameters of several ops and everything inside them, each counted once."""
        waiting = list(numbers)
        seen = set(waiting)
        sizes: dict[str, int] = {}
        while waiting:
            number = waiting.pop()
            candidate = self._catalog.candidates[number]
            for spec in candidate.op.variables:
                if spec.weight:
                    sizes[spec.tied or f"{candidate.path}/{spec.id}"] = spec.size
            inner = set(self._catalog.inside.get(number, {}).values()) - seen
            seen |= inner
            waiting += inner
        return sum(sizes.values())
