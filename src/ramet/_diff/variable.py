"""What was changed about variables: which there are, their descriptions, and which of them are one and the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ramet._diff.align import align
from ramet._diff.change import ABSENT, Change
from ramet._diff.findings import Findings
from ramet._diff.place import Place, Side
from ramet._graph import Argument, VariableSpec, freeze

__all__ = ["Variables"]

_FIELDS = ("shape", "dtype", "trainable", "weight", "name")


class Variables:
    """The variables of both models.

    Attributes:
        pairs: the paths of those on both sides. One that was shared and is no longer has several partners: the first
            counts.
    """

    def __init__(self, found: Findings) -> None:
        self._found = found
        self.pairs: dict[str, str] = {}
        self._comparable: list[tuple[str, str]] = []
        self._at: dict[str, Place] = {}

    def compare(self) -> None:
        """Nothing; changed variables are found, and ties that were made or lost."""
        for one, other in self._found.objects():
            self._compare_op(one, other)
        self._compare_ties()

    def objects(self) -> list[tuple[str, str]]:
        """The paths of variables to compare by value, each pair of objects once, where they stand first."""
        before, after = _groups(self._found.match.before), _groups(self._found.match.after)
        return list(dict.fromkeys((before[old], after[new]) for old, new in self._comparable))

    def _compare_op(self, one: Place, other: Place) -> None:
        before = {spec.id: spec for spec in one.op.variables}
        after = {spec.id: spec for spec in other.op.variables}
        follows = self._found.changed_upwards(one)
        lost = [spec for name, spec in before.items() if name not in after]
        made = [spec for name, spec in after.items() if name not in before]
        pairs = [(spec, after[name]) for name, spec in before.items() if name in after]
        for i, j in align([_spec(spec) for spec in lost], [_spec(spec) for spec in made]):
            # Under another name, with the same shape at the same place.
            pairs.append((lost[i], made[j]))
            old, new = _path(one, lost[i]), _path(other, made[j])
            self._found.add(one, Change("variable", old, new, "name", lost[i].id, made[j].id), follows=follows)
        known = {id(spec) for pair in pairs for spec in pair}
        for spec in lost:
            if id(spec) not in known:
                self._found.add(one, Change("variable", _path(one, spec), None, old=_describe(spec)), follows=follows)
        for spec in made:
            if id(spec) not in known:
                self._found.add(one, Change("variable", None, _path(other, spec), new=_describe(spec)), follows=follows)
        for old_spec, new_spec in pairs:
            self._compare_specs(one, other, old_spec, new_spec, follows=follows)

    def _compare_specs(self, one: Place, other: Place, old: VariableSpec, new: VariableSpec, *, follows: bool) -> None:
        paths = _path(one, old), _path(other, new)
        self.pairs.setdefault(*paths)
        if old.shape is None or new.shape is None or old.shape == new.shape:
            # Numbers in another shape cannot be compared; that there is another shape is told.
            self._comparable.append(paths)
        self._at[paths[0]] = one
        for field in _FIELDS:
            was, now = getattr(old, field), getattr(new, field)
            if was == now or (field == "name" and old.id != new.id):
                continue
            frozen = field == "trainable" and one.op.trainable == other.op.trainable
            self._found.add(one, Change("variable", *paths, field, was, now), follows=follows and not frozen)

    def _compare_ties(self) -> None:
        match = self._found.match
        before, after = _groups(match.before), _groups(match.after)
        back = {new: old for old, new in reversed(self.pairs.items())}
        lost = _parted(before, after, self.pairs)
        made = {back[path]: other for path, other in _parted(after, before, back).items()}
        for path in sorted(lost.keys() | made.keys()):
            change = Change("sharing", path, self.pairs[path], "tied", lost.get(path, ABSENT), made.get(path, ABSENT))
            self._found.add(self._at[path], change)


def _parted(groups: Mapping[str, str], others: Mapping[str, str], pairs: Mapping[str, str]) -> dict[str, str]:
    """What was one with an earlier one and is no longer: its path, and that of the earlier one."""
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for path, group in groups.items():
        if path not in pairs:
            continue
        partner = others[pairs[path]]
        earlier = first.setdefault(group, path)
        if earlier != path and others[pairs[earlier]] != partner:
            found[path] = earlier
    return found


def _groups(side: Side) -> dict[str, str]:
    """The path of every variable with the path where the very same one stands first."""
    return {path: spec.tied or path for path, spec in _variables(side)}


def _variables(side: Side) -> Iterator[tuple[str, VariableSpec]]:
    return ((_path(place, spec), spec) for place in side.places for spec in place.op.variables)


def _path(place: Place, spec: VariableSpec) -> str:
    return f"{place.path}/{spec.id}" if place.path else spec.id


def _spec(spec: VariableSpec) -> tuple[object, ...]:
    return spec.shape, spec.dtype, spec.trainable, spec.weight


def _describe(spec: VariableSpec) -> Argument:
    return freeze({"shape": spec.shape, "dtype": spec.dtype})
