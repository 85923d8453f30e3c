"""Layers of class `TensorFlowOpLayer`, which TensorFlow 2.0 to 2.3 wrote: nodes of a TensorFlow graph.

The config has the node as `node_def`: a dict, JSON text, or a protocol buffer as text. `constants` holds the inputs that
are not tensors, by position. A node becomes a call of the TensorFlow function with the same meaning.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Mapping
from typing import Any

from ramet._port.draft import Argument, Call
from ramet._port.tf_ops_base import Untranslatable

_DTYPES = """
    FLOAT float32, DOUBLE float64, INT32 int32, UINT8 uint8, INT16 int16, INT8 int8, STRING string, COMPLEX64 complex64,
    INT64 int64, BOOL bool, QINT8 qint8, QUINT8 quint8, QINT32 qint32, BFLOAT16 bfloat16, QINT16 qint16, QUINT16 quint16,
    UINT16 uint16, COMPLEX128 complex128, HALF float16, RESOURCE resource, VARIANT variant, UINT32 uint32, UINT64 uint64
"""
# By the number of the dtype in the protocol buffer, from 1, and by its name in JSON.
_NUMBERED = [item.split() for item in _DTYPES.split(",")]
_NAMED = {f"DT_{old}": new for old, new in _NUMBERED}

# Nodes: name, function, parameters by input, then parameters by attribute. `*` takes all inputs that are left.
_NODES = """
    Abs abs x; Acos acos x; Acosh acosh x; Asin asin x; Asinh asinh x; Atan atan x; Atanh atanh x; Ceil ceil x; Cos cos x
    Cosh cosh x; Exp exp x; Expm1 expm1 x; Floor floor x; IsFinite is_finite x; IsInf is_inf x; IsNan is_nan x; Log log x
    Log1p log1p x; LogicalNot logical_not x; Neg negative x; Reciprocal reciprocal x; Inv reciprocal x; Rint rint x
    Round round x; Sign sign x; Sin sin x; Sinh sinh x; Sqrt sqrt x; Rsqrt rsqrt x; Square square x; Tan tan x
    Tanh tanh x; Erf erf x; Identity identity x; StopGradient stop_gradient x; PreventGradient stop_gradient x
    Elu elu x; Relu relu x; Relu6 relu6 x; Selu selu x; Sigmoid sigmoid x; Softplus softplus x; Softsign softsign x
    Softmax softmax x; LogSoftmax log_softmax x; LeakyRelu leaky_relu x alpha=alpha
    Add add x y; AddV2 add x y; Sub subtract x y; Mul multiply x y; RealDiv truediv x y; Div truncatediv x y
    FloorDiv floordiv x y; FloorMod floormod x y; TruncateDiv truncatediv x y; TruncateMod truncatemod x y; Pow pow x y; Maximum maximum x y; Minimum minimum x y
    Equal equal x y; NotEqual not_equal x y; Greater greater x y; GreaterEqual greater_equal x y; Less less x y
    LessEqual less_equal x y; LogicalAnd logical_and x y; LogicalOr logical_or x y; Atan2 atan2 x y
    SquaredDifference squared_difference x y; DivNoNan divide_no_nan x y; MulNoNan multiply_no_nan x y
    Xdivy xdivy x y; Xlogy xlogy x y; AddN add_n *inputs; BiasAdd bias_add x bias data_format=data_format
    Sum reduce_sum x axis keepdims=keep_dims; Mean reduce_mean x axis keepdims=keep_dims
    Max reduce_max x axis keepdims=keep_dims; Min reduce_min x axis keepdims=keep_dims
    Prod reduce_prod x axis keepdims=keep_dims; All reduce_all x axis keepdims=keep_dims
    Any reduce_any x axis keepdims=keep_dims; EuclideanNorm reduce_euclidean_norm x axis keepdims=keep_dims
    MatMul matmul a b transpose_a=transpose_a transpose_b=transpose_b
    BatchMatMul matmul a b adjoint_a=adj_x adjoint_b=adj_y; BatchMatMulV2 matmul a b adjoint_a=adj_x adjoint_b=adj_y
    BatchMatMulV3 matmul a b adjoint_a=adj_x adjoint_b=adj_y; Einsum einsum *inputs equation=equation
    MaxPool max_pool x ksize=ksize strides=strides padding=padding data_format=data_format
    AvgPool avg_pool x ksize=ksize strides=strides padding=padding data_format=data_format
    Conv2D conv2d x filters strides=strides padding=padding data_format=data_format dilations=dilations
    Conv3D conv3d x filters strides=strides padding=padding data_format=data_format dilations=dilations
    DepthwiseConv2dNative depthwise_conv2d x filters strides=strides padding=padding data_format=data_format dilations=dilations
    LRN lrn x depth_radius=depth_radius bias=bias alpha=alpha beta=beta
    ClipByValue clip_by_value x clip_value_min clip_value_max; Cast cast x dtype=DstT; Reshape reshape x shape
    Transpose transpose x perm; ExpandDims expand_dims x axis; Squeeze squeeze x axis=squeeze_dims; Tile tile x multiples
    Pack stack *values axis=axis; Unpack unstack x num=num axis=axis; ConcatV2 concat *values axis; Concat concat axis *values
    Split split axis x num_or_size_splits=num_split; SplitV split x num_or_size_splits axis
    Pad pad x paddings; PadV2 pad x paddings constant_values; MirrorPad pad x paddings mode=mode
    GatherV2 gather x indices axis batch_dims=batch_dims; Gather gather x indices; GatherNd gather_nd x indices; Slice slice x begin size
    StridedSlice strided_slice x begin end strides begin_mask=begin_mask end_mask=end_mask ellipsis_mask=ellipsis_mask new_axis_mask=new_axis_mask shrink_axis_mask=shrink_axis_mask
    ArgMax argmax x axis output_type=output_type; ArgMin argmin x axis output_type=output_type
    OneHot one_hot indices depth on_value off_value axis=axis dtype=T; TopKV2 top_k x k sorted=sorted
    InTopKV2 in_top_k predictions targets k; Cumsum cumsum x axis exclusive=exclusive reverse=reverse
    Cumprod cumprod x axis exclusive=exclusive reverse=reverse; ReverseV2 reverse x axis; Roll roll x shift axis
    Select compat.v1.where condition x y; SelectV2 where condition x y; BroadcastTo broadcast_to x shape
    ZerosLike zeros_like x; OnesLike ones_like x; Fill fill dims value; Range range start limit delta
    Shape shape x out_type=out_type; Size size x out_type=out_type; Rank rank x
    DepthToSpace depth_to_space x block_size=block_size data_format=data_format
    SpaceToDepth space_to_depth x block_size=block_size data_format=data_format
    ResizeBilinear image.resize_bilinear images size align_corners=align_corners half_pixel_centers=half_pixel_centers
    ResizeNearestNeighbor image.resize_nearest_neighbor images size align_corners=align_corners half_pixel_centers=half_pixel_centers
    MatrixBandPart band_part x num_lower num_upper; ExtractImagePatches image.extract_patches images sizes=ksizes strides=strides rates=rates padding=padding
"""
_TABLE = {
    words[0]: (words[1], [w for w in words[2:] if "=" not in w], dict(w.split("=") for w in words[2:] if "=" in w))
    for words in (item.split() for line in _NODES.splitlines() for item in line.split(";"))
    if words
}


def function_of_node(config: Mapping[str, Any], call: Call) -> tuple[str, dict[str, Argument]]:
    """Return the function of TensorFlow that a node stands for, and its arguments by name."""
    operation, attributes = _read_node(config.get("node_def"))
    if operation not in _TABLE:
        raise Untranslatable(f"the TensorFlow operation '{operation}' has no counterpart in Keras 3")
    function, parameters, settings = _TABLE[operation]
    inputs = list(call.args[0]) if call.args and isinstance(call.args[0], list | tuple) else list(call.args[:1])
    constants = config.get("constants") or {}
    for position in sorted(constants, key=int):
        inputs.insert(int(position), constants[position])
    arguments: dict[str, Argument] = {}
    for number, parameter in enumerate(parameters):
        if parameter.startswith("*"):
            left = len(parameters) - number - 1
            arguments[parameter[1:]] = inputs[number : len(inputs) - left]
            inputs = [*inputs[:number], None, *inputs[len(inputs) - left :]]
        elif number < len(inputs):
            arguments[parameter] = inputs[number]
    arguments |= {
        parameter: attributes[attribute] for parameter, attribute in settings.items() if attribute in attributes
    }
    return function, arguments


def _read_node(node: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(node, str):
        if not node.lstrip().startswith("{"):
            return _read_message(node)
        try:
            node = json.loads(node)
        except ValueError:
            node = None
    if not isinstance(node, Mapping) or not isinstance(node.get("op"), str):
        raise Untranslatable("the file does not describe the TensorFlow operation")
    attributes = node.get("attr") or {}
    return node["op"], {name: _attribute(value) for name, value in attributes.items()}


def _attribute(value: Any) -> Any:
    """Return an attribute from JSON, where integers are texts and texts are in base 64."""
    pair: tuple[Any, Any] = next(iter(value.items()), (None, None))
    kind, content = pair
    match kind:
        case "type":
            return _NAMED.get(str(content).removesuffix("_REF"), content)
        case "i":
            return int(content)
        case "f":
            return float(content)
        case "s":
            try:
                return base64.b64decode(content, validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                return content
        case "list":
            return [_attribute({key: item}) for key, items in content.items() for item in items]
    return content


def _read_message(text: str) -> tuple[str, dict[str, Any]]:
    from ramet._files import Limits
    from ramet._port.protobuf import FieldBudget, Message
    from ramet.errors import RametError

    try:
        node = Message(text.encode(), FieldBudget("a TensorFlow operation", Limits()))
        entries = {entry.text(1): entry.message(2) for entry in node.messages(5)}
        return node.text(2), {name: _value(value) for name, value in entries.items() if value is not None}
    except RametError as error:
        raise Untranslatable("the file does not describe the TensorFlow operation") from error


def _value(value: Any) -> Any:
    """Return an attribute from the message `AttrValue`."""
    if 1 in value:
        items = value.message(1)
        return list(items.texts(2)) + list(items.numbers(3))
    if 2 in value:
        return bytes(value.data(2)).decode(errors="replace")
    if 3 in value:
        return value.number(3)
    if 4 in value:
        return struct.unpack("<f", struct.pack("<I", value.number(4) & 0xFFFFFFFF))[0]
    if 5 in value:
        return bool(value.number(5))
    if 6 in value:
        number = value.number(6)
        return _NUMBERED[number - 1][1] if 0 < number <= len(_NUMBERED) else number
    return None
