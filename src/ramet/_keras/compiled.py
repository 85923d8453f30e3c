"""What `compile()` was told."""

from __future__ import annotations

from typing import Any

from ramet._keras import names

# The arguments of `compile()` that may be a dict keyed by the names of outputs.
_KEYED = ("loss", "loss_weights", "metrics", "weighted_metrics")


def compile_settings(model: Any) -> dict[str, Any] | None:
    """The arguments of `compile()`, and the flags that can be set afterwards; None for a model never compiled."""
    if not getattr(model, "compiled", False):
        return None
    told = getattr(model.__dict__.get(names.COMPILE_CONFIG), "config", None) or {}
    now = {name: getattr(model, name, None) for name in ("jit_compile", "run_eagerly", "steps_per_execution")}
    return {**told, "optimizer": getattr(model, "optimizer", None), "loss": getattr(model, "loss", None), **now}


def follow_outputs(model: Any, before: list[str] | None) -> None:
    """Where outputs of a compiled model got other names, losses and metrics that are keyed by them follow.

    What Keras made of losses and metrics for the outputs is made anew, as by `compile()`; the metrics themselves stay.
    """
    after = getattr(model, "output_names", None)
    if not getattr(model, "compiled", False) or not before or not after or len(before) != len(after):
        return
    new_names = {old: new for old, new in zip(before, after, strict=True) if old != new}
    if not new_names or isinstance(getattr(model, names.OUTPUTS), dict):  # a dict of outputs has keys of its own
        return

    def renamed(value: Any) -> Any:
        return {new_names.get(key, key): part for key, part in value.items()} if isinstance(value, dict) else value

    loss, metrics = getattr(model, names.COMPILE_LOSS, None), getattr(model, names.COMPILE_METRICS, None)
    if loss is not None:
        told = [renamed(getattr(loss, name)) for name in names.TOLD_LOSS]
        setattr(model, names.COMPILE_LOSS, type(loss)(*told, output_names=after))
    if metrics is not None:
        told = [renamed(getattr(metrics, name)) for name in names.TOLD_METRICS]
        setattr(model, names.COMPILE_METRICS, type(metrics)(*told, output_names=after))
    model.loss = renamed(model.loss)
    config = getattr(model.__dict__.get(names.COMPILE_CONFIG), "config", None) or {}
    config.update({name: renamed(config[name]) for name in _KEYED if name in config})
