"""From a file to a live model: choose a backend, import the user's modules, scan the file, load it."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import math
import os
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramet._arguments import BACKENDS, check_backend, is_installed
from ramet._cli.output import print_message
from ramet._report import escape, joined
from ramet.errors import ArgumentError, ModelFileError, UnsafeFileError

if TYPE_CHECKING:
    from ramet._files import Finding


_LONGEST = 200
# Raw TensorFlow operations in a functional model of Keras 2.
_RAW_OPERATIONS = frozenset({"TFOpLambda", "SlicingOpLambda", "TensorFlowOpLayer", "ClassMethod", "InstanceMethod"})

_SETTINGS = (
    re.compile(r"Unrecognized keyword arguments? passed to (?P<cls>\w+): \{(?P<keys>[^}]*)\}"),
    re.compile(r"(?P<cls>\w+)\.__init__\(\) got an unexpected keyword argument (?P<keys>'\w+')"),
    re.compile(r"(?P<cls>)Argument\(s\) not recognized: \{(?P<keys>[^}]*)\}"),
)
_UNKNOWN = (
    re.compile(r"Unknown (?P<kind>[\w ]+?): '?(?P<name>[\w.>]+)'?"),
    re.compile(r"Could not locate (?P<kind>class|function) '(?P<name>[^']+)'"),
    re.compile(r"Could not deserialize (?P<kind>class|function) '(?P<name>[^']+)'"),
    re.compile(r"(?P<kind>)Could not deserialize '(?P<name>[^']+)'"),
    re.compile(r"Could not interpret (?P<kind>\w+) identifier: (?P<name>\w+)"),
)
_KEY = re.compile(r"'(\w+)'")


@contextlib.contextmanager
def live(options: argparse.Namespace) -> Iterator[None]:
    """Run a block with Keras on the chosen backend. Output of libraries goes to standard error, one line per warning."""
    choose_backend(options.backend)
    with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: print_message(f"warning: {' '.join(str(message).split())}")
        yield


def choose_backend(wanted: str | None) -> None:
    """Select the backend for Keras before it is imported; by default one that is installed."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    loaded = sys.modules.get("keras")
    if loaded is not None:
        running = loaded.backend.backend()
        if wanted not in (None, running):
            raise ArgumentError(
                f"Cannot use the backend '{wanted}': Keras already runs on '{running}' in this process.",
                fix="run the command in a separate process.",
            )
        return
    if wanted is None:
        # By default Keras uses TensorFlow, even if only another backend is installed.
        configured, _ = configured_backend()
        installed = [name for name in BACKENDS if is_installed(name)]
        if configured in BACKENDS and configured not in installed and installed:
            os.environ["KERAS_BACKEND"] = installed[0]
            print_message(f"using the backend {installed[0]}: {configured} is not installed.")
        return
    check_backend("use", wanted)
    os.environ["KERAS_BACKEND"] = wanted


def configured_backend() -> tuple[str, str]:
    """Return the backend that Keras would use, and where it is set."""
    if chosen := os.environ.get("KERAS_BACKEND"):
        return chosen, "KERAS_BACKEND"
    file = Path(os.environ.get("KERAS_HOME") or Path("~/.keras").expanduser()) / "keras.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8")).get("backend")
    except (OSError, ValueError, AttributeError):
        found = None
    return (found, "keras.json") if isinstance(found, str) else ("tensorflow", "Keras' default")


def import_modules(names: list[str]) -> dict[str, Any]:
    """Return the user's classes and functions by name, from the modules given with `--import`."""
    folder = str(Path.cwd())
    if names and folder not in sys.path and "" not in sys.path:
        # Last, so that a file there never replaces a module of Python.
        sys.path.append(folder)
    found: dict[str, Any] = {}
    for name in names:
        try:
            module = importlib.import_module(name)
        except Exception as error:
            raise ArgumentError(
                f"Cannot import '{escape(name)}': it raised {type(error).__name__}.",
                found=escape(str(error).partition("\n")[0]),
                fix="pass the name of a module in this folder or installed, as in an import statement: --import my_layers.",
            ) from error
        found |= _own_objects(module)
    return found


def _own_objects(module: types.ModuleType) -> dict[str, Any]:
    """Return the classes and functions that are defined in a module or below it, not those it imports.

    A function called `relu` would replace Keras' own wherever a file contains "relu", so such names are left out.
    """
    from ramet._files import is_known_name

    found = {}
    for name, value in vars(module).items():
        if isinstance(value, type) or (isinstance(value, types.FunctionType) and not is_known_name(name)):
            home = value.__module__
            if home == module.__name__ or home.startswith(f"{module.__name__}."):
                found[name] = value
    return found


@contextlib.contextmanager
def checked(paths: Sequence[Path], options: argparse.Namespace) -> Iterator[list[Path]]:
    """Yield files to load: private copies that were scanned. With `--trust`, the files themselves."""
    from ramet._cli.bounded import bounded
    from ramet._files import private_copy, scan, unsafe_file

    files = []
    with contextlib.ExitStack() as stack:
        for given in paths:
            path = given if options.trust else stack.enter_context(private_copy(given))
            files.append(path)
            with bounded([path]):
                findings = [one for one in scan(path).findings if not _is_allowed(one, options)]
            if not findings:
                continue
            if not options.trust:
                classes = all(one.kind in ("class", "function") and one.severity == "trust" for one in findings)
                them = "it" if len(findings) == 1 else "them"
                how = (
                    f"pass the module that defines {them} with --import"
                    if classes
                    else "pass --trust if you trust its author"
                )
                fix = f"run `ramet scan {escape(path.name)}`, then {how}."
                raise unsafe_file(path, findings, fix)
            trusted = [f"{finding.what} ({finding.path or finding.place})" for finding in findings]
            print_message(f"trusted: {joined(trusted, 1)}")
        yield files


def _is_allowed(finding: Finding, options: argparse.Namespace) -> bool:
    """Return whether a finding is harmless here.

    All supported versions of Keras look up classes and functions by name only in their registry and among the objects they
    are passed: that is, in the modules given with `--import`.
    """
    if finding.severity == "note":
        return True
    return finding.severity == "trust" and finding.kind in ("class", "function") and bool(options.modules)


def load_alike(paths: list[Path], options: argparse.Namespace, custom: dict[str, Any]) -> list[Any]:
    """Return the models in files, each loaded from the same random seed.

    A `Dropout` without a seed draws one whenever it is created. Otherwise two files of one model would never be equal.
    """
    from ramet._keras import keep_name_counters, keep_random_state, seed_generators

    models = []
    for path in paths:
        with keep_name_counters(), keep_random_state():
            seed_generators(options.seed)
            models.append(load(path, options, custom))
    return models


def load(path: Path, options: argparse.Namespace, custom: dict[str, Any]) -> Any:
    """Return the live model in a file. Call it inside `live`."""
    from ramet._files import TORCH_OPTIMIZERS, open_model_file

    with open_model_file(path) as file:
        if file.kind == "weights":
            raise ModelFileError(
                f"Cannot load '{escape(path.name)}': it contains weights, but no model.",
                fix="pass the .keras file of the model.",
                path=str(path),
            )
        import keras

        from ramet._keras import guard_loading

        # On torch, Keras has its own classes for some optimizers, which files name. Other backends would import these and fail.
        optimizers = {name: getattr(keras.optimizers, name) for name in TORCH_OPTIMIZERS}

        def loaded(*, compiled: bool) -> Any:
            fix = "run `ramet scan`; if you trust the file, load it anyway with --trust."
            guard = contextlib.nullcontext() if options.trust else guard_loading(path, fix)
            with warnings.catch_warnings(), guard:
                # This warning is for the author of the model; the user who loads its file cannot change it.
                warnings.filterwarnings("ignore", message="Do not pass an `input_shape`")
                return keras.saving.load_model(path, optimizers | custom, compile=compiled, safe_mode=not options.trust)

        try:
            return loaded(compiled=not options.no_compile)
        except UnsafeFileError:
            raise
        except Exception as error:  # Keras may raise anything
            raise _load_error(path, file, keras.__version__, error, lambda: loaded(compiled=False)) from error


def parameters_of(model: Any) -> int:
    """Return the number of parameters of a live model."""
    return sum(math.prod(weight.shape) for weight in model.weights)


# Errors of Keras, which print whole configs or name a line of its code, as one sentence.


def _load_error(
    path: Path, file: Any, version: str, error: Exception, load_layers: Callable[[], Any]
) -> ModelFileError:
    """Return the error to raise for a file that Keras cannot load.

    `load_layers` loads it without its compile settings, to find out whether only these are the problem.
    """
    compiled = True
    try:
        load_layers()
    except Exception as second:  # noqa: BLE001  # Keras may raise anything
        error, compiled = second, False
    found, layer, name = _reason(str(error), file.config)
    old = file.kind == "legacy model" or file.metadata.get("keras_version", "").startswith("2.")
    fixes = ["add --no-compile to load its layers and weights without optimizer, loss and metrics"] if compiled else []
    if name and name not in _RAW_OPERATIONS:
        fixes.append(f"if '{name}' is your own, pass the module that defines it with --import")
    if old:
        fixes.insert(0, f"rewrite the file for Keras 3 with `ramet port {path.name} new.keras`")
    return ModelFileError(
        f"Cannot load '{escape(path.name)}': Keras {version} does not accept {'its compile settings' if compiled else 'the model'}.",
        found=escape(found),
        fix=escape("; or ".join(fixes) or "list its content with `ramet show`, and save it again.").rstrip(".") + ".",
        path=escape(layer) if layer else str(path),
    )


def _reason(text: str, config: Any) -> tuple[str, str, str]:
    """Return a sentence, its layer, and the class or function that Keras does not have; each empty if unknown."""
    from ramet._files import is_known_name

    for pattern in _SETTINGS:
        if match := pattern.search(text):
            class_name, keys = match["cls"], _KEY.findall(match["keys"])
            layer = _layer_with(config, class_name, keys)
            owner = f"the layer '{layer}' ({class_name})" if layer else class_name or "the optimizer"
            settings = ", ".join(f"'{key}'" for key in keys)
            plural = "settings" if len(keys) > 1 else "setting"
            return f"{owner} has the {plural} {settings}, which this version of Keras does not support", layer, ""
    for pattern in _UNKNOWN:
        if match := pattern.search(text):
            name, kind = match["name"].rpartition(".")[2], match["kind"] or "object"
            layer = _layer_with(config, name, [])
            if name in _RAW_OPERATIONS:
                return f"the layer '{layer}' is a raw TensorFlow operation ({name}) of Keras 2", layer, name
            location = f" (layer '{layer}')" if layer else ""
            if is_known_name(name):
                return f"Keras does not find its own {kind} '{name}' under the name in the file{location}", layer, ""
            return f"Keras has no {kind} '{name}'{location}", layer, name
    if "Invalid Functional model configuration" in text:
        return "Keras cannot resolve its call graph: the calls of nested models are numbered differently", "", ""
    return _first_sentence(text), "", ""


def _first_sentence(text: str) -> str:
    """Return the innermost reason of an error, without the configs around it."""
    for mark in ("Exception encountered:", "Example error message for object"):
        text = text.rpartition(mark)[2]
    text = re.split(r"config=\{|Full object config|List of objects|\n\n", text.strip())[0]
    sentence = re.split(r"(?<=[.!?])\s+(?=[A-Z])", " ".join(text.split()))[0].rstrip(" .:,")
    return sentence if len(sentence) <= _LONGEST else f"{sentence[: _LONGEST - 3]}..."


def _layer_with(config: Any, class_name: str, keys: list[str]) -> str:
    """Return the name of the first layer of a class that has all of these settings, or an empty string."""
    waiting = [config]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            settings = value.get("config")
            if value.get("class_name") == class_name and isinstance(settings, dict) and set(keys) <= settings.keys():
                name = settings.get("name")
                return name if isinstance(name, str) else ""
            waiting += reversed(list(value.values()))
        elif isinstance(value, list):
            waiting += reversed(value)
    return ""
