"""Small layers, data and comparisons that the tests of the founding behaviours and of CASES.md share.

None of the classes is registered with Keras: a twin must not need that.
"""

import keras
import numpy as np

from tests.support.twins import assert_equal_outputs


class Swap(keras.Layer):
    """Two inputs, two outputs, the other way round."""

    def call(self, inputs):
        first, second = inputs
        return [second, first]


class MaskedSum(keras.Layer):
    """The sum over time of what the mask leaves: its numbers tell which mask it was given."""

    def call(self, x, mask=None):
        if mask is not None:
            x = x * keras.ops.expand_dims(keras.ops.cast(mask, x.dtype), -1)
        return keras.ops.sum(x, axis=1)

    def compute_mask(self, inputs, previous_mask):
        return None  # used up here


class MaskedSums(keras.Layer):
    """For several inputs, the sum over time of what each one's mask leaves, side by side."""

    def call(self, inputs, mask=None):
        masks = [None] * len(inputs) if mask is None else mask
        sums = []
        for x, m in zip(inputs, masks, strict=True):
            if m is not None:
                x = x * keras.ops.expand_dims(keras.ops.cast(m, x.dtype), -1)
            sums.append(keras.ops.sum(x, axis=1))
        return keras.ops.concatenate(sums, axis=-1)

    def compute_mask(self, inputs, previous_mask):
        return None  # used up here


class MaskBlind(keras.Layer):
    """Takes no mask and hands none on."""

    def call(self, x):
        return x * 2


class Scale(keras.Layer):
    """A layer with one weight."""

    def __init__(self, start=2.0, **kwargs):
        super().__init__(**kwargs)
        self.start = start

    def build(self, shape):
        self.factor = self.add_weight(shape=(), initializer=keras.initializers.Constant(self.start), name="factor")

    def call(self, x):
        return x * self.factor


def numbers(*shape, seed=0):
    """Random float32 numbers, the same for the same seed."""
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def scramble(model, seed=1):
    """Give every float weight another value: a twin that ran its initialisers again would differ."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        if "float" in keras.backend.standardize_dtype(weight.dtype):
            weight.assign(rng.standard_normal(weight.shape).astype("float32"))
    return model


def paths(model):
    """The paths of all variables."""
    return [variable.path for variable in model.variables]


def assert_alike(model, twin, x=None, *, config=True, **kwargs):
    """Class, names, paths, flags, output structure and (where it has one) config; the numbers, where `x` is given."""
    assert type(twin) is type(model)
    assert twin is not model
    assert twin.name == model.name
    assert paths(twin) == paths(model)
    ours, theirs = list(model._flatten_layers()), list(twin._flatten_layers())
    assert [layer.name for layer in theirs] == [layer.name for layer in ours]
    assert [layer.trainable for layer in theirs] == [layer.trainable for layer in ours]
    assert [layer.dtype_policy for layer in theirs] == [layer.dtype_policy for layer in ours]
    assert [variable.trainable for variable in twin.variables] == [variable.trainable for variable in model.variables]
    if config:
        assert twin.get_config() == model.get_config()
    if x is not None:
        assert_equal_outputs(model, twin, x, **kwargs)


def mask_of(tensor):
    """The mask Keras attached to a tensor, or None."""
    return getattr(tensor, "_keras_mask", None)
