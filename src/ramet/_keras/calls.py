"""Calls and the tensors between them: read from ops, written to twins, and sorted.

A call is a `Node` in Keras. An op lists every call it ever had, from every model it was used in.
"""

from __future__ import annotations

import heapq
import itertools
from typing import Any

from ramet._keras import names

# TensorFlow wraps some of these lists; the wrapper keeps the items, and a snapshot of them, in attributes.
_WRAPPED_ITEMS = "_storage"
_WRAPPED_SNAPSHOT = "_last_wrapped_list_snapshot"
WRAPPED = (_WRAPPED_ITEMS, _WRAPPED_SNAPSHOT)


def inbound(op: Any) -> list[Any]:
    """Return all calls of an op, in order, from every model it was used in."""
    return list(getattr(op, names.INBOUND, ()))


def inbound_at(op: Any, position: int) -> Any:
    return getattr(op, names.INBOUND)[position]


def outbound(op: Any) -> list[Any]:
    """Return all calls that take an output of the op."""
    return list(getattr(op, names.OUTBOUND, ()))


def put(calls: Any, items: list[Any]) -> None:
    """Append to a list of calls, bypassing the bookkeeping of a wrapper class."""
    attributes = getattr(calls, "__dict__", {})
    if _WRAPPED_ITEMS in attributes:
        attributes[_WRAPPED_ITEMS].extend(items)
        attributes[_WRAPPED_SNAPSHOT] = list(attributes[_WRAPPED_ITEMS])
    else:
        list.extend(calls, items)


def history(tensor: Any) -> tuple[Any, int, int] | None:
    """Return the op, the position among its calls, and the output index that a tensor comes from, or None."""
    found = getattr(tensor, names.HISTORY, None)
    return None if found is None or found[0] is None else found


def producer(tensor: Any) -> Any:
    """Return the call that made a tensor, or None."""
    found = history(tensor)
    return None if found is None else inbound_at(found[0], found[1])


def set_history(tensor: Any, like: Any, op: Any, position: int, index: int) -> None:
    """Set where a tensor comes from, in a record of the same class as that of `like`."""
    tensor.__dict__[names.HISTORY] = type(like.__dict__[names.HISTORY])(op, position, index)


def node_key(op: Any, position: int) -> str:
    """Return the string under which a functional model keeps one of its calls."""
    return f"{id(op)}{names.NODE_MARK}{position}"


def split_node_key(key: str) -> tuple[int, int]:
    """Return the id of the op and the position of the call from a key of a functional model."""
    op, _, position = key.partition(names.NODE_MARK)
    return int(op), int(position)


def refill(calls: Any, items: list[Any]) -> None:
    """Replace all items of a list of calls, bypassing the bookkeeping of a wrapper class."""
    attributes = getattr(calls, "__dict__", {})
    if _WRAPPED_ITEMS in attributes:
        attributes[_WRAPPED_ITEMS].clear()
    else:
        list.clear(calls)
    put(calls, items)


def sort_calls(calls: list[Any]) -> list[Any]:
    """Return the calls with producers before consumers, and the calls of one op in the order they were made.

    Apart from that, Keras' order is kept. Keras runs the calls of a shared op by depth, which may differ from the order
    they were made in, and everything that replays calls needs that order.
    """
    positions = {id(call): number for number, call in enumerate(calls)}
    before: dict[int, set[int]] = {number: set() for number in range(len(calls))}
    for number, call in enumerate(calls):
        for parent in call.parent_nodes:
            if id(parent) in positions and not call.is_input:
                before[number].add(positions[id(parent)])
    for op in {id(call.operation): call.operation for call in calls}.values():
        own = [positions[id(call)] for call in inbound(op) if id(call) in positions]
        for earlier, later in itertools.pairwise(own):
            before[later].add(earlier)
    after: dict[int, list[int]] = {number: [] for number in before}
    for number, needed in before.items():
        for other in needed:
            after[other].append(number)
    missing = {number: len(needed) for number, needed in before.items()}
    ready = [number for number, count in missing.items() if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        number = heapq.heappop(ready)
        order.append(calls[number])
        for other in after[number]:
            missing[other] -= 1
            if missing[other] == 0:
                heapq.heappush(ready, other)
    return order if len(order) == len(calls) else calls
