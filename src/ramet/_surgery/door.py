"""The doors: `edit` carries edits out on a twin, `plan` says what they would do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from ramet._build.draw import drawn_from
from ramet._edit import Edit, Plan, Step, as_edits
from ramet._keras.counters import names_untouched
from ramet._surgery.carry_out import carry_out
from ramet._surgery.conflict import check_conflicts
from ramet._surgery.foresight import with_adapted
from ramet._surgery.kinds import KINDS
from ramet._surgery.saving import becomes_plain, check_saved
from ramet._surgery.scene import Scene
from ramet._twin.clone import clone
from ramet._twin.pause import collector_paused
from ramet.errors import NotAModelError, RametError


def edit(model: Any, *edits: Any, seed: int | None = None, unsaved: bool = False) -> Any:
    """The edited twin; see `ramet.edit`."""
    wanted = _checked(model, edits)
    with collector_paused(), drawn_from(seed):
        scene = Scene(model, clone(model))
        steps = _steps(wanted, scene)
        for one, step in zip(wanted, steps, strict=True):
            with _where(one):
                KINDS[one.kind].carry_out(one, step, scene)
        with names_untouched():  # layers make ops while they are called, for masks
            result = carry_out(scene)
        if not unsaved:
            for path, holder in scene.changed_holders():
                check_saved(holder, path)
    return result


def plan(model: Any, *edits: Any) -> Plan:
    """What the edits would do; see `ramet.plan`."""
    wanted = _checked(model, edits)
    scene = Scene(model, model)
    steps = [with_adapted(step, scene, len(wanted)) for step in _steps(wanted, scene)]
    return Plan(model.name, tuple(steps), tuple(_notes(steps, scene)))


def _steps(edits: tuple[Edit, ...], scene: Scene) -> list[Step]:
    steps = []
    for one in edits:
        with _where(one):
            steps.append(KINDS[one.kind].touch(one, scene))
    check_conflicts(steps)
    return steps


@contextlib.contextmanager
def _where(edit: Edit) -> Iterator[None]:
    """An error about an edit from a file tells its line, too."""
    try:
        yield
    except RametError as error:
        if edit.where is not None:
            error.add_note(f"This is the edit at {edit.where}.")
        raise


def _notes(steps: list[Step], scene: Scene) -> Iterator[str]:
    """What becomes of classes that would not save an edit."""
    told: set[int] = set()
    for step in steps:
        for touch in step.touched:
            for path in ["", *reversed(scene.ancestors(touch.path))]:
                op = scene.op_or_twin(path)
                if id(op) not in told and step.edit.kind not in _KEEP_CALLS and becomes_plain(op):
                    told.add(id(op))
                    name = f"'{path}'" if path else "the result"
                    yield f"{name} becomes a plain functional model: {type(op).__name__} would not save the new calls."


# These change no call: a class that makes its own config stays.
_KEEP_CALLS = frozenset({"freeze", "unfreeze"})


def _checked(model: Any, edits: Any) -> tuple[Edit, ...]:
    if not isinstance(model, keras.Model):
        raise NotAModelError(
            f"Cannot edit an object of class {type(model).__name__}: it is not a model.",
            expected="a keras model",
            fix="pass a model; put a layer on its own into a keras.Sequential.",
        )
    return as_edits(edits)
