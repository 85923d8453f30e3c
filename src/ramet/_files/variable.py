"""What the numbered variables of a layer are called.

A weights file counts the variables of a layer and does not name them. For Keras' own classes the names follow from class
and config; for all others, or where the count does not fit, a variable is called by its number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ramet._files.text import Json

__all__ = ["is_trainable", "variable_names"]

Config: TypeAlias = Mapping[str, Json]
_Names: TypeAlias = Callable[[Config], list[str]]

_NON_TRAINABLE = frozenset(
    {
        "awq_scales",
        "count",
        "embeddings_scale",
        "embeddings_zero",
        "g_idx",
        "inputs_amax_history",
        "inputs_scale",
        "kernel_amax_history",
        "kernel_scale",
        "kernel_zero",
        "mean",
        "moving_mean",
        "moving_stddev",
        "moving_variance",
        "outputs_grad_amax_history",
        "outputs_grad_scale",
        "quantized_kernel",
        "renorm_mean",
        "renorm_stddev",
        "reverse_embeddings_scale",
        "reverse_embeddings_zero",
        "variance",
        "vector_u",
        "zero_point",
    }
)
# Not trained once a layer is quantised, or has weights of low rank beside them.
_BASES = frozenset({"embeddings", "kernel", "reverse_embeddings"})
_FLOAT8 = [
    "inputs_scale",
    "inputs_amax_history",
    "kernel_scale",
    "kernel_amax_history",
    "outputs_grad_scale",
    "outputs_grad_amax_history",
]
# By quantisation mode: what may stand behind the kernel and the bias, longest first.
_QUANTIZED: dict[str, list[list[str]]] = {
    "int8": [["kernel_scale"]],
    "int4": [["kernel_scale", "kernel_zero", "g_idx"], ["kernel_scale"]],
    "float8": [_FLOAT8],
}


def variable_names(class_name: str, config: Config, keys: Sequence[str]) -> list[str]:
    """The names of a layer's own variables, one for each key under which the file has them.

    Args:
        class_name: of the layer.
        config: its settings.
        keys: in order; numbers, or names where the class saves by name.
    """
    if list(keys) != [str(number) for number in range(len(keys))]:
        return list(keys)
    rule = _RULES.get(class_name)
    # Of a layer inside a layer often nothing but the class is known: then the count decides whether there is a bias.
    variants: list[Config] = [config] if config else [{"bias_axes": "?"}, {"use_bias": False}]
    expected = [_candidates(class_name, rule(variant), config) for variant in variants] if rule else []
    fitting = [names for candidates in expected for names in candidates if len(names) == len(keys)]
    return fitting[0] if fitting else list(keys)


def is_trainable(name: str, config: Config) -> bool:
    """Whether a variable of a layer is trained where the layer is.

    Args:
        name: of the variable.
        config: the settings of the layer.
    """
    mode = _quantization(config.get("dtype"))
    if mode == "float8":
        # Keras trains its scales and histories too, by a rule of its own.
        return True
    return name not in _NON_TRAINABLE and not (name in _BASES and (mode is not None or config.get("lora_rank")))


def _candidates(class_name: str, names: list[str], config: Config) -> list[list[str]]:
    mode = _quantization(config.get("dtype"))
    if mode is None:
        return [names]
    if class_name in ("Embedding", "ReversibleEmbedding"):
        return [["embeddings", "embeddings_scale"], ["embeddings", "embeddings_scale", "embeddings_zero", "g_idx"]]
    return [names + more for more in _QUANTIZED.get(mode, [])]


def _quantization(dtype: Json) -> str | None:
    """The mode of a quantised dtype policy: "int8"; None for a plain one."""
    if isinstance(dtype, str):
        mode, _, source = dtype.partition("_from_")
        return mode if source else None
    config = dtype.get("config") if isinstance(dtype, dict) else None
    word = config.get("mode") if isinstance(config, dict) else None
    return word.partition("/")[0] if isinstance(word, str) else None


def _with_bias(*names: str) -> _Names:
    return lambda config: [*names, "bias"] if config.get("use_bias", True) else list(names)


def _always(*names: str) -> _Names:
    return lambda _: list(names)


def _scaled(*more: str) -> _Names:
    """Gamma and beta, each if it is wanted."""

    def names(config: Config) -> list[str]:
        found = [name for name, flag in (("gamma", "scale"), ("beta", "center")) if config.get(flag, True)]
        return found + list(more)

    return names


def _batch_normalization(config: Config) -> list[str]:
    more = ["moving_stddev", "renorm_mean", "renorm_stddev"] if config.get("renorm") else []
    return _scaled("moving_mean", "moving_variance", *more)(config)


def _attention(config: Config) -> list[str]:
    found = ["scale"] if config.get("use_scale") else []
    return [*found, "concat_score_weight"] if config.get("score_mode") == "concat" else found


def _einsum(config: Config) -> list[str]:
    return ["kernel", "bias"] if config.get("bias_axes") is not None else ["kernel"]


def _reversible_embedding(config: Config) -> list[str]:
    return ["embeddings"] if config.get("tie_weights", True) else ["embeddings", "reverse_embeddings"]


def _spectral(config: Config) -> list[str]:
    layer = config.get("layer")
    is_embedding = isinstance(layer, dict) and layer.get("class_name") == "Embedding"
    return ["embeddings" if is_embedding else "kernel", "vector_u"]


_RECURRENT = _with_bias("kernel", "recurrent_kernel")

_RULES: dict[str, _Names] = {
    "AdditiveAttention": lambda config: ["scale"] if config.get("use_scale", True) else [],
    "Attention": _attention,
    "BatchNormalization": _batch_normalization,
    "ConvLSTMCell": _RECURRENT,
    "Dense": _with_bias("kernel"),
    "EinsumDense": _einsum,
    "Embedding": _always("embeddings"),
    "GRUCell": _RECURRENT,
    "GroupNormalization": _scaled(),
    "LSTMCell": _RECURRENT,
    "LayerNormalization": lambda config: ["gamma"] if config.get("rms_scaling") else _scaled()(config),
    "Normalization": _always("mean", "variance", "count"),
    "PReLU": _always("alpha"),
    "RMSNormalization": _always("scale"),
    "ReversibleEmbedding": _reversible_embedding,
    "STFTSpectrogram": _always("real_kernel", "imag_kernel"),
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
