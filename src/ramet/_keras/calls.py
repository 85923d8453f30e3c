"""Calls and the tensors between them: reading them from ops, and writing them into twins."""

from __future__ import annotations

from typing import Any

from ramet._keras import names

# TensorFlow wraps some of these lists; the wrapper keeps the items, and a snapshot of them, in attributes.
_WRAPPED_ITEMS = "_storage"
_WRAPPED_SNAPSHOT = "_last_wrapped_list_snapshot"
WRAPPED = (_WRAPPED_ITEMS, _WRAPPED_SNAPSHOT)


def inbound(op: Any) -> list[Any]:
    """All calls of an op, in order, from every model it was used in."""
    return list(getattr(op, names.INBOUND, ()))


def inbound_at(op: Any, position: int) -> Any:
    """One call of an op."""
    return getattr(op, names.INBOUND)[position]


def outbound(op: Any) -> list[Any]:
    """All calls that take a value of the op's."""
    return list(getattr(op, names.OUTBOUND, ()))


def put(calls: Any, items: list[Any]) -> None:
    """Append to a list of calls without the bookkeeping of the class that wraps it."""
    attributes = getattr(calls, "__dict__", {})
    if _WRAPPED_ITEMS in attributes:
        attributes[_WRAPPED_ITEMS].extend(items)
        attributes[_WRAPPED_SNAPSHOT] = list(attributes[_WRAPPED_ITEMS])
    else:
        list.extend(calls, items)


def history(tensor: Any) -> tuple[Any, int, int] | None:
    """The op, position among the op's calls, and output index a tensor comes from; None if from nowhere."""
    found = getattr(tensor, names.HISTORY, None)
    return None if found is None or found[0] is None else found


def producer(tensor: Any) -> Any:
    """The call that made a tensor, or None."""
    found = history(tensor)
    return None if found is None else inbound_at(found[0], found[1])


def set_history(tensor: Any, like: Any, op: Any, position: int, index: int) -> None:
    """Say where a tensor comes from, in the form that `like` says it."""
    tensor.__dict__[names.HISTORY] = type(like.__dict__[names.HISTORY])(op, position, index)


def node_key(op: Any, position: int) -> str:
    """The string under which a functional model knows one of its calls."""
    return f"{id(op)}{names.NODE_MARK}{position}"


def split_node_key(key: str) -> tuple[int, int]:
    """The id of the op and the position of the call in a functional model's key."""
    op, _, position = key.partition(names.NODE_MARK)
    return int(op), int(position)


def empty(calls: Any) -> None:
    """Take all items out of a list of calls, without the bookkeeping of the class that wraps it."""
    attributes = getattr(calls, "__dict__", {})
    if _WRAPPED_ITEMS in attributes:
        attributes[_WRAPPED_ITEMS].clear()
    else:
        list.clear(calls)


def forget_outputs(call: Any) -> None:
    """The tensors of a call that is no more come from nowhere."""
    for tensor in call.outputs:
        tensor.__dict__.pop(names.HISTORY, None)
