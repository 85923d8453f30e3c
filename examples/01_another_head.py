"""How do I give a trained model another number of classes, and keep everything else that it has learned?"""

import keras
import numpy as np

import ramet
from ramet import edits as e

layers = keras.layers
keras.utils.set_random_seed(0)
image = keras.Input((16, 16, 3))
x = layers.Conv2D(8, 3, activation="relu", name="conv")(image)
x = layers.GlobalAveragePooling2D(name="pool")(x)
x = layers.Dense(1000, name="logits")(x)
trained = keras.Model(image, layers.Softmax(name="probabilities")(x), name="thousand_classes")

print(ramet.plan(trained, e.swap_head(classes=5), e.freeze("conv")), end="\n\n")

new = ramet.edit(trained, e.swap_head(classes=5), e.freeze("conv"), seed=7)
print(f"before: {trained.output_shape}, {trained.count_params():,} parameters")
print(f"after:  {new.output_shape}, {new.count_params():,} parameters")

new.compile("adam", "sparse_categorical_crossentropy")
random = np.random.default_rng(0)
new.fit(random.normal(size=(32, 16, 16, 3)), random.integers(0, 5, size=32), verbose=0)

old_kernel, new_kernel = (model.get_layer("conv").kernel.numpy() for model in (trained, new))
assert np.array_equal(old_kernel, new_kernel)  # carried over, and frozen while the new head was trained
assert new.output_shape == (None, 5)
assert trained.output_shape == (None, 1000)  # the model passed in is as it was
