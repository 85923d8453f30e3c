"""Walk two object graphs side by side, and compare attributes and sharing.

Graphs and variables have their own checks. This walk finds what those cannot see: attributes set by hand, arrays that are not
variables, functions and their closures, objects of the user's own classes.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import keras

from ramet._keras import IDENTITY_ATTRIBUTES, arrays_of, is_library_attribute, is_marked_lossy, structure
from ramet._report import count, with_article
from ramet._verify.compare import Measure, differ, is_other_float
from ramet._verify.findings import clip
from ramet._verify.reach import attributes, can_change, is_array, is_opaque, parts
from ramet._verify.report import Difference

Kind = Literal["value", "array", "sharing"]
# The value on a side that has none.
MISSING: Any = object()
# No object has a smaller id.
_SMALLEST_ID = 1 << 16
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class Found(NamedTuple):
    """A difference, its kind, and the values on both sides."""

    kind: Kind
    difference: Difference
    old: Any = MISSING
    new: Any = MISSING


class SideBySide:
    """One walk over two models.

    Two objects correspond if the same steps lead to them. The walk follows every pair of attributes, items, closures and
    slots once, and remembers which object corresponds to which: an object that meets two partners is shared on one side
    only. Numbers that differ may be ids of objects, as in caches; they are compared at the end, when all partners are known.

    The walk starts from pairs of ops. `names` has the paths of the original's ops, variables and so on, by id.
    """

    def __init__(self, pairs: Iterable[tuple[Any, Any]], names: dict[int, str], tolerance: Measure | None) -> None:
        self.names, self.tolerance = names, tolerance
        self.found: list[Found] = []
        self.compared = 0
        self.dtypes: list[tuple[Any, Any]] = []  # other floating-point dtypes, where a tolerance allows them
        self._partner: dict[int, Any] = {}
        self._back: dict[int, Any] = {}
        self._alive: list[Any] = []
        self._waiting = [(ours, theirs, names.get(id(ours), "")) for ours, theirs in pairs][::-1]
        self._ids: list[tuple[int, int, str]] = []  # numbers that differ, and may be ids
        while self._waiting:
            self._compare(*self._waiting.pop())
        for mine, yours, path in self._ids:
            # In a twin, the id of an object is replaced by the id of its counterpart.
            if mine not in self._partner or id(self._partner[mine]) != yours:
                self._add_change(path, mine, yours)

    def differences(self, kind: Kind) -> list[Difference]:
        """Return the differences of one kind."""
        return [found.difference for found in self.found if found.kind == kind]

    def _add(self, kind: Kind, path: str, text: str, old: Any, new: Any) -> None:
        self.found.append(Found(kind, Difference(path, text), old, new))

    def _add_change(self, path: str, old: Any, new: Any, note: str = "") -> None:
        self._add("value", path, f"{_text(old)} became {_text(new)}{note}", old, new)

    def _compare_arrays(self, a: Any, b: Any, path: str) -> None:
        for mine, yours in zip(arrays_of(a), arrays_of(b), strict=False):
            difference = differ(path, mine, yours, self.tolerance)
            if difference is not None:
                self.found.append(Found("array", difference, mine, yours))

    def _compare(self, a: Any, b: Any, path: str) -> None:
        given_path, path = path, self.names.get(id(a), path)
        self.compared += 1
        if a is b:
            return
        if self.tolerance is not None and is_other_float(a, b):
            self.dtypes.append((a, b))
        elif isinstance(a, _PLAIN) or isinstance(b, _PLAIN) or isinstance(a, type):
            if type(a) is int and type(b) is int and a != b and a >= _SMALLEST_ID:
                self._ids.append((a, b, path))
            elif type(a) is not type(b) or (a != b and repr(a) != repr(b)):  # NaN does not equal itself
                self._add_change(path, a, b)
        elif type(a) is not type(b):
            if not (isinstance(a, keras.Operation) and id(a) in self.names):  # found by the structure check
                self._add_change(path, a, b, f", {with_article(type(b).__name__)}")
        else:
            if is_array(a):
                self._compare_arrays(a, b, path)
            if self._is_known(a, b, given_path) or is_array(a) or is_opaque(a):
                return
            if not isinstance(a, keras.Variable):
                self._waiting.extend(reversed(list(self._inside(a, b, path))))
            elif id(a) not in self.names:  # the others are part of the state, which has its own check
                self._compare_arrays(a, b, path)

    def _is_known(self, a: Any, b: Any, path: str) -> bool:
        """Return whether the pair is known, and record sharing that only one side has."""
        known = id(a) in self._partner
        if can_change(a):
            if known and self._partner[id(a)] is not b:
                text = f"one {type(a).__name__} in the original, two in the other model"
                self._add("sharing", path, text, "one object", "two")
            elif not known and id(b) in self._back:
                known = True
                text = f"two {type(a).__name__}s in the original, one in the other model"
                self._add("sharing", path, text, "two", "one object")
        self._partner.setdefault(id(a), b)
        self._back.setdefault(id(b), a)
        self._alive.append((a, b))  # so that no id is reused during the walk
        return known

    def _inside(self, a: Any, b: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
        if isinstance(a, types.FunctionType):
            if a.__code__ != b.__code__ or a.__qualname__ != b.__qualname__:
                self._add_change(path, a, b)
                return
        elif _is_checked_elsewhere(a) or (isinstance(a, weakref.ReferenceType) and (a() is None or b() is None)):
            return
        elif isinstance(a, set | frozenset):
            if _plain_members(a) != _plain_members(b):
                self._add_change(path, a, b)
            return
        ours, theirs = (self._parts(value) for value in (a, b))
        if isinstance(a, dict | list | tuple) and len(a) != len(b):
            self._add(
                "value", path, f"{count(len(a), 'item')} became {len(b)}", count(len(a), "item"), count(len(b), "item")
            )
        for step, (mine, step_text) in ours.items():
            if step in theirs:
                yield mine, theirs[step][0], path + step_text
            elif not isinstance(a, list | tuple):
                self._add("value", path + step_text, f"{_text(mine)} is missing", mine, MISSING)
        for step, (yours, step_text) in theirs.items():
            if step not in ours and not isinstance(a, list | tuple):
                self._add("value", path + step_text, f"{_text(yours)} is new", MISSING, yours)

    def _parts(self, value: Any) -> dict[tuple[str, int], tuple[Any, str]]:
        """Return the parts by step; several may have the same step, so each is numbered."""
        found: dict[tuple[str, int], tuple[Any, str]] = {}
        numbers: dict[str, int] = {}
        own = attributes(value) or {}
        for step, part in parts(value):
            name = step.removeprefix(".")
            if name in own and _is_bookkeeping(name, part) and is_library_attribute(type(value), name):
                continue
            if name in IDENTITY_ATTRIBUTES or (step == ".training" and isinstance(value, keras.Layer)):
                continue  # torch stores the mode of the last run there
            if name == "get_config" and name in own and is_marked_lossy(value):
                continue  # ramet's own warning that a file loses an edit
            key = "[id]" if _is_address(step) else step
            numbers[key] = numbers.get(key, 0) + 1
            found[key, numbers[key]] = part, step
        return found


def _is_checked_elsewhere(value: Any) -> bool:
    """Return whether an object is a call, a tensor between calls, or a list of tracked objects."""
    cls = type(value)
    return isinstance(value, keras.KerasTensor) or structure.is_call_class(cls) or structure.is_tracker_class(cls)


def _is_bookkeeping(name: str, part: Any) -> bool:
    """Return whether a private attribute of a library holds internal notes, not a setting, an op or a variable."""
    if not name.startswith("_"):
        return False
    return not isinstance(part, bool | int | float | str | keras.Operation | keras.Variable | functools.partial)


def _is_address(step: str) -> bool:
    """Return whether a key is the address of an object, or made from one."""
    return len(step) > 12 and step.startswith("[") and sum(map(str.isdigit, step)) >= 12


def _plain_members(items: Any) -> set[str]:
    """Return the members of a set that are plain values; large integers may be ids."""
    return {
        repr(item)
        for item in items
        if isinstance(item, str | bool | float | bytes) or (isinstance(item, int) and item < 1 << 32)
    }


def _text(value: Any) -> str:
    if isinstance(value, types.FunctionType | types.MethodType | types.BuiltinFunctionType | type):
        return f"{value.__qualname__}"
    if isinstance(value, keras.Operation):
        return f"{type(value).__name__} '{value.name}'"
    text = repr(value)
    if isinstance(value, _PLAIN) or (isinstance(value, list | tuple | dict | set) and len(text) <= 60):
        return clip(text, 60)
    return with_article(type(value).__name__)
