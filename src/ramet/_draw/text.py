"""Short texts for the picture, and their widths."""

from __future__ import annotations

from ramet._diff import describe_value
from ramet._graph import Argument, FrozenDict, FrozenList, Op, Shape, Value
from ramet._report import escape

# Widths relative to the font size, measured on common sans-serif fonts, so that no text is much wider than its box.
_NARROW = frozenset("iljtfrI.,:;'|!()[]_ ")
_WIDE = frozenset("mwMWOQGCDNHU@%")
_LONGEST = 30


def width_of(text: str, size: float) -> float:
    """Return the approximate width of a text in a font size."""
    units = sum(
        0.4 if char in _NARROW else 0.86 if char in _WIDE else 1.0 if ord(char) > 0x2E80 else 0.63 for char in text
    )
    return units * size


def shorten(text: str, longest: int = _LONGEST) -> str:
    """Return the text on one line, with invisible characters escaped and the middle of a long text left out."""
    text = escape(text[: 4 * longest] + text[-longest:] if len(text) > 5 * longest else text)
    if len(text) <= longest:
        return text
    tail = longest // 2 - 1
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"


def shape_text(shape: Shape | None) -> str:
    """Return a shape as `(None, 8)`; the middle of a shape with many dimensions is left out."""
    if shape is None:
        return "unknown shape"
    parts = [str(length) for length in shape]
    if len(parts) > 8:
        parts = [*parts[:4], "…", *parts[-3:]]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def value_text(value: Value) -> str:
    """Return the shape of a value with its flags: `(None, 8) sparse`."""
    flags = [word for word in ("sparse", "ragged", "optional") if getattr(value, word)]
    return " ".join([shape_text(value.shape), *flags])


def listed_shapes(shapes: tuple[str, ...], most: int) -> list[str]:
    """Return the first shapes, or one line for several equal ones: `3 x (None, 8)`."""
    if len(shapes) > 1 and len(set(shapes)) == 1:
        return [f"{len(shapes)} x {shapes[0]}"]
    return list(shapes[:most])


def letters(number: int) -> str:
    """Return the letters for a number: A, B, ... Z, AA, AB."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(65 + rest) + text
    return text


def hint_of(op: Op) -> str:
    """Return a setting or two that distinguish the op from others of its class: `3x3, 64`."""
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
    return describe_value(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
