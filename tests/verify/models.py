"""The models of the mutation tests: small, trained, with one of everything that can differ."""

import functools

import keras
import numpy as np
from keras import layers, ops

from tests.support.cases_models import MaskedSum
from tests.support.versions import KERAS


class Note:
    """An object of a user's own class."""

    def __init__(self):
        self.depth = 3
        self.words = ["one", "two"]


class Bend(layers.Layer):
    """A layer with a private attribute, a function and a block inside."""

    def __init__(self, bend=2.0, **kwargs):
        super().__init__(**kwargs)
        self._bend = bend
        self.shape_it = ops.tanh
        self.inside = layers.Dense(6, name="inside")

    def build(self, shape):
        self.inside.build(shape)

    def call(self, x):
        return self.shape_it(self.inside(x)) * self._bend


class OtherDense(layers.Dense):
    """The same layer by another name."""


class OtherModel(keras.Model):
    """The same model by another name."""


class Tied(layers.Layer):
    """Uses the kernel of another layer."""

    def __init__(self, source, **kwargs):
        super().__init__(**kwargs)
        self.source_kernel = source.kernel

    def call(self, x):
        return ops.matmul(x, ops.transpose(self.source_kernel))


class Stepping(keras.Model):
    """A subclassed model with a training step of its own and Python state."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.first = layers.Dense(4, name="first")
        self.blocks = [layers.Dense(4, name="block_0"), layers.Dense(4, name="block_1")]
        self.strength = 1.0

    def build(self, shape):
        self.first.build(shape)
        for block in self.blocks:
            block.build((None, 4))
        self.built = True

    def call(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return x

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return self.strength * super().compute_loss(x, y, y_pred, sample_weight, training)


def _trained(model, x, y, **options):
    options.setdefault("optimizer", keras.optimizers.Adam(0.01))
    options.setdefault("loss", "mse")
    model.compile(**options, run_eagerly=keras.backend.backend() != "torch")
    model.fit(x, y, batch_size=len(x), epochs=2, shuffle=False, verbose=0)
    return model


def _numbers(*shape):
    return np.random.default_rng(0).uniform(-1, 1, shape).astype("float32")


@functools.cache
def net():
    """Compiled and trained, half frozen, with a shared layer, a nested model and attributes of all kinds."""
    x = keras.Input((8,), name="features")
    factor = 0.5
    y = layers.Dense(6, activation="relu", kernel_regularizer=keras.regularizers.L2(1e-3), name="a")(x)
    y = layers.BatchNormalization(name="bn")(y)
    y = layers.Dropout(0.25, seed=7, name="drop")(y)
    y = layers.Lambda(lambda t: t * factor, name="scale")(y)
    y = Bend(name="bend")(y)
    inner_in = keras.Input((6,), name="inner_in")
    inner = keras.Model(inner_in, layers.Dense(6, name="deep")(inner_in), name="inner")
    y = inner(y)
    shared = layers.Dense(6, name="shared")
    left, right = shared(y), shared(ops.multiply(y, 2.0))
    y = layers.Subtract(name="minus")([left, right])
    y = layers.Dropout(0.5, seed=3, name="always")(y, training=True)
    other = layers.Dense(2, name="other")(y)
    model = keras.Model(x, [layers.Dense(3, name="head")(y), other], name="net")
    model.get_layer("a").trainable = False
    model.get_layer("a").tag = 5
    model.get_layer("bn").note = model.get_layer("head").note = Note()
    model.get_layer("minus").note = Note()
    model.note = Note()
    model.prior = _numbers(4)
    return _trained(
        model, _numbers(6, 8), [_numbers(6, 3), _numbers(6, 2)], loss=["mse", "mae"], metrics=[["mae"], ["mse"]]
    )


@functools.cache
def words():
    """Padded sequences: masks, a stateful RNN, an explicit mask, a vocabulary, a fixed batch."""
    ids = keras.Input((5,), batch_size=3, dtype="int32", name="ids")
    x = layers.Embedding(9, 4, mask_zero=True, name="emb")(ids)
    y = layers.GRU(4, stateful=True, return_sequences=True, name="gru")(x)
    gate = MaskedSum(name="gated")(y, mask=ops.greater(ids, 2))
    model = keras.Model(ids, [MaskedSum(name="sum")(layers.Activation("tanh", name="tanh")(y)), gate], name="words")
    model.lookup = layers.StringLookup(vocabulary=["red", "green", "blue"], name="lookup")
    model(np.array([[1, 2, 3, 0, 0]] * 3))
    return model


@functools.cache
def tied():
    """A decoder that uses the encoder's kernel, an optional and a sparse-flagged input, two equal layers."""
    x = keras.Input((4,), name="x")
    extra = keras.Input((4,), optional=True, name="extra")
    if KERAS < (3, 14):
        ops.negative(extra)  # an input that nothing takes is refused by Keras itself
    encoder = layers.Dense(3, name="encoder")
    hidden = encoder(x)
    out = Tied(encoder, name="decoder")(hidden)
    twins = [layers.Dense(4, use_bias=False, name=name)(out) for name in ("one", "two")]
    merged = layers.Add(name="sum")(twins)
    return keras.Model([x, extra], [merged, layers.Lambda(lambda t: t, name="same")(merged)], name="tied")


@functools.cache
def tuned():
    """LoRA, mixed precision, a scaled loss and a schedule."""
    x = keras.Input((4,), name="x")
    dense = layers.Dense(4, name="dense")
    y = layers.Dense(2, dtype="mixed_float16", name="half")(dense(x))
    model = keras.Model(x, y, name="tuned")
    dense.enable_lora(2, lora_alpha=6)
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(schedule, momentum=0.9))
    return _trained(model, _numbers(4, 4), _numbers(4, 2), optimizer=optimizer)


@functools.cache
def stepping():
    """A subclassed model."""
    model = Stepping(name="stepping")
    model.build((None, 4))
    return _trained(model, _numbers(4, 4), _numbers(4, 4))
