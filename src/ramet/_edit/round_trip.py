"""Finding out what a file would keep of an object: recreate it from its config as a file would, and compare the parts."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import keras

from ramet._edit.names import is_chosen_by_keras
from ramet._keras import (
    draw_from_seed,
    effective_policy,
    file_config,
    keep_name_counters,
    keep_policies,
    lora,
    mask_kinds,
    quantization,
    reload_from_config,
    sort_calls,
    structure,
    suppress_config_warnings,
)
from ramet._report import with_article


@dataclass(frozen=True)
class Difference:
    """One difference of a loaded object.

    Attributes:
        path: The path below the object.
        what: The difference, in a few words.
        ours: The value in the object itself, as text: a difference that existed before an edit is not the fault of the edit.
        is_flag: Whether it is a trainable flag or LoRA, which no config of a class that creates its parts describes.
    """

    path: str
    what: str
    ours: str
    is_flag: bool = False


@dataclass
class RoundTrip:
    """The result of recreating an object as a file does.

    Attributes:
        again: The recreated object; None if its class raised an error.
        error: The error that the class raised.
        differences: All differences, flags last.
    """

    again: Any = None
    error: Exception | None = None
    differences: list[Difference] = field(default_factory=list)

    def lost(self, before: RoundTrip, *, flags: bool = False) -> list[Difference]:
        """Return the differences that did not exist before the edit: those of flags if `flags`, otherwise all others."""
        known = set(before.differences)
        return [one for one in self.differences if one.is_flag is flags and one not in known]


def round_trip(op: Any, config: dict[str, Any] | None = None) -> RoundTrip:
    """Recreate an op as a file does, from its own config or another one for its class, and compare."""
    try:
        with keep_name_counters(), suppress_config_warnings():
            with draw_from_seed(0):
                again = reload_from_config(op, config)
            return RoundTrip(again, None, list(_differences(op, again, skip_own_config=config is not None)))
    except Exception as error:  # noqa: BLE001  # a user's class may raise anything
        return RoundTrip(None, error)


def _differences(op: Any, again: Any, *, skip_own_config: bool) -> Iterator[Difference]:
    """Compare part by part. Names that Keras chose are different each time, so parts are paired by position."""
    waiting = [(op, again, "")]
    first: dict[int, str] = {}
    first_again: dict[int, str] = {}
    flags: list[Difference] = []
    while waiting:
        ours, theirs, path = waiting.pop()
        if type(ours) is not type(theirs):
            yield Difference(
                path, f"{with_article(type(theirs).__name__)} instead of '{_name(ours)}'", type(ours).__name__
            )
            continue
        places = first.setdefault(id(ours), path), first_again.setdefault(id(theirs), path)
        # Sharing does not matter for ops without state.
        if places[0] != places[1] and getattr(ours, "variables", None):
            yield Difference(path, f"'{_name(ours)}' is no longer shared in the same way", first[id(ours)])
            continue
        if first[id(ours)] != path:
            continue
        yield from _setting_differences(ours, theirs, path, skip_config=skip_own_config and not path)
        trained, trained_again = _trained(ours), _trained(theirs)
        if trained != trained_again and len(trained) == len(trained_again):
            word = "trainable" if any(trained_again) else "frozen"
            flags.append(Difference(path, f"'{_name(ours)}' is {word}", str(trained), is_flag=True))
        if lora.is_enabled(ours) and getattr(theirs, "lora_rank", None) is None:
            flags.insert(0, Difference(path, f"'{_name(ours)}' {lora.LOST}", str(ours.lora_rank), is_flag=True))
        parts, others = structure.ops_inside(ours), structure.ops_inside(theirs)
        for place, part in enumerate(parts):
            where = f"{path}/{_name(part)}".lstrip("/")
            if place < len(others):
                waiting.append((part, others[place], where))
            else:
                yield Difference(where, f"none instead of '{_name(part)}'", type(part).__name__)
        for extra in others[len(parts) :]:
            yield Difference(path, f"one more part, '{_name(extra)}'", "")
        if structure.function_of(ours) is not None:
            mine, other = calls_as_text(ours), calls_as_text(theirs)
            if mine != other:
                yield Difference(path, f"other calls in '{_name(ours)}'", mine)
    yield from flags


def _setting_differences(ours: Any, theirs: Any, path: str, *, skip_config: bool) -> Iterator[Difference]:
    both_chosen = is_chosen_by_keras(ours) and is_chosen_by_keras(theirs)
    if ours.name != theirs.name and not both_chosen and path:
        yield Difference(path, f"'{_name(ours)}' is called '{_name(theirs)}'", _name(ours))
    mine, other = _config_text(ours), _config_text(theirs)
    if mine != other and not skip_config:
        yield Difference(path, f"'{_name(ours)}' has other settings", mine)
    if getattr(ours, "built", False) and getattr(theirs, "built", False):
        mine, other = _variables(ours), _variables(theirs)
        if mine != other:
            yield Difference(path, f"'{_name(ours)}' has other variables", mine)


def _config_text(op: Any) -> str:
    """Return the config as a file has it, without the object's own name and flag; an empty text if there is none.

    The config of a model that only lists layers and calls is left out: its parts are compared one by one.
    """
    if structure.function_of(op) is not None and not structure.makes_its_own_config(op):
        return ""
    try:
        config = dict(op.get_config())
        with keep_policies(config.values()):
            config = file_config(config)
    except Exception as error:  # noqa: BLE001  # a user's get_config may raise anything
        return f"{type(error).__name__}"
    ignored = {"name", "trainable"}
    if isinstance(op, keras.Layer) and "dtype" in config:
        # Parts that a holder creates have its map of policies, where ours have the policy that the map contains for them.
        config["dtype"] = getattr(effective_policy(op), "name", None)
        # Saving merges low-rank updates into the weights, and the policy determines how these are quantized.
        ignored |= {"lora_rank", "lora_alpha", "quantization_config"}
    return canonical({key: value for key, value in config.items() if key not in ignored})


def canonical(value: Any) -> str:
    """Return a config as text, without the numbers in names that Keras chose and without ids of shared objects."""

    def cleaned(record: dict[str, Any]) -> dict[str, Any]:
        record = {key: part for key, part in record.items() if key != "shared_object_id"}
        config, class_name = record.get("config"), record.get("class_name")
        if isinstance(config, dict) and isinstance(class_name, str) and isinstance(config.get("name"), str):
            words = re.sub("([a-z0-9])([A-Z])", r"\1_\2", class_name).lower()
            if re.fullmatch(rf"{re.escape(words)}(_\d+)?", config["name"]):
                record["config"] = {**config, "name": words}
        return record

    # The JSON reader calls the function for each table, inner ones first: nothing here recurses on user data.
    return json.dumps(json.loads(json.dumps(value), object_hook=cleaned), sort_keys=True)


def _variables(op: Any) -> str:
    """Return shapes and dtypes of an op's weights, without low-rank updates, which a file has merged."""
    merged = {id(matrix) for matrix in lora.matrices(op)} if lora.is_enabled(op) else set()
    found = [variable for variable, is_weight in structure.variables_of(op) if is_weight and id(variable) not in merged]
    shapes = [(tuple(variable.shape), str(variable.dtype)) for variable in found]
    # A layer that was quantized lists them in another order than one that is created quantized.
    return str(shapes if quantization.mode_of(op) is None else sorted(shapes))


def _trained(op: Any) -> list[bool]:
    """Return which weights of an op are trained. Keras reads the flags of variables, not those of layers around them."""
    return [bool(variable.trainable) for variable, is_weight in structure.variables_of(op) if is_weight]


def calls_as_text(model: Any) -> str:
    """Return how the outputs of a model are computed, as text, with positions of ops instead of their names.

    Only calls that lead to an output count, and not their order: a loaded model may have another order.
    """
    function = structure.function_of(model)
    ops = {id(op): number for number, op in enumerate(structure.ops_inside(model))}
    made: dict[int, str] = {}

    def shown(value: Any) -> Any:
        if isinstance(value, keras.KerasTensor):
            return made.get(id(value), "tensor")
        try:
            return canonical(file_config(value))
        except (TypeError, ValueError):
            return f"<{type(value).__name__}>"

    for call in sort_calls(structure.calls_of(function)):
        found = structure.arguments_by_name(call.operation, call.arguments.args, call.arguments.kwargs)
        names = list(found)
        for place, kind in mask_kinds(call):
            if kind != "explicit":  # Keras finds it by itself
                found[place if isinstance(place, str) else names[place]] = None
        given = {} if call.is_input else {name: value for name, value in found.items() if value is not None}
        text = json.dumps((ops.get(id(call.operation)), keras.tree.map_structure(shown, given)))  # tuples as lists
        digest = hashlib.sha256(text.encode()).hexdigest()
        made |= {id(tensor): f"{digest}:{index}" for index, tensor in enumerate(call.outputs)}
    ends = [structure.inputs_of(function), structure.outputs_of(function)]
    return json.dumps(keras.tree.map_structure(shown, ends))


def _name(op: Any) -> str:
    return structure.name_of(op)
