"""Rules for operations on images: resizing, blocks, patches, flips and crops."""

from __future__ import annotations

from typing import Any

from ramet._port.shapes import Shape
from ramet._port.tf_ops_arrays import RUN_TIME, get_item, numbers
from ramet._port.tf_ops_base import (
    CORE,
    IMAGE,
    INTEGERS,
    LAYERS,
    Arguments,
    Builder,
    Constant,
    Expression,
    Operand,
    Untranslatable,
    check_count,
    check_outputs,
    is_symbolic,
)
from ramet._port.tf_ops_math import rule

_METHODS = ("bilinear", "nearest", "bicubic", "lanczos3", "lanczos5")
# The numbers of the methods before TensorFlow 2.
_OLD_METHODS = ("bilinear", "nearest", "bicubic", "area")


@rule("image.resize image.resize_images", "images! size! method preserve_aspect_ratio antialias")
def _resize_v2(b: Builder, a: Arguments) -> Operand:
    if a["preserve_aspect_ratio"]:
        raise Untranslatable("tf.image.resize with preserve_aspect_ratio=True has no counterpart in Keras 3")
    return resize(b, a["images"], a["size"], a["method"] or "bilinear", antialias=bool(a["antialias"]))


@rule(
    "compat.v1.image.resize compat.v1.image.resize_images", "images! size! method align_corners preserve_aspect_ratio"
)
def _resize_v1(b: Builder, a: Arguments) -> Operand:
    method = a["method"] or 0
    method = _OLD_METHODS[method] if isinstance(method, int) else method
    if a["preserve_aspect_ratio"] or method not in ("bilinear", "nearest"):
        raise Untranslatable(
            f"tf.compat.v1.image.resize with method={method!r} or a fixed aspect ratio is not supported"
        )
    return _resize_legacy(b, a, method)


@rule("image.resize_bilinear compat.v1.image.resize_bilinear", "images! size! align_corners half_pixel_centers")
def _resize_bilinear(b: Builder, a: Arguments) -> Operand:
    return _resize_legacy(b, a, "bilinear")


@rule(
    "image.resize_nearest_neighbor compat.v1.image.resize_nearest_neighbor",
    "images! size! align_corners half_pixel_centers",
)
def _resize_nearest(b: Builder, a: Arguments) -> Operand:
    return _resize_legacy(b, a, "nearest")


def resize(b: Builder, x: Operand, size: Any, method: str, *, antialias: bool = False, first: bool = False) -> Operand:
    """Return resized images; pixels have their centres at half positions, as in TensorFlow 2 and Keras 3."""
    if method not in _METHODS:
        raise Untranslatable(f"tf.image.resize with method={method!r} has no counterpart in Keras 3")
    sizes = b.sizes(x)
    rank = b.rank(x, "image.resize")
    if sizes is None or not isinstance(size, list | tuple) or len(size) != 2:
        raise Untranslatable("the target size of tf.image.resize is known only when the model runs")
    old = sizes[-2:] if first else sizes[rank - 3 : rank - 1]
    if list(size) == old:
        return x
    dtype = b.dtype(x)
    if method != "nearest" and dtype not in (None, "float32"):
        x = b.op("Cast", x, module=CORE, dtype="float32")
    data_format = "channels_first" if first else "channels_last"
    if not any(is_symbolic(item) for item in size):
        height_width = numbers(size, "the target size of tf.image.resize")
        return b.op(
            "Resize",
            x,
            module=IMAGE,
            size=height_width,
            interpolation=method,
            antialias=antialias,
            data_format=data_format,
        )
    factors = [_factor(new, item) for new, item in zip(size, old, strict=True)]
    if None in factors or rank != 4 or antialias:
        raise Untranslatable("the target size of tf.image.resize is known only when the model runs")
    if method == "nearest":
        for axis, factor in zip((2, 3) if first else (1, 2), factors, strict=True):
            x = b.op("Repeat", x, repeats=factor, axis=axis)
        return x
    settings = {"size": factors, "data_format": data_format, "interpolation": method, "dtype": "float32"}
    # On JAX, a layer that changes nothing returns the tensor as it is, with its mask.
    return b.op("UpSampling2D", b.op("Copy", x), module=LAYERS, **settings)


def _factor(new: Any, old: Any) -> int | None:
    """Return how many times as large a size becomes, if that is known."""
    if new == old:
        return 1
    if isinstance(new, Expression) and new.function == "multiply" and new.operands[0] == old:
        return new.operands[1] if isinstance(new.operands[1], int) else None
    return new // old if isinstance(new, int) and isinstance(old, int) and new % old == 0 else None


@rule("keras.backend.resize_images", "x! height_factor! width_factor! data_format interpolation")
def _resize_images(b: Builder, a: Arguments) -> Operand:
    first = a["data_format"] == "channels_first"
    sizes = b.sizes(a["x"])
    if sizes is None:
        raise Untranslatable("the rank of the input of keras.backend.resize_images is unknown")
    height, width = sizes[2:4] if first else sizes[1:3]
    size = [height * a["height_factor"], width * a["width_factor"]]
    return resize(b, a["x"], size, a["interpolation"] or "nearest", first=first)


def _resize_legacy(b: Builder, a: Arguments, method: str) -> Operand:
    """Return images resized with the coordinates of TensorFlow 1: pixel 0 stays at 0, or both corners stay."""
    x, corners = a["images"], bool(a["align_corners"])
    if a.get("half_pixel_centers"):
        return resize(b, x, a["size"], method)
    rank, sizes = b.rank(x, "compat.v1.image.resize"), b.sizes(x)
    old = (sizes or [])[rank - 3 : rank - 1]
    if list(a["size"]) == old and a["function"] in ("image.resize", "image.resize_images"):
        return x
    new = numbers(a["size"], "the target size of tf.compat.v1.image.resize")
    if not all(isinstance(size, int) for size in old):
        raise Untranslatable("tf.compat.v1.image.resize of images of unknown size has no counterpart in Keras 3")
    if method == "nearest":
        for axis in (0, 1):
            indices, _, _ = _coordinates(old[axis], new[axis], corners=corners, nearest=True)
            x = b.op("Take", x, Constant(indices, "int32"), axis=rank - 3 + axis)
        return x
    if b.dtype(x) not in (None, "float32"):
        x = b.op("Cast", x, module=CORE, dtype="float32")
    for axis in (1, 0):  # TensorFlow interpolates along the width first
        lower, upper, weights = _coordinates(old[axis], new[axis], corners=corners)
        places = rank - 3 + axis
        one, two = (b.op("Take", x, Constant(indices, "int32"), axis=places) for indices in (lower, upper))
        column = [[[weight] for weight in weights]] if axis == 1 else [[[weight]] for weight in weights]
        x = b.op("Add", one, b.op("Multiply", b.op("Subtract", two, one), Constant(column, "float32")))
    return x


def _coordinates(
    old: int, new: int, *, corners: bool, nearest: bool = False
) -> tuple[list[int], list[int], list[float]]:
    """Return the positions on either side of each new pixel, and how far it is from the first one."""
    import numpy as np

    check_count(new)
    scale = (old - 1) / (new - 1) if corners and new > 1 else old / new
    places = np.arange(new, dtype="float32") * np.float32(scale)
    if nearest:
        # roundf rounds halves away from zero.
        chosen = np.floor(places + np.float32(0.5)) if corners else np.floor(places)
        return np.minimum(chosen, old - 1).astype(int).tolist(), [], []
    lower = np.floor(places)
    upper = np.minimum(lower + 1, old - 1)
    return lower.astype(int).tolist(), upper.astype(int).tolist(), (places - lower).astype("float32").tolist()


# Blocks.


def _image_sizes(b: Builder, a: Arguments) -> tuple[list[Any], bool]:
    data_format = a["data_format"] or "NHWC"
    sizes = b.sizes(a["x"])
    if sizes is None or len(sizes) != 4 or data_format not in ("NHWC", "NCHW"):
        raise Untranslatable(f"tf.{a['function']} with data_format={data_format!r} is not supported")
    first = data_format == "NCHW"
    return ([sizes[0], *sizes[2:], sizes[1]] if first else sizes), first


@rule("depth_to_space", "x!|input block_size! data_format")
def _depth_to_space(b: Builder, a: Arguments) -> Operand:
    (_, height, width, channels), first = _image_sizes(b, a)
    block, x = a["block_size"], a["x"]
    if is_symbolic(channels):
        raise Untranslatable("tf.nn.depth_to_space with an unknown number of channels is not supported")
    depth = channels // block**2
    if isinstance(height, int) and isinstance(width, int):
        if first:
            parts = b.op("Reshape", x, newshape=[-1, block, block, depth, height, width])
            moved = b.op("Transpose", parts, axes=[0, 3, 4, 1, 5, 2])
            return b.op("Reshape", moved, newshape=[-1, depth, height * block, width * block])
        parts = b.op("Reshape", x, newshape=[-1, height, width, block, block, depth])
        moved = b.op("Transpose", parts, axes=[0, 1, 3, 2, 4, 5])
        return b.op("Reshape", moved, newshape=[-1, height * block, width * block, depth])
    # Of unknown sizes, a reshape can have only one. Repeat each pixel, and let each copy pick its channels by position.
    rows, columns, last = (2, 3, 1) if first else (1, 2, 3)
    large = b.op("Repeat", b.op("Repeat", x, repeats=block, axis=rows), repeats=block, axis=columns)
    key = [slice(0, 1) if axis == last else slice(None) for axis in range(4)]
    ones = b.op("OnesLike", b.op("GetItem", large, key), dtype="int32")
    positions = [b.op("Mod", b.op("Subtract", b.op("Cumsum", ones, axis=axis), 1), block) for axis in (rows, columns)]
    check_count(depth)
    start = b.op("Multiply", b.op("Add", b.op("Multiply", positions[0], block), positions[1]), depth)
    offsets: Any = [[[index]] for index in range(depth)] if first else list(range(depth))
    return b.op("TakeAlongAxis", large, b.op("Add", start, Constant(offsets, "int32")), axis=last)


@rule("space_to_depth", "x!|input block_size! data_format")
def _space_to_depth(b: Builder, a: Arguments) -> Operand:
    _, first = _image_sizes(b, a)
    block = a["block_size"]
    check_outputs(block**2)
    parts = []
    for row in range(block):
        for column in range(block):
            key = [slice(None), slice(row, None, block), slice(column, None, block)]
            parts.append(b.op("GetItem", a["x"], [key[0], slice(None), *key[1:]] if first else key))
    return b.op("Concatenate", parts, axis=1 if first else -1)


@rule("image.extract_patches", "images! sizes! strides! rates! padding!")
def _extract_patches(b: Builder, a: Arguments) -> Operand:
    x, padding = a["images"], a["padding"].lower()
    size, strides, rates = (list(a[key][1:3]) for key in ("sizes", "strides", "rates"))
    if rates[0] != rates[1] or (rates[0] > 1 and max(strides) > 1):
        raise Untranslatable("tf.image.extract_patches with these rates has no counterpart in Keras 3")
    shape = b.shape(x) or ()
    if size == strides and rates == [1, 1] and len(shape) == 4 and all(isinstance(item, int) for item in shape[1:]):
        counts = [shape[axis + 1] // size[axis] for axis in (0, 1)]
        whole = [counts[axis] * size[axis] for axis in (0, 1)]
        if padding == "valid" or whole == list(shape[1:3]):
            return _tiles(b, x, counts, size, shape)
    if b.dtype(x) in INTEGERS:
        raise Untranslatable("tf.image.extract_patches of integers is not supported")
    # Before version 3.14, Keras fails if the strides are given.
    settings = {"strides": None if size == strides else strides, "dilation_rate": rates[0], "padding": padding}
    return b.op("ExtractPatches", x, module=IMAGE, size=size, data_format="channels_last", **settings)


def _tiles(b: Builder, x: Operand, counts: list[int], size: list[int], shape: Shape) -> Operand:
    """Return patches that do not overlap. `ExtractPatches` is a convolution, with the precision of one."""
    height, width = (counts[axis] * size[axis] for axis in (0, 1))
    if (height, width) != shape[1:3]:
        x = b.op("GetItem", x, [slice(None), slice(height), slice(width)])
    parts = b.op("Reshape", x, newshape=[-1, counts[0], size[0], counts[1], size[1], shape[3]])
    moved = b.op("Transpose", parts, axes=[0, 1, 3, 2, 4, 5])
    return b.op("Reshape", moved, newshape=[-1, *counts, size[0] * size[1] * shape[3]])


# Flips, crops and colours.


@rule("image.flip_left_right image.flip_up_down", "image!")
def _flip(b: Builder, a: Arguments) -> Operand:
    return b.op("Flip", a["image"], axis=-2 if a["function"] == "image.flip_left_right" else -3)


@rule("image.transpose", "image!")
def _transpose(b: Builder, a: Arguments) -> Operand:
    return b.op("Swapaxes", a["image"], axis1=-3, axis2=-2)


@rule("image.crop_to_bounding_box", "image! offset_height! offset_width! target_height! target_width!")
def _crop(b: Builder, a: Arguments) -> Operand:
    names = ("offset_height", "offset_width", "target_height", "target_width")
    top, left, height, width = numbers([a[name] for name in names], "the box of tf.image.crop_to_bounding_box")
    return get_item(b, a["image"], [..., slice(top, top + height), slice(left, left + width), slice(None)])


@rule("image.central_crop", "image! central_fraction!")
def _central_crop(b: Builder, a: Arguments) -> Operand:
    height, width = _static_size(b, a["image"], a["function"])
    fraction = a["central_fraction"]
    if not isinstance(fraction, int | float):
        raise Untranslatable(f"the fraction of tf.image.central_crop is {RUN_TIME}")
    top, left = (int((size - size * fraction) / 2) for size in (float(height), float(width)))
    return get_item(b, a["image"], [..., slice(top, height - top), slice(left, width - left), slice(None)])


@rule("image.resize_with_crop_or_pad image.resize_image_with_crop_or_pad", "image! target_height! target_width!")
def _crop_or_pad(b: Builder, a: Arguments) -> Operand:
    x, function = a["image"], a["function"]
    new = numbers([a["target_height"], a["target_width"]], f"the target size of tf.{function}")
    old = _static_size(b, x, function)
    if any(size > target for size, target in zip(old, new, strict=True)):
        tops = [max((size - target) // 2, 0) for size, target in zip(old, new, strict=True)]
        slices = [slice(top, top + min(target, size)) for top, target, size in zip(tops, new, old, strict=True)]
        x = get_item(b, x, [..., *slices, slice(None)])
    pairs = []
    for size, target in zip(old, new, strict=True):
        before = max((target - size) // 2, 0)
        pairs.append([before, max(target - size, 0) - before])
    return _pad_sides(b, x, pairs)


@rule("image.resize_with_pad", "image! target_height! target_width! method antialias")
def _resize_with_pad(b: Builder, a: Arguments) -> Operand:
    import numpy as np

    x, function = a["image"], a["function"]
    new = numbers([a["target_height"], a["target_width"]], f"the target size of tf.{function}")
    if 0 in new:
        raise Untranslatable(f"tf.{function} to a size of zero is not supported")
    old = np.array(_static_size(b, x, function), "float32")
    # With the precision of TensorFlow, as the results are rounded.
    fitting = old / (old / np.array(new, "float32")).max()
    before = np.maximum(np.floor((np.array(new, "float32") - fitting) / 2), 0).astype(int).tolist()
    inner = np.floor(fitting).astype(int).tolist()
    resized = resize(b, x, inner, a["method"] or "bilinear", antialias=bool(a["antialias"]))
    return _pad_sides(
        b, resized, [[one, target - size - one] for one, target, size in zip(before, new, inner, strict=True)]
    )


def _static_size(b: Builder, x: Operand, function: str) -> list[int]:
    """Return the height and the width of images, which must be known."""
    size = (b.shape(x) or ())[-3:-1]
    if len(size) != 2 or not all(isinstance(item, int) for item in size):
        raise Untranslatable(f"tf.{function} of images of unknown size is not supported")
    return list(size)


def _pad_sides(b: Builder, x: Operand, pairs: list[list[int]]) -> Operand:
    axes = b.rank(x, "pad")
    return b.op("Pad", x, pad_width=[[0, 0]] * (axes - 3) + pairs + [[0, 0]], mode="constant")


# The matrices by which TensorFlow multiplies the channels.
_COLOURS = {
    "rgb_to_yuv": [
        [0.299, -0.14714119, 0.61497538],
        [0.587, -0.28886916, -0.51496512],
        [0.114, 0.43601035, -0.10001026],
    ],
    "yuv_to_rgb": [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]],
    "rgb_to_yiq": [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]],
    "yiq_to_rgb": [[1.0, 1.0, 1.0], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]],
}


@rule(" ".join(f"image.{name}" for name in _COLOURS), "images!")
def _colours(b: Builder, a: Arguments) -> Operand:
    matrix = _COLOURS[a["function"].removeprefix("image.")]
    return b.op("Matmul", _of_floats(b, a["images"], a["function"]), Constant(matrix, "float32"))


@rule("image.rgb_to_grayscale", "images!")
def _grayscale(b: Builder, a: Arguments) -> Operand:
    if b.dtype(a["images"]) not in (None, "float32"):
        raise Untranslatable("tf.image.rgb_to_grayscale of integers is not supported")
    weighted = b.op("Multiply", a["images"], Constant([0.2989, 0.5870, 0.1140], "float32"))
    return b.op("Sum", weighted, axis=-1, keepdims=True)


@rule("image.grayscale_to_rgb", "images!")
def _colour(b: Builder, a: Arguments) -> Operand:
    return b.op("Repeat", a["images"], repeats=3, axis=-1)


@rule("image.rot90", "image! k")
def _rot90(b: Builder, a: Arguments) -> Operand:
    x, turns = a["image"], (1 if a["k"] is None else a["k"]) % 4
    if turns == 1:
        return b.op("Swapaxes", b.op("Flip", x, axis=-2), axis1=-3, axis2=-2)
    if turns == 2:
        return b.op("Flip", b.op("Flip", x, axis=-3), axis=-2)
    return b.op("Flip", b.op("Swapaxes", x, axis1=-3, axis2=-2), axis=-2) if turns else b.op("Copy", x)


@rule("image.pad_to_bounding_box", "image! offset_height! offset_width! target_height! target_width!")
def _pad_to_box(b: Builder, a: Arguments) -> Operand:
    names = ("offset_height", "offset_width", "target_height", "target_width")
    top, left, height, width = numbers([a[name] for name in names], "the box of tf.image.pad_to_bounding_box")
    shape = b.shape(a["image"]) or ()
    if len(shape) < 3 or not all(isinstance(size, int) for size in shape[-3:]):
        raise Untranslatable("tf.image.pad_to_bounding_box of images of unknown size is not supported")
    pairs = [[top, height - top - shape[-3]], [left, width - left - shape[-2]], [0, 0]]
    return b.op("Pad", a["image"], pad_width=[[0, 0]] * (len(shape) - 3) + pairs, mode="constant")


def _of_floats(b: Builder, value: Operand, function: str) -> Operand:
    if b.dtype(value) != "float32":
        raise Untranslatable(f"tf.{function} of integers is not supported")
    return value


@rule("image.adjust_brightness", "image! delta!")
def _brightness(b: Builder, a: Arguments) -> Operand:
    return b.op("Add", _of_floats(b, a["image"], a["function"]), a["delta"])


@rule("image.adjust_contrast", "images! contrast_factor!")
def _contrast(b: Builder, a: Arguments) -> Operand:
    x = _of_floats(b, a["images"], a["function"])
    mean = b.op("Mean", x, axis=[-3, -2], keepdims=True)
    return b.op("Add", b.op("Multiply", b.op("Subtract", x, mean), a["contrast_factor"]), mean)


@rule("image.adjust_gamma", "image! gamma gain")
def _gamma(b: Builder, a: Arguments) -> Operand:
    gamma, gain = (1 if a[key] is None else a[key] for key in ("gamma", "gain"))
    return b.op("Multiply", b.op("Power", _of_floats(b, a["image"], a["function"]), gamma), gain)


@rule("image.per_image_standardization", "image!")
def _standardize(b: Builder, a: Arguments) -> Operand:
    x, shape = a["image"], b.shape(a["image"])
    if shape is None or not all(isinstance(size, int) for size in shape[-3:]):
        raise Untranslatable("tf.image.per_image_standardization of images of unknown size is not supported")
    if b.dtype(x) != "float32":
        x = b.op("Cast", x, module=CORE, dtype="float32")
    pixels = shape[-3] * shape[-2] * shape[-1]
    mean, deviation = (b.op(name, x, axis=[-3, -2, -1], keepdims=True) for name in ("Mean", "Std"))
    return b.op("Divide", b.op("Subtract", x, mean), b.op("Maximum", deviation, pixels**-0.5))


@rule("image.convert_image_dtype", "image! dtype! saturate")
def _convert_dtype(b: Builder, a: Arguments) -> Operand:
    source, target = b.dtype(a["image"]), a["dtype"]
    if source == target:
        return a["image"]
    if source in ("uint8", "uint16") and target in ("float32", "float64"):
        scale = 1 / (255 if source == "uint8" else 65535)
        return b.op("Multiply", b.op("Cast", a["image"], module=CORE, dtype=target), scale)
    raise Untranslatable(f"tf.image.convert_image_dtype from {source} to {target} is not supported")


@rule("keras.backend.spatial_2d_padding", "x! padding data_format")
def _pad_image(b: Builder, a: Arguments) -> Operand:
    pairs = [list(pair) for pair in a["padding"] or [[1, 1], [1, 1]]]
    widths = [[0, 0], [0, 0], *pairs] if a["data_format"] == "channels_first" else [[0, 0], *pairs, [0, 0]]
    return b.op("Pad", a["x"], pad_width=widths, mode="constant")


@rule("keras.backend.temporal_padding", "x! padding")
def _pad_sequence(b: Builder, a: Arguments) -> Operand:
    return b.op("Pad", a["x"], pad_width=[[0, 0], list(a["padding"] or [1, 1]), [0, 0]], mode="constant")
