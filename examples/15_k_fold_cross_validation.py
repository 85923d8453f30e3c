"""How do I cross-validate a compiled model, with every fold starting from exactly the same weights and optimizer?"""

import keras
import numpy as np

import ramet

keras.utils.set_random_seed(0)
model = keras.Sequential(
    [keras.Input((3,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dropout(0.1), keras.layers.Dense(1)]
)
model.compile(keras.optimizers.Adam(0.02), "mse", metrics=["mae"])
start = [np.array(weight) for weight in model.get_weights()]

random = np.random.default_rng(0)
points = random.normal(size=(200, 3)).astype("float32")
heights = points.sum(axis=1, keepdims=True)
folds = np.array_split(random.permutation(200), 5)

errors, firsts = [], []
for number, held_out in enumerate(folds):
    rest = np.setdiff1d(np.arange(200), held_out)
    fold = ramet.clone(model)  # compiled, and with the seeds of the dropout: no fold knows of another
    firsts.append([np.array(weight) for weight in fold.get_weights()])
    fold.fit(points[rest], heights[rest], epochs=10, shuffle=False, verbose=0)
    errors.append(fold.evaluate(points[held_out], heights[held_out], verbose=0, return_dict=True)["mae"])
    print(f"fold {number + 1}: mean absolute error {errors[-1]:.3f}")
print(f"all folds: {np.mean(errors):.3f} ± {np.std(errors):.3f}")

assert max(errors) < 1.0
assert len(set(errors)) == 5
for weights in [*firsts, model.get_weights()]:  # every fold began at the same place, and the original is still there
    assert all(np.array_equal(one, other) for one, other in zip(weights, start, strict=True))
assert len(np.unique(np.concatenate(folds))) == 200
