"""Static shapes and dtypes of the layers of Keras 2 and 3. Each rule takes the config and the specs of the tensors of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ramet._port.draft import Argument
from ramet._port.shapes import (
    Config,
    Rule,
    Shape,
    Size,
    Spec,
    broadcast,
    compute_dtype,
    concatenated,
    is_float,
    output_specs,
    product,
    size_left,
    stride_window,
)


def _many(value: Any, rank: int) -> tuple[int, ...]:
    return (int(value),) * rank if isinstance(value, int | float) else tuple(int(item) for item in value)


def _pairs(value: Any, rank: int) -> list[tuple[int, int]]:
    if isinstance(value, int):
        return [(value, value)] * rank
    return [(item, item) if isinstance(item, int) else (int(item[0]), int(item[1])) for item in value]


def _is_first(config: Config) -> bool:
    return config.get("data_format") == "channels_first"


def _cast(config: Config, spec: Spec) -> str | None:
    """Return the dtype of an input after the layer cast it: floats become the compute dtype, others stay."""
    return compute_dtype(config) if is_float(spec.dtype) else spec.dtype


def _spatial(config: Config, shape: Shape, change: Callable[[int, Size], Size], channels: Size = None) -> Shape:
    """Return an image shape with changed spatial sizes, and changed channels if given."""
    if _is_first(config):
        depth = shape[1] if channels is None else channels
        return (shape[0], depth, *(change(axis, size) for axis, size in enumerate(shape[2:])))
    depth = shape[-1] if channels is None else channels
    return (shape[0], *(change(axis, size) for axis, size in enumerate(shape[1:-1])), depth)


def _depth(config: Config, shape: Shape) -> Size:
    return shape[1] if _is_first(config) else shape[-1]


def _same(config: Config, specs: list[Spec], *_: object) -> Spec:
    return Spec(specs[0].shape, _cast(config, specs[0]))


def _same_float(config: Config, specs: list[Spec], *_: object) -> Spec:
    return Spec(specs[0].shape, compute_dtype(config))


def _dense(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape = specs[0].shape
    return Spec(None if shape is None else (*shape[:-1], config["units"]), compute_dtype(config))


def _einsum_dense(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape, equation = specs[0].shape, config["equation"].replace(" ", "")
    output = config["output_shape"]
    output = [output] if isinstance(output, int) else list(output)
    if shape is None:
        return Spec(None, compute_dtype(config))
    left, right = equation.split("->")
    inputs = left.split(",")[0]
    if "..." in inputs:
        rest = list(right.replace("...", ""))
        batch = len(shape) - len(inputs.replace("...", ""))
        known = dict(zip(inputs.replace("...", ""), shape[batch:] if inputs.startswith("...") else shape, strict=False))
        sizes = (*shape[:batch], *output[-len(rest) :]) if right.startswith("...") else None
        if sizes is None:
            return Spec(None, compute_dtype(config))
        tail = [
            known.get(letter, size) if size is None else size
            for letter, size in zip(rest, output[-len(rest) :], strict=True)
        ]
        return Spec((*shape[:batch], *tail), compute_dtype(config))
    known = dict(zip(inputs, shape, strict=True))
    given = [None] * (len(right) - len(output)) + output
    sizes = tuple(known.get(letter) if size is None else size for letter, size in zip(right, given, strict=True))
    return Spec(sizes, compute_dtype(config))


def _conv(rank: int, *, depthwise: bool = False) -> Rule:
    def rule(config: Config, specs: list[Spec], *_: object) -> Spec:
        shape = specs[0].shape
        if shape is None or len(shape) != rank + 2:
            return Spec(None, compute_dtype(config))
        kernel, strides = _many(config["kernel_size"], rank), _many(config.get("strides", 1), rank)
        dilation, padding = _many(config.get("dilation_rate", 1), rank), config.get("padding", "valid")
        depth = _depth(config, shape)
        if not depthwise:
            depth = config["filters"]
        elif isinstance(depth, int):
            depth *= config.get("depth_multiplier", 1)

        def change(axis: int, size: Size) -> Size:
            return stride_window(size, kernel[axis], strides[axis], padding, dilation[axis])

        return Spec(_spatial(config, shape, change, depth), compute_dtype(config))

    return rule


def _conv_transpose(rank: int) -> Rule:
    def rule(config: Config, specs: list[Spec], *_: object) -> Spec:
        shape = specs[0].shape
        if shape is None or len(shape) != rank + 2:
            return Spec(None, compute_dtype(config))
        kernel, strides = _many(config["kernel_size"], rank), _many(config.get("strides", 1), rank)
        dilation, padding = _many(config.get("dilation_rate", 1), rank), config.get("padding", "valid")
        extra = config.get("output_padding")
        extras = None if extra is None else _many(extra, rank)

        def change(axis: int, size: Size) -> Size:
            if not isinstance(size, int):
                return size if strides[axis] == 1 and padding == "same" and extras is None else None
            reach = (kernel[axis] - 1) * dilation[axis] + 1
            if extras is None:
                return size * strides[axis] + (max(reach - strides[axis], 0) if padding == "valid" else 0)
            pad = reach // 2 if padding == "same" else 0
            return (size - 1) * strides[axis] + reach - 2 * pad + extras[axis]

        return Spec(_spatial(config, shape, change, config["filters"]), compute_dtype(config))

    return rule


def _pool(rank: int) -> Rule:
    def rule(config: Config, specs: list[Spec], *_: object) -> Spec:
        shape = specs[0].shape
        if shape is None or len(shape) != rank + 2:
            return Spec(None, _cast(config, specs[0]))
        pool = _many(config.get("pool_size", 2), rank)
        strides = _many(pool if config.get("strides") is None else config["strides"], rank)
        padding = config.get("padding", "valid")
        sizes = _spatial(config, shape, lambda axis, size: stride_window(size, pool[axis], strides[axis], padding))
        return Spec(sizes, _cast(config, specs[0]))

    return rule


def _global_pool(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape = specs[0].shape
    if shape is None:
        return Spec(None, _cast(config, specs[0]))
    sizes = (shape[0], _depth(config, shape))
    if config.get("keepdims"):
        sizes = _spatial(config, shape, lambda *_: 1)
    return Spec(sizes, _cast(config, specs[0]))


def _adaptive_pool(rank: int) -> Rule:
    def rule(config: Config, specs: list[Spec], *_: object) -> Spec:
        shape, output = specs[0].shape, _many(config["output_size"], rank)
        sizes = None if shape is None else _spatial(config, shape, lambda axis, _: output[axis])
        return Spec(sizes, _cast(config, specs[0]))

    return rule


def _flatten(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape = specs[0].shape
    if shape is None:
        return Spec(None, _cast(config, specs[0]))
    return Spec((shape[0], shape[1] if len(shape) == 2 else product(shape[1:])), _cast(config, specs[0]))


def _reshape(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape, target = specs[0].shape, list(config["target_shape"])
    batch = None if shape is None else shape[0]
    if -1 in target:
        place = target.index(-1)
        target[place] = None if shape is None else size_left(shape[1:], target)
    return Spec((batch, *target), _cast(config, specs[0]))


def _permute(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape = specs[0].shape
    sizes = None if shape is None else (shape[0], *(shape[axis] for axis in config["dims"]))
    return Spec(sizes, _cast(config, specs[0]))


def _repeat_vector(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape = specs[0].shape
    return Spec(None if shape is None else (shape[0], config["n"], shape[1]), _cast(config, specs[0]))


def _resized(rank: int, key: str, change: Callable[[int, tuple[int, int]], int]) -> Rule:
    """Return a rule for layers that crop, pad or repeat along the spatial axes."""

    def rule(config: Config, specs: list[Spec], *_: object) -> Spec:
        shape = specs[0].shape
        if shape is None:
            return Spec(None, _cast(config, specs[0]))
        amounts = config[key]
        pairs = [tuple(amounts)] if rank == 1 and isinstance(amounts, list | tuple) else _pairs(amounts, rank)
        # One-dimensional layers have no data format.
        settings = config if rank > 1 else {}

        def resize(axis: int, size: Size) -> Size:
            neutral = pairs[axis] in ((0, 0), (1, 1)) and isinstance(size, int) is False and change(7, pairs[axis]) == 7
            return change(size, pairs[axis]) if isinstance(size, int) else size if neutral else None

        return Spec(_spatial(settings, shape, resize), _cast(config, specs[0]))

    return rule


def _embedding(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape = specs[0].shape
    return Spec(None if shape is None else (*shape, config["output_dim"]), compute_dtype(config))


def _merge(config: Config, specs: list[Spec], *_: object) -> Spec:
    shapes = [spec.shape for spec in specs]
    return Spec(broadcast(*shapes), _cast(config, specs[0]))


def _concatenate(config: Config, specs: list[Spec], *_: object) -> Spec:
    return Spec(concatenated([spec.shape for spec in specs], config.get("axis", -1)), _cast(config, specs[0]))


def _dot(config: Config, specs: list[Spec], *_: object) -> Spec:
    first, second = specs[0].shape, specs[1].shape
    if first is None or second is None:
        return Spec(None, _cast(config, specs[0]))
    axes = config["axes"]
    pair = (axes, axes) if isinstance(axes, int) else axes
    one = [size for axis, size in enumerate(first) if axis != pair[0] % len(first)]
    two = [size for axis, size in enumerate(second) if axis not in (0, pair[1] % len(second))]
    sizes = (*one, *two)
    return Spec((*sizes, 1) if len(sizes) == 1 else sizes, _cast(config, specs[0]))


def _recurrent(gates: int) -> Rule:
    """Return a rule for recurrent layers with a number of state tensors."""

    def rule(config: Config, specs: list[Spec], *_: object) -> list[Spec]:
        shape = specs[0].shape or (None, None, None)
        return _sequences(config, shape, [(config["units"],)] * gates)

    return rule


def _sequences(config: Config, shape: Shape, states: list[Shape], output: Shape | None = None) -> list[Spec]:
    dtype = compute_dtype(config)
    batch, time = (shape[1], shape[0]) if config.get("time_major") else (shape[0], shape[1])
    item = states[0] if output is None else output
    if config.get("return_sequences"):
        sizes = (time, batch, *item) if config.get("time_major") else (batch, time, *item)
    else:
        sizes = (batch, *item)
    result = [Spec(sizes, dtype)]
    if config.get("return_state"):
        result += [Spec((batch, *state), dtype) for state in states]
    return result


def _rnn(config: Config, specs: list[Spec], *_: object) -> list[Spec] | None:
    cells = [config["cell"]]
    if cells[0].get("class_name") == "StackedRNNCells":
        cells = cells[0]["config"]["cells"]
    counts = {"LSTMCell": 2, "GRUCell": 1, "SimpleRNNCell": 1}
    if any(cell.get("class_name") not in counts for cell in cells):
        return None
    states = [(cell["config"]["units"],) for cell in cells for _ in range(counts[cell["class_name"]])]
    return _sequences(config, specs[0].shape or (None, None, None), states, (cells[-1]["config"]["units"],))


def _conv_lstm(rank: int) -> Rule:
    def rule(config: Config, specs: list[Spec], *_: object) -> list[Spec]:
        shape = specs[0].shape or (None,) * (rank + 3)
        frame = _conv(rank)(config, [Spec((shape[0], *shape[2:]), "float32")], [], {})
        return _sequences(config, shape, [frame.shape[1:]] * 2)

    return rule


def _bidirectional(
    config: Config, specs: list[Spec], args: list[Argument], kwargs: Mapping[str, Argument]
) -> list[Spec] | None:
    layer = config["layer"]
    results = output_specs(layer["class_name"], layer["config"], args, kwargs)
    if results is None:
        return None
    first, states = results[0], results[1:]
    mode = config.get("merge_mode", "concat")
    if mode is None:
        return [first, first, *states, *states]
    if mode == "concat" and first.shape is not None:
        size = first.shape[-1]
        first = Spec((*first.shape[:-1], size * 2 if isinstance(size, int) else None), first.dtype)
    return [first, *states, *states]


def _time_distributed(config: Config, specs: list[Spec], *_: object) -> list[Spec] | None:
    layer, shape = config["layer"], specs[0].shape
    if shape is None:
        return None
    inner = output_specs(layer["class_name"], layer["config"], [Spec((shape[0], *shape[2:]), specs[0].dtype)])
    if inner is None or len(inner) != 1 or inner[0].shape is None:
        return None
    return [Spec((shape[0], shape[1], *inner[0].shape[1:]), inner[0].dtype)]


def _attention(config: Config, specs: list[Spec], args: list[Argument], kwargs: Mapping[str, Argument]) -> list[Spec]:
    query, value = specs[0].shape, specs[1].shape
    dtype = compute_dtype(config)
    sizes = None if query is None or value is None else (*query[:-1], value[-1])
    scores = None if query is None or value is None else (*query[:-1], value[-2])
    wanted = kwargs.get("return_attention_scores") or config.get("return_attention_scores")
    return [Spec(sizes, dtype), Spec(scores, dtype)] if wanted else [Spec(sizes, dtype)]


def _multi_head(config: Config, specs: list[Spec], args: list[Argument], kwargs: Mapping[str, Argument]) -> list[Spec]:
    query, value = specs[0].shape, specs[1].shape if len(specs) > 1 else None
    dtype, output = compute_dtype(config), config.get("output_shape")
    last = (
        output if isinstance(output, list | tuple) else [output] if output else [None if query is None else query[-1]]
    )
    result = [Spec(None if query is None else (*query[:-1], *last), dtype)]
    if kwargs.get("return_attention_scores"):
        known = query is not None and value is not None and len(query) == 3
        heads = config.get("num_heads", config.get("num_query_heads"))
        result.append(Spec((query[0], heads, query[1], value[1]) if known and query and value else None, dtype))
    return result


def _resizing(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape, dtype = specs[0].shape, compute_dtype(config)
    if shape is None:
        return Spec(None, dtype)
    size = (config["height"], config["width"])
    if _is_first(config):
        return Spec((*shape[:-2], *size), dtype)
    return Spec((*shape[:-3], *size, shape[-1]), dtype)


def _encoding(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape, dtype = specs[0].shape, compute_dtype(config)
    tokens = config.get("num_tokens")
    mode = config.get("output_mode", "multi_hot")
    if mode == "int" or shape is None:
        return Spec(shape, "int64" if mode == "int" else dtype)
    if mode == "one_hot":
        return Spec((*shape[:-1], tokens) if shape and shape[-1] == 1 else (*shape, tokens), dtype)
    return Spec((*shape[:-1], tokens) if len(shape) > 1 else (tokens,), dtype)


def _lookup(config: Config, specs: list[Spec], *_: object) -> Spec:
    mode = config.get("output_mode", "int")
    if mode != "int":
        return Spec(None, compute_dtype(config) if is_float(compute_dtype(config)) else "float32")
    text = config.get("invert") and config.get("vocabulary_dtype", "string") == "string"
    return Spec(specs[0].shape, "string" if text else "int64")


def _binning(config: Config, specs: list[Spec], *_: object) -> Spec:
    bins = config.get("num_bins") or len(config.get("bin_boundaries") or ()) + 1
    return _encoding({**config, "num_tokens": bins, "output_mode": config.get("output_mode", "int")}, specs)


def _text(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape = specs[0].shape
    if config.get("output_mode", "int") != "int" or shape is None:
        return Spec(None, "int64" if config.get("output_mode") == "int" else "float32")
    rows = shape[:-1] if shape[-1] == 1 and len(shape) > 1 else shape
    return Spec((*rows, config.get("output_sequence_length")), "int64")


def _input(config: Config, *_: object) -> Spec:
    shape = config.get("batch_shape", config.get("batch_input_shape"))
    return Spec(None if shape is None else tuple(shape), config.get("dtype") or "float32")


_POOLS = ("MaxPooling", "AveragePooling", "MaxPool", "AvgPool")
_GLOBAL = ("GlobalMaxPooling", "GlobalAveragePooling", "GlobalMaxPool", "GlobalAvgPool")
_NOISE = "Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D GaussianDropout GaussianNoise AlphaDropout"
_NORMALIZATIONS = """
    BatchNormalization BatchNormalizationV1 SyncBatchNormalization LayerNormalization LayerNormalizationV1 GroupNormalization
    UnitNormalization RMSNormalization Normalization Rescaling
"""
_IMAGES = """
    AutoContrast AugMix CutMix MixUp RandAugment RandomBrightness RandomColorDegeneration RandomColorJitter RandomContrast
    RandomErasing RandomElasticTransform RandomFlip RandomGaussianBlur RandomGrayscale RandomHue RandomInvert
    RandomPerspective RandomPosterization RandomRotation RandomSaturation RandomSharpness RandomShear RandomTranslation
    RandomZoom Equalization Solarization
"""

LAYERS: dict[str, Rule] = {
    "InputLayer": _input,
    "Dense": _dense,
    "EinsumDense": _einsum_dense,
    "Embedding": _embedding,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Permute": _permute,
    "RepeatVector": _repeat_vector,
    **dict.fromkeys(f"Activation Identity Masking ActivityRegularization {_NOISE}".split(), _same),
    **dict.fromkeys(("ReLU", "LeakyReLU", "PReLU", "ELU", "ThresholdedReLU", "Softmax"), _same_float),
    **dict.fromkeys(_NORMALIZATIONS.split(), _same_float),
    **dict.fromkeys(_IMAGES.split(), _same_float),
    **dict.fromkeys(("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"), _merge),
    "Concatenate": _concatenate,
    "Dot": _dot,
    "Attention": _attention,
    "AdditiveAttention": _attention,
    "MultiHeadAttention": _multi_head,
    "GroupQueryAttention": _multi_head,
    "GroupedQueryAttention": _multi_head,
    **dict.fromkeys(("LSTM", "CuDNNLSTM", "LSTMV1", "LSTMV2"), _recurrent(2)),
    **dict.fromkeys(("GRU", "SimpleRNN", "CuDNNGRU", "GRUV1", "GRUV2"), _recurrent(1)),
    "RNN": _rnn,
    "Bidirectional": _bidirectional,
    "TimeDistributed": _time_distributed,
    **{f"ConvLSTM{rank}D": _conv_lstm(rank) for rank in (1, 2, 3)},
    **{f"Conv{rank}D": _conv(rank) for rank in (1, 2, 3)},
    **{f"Convolution{rank}D": _conv(rank) for rank in (1, 2, 3)},
    **{f"SeparableConv{rank}D": _conv(rank) for rank in (1, 2)},
    **{f"DepthwiseConv{rank}D": _conv(rank, depthwise=True) for rank in (1, 2)},
    **{f"LocallyConnected{rank}D": _conv(rank) for rank in (1, 2)},
    **{f"Conv{rank}DTranspose": _conv_transpose(rank) for rank in (1, 2, 3)},
    **{f"{name}{rank}D": _pool(rank) for name in _POOLS for rank in (1, 2, 3)},
    **{f"{name}{rank}D": _global_pool for name in _GLOBAL for rank in (1, 2, 3)},
    **{f"Adaptive{name}Pooling{rank}D": _adaptive_pool(rank) for name in ("Max", "Average") for rank in (1, 2, 3)},
    **{f"Cropping{rank}D": _resized(rank, "cropping", lambda size, pair: size - sum(pair)) for rank in (1, 2, 3)},
    **{f"ZeroPadding{rank}D": _resized(rank, "padding", lambda size, pair: size + sum(pair)) for rank in (1, 2, 3)},
    **{f"UpSampling{rank}D": _resized(rank, "size", lambda size, pair: size * pair[0]) for rank in (1, 2, 3)},
    "Resizing": _resizing,
    "CenterCrop": _resizing,
    "RandomCrop": _resizing,
    "CategoryEncoding": _encoding,
    "Discretization": _binning,
    "Hashing": _binning,
    "StringLookup": _lookup,
    "IntegerLookup": _lookup,
    "TextVectorization": _text,
}


def _wrapper(
    config: Config, specs: list[Spec], args: list[Argument], kwargs: Mapping[str, Argument]
) -> list[Spec] | None:
    return output_specs(config["layer"]["class_name"], config["layer"]["config"], args, kwargs)


LAYERS["SpectralNormalization"] = LAYERS["Wrapper"] = _wrapper
