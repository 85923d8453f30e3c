"""Attributes that need something else than a copy, in the ways that the compiled walk knows, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the compiled walk, which the copier is made of, knows these handlers
    from ramet._copy.copier import Copier

_NONE: dict[str, Any] = {}


class Later:
    """Made in the finish step; named now, so that attributes keep their order."""

    def __call__(self, old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
        target[name] = None


class Emptied:
    """A container of the same class, without its items: these are identities, or calls of other models.

    Args:
        base: The builtin class that it comes from.
        kept_empty: Attributes of the container that are lists of the items once more.
    """

    def __init__(self, base: Any, kept_empty: tuple[str, ...] = ()) -> None:
        self.base = base
        self.kept_empty = kept_empty

    def __call__(self, old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
        target[name] = self.twin(value, copier)

    def twin(self, value: Any, copier: Copier) -> Any:
        """The empty container: the twin of `value` from now on."""
        return copier.memo[id(value)] if id(value) in copier.memo else self.fresh(value, copier)

    def fresh(self, value: Any, copier: Copier) -> Any:
        """As `twin`, whether there was one or not."""
        new = copier.memo[id(value)] = self.base.__new__(type(value))
        for name, part in getattr(value, "__dict__", _NONE).items():
            object.__setattr__(new, name, [] if name in self.kept_empty else copier.copy(part))
        return new


class Value:
    """The value of a variable: copied, or noted where values are copied later, many in one call."""

    def __call__(self, old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
        if value is None or copier.plans[type(value)].is_batched:
            target[name] = None
            copier.records["values"].append((old, target))
        else:
            target[name] = copier.copy(value)
