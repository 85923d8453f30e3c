"""What porting a file changes, leaves out and refuses: notes that every part of the port adds to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ramet._report import Summarized

# rewritten: the same setting, written differently. translated: expressed by other settings, ops or weights.
# dropped: a setting with the default value of the version that has it, or without influence on results.
# renamed: a layer has another name. left out: state of training that the target does not get.
# caution: the target does the same under a condition.
NoteKind: TypeAlias = Literal["rewritten", "translated", "dropped", "renamed", "left out", "caution"]


@dataclass(frozen=True, slots=True, repr=False)
class Note(Summarized):
    """One change to the model, or something that is left out.

    Attributes:
        kind: "rewritten", "translated", "dropped", "renamed", "left out" or "caution".
        path: The path of the layer; empty for the model itself.
        text: What was done: `alpha=0.3 is now negative_slope=0.3`.
    """

    kind: NoteKind
    path: str
    text: str

    def _summary(self) -> str:
        return f"{self.kind} at '{self.path}': {self.text}"

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


@dataclass(frozen=True, slots=True, repr=False)
class Refusal(Summarized):
    """One reason why a file cannot be ported.

    Attributes:
        path: The path of the layer; empty for the model itself.
        reason: What has no counterpart: `LocallyConnected2D does not exist in Keras 3`.
        fix: A way out.
    """

    path: str
    reason: str
    fix: str

    def _summary(self) -> str:
        return f"at '{self.path}': {self.reason}"

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


@dataclass(slots=True)
class Notes:
    """The notes and refusals of one file, in the order they were found; each occurs once.

    Attributes:
        allowed: The registered names of classes and functions that the user passed for this file.
        registry: Those that are registered in this process, perhaps by a library that has nothing to do with the file.
        functions: For Lambda layers, by path or name: the registered name of the function that replaces their code.
        used: The keys of `functions` that were used.
        renamed: The new names of outermost layers, by their old names.
        trains_alike: Whether the target can be compiled as the source was; not if a loss is left out.
    """

    allowed: frozenset[str] = frozenset()
    registry: frozenset[str] = frozenset()
    functions: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    trains_alike: bool = True
    _notes: dict[Note, None] = field(default_factory=dict)
    _refusals: dict[Refusal, None] = field(default_factory=dict)

    def add(self, kind: NoteKind, path: str, text: str) -> None:
        """Add a note about the layer at a path."""
        self._notes[Note(kind, path, text)] = None

    def remove(self, kind: NoteKind, path: str, text: str) -> None:
        """Remove a note that is not true any more."""
        self._notes.pop(Note(kind, path, text), None)

    def refuse(self, path: str, reason: str, fix: str) -> None:
        """Add a reason to refuse the file. Porting goes on, so that a plan lists all reasons."""
        self._refusals[Refusal(path, reason, fix)] = None

    def allows(self, name: str) -> bool:
        """Return whether a class or function of the user has this name."""
        return self.registered(name) is not None

    def registered(self, name: str) -> str | None:
        """Return the name under which Keras finds a class or function of the user; None if there is none of this name.

        `@register_keras_serializable(package)` registers a class as `package>Name`; a file may have either. Another package
        is accepted only for what the user passed.
        """
        bare = name.rpartition(">")[2]
        names = (name, f"Custom>{bare}", bare)
        passed = [*names, *sorted(one for one in self.allowed if one.rpartition(">")[2] == bare)]
        found = next((one for one in passed if one in self.allowed), None)
        return found or next((one for one in names if one in self.registry), None)

    def function_for(self, path: str) -> str | None:
        """Return the function that the user gave for the Lambda layer at a path, by its path or its name."""
        key = next((one for one in (path, path.rpartition("/")[2]) if one in self.functions), None)
        if key is None:
            return None
        self.used.add(key)
        self.add("translated", path, f"its code is replaced by the function {self.functions[key]}")
        return self.functions[key]

    def __iter__(self) -> Iterator[Note]:
        return iter(self._notes)

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """The reasons to refuse the file; empty if it can be ported."""
        return tuple(self._refusals)
