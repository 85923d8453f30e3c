"""How do I use GELU instead of ReLU throughout a model, wherever it is written down?"""

import keras
import numpy as np

import ramet
from ramet import edits as e

layers = keras.layers
keras.utils.set_random_seed(0)
inner = keras.Sequential(
    [keras.Input((8,)), layers.Dense(8, activation="relu", name="dense"), layers.ReLU(name="relu")], name="block"
)
inputs = keras.Input((8,))
x = layers.Activation("relu", name="act")(layers.Dense(8, name="first")(inputs))
model = keras.Model(inputs, layers.Dense(2, name="last")(inner(x)), name="net")

# As a setting of other layers, and as a layer of its own; in nested models, too.
as_setting = ramet.with_config(activation="relu")
as_layer = ramet.of_class(layers.ReLU)
print(ramet.select(model, as_setting | as_layer), end="\n\n")

smooth = ramet.edit(
    model,
    e.update(as_setting, activation="gelu"),
    e.replace(as_layer, lambda old: layers.Activation("gelu", name=old.name)),
)
print(ramet.capture(smooth))

assert len(ramet.select(smooth, as_setting | as_layer)) == 0
assert ramet.select(smooth, ramet.with_config(activation="gelu")).paths == ("act", "block/dense", "block/relu")

gelu, block = keras.activations.gelu, smooth.get_layer("block")
ones = np.ones((1, 8), "float32")
x = gelu(gelu(keras.ops.matmul(gelu(smooth.get_layer("first")(ones)), block.get_layer("dense").kernel)))
by_hand = keras.ops.convert_to_numpy(smooth.get_layer("last")(x))
assert np.allclose(smooth.predict_on_batch(ones), by_hand, atol=1e-5)
