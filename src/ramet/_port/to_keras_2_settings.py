"""Translate the settings of layers from Keras 3 to tf_keras.

The rule: a setting that tf_keras does not have is dropped only if it has the default value of Keras 3, or no influence on
results. Otherwise it is translated, or the file is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ramet._files import Json, describe_json
from ramet._port.draft import Layer, Tensor
from ramet._port.notes import Notes
from ramet._port.releases import has_no_default, is_same, known_versions, release_of
from ramet._port.settings import hard_sigmoid
from ramet._port.to_keras_2_classes import COMMON, LAYERS, OBJECTS

_Config: TypeAlias = dict[str, Any]

KEEP = "keep the file for Keras 3, or change the setting in the original and save it again."
_OTHER_LAYER = "replace the layer in the original, or keep the file for Keras 3."

RESIZED_INTEGERS = (
    "Resizing of tf_keras returns floats for images of integers, and that of Keras 3 rounds",
    "convert the images to floats before, or keep the file for Keras 3.",
)
_POLICIES = frozenset({"DTypePolicy", "FloatDTypePolicy"})
_ROLES = {"initializer": "initializers", "regularizer": "regularizers", "constraint": "constraints"}
# Settings that change only how a result is computed, or the random numbers of training.
_WITHOUT_INFLUENCE = {
    "flash_attention": "it chooses an implementation",
    "seed": "it seeds random numbers, which are others in tf_keras",
    "use_cudnn": "it chooses an implementation",
}
_OTHER_NAMES = {"IdentityInitializer": "Identity", "OrthogonalInitializer": "Orthogonal"}
# Functions of Keras 3 that compute the same in tf_keras, by their name there.
_SAME = "elu exponential gelu linear mish relu selu sigmoid softmax softplus softsign tanh"
_ACTIVATIONS = {name: name for name in _SAME.split()} | {"silu": "swish", "swish": "swish"}
# Functions of Keras 3 that are layers in tf_keras.
_ACTIVATION_LAYERS: dict[str, tuple[str, _Config]] = {
    "leaky_relu": ("LeakyReLU", {"alpha": 0.2}),
    "relu6": ("ReLU", {"max_value": 6.0}),
}
# Layers that tf_keras accepts as activations.
_AS_ACTIVATION = frozenset({"ELU", "LeakyReLU", "ReLU", "Softmax"})


def translate_settings(layer: Layer, path: str, notes: Notes) -> None:
    """Translate the class and the settings of one layer in place; not those of the layers inside it."""
    if not is_keras_layer(layer):
        if not notes.allows(layer.class_name):
            fix = "pass the module that defines it for tf_keras with --import, or replace the layer in the original."
            notes.refuse(path, f"its class {layer.class_name!a} is not one of Keras", fix)
        layer.build_config = None
        return
    if layer.class_name not in LAYERS:
        reason = _REASONS.get(layer.class_name, f"{layer.class_name} does not exist in tf_keras")
        notes.refuse(path, reason, _OTHER_LAYER)
        return
    layer.registered_name = None
    special = _SPECIAL.get(layer.class_name)
    if special is not None:
        special(layer, path, notes)
    layer.build_config = None
    for key in list(layer.config):
        _translate_setting(layer, key, path, notes)


def is_keras_layer(layer: Layer) -> bool:
    """Return whether the class of a layer is one of Keras."""
    module = layer.module or ""
    return module.split(".")[0] == "keras" and layer.registered_name in (None, layer.class_name)


_REASONS = {
    "SpectralNormalization": "the state of SpectralNormalization is not translated to tf_keras",
    "Lambda": "its function cannot be translated to tf_keras",
    "RandomCrop": "outside training it resizes images in tf_keras, and passes them on in Keras 3",
}


def has_default(name: str, key: str, value: Json) -> bool:
    """Return whether a setting of a class of Keras 3 has its default, in the newest release that has the setting."""
    for version in reversed(known_versions()):
        found = release_of(version).find(name)
        if found is not None and key in found.settings:
            default = found.settings[key]
            return not has_no_default(default) and is_same(plain_value(value), default)
    return False


def _translate_setting(layer: Layer, key: str, path: str, notes: Notes) -> None:
    config = layer.config
    value = config[key]
    role = next((kind for word, kind in _ROLES.items() if key == word or key.endswith(f"_{word}")), None)
    if key == "dtype":
        config[key] = translate_dtype(value, path, notes)
    elif key not in COMMON and key not in LAYERS[layer.class_name]:
        _drop(layer, key, path, notes)
    elif role is not None:
        config[key] = translate_object(value, role, key, path, notes)
    elif key in ("activation", "recurrent_activation"):
        config[key] = translate_activation(value, key, path, notes)
    elif key == "seed" and isinstance(value, dict):
        seed = value.get("config", {}).get("seed") if isinstance(value.get("config"), dict) else None
        config[key] = seed
        notes.add("rewritten", path, f"its seed generator is now seed={seed!r}")
    else:
        config[key] = plain_value(value)


def _drop(layer: Layer, key: str, path: str, notes: Notes) -> None:
    """Drop a setting that tf_keras does not have, or refuse the file."""
    value = layer.config.pop(key)
    if value is None or has_default(f"keras.layers.{layer.class_name}", key, value):
        return
    if key == "data_format" and value == "channels_last":
        return
    if key in _WITHOUT_INFLUENCE:
        notes.add("dropped", path, f"{key}={shown(value)}: {_WITHOUT_INFLUENCE[key]}")
        return
    reason = f"tf_keras has no setting {key!a} for {layer.class_name}, and {shown(value)} is not its default"
    notes.refuse(path, reason, KEEP)


def shown(value: Json) -> str:
    """Return a setting as one would write it in Python, if it is short."""
    return repr(value) if not isinstance(value, dict | list) or len(repr(value)) < 40 else describe_json(value)


def plain_value(value: Json) -> Json:
    """Return the numbers of a serialized array, and anything else unchanged."""
    if isinstance(value, dict) and value.get("class_name") in ("__numpy__", "__tensor__", "__bool__"):
        config = value.get("config")
        return config.get("value") if isinstance(config, dict) else value.get("value")
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    return value


def translate_dtype(value: Json, path: str, notes: Notes) -> Json:
    """Return the name of a dtype policy, which is how tf_keras reads it."""
    if value is None or isinstance(value, str):
        return value
    config = value.get("config") if isinstance(value, dict) else None
    if isinstance(config, dict) and value.get("class_name") in _POLICIES and isinstance(config.get("name"), str):
        return config["name"]
    kind = value.get("class_name") if isinstance(value, dict) else describe_json(value)
    notes.refuse(path, f"tf_keras has no dtype policy {kind!a}", "use a plain dtype policy in the original.")
    return None


# Initializers, regularizers, constraints and activations.


def translate_object(value: Json, kind: str, key: str, path: str, notes: Notes) -> Json:
    """Return an initializer, regularizer or constraint as tf_keras writes it; `kind` is the name of its module."""
    if not isinstance(value, dict):
        return value
    name, config = value.get("class_name"), value.get("config")
    module = value.get("module")
    is_own = isinstance(module, str) and module.split(".")[0] == "keras"
    if not is_own or not isinstance(name, str) or not isinstance(config, dict):
        if not (isinstance(name, str) and notes.allows(name)):
            fix = "pass the module that defines it for tf_keras with --import, or use one of Keras' own."
            notes.refuse(path, f"its {key} {describe_json(name)} is not one of Keras", fix)
        return value
    full = f"keras.{kind}.{name}"
    name = _OTHER_NAMES.get(name, name)
    taken = OBJECTS[kind].get(name)
    if taken is None:
        notes.refuse(path, f"its {key} is {name}, which does not exist in tf_keras", KEEP)
        return value
    kept: _Config = {}
    for setting, item in config.items():
        if setting in taken:
            kept[setting] = _seed(item) if setting == "seed" else plain_value(item)
        elif item is not None and not has_default(full, setting, item):
            notes.refuse(path, f"tf_keras has no setting {setting!a} for its {key} {name}", KEEP)
    return {"module": f"keras.{kind}", "class_name": name, "config": kept, "registered_name": None}


def _seed(value: Json) -> Json:
    if isinstance(value, dict):
        config = value.get("config")
        return config.get("seed") if isinstance(config, dict) else None
    return value


def translate_activation(value: Json, key: str, path: str, notes: Notes) -> Json:
    """Return an activation as tf_keras writes it."""
    if value is None:
        return None
    name = value
    if isinstance(value, dict):
        inner = value.get("config")
        if _is_old_hard_sigmoid(value):
            notes.add("translated", path, f"{key}: Rescaling and ReLU are the 'hard_sigmoid' of tf_keras")
            return "hard_sigmoid"
        class_name = value.get("class_name")
        if isinstance(inner, dict) and class_name in _AS_ACTIVATION and str(value.get("module")).startswith("keras."):
            layer = Layer(str(inner.get("name", "activation")), class_name, value.get("module"), dict(inner))
            translate_settings(layer, f"{path}/{key}", notes)
            return {"class_name": class_name, "config": layer.config}
        name = inner if class_name == "function" else class_name
    if isinstance(name, str) and name in _ACTIVATIONS:
        return _ACTIVATIONS[name]
    if isinstance(name, str) and name in _ACTIVATION_LAYERS:
        class_name, config = _ACTIVATION_LAYERS[name]
        notes.add("translated", path, f"{key}='{name}' is now the layer {class_name}")
        return {"class_name": class_name, "config": {"name": name, **config}}
    shown = name if isinstance(name, str) else describe_json(name)
    if isinstance(name, str) and notes.allows(name):
        return name
    reason = f"its {key} {shown!a} does not exist in tf_keras"
    if name == "hard_sigmoid":
        reason = f"its {key} is 'hard_sigmoid', which is clip(x / 6 + 0.5) in Keras 3 and clip(0.2 x + 0.5) in tf_keras"
    fix = "use another activation in the original, or a layer Activation of its own, which can be translated."
    notes.refuse(path, reason, fix)
    return value


def _is_old_hard_sigmoid(value: _Config) -> bool:
    """Return whether an activation is what porting to Keras 3 makes of the hard sigmoid of Keras 2."""
    wanted, found = (_activation_layers(one) for one in (hard_sigmoid(), value))
    return wanted is not None and wanted == found


def _activation_layers(value: _Config) -> list[tuple[Json, Json]] | None:
    """Return class and numbers of the layers of a Sequential model, without its inputs; None for anything else."""
    config = value.get("config")
    if value.get("class_name") != "Sequential" or not isinstance(config, dict):
        return None
    layers = config.get("layers")
    found: list[tuple[Json, Json]] = []
    for layer in layers if isinstance(layers, list) else ():
        if not isinstance(layer, dict) or not isinstance(layer.get("config"), dict):
            return None
        if layer.get("class_name") == "InputLayer":
            continue
        numbers = {key: item for key, item in layer["config"].items() if key not in ("name", "dtype", "trainable")}
        defaults = {"negative_slope": 0.0, "threshold": 0.0} if layer.get("class_name") == "ReLU" else {}
        found.append((layer.get("class_name"), {key: plain_value(item) for key, item in (defaults | numbers).items()}))
    return found


def is_integer(dtype: Json) -> bool:
    """Return whether a dtype is one of integers or truth values."""
    return isinstance(dtype, str) and dtype.startswith(("int", "uint", "bool"))


# Classes with more than other names.


def _special_input(layer: Layer, path: str, notes: Notes) -> None:
    config = layer.config
    for key in ("optional", "ragged", "sparse"):
        if config.get(key) and key == "optional":
            notes.refuse(path, "optional inputs do not exist in tf_keras 2.15", "give the original an ordinary input.")
    kept = {key: config.get(key) for key in ("dtype", "name")}
    kept["dtype"] = translate_dtype(kept["dtype"], path, notes) or "float32"
    shape = config.get("batch_shape")
    layer.config = {"batch_input_shape": shape, **kept, "sparse": bool(config.get("sparse")), "ragged": False}
    if config.get("ragged"):
        notes.refuse(path, "ragged inputs are not translated", "give the original an ordinary input with a mask.")


def _special_leaky_relu(layer: Layer, path: str, notes: Notes) -> None:
    if "negative_slope" in layer.config:
        layer.config["alpha"] = layer.config.pop("negative_slope")


def _special_lookup(layer: Layer, path: str, notes: Notes) -> None:
    config = layer.config
    config.pop("vocabulary_size", None)
    if layer.class_name == "TextVectorization":
        config["dtype"] = "string"
    elif config.get("output_mode", "int") == "int":
        config["dtype"] = "int64"
    if config.get("vocabulary") is None:
        notes.refuse(
            path,
            "the file has no vocabulary for it",
            "save the original as .keras, after adapt(), or pass the vocabulary to the layer when it is created.",
        )
    elif config.get("output_mode") == "tf_idf" and config.get("idf_weights") is None:
        notes.refuse(
            path,
            "the weights of its tokens are not in its settings, and tf_keras keeps them there",
            "pass vocabulary= and idf_weights= to the layer when it is created, and save the original again.",
        )
    if layer.class_name == "TextVectorization":
        for key in ("standardize", "split"):
            if isinstance(config.get(key), dict):
                notes.refuse(path, f"its {key} is a function", "use one of Keras' own in the original.")


def _special_categorical(layer: Layer, path: str, notes: Notes) -> None:
    # Integers of Keras 3 have 32 bits, or 64 with TensorFlow; tf_keras decides itself.
    dtype = translate_dtype(layer.config.get("dtype"), path, notes)
    layer.config["dtype"] = dtype
    if isinstance(dtype, str) and dtype.startswith("int"):
        layer.config["dtype"] = "int64"


def _special_category_encoding(layer: Layer, path: str, notes: Notes) -> None:
    built = layer.build_config.get("input_shape") if isinstance(layer.build_config, dict) else None
    shape = next((shape for shape, _ in layer.specs.values() if shape is not None), built)
    if layer.config.get("output_mode") == "one_hot" and shape is not None and len(shape) > 1 and shape[-1] != 1:
        reason = "CategoryEncoding of tf_keras encodes one number per sample, and here there are several"
        notes.refuse(path, reason, "encode them with keras.ops.one_hot in the original.")


def _special_discretization(layer: Layer, path: str, notes: Notes) -> None:
    if layer.config.get("bin_boundaries") is not None and layer.config.get("num_bins") is not None:
        count = layer.config.pop("num_bins")
        notes.add("dropped", path, f"num_bins={count!r}, from which the boundaries of the bins were computed")


def _special_resizing(layer: Layer, path: str, notes: Notes) -> None:
    if any(is_integer(dtype) for _, dtype in layer.specs.values()):
        notes.refuse(path, *RESIZED_INTEGERS)


def _special_attention(layer: Layer, path: str, notes: Notes) -> None:
    """Add the shapes of the arguments of the first call, which tf_keras expects among the settings."""
    call = layer.calls[0] if layer.calls else None
    given = dict(zip(("query", "value", "key"), call.args, strict=False)) | call.kwargs if call is not None else {}
    for part, other in (("query", "query"), ("value", "value"), ("key", "value")):
        tensor = given.get(part) or given.get(other)
        shape = layer.specs[tensor][0] if isinstance(tensor, Tensor) and tensor in layer.specs else None
        layer.config[f"{part}_shape"] = list(shape) if shape is not None else None


def _special_einsum(layer: Layer, path: str, notes: Notes) -> None:
    shape = layer.config.get("output_shape")
    if isinstance(shape, int):
        layer.config["output_shape"] = [shape]


_SPECIAL: dict[str, Callable[[Layer, str, Notes], None]] = {
    "CategoryEncoding": _special_category_encoding,
    "Discretization": _special_discretization,
    "EinsumDense": _special_einsum,
    "HashedCrossing": _special_categorical,
    "Hashing": _special_categorical,
    "InputLayer": _special_input,
    "IntegerLookup": _special_lookup,
    "LeakyReLU": _special_leaky_relu,
    "MultiHeadAttention": _special_attention,
    "Resizing": _special_resizing,
    "StringLookup": _special_lookup,
    "TextVectorization": _special_lookup,
}
