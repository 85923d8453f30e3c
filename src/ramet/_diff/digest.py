"""What ops are alike: each op under a few numbers, equal for equal ops, from the strictest view to the roughest.

The numbers are given out by one table for both models, so equal numbers mean equal ops: there is nothing to collide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ramet._diff.place import Place, Side
from ramet._graph import Argument, FrozenDict, FrozenList, Graph, Op, Slice

__all__ = ["IGNORED", "Digest", "Digester", "is_automatic", "tokens"]

# No settings: the address of an object of another program.
IGNORED = frozenset({"shared_object_id"})
_NAMES = IGNORED | {"name"}
_FLAGS = _NAMES | {"trainable", "dtype"}


@dataclass(frozen=True, slots=True)
class Digest:
    """One op in numbers.

    Attributes:
        same: names included: equal ops all the way down.
        exact: all but names: class, settings, variables, what is inside.
        loose: class and settings, without flags, dtypes and the shapes of variables.
        rough: the class.
    """

    same: int
    exact: int
    loose: int
    rough: int


class Digester:
    """Gives the digests of the ops of both models."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self.of: dict[Place, Digest] = {}

    def add(self, side: Side) -> None:
        """Nothing; the places of a model have digests afterwards."""
        # What is inside a place comes after it.
        for place in reversed(side.places):
            self.of[place] = self._digest(place)

    def _number(self, *key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _digest(self, place: Place) -> Digest:
        op = place.op
        inside = [self.of[child] for child in place.inside]
        rough = self._number("rough", op.kind, op.class_name)
        nameless = self._number("config", op.no_config, *tokens(op.config, _NAMES))
        settings = self._number("settings", op.no_config, *tokens(op.config, _FLAGS))
        shapes = tuple((spec.id, spec.shape, spec.dtype, spec.trainable, spec.weight) for spec in op.variables)
        stub = op.same_as is not None
        exact = self._number("exact", rough, nameless, stub, *_flags(op), shapes, *(digest.exact for digest in inside))
        names = tuple(spec.id for spec in op.variables)
        loose = self._number("loose", rough, settings, names, *(digest.loose for digest in inside))
        wiring = None if place.graph is None else self._wiring(place.graph)
        same = self._number(
            "same", exact, op.id, op.name, op.same_as, op.variables, self._number("config", *tokens(op.config)),
            wiring, *(digest.same for digest in inside),
        )  # fmt: skip
        return Digest(same, exact, loose, rough)

    def _wiring(self, graph: Graph) -> int:
        calls = tuple(
            self._number(
                "call", call.id, call.outputs, call.mask_kinds, *tokens((call.args, call.kwargs, call.structure))
            )
            for call in graph.calls
        )
        ends = tokens((graph.inputs, graph.outputs))
        return self._number("wiring", graph.name, graph.class_name, graph.kind, len(graph.ops), calls, *ends)


def _flags(op: Op) -> tuple[object, ...]:
    return (op.module, op.registered_name, op.trainable, op.dtype_policy, op.built, *tokens(op.flags))


def tokens(value: Argument, ignored: frozenset[str] = frozenset()) -> list[object]:
    """The argument as a flat list that no other argument has; dicts without the ignored keys.

    Python's own comparison recurses, and holds 1, 1.0 and True for equal.
    """
    found: list[object] = []
    waiting: list[Argument] = [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        found.append(kind)
        if isinstance(item, FrozenDict):
            pairs = [pair for pair in item.pairs if pair[0] not in ignored]
            found.append(len(pairs))
            found.extend((type(key), key) for key, _ in pairs)
            waiting.extend(part for _, part in reversed(pairs))
        elif isinstance(item, FrozenList):
            found.append(len(item))
            waiting.extend(reversed(item.items))
        elif isinstance(item, tuple):
            found.append(len(item))
            waiting.extend(reversed(item))
        elif isinstance(item, Slice):
            waiting += (item.step, item.stop, item.start)
        else:
            # NaN equals NaN here, and 0.0 is not -0.0.
            found.append(repr(item) if kind is float or kind is complex else item)
    return found


def is_automatic(op: Op) -> bool:
    """Whether an op has the name that Keras would give it: `conv2d`, `conv2d_3`. Such a name says little."""
    name = re.sub(r"_[0-9]+$", "", op.name)
    return name == _snake_case(op.class_name)


def _snake_case(name: str) -> str:
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
