"""Weights files of one Keras 3 release for another one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ramet._files import Json
from ramet._port.version_rules import is_before

_Object: TypeAlias = dict[str, Json]

# Since this release, Nadam keeps the product of its momentums behind all other variables, and the averages and the
# accumulated gradients of all weights follow one another, instead of alternating.
_NEW_ORDER = "3.10"
# How many variables an optimizer keeps for each weight, and the settings with which it keeps one more.
_SLOTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "adadelta": (2, ()),
    "adafactor": (3, ()),
    "adagrad": (1, ()),
    "adam": (2, ("amsgrad",)),
    "adamax": (2, ()),
    "adamw": (2, ("amsgrad",)),
    "ftrl": (2, ()),
    "lamb": (2, ()),
    "lion": (1, ()),
    "nadam": (2, ()),
    "rmsprop": (1, ("momentum", "centered")),
    "sgd": (0, ("momentum",)),
}


def rename_weights(paths: Iterable[str], *, source: str, target: str, config: dict[str, Json]) -> dict[str, str]:
    """Return the new path of each array in the weights file that has another one in the target, by its old path.

    Groups are named after classes and attributes, and arrays are numbered. From Keras 3.0 to 3.15, both are the same for
    Keras' own classes, except for some variables of optimizers, see `_NEW_ORDER`.

    Args:
        paths: The paths of all arrays in the weights file, such as `optimizer/vars/2`.
        source: The release that wrote the file.
        target: The release that is to load it.
        config: The config of the model, before or after `rewrite_for`.
    """
    if is_before(source, _NEW_ORDER) == is_before(target, _NEW_ORDER):
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
    if not isinstance(kind, str) or kind.lower() not in _SLOTS:
        return {}
    plain, optional = _SLOTS[kind.lower()]
    slots = plain + sum(bool(settings.get(key)) for key in optional)
    products = int(kind.lower() == "nadam")
    copies = bool(settings.get("use_ema")) + bool(settings.get("gradient_accumulation_steps"))
    # The number of iterations, and the learning rate unless it is a schedule.
    head = 1 if isinstance(settings.get("learning_rate"), dict) else 2
    count = sum(path.startswith(f"{group}/vars/") for path in paths)
    if copies + slots == 0 or count <= head + products:
        return {}  # the file has no state of the optimizer
    weights = (count - head - products) // (copies + slots)
    first = [("head", number, 0) for number in range(head)]
    last = [("slot", number, 0) for number in range(slots * weights)]
    product = [("product", 0, 0)] * products
    alternating = [("copy", number, weight) for weight in range(weights) for number in range(copies)]
    before, after = [*first, *alternating, *product, *last], [*first, *sorted(alternating), *last, *product]
    if is_before(target, source):
        before, after = after, before
    old = {item: number for number, item in enumerate(before)}
    return {f"{group}/vars/{old[item]}": f"{group}/vars/{new}" for new, item in enumerate(after) if old[item] != new}
