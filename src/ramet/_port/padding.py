"""Find out whether what a layer computes at masked positions has an effect on the outputs of a model."""

from __future__ import annotations

from collections.abc import Iterable

from ramet._port.draft import Argument, Call, Layer, Tensor
from ramet._port.masks import ATTENTION, RECURRENT, Follower, Mask, attention_arguments, flat_masks, is_operation

# Layers and operations that compute each position of a sequence by itself, from the same position of their inputs.
_BY_POSITION = frozenset(
    """
    Activation ActivityRegularization Add AlphaDropout Average BatchNormalization Dense Dropout ELU GaussianDropout
    GaussianNoise Identity LayerNormalization LeakyReLU Maximum Minimum Multiply PReLU ReLU Rescaling SpatialDropout1D Subtract
    UnitNormalization
    """.split()  # noqa: SIM905  # a list of quoted names would be several times as long
)
_OPERATIONS_BY_POSITION = frozenset(
    """
    Abs Absolute Add Cast Ceil Clip Copy Divide Elu Erf Exp Expm1 Floor Gelu LeakyRelu Log Log1p Maximum Minimum Multiply
    Negative Power Reciprocal Relu Relu6 Round Rsqrt Selu Sigmoid Sign Silu Softplus Softsign Sqrt Square StopGradient
    Subtract Tanh
    """.split()  # noqa: SIM905
)


def padding_reaches_output(
    calls: list[tuple[Layer, int, Call]], outputs: Iterable[Tensor], start: Tensor, mask: Mask, follower: Follower
) -> bool:
    """Return whether the masked positions of a tensor can have an effect on the outputs of a model.

    Args:
        calls: All calls of the model with their layers and numbers, in the order in which they run.
        outputs: The outputs of the model.
        start: A tensor, whose second axis is that of the mask.
        mask: The mask: positions that it removes are the ones in question.
        follower: The masks that the layers of the model use.
    """
    reached = {start}
    for layer, number, call in calls:
        if not reached.isdisjoint(call.tensors()):
            effect = _effect(layer, call, mask, follower, reached)
            if effect is None:
                return True
            if effect:
                reached.add(Tensor(layer.name, number))
    return not reached.isdisjoint(outputs)


def _effect(layer: Layer, call: Call, mask: Mask, follower: Follower, reached: set[Tensor]) -> bool | None:
    """Return true if masked positions have an effect on the same positions of the output, false if on none, None if on all."""
    name = layer.class_name
    if is_operation(layer):
        return True if name in _OPERATIONS_BY_POSITION else None
    if name == "MultiHeadAttention":
        given = attention_arguments(call)
        is_ignored = mask in (_mask_of(given.get("value"), follower), _mask_of(given.get("key"), follower))
        is_read = any(given.get(key) in reached for key in ("value", "key"))
        return None if is_read and not is_ignored else given.get("query") in reached
    used = flat_masks(follower.given(layer, call))
    if name in RECURRENT | {"Bidirectional", "GlobalAveragePooling1D"}:
        return False if used[:1] == [mask] else None
    if name in ATTENTION:
        return False if used[:2] == [mask, mask] else None
    inner = layer.config.get("layer")
    if name == "TimeDistributed" and isinstance(inner, Layer):
        name = inner.class_name
    last = layer.config.get("axis", -1)
    if name == "Concatenate":
        return True if last == -1 else None
    is_along_features = name not in ("BatchNormalization", "LayerNormalization") or last in (-1, [-1], 2, [2])
    return True if name in _BY_POSITION and is_along_features else None


def _mask_of(argument: Argument, follower: Follower) -> Mask | None:
    return follower.masks.get(argument) if isinstance(argument, Tensor) else None
