"""How do I get rid of batch normalization, dropout and nesting before I export a model?"""

import keras
import numpy as np

import ramet
from ramet import edits as e

layers = keras.layers
keras.utils.set_random_seed(0)
block_in = keras.Input((16, 16, 8))
x = layers.Conv2D(8, 3, padding="same", use_bias=False, name="conv")(block_in)
x = layers.ReLU(name="relu")(layers.BatchNormalization(name="norm")(x))
block = keras.Model(block_in, layers.Add(name="add")([x, block_in]), name="block")
image = keras.Input((16, 16, 3))
x = block(layers.BatchNormalization(name="norm0")(layers.Conv2D(8, 3, padding="same", name="conv0")(image)))
x = layers.Dropout(0.2, name="drop")(layers.GlobalAveragePooling2D(name="pool")(x))
model = keras.Model(image, layers.Dense(4, name="logits")(x), name="trained")
random = np.random.default_rng(0)
model.compile("sgd", "mse")
model.fit(random.normal(size=(64, 16, 16, 3)), random.normal(size=(64, 4)), verbose=0)

slim = ramet.edit(model, e.fold_batchnorm(), e.drop_dropout())
flat = ramet.edit(slim, e.flatten())  # one after the other: flatten sees what folding left
print(f"{len(ramet.select(model, ramet.anything()))} ops before", ramet.capture(flat), sep="\n\n")

batch = random.normal(size=(8, 16, 16, 3)).astype("float32")
expected = np.asarray(model.predict_on_batch(batch))
error = np.abs(flat.predict_on_batch(batch) - expected).max() / np.abs(expected).max()
print(f"\nlargest difference: {error:.1e} of the largest output")
assert error < 1e-4
assert not ramet.select(flat, ramet.of_class("BatchNormalization", "Dropout", "Functional")).matches
