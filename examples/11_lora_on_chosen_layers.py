"""How do I fine-tune only low-rank updates (LoRA) of the query and value projections?"""

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

chosen = named("attention_*/query", "attention_*/value")
print(ramet.plan(model, e.lora(chosen, rank=4)))
tuned = ramet.edit(model, e.lora(chosen, rank=4, seed=0))  # everything else is frozen
print(
    "\ntrained:", sum(int(np.prod(w.shape)) for w in tuned.trainable_weights), "of", tuned.count_params(), "parameters"
)

random = np.random.default_rng(0)
text, score = random.integers(0, 50, size=(64, 12)), random.normal(size=(64, 1))
tuned.compile(keras.optimizers.Adam(0.01), "mse")
losses = tuned.fit(text, score, epochs=3, verbose=0).history["loss"]
print("loss:", [round(loss, 3) for loss in losses])

# For use without LoRA, the updates are added to the weights: the same numbers, in the shape of the old model.
merged = ramet.edit(tuned, e.merge_lora())
assert losses[-1] < losses[0]
assert all(layer.lora_enabled for layer in ramet.select(tuned, chosen).layers)
assert merged.count_params() == model.count_params()
assert np.allclose(merged.predict_on_batch(text), tuned.predict_on_batch(text), atol=1e-4)
