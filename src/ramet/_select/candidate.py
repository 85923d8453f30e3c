"""All ops of a model, each once, with every place where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ramet._graph import Graph, Op

__all__ = ["MOST_PATHS", "Candidate", "Catalog", "Place", "candidates"]

# An op inside shared ops inside shared ops has a path for every way down. So many are told, the first ones.
MOST_PATHS = 100


@dataclass(frozen=True, slots=True)
class Place:
    """One place where an op stands.

    Attributes:
        path: from below the root.
        op: its id there.
        graph: the graph it stands directly in; None inside a layer.
        calls: the ids of its calls in that graph.
    """

    path: str
    op: str
    graph: Graph | None = field(repr=False, hash=False)
    calls: tuple[str, ...] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One op of a model, that a selector may mean.

    Attributes:
        op: what is known of it.
        places: where it stands: a shared op stands at several places.
        paths: every path that leads to it, its first place first; more than places where it is inside a shared op.
        live: the live op, where there is a model.
    """

    op: Op = field(hash=False)
    places: tuple[Place, ...]
    paths: tuple[str, ...] = field(repr=False)
    live: Any = field(default=None, compare=False, repr=False)

    @property
    def path(self) -> str:
        """The path of its first place."""
        return self.paths[0]

    @property
    def graph(self) -> Graph | None:
        """The graph it stands directly in at its first place; None inside a layer."""
        return self.places[0].graph

    @property
    def calls(self) -> tuple[str, ...]:
        """The ids of its calls at its first place."""
        return self.places[0].calls


def candidates(graph: Graph, live: Mapping[str, Any] | None = None) -> tuple[Candidate, ...]:
    """All ops at all levels in the model's order, each once.

    Args:
        graph: the graph of a model.
        live: the live ops by their paths.
    """
    return Catalog(graph, live).candidates


class Catalog:
    """The ops of a model by number, and which of them stand inside which.

    Attributes:
        graph: of the model.
        candidates: in the model's order.
        inside: for each op, and under -1 for the model itself, the numbers of what stands directly in it, by id.
    """

    def __init__(self, graph: Graph, live: Mapping[str, Any] | None = None) -> None:
        self.graph = graph
        self.inside: dict[int, dict[str, int]] = {-1: {}}
        ops: list[Op] = []
        places: list[list[Place]] = []
        holders: list[list[tuple[int, str]]] = []
        at: dict[str, int] = {}
        for path, op, owner, holder in self._walk(at):
            number = at.get(op.same_as, -1) if op.same_as is not None else -1
            if number < 0:
                # A stub that names no op told before, as in a graph that lint would refuse, stands for itself.
                number = len(ops)
                ops.append(op)
                places.append([])
                holders.append([])
                at[path] = number
            self.inside[owner].setdefault(op.id, number)
            places[number].append(Place(path, op.id, holder, _calls_in(holder, op.id)))
            if not _holds_itself(path, op):
                holders[number].append((owner, op.id))
        paths = _all_paths(places, holders)
        self.candidates = tuple(
            Candidate(op, tuple(stands), told, None if live is None else live.get(told[0]))
            for op, stands, told in zip(ops, places, paths, strict=True)
        )

    def __len__(self) -> int:
        return len(self.candidates)

    def graph_of(self, number: int) -> Graph | None:
        """The graph inside an op, or, for -1, of the model itself."""
        return self.graph if number < 0 else self.candidates[number].op.graph

    def _walk(self, at: dict[str, int]) -> Iterator[tuple[str, Op, int, Graph | None]]:
        """Every op with its path, the number of what holds it, and the graph it stands directly in."""
        levels: list[tuple[str, int, Graph | None, Iterator[Op]]] = [("", -1, self.graph, iter(self.graph.held))]
        while levels:
            prefix, owner, holder, ops = levels[-1]
            for op in ops:
                path = prefix + op.id
                yield path, op, owner, holder
                if op.inside:
                    own = at[path]
                    self.inside.setdefault(own, {})
                    levels.append((f"{path}/", own, op.graph, iter(op.inside)))
                    break
            else:
                levels.pop()


def _calls_in(graph: Graph | None, op: str) -> tuple[str, ...]:
    return () if graph is None else tuple(call.id for call in graph.calls_of(op))


def _holds_itself(path: str, op: Op) -> bool:
    """Whether an op stands inside itself, as a layer that keeps its parent: no path ends that goes on from there."""
    return op.same_as is not None and path.startswith(f"{op.same_as}/")


def _all_paths(places: list[list[Place]], holders: list[list[tuple[int, str]]]) -> list[tuple[str, ...]]:
    """Every path of every op, that of its first place first."""
    direct = [tuple(place.path for place in stands) for stands in places]
    if all(len(stands) == 1 for stands in places):
        return direct
    inner: list[list[int]] = [[] for _ in places]
    missing = [0] * len(places)
    for number, owners in enumerate(holders):
        for owner, _ in owners:
            if owner >= 0:
                inner[owner].append(number)
                missing[number] += 1
    # An op has its paths once all that hold it have theirs; a shared op is also held by what is told after it.
    paths: list[tuple[str, ...]] = [()] * len(places)
    ready = [number for number, count in enumerate(missing) if not count]
    while ready:
        number = ready.pop()
        told: dict[str, None] = {}
        for owner, own in holders[number]:
            if len(told) < MOST_PATHS:
                told.update(dict.fromkeys((own,) if owner < 0 else (f"{path}/{own}" for path in paths[owner])))
        paths[number] = tuple(told)[:MOST_PATHS]
        for other in inner[number]:
            missing[other] -= 1
            if not missing[other]:
                ready.append(other)
    # Every place is told, also those inside the op itself, which lead nowhere new.
    return [tuple(dict.fromkeys((*told, *stands))) for told, stands in zip(paths, direct, strict=True)]
