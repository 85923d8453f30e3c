"""Valid Keras 2 files, written by tf_keras in a separate process: `python -m tests.files.clean_tf_keras FOLDER`."""

import contextlib
import os
import sys
import warnings
from pathlib import Path


def _layers(keras):
    """Return layers, each with the shape of its input."""
    layers = keras.layers
    cell = layers.LSTMCell(2)
    vector = [
        *(layers.Dense(3, activation=name) for name in ("relu", "gelu", "softmax", "linear", "hard_sigmoid", "swish")),
        *(layers.Dense(2, kernel_regularizer=name) for name in ("l1", "l2", "l1_l2")),
        layers.Dense(2, kernel_regularizer=keras.regularizers.OrthogonalRegularizer()),
        *(layers.Dense(2, kernel_constraint=name) for name in ("max_norm", "non_neg", "unit_norm", "min_max_norm")),
        *(layers.Dense(2, kernel_initializer=name) for name in ("he_normal", "glorot_uniform", "orthogonal", "zeros")),
        layers.Dense(2, kernel_initializer=keras.initializers.VarianceScaling(2.0, "fan_out", "truncated_normal")),
        layers.Dense(2, dtype="mixed_float16"),
        *(layers.Dropout(0.5), layers.GaussianDropout(0.1), layers.GaussianNoise(0.1), layers.AlphaDropout(0.1)),
        *(layers.BatchNormalization(), layers.LayerNormalization(), layers.UnitNormalization()),
        *(layers.ReLU(), layers.LeakyReLU(), layers.PReLU(), layers.ELU(), layers.ThresholdedReLU(), layers.Softmax()),
        *(layers.Activation("tanh"), layers.ActivityRegularization(0.1), layers.Flatten(), layers.Reshape((2, 2))),
        *(layers.RepeatVector(2), layers.Masking(), layers.CategoryEncoding(4), layers.Discretization([0.0, 1.0])),
        *(layers.Rescaling(0.5), layers.Normalization(mean=0.0, variance=1.0), layers.Permute((1,))),
        layers.experimental.RandomFourierFeatures(3, kernel_initializer="gaussian"),
    ]
    rows = [
        *(layers.SimpleRNN(2), layers.GRU(2), layers.LSTM(2), layers.RNN([cell, layers.GRUCell(2)])),
        layers.RNN(layers.StackedRNNCells([layers.SimpleRNNCell(2)])),
        *(layers.Bidirectional(layers.LSTM(2)), layers.TimeDistributed(layers.Dense(2)), layers.Conv1D(2, 2)),
        *(layers.SeparableConv1D(2, 2), layers.Conv1DTranspose(2, 2), layers.LocallyConnected1D(2, 2)),
        *(layers.MaxPooling1D(), layers.AveragePooling1D(), layers.GlobalMaxPooling1D(), layers.UpSampling1D()),
        *(layers.ZeroPadding1D(), layers.Cropping1D(), layers.SpatialDropout1D(0.1), layers.GlobalAveragePooling1D()),
        layers.EinsumDense("abc,cd->abd", (4, 2)),
    ]
    images = [
        *(layers.Conv2D(2, 2), layers.DepthwiseConv2D(2), layers.SeparableConv2D(2, 2), layers.Conv2DTranspose(2, 2)),
        *(layers.MaxPooling2D(), layers.AveragePooling2D(), layers.GlobalMaxPooling2D(), layers.UpSampling2D()),
        *(layers.ZeroPadding2D(), layers.Cropping2D(), layers.SpatialDropout2D(0.1), layers.GlobalAveragePooling2D()),
        *(layers.Resizing(4, 4), layers.CenterCrop(2, 2), layers.RandomFlip(), layers.RandomRotation(0.1)),
        *(layers.RandomZoom(0.1), layers.RandomContrast(0.1), layers.RandomTranslation(0.1, 0.1)),
        *(layers.RandomCrop(2, 2), layers.RandomHeight(0.1), layers.RandomWidth(0.1), layers.RandomBrightness(0.1)),
        *(layers.LocallyConnected2D(2, 2), layers.GroupNormalization(1)),
    ]
    films = [layers.Conv3D(2, 2), layers.MaxPooling3D(), layers.ConvLSTM2D(2, 2), layers.Conv3DTranspose(2, 2)]
    words = [
        layers.StringLookup(vocabulary=["a", "/etc/passwd", "http://x.y/z", "os.system"], oov_token="/a/b"),
        layers.TextVectorization(vocabulary=["a", "b"], output_mode="tf_idf", idf_weights=[1.0, 2.0]),
        *(layers.Hashing(4), layers.IntegerLookup(vocabulary=[1, 2])),
    ]
    return (
        *(((4,), layer) for layer in vector),
        *(((4, 4), layer) for layer in rows),
        *(((4, 4, 3), layer) for layer in images),
        *(((4, 4, 4, 2), layer) for layer in films),
        *(((1,), layer) for layer in words),
    )


def _operations(tf, keras):
    """Return functions of TensorFlow for a functional model."""
    return {
        "arithmetic": lambda x: (x * 2 + 1 - x) / 3,
        "floor": lambda x: x // 2,
        "slices": lambda x: x[:, 1:3],
        "activations": lambda x: tf.nn.relu(tf.nn.silu(tf.nn.leaky_relu(x))),
        "reductions": lambda x: (
            tf.reduce_mean(x, axis=-1, keepdims=True) + tf.math.reduce_std(x, axis=-1, keepdims=True)
        ),
        "shapes": lambda x: tf.reshape(tf.transpose(tf.expand_dims(x, 1), [0, 2, 1]), (-1, 4)),
        "concat": lambda x: tf.concat([x, tf.zeros_like(x)], -1),
        "stack": lambda x: tf.stack(tf.unstack(x, axis=1), axis=1),
        "split": lambda x: tf.split(x, 2, axis=-1)[0],
        "matmul": lambda x: tf.linalg.matmul(x, tf.ones((4, 4))),
        "einsum": lambda x: tf.einsum("ab,cb->ac", x, tf.ones((2, 4))),
        "comparisons": lambda x: tf.where(tf.logical_and(x > 0, x < 1), x, tf.zeros_like(x)),
        "casts": lambda x: tf.cast(tf.cast(x, "int32"), "float32"),
        "one_hot": lambda x: tf.one_hot(tf.cast(x, "int32"), 3),
        "gather": lambda x: tf.gather(x, [0, 1], axis=1),
        "complex": lambda x: tf.abs(tf.complex(x, x)),
        "clip": lambda x: tf.clip_by_value(tf.math.l2_normalize(x, -1), 0.0, 1.0),
        "image": lambda x: tf.image.resize(tf.reshape(x, (-1, 2, 2, 1)), (4, 4)),
        "numerics": lambda x: tf.debugging.check_numerics(x, "no"),
        "backend": lambda x: keras.backend.batch_flatten(keras.backend.sum(x, axis=-1, keepdims=True)),
        "strings": lambda x: tf.strings.to_number(
            tf.strings.regex_replace(tf.strings.as_string(x), "/a/b", "http://x")
        ),
        "signal": tf.signal.dct,
        "sort": lambda x: tf.sort(tf.math.top_k(x, 2).values),
    }


def _compiled(keras):
    """Return arguments of `compile`."""
    optimizers, losses, metrics = keras.optimizers, keras.losses, keras.metrics
    schedules = optimizers.schedules
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax"):
        yield {"optimizer": getattr(optimizers, name)(clipnorm=1.0), "loss": "mse"}
    for cls in (optimizers.Nadam, optimizers.Ftrl, optimizers.Lion, optimizers.Adafactor):
        yield {"optimizer": cls(use_ema=True), "loss": "mse"}
    for cls in (optimizers.legacy.SGD, optimizers.legacy.Adam, optimizers.legacy.RMSprop):
        yield {"optimizer": cls(), "loss": "mae"}
    for schedule in (
        schedules.ExponentialDecay(0.1, 10, 0.9),
        schedules.CosineDecay(0.1, 10),
        schedules.PiecewiseConstantDecay([5], [0.1, 0.01]),
        schedules.PolynomialDecay(0.1, 10),
        schedules.InverseTimeDecay(0.1, 10, 0.5),
        schedules.CosineDecayRestarts(0.1, 10),
    ):
        yield {"optimizer": optimizers.SGD(schedule), "loss": losses.Huber(0.5)}
    for loss in (
        "mse",
        "mae",
        "msle",
        "mape",
        "kld",
        "poisson",
        "log_cosh",
        "cosine_similarity",
        "hinge",
        "categorical_crossentropy",
    ):
        yield {"optimizer": "sgd", "loss": loss, "metrics": ["accuracy", "mae"]}
    yield {"optimizer": "adam", "loss": losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.1)}
    yield {
        "optimizer": "adam",
        "loss": {"out": "mse"},
        "metrics": {"out": ["mae", metrics.AUC()]},
        "loss_weights": {"out": 2.0},
    }
    yield {
        "optimizer": "adam",
        "loss": "mse",
        "weighted_metrics": [metrics.MeanSquaredError(), metrics.Precision(top_k=1)],
    }
    yield {"optimizer": keras.mixed_precision.LossScaleOptimizer(optimizers.SGD()), "loss": "mse"}


def main(folder):
    """Write the files."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    warnings.simplefilter("ignore")
    import numpy as np
    import tensorflow as tf
    import tf_keras as keras

    tf.get_logger().setLevel("ERROR")

    def save(name, model):
        for suffix in (".keras", ".h5"):
            model.save(folder / f"{name}{suffix}")

    for number, (shape, layer) in enumerate(_layers(keras)):
        dtype = {"StringLookup": "string", "TextVectorization": "string", "Hashing": "int64", "IntegerLookup": "int64"}
        inputs = keras.Input(shape, dtype=dtype.get(type(layer).__name__))
        # Some layers cannot be saved as HDF5, so only the archive is written.
        with contextlib.suppress(NotImplementedError):
            save(f"layer_{number}_{type(layer).__name__}", keras.Model(inputs, layer(inputs)))
    for name, operation in _operations(tf, keras).items():
        inputs = keras.Input((4,), name="x")
        save(f"operation_{name}", keras.Model(inputs, operation(inputs)))
    for number, settings in enumerate(_compiled(keras)):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="out")])
        model.compile(**settings)
        model.fit(np.ones((2, 4)), np.ones((2, 2)), verbose=0)
        save(f"compiled_{number}", model)
    inputs = keras.Input((None,), ragged=True, name="../up")
    save("ragged", keras.Model(inputs, inputs.row_lengths()))
    save("application", keras.applications.MobileNet((32, 32, 3), alpha=0.25, weights=None, classes=2))
    first, second = keras.Input((4, 4)), keras.Input((4, 4))
    attended = keras.layers.MultiHeadAttention(2, 2)(first, second, use_causal_mask=True)
    merged = keras.layers.Concatenate()(
        [keras.layers.Attention()([first, second]), keras.layers.Add()([first, attended])]
    )
    save("attention", keras.Model({"a": first, "loss": second}, {"loss": merged, "class_name": attended}))
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.save_weights(folder / "only.weights.h5")
    model.save_weights(folder / "old.h5")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
