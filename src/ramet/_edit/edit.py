"""One change to a model, as a value: its kind, whom it concerns, and its settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ramet._select import Selector, anything
from ramet.errors import ArgumentError

# Edits after which the model computes what it computed before (at inference).
PRESERVING = frozenset(
    {"fold_batchnorm", "flatten", "drop_dropout", "split_activation", "merge_lora", "rename", "prefix"}
)


@dataclass(frozen=True, slots=True)
class Edit:
    """One change. Made by the functions of `ramet.edits`, or read from a recipe.

    Attributes:
        kind: The name of the function that makes it.
        selector: The ops it concerns; None where the edit finds them itself.
        settings: What else it was given, by name.
        required: Whether it is an error that nothing matches.
        where: Where it stands in a recipe, for messages.
    """

    kind: str
    selector: Selector | None = None
    settings: tuple[tuple[str, Any], ...] = ()
    required: bool = True
    where: str | None = field(default=None, compare=False)

    @property
    def preserving(self) -> bool:
        """Whether the model computes the same afterwards."""
        return self.kind in PRESERVING

    def __getitem__(self, name: str) -> Any:
        return dict(self.settings)[name]

    def __repr__(self) -> str:
        asked = self.selector is not None and self.selector != anything()
        parts = [repr(self.selector)] if asked else []
        parts += [f"{name}={_shown(value)}" for name, value in self.settings if value is not None]
        parts += ["required=False"] if asked and not self.required else []
        return f"{self.kind}({', '.join(parts)})"


def as_edits(given: Iterable[Any]) -> tuple[Edit, ...]:
    """The edits among what was passed: edits, recipes and lists of them, in order."""
    return tuple(_flat(given))


def _flat(given: Iterable[Any]) -> Iterator[Edit]:
    waiting = list(given)[::-1]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Edit):
            yield item
        elif isinstance(item, list | tuple):
            waiting.extend(reversed(item))
        elif hasattr(item, "edits"):
            waiting.extend(reversed(item.edits))
        else:
            raise ArgumentError(
                f"Cannot edit with an object of class {type(item).__name__}: it is no edit.",
                expected="edits, as the functions of ramet.edits make them, or a recipe",
                fix="from ramet import edits as e, then for example e.freeze('encoder').",
            )


def _shown(value: Any) -> str:
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
