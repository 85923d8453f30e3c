"""What changed between two checkpoints of a training run, the optimizer included?"""

import keras
import numpy as np

import ramet

layers = keras.layers
keras.utils.set_random_seed(0)
model = keras.Sequential(
    [keras.Input((8,)), layers.Dense(16, name="body"), layers.Dropout(0.1, name="drop"), layers.Dense(3, name="head")],
    name="classifier",
)
model.compile(keras.optimizers.Adam(0.01), "mse")
x = np.random.default_rng(0).normal(size=(32, 8)).astype("float32")
model.fit(x, x[:, :3], epochs=1, verbose=0)
model.save("epoch_1.keras")

model.get_layer("body").trainable = False  # fine-tune the head only
model.compile(keras.optimizers.Adam(0.001), "mse")
model.fit(x, x[:, :3], epochs=1, verbose=0)
model.save("epoch_2.keras")

diff = ramet.diff("epoch_1.keras", "epoch_2.keras")  # files are read as data; `ramet diff` does the same in a shell
print(diff)  # weights that moved furthest come first, and what was not compared is listed at the end

picture = ramet.draw("epoch_2.keras", before="epoch_1.keras")  # boxes are colored by how far their weights moved
assert "weights moved" in picture.to_svg()
moved = {change.path for change in diff.changes if change.kind == "weights"}
assert moved == {"head/kernel", "head/bias"}
assert any(change.kind == "optimizer" for change in diff.changes)
assert ("compile", "optimizer.config.learning_rate") in {(change.kind, change.what) for change in diff.changes}
