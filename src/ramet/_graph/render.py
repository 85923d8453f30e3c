"""Arguments as short text, in the notation of Python, with refs as the names of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ramet._graph.argument import Argument, Constant, FrozenDict, FrozenList, Ref, Slice
from ramet._report import escape


def render(value: Argument, ref: Callable[[Ref], str] = str, *, limit: int = 120) -> str:
    """Return an argument as text of at most about `limit` characters, which ends in three dots if it was cut.

    Args:
        value: The argument.
        ref: A function that writes a ref.
        limit: The length at which to stop. The rest is never visited, so a huge argument costs no more than a long one.
    """
    written: list[str] = []
    size = 0
    for piece in _pieces(value, ref, limit):
        written.append(piece)
        size += len(piece)
        if size > limit:
            return "".join(written)[: max(limit - 3, 0)] + "..."
    return "".join(written)


class _Text(str):
    """A piece of text among values that are not written yet."""

    __slots__ = ()


def _pieces(value: Argument, ref: Callable[[Ref], str], limit: int) -> Iterator[str]:
    waiting: list[Argument] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, _Text):
            yield item
        elif isinstance(item, tuple):
            end = ",)" if len(item) == 1 else ")"
            yield "("
            waiting += reversed(_separated(item, limit, end))
        elif isinstance(item, FrozenList):
            yield "["
            waiting += reversed(_separated(item.items, limit, "]"))
        elif isinstance(item, FrozenDict):
            yield "{"
            labels = [f"{_leaf(key, ref)}: " for key, _ in item.pairs[: limit + 1]]
            waiting += reversed(_separated(item.values(), limit, "}", labels))
        elif isinstance(item, Slice):
            waiting += reversed(_bounds(item))
        else:
            yield _leaf(item, ref)


def _separated(items: tuple[Argument, ...], limit: int, end: str, labels: list[str] | None = None) -> list[Argument]:
    """Return the items that fit into the limit, with commas and labels between them."""
    result: list[Argument] = []
    for position, item in enumerate(items[: limit + 1]):
        if position:
            result.append(_Text(", "))
        if labels:
            result.append(_Text(labels[position]))
        result.append(item)
    result.append(_Text(end))
    return result


def _bounds(item: Slice) -> list[Argument]:
    result: list[Argument] = [_Text(":")]
    if item.start is not None:
        result.insert(0, item.start)
    if item.stop is not None:
        result.append(item.stop)
    if item.step is not None:
        result += [_Text(":"), item.step]
    return result


def _leaf(item: object, ref: Callable[[Ref], str]) -> str:
    if isinstance(item, Ref):
        return ref(item)
    if item is ...:
        return "..."
    if isinstance(item, Constant):
        return escape(str(item))
    if type(item) is int and item.bit_length() > 64:
        return hex(item)  # Python refuses to write very large integers in decimal
    return repr(item)
