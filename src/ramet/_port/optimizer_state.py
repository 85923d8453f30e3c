"""The state of an optimizer, such as the moments of Adam, for a model that goes on training in Keras 3.

Keras 3 numbers the variables of an optimizer: the count of iterations, the learning rate unless it is a schedule, and then
some for each trained weight of the model, in the order of its layers. Keras 2 keeps the same numbers for the same weights,
under their names in `.h5` files of `tf.keras`, and in the order of its own layers in archives and in `.h5` files of Keras
before 2.4, where their names are only counted: `training/Adam/Variable_3:0`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ramet._files import ArraySpec, Json
from ramet._port.draft import Model
from ramet._port.placement import Arrays, Values
from ramet._port.variables import all_slots

# A variable of an optimizer: what it is, and the arrays of the weight that it belongs to.
_Key: TypeAlias = tuple[str, tuple[str, ...]]

# For each optimizer: the numbers that it keeps for every weight, together or kind by kind, and the setting without which
# it does not keep them. Adafactor keeps products of sizes, and Nadam one more number in Keras 3: they are not listed.
_KINDS: dict[str, tuple[tuple[tuple[str, ...], str | None], ...]] = {
    "Adadelta": ((("accumulated_grad", "accumulated_delta_var"), None),),
    "Adagrad": ((("accumulator",), None),),
    "Adam": ((("m", "v"), None), (("vhat",), "amsgrad")),
    "AdamW": ((("m", "v"), None), (("vhat",), "amsgrad")),
    "Adamax": ((("m", "u"), None),),
    "Ftrl": ((("accumulator", "linear"), None),),
    "Lion": ((("m",), None),),
    "RMSprop": ((("velocity",), None), (("momentum",), "momentum"), (("average_gradient",), "centered")),
    "SGD": ((("m",), "momentum"),),
}
# The names that optimizers had before Keras 2.11.
_FORMER = {
    ("Adadelta", "accumulated_delta_var"): "accum_var",
    ("Adadelta", "accumulated_grad"): "accum_grad",
    ("Adamax", "u"): "v",
    ("RMSprop", "average_gradient"): "mg",
    ("RMSprop", "velocity"): "rms",
    ("SGD", "m"): "momentum",
}
# Settings that some releases keep as variables; the config has them, too.
_SETTINGS = frozenset({"beta_1", "beta_2", "decay", "learning_rate", "momentum", "rho"})
# Settings with which an optimizer keeps more for every weight.
_MORE = ("use_ema", "gradient_accumulation_steps")
_ITERATIONS = frozenset({"iteration", "iterations", "iter"})
_ITERATIONS_KEY: _Key = ("iterations", ())
# The names of variables in Keras before 2.4; Keras 2.3 has a word for each kind.
_COUNTED = re.compile(
    r"iterations(_\d+)*|Variable(_\d+)*|(accumulator|delta_accumulator|m|moment|param|u|v|vhat)(_\d+)+"
)


@dataclass(frozen=True, slots=True)
class OptimizerWeights:
    """The variables of an optimizer in a file.

    Attributes:
        paths: Their paths, in order.
        names: Their names, in the same order; empty if the file only numbers them.
        variables: For each array of the model, by its path, the name that its variable has in the file.
        is_sorted: Whether their order is that of the names of these variables, as before Keras 2.0.6.
    """

    paths: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    variables: Mapping[str, str] | None = None
    is_sorted: bool = False

    def without(self, paths: Collection[str]) -> OptimizerWeights:
        """Return the variables but those at some paths."""
        kept = [number for number, path in enumerate(self.paths) if path not in paths]
        names = tuple(self.names[number] for number in kept) if self.names else ()
        return replace(self, paths=tuple(self.paths[number] for number in kept), names=names)


class UnknownStateError(Exception):
    """The state of an optimizer cannot be expressed; the message is the reason."""


def trained_weights(model: Model) -> list[Values]:
    """Return the values of the weights that training changes, in the order in which Keras keeps them."""
    found = []
    for layer in model.layers:
        slots = all_slots(layer, trainable=model.config.get("trainable") is not False)
        if slots is None:
            raise UnknownStateError(f"{layer.class_name} is not a class of Keras")
        trained = [slot for slot in slots if slot.trainable]
        if any((slot.group, slot.number) not in slot.layer.arrays for slot in trained):
            raise UnknownStateError(f"{layer.name!a} has no weights in the file")
        found += [slot.layer.arrays[slot.group, slot.number] for slot in trained]
    return found


def state_of_keras_2(
    weights: OptimizerWeights,
    optimizer: Json,
    before: list[Values],
    after: list[Values],
    specs: Mapping[str, ArraySpec],
    arrays: Arrays,
) -> dict[str, Values]:
    """Return the variables of an optimizer of Keras 3, by their paths in the weights file.

    Args:
        weights: The variables of the optimizer of Keras 2.
        optimizer: The optimizer as Keras 3 serializes it.
        before: The trained weights of the model in the order of Keras 2.
        after: The same in the order of Keras 3.
        specs: The arrays of the file.
        arrays: Gets the fate of every array.

    Raises:
        UnknownStateError: There is no such state, with the reason.
    """
    name, settings = _class_and_settings(optimizer)
    if name not in _KINDS:
        raise UnknownStateError(f"{name} keeps it differently in Keras 3")
    if any(values.convert is not None for values in after):
        raise UnknownStateError("some weights of the model are converted")
    if any(settings.get(key) for key in _MORE):
        raise UnknownStateError("it contains averages of the weights")
    kinds = _kinds(name, settings)
    rates = _settings_among(weights, specs)
    weights = weights.without(rates)
    spare = _spare(weights, name, kinds, before, specs)
    weights = weights.without(spare)
    if weights.variables is None:
        found = _by_order(weights, kinds, before)
    elif all(_COUNTED.fullmatch(_last(one)) for one in weights.names):
        found = _by_count(weights, kinds, before, specs)
    else:
        found = _by_name(weights, name, kinds, after)
    keys = [_ITERATIONS_KEY] if _ITERATIONS_KEY in found else []
    keys += [(kind, values.paths) for kind, values in _in_order(kinds, after)]
    paths = [found[key] for key in keys]
    shapes = [values.shape for _, values in _in_order(kinds, after)]
    if [specs[path].shape for path in paths] != [*[()] * (len(keys) - len(shapes)), *shapes]:
        raise UnknownStateError("it belongs to other weights")
    if len(set(paths)) != len(weights.paths):
        raise UnknownStateError("it has more variables than in Keras 3")
    for path in spare:
        arrays.leave_out(path, f"{name} does not use it with these settings")
    for path in rates:
        arrays.leave_out(path, "a setting of the optimizer, which is in its config")
    state = [Values((path,), specs[path].shape, specs[path].dtype) for path in paths]
    if _ITERATIONS_KEY not in found:
        # Keras before 2.3 did not save the count for each optimizer, and started again at 0.
        state.insert(0, Values((), (), "int64", lambda: _scalar(0, "int64"), "not in the file"))
    rate = settings.get("learning_rate")
    if isinstance(rate, int | float):
        # Keras 3 keeps it behind the count of iterations, unless it is a schedule.
        state.insert(1, Values((), (), "float32", lambda: _scalar(rate, "float32"), "from the settings"))
    return _numbered(state, arrays)


def state_of_keras_3(
    weights: OptimizerWeights, optimizer: Json, model: Model, specs: Mapping[str, ArraySpec], arrays: Arrays
) -> dict[str, Values]:
    """Return the variables of an optimizer in an `.h5` file of Keras 3, whose order is that of an archive.

    The arguments and errors are those of `state_of_keras_2`.
    """
    name, settings = _class_and_settings(optimizer)
    if name in ("LossScaleOptimizer", "Nadam"):
        # An archive has a group for the optimizer inside, and before Keras 3.10 another order for Nadam.
        raise UnknownStateError(f"{name} keeps it differently in archives")
    if name in _KINDS and not any(settings.get(key) for key in _MORE):
        # Keras does not load a model at all if the state has other shapes than its weights.
        expected = [values.shape for _, values in _in_order(_kinds(name, settings), trained_weights(model))]
        rates = 0 if isinstance(settings.get("learning_rate"), dict) else 1
        if [specs[path].shape for path in weights.paths] != [(), *[()] * rates, *expected]:
            raise UnknownStateError("it belongs to other weights")
    return _numbered([Values((path,), specs[path].shape, specs[path].dtype) for path in weights.paths], arrays)


def _class_and_settings(optimizer: Json) -> tuple[str, dict[str, Any]]:
    config = optimizer.get("config") if isinstance(optimizer, dict) else None
    if not isinstance(optimizer, dict) or not isinstance(config, dict):
        raise UnknownStateError("the optimizer has no settings")
    return str(optimizer.get("class_name")), config


def _kinds(name: str, settings: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [kinds for kinds, setting in _KINDS[name] if setting is None or settings.get(setting)]


def _in_order(kinds: list[tuple[str, ...]], weights: list[Values]) -> Iterator[tuple[str, Values]]:
    """Yield what an optimizer keeps, with the weight it belongs to, in the order in which it keeps it."""
    for together in kinds:
        for values in weights:
            for kind in together:
                yield kind, values


def _scalar(value: float, dtype: str) -> Any:
    import numpy as np

    return np.asarray(value, dtype)


def _settings_among(weights: OptimizerWeights, specs: Mapping[str, ArraySpec]) -> set[str]:
    """Return the paths of the variables that only hold a setting: scalars of such a name; in an archive, the second."""
    scalars = {path for path in weights.paths if specs[path].shape == ()}
    if weights.variables is None:
        return scalars.intersection(weights.paths[1:2])
    named = zip(weights.names, weights.paths, strict=True)
    return {path for name, path in named if path in scalars and _last(name) in _SETTINGS}


def _last(name: str) -> str:
    return name.rpartition("/")[2].partition(":")[0]


def _numbered(state: Iterable[Values], arrays: Arrays) -> dict[str, Values]:
    found = {f"optimizer/vars/{number}": values for number, values in enumerate(state)}
    for path, values in found.items():
        arrays.use(values, path)
    return found


def _by_name(
    weights: OptimizerWeights, optimizer: str, kinds: list[tuple[str, ...]], after: list[Values]
) -> dict[_Key, str]:
    """Find the variables by their names: `Adam/m/dense/kernel:0`, before Keras 2.11 `Adam/dense/kernel/m:0`."""
    variables = weights.variables or {}
    names = {values.paths: variables.get(values.paths[0], "").partition(":")[0] for values in after}
    if len(set(names.values())) != len(after) or "" in names.values():
        raise UnknownStateError("some weights of the model have the same name")
    iterations: list[str] = []
    # The paths by variable and kind, as the name of either age would be read. There may be a scope before the optimizer,
    # `training/Adam/dense/kernel/m:0`, or none at all, `dense/kernel/m:0`.
    new: dict[tuple[str, str], set[str]] = {}
    former: dict[tuple[str, str], set[str]] = {}
    for name, path in zip(weights.names, weights.paths, strict=True):
        if _last(name) in _ITERATIONS:
            iterations.append(path)
        for scopes in (0, 1, 2):
            parts = name.partition(":")[0].split("/")[scopes:]
            if len(parts) > 1:
                new.setdefault(("/".join(parts[1:]), parts[0]), set()).add(path)
                former.setdefault(("/".join(parts[:-1]), parts[-1]), set()).add(path)
    if len(iterations) != 1:
        raise UnknownStateError("the count of its iterations is missing")
    found = {_ITERATIONS_KEY: iterations[0]}
    for kind, values in _in_order(kinds, after):
        name = names[values.paths]
        former_kind = _FORMER.get((optimizer, kind), kind)
        matching = new.get((name, kind), set()) | former.get((name, former_kind), set())
        if len(matching) != 1:
            raise UnknownStateError(f"{kind!a} of {name!a} is missing")
        found[kind, values.paths] = matching.pop()
    return found


def _by_order(weights: OptimizerWeights, kinds: list[tuple[str, ...]], before: list[Values]) -> dict[_Key, str]:
    """Find the variables of an archive, which numbers them: first the iterations, then in the order of the weights."""
    keys = [_ITERATIONS_KEY, *((kind, values.paths) for kind, values in _in_order(kinds, before))]
    if len(keys) != len(weights.paths) or len(set(keys)) != len(keys):
        raise UnknownStateError("it has other variables than in Keras 3")
    return dict(zip(keys, weights.paths, strict=True))


def _spare(
    weights: OptimizerWeights,
    optimizer: str,
    kinds: list[tuple[str, ...]],
    before: list[Values],
    specs: Mapping[str, ArraySpec],
) -> tuple[str, ...]:
    """Return the paths of the variables that Keras 2 saved, but did not use: SGD without momentum, Adam before 2.4."""
    end = weights.paths[sum(map(len, kinds)) * len(before) + 1 :]
    shapes = [specs[path].shape for path in end]
    without_momentum = optimizer == "SGD" and not kinds and shapes == [values.shape for values in before]
    without_amsgrad = optimizer == "Adam" and shapes == [(1,)] * len(before)
    return end if without_momentum or without_amsgrad else ()


def _by_count(
    weights: OptimizerWeights, kinds: list[tuple[str, ...]], before: list[Values], specs: Mapping[str, ArraySpec]
) -> dict[_Key, str]:
    """Find the variables of Keras before 2.4: the iterations, if they were saved, and then kind by kind."""
    names = weights.variables or {}
    if weights.is_sorted:
        before = sorted(before, key=lambda values: names.get(values.paths[0], ""))
    keys: list[_Key] = [(kind, values.paths) for together in kinds for kind in together for values in before]
    if weights.paths and specs[weights.paths[0]].shape == ():
        keys.insert(0, _ITERATIONS_KEY)
    if len(keys) != len(weights.paths) or len(set(keys)) != len(keys):
        raise UnknownStateError("it has other variables than in Keras 3")
    return dict(zip(keys, weights.paths, strict=True))
