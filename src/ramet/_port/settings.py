"""Translate the settings of layers from Keras 1 and 2 to Keras 3.

The rule: a setting that Keras 3 does not have is dropped only if it has the default value of Keras 2, or no influence on
results. Otherwise it is translated, or the file is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from ramet._files import Json, describe_json
from ramet._port import keras_1
from ramet._port.draft import KERAS_PACKAGES, Layer
from ramet._port.notes import Notes
from ramet._port.settings_table import has_class, has_name, takes_setting

_Config: TypeAlias = dict[str, Any]

# Other names under which Keras 2 has written a class.
_ALIASES = {
    "AtrousConvolution1D": "Conv1D",
    "AtrousConvolution2D": "Conv2D",
    "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization",
    "Convolution1D": "Conv1D",
    "Convolution2D": "Conv2D",
    "Convolution3D": "Conv3D",
    "Convolution2DTranspose": "Conv2DTranspose",
    "Convolution3DTranspose": "Conv3DTranspose",
    "Deconvolution2D": "Conv2DTranspose",
    "Deconvolution3D": "Conv3DTranspose",
    "SeparableConvolution1D": "SeparableConv1D",
    "SeparableConvolution2D": "SeparableConv2D",
    **{
        f"{short}Pool{rank}D": f"{long}Pooling{rank}D"
        for short, long in (("Max", "Max"), ("Avg", "Average"))
        for rank in (1, 2, 3)
    },
    **{
        f"Global{short}Pool{rank}D": f"Global{long}Pooling{rank}D"
        for short, long in (("Max", "Max"), ("Avg", "Average"))
        for rank in (1, 2, 3)
    },
    "GRUV1": "GRU",
    "GRUV2": "GRU",
    "LSTMV1": "LSTM",
    "LSTMV2": "LSTM",
    "LayerNormalizationV1": "LayerNormalization",
    "TimeDistributedDense": "Dense",
}
_CUDNN = {"CuDNNGRU": "GRU", "CuDNNLSTM": "LSTM"}

# Settings that change only how a result is computed, or nothing at all once weights are loaded.
_WITHOUT_INFLUENCE = {
    "consume_less": "it chooses an implementation",
    "force_generator": "it chooses a random generator",
    "fused": "it chooses an implementation",
    "implementation": "it chooses an implementation",
    "input_length": "Keras 3 finds out the length itself",
    "jit_compile": "it chooses an implementation",
    "key_shape": "Keras 3 finds out the shapes itself",
    "query_shape": "Keras 3 finds out the shapes itself",
    "rng_type": "it chooses a random generator",
    "value_shape": "Keras 3 finds out the shapes itself",
    "has_input_vocabulary": "Keras 3 finds it out itself",
}
# Settings of Keras 2 that Keras 3 does not have, with their defaults. A setting that is None is not set.
_DEFAULTS: dict[str, tuple[Json, ...]] = {
    "causal": (False,),
    "dynamic": (False,),
    "groups": (1,),
    "optional": (False,),
    "ragged": (False,),
    "renorm": (False,),
    "renorm_momentum": (0.99,),
    "robust_masking": (False,),
    "softmax_robust_masking": (False,),
    "sparse": (False,),
    "time_major": (False,),
    "zero_output_for_mask": (False,),
    "dilation_rate": (1, [1], [1, 1], [1, 1, 1]),
    "kernel_initializer": ("glorot_uniform",),
    "bias_initializer": ("zeros",),
    "depthwise_initializer": ("glorot_uniform",),
    "data_format": ("channels_last",),
    "batch_size": (),
    "input_shape": (),
    "input_dim": (),
}
_COMMON = frozenset({"name", "trainable", "dtype"})
_ROLES = re.compile(r"(?:\w+_)?(initializer|regularizer|constraint)")
_POLICIES = frozenset({"Policy", "PolicyV1", "DTypePolicy"})

# The hard sigmoid of Keras 2 is clip(0.2 x + 0.5, 0, 1); that of Keras 3 is clip(x / 6 + 0.5, 0, 1).
_HARD_SIGMOID = "hard_sigmoid"


_HARD_SIGMOID_MODEL = "hard_sigmoid_of_keras_2"


def hard_sigmoid(policy: str = "float32") -> dict[str, Json]:
    """Return an activation that computes the hard sigmoid of Keras 2, as Keras 3 serializes it.

    Args:
        policy: The dtype policy of the layer around it. The layers inside do not inherit it.
    """
    dtype = {} if policy == "float32" else {"dtype": policy.removeprefix("mixed_")}
    layers = [
        _serialized("keras.layers", "Rescaling", {"name": "scale", "scale": 0.2, "offset": 0.5, **dtype}),
        _serialized("keras.layers", "ReLU", {"name": "clip", "max_value": 1.0, **dtype}),
    ]
    return _serialized("keras", "Sequential", {"name": _HARD_SIGMOID_MODEL, "layers": layers})


def is_hard_sigmoid(value: Json) -> bool:
    """Return whether a setting is the result of `hard_sigmoid`."""
    config = value.get("config") if isinstance(value, dict) else None
    return isinstance(config, dict) and config.get("name") == _HARD_SIGMOID_MODEL


def made_of_layers(key: str) -> str:
    """Return the note about a setting that is now the result of `hard_sigmoid`."""
    return f"{key}='hard_sigmoid', whose slope is 0.2 in Keras 2 and 1/6 in Keras 3, is now made of Rescaling and ReLU"


def _serialized(module: str, class_name: str, config: _Config) -> dict[str, Json]:
    return {"module": module, "class_name": class_name, "config": config, "registered_name": None}


def modernize(layer: Layer, path: str, notes: Notes, *, is_keras_1: bool) -> None:
    """Give a layer the class and the settings that the last version of Keras 2 would have written, in place."""
    if layer.is_of_keras:
        name = layer.class_name.rpartition(">")[2]
        if name != layer.class_name:
            layer.registered_name = layer.class_name
        layer.class_name = _ALIASES.get(name, name)
        _rename_settings(layer, path, notes)
    if is_keras_1 or layer.class_name == "Merge":
        keras_1.modernize(layer, path, notes)


def _rename_settings(layer: Layer, path: str, notes: Notes) -> None:
    """Give the preprocessing layers of TensorFlow 2.3 to 2.5 the settings that later releases have."""
    old, new = _EXPERIMENTAL.get(layer.class_name, ("", ""))
    if old not in layer.config or new in layer.config:
        return
    value = layer.config.pop(old)
    if old == "bins" and isinstance(value, list):
        value = [one for one in value if one != float("inf")]  # the last bin had an upper boundary then
    layer.config[new] = value
    notes.add("rewritten", path, f"{old} is now {new}")


_EXPERIMENTAL = {"CategoryEncoding": ("max_tokens", "num_tokens"), "Discretization": ("bins", "bin_boundaries")}


def translate_settings(layer: Layer, path: str, notes: Notes) -> None:
    """Translate the class and the settings of one layer from Keras 2 in place; not those of the layers inside it.

    Args:
        layer: A layer, after `modernize`.
        path: Its path, for notes.
        notes: Gets notes and refusals.
    """
    class_name = layer.class_name
    if class_name in _CUDNN:
        class_name = _cudnn(class_name, layer.config, path, notes)
    if class_name == "SyncBatchNormalization":
        class_name = "BatchNormalization"
        layer.config["synchronized"] = True
        notes.add("rewritten", path, "SyncBatchNormalization is now BatchNormalization(synchronized=True)")
    if class_name == "ThresholdedReLU":
        class_name = "ReLU"
        theta = plain_number(layer.config.pop("theta", 1.0))
        layer.config["threshold"] = theta
        notes.add("translated", path, f"ThresholdedReLU(theta={theta}) is now ReLU(threshold={theta})")
    if not layer.is_of_keras or not has_class(f"keras.layers.{class_name}"):
        if not (layer.is_of_keras and not notes.allows(class_name) and _translate_of_applications(layer)):
            _refuse_class(layer, path, notes)
        return
    layer.class_name, layer.module, layer.registered_name = class_name, "keras.layers", None
    # How a layer was built is found out again when it is called, and Keras 2 describes it differently.
    layer.build_config = None
    special = _SPECIAL.get(class_name)
    if special is not None:
        special(layer, path, notes)
    for key in list(layer.config):
        _translate_setting(layer, key, path, notes)


# Layers that only a model of `keras.applications` has: the module in Keras 3, and the settings by which they are recognized.
_OF_APPLICATIONS = {
    "CustomScaleLayer": ("keras.src.applications.inception_resnet_v2", {"scale"}),
    "LayerScale": ("keras.src.applications.convnext", {"init_values", "projection_dim"}),
    "StochasticDepth": ("keras.src.applications.convnext", {"drop_path_rate"}),
}


def _translate_of_applications(layer: Layer) -> bool:
    """Translate a layer of `keras.applications`; return false for any other."""
    module, settings = _OF_APPLICATIONS.get(layer.class_name, ("", set()))
    if layer.config.keys() - _COMMON - {"batch_input_shape"} != settings or not module:
        return False
    layer.module, layer.registered_name = module, layer.class_name
    layer.config = {key: value for key, value in layer.config.items() if key != "batch_input_shape"}
    layer.config["dtype"] = policy_name(layer.config.get("dtype"), "float32")
    layer.build_config = None
    return True


_NO_COUNTERPART = {
    "DenseFeatures": "feature columns do not exist in Keras 3",
    "LocallyConnected1D": "LocallyConnected1D does not exist in Keras 3",
    "LocallyConnected2D": "LocallyConnected2D does not exist in Keras 3",
    "Highway": "Highway does not exist since Keras 2",
    "MaxoutDense": "MaxoutDense does not exist since Keras 2",
    "RandomHeight": "RandomHeight does not exist in Keras 3",
    "RandomWidth": "RandomWidth does not exist in Keras 3",
}


def _refuse_class(layer: Layer, path: str, notes: Notes) -> None:
    reason = _NO_COUNTERPART.get(layer.class_name)
    if reason is not None:
        fix = "replace the layer in the original, or run the model with tf_keras."
        notes.refuse(path, reason, fix)
        return
    name = layer.class_name.rpartition(">")[2]
    registered = notes.registered(layer.registered_name or name)
    if registered is None:
        reason = f"its class {name!a} is not one of Keras 3"
        if has_class(f"keras.layers.{name}"):
            reason = f"its class {name!a} is the author's own, not the one of Keras"
        notes.refuse(path, reason, "pass the module that defines the class: --import my_layers.")
        return
    notes.add("rewritten", path, f"{name} is a class of your own; it gets its settings and weights as they are")
    # A class of the user: its settings are its own business.
    layer.config = {key: value for key, value in layer.config.items() if key != "batch_input_shape"}
    layer.config["dtype"] = policy_name(layer.config.get("dtype"), "float32")
    layer.registered_name = registered
    layer.class_name = name
    layer.build_config = None


def _cudnn(class_name: str, config: _Config, path: str, notes: Notes) -> str:
    config.update(activation="tanh", recurrent_activation="sigmoid", use_bias=True)
    if class_name == "CuDNNGRU":
        config["reset_after"] = True
    notes.add("translated", path, f"{class_name} is now {_CUDNN[class_name]}, with converted weights")
    return _CUDNN[class_name]


def _translate_setting(layer: Layer, key: str, path: str, notes: Notes) -> None:
    config, class_name = layer.config, layer.class_name
    value = config[key] = plain_number(config[key])
    if key == "batch_input_shape":
        del config[key]  # the input layer has it
        return
    if key in _COMMON:
        if key == "dtype" and class_name != "InputLayer":
            config[key] = policy_name(value, "float32")
        if key == "trainable" and not takes_setting(f"keras.layers.{class_name}", key):
            del config[key]  # a few layers without variables, such as SpatialDropout1D, do not take it
        return
    role = _ROLES.fullmatch(key)
    if key in _WITHOUT_INFLUENCE or not takes_setting(f"keras.layers.{class_name}", key):
        _drop(layer, key, path, notes)
    elif role is not None:
        config[key] = translate_object(value, f"{role[1]}s", path, notes)
    elif key in ("activation", "recurrent_activation"):
        policy = policy_name(config.get("dtype"), "float32")
        config[key] = translate_activation(value, key, policy, path, notes)
    elif key == "axis" and isinstance(value, list) and len(value) == 1:
        config[key] = value[0]


def _drop(layer: Layer, key: str, path: str, notes: Notes) -> None:
    """Drop a setting that Keras 3 does not have, or refuse the file."""
    value = layer.config.pop(key)
    if value is None:
        return
    if key in _WITHOUT_INFLUENCE:
        notes.add("dropped", path, f"{key}={_shown(value)}: {_WITHOUT_INFLUENCE[key]}")
        return
    if key in _DEFAULTS and (_default_form(value) in _DEFAULTS[key] or not _DEFAULTS[key]):
        notes.add("dropped", path, f"{key}={_shown(value)} is the default of Keras 2")
        return
    reason = f"Keras 3 has no setting {key!a} for {layer.class_name}, and {_shown(value)} is not its default"
    notes.refuse(path, reason, _FIXES.get(key, "change the setting in the original, or run the model with tf_keras."))


_FIXES = {
    "ragged": "give the original an ordinary input with padding and a mask, and save it again.",
    "time_major": "give the original inputs with the batch first, and save it again.",
    "groups": "replace the layer in the original, or run the model with tf_keras.",
}


def _default_form(value: Json) -> Json:
    """Return an initializer by its name, if it has no settings of its own."""
    if isinstance(value, dict) and isinstance(value.get("class_name"), str):
        return re.sub(r"(?<!^)(?=[A-Z])", "_", value["class_name"]).lower()
    return value


def _shown(value: Json) -> str:
    return repr(value) if not isinstance(value, dict | list) or len(repr(value)) < 40 else describe_json(value)


def plain_number(value: Json) -> Json:
    """Return the number in the way Keras 2 writes a NumPy array of no dimensions; anything else unchanged."""
    if isinstance(value, dict) and set(value) == {"type", "value"} and value["type"] == "ndarray":
        return value["value"]
    if isinstance(value, dict) and value.get("class_name") == "__numpy__" and isinstance(value.get("config"), dict):
        return value["config"].get("value")
    return value


def policy_name(dtype: Json, default: str) -> str:
    """Return the name of a dtype policy, which Keras 2 writes as text or as an object."""
    if isinstance(dtype, dict):
        config = dtype.get("config")
        dtype = config.get("name") if isinstance(config, dict) else config
    if not isinstance(dtype, str) or dtype in ("_infer", "infer"):
        return default
    return _DTYPE_NAMES.get(dtype, dtype)


# Other names that Keras 2 and TensorFlow accept.
_DTYPE_NAMES = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "infer_float32_vars": "float32",
    "infer_with_float32_vars": "float32",
}

# Initializers, regularizers, constraints and activations.

_KERAS_1_NAMES = {
    "uniform": "random_uniform",
    "normal": "random_normal",
    "zero": "zeros",
    "one": "ones",
    "maxnorm": "max_norm",
    "nonneg": "non_neg",
    "unitnorm": "unit_norm",
}


def translate_object(value: Json, role: str, path: str, notes: Notes) -> Json:
    """Return an initializer, regularizer or constraint as Keras 3 writes it; `role` is the name of its module."""
    if isinstance(value, str):
        value = _KERAS_1_NAMES.get(value, value)
        return value if has_name(role, value) else _unknown_object(value, role, path, notes)
    if not isinstance(value, dict):
        return value
    if role == "regularizers" and "class_name" not in value:
        # Keras 1: {"name": "WeightRegularizer", "l1": 0.0, "l2": 0.01}
        rates = {key: found if isinstance(found := value.get(key), int | float) else 0.0 for key in ("l1", "l2")}
        return _serialized("keras.regularizers", "L1L2", rates)
    if role == "constraints" and "class_name" not in value:
        config = {key: item for key, item in value.items() if key in ("m", "axis")}
        if "m" in config:
            config["max_value"] = config.pop("m")
        return _serialized("keras.constraints", _camel(str(value.get("name"))), config)
    name, settings = value.get("class_name"), value.get("config")
    module = value.get("module")
    is_own = module is None or (isinstance(module, str) and module.split(".")[0] in KERAS_PACKAGES)
    if not isinstance(name, str) or not is_own or not isinstance(settings, dict):
        shown = settings if isinstance(settings, str) else str(name).rpartition(">")[2]
        return _own_object(value, shown, role, path, notes)
    name = {"RandomNormalV1": "RandomNormal", "OrthogonalV1": "Orthogonal", "L1L2V1": "L1L2"}.get(name, name)
    if "_" in name or name.islower():
        name = _camel(name)
    full = f"keras.{role}.{name}"
    if not has_class(full):
        return _own_object(value, name.rpartition(">")[2], role, path, notes)
    config = {key: plain_number(item) for key, item in settings.items()}
    for key in list(config):
        if not takes_setting(full, key):
            # `dtype` is that of the layer, `partition_info` and `verify_shape` are of TensorFlow 1.
            del config[key]
    if config.get("distribution") == "normal":
        config["distribution"] = "truncated_normal"
    seed = config.get("seed")
    if role == "initializers" and isinstance(seed, float) and seed.is_integer():
        config["seed"] = int(seed)
    return _serialized(f"keras.{role}", name, config)


def _own_object(value: _Config, name: str, role: str, path: str, notes: Notes) -> Json:
    """Return an object of a class of the user, under the name by which Keras 3 finds it."""
    registered = notes.registered(name)
    if registered is None or not isinstance(value.get("config"), dict):
        return _unknown_object(name, role, path, notes)
    return {"module": None, "class_name": name, "config": value["config"], "registered_name": registered}


def _unknown_object(name: str, role: str, path: str, notes: Notes) -> Json:
    """Return what replaces an initializer that Keras 3 does not have; refuse a regularizer or constraint."""
    registered = notes.registered(name)
    if registered is not None:
        return registered
    if role == "initializers":
        notes.add("dropped", path, f"the initializer {name!a}: it has no influence once weights are loaded")
        return "zeros"
    fix = "pass the module that defines it with --import, or save the original without it: it matters in training only."
    notes.refuse(path, f"its {role.removesuffix('s')} {name!a} is not one of Keras 3", fix)
    return None


def _camel(name: str) -> str:
    if "_" not in name and not name.islower():
        return name
    known = {"l1_l2": "L1L2", "l1": "L1", "l2": "L2", "maxnorm": "MaxNorm", "nonneg": "NonNeg", "unitnorm": "UnitNorm"}
    return known.get(name, "".join(part.capitalize() for part in name.split("_")))


_ACTIVATIONS = {
    "softmax_v2": "softmax",
    "log_softmax_v2": "log_softmax",
    "relu_v2": "relu",
    "swish": "silu",
    "hard_swish": "hard_silu",
}


def translate_activation(value: Json, key: str, policy: str, path: str, notes: Notes) -> Json:
    """Return an activation of a layer with a dtype policy as Keras 3 writes it."""
    if value is None:
        return None
    name = value
    if isinstance(value, dict):
        inner = value.get("config")
        module = value.get("module")
        if isinstance(module, str) and module.split(".")[0] not in (*KERAS_PACKAGES, "builtins"):
            value = {**value, "class_name": f"{module}.{value.get('class_name')}"}
        is_layer = value.get("class_name") == "ThresholdedReLU" or has_class(f"keras.layers.{value.get('class_name')}")
        if value.get("class_name") == "function" or isinstance(inner, str):
            name = inner
        elif is_layer and isinstance(inner, dict):
            layer = Layer(str(inner.get("name", "activation")), value["class_name"], None, dict(inner))
            translate_settings(layer, f"{path}/{key}", notes)
            return layer
        else:
            name = value.get("class_name")
    if name == _HARD_SIGMOID:
        notes.add("translated", path, made_of_layers(key))
        return hard_sigmoid(policy)
    name = _ACTIVATIONS.get(name, name) if isinstance(name, str) else name
    if not isinstance(name, str) or not has_name("activations", name):
        shown = name if isinstance(name, str) else describe_json(name)
        fix = "pass the module that defines it with --import, or use one of Keras' activations in the original."
        registered = notes.registered(shown)
        if registered is None or not isinstance(name, str):
            notes.refuse(path, f"its {key} {shown!a} is not one of Keras 3", fix)
        return registered
    return name


# Classes with more than other names.


def _special_input(layer: Layer, path: str, notes: Notes) -> None:
    config = layer.config
    shape = config.pop("batch_input_shape", config.get("batch_shape"))
    config.pop("batch_shape", None)
    config = {"batch_shape": shape, **config}
    config["dtype"] = policy_name(config.get("dtype"), "float32")
    if config["dtype"].startswith("mixed_"):
        config["dtype"] = "float32"
    layer.config = config
    for key in list(config):
        if key == "ragged" and config[key]:
            notes.refuse(path, "ragged inputs do not exist in Keras 3", _FIXES["ragged"])
        if key not in ("batch_shape", "dtype", "name", "sparse"):
            config.pop(key)


def _special_alpha(layer: Layer, path: str, notes: Notes) -> None:
    if "alpha" in layer.config:
        slope = layer.config["negative_slope"] = plain_number(layer.config.pop("alpha"))
        notes.add("rewritten", path, f"alpha={slope} is now negative_slope={slope}")


def _special_gru(layer: Layer, path: str, notes: Notes) -> None:
    # Before TensorFlow 2, a GRU applied the reset gate first, and the setting did not exist.
    layer.config.setdefault("reset_after", False)


def _special_attention(layer: Layer, path: str, notes: Notes) -> None:
    config = layer.config
    mode = config.get("score_mode")
    if isinstance(mode, dict):
        config["score_mode"] = mode.get("config")
    if config.pop("causal", False):
        for call in layer.calls:
            call.kwargs["use_causal_mask"] = True
        notes.add("rewritten", path, "causal=True is now use_causal_mask=True in its calls")


def _special_bidirectional(layer: Layer, path: str, notes: Notes) -> None:
    """Write the second layer of a Bidirectional, as Keras 3 does.

    Without it, Keras 3 makes a copy that starts backwards, too, or sometimes, in a model with several, a copy of another one.
    """
    forward, backward = layer.config.get("layer"), layer.config.get("backward_layer")
    if not isinstance(forward, Layer) or backward is not None or layer.backward is None:
        return
    is_backwards = bool(forward.config.get("go_backwards"))
    layer.backward.config["go_backwards"] = not is_backwards
    layer.backward.name = layer.backward.config["name"] = f"backward_{forward.name}"
    layer.config["backward_layer"] = layer.backward
    if is_backwards:
        notes.add(
            "rewritten", path, "its backward_layer is now explicit, because its layer starts with go_backwards=True"
        )


def _special_batch_normalization(layer: Layer, path: str, notes: Notes) -> None:
    if policy_name(layer.config.get("dtype"), "float32") in ("bfloat16", "float16"):
        # Keras 2 keeps the variables of this layer in float32.
        layer.config["dtype"] = f"mixed_{policy_name(layer.config['dtype'], 'float32')}"
    axis = layer.config.get("axis")
    if isinstance(axis, list | dict):
        items = list(axis.values()) if isinstance(axis, dict) else axis
        if len(items) == 1:
            layer.config["axis"] = items[0]
        else:
            notes.refuse(
                path, f"Keras 3 normalizes along one axis, not along {items}", "replace the layer in the original."
            )


def _special_lookup(layer: Layer, path: str, notes: Notes) -> None:
    config = layer.config
    modes = {"binary": "multi_hot", "tf-idf": "tf_idf"}
    mode = config.get("output_mode")
    if isinstance(mode, str):
        config["output_mode"] = modes.get(mode, mode)
    for key in ("standardize", "split"):
        value = config.get(key)
        is_function = isinstance(value, dict)
        if isinstance(value, dict):
            value = config[key] = (
                value.get("config") if isinstance(value.get("config"), str) else value.get("class_name")
            )
        if isinstance(value, str) and (is_function or value not in _TEXT_FUNCTIONS) and not notes.allows(value):
            notes.refuse(
                path, f"its {key}={value!a} is a function of your own", "pass its module: --import my_functions."
            )


def _special_hashing(layer: Layer, path: str, notes: Notes) -> None:
    config = layer.config
    if config.get("output_mode", "int") == "int" and "float" in str(config.get("dtype")):
        # TensorFlow 2.4 to 2.6 write this dtype, and return int64.
        config["dtype"] = "int64"
        notes.add("rewritten", path, "dtype='int64', which its result has")


def _special_discretization(layer: Layer, path: str, notes: Notes) -> None:
    config = layer.config
    if "int" in str(config.get("dtype")):
        # In Keras 2, this is the dtype of the result. Keras 3 may cast the inputs to it.
        config["dtype"] = "float32"
        notes.add("rewritten", path, "dtype='float32', which is that of its inputs in Keras 3")


_TEXT_FUNCTIONS = frozenset({"lower_and_strip_punctuation", "lower", "strip_punctuation", "whitespace", "character"})


def _special_random_crop(layer: Layer, path: str, notes: Notes) -> None:
    reason = "outside training, RandomCrop of Keras 2 resizes images, and that of Keras 3 returns them unchanged"
    size = f"{layer.config.get('height')}, {layer.config.get('width')}"
    notes.refuse(path, reason, f"replace it by Resizing({size}, crop_to_aspect_ratio=True) in the original.")


_INTERPOLATIONS = frozenset({"area", "bicubic", "bilinear", "lanczos3", "lanczos5", "nearest"})


def _special_interpolation(layer: Layer, path: str, notes: Notes) -> None:
    mode = layer.config.get("interpolation")
    if isinstance(mode, str) and mode not in _INTERPOLATIONS:
        reason = f"{layer.class_name} of Keras 3 has no interpolation={mode!a}"
        notes.refuse(path, reason, "use another interpolation in the original, or run the model with tf_keras.")


def _special_spectral_normalization(layer: Layer, path: str, notes: Notes) -> None:
    inner = layer.config.get("layer")
    if isinstance(inner, Layer) and inner.class_name == "Embedding":
        reason = (
            "SpectralNormalization of Keras 3 casts the outputs of an Embedding to the dtype of its inputs, integers"
        )
        notes.refuse(path, reason, "take the Embedding out of the wrapper in the original.")


def _special_separable(layer: Layer, path: str, notes: Notes) -> None:
    for key in ("kernel_initializer", "kernel_regularizer", "kernel_constraint"):
        if layer.config.pop(key, None) is not None:
            notes.add("dropped", path, f"{key}: the layer has no variable 'kernel'")
    if layer.class_name == "SeparableConv1D" and layer.config.get("padding") == "causal":
        reason = "SeparableConv1D of Keras 3 has no padding='causal'"
        notes.refuse(path, reason, "put ZeroPadding1D before it in the original, and use padding='valid'.")


def _special_layer_normalization(layer: Layer, path: str, notes: Notes) -> None:
    """Sort the axes, as Keras 3 does. Keras 2 gives scale and offset the order of the setting, and reshapes them."""
    axes = layer.config.get("axis")
    if not isinstance(axes, list) or len(axes) < 2 or len({axis < 0 for axis in axes}) > 1:
        return
    order = sorted(range(len(axes)), key=axes.__getitem__)
    if order == list(range(len(axes))):
        return
    layer.config["axis"] = [axes[number] for number in order]
    for key, values in layer.arrays.items():
        shape = tuple(values.shape[number] for number in order)
        layer.arrays[key] = values.then(lambda array, shape=shape: array.reshape(shape), order, "reshaped")
    notes.add("translated", path, f"axis={axes} is now sorted, and so are the axes of its weights")


def _special_normalization(layer: Layer, path: str, notes: Notes) -> None:
    """Give mean and variance one shape, with as many axes as are kept at most, which Keras 3 requires."""
    config = layer.config
    mean, variance = config["mean"], config["variance"] = [
        plain_number(config.get(key)) for key in ("mean", "variance")
    ]
    if mean is None or variance is None:
        return
    import numpy as np

    axes = config.get("axis", -1)
    count = 0 if axes is None else len(axes) if isinstance(axes, list) else 1
    try:
        arrays = list(np.broadcast_arrays(np.asarray(mean, "float64"), np.asarray(variance, "float64")))
    except (TypeError, ValueError):
        notes.refuse(path, "its mean and variance do not fit together", "correct them in the original.")
        return
    while arrays[0].ndim > count and arrays[0].shape[0] == 1:
        arrays = [array[0] for array in arrays]
    for key, array in zip(("mean", "variance"), arrays, strict=True):
        if np.shape(config[key]) != array.shape:
            notes.add("rewritten", path, f"{key} now has the shape {array.shape}")
            config[key] = array.tolist()


def _special_reshape(layer: Layer, path: str, notes: Notes) -> None:
    shape = layer.config.get("target_shape")
    if isinstance(shape, list):
        layer.config["target_shape"] = [-1 if size is None else size for size in shape]


_SPECIAL: dict[str, Callable[[Layer, str, Notes], None]] = {
    "Attention": _special_attention,
    "AdditiveAttention": _special_attention,
    "BatchNormalization": _special_batch_normalization,
    "Bidirectional": _special_bidirectional,
    "CategoryEncoding": _special_lookup,
    "Discretization": _special_discretization,
    "Hashing": _special_hashing,
    "GRU": _special_gru,
    "GRUCell": _special_gru,
    "InputLayer": _special_input,
    "IntegerLookup": _special_lookup,
    "LeakyReLU": _special_alpha,
    "LayerNormalization": _special_layer_normalization,
    "Normalization": _special_normalization,
    "RandomCrop": _special_random_crop,
    "Reshape": _special_reshape,
    "Resizing": _special_interpolation,
    "SeparableConv1D": _special_separable,
    "SeparableConv2D": _special_separable,
    "SpectralNormalization": _special_spectral_normalization,
    "StringLookup": _special_lookup,
    "TextVectorization": _special_lookup,
    "UpSampling2D": _special_interpolation,
}
