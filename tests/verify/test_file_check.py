"""The file check: numbers drawn on loading are no difference, the content of files is."""

import keras
import numpy as np
from keras import layers

import ramet
from ramet._verify import verify


class Drawn(layers.Layer):
    """A layer that draws numbers without a seed, saves none of them, and creates a `Dropout`."""

    def build(self, shape):
        self.order = self.add_weight(shape=(64,), initializer=_entropy, trainable=False, name="order")
        self.parts = layers.Dropout(0.5, name="inner")

    def call(self, x, training=False):
        return self.parts(x, training=training)

    def save_own_variables(self, store):
        """Save nothing."""

    def load_own_variables(self, store):
        """Load nothing."""


def _entropy(shape, dtype=None):
    return np.random.default_rng().normal(size=shape).astype("float32")


def drawn():
    x = keras.Input((4,))
    return keras.Model(x, layers.Dense(2, name="d")(Drawn(name="drawn")(x)))


def test_numbers_drawn_on_loading_are_no_difference():
    model = drawn()

    report = verify(model, ramet.clone(model), only="file", progress=False)

    assert report.ok, report


def test_numbers_drawn_on_loading_are_no_difference_if_files_are_loaded():
    model = drawn()
    twin = ramet.clone(model)
    kernel = twin.get_layer("d").kernel
    kernel.assign(keras.ops.convert_to_numpy(kernel) * np.float32(1.0001))

    check = verify(model, twin, only="file", tolerance=0.01, progress=False)["file"]

    assert check.outcome == "passed", check
    assert "drawn anew on loading" in check.summary


def test_changed_weight_is_found_among_drawn_numbers():
    model = drawn()
    twin = ramet.clone(model)
    twin.get_layer("d").bias.assign([1.0, 2.0])

    check = verify(model, twin, only="file", progress=False)["file"]

    assert check.outcome == "failed"
    assert any("bias" in one.path or "vars/1" in one.path for one in check.differences), check
    assert not any("order" in one.path for one in check.differences), check
