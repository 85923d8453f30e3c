"""The update of `sync` on torch."""

from __future__ import annotations

from typing import Any

import torch

from ramet._keras import structure


def blend(sources: list[Any], targets: list[Any], tau: float) -> None:
    """Update parameters in place, with one call for all parameters of a dtype and a device."""
    copied: dict[Any, tuple[list[Any], list[Any]]] = {}
    mixed: dict[Any, tuple[list[Any], list[Any]]] = {}
    for source, target in zip(sources, targets, strict=True):
        theirs, ours = structure.value_of(source), structure.value_of(target)
        inexact = ours.dtype.is_floating_point or ours.dtype.is_complex
        groups = mixed if inexact and tau != 1 else copied
        old, new = groups.setdefault((ours.dtype, ours.device), ([], []))
        old.append(ours)
        new.append(theirs if theirs.dtype == ours.dtype and theirs.device == ours.device else theirs.to(ours))
    with torch.no_grad():
        for old, new in copied.values():
            torch._foreach_copy_(old, new)
        for old, new in mixed.values():
            # torch computes narrower floats in float32; test_half_floats_are_averaged_in_single_precision checks it.
            torch._foreach_lerp_(old, new, tau)
