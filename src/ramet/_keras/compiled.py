"""What `compile()` was told."""

from __future__ import annotations

from typing import Any

from ramet._keras import names


def compile_settings(model: Any) -> dict[str, Any] | None:
    """The arguments of `compile()`, and the flags that can be set afterwards; None for a model never compiled."""
    if not getattr(model, "compiled", False):
        return None
    told = getattr(model.__dict__.get(names.COMPILE_CONFIG), "config", None) or {}
    now = {name: getattr(model, name, None) for name in ("jit_compile", "run_eagerly", "steps_per_execution")}
    return {**told, "optimizer": getattr(model, "optimizer", None), "loss": getattr(model, "loss", None), **now}
