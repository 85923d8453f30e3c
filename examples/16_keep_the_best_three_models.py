"""How do I keep the three best models of a training run in memory, optimizer included, without writing files?"""

import keras
import numpy as np

import ramet


class KeepBest(keras.callbacks.Callback):
    """The `count` models with the lowest value, best first, as pairs of the value and a twin."""

    def __init__(self, monitor="val_loss", count=3):
        super().__init__()
        self.monitor, self.count, self.best = monitor, count, []

    def on_epoch_end(self, epoch, logs=None):
        """Clone the model if it is among the best."""
        value = logs[self.monitor]
        if len(self.best) < self.count or value < self.best[-1][0]:
            twin = ramet.clone(self.model, name=f"epoch_{epoch}")  # in a callback, on every backend
            self.best = sorted([*self.best, (value, twin)], key=lambda pair: pair[0])[: self.count]


keras.utils.set_random_seed(0)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.1), "mse")
random = np.random.default_rng(0)
points = random.normal(size=(96, 4)).astype("float32")
heights = points[:, :1] * points[:, 1:2]
keep = KeepBest()
history = model.fit(points, heights, validation_split=0.5, epochs=12, verbose=0, callbacks=[keep]).history["val_loss"]
for value, twin in keep.best:
    again = twin.evaluate(points[48:], heights[48:], verbose=0)
    print(f"{twin.name}: loss {value:.4f} then, {again:.4f} now, after {int(twin.optimizer.iterations)} steps")
    np.testing.assert_allclose(again, value, rtol=1e-4)

assert [value for value, _ in keep.best] == sorted(history)[:3]
assert [twin.name for _, twin in keep.best] == [f"epoch_{number}" for number in np.argsort(history)[:3]]
