"""The calls of a functional model, from the `inbound_nodes` of its layers: of Keras 3, and of Keras 2."""

from __future__ import annotations

from ramet._files.frozen import freeze_json, map_json
from ramet._files.history import Tensors, is_history
from ramet._files.problem import misfit
from ramet._files.text import Json
from ramet._graph import Argument, FrozenDict, FrozenList, Ref

__all__ = ["read_call_arguments", "read_structure"]

_CONSTANT = "_CONSTANT_VALUE"


def read_call_arguments(raw: Json, place: str, tensors: Tensors) -> tuple[tuple[Argument, ...], FrozenDict]:
    """What a call was given, by position and by name."""
    if isinstance(raw, dict) and "args" in raw:
        return _of_keras_3(raw, place, tensors)
    if isinstance(raw, list | dict):
        return _of_keras_2(raw, place, tensors)
    raise misfit("a call", raw, place)


def read_structure(raw: Json, place: str, tensors: Tensors) -> Argument:
    """The inputs or outputs of a model, nested as the model takes or returns them."""

    def leaf(item: Json) -> Argument:
        if not is_history(item):
            raise misfit("a structure of layers and numbers", item, place)
        return tensors.ref(item, place, among_outputs=True)

    return map_json(raw, is_history, leaf)


def _of_keras_3(raw: dict[str, Json], place: str, tensors: Tensors) -> tuple[tuple[Argument, ...], FrozenDict]:
    args, kwargs = raw["args"], raw.get("kwargs")
    if not isinstance(args, list):
        raise misfit("a list of arguments", args, f"{place}.args")
    if kwargs is None:
        kwargs = {}
    if not isinstance(kwargs, dict):
        raise misfit("arguments by name", kwargs, f"{place}.kwargs")

    def ref_of(tensor: dict[str, Json]) -> Ref:
        ref = tensors.ref(tensor["keras_history"], place)
        tensors.note(ref, tensor.get("shape"), tensor.get("dtype"))
        return ref

    by_position = freeze_json(args, ref_of)
    by_name = freeze_json({key: kwargs[key] for key in kwargs}, ref_of)
    assert isinstance(by_position, FrozenList), "a list is frozen to a list"
    if not isinstance(by_name, FrozenDict):
        raise misfit("arguments by name", kwargs, f"{place}.kwargs")
    return by_position.items, by_name


def _of_keras_2(raw: Json, place: str, tensors: Tensors) -> tuple[tuple[Argument, ...], FrozenDict]:
    """Lists of `[layer, call, output, arguments]`, or such lists in a dict."""
    named: dict[str, Json] = {}

    def leaf(item: Json) -> Argument:
        if not _is_given(item):
            raise misfit("a layer, the number of a call and the number of an output", item, place)
        if len(item) > 3 and isinstance(item[3], dict):
            named.update(item[3])
        if item[0] == _CONSTANT:
            return freeze_json(item[2], lambda _: None)
        return tensors.ref(item, place)

    taken = map_json(raw, _is_given, leaf)
    if isinstance(taken, FrozenList) and len(taken) == 1:
        taken = taken[0]

    def is_tensor(item: Json) -> bool:
        # Among arguments by name, a tensor is its layer's name and two numbers.
        return is_history(item) and tensors.knows(item[0])

    by_name = map_json(named, is_tensor, lambda item: tensors.ref(item, place) if is_tensor(item) else item)
    assert isinstance(by_name, FrozenDict), "a dict is frozen to a dict"
    return (taken,), by_name


def _is_given(item: Json) -> bool:
    constant = isinstance(item, list) and len(item) >= 3 and item[0] == _CONSTANT
    return constant or is_history(item)
