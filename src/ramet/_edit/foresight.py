"""Which weights an edit would adapt, for a plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ramet._copy import clone
from ramet._edit import head, resizing
from ramet._edit.carry_out import carry_out
from ramet._edit.plan import AdaptedWeight, Step
from ramet._edit.probe import drawn_alike
from ramet._edit.scene import Scene
from ramet._edit.updating import weights_adapted
from ramet._keras import names_untouched
from ramet.errors import RametError


def with_adapted(step: Step, scene: Scene, edits: int) -> Step:
    """The step of a plan with the weights that it adapts.

    Which weights an input of another shape concerns shows only where it arrives: that edit is carried out on a twin, which
    is thrown away. Where it is refused on its own, but there are other edits, these may make the difference.
    """
    kind = step.edit.kind
    if kind == "update":
        settings = dict(step.edit["settings"])
        found = [
            one
            for item in step.touched
            for one in weights_adapted(scene.op(item.path), item.path, settings, step.edit["weights"])
        ]
    elif kind == "swap_head":
        first = step.touched[0]
        found = weights_adapted(scene.op(first.path), first.path, head.settings_of(step), step.edit["weights"])
    elif kind == "resize_input":
        try:
            found = drawn_alike(lambda: _carried_out(step, scene.model))
        except RametError as error:
            if edits == 1:
                raise
            note = f"on its own, this edit is refused: {error.summary} Together with the others it may be possible."
            return replace(step, notes=(*step.notes, note))
    else:
        return step
    return replace(step, adapted=tuple(found))


def _carried_out(step: Step, model: Any) -> list[AdaptedWeight]:
    scene = Scene(model, clone(model, keep_compiled=False))
    resizing.carry_out(step.edit, step, scene)
    with names_untouched():
        carry_out(scene, unsaved=True)
    return scene.adapted
