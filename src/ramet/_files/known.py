"""Names of Keras' own layers, and of the layers that they make inside and that no config tells of."""

from __future__ import annotations

import re

__all__ = ["LAYERS", "class_inside", "class_of_group", "class_of_part", "own_name", "snake_case"]

LAYERS = frozenset(
    """
    Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D
    AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D Add AdditiveAttention AlphaDropout Attention AugMix
    AutoContrast Average AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D AvgPool2D AvgPool3D
    BatchNormalization BatchNormalizationV1 Bidirectional CategoryEncoding CenterCrop Concatenate
    ContrastLimitedAdaptiveHistogramEqualization Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose
    ConvLSTM1D ConvLSTM2D ConvLSTM3D ConvLSTMCell Convolution1D Convolution1DTranspose Convolution2D
    Convolution2DTranspose Convolution3D Convolution3DTranspose Cropping1D Cropping2D Cropping3D CuDNNGRU CuDNNLSTM
    CutMix Dense DepthwiseConv1D DepthwiseConv2D Discretization Dot Dropout ELU EinsumDense Embedding Equalization
    FeatureSpace Flatten FlaxLayer GRU GRUCell GaussianDropout GaussianNoise GlobalAveragePooling1D
    GlobalAveragePooling2D GlobalAveragePooling3D GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D
    GlobalMaxPool2D GlobalMaxPool3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization
    GroupQueryAttention GroupedQueryAttention HashedCrossing Hashing Identity InputLayer IntegerLookup JaxLayer LSTM
    LSTMCell Lambda Layer LayerNormalization LeakyReLU Masking MaxNumBoundingBoxes MaxPool1D MaxPool2D MaxPool3D
    MaxPooling1D MaxPooling2D MaxPooling3D Maximum MelSpectrogram Minimum MixUp MultiHeadAttention Multiply
    Normalization PReLU Permute Pipeline RMSNormalization RNN RandAugment RandomBrightness RandomColorDegeneration
    RandomColorJitter RandomContrast RandomCrop RandomElasticTransform RandomErasing RandomFlip RandomGaussianBlur
    RandomGrayscale RandomHeight RandomHue RandomInvert RandomPerspective RandomPosterization RandomRotation
    RandomSaturation RandomSharpness RandomShear RandomTranslation RandomWidth RandomZoom ReLU RepeatVector Rescaling
    Reshape Resizing ReversibleEmbedding STFTSpectrogram SeparableConv1D SeparableConv2D SeparableConvolution1D
    SeparableConvolution2D SimpleRNN SimpleRNNCell Softmax Solarization SpatialDropout1D SpatialDropout2D
    SpatialDropout3D SpectralNormalization StackedRNNCells StringLookup Subtract TFSMLayer TextVectorization
    ThresholdedReLU TimeDistributed TorchModuleWrapper UnitNormalization UpSampling1D UpSampling2D UpSampling3D Wrapper
    ZeroPadding1D ZeroPadding2D ZeroPadding3D
    """.split()  # noqa: SIM905  # a list of quoted names would be four times as long
)

# Classes that Keras exports under another name than their own.
_OWN_NAMES = {"GroupQueryAttention": "GroupedQueryAttention"}

_ATTENTION = {
    "_dropout_layer": "Dropout",
    "_softmax": "Softmax",
    "key_dense": "EinsumDense",
    "_key_dense": "EinsumDense",
    "output_dense": "EinsumDense",
    "_output_dense": "EinsumDense",
    "query_dense": "EinsumDense",
    "_query_dense": "EinsumDense",
    "value_dense": "EinsumDense",
    "_value_dense": "EinsumDense",
}
_WITHOUT_WEIGHTS = frozenset({"Dropout", "Softmax"})
_PARTS: dict[str, dict[str, str]] = {
    "ConvLSTM1D": {"cell": "ConvLSTMCell"},
    "ConvLSTM2D": {"cell": "ConvLSTMCell"},
    "ConvLSTM3D": {"cell": "ConvLSTMCell"},
    "GRU": {"cell": "GRUCell"},
    "GroupQueryAttention": _ATTENTION,
    "GroupedQueryAttention": _ATTENTION,
    "LSTM": {"cell": "LSTMCell"},
    "MultiHeadAttention": _ATTENTION,
    "SimpleRNN": {"cell": "SimpleRNNCell"},
}


def own_name(class_name: str) -> str:
    """What a class calls itself, which configs do not always say."""
    return _OWN_NAMES.get(class_name, class_name)


def snake_case(class_name: str) -> str:
    """The name that Keras makes from the name of a class."""
    name = re.sub(r"\W+", "", own_name(class_name))
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


_BY_GROUP = {snake_case(name): name for name in sorted(LAYERS | {"Functional", "Sequential"})}


def class_of_part(owner: str, attribute: str) -> str | None:
    """The class of what one of Keras' own layers keeps under an attribute; None where that is not known."""
    return _PARTS.get(owner, {}).get(attribute)


def class_inside(owner: str) -> str | None:
    """The class of the layers with weights that one of Keras' own layers makes inside; None for those that make none."""
    return next((name for name in _PARTS.get(owner, {}).values() if name not in _WITHOUT_WEIGHTS), None)


def class_of_group(group: str) -> str | None:
    """The class after which a weights file calls an item of a list: `dense_3` is a Dense; None for others."""
    return _BY_GROUP.get(group) or _BY_GROUP.get(re.sub(r"_\d+$", "", group))
