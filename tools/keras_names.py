"""Write the list of all names in Keras that a safe model file may contain: `python tools/keras_names.py`.

A loader resolves the name of a class or function as `module.name`. For each release below, on each backend, this script
asks Keras itself which classes can be created from a config and which functions models consist of, under the names that
files use, and writes them to `src/ramet/_files/scanner/keras_names.json`. A test compares the list with the installed
Keras.

To support a new release, add it to `RELEASES` and run the script again.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import types
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

RELEASES = (
    *("3.3.3", "3.4.1", "3.5.0", "3.6.0", "3.7.0", "3.8.0", "3.9.2", "3.10.0", "3.11.3"),
    *("3.12.0", "3.12.4", "3.13.2", "3.14.1", "3.15.1"),
)
KERAS_2 = "2.21.0"
BACKENDS = ("torch", "jax", "tensorflow")
LIST = Path(__file__).parents[1] / "src" / "ramet" / "_files" / "scanner" / "keras_names.json"

# The modules with the functions that models consist of. Everything else loads, saves, downloads or configures.
FUNCTION_MODULES = (
    "keras.activations",
    "keras.losses",
    "keras.metrics",
    "keras.ops",
    "keras.ops.image",
    "keras.ops.linalg",
    "keras.ops.nn",
    "keras.ops.numpy",
    "keras.random",
)
# The modules of TensorFlow whose functions are layers in models of Keras 2. None of them calls its arguments; functions
# that take the name of a file are left out.
TENSORFLOW_MODULES = (
    *(
        "__operators__",
        "bitwise",
        "image",
        "linalg",
        "math",
        "nn",
        "quantization",
        "ragged",
        "random",
        "sets",
        "signal",
    ),
    *("sparse", "strings"),
)
# These create objects of any class from a config.
_NOT_OF_MODELS = ("deserialize", "get", "serialize")
# Parts of Keras that no model file names: tests, and modules that read and write other files.
_NOT_WALKED = ("testing", "testing_infra", "tests", "saving", "callbacks", "datasets", "export")
# It calls any method of its argument.
_NOT_LISTED = ("ModuleWrapper",)

_ABOUT = "The names in Keras that a safe model file may contain. Written by `python tools/keras_names.py`; do not edit."


def names_here() -> dict[str, list[str]]:
    """Return the names in the installed Keras, on its backend: `classes`, `functions` and `legacy`.

    `legacy` are the names that the reader of `.h5` files finds among the layers.
    """
    from keras import layers, src
    from keras.src import api_export

    backend = importlib.import_module("keras").backend.backend()
    public = api_export.REGISTERED_NAMES_TO_OBJS
    classes = {name for name, value in public.items() if isinstance(value, type) and hasattr(value, "from_config")}
    functions = {
        name
        for name, value in public.items()
        if isinstance(value, types.FunctionType)
        and name.rpartition(".")[0] in FUNCTION_MODULES
        and name.rpartition(".")[2] not in _NOT_OF_MODELS
    }
    for module in _modules(src, f"keras.src.backend.{backend}"):
        classes |= {
            f"{module.__name__}.{name}"
            for name, value in vars(module).items()
            if isinstance(value, type) and hasattr(value, "from_config") and _is_defined_in(value, module, name)
        }
    legacy = vars(importlib.import_module(layers.Dense.__module__.partition(".layers.")[0] + ".layers"))
    return {"classes": sorted(classes), "functions": sorted(functions), "legacy": sorted(legacy)}


def names_of_keras_2() -> dict[str, list[str]]:
    """Return the names in tf_keras, as Keras 2 writes them: `keras.layers`, `keras.src.engine.functional`."""
    import tf_keras
    from tensorflow.python.util import tf_export  # type: ignore[import-not-found]

    classes: set[str] = set()
    functions: set[str] = set()
    for name, value in tf_export._NAME_TO_SYMBOL_MAPPING.items():
        module, _, own = name.rpartition(".")
        if not module.startswith("keras"):
            continue
        if isinstance(value, type) and hasattr(value, "from_config"):
            classes.add(name)
        elif (
            isinstance(value, types.FunctionType)
            and module in ("keras.activations", "keras.losses", "keras.metrics")
            and own not in _NOT_OF_MODELS
        ):
            functions.add(name)
    # TensorFlow's own initializers, which Keras 2 accepts unchanged.
    for name in ("tensorflow.python.ops.init_ops", "tensorflow.python.ops.init_ops_v2"):
        own_names = vars(importlib.import_module(name))
        classes |= {f"{name}.{own}" for own, value in own_names.items() if hasattr(value, "from_config")}
    for module in _modules(tf_keras.src, ""):
        name = module.__name__.removeprefix("tf_")
        classes |= {
            f"{name}.{own}"
            for own, value in vars(module).items()
            if isinstance(value, type) and hasattr(value, "from_config") and _is_defined_in(value, module, own)
        }
    tensorflow: dict[str, bool] = {}
    for name, value in tf_export._NAME_TO_SYMBOL_MAPPING.items():
        own = name.removeprefix("compat.v1.")
        if own.rpartition(".")[0] in TENSORFLOW_MODULES and callable(value) and not isinstance(value, type):
            reads_files = any("file" in parameter for parameter in inspect.signature(value).parameters)
            tensorflow[own] = tensorflow.get(own, False) or reads_files
    return {
        "classes": sorted(classes),
        "functions": sorted(functions),
        "legacy": [],
        "tensorflow": sorted(name for name, reads_files in tensorflow.items() if not reads_files),
    }


def _modules(package: types.ModuleType, backend: str) -> list[types.ModuleType]:
    """Return the modules of a package that can be imported, except tests and other backends.

    `pkgutil.walk_packages` would import other backends only to look inside, and some of them crash beside each other.
    """
    found = []
    waiting = [package]
    while waiting:
        parent = waiting.pop()
        for info in pkgutil.iter_modules(parent.__path__, f"{parent.__name__}."):
            parts = info.name.split(".")
            is_other_backend = info.name.startswith("keras.src.backend.") and parts[3] != "common"
            if is_other_backend and not info.name.startswith(backend):
                continue
            if info.name.endswith(("_test", "test_util")) or "conftest" in parts or parts[2] in _NOT_WALKED:
                continue
            with contextlib.suppress(Exception):  # no file can name what cannot be imported
                found.append(importlib.import_module(info.name))
                waiting += [found[-1]] if info.ispkg else []
    return found


def _is_defined_in(value: type, module: types.ModuleType, name: str) -> bool:
    return value.__module__ == module.__name__ and value.__name__ == name and name not in _NOT_LISTED


def _install(package: str, release: str, folder: Path) -> None:
    if not (folder / release).exists():
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder / release)]
        subprocess.run([*command, f"{package}=={release}"], check=True)


def _query(package: str, release: str, backend: str, folder: Path) -> dict[str, list[str]]:
    """Return the names in a release, from a separate process."""
    print(f"{package} {release} on {backend}", flush=True)
    target = folder / release
    environment = {**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": str(target), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, __file__, "--ask", package], env=environment, check=True, capture_output=True, text=True
    )
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _json(names: dict[str, set[str]]) -> str:
    """Return the list as JSON: for each kind and each module of Keras, the names in it."""
    data: dict[str, Any] = {"about": _ABOUT, "keras": " ".join(RELEASES), "tf_keras": KERAS_2}
    for kind in ("classes", "functions", "tensorflow"):
        by_module: defaultdict[str, list[str]] = defaultdict(list)
        for name in sorted(names[kind]):
            module, _, own = name.rpartition(".")
            by_module[module].append(own)
        data[kind] = {module: " ".join(sorted(own)) for module, own in sorted(by_module.items())}
    data["legacy"] = " ".join(sorted(names["legacy"]))
    return json.dumps(data, indent=1) + "\n"


def main(arguments: Any = None) -> None:
    """Query every release and write the list."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ask", choices=("keras", "tf_keras"), help="print the names in the Keras installed here")
    parser.add_argument("--folder", type=Path, help="the folder to install releases in, which is kept for the next run")
    options = parser.parse_args(arguments)
    if options.ask:
        print(json.dumps(names_here() if options.ask == "keras" else names_of_keras_2()))
        return
    names: dict[str, set[str]] = {"classes": set(), "functions": set(), "legacy": set(), "tensorflow": set()}
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for package, release in [("tf_keras", KERAS_2), *(("keras", release) for release in RELEASES)]:
            _install(package, release, folder)
        queries = [("keras", release, backend) for release in RELEASES for backend in BACKENDS]
        workers = stack.enter_context(ThreadPoolExecutor(max_workers=os.cpu_count()))
        for names_of_release in workers.map(
            lambda one: _query(*one, folder), [*queries, ("tf_keras", KERAS_2, "tensorflow")]
        ):
            for kind, found in names_of_release.items():
                names[kind] |= set(found)
    bare = {name.rpartition(".")[2] for name in names["classes"]}
    names["legacy"] -= bare
    LIST.write_text(_json(names), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
