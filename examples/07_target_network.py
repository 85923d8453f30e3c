"""How do I keep a target network that follows my model slowly, as in DQN or SAC?"""

import keras
import numpy as np

import ramet

keras.utils.set_random_seed(0)
value = keras.Sequential(
    [keras.Input((4,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(2)], name="value"
)
value.compile(keras.optimizers.Adam(0.01), "mse")
target = ramet.clone(value, name="target")  # the same weights, nothing in common

random = np.random.default_rng(0)
states = random.normal(size=(256, 4)).astype("float32")
rewards = states[:, :2] - states[:, 2:]


def distance():
    """How far the target's values are behind."""
    difference = value.predict_on_batch(states) - target.predict_on_batch(states)
    return float(np.abs(keras.ops.convert_to_numpy(difference)).mean())


for step in range(61):
    batch = random.integers(0, 256, size=32)
    following = 0.9 * np.asarray(target.predict_on_batch(states[batch]))
    value.train_on_batch(states[batch], rewards[batch] + following)
    ramet.sync(value, target, tau=0.05)  # the target is changed in place: 5 % of the way
    if step % 20 == 0:
        print(f"step {step:2}: the target is {distance():.4f} behind")

assert distance() > 0
ramet.sync(value, target)  # and all of the way: every bit
print(f"after a hard update it is {distance():.4f} behind")
assert distance() == 0
