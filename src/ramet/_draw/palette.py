"""Colours: one family of ops, one hue. The page and the SVG take them from here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ramet._graph import Op

__all__ = ["DARK", "FAMILIES", "GROUPS", "LIGHT", "STATUS", "Theme", "family_of", "mark_colour", "style_variables"]

# The hue of each family in degrees, and how strong it is in per cent; what a family is called in the legend.
FAMILIES: dict[str, tuple[int, int, str]] = {
    "input": (150, 45, "input, output"),
    "output": (150, 45, "input, output"),
    "convolution": (212, 70, "convolution"),
    "linear": (232, 60, "dense"),
    "embedding": (182, 55, "embedding"),
    "attention": (28, 78, "attention"),
    "recurrent": (292, 42, "recurrent"),
    "normalization": (48, 70, "normalization"),
    "activation": (350, 62, "activation"),
    "pooling": (130, 35, "pooling, shape"),
    "merge": (96, 38, "merge"),
    "regularization": (16, 25, "dropout, noise"),
    "operation": (220, 8, "operation"),
    "model": (258, 45, "model"),
    "block": (220, 14, "block"),
    "layer": (205, 22, "other layer"),
}

# Tried from the first to the last: a BatchNormalization is no Activation, whatever it is called.
_BY_CLASS: tuple[tuple[str, str], ...] = (
    ("attention", r"Attention|Transformer"),
    ("embedding", r"Embedding|Lookup|Hashing|TextVectorization|CategoryEncoding"),
    ("normalization", r"Norm|Rescaling"),
    ("regularization", r"Dropout|Noise|Regularization|DropPath|StochasticDepth"),
    ("recurrent", r"LSTM|GRU|RNN|Recurrent|Bidirectional|TimeDistributed"),
    ("pooling", r"Pool|Flatten|Reshape|Permute|Crop|ZeroPadding|UpSampling|Resizing|RepeatVector"),
    ("convolution", r"Conv"),
    ("activation", r"ReLU|Relu|GELU|Gelu|Softmax|Sigmoid|Swish|SiLU|Tanh|Activation$"),
    ("merge", r"^(Add|Subtract|Multiply|Average|Maximum|Minimum|Concatenate|Dot|Concat)$"),
    ("linear", r"Dense|Linear|Einsum"),
)
_COMPILED = tuple((family, re.compile(pattern)) for family, pattern in _BY_CLASS)

# Marks of what is one object: told apart by letter first, by colour second.
GROUPS = ("#b4256a", "#0b6fb8", "#8a5a00", "#1d7a45", "#7a3fc4", "#b3401b", "#00757d", "#5c6370")
STATUS = {
    "added": ("#1a7f37", "#3fb950"),
    "removed": ("#c62f3a", "#ff7b72"),
    "changed": ("#9a5b00", "#e3a02c"),
    "renamed": ("#6f42c1", "#c297ff"),
    "differs": ("#c62f3a", "#ff7b72"),
}

# How far weights moved, from the smallest step to the largest: how light a box is in the light theme, and in the dark one.
_MOVED_HUE = 24
_MOVED = ((96, 16), (91, 21), (84, 27), (76, 33), (67, 40))

Kind: TypeAlias = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a page that belong to no family."""

    kind: Kind
    page: str
    text: str
    quiet: str
    line: str
    edge: str
    mask: str
    focus: str
    card: str

    def fill(self, family: str) -> str:
        """The colour inside a box."""
        hue, strong, _ = FAMILIES[family]
        return _hex(hue, strong, 94) if self.kind == "light" else _hex(hue, strong * 0.6, 17)

    def stroke(self, family: str) -> str:
        """The colour of its outline."""
        hue, strong, _ = FAMILIES[family]
        return _hex(hue, strong, 46) if self.kind == "light" else _hex(hue, strong, 62)

    def moved(self, step: int) -> str:
        """The colour inside a box whose weights moved that far, by the steps of `HOW_FAR`."""
        light, dark = _MOVED[step]
        return _hex(_MOVED_HUE, 92, light) if self.kind == "light" else _hex(_MOVED_HUE, 70, dark)

    def inside(self, family: str) -> str:
        """The colour behind what is in an open box."""
        hue, strong, _ = FAMILIES[family]
        return _hex(hue, strong * 0.6, 98) if self.kind == "light" else _hex(hue, strong * 0.5, 11)


LIGHT = Theme("light", "#ffffff", "#1c2430", "#55606e", "#d5dae1", "#8793a1", "#7a3fc4", "#0b57d0", "#f6f8fa")
DARK = Theme("dark", "#12161c", "#e8edf3", "#a3afbd", "#323a45", "#75818f", "#c8a5ff", "#8ab4ff", "#1a2028")


def family_of(op: Op) -> str:
    """Which family an op belongs to, by its kind and the name of its class."""
    if op.kind in ("input", "model"):
        return op.kind
    for family, pattern in _COMPILED:
        if pattern.search(op.class_name):
            return family
    return "operation" if op.kind == "operation" else "layer"


def mark_colour(group: int) -> str:
    """The colour of a group of boxes that are one object."""
    return GROUPS[group % len(GROUPS)]


def style_variables(theme: Theme) -> str:
    """The colours of a theme as CSS variables."""
    place = 0 if theme.kind == "light" else 1
    plain = ("page", "text", "quiet", "line", "edge", "mask", "focus", "card")
    pairs = [(name, getattr(theme, name)) for name in plain]
    pairs += [(status, colours[place]) for status, colours in STATUS.items()]
    pairs += [(f"moved-{step}", theme.moved(step)) for step in range(len(_MOVED))]
    for family in FAMILIES:
        pairs += [
            (f"{family}-fill", theme.fill(family)),
            (f"{family}-stroke", theme.stroke(family)),
            (f"{family}-inside", theme.inside(family)),
        ]
    return "".join(f"--{name}:{value};" for name, value in pairs) + f"color-scheme:{theme.kind};"


def _hex(hue: float, strong: float, light: float) -> str:
    import colorsys

    parts = colorsys.hls_to_rgb(hue / 360, light / 100, strong / 100)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)
