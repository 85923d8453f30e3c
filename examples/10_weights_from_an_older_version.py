"""How do I load the weights of an older version of my model, with layers renamed, widened and added since?"""

import keras
import numpy as np

import ramet

layers = keras.layers
keras.utils.set_random_seed(0)
before = keras.Sequential(
    [keras.Input((8,)), layers.Dense(16, name="fc1"), layers.Dense(16, name="hidden"), layers.Dense(3, name="logits")],
    name="version_1",
)
now = keras.Sequential(
    [
        keras.Input((8,)),
        layers.Dense(16, name="embed"),  # was called fc1
        layers.Dense(16, name="hidden"),
        layers.LayerNormalization(name="norm"),  # is new
        layers.Dense(5, name="logits"),  # had three classes
    ],
    name="version_2",
)

rename = {"fc1": "embed"}
print(ramet.transfer(before, now, rename=rename, policy="pad", dry_run=True), end="\n\n")  # nothing is written yet

report = ramet.transfer(before, now, rename=rename, policy="pad")  # version_2 is changed in place
print(f"{len(report.copied)} copied, {len(report.adapted)} adapted; left: {[one.path for one in report.left]}")

old, new = before.get_layer("logits").kernel.numpy(), now.get_layer("logits").kernel.numpy()
assert np.array_equal(new[:, :3], old)
assert not new[:, 3:].any()
assert np.array_equal(now.get_layer("embed").kernel.numpy(), before.get_layer("fc1").kernel.numpy())
assert [one.path for one in report.left] == ["norm/gamma", "norm/beta"]
