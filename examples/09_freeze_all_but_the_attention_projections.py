"""How do I train nothing but the query and value projections inside the attention layers?"""

import keras
import numpy as np

import ramet
from ramet import edits as e
from ramet import named

layers = keras.layers
keras.utils.set_random_seed(0)
tokens = keras.Input((12,), dtype="int32")
x = layers.Embedding(50, 16, name="embed")(tokens)
for number in range(2):
    attended = layers.MultiHeadAttention(2, 8, name=f"attention_{number}")(x, x)
    x = layers.LayerNormalization(name=f"norm_{number}")(layers.Add(name=f"add_{number}")([x, attended]))
model = keras.Model(tokens, layers.Dense(1, name="score")(layers.GlobalAveragePooling1D(name="pool")(x)), name="reader")

# Paths reach into layers that make their parts themselves. Of two edits, the last one counts.
tuned = ramet.edit(model, e.freeze(), e.unfreeze(named("attention_*/query", "attention_*/value")))
print(ramet.select(tuned, named("attention_*/*")))
print("\ntrained:", ", ".join(weight.path for weight in tuned.trainable_weights))

before = [weight.numpy().copy() for weight in tuned.weights]
tuned.compile("adam", "mse")
random = np.random.default_rng(0)
tuned.fit(random.integers(0, 50, size=(32, 12)), random.normal(size=(32, 1)), verbose=0)

changed = {w.path for old, w in zip(before, tuned.weights, strict=True) if not np.array_equal(old, w.numpy())}
assert changed <= {weight.path for weight in tuned.trainable_weights}
assert len(tuned.trainable_weights) == 8  # kernel and bias of two projections in two layers
assert len(model.trainable_weights) == len(model.weights)  # the model passed in is as it was
