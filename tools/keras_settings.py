"""Write the table of all settings of Keras' own classes, by release: `python tools/keras_settings.py`.

`ramet port` rewrites a model file for another release of Keras. For that it has to know which classes a release has, which
settings each of them takes, and what the defaults are. This script installs each release, queries it in a process of its
own, and writes `src/ramet/_port/keras_settings.json`. A test compares the table with the installed Keras.

To support a new release, add it to `RELEASES` and run the script again. Given releases are queried again; all others keep
what the table says about them:

    python tools/keras_settings.py 3.16.0
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import inspect
import json
import math
import os
import pkgutil
import subprocess
import sys
import tempfile
import textwrap
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

RELEASES = (
    *("3.0.5", "3.1.1", "3.2.1", "3.3.3", "3.4.1", "3.5.0", "3.6.0", "3.7.0", "3.8.0", "3.9.2", "3.10.0", "3.11.3"),
    *("3.12.4", "3.13.2", "3.14.1", "3.15.1"),
)
TABLE = Path(__file__).parents[1] / "src" / "ramet" / "_port" / "keras_settings.json"

# What the first releases of Keras 3 import, and newer ones do not.
_NEEDED = ("dm-tree", "absl-py", "attrs", "namex", "wrapt")
_FUNCTION_MODULES = ("keras.activations", "keras.losses", "keras.metrics", "keras.ops", "keras.random")
# The modules with names such as "mse", which a config contains instead of an object.
_NAMED = ("activations", "constraints", "initializers", "losses", "metrics", "optimizers", "regularizers")
# No model file names what is in these parts.
_NOT_WALKED = (
    "applications",
    "callbacks",
    "datasets",
    "distribution",
    "export",
    "legacy",
    "testing",
    "trainers",
    "wrappers",
)
_ABOUT = "Settings of Keras' own classes by release. Written by `python tools/keras_settings.py`; do not edit."

_REQUIRED = {"?": "required"}
_NO_JSON = {"?": "object"}
_Data = dict[str, Any]


# What one release contains. These functions run in a process with that release.


def settings_here() -> _Data:
    """Return the classes, functions and short names of the installed Keras."""
    from keras.src import api_export

    public = dict(api_export.REGISTERED_NAMES_TO_OBJS)
    classes = {name: value for name, value in public.items() if _is_serializable(value)}
    exported = {id(value) for value in classes.values()}
    for module in _modules():
        for name, value in vars(module).items():
            if _is_serializable(value) and value.__module__ == module.__name__ and id(value) not in exported:
                classes[f"{module.__name__}.{name}"] = value
    functions = {
        name: _parameters(value)
        for name, value in public.items()
        if isinstance(value, types.FunctionType) and name.startswith(tuple(f"{each}." for each in _FUNCTION_MODULES))
    }
    found: _Data = {"classes": {}, "functions": functions, "names": {}}
    first: dict[int, str] = {}
    # The name that files use comes first: "keras.layers.Dense" rather than "keras.src.layers.core.dense.Dense".
    for name in sorted(classes, key=lambda name: (name != _name_in_files(classes[name]), name)):
        value = classes[name]
        canonical = first.setdefault(id(value), name)
        found["classes"][name] = _describe(value) if canonical == name else {"same": canonical}
    for kind in _NAMED:
        module = importlib.import_module(f"keras.src.{kind}")
        names = {*getattr(module, "ALL_OBJECTS_DICT", {})}
        found["names"][kind] = sorted(name for name in names if isinstance(name, str))
    return found


def _name_in_files(value: type) -> str:
    from keras.src.api_export import get_name_from_symbol

    return get_name_from_symbol(value) or f"{value.__module__}.{value.__name__}"


def _is_serializable(value: Any) -> bool:
    return isinstance(value, type) and hasattr(value, "from_config") and value.__module__.startswith("keras.")


def _modules() -> Iterator[types.ModuleType]:
    from keras import src

    waiting: list[types.ModuleType] = [src]
    while waiting:
        parent = waiting.pop()
        for info in pkgutil.iter_modules(parent.__path__, f"{parent.__name__}."):
            parts = info.name.split(".")
            is_backend = parts[2] == "backend" and len(parts) > 3 and parts[3] != "common"
            if is_backend or parts[2] in _NOT_WALKED or info.name.endswith(("_test", "test_util", "conftest")):
                continue
            with contextlib.suppress(Exception):  # no file can name what cannot be imported
                module = importlib.import_module(info.name)
                yield module
                waiting += [module] if info.ispkg else []


def _describe(value: type) -> _Data:
    """Return the settings of a class, the arguments of its call, and the allowed texts of settings."""
    from keras import Layer, Model

    init, keys = _init(value)
    described: _Data = {"init": init}
    described["keys"] = sorted({*keys, *_keys_of_from_config(value)} - init.keys())
    described["values"] = _allowed_texts(value, init)
    if inspect.isfunction(getattr(value, "call", None)):
        described["call"] = _parameters(value.call)
    if value is Model:
        described["compile"] = _parameters(value.compile)
    if value is not Layer and issubclass(value, Layer):
        described["layer"] = True
        base, base_keys = _init(Layer)
        if all(name in init and init[name] == default for name, default in base.items()):
            described["init"] = {name: default for name, default in init.items() if name not in base}
            described["more"] = True
            described["keys"] = sorted(set(described["keys"]) - base_keys)
    return {key: item for key, item in described.items() if item or key in ("init", "call")}


def _init(value: type) -> tuple[dict[str, Any], set[str]]:
    """Return the parameters of a class with those of its bases, and the keys that it takes out of its **kwargs."""
    found: dict[str, Any] = {}
    keys: set[str] = set()
    for each in value.__mro__:
        own = vars(each).get("__init__")
        if each is object or not inspect.isfunction(own):
            continue
        own = inspect.unwrap(own)
        parameters = _parameters(own)
        passes_on = parameters.pop("**", None)
        for name, default in parameters.items():
            found.setdefault(name, default)
        if not passes_on:
            break
        keys |= _keys_read(own, passes_on)
    return found, keys


def _parameters(function: Any) -> dict[str, Any]:
    """Return the defaults by parameter. The name of the parameter for all others is at "**"."""
    found: dict[str, Any] = {}
    for parameter in inspect.signature(inspect.unwrap(function)).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            found["**"] = parameter.name
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            found["*"] = parameter.name
        elif parameter.name not in ("self", "cls"):
            found[parameter.name] = _REQUIRED if parameter.default is parameter.empty else _default(parameter.default)
    return found


def _default(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_default(item) for item in value]
    is_json = (
        value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    )
    return value if is_json or value == {} else _NO_JSON


def _keys_of_from_config(value: type) -> set[str]:
    for each in value.__mro__:
        own = vars(each).get("from_config")
        if isinstance(own, classmethod):
            return _keys_read(own.__func__, "config")
    return set()


def _tree(value: Any) -> ast.AST:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(value)))
    except (OSError, SyntaxError, TypeError):
        return ast.Module([], [])


def _keys_read(function: Any, holder: str) -> set[str]:
    """Return the keys that a function reads from a dict: `kwargs.pop("x")`, `kwargs["x"]`, `"x" in kwargs`."""
    found = set()
    for node in ast.walk(_tree(function)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr="pop" | "get"),
                args=[ast.Constant(value=str(key)), *_],
            ) if owner == holder:
                found.add(key)
            case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str(key))) if owner == holder:
                found.add(key)
            case ast.Compare(left=ast.Constant(value=str(key)), comparators=[ast.Name(id=owner)]) if owner == holder:
                found.add(key)
    return found


def _allowed_texts(value: type, init: dict[str, Any]) -> dict[str, list[str]]:
    """Return the texts with which a class compares a setting: `if padding not in ("valid", "same")`."""
    found: dict[str, list[str]] = {}
    for each in value.__mro__:
        if not each.__module__.startswith("keras.src.") or "__init__" not in vars(each):
            continue
        for node in ast.walk(_tree(vars(each)["__init__"])):
            match node:
                case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[allowed]):
                    name = (
                        left.id if isinstance(left, ast.Name) else left.attr if isinstance(left, ast.Attribute) else ""
                    )
                    texts = _texts(allowed, each)
                    if name in init and texts and all(isinstance(text, str) for text in texts):
                        found[name] = sorted({*texts, *found.get(name, [])})
    return found


def _texts(node: ast.expr, owner: type) -> list[Any]:
    """Return the items of a literal, or of the constant that a name stands for."""
    with contextlib.suppress(ValueError):
        literal = ast.literal_eval(node)
        return [item for item in literal if item is not None] if isinstance(literal, list | tuple | set) else []
    constant: Any = None
    if isinstance(node, ast.Name):
        constant = getattr(sys.modules[owner.__module__], node.id, None)
    elif isinstance(node, ast.Attribute):
        constant = getattr(owner, node.attr, None)
    return [item for item in constant if item is not None] if isinstance(constant, list | tuple | set | dict) else []


# The table over all releases.


def merge(releases: list[str], found: dict[str, _Data]) -> _Data:
    """Return the table: for each name, spans of releases in which nothing changes, as `[first, last, description]`."""
    table: _Data = {"about": _ABOUT, "releases": releases}
    for kind in ("classes", "functions"):
        names = sorted({name for data in found.values() for name in data[kind]})
        table[kind] = {name: _spans([found[release][kind].get(name) for release in releases]) for name in names}
    table["names"] = {}
    for kind in _NAMED:
        names = sorted({name for data in found.values() for name in data["names"][kind]})
        listed = {
            name: [True if name in found[release]["names"][kind] else None for release in releases] for name in names
        }
        table["names"][kind] = {name: [span[:2] for span in _spans(each)] for name, each in listed.items()}
    return table


def _spans(descriptions: list[Any]) -> list[list[Any]]:
    spans: list[list[Any]] = []
    for number, description in enumerate(descriptions):
        if description is None:
            continue
        if spans and spans[-1][1] == number - 1 and spans[-1][2] == description:
            spans[-1][1] = number
        else:
            spans.append([number, number, description])
    return spans


def split(table: _Data) -> dict[str, _Data]:
    """Return what a table says about each release: the inverse of `merge`."""
    found = {release: {"classes": {}, "functions": {}, "names": {}} for release in table["releases"]}
    for number, release in enumerate(table["releases"]):
        for kind in ("classes", "functions"):
            for name, spans in table[kind].items():
                for first, last, description in spans:
                    if first <= number <= last:
                        found[release][kind][name] = description
        for kind, names in table["names"].items():
            found[release]["names"][kind] = [
                name for name, spans in names.items() if any(first <= number <= last for first, last in spans)
            ]
    return found


def to_json(table: _Data) -> str:
    """Return the table as JSON with one line per name, so that a new release is a readable change."""

    def dump(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    lines = [f' "about": {dump(table["about"])}', f' "releases": {dump(table["releases"])}']
    for kind in ("classes", "functions", "names"):
        rows = ",\n".join(f"  {dump(name)}: {dump(value)}" for name, value in table[kind].items())
        lines.append(f" {dump(kind)}: {{\n{rows}\n }}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _install(packages: tuple[str, ...], folder: Path) -> None:
    if not folder.exists():
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
        subprocess.run([*command, *packages], check=True)


def _query(release: str, folder: Path) -> _Data:
    print(f"keras {release}", flush=True)
    path = os.pathsep.join(map(str, (folder / release, folder / "needed")))
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "PYTHONPATH": path}
    environment["TF_CPP_MIN_LOG_LEVEL"] = "3"
    command = [sys.executable, __file__, "--ask"]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: _Data = json.loads(done.stdout.splitlines()[-1])
    return found


def main(arguments: Any = None) -> None:
    """Query releases and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("releases", nargs="*", help="the releases to query; all by default")
    parser.add_argument("--ask", action="store_true", help="print the settings of the Keras installed here")
    parser.add_argument("--folder", type=Path, help="the folder to install releases in, which is kept for the next run")
    options = parser.parse_args(arguments)
    if options.ask:
        print(json.dumps(settings_here()))
        return
    releases = options.releases or list(RELEASES)
    known = split(json.loads(TABLE.read_text(encoding="utf-8"))) if options.releases and TABLE.exists() else {}
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _install(_NEEDED, folder / "needed")
        for release in releases:
            _install((f"keras=={release}",), folder / release)
        workers = stack.enter_context(ThreadPoolExecutor(max_workers=os.cpu_count()))
        queried = workers.map(lambda release: _query(release, folder), releases)
        known |= dict(zip(releases, queried, strict=True))
    ordered = sorted(known, key=lambda release: [int(part) for part in release.split(".")])
    TABLE.write_text(to_json(merge(ordered, known)), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
