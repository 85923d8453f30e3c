"""Short texts on the picture, and how wide they are."""

from __future__ import annotations

from ramet._diff import show
from ramet._graph import Argument, FrozenDict, FrozenList, Op, Shape, Value, escape

__all__ = ["count", "hint_of", "letters", "listed_shapes", "shape_text", "shorten", "value_text", "width_of"]

# In parts of the font's size, measured on common sans-serif fonts: a text is never wider than its box by much.
_NARROW = frozenset("iljtfrI.,:;'|!()[]_ ")
_WIDE = frozenset("mwMWOQGCDNHU@%")
_LONGEST = 30


def width_of(text: str, size: float) -> float:
    """About how wide the text is at this size of font."""
    units = sum(
        0.4 if char in _NARROW else 0.86 if char in _WIDE else 1.0 if ord(char) > 0x2E80 else 0.63 for char in text
    )
    return units * size


def shorten(text: str, longest: int = _LONGEST) -> str:
    """The text on one line, without what a reader cannot see; the middle of a long one is left out."""
    text = escape(text[: 4 * longest] + text[-longest:] if len(text) > 5 * longest else text)
    if len(text) <= longest:
        return text
    tail = longest // 2 - 1
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"


def shape_text(shape: Shape | None) -> str:
    """`(None, 8)`; the middle of a shape of very many dimensions is left out."""
    if shape is None:
        return "not known yet"
    parts = [str(length) for length in shape]
    if len(parts) > 8:
        parts = [*parts[:4], "…", *parts[-3:]]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def value_text(value: Value) -> str:
    """The shape of a value, and what else is special about it."""
    flags = [word for word in ("sparse", "ragged", "optional") if getattr(value, word)]
    return " ".join([shape_text(value.shape), *flags])


def listed_shapes(shapes: tuple[str, ...], most: int) -> list[str]:
    """The first shapes; those of several values that are all alike in one line."""
    if len(shapes) > 1 and len(set(shapes)) == 1:
        return [f"{len(shapes)} x {shapes[0]}"]
    return list(shapes[:most])


def count(number: int, word: str, words: str | None = None) -> str:
    """`1 layer`, `1,200 layers`."""
    return f"{number:,} {word if number == 1 else words or f'{word}s'}"


def letters(number: int) -> str:
    """A, B, ... Z, AA, AB: the mark of a group."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(65 + rest) + text
    return text


def hint_of(op: Op) -> str:
    """A setting or two that tell the op from others of its class: `3x3, 64`."""
    config = op.config
    if config is None:
        return ""
    words = [_size(config, "kernel_size"), _size(config, "pool_size")]
    words += [_plain(config.get(key)) for key in ("filters", "units", "num_heads", "output_dim", "rate")]
    activation = config.get("activation")
    if isinstance(activation, str) and activation != "linear":
        words.append(activation)
    return shorten(", ".join(filter(None, words)), 18)


def _size(config: FrozenDict, key: str) -> str:
    value = config.get(key)
    parts = value if isinstance(value, tuple) else value.items if isinstance(value, FrozenList) else ()
    return "x".join(map(str, parts)) if parts and all(isinstance(part, int) for part in parts) else _plain(value)


def _plain(value: Argument) -> str:
    return show(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
