"""What the table of settings cannot tell about releases of Keras 3: changes of behavior, and errors in their loaders."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ramet._files import Json, walk_json
from ramet._port.notes import Notes

_Object: TypeAlias = dict[str, Json]

# Releases that write this name into their files find the class under its later name only.
_NOT_FOUND = "keras.initializers.IdentityInitializer"
# Classes with another name since a release, without an alias.
_RENAMED = (
    (_NOT_FOUND, "keras.initializers.Identity"),
    ("keras.initializers.OrthogonalInitializer", "keras.initializers.Orthogonal"),
)


def renamed_classes(name: str) -> list[str]:
    """Return the names of a class in releases in which it has another one."""
    return [pair[1 - pair.index(name)] for pair in _RENAMED if name in pair]


def is_loaded_as(name: str) -> bool:
    """Return whether a class can be loaded by the name with which `renamed_classes` lists it."""
    return name != _NOT_FOUND


@dataclass(frozen=True, slots=True)
class _Limit:
    """Something that releases before another one compute differently, or cannot compute or load.

    Attributes:
        classes: The full names of the classes.
        since: The first release that does it as all later ones do.
        applies: Returns whether it concerns a layer or model, from its JSON.
        reason: What older releases do, as a clause that follows "Keras before 3.7".
        is_change: Whether a file of an older release is different in a newer one, too.
        first: The first release that cannot do it.
    """

    classes: frozenset[str]
    since: str
    applies: Callable[[_Object], bool]
    reason: str
    is_change: bool = False
    first: str = "3.0"


def check_behavior(name: str, value: _Object, source: str, target: str, path: str, notes: Notes) -> None:
    """Refuse a layer or model that the target computes differently, or not at all."""
    for limit in _LIMITS:
        before, after = is_before(source, limit.since), is_before(target, limit.since)
        # Older releases have written layers as activations, too, although they could not load them.
        if name not in limit.classes or not (before != after if limit.is_change else after):
            continue
        if after and is_before(target, limit.first):
            continue
        if limit.applies(value):
            own = name.rpartition(".")[2]
            way = f"port for Keras {limit.since} or newer" if after else "use the release that wrote the file"
            notes.refuse(path, f"{own}: Keras before {limit.since} {limit.reason}", f"{way}, or change the layer.")
    for change in _TRAINING:
        if is_before(source, change.since) != is_before(target, change.since) and change.applies(name, value):
            notes.add("caution", path, f"in training, {change.what} in Keras {target}")
    for change in _ON_TORCH:
        if is_before(source, change.since) != is_before(target, change.since) and change.applies(name, value):
            notes.add(
                "caution", path, f"on torch, Keras {target} computes {change.what}; other backends compute the same"
            )


@dataclass(frozen=True, slots=True)
class _Change:
    """Something that is done in another way since a release in training, or on one backend.

    Attributes:
        since: The first release that does it as all later ones do.
        applies: Returns whether it concerns an object, from its full name and its JSON.
        what: What is different: "the steps of Muon are scaled otherwise", or for a backend "other values".
    """

    since: str
    applies: Callable[[str, _Object], bool]
    what: str


def _regularizes_outputs(name: str, value: _Object) -> bool:
    return name == "keras.layers.ActivityRegularization" or value["config"].get("activity_regularizer") is not None


_TRAINING = (
    # It is divided by the size of the batch since then.
    _Change("3.14", _regularizes_outputs, "the penalty of its outputs is scaled otherwise"),
    _Change("3.13", lambda name, _: name == "keras.optimizers.Muon", "the steps of Muon are scaled otherwise"),
)

# Metrics that count with integers since Keras 3.8.
_OVERLAPS = frozenset(f"keras.metrics.{name}" for name in ("BinaryIoU", "IoU", "MeanIoU", "OneHotIoU", "OneHotMeanIoU"))
_TRANSPOSED_NAME = re.compile(r"keras\.layers\.Conv[123]DTranspose")
_STRIDED_NAME = re.compile(r"keras\.layers\.((Depthwise|Separable)?Conv[123]D|(Average|Max)Pooling[123]D)")
_AVERAGE_NAME = re.compile(r"keras\.layers\.AveragePooling[123]D")


def _sizes_and_strides(value: _Object) -> list[tuple[int, int]]:
    """Return the size of the window and the stride for each axis of a layer with `padding="same"`; nothing for others."""
    config = value["config"]
    size = config.get("kernel_size", config.get("pool_size"))
    strides = config.get("strides") if config.get("strides") is not None else size
    if config.get("padding") != "same" or not isinstance(size, list) or not isinstance(strides, list):
        return []
    pairs = zip(size, strides, strict=False)
    return [pair for pair in pairs if type(pair[0]) is int and type(pair[1]) is int]


def _pads_transposed(name: str, value: _Object) -> bool:
    if _TRANSPOSED_NAME.fullmatch(name) is None:
        return False
    padding = value["config"].get("output_padding")
    if padding is not None:
        is_padded = any(padding) if isinstance(padding, list) else bool(padding)
        return is_padded and any(size > 1 for size, _ in _sizes_and_strides(value))
    return any(size > stride and (size - stride) % 2 for size, stride in _sizes_and_strides(value))


def _skips_inputs(name: str, value: _Object) -> bool:
    is_strided = _STRIDED_NAME.fullmatch(name) is not None
    return is_strided and any(stride > size for size, stride in _sizes_and_strides(value))


def _averages_edges(name: str, value: _Object) -> bool:
    return _AVERAGE_NAME.fullmatch(name) is not None and any(size > 1 for size, _ in _sizes_and_strides(value))


def _pads_images(name: str, value: _Object) -> bool:
    return name == "keras.layers.Resizing" and value["config"].get("pad_to_aspect_ratio") is True


# Measured: each release on torch, compared with the next one and with the other backends.
_ON_TORCH = (
    _Change("3.15", _pads_transposed, "other values with padding='same', or another shape"),
    _Change("3.15", lambda name, _: name == "keras.src.ops.numpy.Median", "the median of an even count otherwise"),
    _Change("3.15", _pads_images, "other values outside the image"),
    _Change("3.9", _skips_inputs, "other values where strides are larger than the window"),
    _Change("3.5", _averages_edges, "other averages at the edges, or another shape"),
)


def _layers(names: str) -> frozenset[str]:
    return frozenset(f"keras.layers.{name}" for name in names.split())


def _calls(value: _Object) -> list[_Object]:
    nodes = value.get("inbound_nodes")
    return [node for node in nodes if isinstance(node, dict)] if isinstance(nodes, list) else []


def _tensors(value: Json) -> list[_Object]:
    """Return shape, dtype and history of all tensors in an argument."""
    found = [item for item in walk_json(value) if _is_tensor(item) and isinstance(item.get("config"), dict)]
    return [item["config"] for item in found]


def _input_shapes(value: _Object) -> list[list[Any]]:
    """Return the shapes of the first arguments of a layer, or the one that it was built with."""
    found = [one.get("shape") for call in _calls(value) for one in _tensors(call.get("args"))[:1]]
    built = value.get("build_config")
    found += [built.get("input_shape")] if not found and isinstance(built, dict) else []
    return [shape for shape in found if isinstance(shape, list)]


def _masks(value: _Object) -> list[Json]:
    return [mask for call in _calls(value) if (mask := (call.get("kwargs") or {}).get("mask")) is not None]


def _masks_values(value: _Object) -> bool:
    return any(isinstance(mask, list) and len(mask) > 1 and mask[1] is not None for mask in _masks(value))


def _encodes_one_number(value: _Object) -> bool:
    return value["config"].get("output_mode") == "one_hot" and any(
        len(shape) > 1 and shape[-1] == 1 for shape in _input_shapes(value)
    )


def _takes_integers(value: _Object) -> bool:
    dtypes = [one.get("dtype") for call in _calls(value) for one in _tensors(call.get("args"))[:1]]
    return any(isinstance(dtype, str) and dtype.startswith(("int", "uint", "bool")) for dtype in dtypes)


# Layers of images that keep the dtype of integers.
KEEP_INTEGERS = frozenset(
    {"CenterCrop", "Cropping2D", "Identity", "InputLayer", "Resizing", "UpSampling2D", "ZeroPadding2D"}
)


def _resizes_integers(value: _Object) -> bool:
    """Return whether a Sequential model, which has no calls in its config, resizes images of integers."""
    layers = [layer for layer in value["config"].get("layers", ()) if isinstance(layer, dict)]
    given = layers[0].get("config") if layers and layers[0].get("class_name") == "InputLayer" else None
    dtype = given.get("dtype") if isinstance(given, dict) else None
    if not isinstance(dtype, str) or not dtype.startswith(("int", "uint", "bool")):
        return False
    kept = itertools.takewhile(lambda layer: layer.get("class_name") in KEEP_INTEGERS, layers)
    return any(layer["class_name"] == "Resizing" for layer in kept)


def _has_other_sizes(value: _Object) -> bool:
    """Return whether query and value of an attention layer have other sizes in their last axis."""
    for call in _calls(value):
        sizes = {one["shape"][-1] for one in _tensors([call.get("args"), call.get("kwargs")])[:2] if one.get("shape")}
        if len(sizes) > 1:
            return True
    return False


def _returns_scores(value: _Object) -> bool:
    return any((call.get("kwargs") or {}).get("return_attention_scores") for call in _calls(value))


def _has_unused_input(value: _Object) -> bool:
    """Return whether an input is used by no layer: the model ignores it, or returns it as it is."""
    layers = value["config"].get("layers", ())
    used = {
        tensor["keras_history"][0]
        for layer in layers
        for call in _calls(layer)
        for tensor in _tensors([call.get("args"), call.get("kwargs")])
        if isinstance(tensor.get("keras_history"), list) and tensor["keras_history"]
    }
    return any(layer.get("class_name") == "InputLayer" and layer.get("name") not in used for layer in layers)


def _has_layer_as_activation(value: _Object) -> bool:
    found = [value["config"].get(key) for key in ("activation", "recurrent_activation")]
    return any(isinstance(one, dict) and isinstance(one.get("config"), dict) for one in found)


def _is_model(value: Json) -> bool:
    config = value.get("config") if isinstance(value, dict) else None
    return isinstance(config, dict) and isinstance(config.get("layers"), list)


def _is_out_of_order(value: _Object) -> bool:
    """Return whether a layer is called again with what was computed from a layer after it."""
    done: Counter[str] = Counter()
    for layer in value["config"].get("layers", ()):
        for call in _calls(layer):
            for tensor in _tensors([call.get("args"), call.get("kwargs")]):
                history = tensor.get("keras_history")
                if isinstance(history, list) and len(history) == 3 and done[history[0]] <= history[1]:
                    return True
            done[str(layer.get("name"))] += 1
        done[str(layer.get("name"))] += not _calls(layer)
    return False


_ATTENTION = _layers("MultiHeadAttention")
_LIMITS = (
    _Limit(
        _layers("RandomCrop"),
        "3.6",
        lambda _: True,
        "crops outside training, and later releases resize",
        is_change=True,
    ),
    _Limit(
        _layers("RandomCrop"),
        "3.8",
        lambda _: True,
        "resizes or crops outside training, and later releases do not",
        is_change=True,
    ),
    _Limit(
        _layers("CategoryEncoding Discretization Hashing IntegerLookup StringLookup"),
        "3.4",
        _encodes_one_number,
        "adds an axis to the result where the last axis has one number",
        is_change=True,
    ),
    _Limit(
        _layers("Resizing"),
        "3.6",
        _takes_integers,
        "returns floats for images of integers, and later releases round",
        is_change=True,
    ),
    _Limit(
        frozenset({"keras.Sequential"}),
        "3.6",
        _resizes_integers,
        "returns floats for images of integers, and later releases round",
        is_change=True,
    ),
    _Limit(
        _layers("TimeDistributed"),
        "3.5",
        lambda value: _is_model(value["config"].get("layer")),
        "cannot apply a model to every step",
    ),
    _Limit(
        _ATTENTION,
        "3.7",
        lambda value: value["config"].get("output_shape") is not None,
        "cannot load it with an output_shape",
    ),
    _Limit(_ATTENTION, "3.7", _has_other_sizes, "requires the same last size of query and value"),
    _Limit(
        frozenset({"keras.src.models.functional.Functional"}),
        "3.7",
        _is_out_of_order,
        "cannot load a model in which a layer is called again after layers that read it",
    ),
    _Limit(
        _layers("RNN"),
        "3.10",
        lambda value: bool(_masks(value)) and "cells" in (value["config"].get("cell") or {}).get("config", {}),
        "cannot use a mask with several cells",
    ),
    _Limit(
        _layers(
            "Activation Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D Dense "
            "DepthwiseConv1D DepthwiseConv2D EinsumDense GRU GRUCell GroupedQueryAttention LSTM LSTMCell SeparableConv1D "
            "SeparableConv2D SimpleRNN SimpleRNNCell"
        ),
        "3.10",
        _has_layer_as_activation,
        "cannot load a layer as an activation",
    ),
    _Limit(
        frozenset({"keras.src.models.functional.Functional"}),
        "3.14",
        _has_unused_input,
        "cannot load a model with an input that no layer uses",
        first="3.10",
    ),
    _Limit(_layers("AdditiveAttention Attention"), "3.8", _returns_scores, "cannot return the scores in a model"),
    _Limit(_layers("Pipeline"), "3.7", lambda _: True, "cannot load it"),
    _Limit(frozenset(_RENAMED[0]), "3.2", lambda _: True, "cannot load it"),
    _Limit(_layers("RandomGrayscale"), "3.11", lambda _: True, "cannot load it in a model", first="3.10"),
    _Limit(
        _layers("IntegerLookup StringLookup TextVectorization"),
        "3.14",
        lambda value: value["config"].get("output_mode") == "tf_idf" and value["config"].get("vocabulary") is None,
        "cannot load a vocabulary with its weights from a file of its own",
    ),
    _Limit(frozenset({"keras.src.ops.nn.BatchNorm"}), "3.11", lambda _: True, "cannot compute it in a model"),
    _Limit(frozenset({"keras.src.ops.numpy.UnravelIndex"}), "3.11", lambda _: True, "cannot load it"),
    _Limit(
        _layers("AdditiveAttention Attention"), "3.12", _masks_values, "cannot compute it with a mask of the values"
    ),
)


_TRANSPOSED = _layers("Conv1DTranspose Conv2DTranspose Conv3DTranspose")


def _join_output_padding(config: _Object, target: str, path: str, notes: Notes) -> None:
    """Write the output padding of a transposed convolution as one number, which is not 0, as before Keras 3.11."""
    padding = config["output_padding"]
    values = {padding} if type(padding) is int else set(padding) if isinstance(padding, list) else set()
    windows = zip(_list(config.get("kernel_size")), _list(config.get("strides")), strict=False)
    if values == {0} and config.get("padding") == "valid" and all(size >= stride for size, stride in windows):
        config["output_padding"] = None
        notes.add("rewritten", path, "output_padding=None, which means 0 for these sizes")
    elif len(values) == 1 and values != {0}:
        config["output_padding"] = values.pop()
        notes.add("rewritten", path, "output_padding is one number")
    else:
        reason = f"Keras {target} needs the same output_padding for all axes, and not 0"
        notes.refuse(path, reason, "port for Keras 3.11 or newer, or change the layer.")


def _list(value: Json) -> list[Any]:
    return value if isinstance(value, list) else []


def adapt_to_loader(name: str, value: _Object, target: str, path: str, notes: Notes) -> None:
    """Rewrite what the loader of the target cannot read, although it has the class and its settings."""
    config: dict[str, Any] = value["config"]
    if name.startswith("keras.src.ops.image.") and is_before(target, "3.4") and config.get("data_format", "") is None:
        config["data_format"] = "channels_last"
        notes.add("rewritten", path, "data_format='channels_last', which None means")
    if name.startswith("keras.losses.") and is_before(target, "3.7"):
        _replace_reduction(name, config, target, path, notes)
    elif name == "keras.src.ops.math.Logsumexp" and is_before(target, "3.11") and type(config.get("axis")) is int:
        config["axis"] = [config["axis"]]
        notes.add("rewritten", path, "axis is a list")
    elif (
        name == "keras.src.ops.image.ExtractPatches" and is_before(target, "3.14") and config.get("strides") is not None
    ):
        if _pair(config["strides"]) == _pair(config.get("size")):
            config["strides"] = None
            notes.add("rewritten", path, "strides=None, which means the size of the patches")
        else:
            reason = f"Keras {target} cannot load strides that are not the size of the patches"
            notes.refuse(path, reason, "port for Keras 3.14 or newer, or use keras.ops.conv.")
    elif name == "keras.src.ops.nn.RMSNorm" and is_before(target, "3.11") and config.get("scale") is None:
        config["scale"] = 1
        notes.add("rewritten", path, "scale=1, which None means")
    elif name == "keras.layers.Softmax" and is_before(target, "3.10") and _masks(value):
        notes.add("caution", path, f"where its mask removes everything, the result is zero, but not in Keras {target}")
    elif name in _TRANSPOSED and is_before(target, "3.11") and config.get("output_padding") is not None:
        _join_output_padding(config, target, path, notes)
    elif name == "keras.layers.Normalization" and is_before(target, "3.8"):
        _repeat_statistics(config, value.get("build_config"), target, path, notes)
    elif name == "keras.layers.Dot" and is_before(target, "3.4") and value.pop("build_config", None) is not None:
        notes.add("dropped", path, "the shapes of the inputs, which follow from the graph")
    elif name == "keras.layers.Bidirectional" and is_before(target, "3.3"):
        # Built on its own, the template of both directions expects weights in the file.
        built = [item for item in walk_json(config.get("layer")) if isinstance(item, dict) and "build_config" in item]
        for item in built:
            del item["build_config"]
        if built:
            notes.add("dropped", path, "the shapes of the inner layer, which follow from those of the outer one")
    elif name in _OVERLAPS and is_before(target, "3.8") and "int" in str(config.get("dtype")):
        notes.add("rewritten", path, f"dtype='float32' of {name.rpartition('.')[2]}, which counts with floats there")
        config["dtype"] = "float32"
    elif name == "keras.src.ops.numpy.GetItem" and is_before(target, "3.2"):
        for call in value.get("inbound_nodes") or ():
            keys = [item for item in walk_json(call) if isinstance(item, list) and any(map(_is_slice, item))]
            if any(len(key) > 1 and not any(map(_is_tensor, key)) for key in keys):
                reason = f"Keras {target} cannot load slices along more than one axis"
                notes.refuse(path, reason, "slice one axis after the other, or port for Keras 3.2 or newer.")


def _replace_reduction(name: str, config: _Object, target: str, path: str, notes: Notes) -> None:
    """Write the reduction of a loss as the target calls it."""
    if config.get("reduction") == "mean":
        config["reduction"] = "sum_over_batch_size"
        notes.add("rewritten", path, "reduction='sum_over_batch_size' is another name of 'mean'")
    elif config.get("reduction") == "mean_with_sample_weight":
        own = name.rpartition(".")[2]
        reason = f"{own} does not know reduction='mean_with_sample_weight' in Keras {target}"
        notes.refuse(path, reason, "use reduction='sum_over_batch_size', or port for Keras 3.7 or newer.")


def _pair(value: Json) -> Json:
    return value if isinstance(value, list) else [value, value]


def is_before(version: str, other: str) -> bool:
    """Return whether a release such as "3.8" is older than another one."""
    return [int(part) for part in version.split(".")] < [int(part) for part in other.split(".")]


def _repeat_statistics(config: _Object, build: Json, target: str, path: str, notes: Notes) -> None:
    """Write one mean for all features as a list: before Keras 3.8 it is not repeated."""
    axes = config.get("axis")
    shape = build.get("input_shape") if isinstance(build, dict) else None
    axes = axes if isinstance(axes, list) else [axes]
    for key in ("mean", "variance"):
        value = config.get(key)
        if not isinstance(value, int | float) or axes in ([None], []):
            continue
        sizes = [shape[axis] for axis in axes] if isinstance(shape, list) else [None]
        if not all(type(size) is int for size in sizes):
            notes.refuse(path, f"Keras {target} needs one {key} per feature", f"pass a list as {key}.")
            continue
        repeated: Json = value
        for size in reversed(sizes):
            repeated = [repeated] * size
        config[key] = repeated
        notes.add("rewritten", path, f"{key}={value} is repeated for each feature")


def _is_slice(value: Json) -> bool:
    return isinstance(value, dict) and value.get("class_name") == "__slice__"


def _is_tensor(value: Json) -> bool:
    return isinstance(value, dict) and value.get("class_name") == "__keras_tensor__"
