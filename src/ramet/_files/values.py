"""The outputs of calls: shapes, dtypes and masks.

A file contains the shape of a tensor where the tensor is used, not where it is made. The output of the last layer is
nowhere, so it is inferred from class and config where possible.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ramet._files.serialized import parse_shape
from ramet._graph import Argument, Call, FrozenDict, FrozenList, MaskKind, Op, Ref, Shape, Value, map_leaves, refs, thaw
from ramet._report import escape
from ramet.errors import ModelFileError

# Shape and dtype of a tensor, as far as a config contains them.
KnownTensor: TypeAlias = tuple[Shape | None, str | None]

UNKNOWN_DTYPE = "unknown"
_BATCH_KEYS = ("batch_shape", "batch_input_shape")


def output_values(
    op: Op,
    call: str,
    arguments: tuple[Argument, ...],
    used: int,
    known: Mapping[Ref, KnownTensor],
    before: Mapping[str, Call],
) -> tuple[tuple[Value, ...], Argument]:
    """Return the outputs of a call, and how they are nested.

    Args:
        op: The op that is called.
        call: The id of the call.
        arguments: The arguments of the call.
        used: The number of its outputs that are used.
        known: What the config contains about tensors.
        before: The calls before this one, by id.
    """
    if op.kind == "input":
        return (_input_value(op),), 0
    inside = None
    if op.graph is not None and op.graph.calls:
        inside = [op.graph.value(ref) for ref in refs(op.graph.outputs)]
    count = max(used, 1) if inside is None else len(inside)
    if used > count:
        raise ModelFileError(
            f"Cannot read the model: output {used - 1} of '{escape(op.id)}' is used, but it has {count}.", path=op.id
        )
    inputs = [_value_at(ref, before) for ref in refs(arguments)]
    values = []
    for number in range(count):
        shape, dtype = known.get(Ref(call, number), (None, None))
        if count == 1:
            shape = _infer_shape(op, [value.shape for value in inputs]) if shape is None else shape
            dtype = _infer_dtype(op, [value.dtype for value in inputs]) if dtype is None else dtype
        if inside is not None:
            shape = inside[number].shape if shape is None else shape
            dtype = inside[number].dtype if dtype in (None, "", UNKNOWN_DTYPE) else dtype
        # The shape may stay None: the file need not contain that of an output that no call uses.
        values.append(Value(shape, dtype or UNKNOWN_DTYPE))
    if op.graph is None or inside is None:
        return tuple(values), 0 if count == 1 else FrozenList(tuple(range(count)))
    numbers = itertools.count()
    return tuple(values), map_leaves(op.graph.outputs, lambda leaf: next(numbers) if isinstance(leaf, Ref) else leaf)


def _value_at(ref: Ref, before: Mapping[str, Call]) -> Value:
    outputs = before[ref.call].outputs
    return outputs[ref.output] if ref.output < len(outputs) else Value(None, UNKNOWN_DTYPE)


def _input_value(op: Op) -> Value:
    config = op.config or FrozenDict()
    shape = next((parse_shape(thaw(config.get(key))) for key in _BATCH_KEYS if key in config), None)
    dtype = config.get("dtype")
    return Value(
        shape,
        dtype if isinstance(dtype, str) else UNKNOWN_DTYPE,
        sparse=config.get("sparse") is True,
        ragged=config.get("ragged") is True,
        optional=config.get("optional") is True,
        name=op.name,
    )


# Masks. An Embedding with `mask_zero` and a Masking layer make masks; Keras writes the operations that do into the model,
# and their results into the calls of later layers. Such a mask is implicit: it belongs to the value that the call takes.

_MaskKinds: TypeAlias = tuple[tuple[int | str, MaskKind], ...]


def mask_kinds(calls: Sequence[Call], ops: dict[str, Op]) -> dict[str, _MaskKinds]:
    """Return for each call with masks among its arguments by name whether each is implicit or explicit."""
    by_id = {call.id: call for call in calls}
    # The inputs of the masking layers before each call. Calls along a chain share one set, as there are few such layers.
    reached: dict[str, frozenset[Ref]] = {}
    found: dict[str, _MaskKinds] = {}
    for call in calls:
        op = ops[call.op]
        kinds: list[tuple[int | str, MaskKind]] = []
        for name, mask in call.kwargs.pairs if op.kind in ("layer", "model") else ():
            parts = list(refs(mask))
            if parts and isinstance(name, str) and (name == "mask" or name.endswith("_mask")):
                masked = call.kwargs.get(name.removesuffix("_mask")) if name != "mask" else None
                if masked is None:
                    masked = call.args[0] if call.args else None
                # Implicit: each part is made from the input of a masking layer before the value that the mask is for.
                sources = {_mask_source(ref, by_id, ops) for ref in parts} - {None}
                inputs: set[Ref | None] = set().union(*(reached[ref.call] for ref in refs(masked)))
                is_implicit = len(sources) >= len({ref.call for ref in parts}) and sources <= inputs
                kinds.append((name, "implicit" if is_implicit else "explicit"))
        if kinds:
            found[call.id] = tuple(kinds)
        masked = _masked_input(call, op)
        before = {reached[ref.call] for ref in call.refs()} if masked is None else {frozenset({masked})}
        reached[call.id] = before.pop() if len(before) == 1 else frozenset().union(*before)
    return found


def _masked_input(call: Call, op: Op) -> Ref | None:
    """Return the input of a call that makes a mask; None for all other calls."""
    makes_mask = op.class_name == "Masking" or (
        op.class_name == "Embedding" and op.config is not None and op.config.get("mask_zero") is True
    )
    return next(call.refs(), None) if makes_mask else None


def _mask_source(mask: Ref, by_id: dict[str, Call], ops: dict[str, Op]) -> Ref | None:
    """Return the value that a mask was made from, by `not_equal` and, for Masking, `any`; None for other masks."""
    call = by_id[mask.call]
    if ops[call.op].class_name == "Any":
        inner = next(call.refs(), None)
        if inner is None:
            return None
        call = by_id[inner.call]
    return next(call.refs(), None) if ops[call.op].class_name == "NotEqual" else None


# Shapes and dtypes that follow from class and config.

_Config: TypeAlias = dict[str, Any]
_Rule: TypeAlias = Callable[[Sequence[Shape], _Config], Shape | None]


def _infer_shape(op: Op, inputs: Sequence[Shape | None]) -> Shape | None:
    """Return the shape of a layer's only output, or None if it does not follow from the shapes of its inputs."""
    rule = _SHAPE_RULES.get(op.class_name)
    known = [shape for shape in inputs if shape is not None]
    if rule is None or op.config is None or not known or len(known) < len(inputs):
        return None
    try:
        found = rule(known, thaw(op.config))
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError):  # a config may contain anything
        return None
    return None if found is None else parse_shape([*found])


def _infer_dtype(op: Op, inputs: Sequence[str]) -> str | None:
    """Return the dtype of a layer's output: that of its policy, for layers that compute; None if it does not follow."""
    policy = (op.dtype_policy or "").rpartition("_from_")[2].removeprefix("mixed_")
    if op.class_name not in _SHAPE_RULES or policy not in ("bfloat16", "float16", "float32", "float64"):
        return None
    if op.class_name in _COMPUTING or (inputs and all("float" in dtype for dtype in inputs)):
        return policy
    return inputs[0] if inputs and inputs[0] in _INTEGERS else None


def _joined(shapes: Sequence[Shape], config: _Config) -> Shape | None:
    axis = config["axis"] % len(shapes[0])
    if len({(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}) > 1:
        return None
    sizes = [shape[axis] for shape in shapes]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    return (*shapes[0][:axis], total, *shapes[0][axis + 1 :])


def _recurrent(shapes: Sequence[Shape], config: _Config) -> Shape | None:
    if config["return_state"]:
        return None
    batch, time = shapes[0][:2]
    return (batch, time, config["units"]) if config["return_sequences"] else (batch, config["units"])


def _bidirectional(shapes: Sequence[Shape], config: _Config) -> Shape | None:
    one = _recurrent(shapes, config["layer"]["config"])
    if one is None or one[-1] is None or config["merge_mode"] is None:
        return None
    return (*one[:-1], 2 * one[-1]) if config["merge_mode"] == "concat" else one


def _pooled(shapes: Sequence[Shape], config: _Config) -> Shape:
    """Return the shape after global pooling: batch and channels remain."""
    shape, first = shapes[0], config.get("data_format") == "channels_first"
    channels = shape[1] if first else shape[-1]
    if not config.get("keepdims"):
        return (shape[0], channels)
    ones = (1,) * (len(shape) - 2)
    return (shape[0], channels, *ones) if first else (shape[0], *ones, channels)


def _convolved(shapes: Sequence[Shape], config: _Config) -> Shape | None:
    shape, first = shapes[0], config["data_format"] == "channels_first"
    sizes = shape[2:] if first else shape[1:-1]
    settings = [config[key] for key in ("kernel_size", "strides", "dilation_rate")]
    if config["padding"] not in ("same", "valid") or any(len(setting) != len(sizes) for setting in settings):
        return None
    after = []
    for size, kernel, stride, dilation in zip(sizes, *settings, strict=True):
        reach = 0 if config["padding"] == "same" else dilation * (kernel - 1)
        after.append(None if size is None else math.ceil((size - reach) / stride))
    return (shape[0], config["filters"], *after) if first else (shape[0], *after, config["filters"])


def _flattened(shapes: Sequence[Shape], _: _Config) -> Shape:
    sizes = shapes[0][1:]
    total = None if None in sizes else math.prod(size for size in sizes if size is not None)
    return (shapes[0][0], total)


def _attended(shapes: Sequence[Shape], config: _Config) -> Shape | None:
    single = config["output_shape"] is None and not config.get("return_attention_scores")
    return shapes[0] if single else None


_UNCHANGED = """
    Activation ActivityRegularization AlphaDropout BatchNormalization Dropout ELU GaussianDropout GaussianNoise
    GroupNormalization Identity LayerNormalization LeakyReLU Masking PReLU RMSNormalization ReLU Rescaling Softmax
    SpatialDropout1D SpatialDropout2D SpatialDropout3D UnitNormalization
""".split()  # noqa: SIM905  # a list of quoted names would be six times as long

_MERGING = ("Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract")

_SHAPE_RULES: dict[str, _Rule] = {
    **dict.fromkeys(_UNCHANGED, lambda shapes, _: shapes[0]),
    **dict.fromkeys(_MERGING, lambda shapes, _: shapes[0] if len(set(shapes)) == 1 else None),
    **dict.fromkeys(("Conv1D", "Conv2D", "Conv3D"), _convolved),
    **dict.fromkeys(("GRU", "LSTM", "SimpleRNN"), _recurrent),
    **{f"Global{kind}Pooling{rank}D": _pooled for kind in ("Average", "Max") for rank in (1, 2, 3)},
    "Bidirectional": _bidirectional,
    "Concatenate": _joined,
    "Dense": lambda shapes, config: (*shapes[0][:-1], config["units"]),
    "Embedding": lambda shapes, config: (*shapes[0], config["output_dim"]),
    "Flatten": _flattened,
    "MultiHeadAttention": _attended,
    # -1 is not a size.
    "Reshape": lambda shapes, config: (shapes[0][0], *config["target_shape"]),
}

# The outputs of these have the dtype of the policy, whatever the inputs are.
_COMPUTING = frozenset(
    """
    BatchNormalization Bidirectional Conv1D Conv2D Conv3D Dense Embedding GRU LSTM LayerNormalization
    MultiHeadAttention SimpleRNN
    """.split()  # noqa: SIM905  # a list of quoted names would be six times as long
)
_INTEGERS = frozenset(["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))])
