"""Small layers, data and comparisons for the tests of the founding behaviors and of CASES.md.

None of the classes is registered with Keras: a twin must not need that.
"""

import keras
import numpy as np

from tests.support.twins import assert_equal_outputs


class Swap(keras.Layer):
    """A layer that returns its two inputs in reverse order."""

    def call(self, inputs):
        first, second = inputs
        return [second, first]


class MaskedSum(keras.Layer):
    """The sum over unmasked time steps: its values depend on the mask."""

    def call(self, x, mask=None):
        if mask is not None:
            x = x * keras.ops.expand_dims(keras.ops.cast(mask, x.dtype), -1)
        return keras.ops.sum(x, axis=1)

    def compute_mask(self, inputs, previous_mask):
        return None  # consumed here


class MaskedSums(keras.Layer):
    """The sums over the unmasked time steps of several inputs, concatenated."""

    def call(self, inputs, mask=None):
        masks = [None] * len(inputs) if mask is None else mask
        sums = []
        for x, m in zip(inputs, masks, strict=True):
            if m is not None:
                x = x * keras.ops.expand_dims(keras.ops.cast(m, x.dtype), -1)
            sums.append(keras.ops.sum(x, axis=1))
        return keras.ops.concatenate(sums, axis=-1)

    def compute_mask(self, inputs, previous_mask):
        return None  # consumed here


class MaskBlind(keras.Layer):
    """A layer that neither accepts nor propagates a mask."""

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
    """Return random float32 numbers, the same for the same seed."""
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def scramble(model, seed=1):
    """Change every float weight, so that a twin that runs its initializers again would differ."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        if "float" in keras.backend.standardize_dtype(weight.dtype):
            weight.assign(rng.standard_normal(weight.shape).astype("float32"))
    return model


def paths(model):
    """Return the paths of all variables."""
    return [variable.path for variable in model.variables]


def assert_alike(model, twin, x=None, *, config=True, **kwargs):
    """Compare class, names, paths, flags, output structure and config (if there is one), and outputs if `x` is given."""
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
    """Return the mask that Keras attached to a tensor, or None."""
    return getattr(tensor, "_keras_mask", None)
