"""The way to a live model: choose a backend, import the user's modules, scan the file, load it."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramet._cli.option import BACKENDS
from ramet._cli.terminal import one_line, tell
from ramet.errors import ArgumentError, ModelFileError, UnsafeFileError

if TYPE_CHECKING:
    from ramet._files import Finding

__all__ = ["checked", "choose_backend", "import_modules", "live", "load", "load_alike", "parameters_of"]


@contextlib.contextmanager
def live(options: argparse.Namespace) -> Iterator[None]:
    """Keras on the backend asked for. What libraries print inside is talk, and warnings take a line each."""
    choose_backend(options.backend)
    with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
        warnings.showwarning = _tell_warning  # type: ignore[assignment]  # takes whatever comes behind the message
        yield


def _tell_warning(message: Warning | str, *_: object) -> None:
    tell(f"warning: {' '.join(str(message).split())}")


def choose_backend(asked: str | None) -> None:
    """Have Keras run on a backend, once it is imported; an installed one, if nobody has said which."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    loaded = sys.modules.get("keras")
    if loaded is not None:
        running = loaded.backend.backend()
        if asked not in (None, running):
            raise ArgumentError(
                f"Cannot use the backend '{asked}': Keras runs on '{running}' in this process already.",
                fix="run the command in a process of its own.",
            )
        return
    if asked is None:
        # Keras begins with TensorFlow where nobody has said anything, also where only another one is installed.
        wanted = os.environ.get("KERAS_BACKEND") or _configured()
        installed = [name for name in BACKENDS if _is_installed(name)]
        if wanted in BACKENDS and wanted not in installed and installed:
            os.environ["KERAS_BACKEND"] = installed[0]
            tell(f"using the backend {installed[0]}: {wanted} is not installed.")
        return
    if not _is_installed(asked):
        raise ArgumentError(
            f"Cannot use the backend '{asked}': it is not installed.", fix=f"pip install 'ramet[{asked}]'."
        )
    os.environ["KERAS_BACKEND"] = asked


def _configured() -> str:
    """The backend in Keras' own settings file."""
    home = Path(os.environ.get("KERAS_HOME") or Path("~/.keras").expanduser())
    try:
        settings = json.loads((home / "keras.json").read_text())
        found = settings.get("backend")
    except (OSError, ValueError, AttributeError):
        found = None
    return found if isinstance(found, str) else "tensorflow"


def _is_installed(backend: str) -> bool:
    return importlib.util.find_spec(backend) is not None


def import_modules(names: list[str]) -> dict[str, Any]:
    """The user's classes and functions by name, from the modules given with `--import`."""
    folder = str(Path.cwd())
    if names and folder not in sys.path and "" not in sys.path:
        # Last, so that a file there never stands in for a module of Python's.
        sys.path.append(folder)
    found: dict[str, Any] = {}
    for name in names:
        try:
            module = importlib.import_module(name)
        except Exception as error:
            raise ArgumentError(
                f"Cannot import '{one_line(name)}': it raised {type(error).__name__}.",
                found=one_line(str(error).partition("\n")[0]),
                fix="give the name of a module as Python imports it, from this folder or installed: --import my_layers.",
            ) from error
        found |= _own_objects(module)
    return found


def _own_objects(module: types.ModuleType) -> dict[str, Any]:
    """The classes and functions that are at home in a module, or below it; what it only uses is somebody else's.

    Keras would take a function called `relu` for its own wherever a file says "relu": such names are left to Keras.
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
    """Yield files to load: private copies that were scanned. Trusted files are used as they are."""
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
                raise unsafe_file(path, findings, _way_out(path, findings))
            more = f" and {len(findings) - 1} more" if len(findings) > 1 else ""
            tell(f"trusted: {findings[0].what} ({findings[0].path or findings[0].place}){more}")
        yield files


def _way_out(path: Path, findings: list[Finding]) -> str:
    classes = all(one.kind in ("class", "function") and one.severity == "trust" for one in findings)
    how = "give the module that defines it with --import, or " if classes else ""
    return f"look at `ramet scan {one_line(path.name)}`; then {how}load it all the same with --trust."


def _is_allowed(finding: Finding, options: argparse.Namespace) -> bool:
    """Whether a finding is harmless here.

    Keras, since the oldest that ramet supports, takes classes and functions by name from its registry and from what it is handed:
    from the modules that the user gave, that is, and from nowhere else.
    """
    if finding.severity == "note":
        return True
    return finding.severity == "trust" and finding.kind in ("class", "function") and bool(options.modules)


def load_alike(paths: list[Path], options: argparse.Namespace, custom: dict[str, Any]) -> Iterator[Any]:
    """The live models in files, each with the random choices that a file does not keep made alike.

    A `Dropout` without a seed draws one whenever it is made. Two files of one model would never be equal otherwise.
    """
    from ramet._keras import names_untouched, randomness_untouched, start_alike

    for path in paths:
        with names_untouched(), randomness_untouched():
            start_alike(options.seed)
            model = load(path, options, custom)
        yield model


def load(path: Path, options: argparse.Namespace, custom: dict[str, Any]) -> Any:
    """The live model in a file; inside `live`."""
    from ramet._files import read_archive

    with read_archive(path) as file:
        if file.kind == "weights":
            raise ModelFileError(
                f"Cannot load '{one_line(path.name)}': it holds weights, and no model.",
                fix="give the .keras file of the model.",
                path=str(path),
            )
        import keras

        from ramet._cli.load_problem import load_problem

        def loaded(*, compiled: bool) -> Any:
            objects = {**_optimizers(), **custom}
            with warnings.catch_warnings(), _guarded(path, options):
                # Keras speaks to whoever wrote the model; whoever loads its file cannot change it.
                warnings.filterwarnings("ignore", message="Do not pass an `input_shape`")
                return keras.saving.load_model(path, objects, compile=compiled, safe_mode=not options.trust)

        try:
            return loaded(compiled=not options.no_compile)
        except UnsafeFileError:
            raise
        except Exception as error:  # Keras raises anything
            raise load_problem(path, file, keras.__version__, error, lambda: loaded(compiled=False)) from error


def _guarded(path: Path, options: argparse.Namespace) -> contextlib.AbstractContextManager[None]:
    if options.trust:
        return contextlib.nullcontext()
    from ramet._keras import under_guard

    return under_guard(path, "look at `ramet scan`; if you know what it does, load it all the same with --trust.")


def _optimizers() -> dict[str, Any]:
    """Keras' optimizers by name.

    Torch has classes of its own for some, which its files name. Other backends would import these, and could not train.
    """
    import keras

    from ramet._files import TORCH_OPTIMIZERS

    return {name: getattr(keras.optimizers, name) for name in TORCH_OPTIMIZERS}


def parameters_of(model: Any) -> int:
    """How many numbers the weights of a live model hold."""
    import math

    return sum(math.prod(weight.shape) for weight in model.weights)
