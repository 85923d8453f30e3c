"""Settings of Keras 1 under the names of Keras 2."""

from __future__ import annotations

from ramet._port.draft import Layer
from ramet._port.notes import Notes

_RENAMED = {
    "W_constraint": "kernel_constraint",
    "W_regularizer": "kernel_regularizer",
    "U_regularizer": "recurrent_regularizer",
    "b_constraint": "bias_constraint",
    "b_regularizer": "bias_regularizer",
    "beta_init": "beta_initializer",
    "bias": "use_bias",
    "border_mode": "padding",
    "dim_ordering": "data_format",
    "dropout_U": "recurrent_dropout",
    "dropout_W": "dropout",
    "filter_length": "kernel_size",
    "gamma_init": "gamma_initializer",
    "init": "kernel_initializer",
    "inner_activation": "recurrent_activation",
    "inner_init": "recurrent_initializer",
    "nb_filter": "filters",
    "p": "rate",
    "pool_length": "pool_size",
    "sigma": "stddev",
    "stride": "strides",
    "subsample": "strides",
    "subsample_length": "strides",
    "atrous_rate": "dilation_rate",
}
_ORDERS = {"tf": "channels_last", "th": "channels_first", "default": "channels_last"}
_UNITS = frozenset({"Dense", "LSTM", "GRU", "SimpleRNN"})


_MERGES = {
    "ave": "Average",
    "concat": "Concatenate",
    "cos": "Dot",
    "dot": "Dot",
    "max": "Maximum",
    "mul": "Multiply",
    "sum": "Add",
}


def modernize(layer: Layer, path: str, notes: Notes) -> None:
    """Give a layer of Keras 1 the class and the settings of Keras 2, in place."""
    class_name, config = layer.class_name, layer.config
    if class_name == "Merge":
        _merge(layer, path, notes)
        return
    if class_name == "BatchNormalization" and config.get("mode") in (1, 2):
        what = "sample" if config["mode"] == 1 else "batch, also when the model predicts"
        reason = f"mode={config['mode']}, statistics of each {what}, does not exist since Keras 2"
        notes.refuse(path, reason, "replace the layer in the original.")
    config.pop("input_dtype", None)
    for old, new in _RENAMED.items():
        if old in config:
            value = config.pop(old)
            # Keras 2 wins if both are there.
            config.setdefault(new, value)
    if config.get("data_format") in _ORDERS:
        config["data_format"] = _ORDERS[config["data_format"]]
    if class_name in _UNITS and "output_dim" in config:
        config["units"] = config.pop("output_dim")
        config.pop("input_dim", None)
    sizes = [
        config.pop(key) for key in ("kernel_dim1", "kernel_dim2", "kernel_dim3", "nb_row", "nb_col") if key in config
    ]
    if sizes:
        config["kernel_size"] = sizes
    if class_name == "Embedding":
        if config.pop("dropout", None):
            notes.add(
                "left out", path, "dropout of whole rows, which Keras 3 does not have; it matters in training only"
            )
        if "kernel_initializer" in config:
            config["embeddings_initializer"] = config.pop("kernel_initializer")
        if "kernel_regularizer" in config:
            config["embeddings_regularizer"] = config.pop("kernel_regularizer")
        if "kernel_constraint" in config:
            config["embeddings_constraint"] = config.pop("kernel_constraint")
    if class_name == "PReLU" and "kernel_initializer" in config:
        config["alpha_initializer"] = config.pop("kernel_initializer")
        config.pop("weights", None)
    if class_name == "BatchNormalization":
        config.pop("mode", None)
        config.setdefault("axis", -1)
    if class_name in ("LSTM", "GRU", "SimpleRNN"):
        config.pop("forget_bias_init", None)
        config.pop("input_length", None)
    if class_name.startswith("UpSampling") and "length" in config:
        config["size"] = config.pop("length")


def _merge(layer: Layer, path: str, notes: Notes) -> None:
    config = layer.config
    mode = config.get("mode")
    if mode not in _MERGES or config.get("layers"):
        reason = (
            "it merges by Python code" if mode not in _MERGES else "it merges models of Keras 1 inside a Sequential one"
        )
        notes.refuse(path, reason, "write the model again as a functional one.")
        return
    layer.class_name = _MERGES[mode]
    layer.config = {"name": config.get("name", layer.name), "trainable": True}
    if mode == "concat":
        layer.config["axis"] = config.get("concat_axis", -1)
    if mode in ("dot", "cos"):
        layer.config |= {"axes": config.get("dot_axes", -1), "normalize": mode == "cos"}
    notes.add("rewritten", path, f"Merge(mode={mode!r}) is now {layer.class_name}")
