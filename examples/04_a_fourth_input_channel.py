"""How do I feed images with a fourth channel, depth or infrared, to a network that was trained on three?"""

import keras
import numpy as np

import ramet
from ramet import edits as e

layers = keras.layers
keras.utils.set_random_seed(0)
image = keras.Input((32, 32, 3), name="image")
x = layers.Conv2D(8, 3, padding="same", name="stem")(image)
x = layers.BatchNormalization(name="norm")(x)
x = layers.GlobalAveragePooling2D(name="pool")(layers.ReLU(name="act")(x))
model = keras.Model(image, layers.Dense(10, name="logits")(x), name="rgb")

# The kernel of the first convolution has a place for three channels. Without a policy the edit is refused.
try:
    ramet.edit(model, e.resize_input((32, 32, 4)))
except ramet.errors.RametError as error:
    print(error, end="\n\n")

# "pad" gives the new channel zeros: it counts for nothing until it is trained. "mean" would begin with the mean of the others.
padded = ramet.edit(model, e.resize_input((32, 32, 4), weights="pad"))
averaged = ramet.edit(model, e.resize_input((32, 32, 4), weights="mean"))
old, zeros, means = (one.get_layer("stem").kernel.numpy() for one in (model, padded, averaged))
print(f"kernel: {old.shape} becomes {zeros.shape}")

rgb = np.random.default_rng(0).normal(size=(2, 32, 32, 3)).astype("float32")
rgbd = np.concatenate([rgb, np.ones((2, 32, 32, 1), "float32")], axis=-1)
assert np.allclose(padded.predict_on_batch(rgbd), model.predict_on_batch(rgb), atol=1e-5)
assert np.array_equal(means[:, :, :3], old)
assert np.allclose(means[:, :, 3], old.mean(axis=2))
