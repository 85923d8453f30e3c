"""The results of tf_keras for operations of TensorFlow, computed in a process of their own.

`CASES` maps a name to a function of inputs, which are called by the names of its parameters (`INPUTS`). Run as a module with
the name of a file, this builds a functional model of tf_keras for each case and pickles its config and its outputs.
"""
# ruff: noqa: PLW0108  # the names of the parameters say which inputs a case takes

import inspect
import json
import os
import pickle
import sys
from pathlib import Path

import numpy as np

tf = K = tf_keras = None  # loaded by `main` only: the tests read the names of the cases

BATCH = 3
_random = np.random.default_rng(7)


def _floats(*shape):
    values = _random.normal(size=(BATCH, *shape)).astype("float32") * 2
    values.flat[:: 7 if values.size > 7 else 2] = 0
    return values


# By name: the shape without the batch axis, and a batch.
INPUTS = {
    "x": ((4, 6), _floats(4, 6)),
    "z": ((4, 6), _floats(4, 6)),
    "p": ((4, 6), np.abs(_floats(4, 6)) + 0.1),
    "unit": ((4, 6), _random.uniform(-0.95, 0.95, (BATCH, 4, 6)).astype("float32")),
    "v": ((6,), _floats(6)),
    "m": ((6, 5), _floats(6, 5)),
    "square": ((3, 3), _floats(3, 3) + 4 * np.eye(3, dtype="float32")),
    "one": ((4, 1, 6, 1), _floats(4, 1, 6, 1)),
    "half": ((4, 6), _floats(4, 6).astype("float16")),
    "double": ((4, 6), _floats(4, 6).astype("float64")),
    "i": ((4,), _random.integers(-9, 10, (BATCH, 4)).astype("int32")),
    "j": ((4,), _random.choice([-4, -3, -1, 1, 2, 5], (BATCH, 4)).astype("int32")),
    "long": ((4,), _random.integers(-9, 10, (BATCH, 4)).astype("int64")),
    "byte": ((4,), _random.integers(0, 100, (BATCH, 4)).astype("uint8")),
    "n": ((2,), _random.integers(0, 4, (BATCH, 2)).astype("int32")),
    "k": ((), _random.integers(0, 4, (BATCH,)).astype("int32")),
    "b": ((4, 6), _random.integers(0, 2, (BATCH, 4, 6)).astype("bool")),
    "c": ((), np.array([True, False, True])),
    "img": ((8, 6, 4), _floats(8, 6, 4)),
    "rgb": ((5, 7, 3), _random.uniform(0, 255, (BATCH, 5, 7, 3)).astype("float32")),
    "pixels": ((5, 7, 3), _random.integers(0, 256, (BATCH, 5, 7, 3)).astype("uint8")),
    "first": ((4, 6, 8), _floats(4, 6, 8)),
    "seq": ((None, 6), _floats(5, 6)),
    "ids": ((None,), _random.integers(0, 4, (BATCH, 5)).astype("int32")),
    "free": ((None, None, 4), _floats(3, 5, 4)),
    "even": ((None, None, 4), _floats(4, 6, 4)),
}

_CONSTANT = [[0.5, -1.0, 2.0, 0.0, 3.0, -0.25]]


def raw(function, *tensors):
    """Return the outputs of a `TensorFlowOpLayer` around the last operation of a function, as TensorFlow 2.3 made it."""
    from google.protobuf import json_format
    from tf_keras.src.engine.base_layer import TensorFlowOpLayer

    graph = tf.Graph()
    with graph.as_default():
        inputs = [tf.compat.v1.placeholder(tensor.dtype, tensor.shape) for tensor in tensors]
        made = tf.nest.flatten(function(*inputs))[0].op
    names = [item.name for item in inputs]
    constants = {index: tf.get_static_value(item) for index, item in enumerate(made.inputs) if item.name not in names}
    order = [tensors[names.index(item.name)] for item in made.inputs if item.name in names]
    layer = TensorFlowOpLayer(json_format.MessageToDict(made.node_def), made.name, constants)
    return layer(order if len(order) > 1 else order[0])


_NAMED = {}


def named(function, module, name=None, **arguments):
    """Return a `Lambda` layer that its config describes by the name of the function, as Keras did before version 2.6."""
    layer = tf_keras.layers.Lambda(function, arguments=arguments)
    _NAMED[layer.name] = {"function": name or function.__name__, "function_type": "function", "module": module}
    return layer


CASES = {
    # Operators.
    "x + y": lambda x, z: x + z,
    "x + 1": lambda x: x + 1,
    # With these sizes, Keras 3 on TensorFlow would take the second operand for a bias of another axis.
    "x + column as long as a row": lambda square: square[:, 0] + tf.reduce_mean(square[:, 0], axis=1, keepdims=True),
    "x + constant column": lambda square: square + tf.constant([[1.0], [2.0], [3.0]]),
    "x + row as long as a column": lambda x: x[:, :, :1] + tf.constant([1.0, 2.0, 3.0, 4.0]),
    "x + constant with more axes": lambda v: v + tf.reshape(tf.range(6.0), (1, 1, 6)),
    "2 - x": lambda x: 2.0 - x,
    "x * list": lambda x: x * tf.constant(_CONSTANT),
    "x * longer list": lambda one: one * tf.ones((1, 3, 1, 2)) * tf.reshape(tf.range(6.0), (1, 3, 1, 2)),
    "x / 3": lambda x: x / 3,
    "1 / p": lambda p: 1 / p,
    "x // 0.3": lambda x: x // 0.3,
    "p // 0.1": lambda p: tf.round(p * 10) // 0.1,
    "i // 4": lambda i: i // 4,
    "i // j": lambda i, j: i // j,
    "i / j": lambda i, j: i / j,
    "i / 7": lambda i: i / 7,
    "bytes / 255": lambda byte: byte / 255,
    "i % j": lambda i, j: i % j,
    "x % z": lambda x, p: x % p,
    "x % -0.7": lambda x: x % -0.7,
    "x ** 2": lambda x: x**2,
    "p ** 0.5": lambda p: p**0.5,
    "2 ** x": lambda x: 2.0**x,
    "-x": lambda x: -x,
    "abs(x)": lambda x: abs(x),
    "x > z": lambda x, z: x > z,
    "x <= 0": lambda x: x <= 0.0,
    "x == z": lambda x, z: tf.equal(x, z),
    "x != 0": lambda x: tf.not_equal(x, 0.0),
    "and or not": lambda x, z: (x > 0) & (z > 0) | ~(x < 0),
    "xor": lambda b, x: tf.math.logical_xor(b, x > 0),
    "half * constant": lambda half: half * tf.constant(_CONSTANT, "float16") + 0.1,
    "double * constant": lambda double: double * tf.constant(_CONSTANT, "float64") + 0.1,
    "x @ m": lambda x, m: x @ m,
    "x @ constant": lambda x: x @ tf.reshape(tf.range(12.0), (6, 2)),
    # Slices.
    "x[:, 0]": lambda x: x[:, 0],
    "x[..., -1]": lambda x: x[..., -1],
    "x[:, 1:3]": lambda x: x[:, 1:3],
    "x[..., 1:3]": lambda x: x[..., 1:3],
    "x[:, None, ::2]": lambda x: x[:, tf.newaxis, ::2],
    "x[:, ::-1]": lambda x: x[:, ::-1],
    "x[..., ::-1]": lambda x: x[..., ::-1],
    "x[..., 4:1:-2]": lambda x: x[..., 4:1:-2],
    "x[..., -2:0:-1]": lambda x: x[..., -2:0:-1],
    "x[:, 1:2, ..., None]": lambda x: x[:, 1:2, ..., None],
    "x[:, -1, 2:]": lambda x: x[:, -1, 2:],
    "x[:1]": lambda x: x[:1],
    "x[:, :n//2]": lambda x: x[:, : tf.shape(x)[1] // 2],
    "seq[:, :n]": lambda seq: seq[:, : tf.shape(seq)[1]] + 1,
    "slice": lambda x: tf.slice(x, [0, 1, 2], [-1, 2, 3]),
    "slice of batch": lambda x: tf.slice(x, [0, 1, 2], [tf.shape(x)[0], 2, -1]),
    "strided_slice": lambda x: tf.strided_slice(x, [0, 0, 5], [0, 3, 0], [1, 2, -2], begin_mask=1, end_mask=1),
    "strided_slice shrink": lambda x: tf.strided_slice(x, [0, 2], [0, 3], begin_mask=1, end_mask=1, shrink_axis_mask=2),
    # Unary.
    "unary trigonometry": lambda x: tf.sin(x) + tf.cos(x) + tf.tan(x) + tf.tanh(x) + tf.sinh(x) + tf.cosh(x),
    "unary arcs": lambda unit: tf.asin(unit) + tf.acos(unit) + tf.atan(unit) + tf.asinh(unit) + tf.atanh(unit),
    "acosh": lambda p: tf.acosh(p + 1.0),
    "exp": lambda x: tf.exp(x),
    "expm1": lambda x: tf.math.expm1(x),
    "log": lambda p: tf.math.log(p),
    "log of zero": lambda x: tf.math.log(tf.abs(x)),
    "log1p": lambda p: tf.math.log1p(p),
    "sqrt": lambda p: tf.sqrt(p),
    "sqrt of negative": lambda x: tf.sqrt(x),
    "rsqrt": lambda p: tf.math.rsqrt(p),
    "square": lambda x: tf.square(x),
    "square int": lambda i: tf.square(i),
    "reciprocal": lambda x: tf.math.reciprocal(x),
    "sign": lambda x: tf.sign(x),
    "round half": lambda x: tf.round(tf.round(x * 2) / 2),
    "rint": lambda x: tf.math.rint(x),
    "floor": lambda x: tf.floor(x),
    "ceil": lambda x: tf.math.ceil(x),
    "is_nan": lambda x: tf.math.is_nan(x / x),
    "is_inf": lambda x: tf.math.is_inf(1.0 / x),
    "is_finite": lambda x: tf.math.is_finite(1.0 / x),
    "erf": lambda x: tf.math.erf(x),
    "erfinv": lambda unit: tf.math.erfinv(unit),
    "abs int": lambda i: tf.abs(i),
    "negative": lambda i: tf.negative(i),
    "identity": lambda x: tf.identity(x),
    "stop_gradient": lambda x: tf.stop_gradient(x),
    "bitwise": lambda i, j: tf.bitwise.bitwise_and(i, j) + tf.bitwise.bitwise_or(i, j) + tf.bitwise.bitwise_xor(i, 3),
    "invert": lambda i: tf.bitwise.invert(i),
    # Binary.
    "add": lambda x, z: tf.add(x, z),
    "subtract": lambda x: tf.subtract(x, [[1.0], [2.0], [3.0], [4.0]]),
    "multiply": lambda x: tf.multiply(x, 2.0),
    "divide": lambda x, p: tf.divide(x, p),
    "truediv int": lambda i: tf.truediv(i, 3),
    "realdiv": lambda x: tf.realdiv(x, 2.0),
    "floordiv int": lambda i: tf.math.floordiv(i, -3),
    "truncatediv": lambda i, j: tf.truncatediv(i, j),
    "truncatemod": lambda i, j: tf.truncatemod(i, j),
    "truncatediv number": lambda i: tf.truncatediv(i, -4),
    "floormod": lambda i: tf.math.floormod(i, -3),
    "mod": lambda x: tf.math.mod(x, 0.75),
    "compat.v1.div": lambda i: tf.compat.v1.div(i, 4),
    "divide_no_nan": lambda x, z: tf.math.divide_no_nan(x, z),
    "multiply_no_nan": lambda x, z: tf.math.multiply_no_nan(1.0 / x, z),
    "xdivy": lambda x, z: tf.math.xdivy(x, z),
    "xlogy": lambda x, p: tf.math.xlogy(x, p),
    "maximum": lambda x, z: tf.maximum(x, z),
    "minimum": lambda x: tf.minimum(x, 0.5),
    "maximum int": lambda i: tf.maximum(i, 0),
    "pow": lambda p, z: tf.pow(p, z),
    "atan2": lambda x, z: tf.atan2(x, z),
    "squared_difference": lambda x, z: tf.math.squared_difference(x, z),
    "add_n": lambda x, z, p: tf.add_n([x, z, p]),
    "clip": lambda x: tf.clip_by_value(x, -0.5, 1.0),
    "clip int": lambda i: tf.clip_by_value(i, 0, 3),
    "clip by tensors": lambda x, z, p: tf.clip_by_value(x, z, z + p),
    "bias_add": lambda x: tf.nn.bias_add(x, tf.range(6.0)),
    "bias_add first": lambda first: tf.nn.bias_add(first, tf.range(4.0), data_format="NC..."),
    "less_equal int": lambda i, j: tf.less_equal(i, j),
    "greater_equal": lambda x, z: tf.greater_equal(x, z),
    "logical": lambda b, x: tf.logical_or(tf.logical_and(b, x > 0), tf.logical_not(b)),
    "scalar_mul": lambda x: tf.math.scalar_mul(3.0, x),
    # Reductions.
    "reduce_mean": lambda x: tf.reduce_mean(x, axis=1),
    "reduce_mean list": lambda x: tf.reduce_mean(x, axis=[1, 2], keepdims=True),
    "reduce_mean all": lambda x: tf.reduce_mean(x),
    "reduce_mean negative": lambda x: tf.reduce_mean(x, axis=[-1]),
    "reduce_mean int": lambda i: tf.reduce_mean(i, axis=1),
    "reduce_sum": lambda x: tf.reduce_sum(x, -1, keepdims=True),
    "reduce_sum byte": lambda byte: tf.reduce_sum(byte, 1),
    "reduce_sum nothing": lambda x: tf.reduce_sum(x, axis=[]),
    "reduce_max": lambda x: tf.reduce_max(x, axis=[1, 2]),
    "reduce_min": lambda x: tf.reduce_min(x, axis=1),
    "reduce_prod": lambda x: tf.reduce_prod(x, axis=2),
    "reduce_prod int": lambda j: tf.reduce_prod(j, axis=1),
    "reduce_all": lambda b: tf.reduce_all(b, axis=1),
    "reduce_all negative": lambda b: tf.reduce_all(b, axis=[-2, -1], keepdims=True),
    "reduce_any": lambda b: tf.reduce_any(b, axis=[1, 2]),
    "reduce_std": lambda x: tf.math.reduce_std(x, axis=1),
    "reduce_variance": lambda x: tf.math.reduce_variance(x, axis=[1, 2], keepdims=True),
    "reduce_logsumexp": lambda x: tf.reduce_logsumexp(x, axis=1),
    "reduce_logsumexp list": lambda x: tf.reduce_logsumexp(x, axis=[1, 2], keepdims=True),
    "reduce_euclidean_norm": lambda x: tf.math.reduce_euclidean_norm(x, axis=1),
    "reduce v1": lambda x: tf.compat.v1.reduce_sum(x, reduction_indices=[1], keep_dims=True),
    "count_nonzero": lambda x: tf.math.count_nonzero(x, axis=1),
    "norm": lambda x: tf.norm(x, axis=-1),
    "norm 1": lambda x: tf.norm(x, ord=1, axis=1, keepdims=True),
    "norm inf": lambda x: tf.norm(x, ord=np.inf, axis=1),
    "norm frobenius": lambda x: tf.norm(x, axis=[1, 2]),
    "l2_normalize": lambda x: tf.math.l2_normalize(x, axis=-1),
    "l2_normalize zeros": lambda x: tf.math.l2_normalize(x * 0.0, axis=1),
    "l2_normalize epsilon": lambda x: tf.nn.l2_normalize(x * 1e-3, axis=[1, 2], epsilon=1e-3),
    "l2_normalize all": lambda x: tf.nn.l2_normalize(x),
    "l2_normalize double": lambda double: tf.nn.l2_normalize(double, axis=1),
    "moments": lambda x: tf.nn.moments(x, [1]),
    # Activations.
    "relu": lambda x: tf.nn.relu(x),
    "relu6": lambda x: tf.nn.relu6(x * 4),
    "leaky_relu": lambda x: tf.nn.leaky_relu(x),
    "leaky_relu 0.1": lambda x: tf.nn.leaky_relu(x, alpha=0.1),
    "elu": lambda x: tf.nn.elu(x),
    "selu": lambda x: tf.nn.selu(x),
    "gelu": lambda x: tf.nn.gelu(x),
    "gelu approximate": lambda x: tf.nn.gelu(x, approximate=True),
    "silu": lambda x: tf.nn.silu(x),
    "silu beta": lambda x: tf.nn.silu(x, beta=1.5),
    "softplus": lambda x: tf.nn.softplus(x * 20),
    "softsign": lambda x: tf.nn.softsign(x),
    "sigmoid": lambda x: tf.sigmoid(x),
    "log_sigmoid": lambda x: tf.math.log_sigmoid(x),
    "softmax": lambda x: tf.nn.softmax(x),
    "softmax axis": lambda x: tf.nn.softmax(x, axis=1),
    "log_softmax": lambda x: tf.nn.log_softmax(x, axis=1),
    "crelu": lambda x: tf.nn.crelu(x),
    "activations": lambda x: tf_keras.activations.swish(x) + tf_keras.activations.mish(x),
    "hard_sigmoid": lambda x: tf_keras.activations.hard_sigmoid(x),
    "keras relu": lambda x: tf_keras.activations.relu(x, alpha=0.1, max_value=3.0, threshold=0.2),
    # Products.
    "matmul": lambda x, z: tf.matmul(x, z, transpose_b=True),
    "matmul transpose_a": lambda x, z: tf.matmul(x, z, transpose_a=True),
    "matmul adjoint": lambda x, z: tf.matmul(x, z, adjoint_a=True, adjoint_b=False),
    "matmul constant": lambda x: tf.matmul(x, tf.reshape(tf.range(18.0), (3, 6)), transpose_b=True),
    "matvec": lambda x, v: tf.linalg.matvec(x, v),
    "tensordot": lambda x: tf.tensordot(x, tf.reshape(tf.range(12.0), (6, 2)), axes=1),
    "tensordot axes": lambda x: tf.tensordot(x, tf.reshape(tf.range(8.0), (4, 2)), axes=[[1], [0]]),
    "K.dot": lambda x: K.dot(x, tf.reshape(tf.range(12.0), (6, 2))),
    "K.batch_dot": lambda x, z: K.batch_dot(x, z, axes=(2, 2)),
    "K.batch_dot vectors": lambda v: K.batch_dot(v, v + 1, axes=1),
    # Pooling and convolution.
    "max_pool2d": lambda img: tf.nn.max_pool2d(img, 2, 2, "VALID"),
    "max_pool same": lambda rgb: tf.nn.max_pool(rgb, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"),
    "avg_pool2d": lambda rgb: tf.nn.avg_pool2d(rgb, 3, 2, "SAME"),
    "avg_pool1d": lambda x: tf.nn.avg_pool1d(x, 2, 1, "VALID"),
    "conv2d": lambda img: tf.nn.conv2d(img, tf.reshape(tf.range(72.0), (3, 3, 4, 2)) / 72, 2, "SAME"),
    "conv2d dilated": lambda img: tf.nn.conv2d(img, tf.ones((2, 2, 4, 3)), 1, "VALID", dilations=2),
    "conv1d": lambda x: tf.nn.conv1d(x, tf.reshape(tf.range(36.0), (2, 6, 3)) / 36, 1, "VALID"),
    "depthwise_conv2d": lambda img: tf.nn.depthwise_conv2d(
        img, tf.reshape(tf.range(72.0), (3, 3, 4, 2)) / 72, [1, 1, 1, 1], "VALID"
    ),
    "separable_conv2d": lambda img: tf.nn.separable_conv2d(
        img, tf.reshape(tf.range(72.0), (3, 3, 4, 2)) / 72, tf.ones((1, 1, 8, 3)), [1, 2, 2, 1], "SAME"
    ),
    "lrn": lambda img: tf.nn.local_response_normalization(img, 1, 2.0, 0.3, 0.75),
    "lrn default": lambda img: tf.nn.local_response_normalization(img),
    "batch_normalization": lambda x: tf.nn.batch_normalization(
        x, tf.range(6.0), tf.range(6.0), tf.ones(6), tf.range(6.0), 1e-3
    ),
    # Shapes.
    "reshape": lambda x: tf.reshape(x, [-1, 24]),
    "reshape batch": lambda x: tf.reshape(x, [tf.shape(x)[0], 2, 12]),
    "reshape computed": lambda x: tf.reshape(x, [tf.shape(x)[0], tf.shape(x)[1] * tf.shape(x)[2]]),
    "reshape two unknown": lambda seq: tf.reshape(seq, [tf.shape(seq)[0], tf.shape(seq)[1], 2, 3]),
    "reshape two unknown after add": lambda seq: tf.reshape(
        seq + 1.0, tf.stack([tf.shape(seq)[0], tf.shape(seq)[1], 3, 2])
    ),
    "reshape heads": lambda seq: tf.reshape(seq, [-1, tf.shape(seq)[1], 2, 3]),
    "reshape merged heads": lambda seq: tf.reshape(
        tf.reshape(seq, [-1, tf.shape(seq)[1], 2, 3]), [-1, tf.shape(seq)[1], 6]
    ),
    "reshape unknown product": lambda seq: tf.reshape(seq, [tf.shape(seq)[0] * tf.shape(seq)[1], 6]),
    "reshape concat": lambda x: tf.reshape(x, tf.concat([tf.shape(x)[:1], [4, 3, 2]], axis=0)),
    "reshape like": lambda x, z: tf.reshape(tf.reshape(x, [-1, 24]), tf.shape(z)) + z,
    "K.batch_flatten": lambda x: K.batch_flatten(x),
    "transpose": lambda x: tf.transpose(x, [0, 2, 1]),
    "transpose all": lambda x: tf.transpose(x),
    "expand_dims": lambda x: tf.expand_dims(x, 1) + tf.expand_dims(x, -2),
    "squeeze": lambda one: tf.squeeze(one, axis=[2, 4]),
    "squeeze negative": lambda one: tf.squeeze(one, axis=-1),
    "squeeze v1": lambda one: tf.compat.v1.squeeze(one, squeeze_dims=[2]),
    "broadcast_to batch": lambda x: tf.broadcast_to(x[:, :1], tf.shape(x)),
    "broadcast constant": lambda x: tf.broadcast_to(tf.constant(_CONSTANT), [tf.shape(x)[0], 6]) + x[:, 0],
    "tile": lambda x: tf.tile(x, [1, 2, 3]),
    "tile token": lambda x: tf.concat([tf.tile(tf.constant([_CONSTANT]), [tf.shape(x)[0], 1, 1]), x], axis=1),
    "tile row": lambda x: tf.tile(x[:, :1], [1, tf.shape(x)[1], 1]),
    "repeat": lambda x: tf.repeat(x, 3, axis=1),
    "reverse": lambda x: tf.reverse(x, axis=[1, 2]),
    "roll": lambda x: tf.roll(x, shift=[1, -2], axis=[1, 2]),
    "roll one": lambda x: tf.roll(x, shift=2, axis=-1),
    "pad": lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 1]]),
    "pad value": lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 1]], constant_values=-1.5),
    "pad reflect": lambda x: tf.pad(x, [[0, 0], [1, 2], [2, 1]], mode="REFLECT"),
    "pad symmetric": lambda x: tf.pad(x, [[0, 0], [1, 2], [2, 1]], mode="SYMMETRIC"),
    "pad image reflect": lambda img: tf.pad(img, [[0, 0], [3, 3], [2, 2], [0, 0]], "REFLECT"),
    "size": lambda x: x / tf.cast(tf.size(x[:1]), "float32"),
    "rank": lambda x: x * tf.cast(tf.rank(x), "float32"),
    "unknown size as number": lambda seq: tf.reduce_sum(seq, 1) / tf.cast(tf.shape(seq)[1], "float32"),
    "batch size as number": lambda x: x / tf.cast(tf.shape(x)[0] * 2, "float32"),
    "scale by root": lambda x: x / tf.sqrt(tf.cast(tf.shape(x)[-1], "float32")),
    "scale by unknown root": lambda seq: seq / tf.sqrt(tf.cast(tf.shape(seq)[1], "float32")),
    "zeros batch": lambda x: tf.concat([tf.zeros([tf.shape(x)[0], 1, 6]), x], axis=1),
    "ones batch": lambda x: tf.ones([tf.shape(x)[0], 2], "int32"),
    "fill batch": lambda x: tf.fill([tf.shape(x)[0], 1, 2], 7.5),
    "fill like": lambda x: tf.fill(tf.shape(x), 2) * 3,
    "zeros_like": lambda x: tf.zeros_like(x),
    "ones_like int": lambda x: tf.ones_like(x, dtype="int32"),
    "range": lambda x: x[:, :, 0] + tf.cast(tf.range(tf.shape(x)[1]), "float32"),
    "range unknown": lambda ids: ids + tf.range(tf.shape(ids)[1]),
    "range start": lambda ids: ids + tf.range(0, tf.shape(ids)[1], 1),
    # Joining and splitting.
    "concat": lambda x, z: tf.concat([x, z], -1),
    "concat constant": lambda x: tf.concat([x[0], tf.constant(_CONSTANT)], 0),
    "stack": lambda x, z: tf.stack([x, z, x], axis=2),
    "unstack": lambda x: tf.unstack(x, axis=1),
    "split": lambda x: tf.split(x, 3, axis=-1),
    "split sizes": lambda x: tf.split(x, [1, 2, 3], axis=2),
    "split rest": lambda x: tf.split(x, [1, -1, 2], axis=2),
    "split last rest": lambda x: tf.split(x, [1, -1], axis=2),
    "K.repeat_elements": lambda x: K.repeat_elements(x, 2, axis=1),
    # Selecting.
    "gather": lambda x: tf.gather(x, [2, 0, 0], axis=1),
    "gather one": lambda x: tf.gather(x, 2, axis=-1),
    "gather tensor": lambda x, n: tf.gather(x, n, axis=1),
    "gather batch": lambda x, n: tf.gather(x, n, axis=1, batch_dims=1),
    "gather batch row": lambda x, k: tf.gather(x, k, batch_dims=1),
    "gather_nd": lambda x: tf.gather_nd(tf.transpose(x, [1, 2, 0]), [[3, 0], [1, 5]]),
    "gather_nd tensor": lambda x, n: tf.gather_nd(x, tf.minimum(n, 2)),
    "gather_nd rows": lambda x, k: tf.gather_nd(x, tf.minimum(k, 2)[:, None]),
    "gather_nd batch": lambda x, n: tf.gather_nd(x, n, batch_dims=1),
    "gather_nd batch rows": lambda seq, n: tf.gather_nd(seq, n[..., None], batch_dims=1),
    "gather_nd batch deep": lambda img, n: tf.gather_nd(img, tf.stack([n, n + 2], -1), batch_dims=1),
    "gather_nd batch grid": lambda img, n: tf.gather_nd(
        img, tf.stack([tf.stack([n, n + 2], -1), tf.stack([n + 1, n], -1)], 1), batch_dims=1
    ),
    "gather batch deep": lambda img, n: tf.gather(img, n, batch_dims=1),
    "where": lambda x, z: tf.where(x > 0, x, z),
    "where scalar": lambda x: tf.where(x > 0, x, 0.0),
    "where numbers": lambda x: tf.where(x > 0, 1.0, -1.0),
    "where int numbers": lambda x: tf.where(x > 0, 1, 0),
    "where v1 rows": lambda c, x, z: tf.compat.v1.where(c, x, z),
    "K.switch": lambda x: K.switch(x > 0, x, -x),
    "one_hot": lambda i: tf.one_hot(tf.minimum(i, 4), 5),
    "one_hot beyond": lambda i: tf.one_hot(i, 5),
    "one_hot axis": lambda n: tf.one_hot(n, 4, axis=1),
    "one_hot values": lambda n: tf.one_hot(n, 4, on_value=5.0, off_value=-1.0),
    "one_hot dtype": lambda n: tf.one_hot(n, 4, dtype="int32"),
    "argmax": lambda x: tf.argmax(x, axis=-1),
    "argmax int32": lambda x: tf.argmax(x, axis=1, output_type="int32"),
    "argmin": lambda p: tf.argmin(p, axis=1),
    "argmax batch": lambda p: tf.argmax(p),
    "sort": lambda x: tf.sort(x, axis=1),
    "sort descending": lambda x: tf.sort(x, direction="DESCENDING"),
    "argsort": lambda p: tf.argsort(p, axis=1),
    "argsort descending": lambda p: tf.argsort(p, direction="DESCENDING"),
    "top_k": lambda p: tf.math.top_k(p, k=3),
    "cumsum": lambda x: tf.cumsum(x, axis=1),
    "cumsum exclusive": lambda x: tf.cumsum(x, axis=1, exclusive=True),
    "cumsum reverse": lambda x: tf.cumsum(x, axis=-1, reverse=True),
    "cumsum exclusive reverse": lambda i: tf.cumsum(i, axis=1, exclusive=True, reverse=True),
    "cumprod": lambda x: tf.math.cumprod(x, axis=1),
    "cumprod exclusive": lambda x: tf.math.cumprod(x, axis=2, exclusive=True),
    "sequence_mask": lambda k: tf.sequence_mask(k, 5),
    "sequence_mask float": lambda n: tf.sequence_mask(n, maxlen=4, dtype="float32"),
    # Casts.
    "cast": lambda x: tf.cast(x, "int32"),
    "cast bool": lambda x: tf.cast(x > 0, "float32"),
    "cast to bool": lambda x: tf.cast(x, "bool"),
    "cast double": lambda x: tf.cast(x, "float64"),
    "cast half": lambda x: tf.cast(x, tf.float16),
    "cast int64": lambda x: tf.cast(x, tf.int64),
    "saturate_cast": lambda x: tf.saturate_cast(x * 100, "uint8"),
    # Matrices.
    "band_part lower": lambda x: tf.linalg.band_part(x, -1, 0),
    "band_part": lambda x: tf.linalg.band_part(x, 1, 2),
    "diag": lambda v: tf.linalg.diag(v),
    "diag_part": lambda x: tf.linalg.diag_part(x),
    "trace": lambda square: tf.linalg.trace(square),
    "inv": lambda square: tf.linalg.inv(square),
    "det": lambda square: tf.linalg.det(square),
    "matrix_transpose": lambda x: tf.linalg.matrix_transpose(x),
    # Images.
    "resize": lambda img: tf.image.resize(img, (16, 9)),
    "resize down": lambda img: tf.image.resize(img, (3, 4)),
    "resize same": lambda img: tf.image.resize(img, (8, 6)),
    "resize bytes": lambda pixels: tf.image.resize(pixels, (10, 10)),
    "resize nearest": lambda img: tf.image.resize(img, (16, 9), method="nearest"),
    "resize nearest down": lambda img: tf.image.resize(img, (3, 4), method="nearest"),
    "resize nearest bytes": lambda pixels: tf.image.resize(pixels, (10, 14), "nearest"),
    "resize antialias": lambda img: tf.image.resize(img, (3, 4), antialias=True),
    "resize bicubic": lambda img: tf.image.resize(img, (16, 12), method="bicubic"),
    "resize doubled": lambda free: tf.image.resize(free, tf.shape(free)[1:3] * 2),
    "resize doubled nearest": lambda free: tf.image.resize(free, tf.shape(free)[1:3] * 2, method="nearest"),
    "resize_with_pad": lambda rgb: tf.image.resize_with_pad(rgb, 9, 9),
    "resize_with_pad nearest": lambda img: tf.image.resize_with_pad(img, 5, 11, method="nearest"),
    "crop_or_pad": lambda rgb: tf.image.resize_with_crop_or_pad(rgb, 8, 4),
    "crop_or_pad larger": lambda rgb: tf.image.resize_with_crop_or_pad(rgb, 8, 10),
    "crop_or_pad smaller": lambda rgb: tf.image.resize_with_crop_or_pad(rgb, 2, 4),
    "central_crop": lambda rgb: tf.image.central_crop(rgb, 0.6),
    "rgb_to_yuv": lambda rgb: tf.image.rgb_to_yuv(rgb),
    "yuv_to_rgb": lambda rgb: tf.image.yuv_to_rgb(rgb),
    "rgb_to_yiq": lambda rgb: tf.image.rgb_to_yiq(rgb),
    "yiq_to_rgb": lambda rgb: tf.image.yiq_to_rgb(rgb),
    "resize v1": lambda img: tf.compat.v1.image.resize(img, (16, 9)),
    "resize v1 corners": lambda img: tf.compat.v1.image.resize(img, (5, 13), align_corners=True),
    "resize_bilinear": lambda img: tf.compat.v1.image.resize_bilinear(img, (16, 12), half_pixel_centers=True),
    "resize_nearest v1": lambda img: tf.compat.v1.image.resize_nearest_neighbor(img, (5, 13)),
    "resize_nearest corners": lambda img: tf.compat.v1.image.resize_nearest_neighbor(img, (5, 13), align_corners=True),
    "K.resize_images": lambda img: K.resize_images(img, 2, 3, "channels_last", "bilinear"),
    "K.resize_images nearest": lambda img: K.resize_images(img, 2, 3, "channels_last"),
    "depth_to_space": lambda img: tf.nn.depth_to_space(img, 2),
    "depth_to_space unknown": lambda free: tf.nn.depth_to_space(free, 2),
    "space_to_depth": lambda img: tf.nn.space_to_depth(img, 2),
    "space_to_depth unknown": lambda even: tf.nn.space_to_depth(even, 2),
    "extract_patches": lambda img: tf.image.extract_patches(img, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"),
    "extract_patches rest": lambda rgb: tf.image.extract_patches(
        rgb, [1, 2, 3, 1], [1, 2, 3, 1], [1, 1, 1, 1], "VALID"
    ),
    "extract_patches unknown": lambda even: tf.image.extract_patches(
        even, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"
    ),
    "extract_patches uneven": lambda img: tf.image.extract_patches(
        img, [1, 2, 3, 1], [1, 2, 1, 1], [1, 1, 1, 1], "VALID"
    ),
    "extract_patches same": lambda rgb: tf.image.extract_patches(rgb, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"),
    "flip": lambda img: tf.image.flip_up_down(tf.image.flip_left_right(img)),
    "crop": lambda img: tf.image.crop_to_bounding_box(img, 1, 2, 3, 4),
    "rgb_to_grayscale": lambda rgb: tf.image.rgb_to_grayscale(rgb),
    "grayscale_to_rgb": lambda rgb: tf.image.grayscale_to_rgb(rgb[..., :1]),
    "per_image_standardization": lambda rgb: tf.image.per_image_standardization(rgb),
    "convert_image_dtype": lambda pixels: tf.image.convert_image_dtype(pixels, "float32"),
    "preprocess_input": lambda rgb: tf_keras.applications.mobilenet_v2.preprocess_input(rgb),
    "preprocess_input caffe": lambda rgb: tf_keras.applications.vgg16.preprocess_input(rgb),
    # Nodes of TensorFlow 2.0 to 2.3.
    "node Mul": lambda x: raw(lambda t: t * 2.5, x),
    "node Sub": lambda x: raw(lambda t: 1.5 - t, x),
    "node AddV2": lambda x, z: raw(lambda t, u: t + u, x, z),
    "node RealDiv": lambda x: raw(lambda t: t / _CONSTANT, x),
    "node Div": lambda i: raw(lambda t: tf.raw_ops.Div(x=t, y=tf.constant(4)), i),
    "node FloorMod": lambda i: raw(lambda t: t % 4, i),
    "node Mean": lambda x: raw(lambda t: tf.reduce_mean(t, [1, 2], keepdims=True), x),
    "node Sum": lambda x: raw(lambda t: tf.reduce_sum(t, -1), x),
    "node StridedSlice": lambda x: raw(lambda t: t[:, 1:3, ..., None], x),
    "node StridedSlice shrink": lambda x: raw(lambda t: t[:, 2], x),
    "node Reshape": lambda x: raw(lambda t: tf.reshape(t, [-1, 2, 12]), x),
    "node Transpose": lambda x: raw(lambda t: tf.transpose(t, [0, 2, 1]), x),
    "node ConcatV2": lambda x, z: raw(lambda t, u: tf.concat([t, u], 1), x, z),
    "node Pack": lambda x, z: raw(lambda t, u: tf.stack([t, u], 1), x, z),
    "node Split": lambda x: raw(lambda t: tf.split(t, 3, 2), x),
    "node SplitV": lambda x: raw(lambda t: tf.split(t, [1, 5], 2), x),
    "node Unpack": lambda x: raw(lambda t: tf.unstack(t, axis=1), x),
    "node Cast": lambda x: raw(lambda t: tf.cast(t, "int32"), x),
    "node ArgMax": lambda x: raw(lambda t: tf.argmax(t, 2), x),
    "node Squeeze": lambda one: raw(lambda t: tf.squeeze(t, [2]), one),
    "node ExpandDims": lambda x: raw(lambda t: tf.expand_dims(t, 2), x),
    "node Relu6": lambda x: raw(lambda t: tf.nn.relu6(t), x),
    "node LeakyRelu": lambda x: raw(lambda t: tf.nn.leaky_relu(t, 0.3), x),
    "node BatchMatMulV2": lambda x, z: raw(lambda t, u: tf.matmul(t, u, adjoint_b=True), x, z),
    "node Einsum": lambda x, z: raw(lambda t, u: tf.einsum("bij,bkj->bik", t, u), x, z),
    "node Einsum constant": lambda x: raw(lambda t: tf.einsum("bij,jk->bki", t, tf.ones((6, 2))), x),
    "node MirrorPad": lambda x: raw(lambda t: tf.pad(t, [[0, 0], [1, 1], [2, 2]], "REFLECT"), x),
    "node GatherV2": lambda x: raw(lambda t: tf.gather(t, [1, 1], axis=2), x),
    "node MaxPool": lambda img: raw(lambda t: tf.nn.max_pool2d(t, 2, 2, "VALID"), img),
    "node Conv2D": lambda img: raw(lambda t: tf.nn.conv2d(t, tf.ones((3, 3, 4, 2)), 2, "SAME"), img),
    "node DepthToSpace": lambda img: raw(lambda t: tf.nn.depth_to_space(t, 2), img),
    "node ResizeBilinear": lambda img: raw(lambda t: tf.compat.v1.image.resize_bilinear(t, (5, 13)), img),
    "node ResizeNearestNeighbor": lambda img: raw(
        lambda t: tf.compat.v1.image.resize_nearest_neighbor(t, (16, 12), half_pixel_centers=True), img
    ),
    "node SelectV2": lambda b, x: raw(lambda t, u: tf.where(t, u, -1.0), b, x),
    "node OneHot": lambda n: raw(lambda t: tf.one_hot(t, 4, 2.0, -2.0), n),
    "node TopKV2": lambda p: raw(lambda t: tf.math.top_k(t, 2), p),
    "node Cumsum": lambda x: raw(lambda t: tf.cumsum(t, 1, reverse=True), x),
    "node BiasAdd": lambda x: raw(lambda t: tf.nn.bias_add(t, _CONSTANT[0]), x),
    "node LRN": lambda img: raw(lambda t: tf.nn.local_response_normalization(t, 1), img),
    "node Softmax": lambda v: raw(lambda t: tf.nn.softmax(t), v),
    "last of unknown size": lambda seq: seq[:, tf.shape(seq)[1] - 1],
    "without the last of unknown size": lambda seq: seq[:, : tf.shape(seq)[1] - 1],
    "from the last of unknown size": lambda seq: seq[:, tf.shape(seq)[1] - 1 :: -1],
    "clip_by_norm": lambda x: tf.clip_by_norm(x, 1.0),
    "clip_by_norm axes": lambda x: tf.clip_by_norm(x, 2.0, axes=[2]),
    "l2_loss": lambda x: tf.nn.l2_loss(x),
    "zero_fraction": lambda x: tf.nn.zero_fraction(tf.nn.relu(x)),
    "reciprocal_no_nan": lambda x: tf.math.reciprocal_no_nan(tf.nn.relu(x)),
    "conj": lambda x: tf.math.conj(x),
    "sigmoid_cross_entropy": lambda p, x: tf.nn.sigmoid_cross_entropy_with_logits(labels=p, logits=x),
    "softmax_cross_entropy": lambda p, x: tf.nn.softmax_cross_entropy_with_logits(labels=p, logits=x),
    "softmax_cross_entropy axis": lambda p, x: tf.nn.softmax_cross_entropy_with_logits(p, x, axis=1),
    "embedding_lookup": lambda n: tf.nn.embedding_lookup(tf.reshape(tf.range(12.0), (4, 3)), n),
    "rot90": lambda img: tf.image.rot90(img),
    "rot90 twice": lambda img: tf.image.rot90(img, k=2),
    "rot90 back": lambda img: tf.image.rot90(img, 3),
    "pad_to_bounding_box": lambda img: tf.image.pad_to_bounding_box(img, 1, 2, 12, 15),
    "adjust_brightness": lambda rgb: tf.image.adjust_brightness(rgb, 0.25),
    # A factor above 1 subtracts numbers that are nearly equal, which loses digits.
    "adjust_contrast": lambda rgb: tf.image.adjust_contrast(rgb / 255.0, 0.5),
    "adjust_gamma": lambda rgb: tf.image.adjust_gamma(rgb, 0.5, 2.0),
    # Lambda layers with named functions.
    "Lambda K.l2_normalize": lambda x: named(K.l2_normalize, "keras.backend", axis=-1)(x),
    "Lambda K.mean": lambda x: named(K.mean, "keras.backend", axis=1)(x),
    "Lambda K.sum": lambda x: named(K.sum, "keras.backend", axis=[1, 2], keepdims=True)(x),
    "Lambda K.expand_dims": lambda x: named(K.expand_dims, "tensorflow.python.keras.backend")(x),
    "Lambda K.concatenate": lambda x, z: named(K.concatenate, "tensorflow.python.keras.backend")([x, z]),
    "Lambda K.clip": lambda x: named(K.clip, "keras.backend", min_value=0, max_value=1)(x),
    "Lambda K.permute_dimensions": lambda x: named(K.permute_dimensions, "keras.backend", pattern=(0, 2, 1))(x),
    "Lambda K.argmax": lambda x: named(K.argmax, "tensorflow.python.keras.backend")(x),
    "Lambda K.relu": lambda x: named(K.relu, "keras.backend", max_value=2.0)(x),
    "Lambda K.sqrt": lambda x: named(K.sqrt, "keras.backend.tensorflow_backend")(x),
    "Lambda K.softmax": lambda x: named(K.softmax, "tensorflow.python.keras.backend")(x),
    "Lambda K.repeat": lambda v: named(K.repeat, "keras.backend", n=3)(v),
    "Lambda tf.nn.softmax": lambda x: named(tf.nn.softmax, "tensorflow.python.ops.nn_ops", "softmax_v2")(x),
    "Lambda tf.image.resize": lambda img: named(
        tf.image.resize, "tensorflow.python.ops.image_ops_impl", "resize_images_v2", size=(4, 4)
    )(img),
    "Lambda casts": lambda double: named(K.square, "tensorflow.python.keras.backend")(double),
    "Lambda activation": lambda x: named(tf_keras.activations.selu, "keras.activations")(x),
}

# Refused: the function of the inputs, and words of the reason.
REFUSALS = {
    "einsum": (lambda x: tf.einsum("bij,bkj->bik", x, x), "did not save the operands"),
    "boolean_mask": (lambda x: tf.boolean_mask(x, x[:, :, 0] > 0), "depends on the data"),
    "where without values": (lambda x: tf.where(x > 0), "depends on the data"),
    "random": (lambda x: x + tf.random.normal(tf.shape(x)), "other values at each call"),
    "dropout": (lambda x: tf.nn.dropout(x, 0.5), "other values at each call"),
    "slice of unknown length": (lambda seq: seq[:, : tf.shape(seq)[1] // 2], "bounds of a slice"),
    "reshape with three unknown sizes": (
        lambda free: tf.reshape(free, [tf.shape(free)[0], tf.shape(free)[1], tf.shape(free)[2], 2, 2]),
        "two or more sizes",
    ),
    "reshape that moves the batch": (
        lambda seq: tf.reshape(tf.reshape(seq, [-1, 6]), [tf.shape(seq)[0], tf.shape(seq)[1], 6]),
        "two or more sizes",
    ),
    "resize to another size": (
        lambda free, even: tf.image.resize(free, tf.shape(even)[1:3]),
        "target size of tf.image.resize",
    ),
    "aspect ratio": (lambda img: tf.image.resize(img, (4, 4), preserve_aspect_ratio=True), "preserve_aspect_ratio"),
    "area": (lambda img: tf.image.resize(img, (4, 4), method="area"), "method='area'"),
    "assert": (lambda x: tf.debugging.check_numerics(x, "no"), "checks values"),
    "strings": (lambda i: tf.strings.as_string(i), "text"),
    "lost argument": (lambda x: x == 1.0, "did not save the argument 'y'"),
    "unknown function": (lambda p: tf.math.lgamma(p), "no counterpart"),
    "Lambda with code": (lambda x: tf_keras.layers.Lambda(lambda t: t + 1)(x), "Python code"),
}


def run(function):
    names = list(inspect.signature(function).parameters)
    inputs = [tf_keras.Input(INPUTS[name][0], dtype=INPUTS[name][1].dtype.name, name=name) for name in names]
    outputs = tf.nest.flatten(function(*inputs))
    config = json.loads(tf_keras.Model(inputs, outputs).to_json())["config"]
    for layer in config["layers"]:
        layer["config"].update(_NAMED.get(layer["name"], {}))
    model = tf_keras.Model(inputs, outputs)
    results = tf.nest.flatten(model([tf.constant(INPUTS[name][1]) for name in names]))
    return config, [item.numpy() for item in results]


def main(path):
    global tf, K, tf_keras
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow
    import tf_keras as keras_2

    tf, tf_keras, K = tensorflow, keras_2, keras_2.backend
    results = {}
    for name, function in {**CASES, **{f"refused {name}": case[0] for name, case in REFUSALS.items()}}.items():
        try:
            results[name] = run(function)
        except Exception as error:  # noqa: BLE001  # a case that tf_keras cannot run fails in its test
            results[name] = (repr(error)[:2000], None)
    Path(path).write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
