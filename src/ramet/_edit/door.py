"""The doors: `edit` carries edits out on a twin, `plan` says what they would do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from ramet._build import drawn_from
from ramet._copy import clone
from ramet._edit.carry_out import carry_out
from ramet._edit.conflict import check_conflicts
from ramet._edit.edit import Edit, as_edits
from ramet._edit.foresight import with_adapted
from ramet._edit.kinds import KINDS
from ramet._edit.lora import with_quantised
from ramet._edit.plan import Plan, Step
from ramet._edit.probe import drawn_alike
from ramet._edit.replacing import FROM_A_FUNCTION
from ramet._edit.saving import makes_its_parts
from ramet._edit.scene import Scene
from ramet._edit.training import notes_on_training
from ramet._keras import collector_paused, names_untouched, reading_configs, structure
from ramet.errors import EditError, LostOnSaveError, NotAModelError, RametError


def edit(model: Any, *edits: Any, seed: int | None = None, unsaved: bool = False) -> Any:
    """The edited twin; see `ramet.edit`."""
    wanted = _checked(model, edits)
    holder = _holder(model)
    result = _edited(holder, wanted, seed=seed, unsaved=unsaved)[0]
    return result if holder is model else result.layer


def _holder(model: Any) -> Any:
    """What is edited: the model, or a wrapper around a layer that has no layers inside, because selectors look inside."""
    if isinstance(model, keras.Model) or structure.inside(model):
        return model
    with names_untouched():
        holder = keras.layers.Wrapper(model, name=model.name)
    holder.built = model.built
    return holder


def _edited(model: Any, wanted: tuple[Edit, ...], *, seed: int | None, unsaved: bool) -> tuple[Any, list[str]]:
    with collector_paused(), drawn_from(seed), reading_configs():
        scene = Scene(model, clone(model))
        steps = _steps(wanted, scene)
        for one, step in zip(wanted, steps, strict=True):
            with _where(one, scene):
                KINDS[one.kind].carry_out(one, step, scene)
        # Layers make ops while they are called, for masks.
        with names_untouched(), _foreseen(scene, "edit"):
            return carry_out(scene, unsaved=unsaved)


def plan(model: Any, *edits: Any) -> Plan:
    """What the edits would do; see `ramet.plan`."""
    wanted = _checked(model, edits)
    holder = _holder(model)
    with reading_configs():
        scene = Scene(holder, holder)
        steps = _steps(wanted, scene)
        shown = with_quantised([with_adapted(step, scene, len(wanted)) for step in steps])
    notes = [*_notes(holder, wanted, steps, scene), *notes_on_training(steps, scene)]
    return Plan(model.name, tuple(shown), tuple(notes))


def _steps(edits: tuple[Edit, ...], scene: Scene) -> list[Step]:
    steps = []
    for one in edits:
        with _where(one, scene):
            steps.append(KINDS[one.kind].touch(one, scene))
    check_conflicts(steps)
    return steps


@contextlib.contextmanager
def _where(edit: Edit, scene: Scene) -> Iterator[None]:
    """An error about an edit has the path it happened at and, for an edit from a file, the line."""
    try:
        with _foreseen(scene, edit.kind):
            yield
    except RametError as error:
        if edit.where is not None:
            error.add_note(f"This is the edit at {edit.where}.")
        raise


@contextlib.contextmanager
def _foreseen(scene: Scene, verb: str) -> Iterator[None]:
    """Classes of users may raise anything: out comes a refusal with a path, and the error as its cause."""
    try:
        yield
    except (RametError, MemoryError, RecursionError, Warning):
        raise
    except Exception as error:
        if getattr(error, FROM_A_FUNCTION, False):
            raise
        path = scene.latest
        op = None if path is None else scene.op_or_twin(path)
        what = f"'{scene.model.name}'" if op is None else f"'{path}', a {type(op).__name__}"
        raise EditError(
            f"Cannot {verb} {what}: an error was raised on the way.",
            found=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
            fix="look at the cause of this error: a get_config, from_config, build or call of a class in the model.",
            path=path,
        ) from error


def _notes(model: Any, wanted: tuple[Edit, ...], steps: list[Step], scene: Scene) -> list[str]:
    """What becomes of classes that make their parts themselves. Only the result shows it, so the edits are tried on a twin."""
    paths = [touch.path for step in steps for touch in step.touched]
    around = {"", *(above for path in paths for above in scene.ancestors(path))} if paths else set()
    if not any(makes_its_parts(scene.op_or_twin(path)) for path in around):
        return []
    try:
        with names_untouched():
            notes: list[str] = drawn_alike(lambda: _edited(model, wanted, seed=None, unsaved=False)[1])
            return notes
    except RametError as error:
        unless = " without unsaved=True" if isinstance(error, LostOnSaveError) else ""
        return [f"edit refuses this{unless}: {error.summary}"]


def _checked(model: Any, edits: Any) -> tuple[Edit, ...]:
    if not isinstance(model, keras.Layer):
        raise NotAModelError(
            f"Cannot edit an object of class {type(model).__name__}: it is not a model or layer.",
            expected="a keras model, or a layer that holds layers",
            fix="pass a model or a layer.",
        )
    return as_edits(edits)
