"""`update`: a setting changed, really in force: in the call, in training, in the saved file."""

from __future__ import annotations

import difflib
import random
from typing import Any

import keras

from ramet._edit import Edit, Skip, Step, Touch
from ramet._surgery.patch import patch
from ramet._surgery.probe import made_twice
from ramet._surgery.scene import Scene
from ramet.errors import EditError

# A config says it only where there is one.
_UNSAID = {"activity_regularizer"}


def touch(edit: Edit, scene: Scene) -> Step:
    """Every layer that matches and has these settings with other values."""
    settings = dict(edit["settings"])
    touched, skipped = [], []
    for candidate in scene.find(edit):
        config = candidate.op.config
        if not isinstance(scene.op(candidate.path), keras.Layer) or config is None:
            reason = candidate.op.no_config or "a raw operation has no settings to change"
            raise _cannot(candidate.path, f"it cannot say its settings ({reason})")
        known = {str(key) for key, _ in config.pairs} | _UNSAID
        for name in settings:
            if name not in known:
                raise EditError(
                    f"Cannot update '{candidate.path}': a {candidate.op.class_name} has no setting '{name}'.",
                    closest=difflib.get_close_matches(name, sorted(known), n=3),
                    fix="use a name that its get_config() says, or select other layers.",
                    path=candidate.path,
                )
        changed = [f"{name}={value!r}" for name, value in settings.items()]
        if candidate.op.kind == "model":
            skipped.append(Skip(candidate.path, "a model's settings are its layers'"))
            continue
        claims = frozenset(f"setting {name}" for name in settings)
        touched.append(Touch(candidate.path, f"{candidate.op.class_name}, {', '.join(changed)}", claims=claims))
    return Step(edit, tuple(touched), tuple(skipped))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Change each layer in place."""
    for item in step.touched:
        update(scene, item.path, dict(edit["settings"]), policy=edit["weights"])


def update(scene: Scene, path: str, settings: dict[str, Any], *, policy: str = "refuse") -> None:
    """Change settings of the twin's layer at a path, and have its calls made again."""
    layer = scene.op(path)
    # Fresh values are drawn each time; where none are taken, no generator moves.
    seed = random.getrandbits(32) if policy == "fresh" else 0
    as_it_is, changed = made_twice(layer, path, settings, seed=seed)
    scene.successors |= patch(layer, as_it_is, changed, path, policy=policy)
    _check_in_force(layer, changed, settings, path)
    scene.orders.touch(layer)
    scene.changed_inside(path)


def _check_in_force(layer: Any, changed: Any, settings: dict[str, Any], path: str) -> None:
    """The layer says of itself what the changed one says: then a file will say it, too."""
    ours, theirs = layer.get_config(), changed.get_config()
    for name, value in settings.items():
        if ours.get(name) != theirs.get(name):
            raise _cannot(path, f"with {name}={value!r} its config still says {ours.get(name)!r}")


def _cannot(path: str, why: str) -> EditError:
    return EditError(f"Cannot update '{path}': {why}.", fix="replace the layer by one with the settings.", path=path)
