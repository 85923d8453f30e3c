"""Weights files of one Keras 3 release for another one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ramet._files import Json
from ramet._port.version_rules import is_before

_Object: TypeAlias = dict[str, Json]

# Since this release, Nadam keeps the product of its momentums behind all other variables.
_NADAM_PRODUCT_LAST = "3.10"


def rename_weights(paths: Iterable[str], *, source: str, target: str, config: dict[str, Json]) -> dict[str, str]:
    """Return the new path of each array in the weights file that has another one in the target, by its old path.

    Groups are named after classes and attributes, and arrays are numbered. From Keras 3.0 to 3.15, both are the same for
    Keras' own classes, with one exception: until Keras 3.9, the optimizer Nadam keeps the product of its momentums before
    the momentums and velocities, and since then behind them.

    Args:
        paths: The paths of all arrays in the weights file, such as `optimizer/vars/2`.
        source: The release that wrote the file.
        target: The release that is to load it.
        config: The config of the model, before or after `rewrite_for`.
    """
    if is_before(source, _NADAM_PRODUCT_LAST) == is_before(target, _NADAM_PRODUCT_LAST):
        return {}
    found = config.get("compile_config")
    optimizer = found.get("optimizer") if isinstance(found, dict) else None
    group = "optimizer"
    settings: _Object = {}
    while isinstance(optimizer, dict) and isinstance(optimizer.get("config"), dict):
        settings = optimizer["config"]
        if optimizer.get("class_name") != "LossScaleOptimizer":
            break
        optimizer, group = settings.get("inner_optimizer"), f"{group}/inner_optimizer"
    kind = optimizer.get("class_name") if isinstance(optimizer, dict) else optimizer
    if not isinstance(kind, str) or kind.lower() != "nadam":
        return {}
    count = sum(path.startswith(f"{group}/vars/") for path in paths)
    if count < 3:
        return {}  # the file has no state of the optimizer
    per_weight = bool(settings.get("use_ema")) + bool(settings.get("gradient_accumulation_steps"))
    # The number of iterations, the learning rate and the product; for each weight its momentum, its velocity, and more.
    weights = (count - 3) // (2 + per_weight)
    early, late = 2 + per_weight * weights, count - 1
    order = list(range(count))
    if is_before(source, target):
        order.insert(late, order.pop(early))
    else:
        order.insert(early, order.pop(late))
    return {f"{group}/vars/{old}": f"{group}/vars/{new}" for new, old in enumerate(order) if old != new}
