"""Changes of variables: which ones there are, how they are described, which are tied, and the numbers they hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from ramet._diff.alignment import align
from ramet._diff.change import ABSENT, Change, Kind
from ramet._diff.comparison import Comparison, find_regrouped
from ramet._diff.tree import Node, OpTree
from ramet._graph import Argument, VariableSpec, freeze, freeze_dict

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_FIELDS = ("shape", "dtype", "trainable", "weight", "name")
# Bytes of each side that are compared at a time: small enough to stay in the cache of a processor.
_BLOCK = 1 << 20
# Numbers measured at a time, in double precision: few enough that no BLAS library takes several threads for them.
_CHUNK = 1 << 13


# Descriptions and ties.


def compare_variables(comparison: Comparison) -> list[tuple[str, str]]:
    """Find changed variables, and ties that were made or lost.

    Returns:
        The paths of variables whose numbers can be compared, each pair of objects once.
    """
    pairing = comparison.pairing
    before, after = _first_paths(pairing.before), _first_paths(pairing.after)
    # One that was shared and no longer is has several partners: the first counts.
    after_of: dict[str, str] = {}
    nodes: dict[str, Node] = {}
    comparable: dict[tuple[str, str], None] = {}
    for one, other in pairing.objects():
        for old, new in _compare_op(comparison, one, other):
            path, partner = _path(one, old), _path(other, new)
            after_of.setdefault(path, partner)
            nodes[path] = one
            # Numbers of different shapes cannot be compared; the shape itself is reported.
            if old.shape is None or new.shape is None or old.shape == new.shape:
                comparable[before[path], after[partner]] = None
    before_of = {new: old for old, new in reversed(after_of.items())}
    for path, (lost, made) in sorted(find_regrouped(before, after, after_of, before_of).items()):
        change = Change("sharing", path, after_of[path], "tied", lost or ABSENT, made or ABSENT)
        comparison.add(nodes[path], change)
    return list(comparable)


def _compare_op(comparison: Comparison, one: Node, other: Node) -> list[tuple[VariableSpec, VariableSpec]]:
    """Find the changed variables of an op, and return its variables in pairs."""
    before = {spec.id: spec for spec in one.op.variables}
    after = {spec.id: spec for spec in other.op.variables}
    follows = comparison.has_changed_around(one)

    def add(
        old: VariableSpec | None,
        new: VariableSpec | None,
        what: str,
        was: Argument,
        now: Argument,
        *,
        own: bool = False,
    ) -> None:
        paths = None if old is None else _path(one, old), None if new is None else _path(other, new)
        comparison.add(one, Change("variable", *paths, what, was, now), consequence=follows and not own)

    lost = [spec for name, spec in before.items() if name not in after]
    made = [spec for name, spec in after.items() if name not in before]
    pairs = [(spec, after[name]) for name, spec in before.items() if name in after]
    for i, j in align([_facts(spec) for spec in lost], [_facts(spec) for spec in made]):
        # Renamed: another name, but the same facts at the same position.
        pairs.append((lost[i], made[j]))
        add(lost[i], made[j], "name", lost[i].id, made[j].id)
    known = {id(spec) for pair in pairs for spec in pair}
    for spec in lost:
        if id(spec) not in known:
            add(spec, None, "", _describe(spec), ABSENT)
    for spec in made:
        if id(spec) not in known:
            add(None, spec, "", ABSENT, _describe(spec))
    for old, new in pairs:
        for field in _FIELDS:
            was, now = getattr(old, field), getattr(new, field)
            if was != now and not (field == "name" and old.id != new.id):
                own = field == "trainable" and one.op.trainable == other.op.trainable
                add(old, new, field, was, now, own=own)
    return pairs


def _first_paths(tree: OpTree) -> dict[str, str]:
    """Return the path of every variable, with the first path of the same object."""
    specs = ((_path(node, spec), spec) for node in tree.nodes for spec in node.op.variables)
    return {path: spec.tied or path for path, spec in specs}


def _path(node: Node, spec: VariableSpec) -> str:
    return f"{node.path}/{spec.id}" if node.path else spec.id


def _facts(spec: VariableSpec) -> tuple[object, ...]:
    return spec.shape, spec.dtype, spec.trainable, spec.weight


def _describe(spec: VariableSpec) -> Argument:
    return freeze({"shape": spec.shape, "dtype": spec.dtype})


# Numbers.


class Numbers(Protocol):
    """The numbers of one variable, read piece by piece."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the variable."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the variable."""

    def part(self, start: int, stop: int) -> Array:
        """Return the numbers from `start` to `stop`, flat; valid until the next call."""


class Weights(Protocol):
    """The values of the variables of a model, read one at a time."""

    def paths(self) -> Iterable[str]:
        """Return the paths of all variables that can be read."""
        ...

    def read(self, path: str) -> Array:
        """Return the value of the variable at a path."""
        ...


@runtime_checkable
class PartialWeights(Protocol):
    """Weights whose variables can be read piece by piece, so that large ones need no memory."""

    def open(self, path: str) -> Numbers:
        """Return the numbers of the variable at a path."""
        ...


class InMemory:
    """The numbers of an array in memory."""

    def __init__(self, array: Array) -> None:
        self.shape, self.dtype = array.shape, array.dtype
        self._flat = array.reshape(-1)

    def part(self, start: int, stop: int) -> Array:
        """Return the numbers from `start` to `stop`."""
        return self._flat[start:stop]


def compare_weights(
    pairs: Iterable[tuple[str, str]],
    before: Weights,
    after: Weights,
    *,
    kind: Kind = "weights",
    name: Callable[[str], str] = lambda path: path,
    on_read: Callable[[str], None] = lambda _: None,
) -> tuple[int, list[Change]]:
    """Return the number of variables compared, and a change for each pair whose bits differ.

    Args:
        pairs: The paths of variables in both models.
        before: Reads the variables of the first model.
        after: Reads those of the second.
        kind: The kind of the changes.
        name: Returns the path to report for the path of a variable.
        on_read: Called with the path of each variable before it is read.
    """
    known, others = set(before.paths()), set(after.paths())
    compared = 0
    changes: list[Change] = []
    for old, new in pairs:
        if old in known and new in others:
            compared += 1
            on_read(old)
            changes += compare_arrays(name(old), name(new), _numbers(before, old), _numbers(after, new), kind=kind)
        elif old in known or new in others:
            stored = ("stored", "not stored") if old in known else ("not stored", "stored")
            changes.append(Change(kind, name(old), name(new), "presence", *stored))
    return compared, changes


def _numbers(weights: Weights, path: str) -> Numbers:
    return weights.open(path) if isinstance(weights, PartialWeights) else InMemory(weights.read(path))


def compare_arrays(old: str, new: str, before: Numbers, after: Numbers, *, kind: Kind = "weights") -> list[Change]:
    """Return the change between two arrays, in a list; an empty list if shape, dtype and every bit are equal."""
    if before.shape != after.shape:
        return [Change(kind, old, new, "shape", before.shape, after.shape)]
    size = math.prod(before.shape)
    if before.dtype == after.dtype and all(_same_bits(*parts) for parts in _blocks(before, after, size)):
        return []
    # Only arrays that differ are measured, which reads their equal blocks once more.
    distance = _Distance()
    for ours, theirs in _blocks(before, after, size):
        for start in range(0, len(ours), _CHUNK):
            distance.add(ours[start : start + _CHUNK], theirs[start : start + _CHUNK])
    # If all numbers are equal, the bits differ (-0.0, another NaN) or the dtype does.
    what = "values" if distance.changed else "bits" if before.dtype == after.dtype else "dtype"
    sides = distance.before.facts(before, size), distance.after.facts(after, size)
    return [Change(kind, old, new, what, *sides, freeze_dict({"size": size, **distance.facts()}))]


def _blocks(before: Numbers, after: Numbers, size: int) -> Iterator[tuple[Array, Array]]:
    step = max(_BLOCK // max(before.dtype.itemsize, 1), 1)
    for start in range(0, size, step):
        stop = min(start + step, size)
        yield before.part(start, stop), after.part(start, stop)


def _same_bits(before: Array, after: Array) -> bool:
    import numpy as np

    if before.dtype.hasobject:
        # Among objects, NaN equals itself, and 1 is not True.
        return all(type(a) is type(b) and (a == b or repr(a) == repr(b)) for a, b in zip(before, after, strict=True))
    ours, theirs = (np.ascontiguousarray(side).view(np.uint8) for side in (before, after))
    if ours.size % 8 == 0 and ours.ctypes.data % 8 == 0 and theirs.ctypes.data % 8 == 0:
        ours, theirs = ours.view(np.uint64), theirs.view(np.uint64)
    return bool(np.array_equal(ours, theirs))


class _Norm:
    """The norm of the numbers of one side, without NaN and infinities, which are counted."""

    def __init__(self) -> None:
        self.squares, self.nan, self.infinite = 0.0, 0, 0

    def facts(self, numbers: Numbers, size: int) -> Argument:
        facts: dict[str, object] = {"dtype": str(numbers.dtype), "norm": math.sqrt(self.squares)}
        facts |= {key: count for key, count in (("nan", self.nan), ("inf", self.infinite)) if count}
        if size == 1 and numbers.dtype.kind in "biuf":
            # Counters and learning rates are reported by their value.
            facts["value"] = numbers.part(0, 1)[0].item()
        return freeze(facts)


class _Distance:
    """The distance of two arrays where both are finite, added up chunk by chunk."""

    def __init__(self) -> None:
        self.before, self.after = _Norm(), _Norm()
        self.changed, self._squares, self._largest = 0, 0.0, 0.0

    def facts(self) -> dict[str, object]:
        return {"changed": self.changed, "difference": math.sqrt(self._squares), "largest": self._largest}

    def add(self, before: Array, after: Array) -> None:
        import numpy as np

        if not (_is_numeric(before) and _is_numeric(after)):
            # Texts and the like: equal, or not. Values of different kinds cannot be compared, so all of them differ.
            comparable = before.dtype == after.dtype or {before.dtype.kind, after.dtype.kind} <= set("OSTU")
            self.changed += int(np.count_nonzero(before != after)) if comparable else before.size
            return
        with np.errstate(all="ignore"):
            x, y = _wide(before), _wide(after)
            distance = np.abs(x - y)
            squares = [_squares(x), _squares(y), _squares(distance)]
            # Integers are compared as such: beyond 2**53, doubles cannot distinguish them.
            integers = before.dtype == after.dtype and before.dtype.kind in "iu"
            if all(map(math.isfinite, squares)):
                # No NaN and no infinity, which saves most of the work.
                self.changed += int(np.count_nonzero(before != after if integers else x != y))
                self.before.squares += squares[0]
                self.after.squares += squares[1]
            else:
                finite = np.isfinite(x) & np.isfinite(y)
                for values, side in ((x, self.before), (y, self.after)):
                    side.nan += int(np.count_nonzero(np.isnan(values)))
                    side.infinite += int(np.count_nonzero(np.isinf(values)))
                    side.squares += _squares(values[np.isfinite(values)])
                apart = before != after if integers else ~((x == y) | (np.isnan(x) & np.isnan(y)))
                self.changed += int(np.count_nonzero(apart))
                distance = distance[finite]
        self._squares += _squares(distance)
        self._largest = max(self._largest, float(distance.max(initial=0.0)))


def _squares(values: Array) -> float:
    import numpy as np

    return float(np.vdot(values, values).real)


def _is_numeric(array: Array) -> bool:
    import numpy as np

    # Kind "V" covers the dtypes of JAX and TensorFlow (bfloat16, float8, int4), but also raw bytes.
    return array.dtype.kind in "biufcV" and array.dtype.names is None and array.dtype.type is not np.void


def _wide(array: Array) -> Array:
    import numpy as np

    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
