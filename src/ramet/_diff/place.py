"""Where every op of a model stands: a flat list of places, each knowing what is around it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ramet._graph import Call, Graph, Op

__all__ = ["Place", "Side", "lay_out"]


@dataclass(slots=True, eq=False)
class Place:
    """One place in the tree of ops.

    Attributes:
        path: from below the root; "" for the model itself.
        op: what stands there.
        parent: the place it stands in; None for the model itself.
        number: where it stands among its siblings.
        graph: the graph inside it, if it is a model.
        inside: the places directly inside it.
        first: the place where this very object stands first: mostly this one.
    """

    path: str
    op: Op
    parent: Place | None = None
    number: int = 0
    graph: Graph | None = None
    inside: list[Place] = field(default_factory=list)
    first: Place = field(init=False)

    def __post_init__(self) -> None:
        self.first = self

    @property
    def calls(self) -> tuple[Call, ...]:
        """Its calls in the graph it stands in."""
        around = self.around
        return () if around is None else around.calls_of(self.op.id)

    @property
    def around(self) -> Graph | None:
        """The graph it stands in, if that has calls."""
        graph = None if self.parent is None else self.parent.graph
        return graph if graph is not None and graph.calls else None


class Side:
    """One of the two models that are compared."""

    def __init__(self, graph: Graph, places: list[Place]) -> None:
        self.graph = graph
        self.places = places
        self.root = places[0]
        # Where paths are not unique (`lint` says so) the first one counts.
        self.at = {place.path: place for place in reversed(places)}
        for place in places:
            if place.op.same_as is not None:
                place.first = self.at.get(place.op.same_as, place)


def lay_out(graph: Graph) -> Side:
    """Every place of the model, each before what is inside it."""
    own = graph.root or Op(graph.name, "model", graph.class_name)
    places: list[Place] = []
    waiting = [Place("", own, graph=graph)]
    while waiting:
        place = waiting.pop()
        places.append(place)
        held = _held(place)
        prefix = f"{place.path}/" if place.parent is not None else ""
        place.inside = [Place(prefix + op.id, op, place, number, graph=op.graph) for number, op in enumerate(held)]
        waiting.extend(reversed(place.inside))
    return Side(graph, places)


def _held(place: Place) -> Iterable[Op]:
    return place.graph.held if place.graph is not None else place.op.children
