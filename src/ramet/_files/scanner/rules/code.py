"""Code in the file itself: lambdas, functions of Keras 2, pickled modules."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._files.scanner.finding import Finding
from ramet._files.scanner.names import is_no_class_of_keras, is_python_builtin
from ramet._files.scanner.rule import NOT_CHECKED, ConfigValue, Rule
from ramet._report import abbreviate

_LEGACY_MODE = "Ignored by Keras before 3.11.3 for HDF5 files; refused since."
# Settings of cell wrappers in Keras 2 that are functions.
_FUNCTIONS = ("dropout_fn", "residual_fn")


def _lambda(value: ConfigValue) -> Iterator[Finding]:
    yield value.finding(
        "unsafe",
        "lambda",
        "The file contains compiled Python code, a lambda.",
        "Loading turns it into a function; calling the model, which loading may do, runs it.",
        _LEGACY_MODE if value.legacy else "Refused.",
        ("CVE-2024-3660", "CVE-2025-9905") if value.legacy else ("CVE-2024-3660",),
    )


def _code_in_settings(value: ConfigValue) -> Iterator[Finding]:
    """Find functions in the form of Keras 2: code in a list, or a name, with its type in another setting.

    Functions that are objects of their own are found as objects.
    """
    class_name, config = value.class_name, value.settings
    if not isinstance(class_name, str):
        return
    fields = {key.removesuffix("_type") for key in config if key.endswith("_type")}
    fields.update(("function", "output_shape") if class_name == "Lambda" else _FUNCTIONS)
    for key in sorted(fields & config.keys()):
        setting, kind = config[key], config.get(f"{key}_type")
        is_function = class_name == "Lambda" or key in _FUNCTIONS
        is_code = isinstance(setting, list) and setting and isinstance(setting[0], str) and is_function
        if is_code or kind == "lambda":
            yield value.finding(
                "unsafe",
                "lambda",
                f"The {class_name} layer contains compiled Python code as its {key}.",
                "Loading turns it into a function and runs it.",
                _LEGACY_MODE if value.legacy else "Refused.",
                ("CVE-2024-3660", "CVE-2025-9905"),
                setting=key,
            )
        elif is_function and setting is not None and (isinstance(setting, str) or key in _FUNCTIONS):
            name = str(setting)
            yield value.finding(
                "unsafe" if is_python_builtin(name) or is_no_class_of_keras(name) else "trust",
                "function",
                f"The {class_name} layer calls '{abbreviate(name)}', a function found by name.",
                "Loading looks it up, and the model calls it.",
                NOT_CHECKED,
                ("CVE-2025-1550",),
                setting=key,
                name=name,
            )


def _torch_module(value: ConfigValue) -> Iterator[Finding]:
    yield value.finding(
        "unsafe",
        "pickle",
        "A TorchModuleWrapper contains a pickled torch module.",
        "Loading unpickles it, which runs any code that the pickle contains.",
        "Refused since Keras 3.11.3; not checked before.",
        ("CVE-2025-49655",),
        setting="module",
    )


LAMBDA = Rule(
    "lambda",
    "object",
    _lambda,
    example={"class_name": "__lambda__", "config": {"code": "4wEAAAA="}},
    classes=frozenset({"__lambda__"}),
)
CODE_IN_SETTINGS = Rule(
    "code in the settings of a layer",
    "object",
    _code_in_settings,
    example={"class_name": "Lambda", "config": {"function": ["4wEAAAA=", None, None], "function_type": "lambda"}},
    harmless={"class_name": "Dropout", "config": {"rate": 0.5}},
)
TORCH_MODULE = Rule(
    "pickled torch module",
    "object",
    _torch_module,
    example={"class_name": "TorchModuleWrapper", "config": {"module": "gASVCg=="}},
    classes=frozenset({"TorchModuleWrapper"}),
)
