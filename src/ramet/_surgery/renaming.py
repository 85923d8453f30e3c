"""`rename` and `prefix`: other names for ops, and paths of variables that follow."""

from __future__ import annotations

import keras

from ramet._edit import Edit, Skip, Step, Touch
from ramet._keras import rename
from ramet._surgery.scene import Scene
from ramet.errors import EditError


def touch(edit: Edit, scene: Scene) -> Step:
    """Every op that matches and gets another name than it has."""
    touched, skipped = [], []
    for candidate in scene.find(edit):
        old = candidate.op.name
        if edit.kind == "prefix":
            if scene.is_input(candidate.path):
                skipped.append(Skip(candidate.path, "an input: its name is what data is passed by"))
                continue
            new = f"{edit['text']}{old}"
        else:
            new = edit["name"](old) if callable(edit["name"]) else edit["name"]
        _check(new, candidate.path)
        if new != old:
            touched.append(Touch(candidate.path, f"is called '{new}'", claims=frozenset({"name"}), detail=new))
    return Step(edit, tuple(touched), tuple(skipped))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Rename, the innermost last: paths are changed from the outside in."""
    for item in step.touched:
        op = scene.op(item.path)
        beside = scene.names_beside(item.path)
        giving = {other.path: other.detail for other in step.touched if other.path != item.path}
        leaving = {scene.op(path).name for path, name in giving.items() if name != scene.op(path).name}
        if item.detail in (beside - leaving - {op.name}) | scene.names_given(item.path):
            raise EditError(
                f"Cannot rename '{item.path}' to '{item.detail}': the graph has an op of that name.",
                fix="choose another name.",
                path=item.path,
            )
    for item in step.touched:
        op = scene.op(item.path)
        scene.renamed.append((op.name, item.detail))
        scene.give_name(item.path, item.detail)
        rename.rename_op(op, item.detail)
        if isinstance(op, keras.layers.InputLayer):
            scene.orders.touch(op)
        scene.rename_outputs(item.path)
        scene.changed_inside(item.path)


def _check(name: object, path: str) -> None:
    if not isinstance(name, str) or not name or "/" in name:
        raise EditError(
            f"Cannot rename '{path}' to {name!r}: a name is a text without '/'.",
            fix="choose another name.",
            path=path,
        )
