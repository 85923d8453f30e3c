"""How do I try two learning rates from the middle of a training run, and go on as if I had never stopped?"""

import keras
import numpy as np

import ramet

keras.utils.set_random_seed(0)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.01), "mse")
random = np.random.default_rng(0)
points = random.normal(size=(128, 4)).astype("float32")
heights = np.abs(points).sum(axis=1, keepdims=True)


def train(one, epochs):
    """Train on, in the same order every time."""
    return one.fit(points, heights, batch_size=32, epochs=epochs, shuffle=False, verbose=0).history["loss"][-1]


train(model, 5)
uninterrupted = ramet.clone(model)  # Adam's moments and its step count are part of the twin
branches = {rate: ramet.clone(model) for rate in (0.03, 0.003)}
for rate, branch in branches.items():
    branch.optimizer.learning_rate = rate
    print(f"learning rate {rate}: loss {train(branch, 5):.4f}, step {int(branch.optimizer.iterations)}")

resumed = ramet.clone(model)
print(f"as it was:            loss {train(uninterrupted, 5):.4f}, step {int(uninterrupted.optimizer.iterations)}")
train(resumed, 2)
train(resumed, 3)

assert int(model.optimizer.iterations) == 20  # five epochs of four steps: no branch has touched it
assert float(np.asarray(model.optimizer.learning_rate)) == np.float32(0.01)
for one, other in zip(uninterrupted.get_weights(), resumed.get_weights(), strict=True):
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)  # stopping in between changes nothing
assert ramet.verify(uninterrupted, ramet.clone(uninterrupted), only=["state"], progress=False).ok
