"""Facts about Keras' own layers that files do not contain: class names, the layers inside layers, names of variables.

A weights file numbers the variables of a layer and does not name them. For Keras' own classes, the names follow from the
class and its config; for all others, or if the count does not match, a variable is called by its number.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ramet._files.json_data import Json
from ramet._files.scanner.names import layer_classes, snake_case

_ATTENTION = {
    "_dropout_layer": "Dropout",
    "_softmax": "Softmax",
    **{
        f"{underscore}{role}_dense": "EinsumDense"
        for role in ("key", "output", "query", "value")
        for underscore in ("", "_")
    },
}
_WITHOUT_WEIGHTS = frozenset({"Dropout", "Softmax"})
# By class: the classes of the layers that it creates, by attribute.
_INNER_LAYERS: dict[str, dict[str, str]] = {
    **{f"ConvLSTM{rank}D": {"cell": "ConvLSTMCell"} for rank in (1, 2, 3)},
    **{name: {"cell": f"{name}Cell"} for name in ("GRU", "LSTM", "SimpleRNN")},
    **dict.fromkeys(("GroupQueryAttention", "GroupedQueryAttention", "MultiHeadAttention"), _ATTENTION),
}


def class_of_inner_layer(owner: str, attribute: str) -> str | None:
    """Return the class of the layer that one of Keras' own layers keeps in an attribute, or None if it is unknown."""
    return _INNER_LAYERS.get(owner, {}).get(attribute)


def class_inside(owner: str) -> str | None:
    """Return the class of the layers with weights that one of Keras' own layers creates, or None if it creates none."""
    return next((name for name in _INNER_LAYERS.get(owner, {}).values() if name not in _WITHOUT_WEIGHTS), None)


def class_of_group(group: str) -> str | None:
    """Return the class after which a weights file names an item of a list: Dense for `dense_3`; None for others."""
    names = _class_names()
    return names.get(group) or names.get(re.sub(r"_\d+$", "", group))


@functools.cache
def _class_names() -> dict[str, str]:
    return {snake_case(name): name for name in sorted(layer_classes() | {"Functional", "Sequential"})}


# Names of variables.

_Config: TypeAlias = Mapping[str, Json]
_Names: TypeAlias = Callable[[_Config], list[str]]

_NON_TRAINABLE = frozenset(
    """
    awq_scales count embeddings_scale embeddings_zero g_idx inputs_amax_history inputs_scale kernel_amax_history
    kernel_scale kernel_zero mean moving_mean moving_stddev moving_variance outputs_grad_amax_history
    outputs_grad_scale quantized_kernel renorm_mean renorm_stddev reverse_embeddings_scale reverse_embeddings_zero
    variance vector_u zero_point
    """.split()  # noqa: SIM905  # a list of quoted names would be six times as long
)
# Not trained once a layer is quantized, or has low-rank weights beside them.
_BASES = frozenset({"embeddings", "kernel", "reverse_embeddings"})
_FLOAT8 = [f"{value}_{kind}" for value in ("inputs", "kernel", "outputs_grad") for kind in ("scale", "amax_history")]
# By quantization mode: the variables that may follow the kernel and the bias, longest first.
_QUANTIZED: dict[str, list[list[str]]] = {
    "int8": [["kernel_scale"]],
    "int4": [["kernel_scale", "kernel_zero", "g_idx"], ["kernel_scale"]],
    "float8": [_FLOAT8],
}


def variable_names(class_name: str, config: _Config, keys: Sequence[str]) -> list[str]:
    """Return the names of a layer's own variables, one for each key in the file.

    Args:
        class_name: The class of the layer.
        config: Its config.
        keys: The keys in order: numbers, or names if the class saves by name.
    """
    if list(keys) != [str(number) for number in range(len(keys))]:
        return list(keys)
    rule = _RULES.get(class_name)
    # Often only the class of a layer inside a layer is known: then the count decides whether there is a bias.
    variants: list[_Config] = [config] if config else [{"bias_axes": "?"}, {"use_bias": False}]
    expected = [_candidates(class_name, rule(variant), config) for variant in variants] if rule else []
    fitting = [names for candidates in expected for names in candidates if len(names) == len(keys)]
    return fitting[0] if fitting else list(keys)


def is_trainable(name: str, config: _Config) -> bool:
    """Return whether a variable is trained if its layer, which has this config, is."""
    mode = _quantization(config.get("dtype"))
    if mode == "float8":
        # Keras trains the scales and histories, too, by a rule of its own.
        return True
    return name not in _NON_TRAINABLE and not (name in _BASES and (mode is not None or config.get("lora_rank")))


def _candidates(class_name: str, names: list[str], config: _Config) -> list[list[str]]:
    mode = _quantization(config.get("dtype"))
    if mode is None:
        return [names]
    if class_name in ("Embedding", "ReversibleEmbedding"):
        return [["embeddings", "embeddings_scale"], ["embeddings", "embeddings_scale", "embeddings_zero", "g_idx"]]
    return [names + more for more in _QUANTIZED.get(mode, [])]


def _quantization(dtype: Json) -> str | None:
    """Return the mode of a quantized dtype policy, such as "int8", or None for a plain one."""
    if isinstance(dtype, str):
        mode, _, source = dtype.partition("_from_")
        return mode if source else None
    config = dtype.get("config") if isinstance(dtype, dict) else None
    name = config.get("mode") if isinstance(config, dict) else None
    return name.partition("/")[0] if isinstance(name, str) else None


def _with_bias(*names: str) -> _Names:
    return lambda config: [*names, "bias"] if config.get("use_bias", True) else list(names)


def _scaled(config: _Config) -> list[str]:
    return [name for name, flag in (("gamma", "scale"), ("beta", "center")) if config.get(flag, True)]


def _batch_normalization(config: _Config) -> list[str]:
    more = ["moving_stddev", "renorm_mean", "renorm_stddev"] if config.get("renorm") else []
    return [*_scaled(config), "moving_mean", "moving_variance", *more]


def _spectral(config: _Config) -> list[str]:
    layer = config.get("layer")
    is_embedding = isinstance(layer, dict) and layer.get("class_name") == "Embedding"
    return ["embeddings" if is_embedding else "kernel", "vector_u"]


_RECURRENT = _with_bias("kernel", "recurrent_kernel")

_RULES: dict[str, _Names] = {
    "AdditiveAttention": lambda config: ["scale"] if config.get("use_scale", True) else [],
    "Attention": lambda config: (
        (["scale"] if config.get("use_scale") else [])
        + (["concat_score_weight"] if config.get("score_mode") == "concat" else [])
    ),
    "BatchNormalization": _batch_normalization,
    "ConvLSTMCell": _RECURRENT,
    "Dense": _with_bias("kernel"),
    "EinsumDense": lambda config: ["kernel"] if config.get("bias_axes") is None else ["kernel", "bias"],
    "Embedding": lambda _: ["embeddings"],
    "GRUCell": _RECURRENT,
    "GroupNormalization": _scaled,
    "LSTMCell": _RECURRENT,
    "LayerNormalization": lambda config: ["gamma"] if config.get("rms_scaling") else _scaled(config),
    "Normalization": lambda _: ["mean", "variance", "count"],
    "PReLU": lambda _: ["alpha"],
    "RMSNormalization": lambda _: ["scale"],
    "ReversibleEmbedding": lambda config: (
        ["embeddings"] if config.get("tie_weights", True) else ["embeddings", "reverse_embeddings"]
    ),
    "STFTSpectrogram": lambda _: ["real_kernel", "imag_kernel"],
    "SimpleRNNCell": _RECURRENT,
    "SpectralNormalization": _spectral,
    **{
        f"{kind}{rank}D{transposed}": _with_bias("kernel")
        for kind in ("Conv", "DepthwiseConv")
        for rank in (1, 2, 3)
        for transposed in ("", "Transpose")
    },
    **{f"SeparableConv{rank}D": _with_bias("depthwise_kernel", "pointwise_kernel") for rank in (1, 2)},
}
