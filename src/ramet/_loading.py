"""Load a model file of any version of Keras into the running one."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ramet._port import OPTIMIZER_STATE, accepted, known_versions, plan_port
from ramet.errors import ArgumentError, RametWarning


def load(
    path: str | os.PathLike[str],
    *,
    weights: str | os.PathLike[str] | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    compile: bool = True,
) -> Any:
    """Return the model in a file, whatever version of Keras wrote it.

    The file is ported to the running Keras in a temporary folder (`ramet.port`), and loaded with Keras' safe mode. Code in
    the file never runs. A model that was compiled is compiled again, unless its optimizer, loss or metrics have no
    counterpart; then a warning says so. The state of the optimizer is restored, too, unless Keras 3 stores it differently.

    Args:
        path: A `.keras` or `.h5` file, the JSON of a model, or a SavedModel of Keras.
        weights: The weights that belong to the JSON of a model.
        custom_objects: Your own classes and functions by name, as for `keras.saving.load_model`.
        functions: For `Lambda` layers, whose code in the file is never run: the function by the name of the layer.
        compile: Whether the model is compiled as it was.

    Returns:
        A model of the running Keras, with the layers, names, weights and, if possible, the compile settings of the file.

    Raises:
        PortError: The file cannot be loaded without a difference.
        UnsafeFileError: It contains code, or opens other files.
        ModelFileError: It is missing, broken, or not a model.

    >>> import os, tempfile
    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="head")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "model.keras")
    ...     model.save(file)
    ...     ramet.load(file).get_layer("head").units
    2
    """
    import keras

    from ramet._keras import guard_loading

    for layer, function in (functions or {}).items():
        if not callable(function):
            raise ArgumentError(
                f"Cannot load with functions={{{layer!a}: {function!a}}}: it is not a function.",
                fix="pass the function itself, without quotes.",
            )
    replaced = {layer: keras.saving.get_registered_name(function) for layer, function in (functions or {}).items()}
    passed = {**(custom_objects or {}), **{replaced[layer]: one for layer, one in (functions or {}).items()}}
    registry = keras.saving.get_custom_objects()
    with tempfile.TemporaryDirectory(prefix="ramet-load-") as folder:
        target = Path(folder) / "model.keras"
        plan = plan_port(
            path,
            target=target,
            to=_running_release(keras.__version__),
            weights=weights,
            functions=replaced,
            custom=passed,
            registry=registry,
            force=False,
            isolated=True,
        )
        accepted(plan)

        def loaded(*, compiled: bool) -> Any:
            with guard_loading(target, "run `ramet scan` on the file."), warnings.catch_warnings():
                # The optimizer begins anew where its state has no counterpart, as the documentation says.
                warnings.filterwarnings("ignore", message="Skipping variable loading for optimizer")
                return keras.saving.load_model(target, {**registry, **passed}, compile=compiled, safe_mode=True)

        if not compile:
            return loaded(compiled=False)
        left_out = [
            note.text for note in plan.notes if note.kind == "left out" and not note.text.startswith(OPTIMIZER_STATE)
        ]
        if left_out:
            text = f"The model was loaded without some of its training settings: {left_out[0]}."
            warnings.warn(text, RametWarning, stacklevel=2)
        try:
            return loaded(compiled=True)
        except (TypeError, ValueError) as error:
            model = loaded(compiled=False)  # raises the same error, if it is not about compiling
            words = " ".join(str(error).split())[:200]
            warnings.warn(
                f"The model was loaded without its optimizer, loss and metrics: {words}. Compile it before training.",
                RametWarning,
                stacklevel=2,
            )
            return model


def _running_release(version: str) -> str:
    """Return the release of the running Keras, or the newest known one if it is newer."""
    found = ".".join(version.split(".")[:2])
    return found if found in known_versions() else known_versions()[-1]
