"""Which file carries out which kind of edit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ramet._edit import (
    activation,
    batchnorm,
    casting,
    dropout,
    flags,
    flattening,
    head,
    inserting,
    lora,
    quantizing,
    renaming,
    replacing,
    resizing,
    splicing,
    updating,
)
from ramet._edit.edit import Edit
from ramet._edit.plan import Step
from ramet._edit.scene import Scene


class Kind(NamedTuple):
    """How one kind of edit finds what it touches, and how it is carried out."""

    touch: Callable[[Edit, Scene], Step]
    carry_out: Callable[[Edit, Step, Scene], Any]


KINDS: dict[str, Kind] = {
    "replace": Kind(replacing.touch, replacing.carry_out),
    "wrap": Kind(replacing.touch, replacing.carry_out),
    "insert_before": Kind(inserting.touch, inserting.carry_out),
    "insert_after": Kind(inserting.touch, inserting.carry_out),
    "remove": Kind(inserting.touch, inserting.carry_out),
    "splice": Kind(splicing.touch, splicing.carry_out),
    "rename": Kind(renaming.touch, renaming.carry_out),
    "prefix": Kind(renaming.touch, renaming.carry_out),
    "update": Kind(updating.touch, updating.carry_out),
    "freeze": Kind(flags.touch_trainable, flags.carry_out_trainable),
    "unfreeze": Kind(flags.touch_trainable, flags.carry_out_trainable),
    "cast": Kind(casting.touch, casting.carry_out),
    "resize_input": Kind(resizing.touch, resizing.carry_out),
    "swap_head": Kind(head.touch, head.carry_out),
    "flatten": Kind(flattening.touch, flattening.carry_out),
    "fold_batchnorm": Kind(batchnorm.touch, batchnorm.carry_out),
    "drop_dropout": Kind(dropout.touch, dropout.carry_out),
    "split_activation": Kind(activation.touch, activation.carry_out),
    "merge_lora": Kind(lora.touch, lora.carry_out),
    "lora": Kind(lora.touch_enable, lora.carry_out_enable),
    "quantize": Kind(quantizing.touch, quantizing.carry_out),
}
