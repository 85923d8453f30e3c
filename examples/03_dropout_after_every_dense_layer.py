"""How do I put dropout after every dense layer but the last, and keep the weights?"""

import keras
import numpy as np

import ramet
from ramet import edits as e
from ramet import named, of_class

layers = keras.layers
keras.utils.set_random_seed(0)
model = keras.Sequential(
    [
        keras.Input((16,)),
        layers.Dense(32, activation="relu", name="wide"),
        layers.Dense(16, activation="relu", name="narrow"),
        layers.Dense(3, name="logits"),
    ],
    name="classifier",
)
inner_layers = of_class(layers.Dense) & ~named("logits")
regular = ramet.edit(model, e.insert_after(inner_layers, lambda old: layers.Dropout(0.3, name=f"{old.name}_drop")))
print(ramet.capture(regular))

x = np.ones((4, 16), "float32")
quiet = np.array_equal(model.predict_on_batch(x), regular.predict_on_batch(x))
noisy = not np.array_equal(regular.predict_on_batch(x), keras.ops.convert_to_numpy(regular(x, training=True)))
print(f"\nthe same numbers at inference: {quiet}; other numbers in training: {noisy}")

assert [layer.name for layer in regular.layers] == ["wide", "wide_drop", "narrow", "narrow_drop", "logits"]
assert type(regular) is keras.Sequential
assert quiet
assert noisy
