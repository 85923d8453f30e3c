"""`python -m tools.docs.pictures`: draw the picture of the README. A test compares it with the stored one."""

from __future__ import annotations

from pathlib import Path

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "edit.svg"


def draw(path: Path) -> None:
    """Draw what a few edits changed in a small residual network."""
    import keras

    import ramet
    from ramet import edits as e

    layers = keras.layers
    inputs = keras.Input((32, 32, 3), name="image")
    stem = layers.ReLU(name="relu")(layers.Conv2D(16, 3, padding="same", name="stem")(inputs))
    branch = layers.Conv2D(16, 3, padding="same", name="conv")(stem)
    branch = layers.Dropout(0.5, name="drop")(branch)
    x = layers.Add(name="add")([stem, branch])
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    before = keras.Model(inputs, layers.Dense(1000, name="logits")(x), name="network")
    after = ramet.edit(
        before,
        e.remove("drop"),
        e.freeze("stem"),
        e.insert_after("pool", lambda old: layers.Dense(16, activation="gelu", name="hidden")),
        e.swap_head(classes=10),
    )
    ramet.draw(after, path, before=before, columns=3)


if __name__ == "__main__":
    draw(PICTURE)
