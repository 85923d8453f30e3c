"""Layers that read other files or call functions of a backend."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._files.scanner.finding import Finding
from ramet._files.scanner.names import is_tensorflow_operation
from ramet._files.scanner.rule import ConfigValue, Rule
from ramet._report import abbreviate


def _saved_model(value: ConfigValue) -> Iterator[Finding]:
    yield value.finding(
        "unsafe",
        "saved model",
        f"A TFSMLayer loads the TensorFlow SavedModel at '{abbreviate(str(value.settings.get('filepath')))}'.",
        "Loading reads that folder; its graph may read and write files when it runs.",
        "Refused since Keras 3.13.2; not checked before.",
        ("CVE-2026-1462",),
        setting="filepath",
    )


def _jax_function(value: ConfigValue) -> Iterator[Finding]:
    yield value.finding(
        "trust",
        "class",
        f"A {value.class_name} wraps functions or modules of JAX.",
        "Loading looks them up by name, and the model runs them.",
        "The functions are checked like any other.",
    )


def _tensorflow_function(value: ConfigValue) -> Iterator[Finding]:
    """Find layers of Keras 2 that call a function of TensorFlow, unless it only computes."""
    config = value.settings
    parts = [config[key] for key in ("function", "cls_symbol", "method_name", "attr_name") if key in config]
    name = ".".join(parts) if all(isinstance(part, str) for part in parts) else ""
    if is_tensorflow_operation(name):
        return
    yield value.finding(
        "trust",
        "function",
        f"A {value.class_name} calls a function of TensorFlow{f', {abbreviate(name)!r}' if name else ''}.",
        "Keras 2 looks it up by name, and the model calls it; some functions of TensorFlow read and write files.",
    )


SAVED_MODEL = Rule(
    "TensorFlow SavedModel",
    "object",
    _saved_model,
    example={"class_name": "TFSMLayer", "config": {"filepath": "/tmp/saved_model"}},
    classes=frozenset({"TFSMLayer"}),
)
JAX_FUNCTION = Rule(
    "function of JAX",
    "object",
    _jax_function,
    example={"class_name": "JaxLayer", "config": {"name": "j"}},
    classes=frozenset({"JaxLayer", "FlaxLayer"}),
)
TENSORFLOW_FUNCTION = Rule(
    "function of TensorFlow",
    "object",
    _tensorflow_function,
    example={"class_name": "TFOpLambda", "config": {"function": "io.read_file"}},
    harmless={"class_name": "TFOpLambda", "config": {"function": "math.multiply"}},
    classes=frozenset(
        {"ClassMethod", "InstanceMethod", "InstanceProperty", "SlicingOpLambda", "TFOpLambda", "TensorFlowOpLayer"}
    ),
)
