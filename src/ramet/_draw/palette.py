"""The colors of the page and the SVG: one hue for each family of ops."""

from __future__ import annotations

import colorsys
import re
from dataclasses import dataclass
from typing import Literal

from ramet._graph import Op

# For each family: its hue in degrees, its saturation in percent, and its name in the legend.
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

# The first match counts: a BatchNormalization is no Activation, whatever its name contains.
_BY_CLASS = {
    "attention": re.compile("Attention|Transformer"),
    "embedding": re.compile("Embedding|Lookup|Hashing|TextVectorization|CategoryEncoding"),
    "normalization": re.compile("Norm|Rescaling"),
    "regularization": re.compile("Dropout|Noise|Regularization|DropPath|StochasticDepth"),
    "recurrent": re.compile("LSTM|GRU|RNN|Recurrent|Bidirectional|TimeDistributed"),
    "pooling": re.compile("Pool|Flatten|Reshape|Permute|Crop|ZeroPadding|UpSampling|Resizing|RepeatVector"),
    "convolution": re.compile("Conv"),
    "activation": re.compile("ReLU|Relu|GELU|Gelu|Softmax|Sigmoid|Swish|SiLU|Tanh|Activation$"),
    "merge": re.compile("^(Add|Subtract|Multiply|Average|Maximum|Minimum|Concatenate|Dot|Concat)$"),
    "linear": re.compile("Dense|Linear|Einsum"),
}

# The colors of marks, which are distinguished by their letters as well.
GROUPS = ("#b4256a", "#0b6fb8", "#8a5a00", "#1d7a45", "#7a3fc4", "#b3401b", "#00757d", "#5c6370")
STATUS = {
    "added": ("#1a7f37", "#3fb950"),
    "removed": ("#c62f3a", "#ff7b72"),
    "changed": ("#9a5b00", "#e3a02c"),
    "renamed": ("#6f42c1", "#c297ff"),
    "differs": ("#c62f3a", "#ff7b72"),
}

# The lightness of a box in the light and in the dark theme, by how far its weights moved.
_MOVED_HUE = 24
_MOVED = ((96, 16), (91, 21), (84, 27), (76, 33), (67, 40))


@dataclass(frozen=True, slots=True)
class Theme:
    """The colors of a page: those below, and those computed for each family."""

    kind: Literal["light", "dark"]
    page: str
    text: str
    quiet: str
    line: str
    edge: str
    mask: str
    focus: str
    card: str

    def fill(self, family: str) -> str:
        """Return the color inside a box."""
        hue, saturation, _ = FAMILIES[family]
        return _hex(hue, saturation, 94) if self.kind == "light" else _hex(hue, saturation * 0.6, 17)

    def stroke(self, family: str) -> str:
        """Return the color of its outline."""
        hue, saturation, _ = FAMILIES[family]
        return _hex(hue, saturation, 46) if self.kind == "light" else _hex(hue, saturation, 62)

    def moved(self, step: int) -> str:
        """Return the color inside a box whose weights moved by a step of `DISTANCE_STEPS`."""
        light, dark = _MOVED[step]
        return _hex(_MOVED_HUE, 92, light) if self.kind == "light" else _hex(_MOVED_HUE, 70, dark)

    def inside(self, family: str) -> str:
        """Return the background of an open box."""
        hue, saturation, _ = FAMILIES[family]
        return _hex(hue, saturation * 0.6, 98) if self.kind == "light" else _hex(hue, saturation * 0.5, 11)


LIGHT = Theme("light", "#ffffff", "#1c2430", "#55606e", "#d5dae1", "#8793a1", "#7a3fc4", "#0b57d0", "#f6f8fa")
DARK = Theme("dark", "#12161c", "#e8edf3", "#a3afbd", "#323a45", "#75818f", "#c8a5ff", "#8ab4ff", "#1a2028")


def family_of(op: Op) -> str:
    """Return the family of an op, by its kind and the name of its class."""
    if op.kind in ("input", "model"):
        return op.kind
    for family, pattern in _BY_CLASS.items():
        if pattern.search(op.class_name):
            return family
    return "operation" if op.kind == "operation" else "layer"


def mark_color(group: int) -> str:
    """Return the color of the mark of a group."""
    return GROUPS[group % len(GROUPS)]


def style_variables(theme: Theme) -> str:
    """Return the colors of a theme as CSS variables."""
    index = 0 if theme.kind == "light" else 1
    plain = ("page", "text", "quiet", "line", "edge", "mask", "focus", "card")
    pairs = [(name, getattr(theme, name)) for name in plain]
    pairs += [(status, colors[index]) for status, colors in STATUS.items()]
    pairs += [(f"moved-{step}", theme.moved(step)) for step in range(len(_MOVED))]
    for family in FAMILIES:
        pairs += [
            (f"{family}-fill", theme.fill(family)),
            (f"{family}-stroke", theme.stroke(family)),
            (f"{family}-inside", theme.inside(family)),
        ]
    return "".join(f"--{name}:{value};" for name, value in pairs) + f"color-scheme:{theme.kind};"


def _hex(hue: float, saturation: float, lightness: float) -> str:
    parts = colorsys.hls_to_rgb(hue / 360, lightness / 100, saturation / 100)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)
