"""`replace` and `wrap`: another layer instead of one, or around it."""

from __future__ import annotations

from typing import Any

import keras

from ramet._build import place_below
from ramet._edit.edit import Edit
from ramet._edit.from_config import as_factory
from ramet._edit.naming import settle
from ramet._edit.order import inside_first
from ramet._edit.plan import Step, Touch
from ramet._edit.scene import Scene
from ramet._keras import structure
from ramet.errors import EditError

FROM_A_FUNCTION = "_ramet_from_a_function"


def touch(edit: Edit, scene: Scene) -> Step:
    """Every op that matches."""
    what = "wrapped" if edit.kind == "wrap" else "another layer in its place"
    touched = []
    for candidate in scene.find(edit):
        if scene.is_input(candidate.path):
            raise EditError(
                f"Cannot {edit.kind} '{candidate.path}': it is an input.",
                fix="use resize_input for another shape, or clone the model on other inputs.",
                path=candidate.path,
            )
        touched.append(Touch(candidate.path, f"{candidate.op.class_name}, {what}", claims=frozenset({"layer"})))
    return Step(edit, tuple(touched))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Ask for the new layers, and put them in the place of the old ones."""
    for item in step.touched:
        old = scene.op(item.path)
        new = made(edit["layer"], old, item.path, scene)
        if new is old:
            continue
        if edit.kind == "wrap":
            _check_wraps(new, old, item.path, scene)
        # The old name is free again, unless the old layer lives on inside the new one.
        settle(
            new, (scene.names_beside(item.path) | scene.names_given(item.path)) - {structure.name_of(old)}, item.path
        )
        scene.give_name(item.path, new.name)
        place_below(new, old)
        scene.orders.replace(old, new)
        scene.changed_inside(item.path)
        if edit.kind == "replace" and edit["weights"]:
            scene.carried.append((old, new))


def _check_wraps(new: Any, old: Any, path: str, scene: Scene) -> None:
    """The old layer stands inside the new one; or a copy that the wrapper made, as Bidirectional does, with its weights."""
    parts = inside_first(new)[:-1]
    if any(part is old for part in parts):
        return
    copies = [
        part for part in parts if type(part) is type(old) and structure.name_of(part).endswith(structure.name_of(old))
    ]
    if not copies:
        raise EditError(
            f"Cannot wrap '{path}': the new layer does not hold the old one.",
            found=f"a {type(new).__name__} without it",
            fix="build the wrapper around the layer that the function is given, or use replace.",
            path=path,
        )
    # Of the two directions, the one that says most of what the old layer says.
    wanted = old.get_config()
    scene.carried.append((old, min(copies, key=lambda copy: _differences(copy.get_config(), wanted))))


def _differences(config: dict[str, Any], wanted: dict[str, Any]) -> int:
    return sum(config.get(name) != setting for name, setting in wanted.items())


def asked(function: Any, argument: Any) -> Any:
    """What a function that was passed to an edit returns. What it raises comes through as it is."""
    try:
        return function(argument)
    except Exception as error:
        setattr(error, FROM_A_FUNCTION, True)
        raise


def made(layer: Any, old: Any, path: str, scene: Scene) -> Any:
    """The layer that a factory makes for an old one, or the layer itself."""
    layer = as_factory(layer)
    given = isinstance(layer, keras.Operation | type) or not callable(layer)
    new = layer if given else asked(layer, old)
    if not isinstance(new, keras.Operation):
        raise EditError(
            f"Cannot put anything at '{path}': what was given makes no layer.",
            expected="a function that takes the old layer and returns a new one",
            found=f"the class {new.__name__}" if isinstance(new, type) else f"an object of class {type(new).__name__}",
            fix="return a layer, e.g. lambda old: keras.layers.Activation('gelu').",
            path=path,
        )
    if scene.is_of_the_original(new):
        raise EditError(
            f"Cannot put '{new.name}' at '{path}': it belongs to the model passed in, which is not changed.",
            fix="use the layer that the function is given, which is the twin's, or a clone: ramet.clone(layer).",
            path=path,
        )
    return new
