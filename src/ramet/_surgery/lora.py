"""`merge_lora`: low-rank updates added to the weights they update."""

from __future__ import annotations

import keras

from ramet._edit import Edit, Skip, Step, Touch
from ramet._keras import lora
from ramet._surgery.scene import Scene
from ramet._surgery.updating import update


def touch(edit: Edit, scene: Scene) -> Step:
    """Every layer that has LoRA enabled."""
    touched, skipped = [], []
    for candidate in scene.find(edit):
        layer = scene.op(candidate.path)
        if not getattr(layer, "lora_enabled", False):
            continue
        if getattr(layer, "quantization_mode", None) is not None:
            skipped.append(Skip(candidate.path, f"quantised to {layer.quantization_mode}: merging would round again"))
            continue
        claims = frozenset({"layer"})
        touched.append(
            Touch(candidate.path, f"{candidate.op.class_name}, rank {layer.lora_rank} merged", claims=claims)
        )
    return Step(edit, tuple(touched), tuple(skipped))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Put the updated weights in the place of the old ones, and leave LoRA out."""
    for item in step.touched:
        layer = scene.op(item.path)
        merged = lora.merged(layer)
        update(scene, item.path, {"lora_rank": None})
        for variable in lora.targets(layer):
            variable.assign(keras.ops.cast(merged[variable.name], variable.dtype))
            variable.trainable = layer.trainable
