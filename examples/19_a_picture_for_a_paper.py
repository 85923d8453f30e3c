"""How do I draw a deep model for a paper, so that it is not one long strip?"""

import re
from pathlib import Path

import keras

import ramet

layers = keras.layers
x = image = keras.Input((32, 32, 3), name="image")
for number in range(9):
    y = layers.Conv2D(8, 3, padding="same", activation="relu", name=f"conv_{number}")(x)
    x = y if number == 0 else layers.Add(name=f"add_{number}")([x, y])
model = keras.Model(image, layers.Dense(10, name="logits")(layers.GlobalAveragePooling2D(name="pool")(x)), name="deep")

ramet.draw(model, "strip.svg")
ramet.draw(model, "columns.svg", columns=3)
ramet.draw(model, "lines.svg", rankdir="LR", columns=4)


def shape(path):
    """Width and height of a drawing."""
    found = re.search(r'width="([\d.]+)" height="([\d.]+)"', Path(path).read_text(encoding="utf-8"))
    return float(found[1]), float(found[2])


for path in ("strip.svg", "columns.svg", "lines.svg"):
    print(f"{path}: {shape(path)[0]:.0f} x {shape(path)[1]:.0f}")
try:
    ramet.draw(model, "paper.pdf", columns=3)  # with cairosvg, rsvg-convert, inkscape or chromium
    print(f"paper.pdf: {Path('paper.pdf').stat().st_size:,} bytes")
except ramet.errors.ArgumentError as error:
    print(error)

assert shape("strip.svg")[1] > 4 * shape("strip.svg")[0]
assert 1 / 2 < shape("columns.svg")[1] / shape("columns.svg")[0] < 2
