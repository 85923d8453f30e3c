"""What can go wrong, one tree.

    RametError
    ├── NotAModelError        also TypeError, ValueError   what was passed is nothing that can be cloned
    ├── ArgumentError         also ValueError              an argument that cannot be meant
    ├── CannotCopyError       also TypeError               something inside the model cannot be copied
    ├── StateElsewhereError   also RuntimeError            the model's values are not in the model right now
    ├── RebuildError          also ValueError              a layer refused what it was called with
    ├── WeightsDoNotFitError  also ValueError              weights of two models have other paths, shapes or dtypes
    ├── EditError             also ValueError              an edit cannot be carried out
    │   ├── EditConflictError                              two edits would change the same thing
    │   ├── NeedsCallGraphError                            a layer is called by its owner's own code
    │   ├── LostOnSaveError                                a saved file would not keep the edit
    │   └── DoesNotFitError   also RebuildError            what was put in does not fit to what is around it
    ├── RecipeError           also ValueError              a recipe cannot be read, written or carried out
    ├── GraphError            also ValueError              a graph breaks its own rules
    ├── FormatError           also ValueError              a text is not the JSON of a graph
    ├── ModelFileError        also ValueError              a file is missing, broken, or no model
    │   ├── HostileFileError                               a file that Keras cannot have written
    │   ├── OutOfBudgetError                               reading it would take more memory or time than allowed
    │   └── UnsafeFileError                                loading it could run code or open other files
    ├── UnknownPathError      also LookupError             nothing stands at this path
    ├── NoMatchError          also LookupError             a selector finds nothing, and something was needed
    ├── VerifyError           also AssertionError          two models are not the same
    └── UnsupportedKerasError also ImportError             this Keras is too old

    RametWarning (a UserWarning)
    ├── LostOnSaveWarning     a config does not describe an edit that unsaved=True let through; a file will not keep it
    ├── NoEffectWarning       a changed setting does not change what the layer around it computes
    ├── SharedGlobalWarning   a function reads state through a global; both twins will use it
    └── UntestedKerasWarning  this Keras is newer than any that was tested

Every error has the same form: a first line that stands alone, then `expected:`, `found:` or `closest:`, then
`fix:`. The parts are attributes of the exception.
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
        parts = {
            "expected": self.expected,
            "found": self.found,
            "closest": self.closest,
            "fix": self.fix,
            "path": self.path,
        }
        return _revive, (type(self), self.summary, parts)


def _revive(cls: type[RametError], summary: str, parts: dict[str, object]) -> RametError:
    return cls(summary, **parts)  # type: ignore[arg-type]  # the parts of an error of the same class


class NotAModelError(RametError, TypeError, ValueError):
    """What was passed is neither a model nor a layer, optimizer, metric, or a collection of them."""


class ArgumentError(RametError, ValueError):
    """An argument has a value that cannot be meant."""


class CannotCopyError(RametError, TypeError):
    """Something inside the model cannot be copied. `path` says where it stands."""


class StateElsewhereError(RametError, RuntimeError):
    """The model's values are not in the model right now: another thread trains or runs it."""


class RebuildError(RametError, ValueError):
    """A model cannot be rebuilt: a layer refused its input, or an output that is used was not computed."""


class EditError(RametError, ValueError):
    """An edit cannot be carried out. `path` says at which op."""


class EditConflictError(EditError):
    """Two edits would change the same thing of one op."""


class NeedsCallGraphError(EditError):
    """An edit concerns a layer that is called by its owner's own code, where no call can be changed."""


class LostOnSaveError(EditError):
    """An edit would be gone once the model is saved and loaded, because a class makes its own config."""


class DoesNotFitError(EditError, RebuildError):
    """What an edit puts in does not fit to what is around it."""


class WeightsDoNotFitError(RametError, ValueError):
    """Weights of one model do not fit those of another: other paths, shapes or dtypes. Nothing was written."""


class RecipeError(RametError, ValueError):
    """A recipe cannot be read, written or carried out. `path` says where it is wrong: `slim.toml:7:9`."""

    @property
    def line(self) -> int | None:
        """The line in the file, counted from 1; None where the file as a whole is meant."""
        return self._number(-2)

    @property
    def column(self) -> int | None:
        """The column in that line, counted from 1."""
        return self._number(-1)

    def _number(self, place: int) -> int | None:
        parts = (self.path or "").rsplit(":", 2)
        numbers = len(parts) == 3 and all(part.isdecimal() for part in parts[1:])
        return int(parts[place]) if numbers else None


class GraphError(RametError, ValueError):
    """A graph breaks its own rules. `problems` lists all of them."""

    def __init__(self, summary: str, *, problems: Sequence[object] = (), **parts: object) -> None:
        self.problems = tuple(problems)
        super().__init__(summary, **parts)  # type: ignore[arg-type]  # the parts of any error

    def __reduce__(self) -> tuple[object, ...]:
        parts = {name: getattr(self, name) for name in ("expected", "found", "closest", "fix", "path", "problems")}
        return _revive, (type(self), self.summary, parts)


class FormatError(RametError, ValueError):
    """A text is not the JSON of a graph. `path` says where in the text."""


class ModelFileError(RametError, ValueError):
    """A file is missing, broken, or does not hold a model. `path` says where in the file."""


class HostileFileError(ModelFileError):
    """A file breaks a limit, or a rule that every file keeps which Keras has written."""


class OutOfBudgetError(ModelFileError):
    """Reading a file would take more memory, time or disk than a file of its size may; see `Limits`."""


class UnsafeFileError(ModelFileError):
    """Loading a file could run code or open other files, and nobody has said to trust it."""


class UnknownPathError(RametError, LookupError):
    """No op, call or variable stands at this path."""


class NoMatchError(RametError, LookupError):
    """No op of the model matches, and at least one was asked for."""


class VerifyError(RametError, AssertionError):
    """Two models are not the same. Its text lists the checks that failed, each with its first differences."""


class UnsupportedKerasError(RametError, ImportError):
    """The installed Keras is older than the oldest supported one."""


class RametWarning(UserWarning):
    """The base of all warnings of ramet."""


class LostOnSaveWarning(RametWarning):
    """A model is saved whose config does not describe an edit: the file does not keep the edit."""


class NoEffectWarning(RametWarning):
    """A setting of a layer was changed, and the code that uses the layer gives the same outputs as before."""


class SharedGlobalWarning(RametWarning):
    """A function of the model reads state through a global name: original and twin both use that state."""


class UntestedKerasWarning(RametWarning):
    """The installed Keras is newer than the newest one ramet was tested with."""


@contextlib.contextmanager
def foreign_errors(verb: str, what: str, kind: type[RametError], path: str | None = None) -> Iterator[None]:
    """Turn whatever a user's class raises into an error of ramet, with the original as its cause.

    Args:
        verb: What is being done: `cut`.
        what: What it is done to: `'model'`.
        kind: The class of the error.
        path: Where it happened, as far as that is known.
    """
    try:
        yield
    except (RametError, MemoryError, RecursionError, Warning):
        raise
    except Exception as error:
        raise kind(
            f"Cannot {verb} {what}: an error was raised on the way.",
            found=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
            fix="look at the cause of this error: a method or property of a class in the model raised it.",
            path=path,
        ) from error


def listed(names: Sequence[str], limit: int = 3) -> str:
    """The names in single quotes, at most `limit` of them, then how many more there are."""
    shown = ", ".join(f"'{name}'" for name in names[:limit])
    rest = len(names) - limit
    return f"{shown} and {rest} more" if rest > 0 else shown


def shown(value: object, limit: int = 60) -> str:
    """A value as it is written in code, on one line and not too long."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001  # an object of the user's may raise anything
        text = f"an object of class {type(value).__name__}"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
