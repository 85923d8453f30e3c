"""Shapes and dtypes that follow from class and config: the output of the last layer stands nowhere in the file."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ramet._graph import Op, Shape, thaw

__all__ = ["infer_dtype", "infer_shape"]

_Config: TypeAlias = dict[str, Any]
_Rule: TypeAlias = Callable[[Sequence[Shape], _Config], Shape | None]


def infer_shape(op: Op, taken: Sequence[Shape | None]) -> Shape | None:
    """The shape of a layer's only output, given the shapes of what it takes; None where that does not follow."""
    rule = _RULES.get(op.class_name)
    known = [shape for shape in taken if shape is not None]
    if rule is None or op.config is None or not known or len(known) < len(taken):
        return None
    config = {str(key): thaw(item) for key, item in op.config.pairs}
    try:
        found = rule(known, config)
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError):  # a config may say anything
        return None
    return found if found is not None and all(map(_is_size, found)) else None


def infer_dtype(op: Op, taken: Sequence[str]) -> str | None:
    """The dtype of a layer's output: its policy's, for layers that compute; None where that does not follow."""
    policy = (op.dtype_policy or "").rpartition("_from_")[2].removeprefix("mixed_")
    if op.class_name not in _RULES or policy not in ("bfloat16", "float16", "float32", "float64"):
        return None
    if op.class_name in _COMPUTING or (taken and all("float" in dtype for dtype in taken)):
        return policy
    return taken[0] if taken and "float" not in taken[0] and taken[0] in _WHOLE else None


def _is_size(size: object) -> bool:
    return size is None or (type(size) is int and 0 <= size < 2**63)


def _same(shapes: Sequence[Shape], _: _Config) -> Shape:
    return shapes[0]


def _merged(shapes: Sequence[Shape], _: _Config) -> Shape | None:
    return shapes[0] if len(set(shapes)) == 1 else None


def _joined(shapes: Sequence[Shape], config: _Config) -> Shape | None:
    axis = config["axis"] % len(shapes[0])
    if len({(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}) > 1:
        return None
    sizes = [shape[axis] for shape in shapes]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    return (*shapes[0][:axis], total, *shapes[0][axis + 1 :])


def _last(key: str) -> _Rule:
    return lambda shapes, config: (*shapes[0][:-1], config[key])


def _recurrent(shapes: Sequence[Shape], config: _Config) -> Shape | None:
    if config["return_state"]:
        return None
    batch, time = shapes[0][:2]
    return (batch, time, config["units"]) if config["return_sequences"] else (batch, config["units"])


def _both_ways(shapes: Sequence[Shape], config: _Config) -> Shape | None:
    one = _recurrent(shapes, config["layer"]["config"])
    if one is None or one[-1] is None or config["merge_mode"] is None:
        return None
    return (*one[:-1], 2 * one[-1]) if config["merge_mode"] == "concat" else one


def _pooled(shapes: Sequence[Shape], config: _Config) -> Shape:
    """All places pooled into one: batch and channels remain."""
    shape, first = shapes[0], config.get("data_format") == "channels_first"
    channels = shape[1] if first else shape[-1]
    if not config.get("keepdims"):
        return (shape[0], channels)
    places = (1,) * (len(shape) - 2)
    return (shape[0], channels, *places) if first else (shape[0], *places, channels)


def _convolved(shapes: Sequence[Shape], config: _Config) -> Shape | None:
    shape, first = shapes[0], config["data_format"] == "channels_first"
    places = shape[2:] if first else shape[1:-1]
    settings = [config[key] for key in ("kernel_size", "strides", "dilation_rate")]
    if config["padding"] not in ("same", "valid") or any(len(setting) != len(places) for setting in settings):
        return None
    after = []
    for size, kernel, stride, dilation in zip(places, *settings, strict=True):
        reach = 0 if config["padding"] == "same" else dilation * (kernel - 1)
        after.append(None if size is None else math.ceil((size - reach) / stride))
    return (shape[0], config["filters"], *after) if first else (shape[0], *after, config["filters"])


def _flattened(shapes: Sequence[Shape], _: _Config) -> Shape:
    sizes = shapes[0][1:]
    total = None if None in sizes else math.prod(size for size in sizes if size is not None)
    return (shapes[0][0], total)


def _reshaped(shapes: Sequence[Shape], config: _Config) -> Shape | None:
    return (shapes[0][0], *config["target_shape"]) if -1 not in config["target_shape"] else None


def _attended(shapes: Sequence[Shape], config: _Config) -> Shape | None:
    single = config["output_shape"] is None and not config.get("return_attention_scores")
    return shapes[0] if single else None


_UNCHANGED = [
    "Activation",
    "ActivityRegularization",
    "AlphaDropout",
    "BatchNormalization",
    "Dropout",
    "ELU",
    "GaussianDropout",
    "GaussianNoise",
    "GroupNormalization",
    "Identity",
    "LayerNormalization",
    "LeakyReLU",
    "Masking",
    "PReLU",
    "RMSNormalization",
    "ReLU",
    "Rescaling",
    "Softmax",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
    "UnitNormalization",
]  # reads better than quoted names
_MERGING = ["Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract"]

_RULES: dict[str, _Rule] = {
    **dict.fromkeys(_UNCHANGED, _same),
    **dict.fromkeys(_MERGING, _merged),
    "Bidirectional": _both_ways,
    "Concatenate": _joined,
    "Conv1D": _convolved,
    "Conv2D": _convolved,
    "Conv3D": _convolved,
    "Dense": _last("units"),
    "Embedding": lambda shapes, config: (*shapes[0], config["output_dim"]),
    "Flatten": _flattened,
    "GRU": _recurrent,
    "LSTM": _recurrent,
    "MultiHeadAttention": _attended,
    "Reshape": _reshaped,
    "SimpleRNN": _recurrent,
    **{f"Global{kind}Pooling{rank}D": _pooled for kind in ("Average", "Max") for rank in (1, 2, 3)},
}

# What these make is computed in the dtype of their policy, whatever they take.
_COMPUTING = frozenset(
    [
        "BatchNormalization",
        "Bidirectional",
        "Conv1D",
        "Conv2D",
        "Conv3D",
        "Dense",
        "Embedding",
        "GRU",
        "LSTM",
        "LayerNormalization",
        "MultiHeadAttention",
        "SimpleRNN",
    ]
)
_WHOLE = frozenset(["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
