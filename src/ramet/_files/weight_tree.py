"""Which group of a weights file belongs to which layer.

Keras walks the attributes of a model: a layer's group is called like the attribute that holds it, or, in a list or a dict,
like its class with a number. The variables of a layer are in the group `vars` inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ramet._files.known import snake_case
from ramet._files.listing import ArraySpec, Listing

__all__ = ["Saved", "WeightTree", "group_names"]

_VARIABLES = "vars"
# What Keras 2.13 called the list of a model's layers.
_OLD_LAYERS = "_layer_checkpoint_dependencies"


@dataclass(frozen=True, slots=True)
class Saved:
    """One object that has been saved inside another.

    Attributes:
        attribute: of the object that holds it; for an item of a list, the attribute that holds the list.
        group: its path in the file.
        item: for an item of a list or dict, the name of its group, which tells the class; else None.
    """

    attribute: str
    group: str
    item: str | None = None


class WeightTree:
    """The groups of a weights file as objects inside objects."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        # Some files have been written with the other slash: their groups are one level with long names.
        self._real = {_with_slashes(path): path for path in (*listing.arrays, *listing.groups)}
        self._inside: dict[str, dict[str, None]] = {}
        for path in self._real:
            while path:
                parent, _, name = path.rpartition("/")
                names = self._inside.setdefault(parent, {})
                if name in names:
                    break
                names[name] = None
                path = parent

    def has(self, group: str) -> bool:
        """Whether there is such a group."""
        return group in self._inside or group in self._real

    def layers_group(self, group: str) -> str | None:
        """The list of layers of a functional or Sequential model; None for any other object."""
        for name in ("layers", _OLD_LAYERS):
            path = _join(group, name)
            if path in self._inside and _VARIABLES not in self._inside[path]:
                return path
        return None

    def name(self, group: str) -> str | None:
        """What Keras called the object; None where the file does not say."""
        path = _join(group, _VARIABLES)
        return self._listing.group(self._real.get(path, path)).name

    def arrays(self, group: str) -> list[tuple[str, str, ArraySpec]]:
        """The object's own variables: key, path in the file, what it is; numbered ones in order."""
        path = _join(group, _VARIABLES)
        found = []
        for key in sorted(self._inside.get(path, ()), key=_by_number):
            real = self._real.get(_join(path, key), "")
            if real in self._listing.arrays:
                found.append((key, real, self._listing.arrays[real]))
        return found

    def saved_in(self, group: str, skip: Iterable[str] = ()) -> Iterator[Saved]:
        """The objects saved inside an object: under its attributes, and in lists under them."""
        left_out = {_VARIABLES, *skip}
        for attribute in self._inside.get(group, ()):
            if attribute in left_out:
                continue
            waiting: list[tuple[str, str | None]] = [(_join(group, attribute), None)]
            while waiting:
                path, item = waiting.pop()
                inside = self._inside.get(path, {})
                if _VARIABLES in inside:
                    yield Saved(attribute, path, item)
                else:
                    waiting += [(_join(path, name), name) for name in reversed(inside)]


def group_names(class_names: Iterable[str]) -> list[str]:
    """What the items of a list are called in a weights file: `dense`, `dense_1`, ..."""
    counts: Counter[str] = Counter()
    names = []
    for class_name in class_names:
        base = snake_case(class_name)
        names.append(f"{base}_{counts[base]}" if counts[base] else base)
        counts[base] += 1
    return names


def _join(group: str, name: str) -> str:
    return f"{group}/{name}" if group else name


def _with_slashes(path: str) -> str:
    """The path with every slash the same; as it is where a name would become empty, which stands for what is around it."""
    slashed = path.replace("\\", "/")
    return slashed if all(slashed.split("/")) else path


def _by_number(key: str) -> tuple[int, int, str]:
    return (0, int(key), "") if key.isascii() and key.isdigit() and len(key) < 10 else (1, 0, key)
