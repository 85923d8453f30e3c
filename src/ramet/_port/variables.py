"""The variables of Keras' layers: in which order Keras 2 keeps them, and where Keras 3 saves them.

A `Slot` is one variable of one layer. Slots are listed per layer in the order in which the layer creates them, and by
`saved_order` in the order in which Keras 2 writes the weights of an outermost layer: first what can be trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ramet._port.draft import Layer, Model

_Config: TypeAlias = dict[str, Any]

_ATTENTION_PARTS = {
    "query": "query_dense",
    "key": "key_dense",
    "value": "value_dense",
    "attention_output": "output_dense",
}


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """One variable of a layer.

    Attributes:
        layer: The layer.
        name: The name of the variable in Keras 2: `depthwise_kernel`.
        group: The group inside the layer's own in which Keras 3 saves it: `cell`.
        number: Its number there.
        shape: Its shape in Keras 3, with None for an unknown size; None if nothing is known.
        owners: The names of the layers around it that may occur in the name of the saved weight, the outermost first.
        trainable: Whether Keras 2 counts it among the weights that are trained.
    """

    layer: Layer
    name: str
    group: str
    number: int
    shape: tuple[int | None, ...] | None
    owners: tuple[str, ...]
    trainable: bool


def own_slots(layer: Layer, owners: tuple[str, ...] = (), *, trainable: bool = True) -> list[Slot] | None:
    """Return the variables that a layer itself creates; None for a class that is not known.

    Args:
        layer: A layer of Keras 2. Layers in its config, such as the one of a wrapper, are not included.
        owners: The names of the layers around it.
        trainable: Whether all layers around it are trainable.
    """
    is_operation = layer.module is not None and layer.module.startswith("keras.src.ops.")
    found = [] if is_operation else _variables(layer.class_name, layer.config) if layer.is_of_keras else None
    if found is None:
        return None
    trainable = trainable and layer.config.get("trainable") is not False
    numbers: dict[str, int] = {}
    slots = []
    for name, group, shape, is_weight in found:
        numbers[group] = numbers.get(group, -1) + 1
        part = next((key for key, value in _ATTENTION_PARTS.items() if value == group), None)
        around = (*owners, layer.source) + ((part,) if part else ())
        slots.append(Slot(layer, name, group, numbers[group], shape, around, trainable and is_weight))
    return slots


_Variable: TypeAlias = tuple[str, str, "tuple[int | None, ...] | None", bool]


def _variables(class_name: str, config: _Config) -> list[_Variable] | None:
    rule = _RULES.get(class_name)
    if rule is not None:
        return rule(config)
    return [] if class_name in WITHOUT_VARIABLES else None


def _size(config: _Config, key: str) -> int | None:
    value = config.get(key)
    return value if type(value) is int else None


def _biased(config: _Config, variables: list[_Variable], units: int | None, group: str = "") -> list[_Variable]:
    if config.get("use_bias", config.get("bias", True)) is not False:
        variables.append(("bias", group, (units,), True))
    return variables


def _dense(config: _Config) -> list[_Variable]:
    units = _size(config, "units")
    return _biased(config, [("kernel", "", (None, units), True)], units)


def _kernel_size(config: _Config, rank: int) -> tuple[int | None, ...]:
    size = config.get("kernel_size")
    if type(size) is int:
        return (size,) * rank
    return tuple(size) if isinstance(size, list) and len(size) == rank else (None,) * rank


def _conv(rank: int, *, is_transposed: bool = False) -> Callable[[_Config], list[_Variable]]:
    def variables(config: _Config) -> list[_Variable]:
        filters = _size(config, "filters")
        ends = (filters, None) if is_transposed else (None, filters)
        return _biased(config, [("kernel", "", (*_kernel_size(config, rank), *ends), True)], filters)

    return variables


def _depthwise(rank: int) -> Callable[[_Config], list[_Variable]]:
    def variables(config: _Config) -> list[_Variable]:
        shape = (*_kernel_size(config, rank), None, _size(config, "depth_multiplier"))
        return _biased(config, [("depthwise_kernel", "", shape, True)], None)

    return variables


def _separable(rank: int) -> Callable[[_Config], list[_Variable]]:
    def variables(config: _Config) -> list[_Variable]:
        filters = _size(config, "filters")
        depthwise = (*_kernel_size(config, rank), None, _size(config, "depth_multiplier"))
        pointwise = (*(1,) * rank, None, filters)
        kernels: list[_Variable] = [
            ("depthwise_kernel", "", depthwise, True),
            ("pointwise_kernel", "", pointwise, True),
        ]
        return _biased(config, kernels, filters)

    return variables


def _scaled(config: _Config) -> list[_Variable]:
    wanted = (("gamma", "scale"), ("beta", "center"))
    return [(name, "", None, True) for name, flag in wanted if config.get(flag, True) is not False]


def _batch_normalization(config: _Config) -> list[_Variable]:
    names = ["moving_mean", "moving_variance"]
    if config.get("renorm"):
        names += ["moving_stddev", "renorm_mean", "renorm_stddev"]
    return [*_scaled(config), *((name, "", None, False) for name in names)]


def _recurrent(gates: int, group: str) -> Callable[[_Config], list[_Variable]]:
    def variables(config: _Config) -> list[_Variable]:
        units = _size(config, "units")
        width = None if units is None else gates * units
        kernels: list[_Variable] = [
            ("kernel", group, (None, width), True),
            ("recurrent_kernel", group, (units, width), True),
        ]
        if config.get("use_bias", True) is not False:
            kernels.append(("bias", group, None, True))
        return kernels

    return variables


def _conv_recurrent(rank: int, group: str) -> Callable[[_Config], list[_Variable]]:
    def variables(config: _Config) -> list[_Variable]:
        filters = _size(config, "filters")
        width = None if filters is None else 4 * filters
        size = _kernel_size(config, rank)
        kernels: list[_Variable] = [
            ("kernel", group, (*size, None, width), True),
            ("recurrent_kernel", group, (*size, filters, width), True),
        ]
        return _biased(config, kernels, width, group)

    return variables


def _attention(config: _Config) -> list[_Variable]:
    found: list[_Variable] = []
    for group in _ATTENTION_PARTS.values():
        found.append(("kernel", group, None, True))
        if config.get("use_bias", True) is not False:
            found.append(("bias", group, None, True))
    return found


def _normalization(config: _Config) -> list[_Variable]:
    if config.get("mean") is not None:
        return []
    return [("mean", "", None, False), ("variance", "", None, False), ("count", "", (), False)]


def _simple_attention(config: _Config) -> list[_Variable]:
    found: list[_Variable] = [("scale", "", (), True)] if config.get("use_scale") else []
    if config.get("score_mode") == "concat":
        found.append(("concat_score_weight", "", (), True))
    return found


def _spectral_normalization(config: _Config) -> list[_Variable]:
    return [("vector_u", "", None, False)]


def _lookup(config: _Config) -> list[_Variable]:
    mode = config.get("output_mode")
    return [("idf_weights", "", (None,), False)] if mode in ("tf_idf", "tf-idf") else []


def _discretization(config: _Config) -> list[_Variable]:
    return [("summary", "", None, False)] if config.get("bin_boundaries") is None else []


def _reversible_embedding(config: _Config) -> list[_Variable]:
    parts = ["embeddings"] + ([] if config.get("tie_weights", True) else ["reverse_embeddings"])
    return [(part, "", None, True) for part in parts]


def _spectrogram(config: _Config) -> list[_Variable]:
    parts = {"real": ["real_kernel"], "imag": ["imag_kernel"]}.get(
        str(config.get("mode")), ["real_kernel", "imag_kernel"]
    )
    return [(part, "", None, False) for part in parts]


_RULES: dict[str, Callable[[_Config], list[_Variable]]] = {
    "AdditiveAttention": lambda config: (
        [("scale", "", (None,), True)] if config.get("use_scale", True) is not False else []
    ),
    "Attention": _simple_attention,
    "BatchNormalization": _batch_normalization,
    "BatchNormalizationV1": _batch_normalization,
    "CuDNNGRU": _recurrent(3, "cell"),
    "CuDNNLSTM": _recurrent(4, "cell"),
    "Dense": _dense,
    "Discretization": _discretization,
    "EinsumDense": lambda config: [
        ("kernel", "", None, True),
        *([("bias", "", None, True)] if config.get("bias_axes") is not None else []),
    ],
    "Embedding": lambda config: [("embeddings", "", (_size(config, "input_dim"), _size(config, "output_dim")), True)],
    "GRU": _recurrent(3, "cell"),
    "GRUCell": _recurrent(3, ""),
    "GroupNormalization": _scaled,
    "IntegerLookup": _lookup,
    "LSTM": _recurrent(4, "cell"),
    "LSTMCell": _recurrent(4, ""),
    "LayerNormalization": _scaled,
    "LayerScale": lambda config: [("gamma", "", (_size(config, "projection_dim"),), True)],
    "MultiHeadAttention": _attention,
    "Normalization": _normalization,
    "PReLU": lambda _: [("alpha", "", None, True)],
    "RMSNormalization": lambda _: [("scale", "", None, True)],
    "ReversibleEmbedding": _reversible_embedding,
    "STFTSpectrogram": _spectrogram,
    "SimpleRNN": _recurrent(1, "cell"),
    "SimpleRNNCell": _recurrent(1, ""),
    "SpectralNormalization": _spectral_normalization,
    "StringLookup": _lookup,
    "SyncBatchNormalization": _batch_normalization,
    "TextVectorization": _lookup,
    **{f"ConvLSTM{rank}D": _conv_recurrent(rank, "cell") for rank in (1, 2, 3)},
    **{f"Conv{rank}D": _conv(rank) for rank in (1, 2, 3)},
    **{f"Conv{rank}DTranspose": _conv(rank, is_transposed=True) for rank in (1, 2, 3)},
    **{f"DepthwiseConv{rank}D": _depthwise(rank) for rank in (1, 2)},
    **{f"SeparableConv{rank}D": _separable(rank) for rank in (1, 2)},
    **{
        f"LocallyConnected{rank}D": lambda config: [
            (name, "", None, True) for name in ("kernel", "bias") if name == "kernel" or config.get("use_bias", True)
        ]
        for rank in (1, 2)
    },
}

# Layers that never have variables of their own. Random layers of Keras 2.9 and later have the state of a generator, which
# h5 files do not contain.
WITHOUT_VARIABLES = frozenset(
    """
    Activation ActivityRegularization Add AlphaDropout Average AveragePooling1D AveragePooling2D AveragePooling3D
    AddLoss AddMetric Bidirectional CategoryEncoding CenterCrop ClassMethod Concatenate Cropping1D Cropping2D Cropping3D
    CustomScaleLayer Dot
    Dropout ELU Flatten GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D
    GlobalAveragePooling3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D HashedCrossing Hashing Identity
    InputLayer InstanceMethod InstanceProperty Lambda LeakyReLU Masking MaxPooling1D MaxPooling2D
    MaxPooling3D Maximum Minimum Multiply Permute RNN RandomBrightness RandomContrast RandomCrop RandomFlip RandomHeight
    RandomRotation RandomTranslation RandomWidth RandomZoom ReLU RepeatVector Rescaling Reshape Resizing SlicingOpLambda
    Softmax SpatialDropout1D SpatialDropout2D SpatialDropout3D StackedRNNCells StochasticDepth Subtract
    TFOpLambda TensorFlowOpLayer ThresholdedReLU TimeDistributed UnitNormalization UpSampling1D
    UpSampling2D UpSampling3D Wrapper ZeroPadding1D ZeroPadding2D ZeroPadding3D
    AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D AdaptiveMaxPooling1D AdaptiveMaxPooling2D
    AdaptiveMaxPooling3D AugMix AutoContrast ContrastLimitedAdaptiveHistogramEqualization CutMix Equalization
    MaxNumBoundingBoxes MelSpectrogram MixUp RandAugment RandomColorDegeneration RandomColorJitter RandomElasticTransform
    RandomErasing RandomGaussianBlur RandomGrayscale RandomHue RandomInvert RandomPerspective RandomPosterization
    RandomSaturation RandomSharpness RandomShear Solarization
    """.split()  # noqa: SIM905  # a list of quoted names would be six times as long
)


# The layers inside a layer.


def inner_layers(layer: Layer) -> list[tuple[str, Layer]]:
    """Return the layers that a layer holds in its settings, each with the attribute in which Keras holds it."""
    config = layer.config
    if layer.class_name == "Bidirectional":
        forward = config.get("layer")
        backward = config.get("backward_layer") or layer.backward
        found = [("forward_layer", forward), ("backward_layer", backward)]
    elif layer.class_name == "StackedRNNCells":
        cells = config.get("cells")
        found = [("cells", cell) for cell in (cells if isinstance(cells, list) else [])]
    else:
        found = [(key, config.get(key)) for key in ("layer", "cell")]
    return [(attribute, inner) for attribute, inner in found if isinstance(inner, Layer)]


def saved_order(layer: Layer, owners: tuple[str, ...] = (), *, trainable: bool = True) -> list[Slot] | None:
    """Return the variables of a layer and of the layers inside, in the order in which Keras 2 writes them.

    A layer that is not trainable keeps the order of its layers. Otherwise all trained weights come first.

    Returns:
        None if the class of a layer is not known.
    """
    slots = all_slots(layer, owners, trainable=trainable)
    if slots is None:
        return None
    return [slot for slot in slots if slot.trainable] + [slot for slot in slots if not slot.trainable]


def all_slots(layer: Layer, owners: tuple[str, ...] = (), *, trainable: bool = True) -> list[Slot] | None:
    """Return the variables of a layer and of all layers inside it, layer by layer."""
    if layer.model is not None:
        inner_trainable = trainable and layer.model.config.get("trainable") is not False
        return _joined(
            all_slots(inner, (*owners, layer.source), trainable=inner_trainable) for inner in layer.model.layers
        )
    own = own_slots(layer, owners, trainable=trainable)
    if own is None:
        return None
    inner_trainable = trainable and layer.config.get("trainable") is not False
    inside = _joined(
        all_slots(inner, (*owners, layer.source, *_direction(attribute, inner)), trainable=inner_trainable)
        for attribute, inner in inner_layers(layer)
    )
    return None if inside is None else own + inside


def _direction(attribute: str, inner: Layer) -> tuple[str, ...]:
    """Return the name that Bidirectional gives to its two layers: `forward_lstm`."""
    words = {"forward_layer": "forward", "backward_layer": "backward"}
    return (f"{words[attribute]}_{inner.source}",) if attribute in words else ()


def _joined(parts: Iterable[list[Slot] | None]) -> list[Slot] | None:
    found: list[Slot] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return found


def walk_layers(model: Model, path: str = "") -> Iterator[tuple[str, Layer]]:
    """Yield all layers of a model with their paths, including those of nested models and in the settings of layers."""
    for layer in model.layers:
        yield from _walk_layer(layer, f"{path}/{layer.name}" if path else layer.name)


def _walk_layer(layer: Layer, path: str) -> Iterator[tuple[str, Layer]]:
    yield path, layer
    if layer.model is not None:
        yield from walk_layers(layer.model, path)
    for _, inner in inner_layers(layer):
        yield from _walk_layer(inner, f"{path}/{inner.name}")
