"""Static shapes and dtypes, compared with the symbolic tensors of Keras."""
# ruff: noqa: PLW0108  # one table of functions, most of which have arguments

import json

import keras
import pytest
from keras import layers

from ramet._port.shapes import Spec, broadcast, compute_dtype, output_specs
from ramet._port.shapes_layers import LAYERS
from tests.support.versions import KERAS

pytestmark = pytest.mark.no_backend

IMAGE, VOLUME, SEQUENCE = (None, 9, 8, 3), (None, 7, 6, 5, 2), (None, 10, 4)
FREE = (None, None, None, 3)

# A layer, and the shapes of its inputs; a shape for one input, a list for several.
CASES = [
    (lambda: layers.Dense(5), SEQUENCE),
    (lambda: layers.Dense(5, dtype="mixed_float16"), (None, 4)),
    (lambda: layers.EinsumDense("abc,cd->abd", output_shape=(None, 7)), SEQUENCE),
    (lambda: layers.EinsumDense("...x,xy->...y", output_shape=7), SEQUENCE),
    (lambda: layers.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3)), SEQUENCE),
    (lambda: layers.Conv1D(5, 3), SEQUENCE),
    (lambda: layers.Conv1D(5, 3, padding="causal", dilation_rate=2), SEQUENCE),
    (lambda: layers.Conv2D(5, 3, strides=2, padding="same"), IMAGE),
    (lambda: layers.Conv2D(5, (3, 2), strides=(2, 1)), IMAGE),
    (lambda: layers.Conv2D(5, 3, dilation_rate=2), IMAGE),
    (lambda: layers.Conv2D(5, 3), FREE),
    (lambda: layers.Conv2D(5, 3, padding="same"), FREE),
    (lambda: layers.Conv3D(5, 2), VOLUME),
    (lambda: layers.DepthwiseConv2D(3, depth_multiplier=2), IMAGE),
    (lambda: layers.DepthwiseConv1D(3, strides=2), SEQUENCE),
    (lambda: layers.SeparableConv2D(5, 3, strides=2), IMAGE),
    (lambda: layers.SeparableConv1D(5, 3), SEQUENCE),
    (lambda: layers.Conv1DTranspose(5, 3, strides=2), SEQUENCE),
    (lambda: layers.Conv2DTranspose(5, 3, strides=2, padding="same"), IMAGE),
    (lambda: layers.Conv2DTranspose(5, 2, strides=3), IMAGE),
    (lambda: layers.Conv2DTranspose(5, 4, strides=2, output_padding=1), IMAGE),
    (lambda: layers.Conv2DTranspose(5, 4, strides=2, padding="same", output_padding=1), IMAGE),
    (lambda: layers.Conv2DTranspose(5, 3, strides=2), FREE),
    (lambda: layers.Conv3DTranspose(5, 3, strides=2), VOLUME),
    (lambda: layers.MaxPooling1D(3, strides=2), SEQUENCE),
    (lambda: layers.MaxPooling2D(), IMAGE),
    (lambda: layers.AveragePooling2D(3, strides=2, padding="same"), IMAGE),
    (lambda: layers.AveragePooling3D(2), VOLUME),
    (lambda: layers.GlobalMaxPooling1D(), SEQUENCE),
    (lambda: layers.GlobalAveragePooling2D(), IMAGE),
    (lambda: layers.GlobalAveragePooling2D(keepdims=True), IMAGE),
    (lambda: layers.GlobalMaxPooling3D(), VOLUME),
    (lambda: layers.Flatten(), IMAGE),
    (lambda: layers.Flatten(), FREE),
    (lambda: layers.Reshape((2, -1)), SEQUENCE),
    (lambda: layers.Reshape((-1, 3)), FREE),
    (lambda: layers.Permute((3, 1, 2)), IMAGE),
    (lambda: layers.RepeatVector(3), (None, 4)),
    (lambda: layers.Cropping1D((1, 2)), SEQUENCE),
    (lambda: layers.Cropping2D(((1, 2), (0, 1))), IMAGE),
    (lambda: layers.Cropping3D(1), VOLUME),
    (lambda: layers.ZeroPadding1D(2), SEQUENCE),
    (lambda: layers.ZeroPadding2D((1, 2)), IMAGE),
    (lambda: layers.ZeroPadding2D((1, 2)), FREE),
    (lambda: layers.ZeroPadding3D(((1, 0), (2, 2), (0, 1))), VOLUME),
    (lambda: layers.UpSampling1D(3), SEQUENCE),
    (lambda: layers.UpSampling2D((2, 3)), IMAGE),
    (lambda: layers.UpSampling3D(2), VOLUME),
    (lambda: layers.Embedding(10, 6), (None, 5)),
    (lambda: layers.LSTM(5), SEQUENCE),
    (lambda: layers.LSTM(5, return_sequences=True, return_state=True), SEQUENCE),
    (lambda: layers.GRU(5, return_state=True), SEQUENCE),
    (lambda: layers.SimpleRNN(5, return_sequences=True), (None, None, 4)),
    (lambda: layers.RNN([layers.LSTMCell(3), layers.GRUCell(5)], return_state=True), SEQUENCE),
    (lambda: layers.ConvLSTM2D(5, 3, return_sequences=True), VOLUME),
    (lambda: layers.ConvLSTM1D(5, 3, padding="same", return_state=True), IMAGE),
    (lambda: layers.Bidirectional(layers.LSTM(5, return_sequences=True)), SEQUENCE),
    (lambda: layers.Bidirectional(layers.GRU(5), merge_mode="sum"), SEQUENCE),
    (lambda: layers.Bidirectional(layers.GRU(5), merge_mode=None), SEQUENCE),
    (lambda: layers.Bidirectional(layers.LSTM(5, return_state=True)), SEQUENCE),
    (lambda: layers.TimeDistributed(layers.Dense(7)), SEQUENCE),
    (lambda: layers.TimeDistributed(layers.Conv2D(7, 3)), VOLUME),
    (lambda: layers.Add(), [(None, 4, 1), (None, 1, 5)]),
    (lambda: layers.Multiply(), [(None, 4), (None, 4), (None, 4)]),
    (lambda: layers.Subtract(), [(None, 4), (None, 4)]),
    (lambda: layers.Average(), [(None, None, 4), (None, 3, 4)]),
    (lambda: layers.Maximum(), [(None, 4), (None, 4)]),
    (lambda: layers.Concatenate(), [(None, 4), (None, 5)]),
    (lambda: layers.Concatenate(axis=1), [(None, 4, 2), (None, None, 2)]),
    (lambda: layers.Dot(axes=1), [(None, 4), (None, 4)]),
    (lambda: layers.Dot(axes=(2, 1)), [(None, 3, 4), (None, 4, 5)]),
    (lambda: layers.Attention(), [(None, 3, 4), (None, 6, 4)]),
    (lambda: layers.AdditiveAttention(), [(None, 3, 4), (None, 6, 4)]),
    (lambda: layers.BatchNormalization(), IMAGE),
    (lambda: layers.LayerNormalization(), SEQUENCE),
    (lambda: layers.GroupNormalization(1), IMAGE),
    (lambda: layers.UnitNormalization(), SEQUENCE),
    (lambda: layers.SpectralNormalization(layers.Dense(5)), (None, 4)),
    (lambda: layers.Activation("relu"), SEQUENCE),
    (lambda: layers.PReLU(), SEQUENCE),
    (lambda: layers.LeakyReLU(), SEQUENCE),
    (lambda: layers.Softmax(), SEQUENCE),
    (lambda: layers.Dropout(0.5), SEQUENCE),
    (lambda: layers.SpatialDropout2D(0.5), IMAGE),
    (lambda: layers.GaussianNoise(0.5), SEQUENCE),
    (lambda: layers.Masking(), SEQUENCE),
    (lambda: layers.Rescaling(0.5), IMAGE),
    (lambda: layers.Resizing(4, 5), IMAGE),
    (lambda: layers.CenterCrop(4, 5), IMAGE),
    (lambda: layers.RandomCrop(4, 5), IMAGE),
    (lambda: layers.RandomFlip(), IMAGE),
    (lambda: layers.Normalization(mean=0.0, variance=1.0), SEQUENCE),
    (lambda: layers.CategoryEncoding(6), (None, 4)),
    (lambda: layers.Identity(), SEQUENCE),
]


def named(case):
    layer = case[0]()
    return f"{layer.__class__.__name__} {case[1]}"


def specs_of(layer, shapes, **changes):
    config = json.loads(json.dumps(layer.get_config()))  # as in a file
    several = isinstance(shapes, list)
    dtype = "int32" if isinstance(layer, layers.Embedding) else "float32"
    specs = [Spec(shape, dtype) for shape in (shapes if several else [shapes])]
    return output_specs(layer.__class__.__name__, {**config, **changes}, [specs if several else specs[0]])


def outputs_of(layer, shapes):
    dtype = "int32" if isinstance(layer, layers.Embedding) else "float32"
    several = isinstance(shapes, list)
    inputs = [keras.Input(batch_shape=shape, dtype=dtype) for shape in (shapes if several else [shapes])]
    return keras.tree.flatten(layer(inputs if several else inputs[0]))


@pytest.mark.parametrize("case", CASES, ids=named)
def test_shapes_and_dtypes_are_those_of_keras(case):
    make, shapes = case
    layer = make()
    if KERAS < (3, 15) and getattr(layer, "output_padding", None) is not None:
        pytest.skip("before Keras 3.15, output_padding counts differently on JAX")
    expected = [Spec(tuple(item.shape), item.dtype) for item in outputs_of(layer, shapes)]
    found = specs_of(layer, shapes)

    assert [spec.dtype for spec in found] == [spec.dtype for spec in expected]
    for one, two in zip(found, expected, strict=True):
        # Keras itself does not follow the sizes that EinsumDense passes through.
        assert len(one.shape) == len(two.shape)
        assert all(size is None or size == own for own, size in zip(one.shape, two.shape, strict=True))


@pytest.mark.parametrize(
    ("make", "shape", "changes"),
    [
        (lambda: layers.Dense(5), SEQUENCE, {"units": 6}),
        (lambda: layers.Conv2D(5, 3), IMAGE, {"strides": [2, 2]}),
        (lambda: layers.Conv2D(5, 3), IMAGE, {"data_format": "channels_first"}),
        (lambda: layers.MaxPooling2D(), IMAGE, {"padding": "same"}),
        (lambda: layers.LSTM(5), SEQUENCE, {"return_sequences": True}),
        (lambda: layers.LSTM(5), SEQUENCE, {"return_state": True}),
        (lambda: layers.Dense(5), SEQUENCE, {"dtype": "float16"}),
        (lambda: layers.Concatenate(), [(None, 4, 4), (None, 4, 4)], {"axis": 1}),
    ],
)
def test_changed_setting_changes_the_result(make, shape, changes):
    layer = make()

    assert specs_of(layer, shape, **changes) != specs_of(layer, shape)


def test_attention_scores_are_a_second_output():
    config = layers.MultiHeadAttention(2, 3).get_config()
    specs = [Spec((None, 5, 4), "float32"), Spec((None, 6, 4), "float32")]

    found = output_specs("MultiHeadAttention", config, specs, {"return_attention_scores": True})

    assert [spec.shape for spec in found] == [(None, 5, 4), (None, 2, 5, 6)]


def test_unknown_sizes_keep_their_identity():
    batch, time = object(), object()
    config = {"units": 5, "trainable": True}

    assert output_specs("Dense", config, [Spec((batch, time, 4), "float32")]) == [Spec((batch, time, 5), "float32")]
    assert output_specs("Add", {"dtype": "float32"}, [[Spec((batch, 4), "float32")] * 2]) == [
        Spec((batch, 4), "float32")
    ]
    assert output_specs("Reshape", {"newshape": [-1, 2, 2]}, [Spec((batch, 4), "int32")]) == [
        Spec((batch, 2, 2), "int32")
    ]


@pytest.mark.parametrize("config", [{}, {"units": "many"}, {"axis": 99}, {"kernel_size": None, "filters": []}])
@pytest.mark.parametrize("shape", [None, (), (None,), (None, "x", 3), (None, 4, 4, 4)])
def test_odd_configs_never_raise(config, shape):
    for name in LAYERS:
        found = output_specs(name, {"dtype": "float32", **config}, [Spec(shape, "float32")])

        assert found is None or all(isinstance(spec, Spec) for spec in found)


def test_unknown_layer_has_no_specs():
    assert output_specs("MyLayer", {}, [Spec((None, 4), "float32")]) is None


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("float16", "float16"),
        ("mixed_bfloat16", "bfloat16"),
        (None, "float32"),
        ({"class_name": "Policy", "config": {"name": "mixed_float16"}}, "float16"),
        ({"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float64"}}, "float64"),
        ({"class_name": "QuantizedDTypePolicy", "config": {"mode": "int8", "source_name": "mixed_float16"}}, "float16"),
    ],
)
def test_compute_dtype_follows_from_the_policy(dtype, expected):
    assert compute_dtype({"dtype": dtype}) == expected


def test_sizes_that_cannot_be_combined_have_no_shape():
    assert broadcast((2, 3), (2, 4)) is None
    assert broadcast((2, 1), (3,)) == (2, 3)
    assert broadcast((None, 3), None) is None


@pytest.mark.no_backend
def test_arrays_in_a_config_have_a_shape():
    indices = {"class_name": "__numpy__", "config": {"value": [4, 0], "dtype": "int32"}}
    assert output_specs("Take", {"axis": 1}, [Spec((None, 6, 3)), indices], {}) == [Spec((None, 2, 3))]
