"""Classes like those in other libraries: with their own configs, layers created inside, and lookups by name.

Nothing here imports ramet: tests load files of these classes in a separate process.
"""

import keras
import numpy as np
from keras import layers, ops

register = keras.saving.register_keras_serializable(package="other")


@register
class Encoder(keras.Model):
    """A functional backbone that creates its layers from three numbers, and keeps a pyramid of outputs."""

    def __init__(self, width=4, depth=2, dropout=0.1, dtype=None, **kwargs):
        tokens = keras.Input((6,), dtype="int32", name="tokens")
        embedding = layers.Embedding(11, width, name="embedding", dtype=dtype)
        x = embedding(tokens)
        levels = {}
        for number in range(depth):
            x = layers.Dense(width, activation="gelu", name=f"block_{number}", dtype=dtype)(x)
            x = layers.Dropout(dropout, name=f"drop_{number}", dtype=dtype)(x)
            levels[f"P{number}"] = x
        x = layers.Dense(width, activation="tanh", name="pooled", dtype=dtype)(x[:, 0, :])
        super().__init__(inputs=tokens, outputs=x, **kwargs)
        self.dtype_policy = keras.dtype_policies.get(dtype)
        self.width, self.depth, self.dropout = width, depth, dropout
        self.embedding = embedding
        self.pyramid = levels

    def get_config(self):
        return {
            "width": self.width,
            "depth": self.depth,
            "dropout": self.dropout,
            "name": self.name,
            "trainable": self.trainable,
            "dtype": keras.dtype_policies.serialize(self.dtype_policy),
        }


@register
class Classifier(keras.Model):
    """A task: a backbone with a head, which its config describes."""

    def __init__(self, backbone, num_classes, dropout=0.2, **kwargs):
        x = layers.Dropout(dropout, name="head_dropout")(backbone(backbone.inputs[0]))
        outputs = layers.Dense(num_classes, name="logits")(x)
        super().__init__(inputs=backbone.inputs[0], outputs=outputs, **kwargs)
        self._backbone = backbone
        self.num_classes, self.dropout = num_classes, dropout
        self.half = num_classes // 2  # derived from a setting

    @property
    def backbone(self):
        return self._backbone

    def get_config(self):
        return {
            "backbone": keras.saving.serialize_keras_object(self.backbone),
            "num_classes": self.num_classes,
            "dropout": self.dropout,
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config):
        return cls(keras.saving.deserialize_keras_object(config.pop("backbone")), **config)


@register
class Regularized(Encoder):
    """A model with a custom loss that finds a layer by its name."""

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        kernel = self.get_layer("pooled").kernel
        return ops.mean((y - y_pred) ** 2) + 0.1 * ops.mean(kernel**2)


@register
class Tied(keras.Layer):
    """A layer that holds the name of the layer it is tied to."""

    def __init__(self, tied_to, **kwargs):
        super().__init__(**kwargs)
        self.tied_to = tied_to

    def call(self, x):
        return x * 2.0

    def get_config(self):
        return {**super().get_config(), "tied_to": self.tied_to}


@register
class Sizes(keras.Layer):
    """A layer with a tuple in its config, which comes back from a file as a list and is kept as one."""

    def __init__(self, sizes=(4, 4), activation="relu", **kwargs):
        super().__init__(**kwargs)
        self.sizes = sizes
        self.activation = keras.activations.get(activation)
        self.parts = [layers.Dense(size, activation=self.activation, name=f"part_{n}") for n, size in enumerate(sizes)]
        self.last = Inner((2, 3), name="last")

    def build(self, shape):
        for part in self.parts:
            part.build(shape)
            shape = (*shape[:-1], part.units)
        self.last.build(shape)

    def call(self, x):
        for part in self.parts:
            x = part(x)
        return self.last(x)

    def get_config(self):
        return {
            **super().get_config(),
            "sizes": self.sizes,
            "activation": keras.activations.serialize(self.activation),
        }


@register
class Inner(keras.Layer):
    """A layer with a tuple in its config, to be used inside others."""

    def __init__(self, kernel, **kwargs):
        super().__init__(**kwargs)
        self.kernel = kernel

    def call(self, x):
        return x * float(sum(self.kernel))

    def get_config(self):
        return {**super().get_config(), "kernel": self.kernel}


@register
class Attention(keras.Layer):
    """A layer that creates its parts when it is built, with attribute names that start like TensorFlow's own."""

    def __init__(self, width=4, dropout=0.3, activation="relu", **kwargs):
        super().__init__(**kwargs)
        self.width, self.dropout = width, dropout
        self.activation = keras.activations.get(activation)

    def build(self, shape):
        self._self_attention_layer = layers.Dense(self.width, activation=self.activation, name="mix")
        self._self_attention_layer.build(shape)
        self._self_attention_dropout = layers.Dropout(self.dropout, name="drop")

    def call(self, x, training=None):
        return self._self_attention_dropout(self._self_attention_layer(x), training=training)

    def get_config(self):
        config = {"width": self.width, "dropout": self.dropout}
        return {**super().get_config(), **config, "activation": keras.activations.serialize(self.activation)}


@register
class Captured(keras.Layer):
    """A layer that takes the activation from its part when it is created, and ignores later changes of the part."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.mix = layers.Dense(4, activation="relu", name="mix")
        self._functions = [self.mix.activation]

    def build(self, shape):
        self.mix.build(shape)

    def call(self, x):
        return self._functions[0](ops.matmul(x, self.mix.kernel))


class Nameless(keras.Operation):
    """An operation without a name."""

    def __init__(self):
        super().__init__()
        self.name = None

    def call(self, x):
        return x * 2.0

    def compute_output_spec(self, x):
        return keras.KerasTensor(x.shape, x.dtype)


class NoConfig(keras.Layer):
    """A layer whose `get_config` raises an error."""

    def __init__(self, inner, **kwargs):
        super().__init__(**kwargs)
        self.inner = inner

    def build(self, shape):
        self.inner.build(shape)

    def call(self, x):
        return self.inner(x)

    def get_config(self):
        raise NotImplementedError


def tokens(seed=0):
    return np.random.default_rng(seed).integers(0, 11, (3, 6)).astype("int32")


def classifier(num_classes=3, **kwargs):
    """Return a compiled task after one training step."""
    model = Classifier(Encoder(name="encoder"), num_classes, name="task", **kwargs)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), run_eagerly=True)
    model.fit(tokens(), np.array([0, 1, 2]) % num_classes, verbose=0)
    return model


def around(*parts, width=4):
    """Return a compiled functional model of these parts in sequence."""
    x = y = keras.Input((width,), name="x")
    for part in parts:
        y = part(y)
    model = keras.Model(x, y, name="model")
    model.compile("sgd", "mse", run_eagerly=True)
    return model
