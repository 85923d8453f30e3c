"""`rename` and `prefix`: other names for ops, and paths of variables that follow."""

from __future__ import annotations

from typing import Any

import keras

from ramet._edit.edit import Edit
from ramet._edit.name_uses import NameUses
from ramet._edit.naming import policies_follow
from ramet._edit.plan import Skip, Step, Touch
from ramet._edit.replacing import asked
from ramet._edit.scene import Scene
from ramet._keras import rename, structure
from ramet._select import anything
from ramet.errors import EditError


def touch(edit: Edit, scene: Scene) -> Step:
    """Every op that matches and gets another name than it has."""
    touched, skipped, notes = [], [], []
    uses = NameUses(scene.model)
    for candidate in scene.find(edit):
        old = candidate.op.name
        if edit.kind == "prefix":
            if scene.is_input(candidate.path):
                skipped.append(Skip(candidate.path, "an input: its name is what data is passed by"))
                continue
            if edit.selector == anything() and structure.function_of(scene.holder(candidate.path)) is None:
                skipped.append(Skip(candidate.path, "a part whose name its owner's code gives"))
                continue
            new = f"{edit['text']}{old}"
        else:
            new = asked(edit["name"], old) if callable(edit["name"]) else edit["name"]
        _check(new, candidate.path)
        use = None if new == old else uses.of(old)
        if use is not None and edit.selector == anything():
            skipped.append(Skip(candidate.path, use))
            continue
        if use is not None:
            raise EditError(
                f"Cannot rename '{candidate.path}': {use}.",
                fix="leave this name as it is, or write the new name into that class or function first.",
                path=candidate.path,
            )
        if new != old:
            if old in scene.output_names(candidate.path):
                notes.append(f"the output '{old}' is called '{new}', and so are its loss and metrics in the logs.")
            touched.append(Touch(candidate.path, f"is called '{new}'", claims=frozenset({"name"}), detail=new))
    return Step(edit, tuple(touched), tuple(skipped), tuple(notes))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Rename, the innermost last: paths are changed from the outside in."""
    _check_free(step, scene)
    with policies_follow(scene.twin):
        for item in step.touched:
            op = scene.op(item.path)
            if isinstance(op, keras.layers.InputLayer):
                _rename_key(op, item, scene)
                scene.orders.touch(op)
            rename.rename_op(op, item.detail)
    for item in step.touched:
        scene.give_name(item.path, item.detail)
        scene.rename_outputs(item.path)
        scene.changed_inside(item.path)


def _rename_key(op: Any, item: Touch, scene: Scene) -> None:
    """Where inputs are taken in a dict, the key follows the name: Keras wants them to be the same."""
    holder = scene.holder(item.path)
    function = structure.function_of(holder)
    if not rename.named_by_key(function, op):
        return
    if holder is not scene.twin:
        raise EditError(
            f"Cannot rename '{item.path}': '{holder.name}' is called with a dict that names it.",
            fix="rename inputs of the outermost model only, or flatten the model first.",
            path=item.path,
        )
    rename.rename_key(function, op.name, item.detail)


def _check_free(step: Step, scene: Scene) -> None:
    """No name may stand twice in one graph; those that are given up by the same edit are free."""
    taken: dict[int, set[str]] = {}
    for item in step.touched:
        holder = id(scene.holder(item.path))
        if holder not in taken:
            taken[holder] = scene.names_beside(item.path) | scene.names_given(item.path)
    for item in step.touched:
        taken[id(scene.holder(item.path))].discard(structure.name_of(scene.op(item.path)))
    for item in step.touched:
        names = taken[id(scene.holder(item.path))]
        if item.detail in names:
            raise EditError(
                f"Cannot rename '{item.path}' to '{item.detail}': the graph has an op of that name.",
                fix="choose another name.",
                path=item.path,
            )
        names.add(item.detail)


def _check(name: object, path: str) -> None:
    if not isinstance(name, str) or not name or "/" in name:
        raise EditError(
            f"Cannot rename '{path}' to {name!r}: a name is a text without '/'.",
            fix="choose another name.",
            path=path,
        )
