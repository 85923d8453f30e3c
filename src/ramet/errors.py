"""Errors and warnings of ramet, in one tree each.

    RametError
    ├── NotAModelError        also TypeError, ValueError   the argument is not a model, layer, optimizer, metric or loss
    ├── ArgumentError         also ValueError              an argument has an invalid value
    ├── CannotCopyError       also TypeError               something inside the model cannot be copied
    ├── StateElsewhereError   also RuntimeError            another thread or loop holds the model's values
    ├── RebuildError          also ValueError              a layer rejected its new inputs
    ├── WeightsDoNotFitError  also ValueError              the weights of two models differ in path, shape or dtype
    ├── EditError             also ValueError              an edit cannot be applied
    │   ├── EditConflictError                              two edits would change the same thing
    │   ├── NeedsCallGraphError                            a layer is called by the code of a class, not by a graph
    │   ├── LostOnSaveError                                a saved file would not keep the edit
    │   └── DoesNotFitError   also RebuildError            a new layer does not fit the layers around it
    ├── RecipeError           also ValueError              a recipe cannot be read, written or applied
    ├── GraphError            also ValueError              a graph is not consistent
    ├── FormatError           also ValueError              a text is not the JSON of a graph
    ├── ModelFileError        also ValueError              a file is missing, broken, or not a model
    │   ├── HostileFileError                               a file that Keras cannot have written
    │   ├── OutOfBudgetError                               reading it would take more memory or time than allowed
    │   └── UnsafeFileError                                loading it could run code or open other files
    ├── UnknownPathError      also LookupError             there is no op, call or variable at this path
    ├── NoMatchError          also LookupError             a selector matches no op, but a match is required
    ├── VerifyError           also AssertionError          two models differ
    └── UnsupportedKerasError also ImportError             this Keras is too old

    RametWarning (a UserWarning)
    ├── LostOnSaveWarning     the saved file will not contain an edit that unsaved=True allowed
    ├── NoEffectWarning       a changed setting does not change what the layer around it computes
    ├── SharedGlobalWarning   a function reads a global; original and twin both use it
    └── UntestedKerasWarning  this Keras is newer than any tested version

Every message has the same form: a summary that can be read on its own, then `expected:`, `found:` or `closest:`, then
`fix:`. Each part is also an attribute of the exception.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

__all__ = [
    "ArgumentError",
    "CannotCopyError",
    "DoesNotFitError",
    "EditConflictError",
    "EditError",
    "FormatError",
    "GraphError",
    "HostileFileError",
    "LostOnSaveError",
    "LostOnSaveWarning",
    "ModelFileError",
    "NeedsCallGraphError",
    "NoEffectWarning",
    "NoMatchError",
    "NotAModelError",
    "OutOfBudgetError",
    "RametError",
    "RametWarning",
    "RebuildError",
    "RecipeError",
    "SharedGlobalWarning",
    "StateElsewhereError",
    "UnknownPathError",
    "UnsafeFileError",
    "UnsupportedKerasError",
    "UntestedKerasWarning",
    "VerifyError",
    "WeightsDoNotFitError",
]


class RametError(Exception):
    """An error with its parts as data: `summary`, `expected`, `found`, `closest`, `fix`, `path`."""

    _parts: tuple[str, ...] = ("expected", "found", "closest", "fix", "path")

    def __init__(
        self,
        summary: str,
        *,
        expected: str | None = None,
        found: str | None = None,
        closest: Sequence[str] = (),
        fix: str | None = None,
        path: str | None = None,
    ) -> None:
        self.summary = summary
        self.expected = expected
        self.found = found
        self.closest = tuple(closest)
        self.fix = fix
        self.path = path
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [self.summary]
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        if self.found:
            lines.append(f"  found:    {self.found}")
        if self.closest:
            lines.append(f"  closest:  {listed(self.closest)}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross process boundaries by pickle, which would call the class with the text alone.
        return _revive, (type(self), self.summary, {name: getattr(self, name) for name in self._parts})


def _revive(cls: type[RametError], summary: str, parts: dict[str, object]) -> RametError:
    return cls(summary, **parts)  # type: ignore[arg-type]  # the parts of an error of the same class


class NotAModelError(RametError, TypeError, ValueError):
    """The argument is not a model, layer, optimizer, metric or loss, nor a collection of these."""


class ArgumentError(RametError, ValueError):
    """An argument has an invalid value."""


class CannotCopyError(RametError, TypeError):
    """Something inside the model cannot be copied; `path` locates it."""


class StateElsewhereError(RametError, RuntimeError):
    """The model does not hold its values right now, because another thread trains or runs it."""


class RebuildError(RametError, ValueError):
    """A model cannot be rebuilt: a layer rejected its input, or an output that is used was not computed."""


class EditError(RametError, ValueError):
    """An edit cannot be applied; `path` locates the op."""


class EditConflictError(EditError):
    """Two edits would change the same aspect of one op."""


class NeedsCallGraphError(EditError):
    """An edit needs to change calls that are made by the code of a class, not by a graph."""


class LostOnSaveError(EditError):
    """An edit would be lost when the model is saved, because a class creates its own layers from its config."""


class DoesNotFitError(EditError, RebuildError):
    """A layer that an edit adds does not fit the layers around it."""


class WeightsDoNotFitError(RametError, ValueError):
    """The weights of two models differ in path, shape or dtype. Nothing was written."""


class RecipeError(RametError, ValueError):
    """A recipe cannot be read, written or applied; `path` locates the problem."""

    @property
    def line(self) -> int | None:
        """Line number of a syntax error, from 1; None for any other problem."""
        return self._number(-2)

    @property
    def column(self) -> int | None:
        """Column number of a syntax error, from 1; None for any other problem."""
        return self._number(-1)

    def _number(self, place: int) -> int | None:
        parts = (self.path or "").rsplit(":", 2)
        numbers = len(parts) == 3 and all(part.isdecimal() for part in parts[1:])
        return int(parts[place]) if numbers else None


class GraphError(RametError, ValueError):
    """A graph is not consistent; `problems` lists every violation."""

    _parts = (*RametError._parts, "problems")

    def __init__(self, summary: str, *, problems: Sequence[object] = (), **parts: object) -> None:
        self.problems = tuple(problems)
        super().__init__(summary, **parts)  # type: ignore[arg-type]  # the parts of any error


class FormatError(RametError, ValueError):
    """A text is not the JSON of a graph; `path` locates the problem in it."""


class ModelFileError(RametError, ValueError):
    """A file is missing, broken, or not a model; `path` locates the problem in it."""


class HostileFileError(ModelFileError):
    """A file exceeds a limit, or has a form that Keras never writes."""


class OutOfBudgetError(ModelFileError):
    """Reading a file would take more memory, time or disk space than its size justifies."""


class UnsafeFileError(ModelFileError):
    """Loading a file could run code or open other files, and the file is not marked as trusted."""


class UnknownPathError(RametError, LookupError):
    """There is no op, call or variable at this path."""


class NoMatchError(RametError, LookupError):
    """A selector matches no op of the model, but at least one match is required."""


class VerifyError(RametError, AssertionError):
    """Two models differ. The message lists the failed checks, each with its first differences."""


class UnsupportedKerasError(RametError, ImportError):
    """The installed Keras is older than the oldest supported one."""


class RametWarning(UserWarning):
    """Base class of all warnings of ramet."""


class LostOnSaveWarning(RametWarning):
    """A model is saved whose config does not describe an edit, so the file will not contain it."""


class NoEffectWarning(RametWarning):
    """A setting of a layer was changed, but the layer around it still computes the same outputs."""


class SharedGlobalWarning(RametWarning):
    """A function of the model reads mutable state through a global, which original and twin then share."""


class UntestedKerasWarning(RametWarning):
    """The installed Keras is newer than the newest tested version."""


@contextlib.contextmanager
def foreign_errors(verb: str, what: str, kind: type[RametError], path: str | None = None) -> Iterator[None]:
    """Turn whatever a user's class raises into an error of ramet, with the original as its cause.

    Args:
        verb: The operation, such as `cut`.
        what: Its object, such as `'model'`.
        kind: The class of the error to raise.
        path: The path at which the error occurred, if known.
    """
    try:
        yield
    except (RametError, MemoryError, RecursionError, Warning):
        raise
    except Exception as error:
        raise kind(
            f"Cannot {verb} {what}: a class in the model raised an error.",
            found=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
            fix="see the cause of this error: a method or property of a class in the model raised it.",
            path=path,
        ) from error


def listed(names: Sequence[str], limit: int = 3) -> str:
    """Return the names in single quotes, at most `limit` of them, and the number of the others."""
    shown = ", ".join(f"'{name}'" for name in names[:limit])
    rest = len(names) - limit
    return f"{shown} and {rest} more" if rest > 0 else shown


def shown(value: object, limit: int = 60) -> str:
    """Return the repr of a value on one line, shortened to `limit` characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001  # an object of the user's may raise anything
        text = f"an object of class {type(value).__name__}"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
