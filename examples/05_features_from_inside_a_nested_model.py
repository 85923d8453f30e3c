"""How do I get the features of a layer inside a nested model, without calling anything twice?"""

import keras
import numpy as np

import ramet

layers = keras.layers
keras.utils.set_random_seed(0)
image = keras.Input((32, 32, 3))
x = layers.Conv2D(8, 3, strides=2, activation="relu", name="conv1")(image)
x = layers.Conv2D(16, 3, strides=2, activation="relu", name="conv2")(x)
backbone = keras.Model(image, layers.GlobalAveragePooling2D(name="pool")(x), name="backbone")

photo = keras.Input((32, 32, 3), name="photo")
scaled = layers.Rescaling(1 / 255, name="scale")(photo)
classifier = keras.Model(photo, layers.Dense(5, name="logits")(backbone(scaled)), name="classifier")
print(ramet.capture(classifier), end="\n\n")

# Keras says "Graph disconnected" of keras.Model(photo, backbone.get_layer("conv2").output).
paths = {"features": "backbone/conv2", "scores": "logits"}
features = ramet.cut(classifier, outputs=paths)
batch = np.random.default_rng(0).uniform(0, 255, size=(2, 32, 32, 3)).astype("float32")
found = features.predict_on_batch(batch)
print({name: tuple(value.shape) for name, value in found.items()})

by_hand = backbone.get_layer("conv2")(backbone.get_layer("conv1")(batch / 255))
assert np.allclose(found["features"], keras.ops.convert_to_numpy(by_hand), atol=1e-5)
assert np.allclose(found["scores"], classifier.predict_on_batch(batch), atol=1e-5)
assert len(ramet.cut(classifier, outputs="backbone/conv1").weights) == 2  # what does not lead there stays behind
