"""Two edits that fight over one op."""

from __future__ import annotations

from ramet._edit.plan import Step, Touch
from ramet.errors import EditConflictError

# An edit that puts another op in the place of one, or leaves it out, cannot be combined with any other change to it.
_WHOLE = "layer"


def check_conflicts(steps: list[Step]) -> None:
    """Refuse edits of which one would undo, or not find, what another did."""
    taken: dict[str, list[tuple[int, Step, Touch]]] = {}
    for number, step in enumerate(steps):
        for touch in step.touched:
            for other_number, other_step, other in taken.get(touch.path, ()):
                if other_number != number and _fight(touch, other):
                    raise _conflict(touch.path, other_step, step)
            taken.setdefault(touch.path, []).append((number, step, touch))


def _fight(one: Touch, other: Touch) -> bool:
    if not one.claims or not other.claims:
        return False  # an insertion beside an op leaves the op as it is
    if _WHOLE in one.claims or _WHOLE in other.claims:
        return True
    return bool(one.claims & other.claims)


def _conflict(path: str, first: Step, second: Step) -> EditConflictError:
    return EditConflictError(
        f"Cannot edit '{path}': two edits would change it.",
        found=f"{first.edit!r} and {second.edit!r}",
        fix="select it in one of them only, or edit twice: edit(edit(model, first), second).",
        path=path,
    )
