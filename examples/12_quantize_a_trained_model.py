"""How do I quantize a trained model, leave its last layer alone, and see what that costs?"""

import keras
import numpy as np

import ramet
from ramet import edits as e

layers = keras.layers
keras.utils.set_random_seed(0)
model = keras.Sequential(
    [
        keras.Input((20,)),
        layers.Dense(64, activation="relu", name="wide"),
        layers.LayerNormalization(name="norm"),
        layers.Dense(64, activation="relu", name="deep"),
        layers.Dense(3, activation="softmax", name="classes"),
    ],
    name="sorter",
)
random = np.random.default_rng(0)
x = random.normal(size=(256, 20)).astype("float32")
y = x[:, :3].argmax(axis=1)
model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=5, verbose=0)

print(ramet.plan(model, e.quantize(["wide", "norm", "deep"])))
small = ramet.edit(model, e.quantize(["wide", "deep"]))
small.save("small.keras")
loaded = keras.models.load_model("small.keras")  # plain Keras reads it

size = [sum(weight.numpy().nbytes for weight in one.weights) for one in (model, loaded)]
accuracy = [one.evaluate(x, y, verbose=0)[1] for one in (model, loaded)]
print(f"\n{size[0]:,} bytes, accuracy {accuracy[0]:.3f}; quantized: {size[1]:,} bytes, {accuracy[1]:.3f}")
assert size[1] < size[0] / 2
assert abs(accuracy[0] - accuracy[1]) < 0.05
