"""How do I train five members of an ensemble, differently seeded, as one model?"""

import keras
import numpy as np

import ramet

layers = keras.layers
keras.utils.set_random_seed(0)
member = keras.Sequential(
    [keras.Input((2,)), layers.Dense(16, activation="tanh", name="hidden"), layers.Dense(1, name="out")], name="member"
)

# A name of its own makes every path of a member distinct; a seed makes its first weights its own, and repeatable.
members = [ramet.clone(member, weights="fresh", seed=number, name=f"member_{number}") for number in range(5)]
point = keras.Input((2,))
answers = [one(point) for one in members]
ensemble = keras.Model(point, [layers.Average(name="mean")(answers), *answers], name="ensemble")

random = np.random.default_rng(0)
points = random.uniform(-1, 1, size=(256, 2)).astype("float32")
heights = points[:, :1] * points[:, 1:]
ensemble.compile(keras.optimizers.Adam(0.01), [None] + ["mse"] * 5)
ensemble.fit(points, [heights] * 6, epochs=15, verbose=0)

mean, *each = (np.asarray(values) for values in ensemble.predict_on_batch(points))
errors = [float(((one - heights) ** 2).mean()) for one in each]
print("errors of the members:", ", ".join(f"{error:.4f}" for error in errors))
print(f"error of their mean:    {float(((mean - heights) ** 2).mean()):.4f}")
print(f"spread at one point:    {np.std([one[0, 0] for one in each]):.4f}")

assert len({weight.path for weight in ensemble.weights}) == 5 * 4
assert len(set(errors)) == 5
assert float(((mean - heights) ** 2).mean()) < max(errors)
