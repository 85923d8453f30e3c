"""Arguments as short text: as Python would write them, with refs as the names of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ramet._graph.argument import Argument, Constant, FrozenDict, FrozenList, Ref, Slice

__all__ = ["escape", "render", "represent", "shortened"]

_REPR_LIMIT = 400


def escape(text: str) -> str:
    """The text with everything a terminal would act on, or hide, written as an escape."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def shortened(text: str, most: int = 80) -> str:
    """The text, with the middle left out where it is too long to be shown."""
    if len(text) <= most:
        return text
    end = (most - 3) // 2
    return f"{text[: most - 3 - end]}...{text[len(text) - end :]}"


def render(value: Argument, ref: Callable[[Ref], str] = str, *, limit: int = 120) -> str:
    """The argument as text of about `limit` characters at most; what is longer ends in three dots.

    Args:
        value: frozen data.
        ref: how a ref is written.
        limit: where to stop. What lies behind is not even looked at, so a huge argument costs no more than a long one.
    """
    written: list[str] = []
    size = 0
    for piece in _pieces(value, ref, limit):
        written.append(piece)
        size += len(piece)
        if size > limit:
            return "".join(written)[: max(limit - 3, 0)] + "..."
    return "".join(written)


def represent(value: object) -> str:
    """The `repr` of a frozen container."""
    if isinstance(value, FrozenList | FrozenDict | Slice):
        return f"{type(value).__name__}({render(value, repr, limit=_REPR_LIMIT)})"
    return object.__repr__(value)


class _Text(str):
    """A piece of text among values still to be written."""

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
    """The items that can be seen within the limit, with commas and labels between them."""
    result: list[Argument] = []
    for place, item in enumerate(items[: limit + 1]):
        if place:
            result.append(_Text(", "))
        if labels:
            result.append(_Text(labels[place]))
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
        return hex(item)  # Python refuses to write the decimals of very large ones
    return repr(item)
