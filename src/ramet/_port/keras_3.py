"""Complete the config of an HDF5 file of Keras 3, which names no modules."""

from __future__ import annotations

from ramet._port.draft import Model
from ramet._port.notes import Notes
from ramet._port.settings_table import EXPORTED, has_class
from ramet._port.variables import walk_layers

_OPERATIONS = tuple(f"keras.src.ops.{each}" for each in ("numpy", "nn", "core", "math", "image", "linalg"))


def complete_model(model: Model, notes: Notes) -> None:
    """Add the modules of Keras' own layers and operations to a draft, in place."""
    for path, layer in walk_layers(model):
        if layer.module is not None or layer.model is not None:
            continue
        layer.class_name = EXPORTED.get(layer.class_name, layer.class_name)
        operation = next((each for each in _OPERATIONS if has_class(f"{each}.{layer.class_name}")), None)
        # Some operations are called as layers are, such as Add. Only layers of these classes can be trained.
        if has_class(f"keras.layers.{layer.class_name}") and (operation is None or "trainable" in layer.config):
            layer.module, layer.registered_name = "keras.layers", None
        elif operation is not None:
            layer.module, layer.registered_name = operation, layer.class_name
        else:
            name = layer.class_name.rpartition(">")[2]
            registered = notes.registered(layer.class_name)
            if registered is None:
                reason = f"its class {name!a} is not one of Keras 3"
                notes.refuse(path, reason, "pass the module that defines the class: --import my_layers.")
            layer.class_name, layer.registered_name = name, registered
