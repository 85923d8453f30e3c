"""The allowed imports between rooms, checked in the sources; docs/design.md has a diagram."""

import ast
import fnmatch
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "ramet"

# Lower rooms first: a room may import those before it.
DATA = ("errors", "_arguments", "_report", "_graph", "_select", "_diff", "_files", "_port", "_source", "_draw")
LIVE = ("_keras", "_copy", "_build", "_weights", "_edit")
# The rooms on top, which may import all others.
TOP = ("__init__", "__main__", "_cli", "_loading", "_reading", "testing", "edits")

MAY_IMPORT: dict[str, set[str]] = {
    **{room: set(DATA[:number]) for number, room in enumerate(DATA)},
    **{room: {*DATA, *LIVE[:number]} for number, room in enumerate(LIVE)},
    # Verification must not depend on the code that makes copies.
    "_verify": {*DATA, "_keras"},
}
MAY_IMPORT |= {room: {*MAY_IMPORT, *TOP} for room in TOP}

# Deferred imports of higher rooms: a notebook shows a graph as a picture; a source may be a live model; `edit(check=True)` verifies;
# a recipe may contain any edit that is registered.
UPWARDS = {
    ("_graph/text.py", "_draw"),
    ("_source.py", "_keras"),
    ("_edit/engine.py", "_verify"),
    ("_edit/recipe.py", "edits"),
}
# The list of edits registers each one from its own file, so that adding an edit takes one line.
DEEP = {("edits.py", "_edit.edits")}

# Scripts that run in a process of their own, perhaps with another Python, where ramet is not installed.
SCRIPTS = {"_port/run_model.py"}

KNOWS_KERAS = {*LIVE, *TOP, "_verify", "_source"}
BACKENDS = {
    "jax": "jax",
    "jaxlib": "jax",
    "flax": "jax",
    "torch": "torch",
    "tensorflow": "tensorflow",
}
# In these rooms, a file named after a backend is the one that may import it.
BACKEND_FILE = re.compile(r"(?:_copy|_weights)/(?:.*/)?_?(jax|torch|tensorflow)(?:_\w+)?(?:\.py|/)")


def room_of(file: str) -> str:
    return Path(file).parts[0].removesuffix(".py")


def files() -> list[str]:
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def imported(source: str, file: str) -> Iterator[tuple[int, str]]:
    """Yield line and full dotted name of every import, including those inside functions."""
    folder = ["ramet", *Path(file).parts[:-1]]
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                for name in names:
                    yield node.lineno, name.name
            case ast.ImportFrom(module=module, names=names, level=level):
                base = folder[: len(folder) - level + 1] if level else []
                for name in names:
                    yield node.lineno, ".".join([*base, *filter(None, [module]), name.name])
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name
            case ast.Attribute(value=ast.Name(id="keras"), attr="src"):
                yield node.lineno, "keras.src"


@functools.cache
def face(room: str) -> frozenset[str] | None:
    """Return the names that a room exports in its `__init__.py`, or None for a single file."""
    init = PACKAGE / room / "__init__.py"
    if not init.exists():
        return None
    for node in ast.parse(init.read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                return frozenset(ast.literal_eval(node.value))
    return frozenset()


def objection(file: str, name: str) -> str | None:
    """Return the rule that this import breaks, or None."""
    room = room_of(file)
    library, *inner = name.split(".")
    if file in SCRIPTS:
        return "a script imports nothing of ramet" if library == "ramet" else None
    if library == "ramet":
        # A name that is not a room comes from the package itself.
        target = inner[0] if inner and inner[0] in MAY_IMPORT else "__init__"
        if target == room:
            return None
        if target not in MAY_IMPORT[room] and (file, target) not in UPWARDS:
            return f"the room '{room}' may not import '{target}'"
        if (file, ".".join(inner[:2])) in DEEP:
            return None
        if len(inner) > 2 or (len(inner) == 2 and (exported := face(target)) is not None and inner[1] not in exported):
            return f"'{target}' does not export it; import what ramet.{target} lists in __all__"
    elif library == "keras":
        if inner[:1] == ["src"]:
            return "keras.src moves between versions: never import it"
        if room not in KNOWS_KERAS:
            return f"the room '{room}' is on the data side and must not know Keras"
    elif library in BACKENDS and room != "_keras":
        own = BACKEND_FILE.match(file)
        if own is None or own[1] != BACKENDS[library]:
            return f"{library} may be imported in '_keras' and in a file of '_copy' or '_weights' named after it"
    return None


def objections(source: str, file: str) -> list[str]:
    return [
        f"src/ramet/{file}:{line} imports {name}: {rule}."
        for line, name in imported(source, file)
        if (rule := objection(file, name))
    ]


def test_every_room_is_in_the_table() -> None:
    rooms = {room_of(file) for file in files()}

    unknown = sorted(rooms - MAY_IMPORT.keys())
    assert not unknown, f"Add {unknown} to DATA, LIVE, TOP or MAY_IMPORT in tests/test_rooms.py."


@pytest.mark.parametrize("file", [file for file in files() if room_of(file) in MAY_IMPORT])
def test_room_imports_only_lower_rooms(file: str) -> None:
    found = objections((PACKAGE / file).read_text(encoding="utf-8"), file)

    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("_graph/call.py", "import keras"),
        ("_graph/call.py", "def late():\n    from keras import ops"),
        ("_graph/call.py", "from .._edit import recipe"),
        ("_diff.py", "from . import _copy"),
        ("_diff.py", "from ramet import clone"),
        ("_draw/text.py", "import importlib\nimportlib.import_module('torch')"),
        ("_copy/memo.py", "from ramet._edit import swap"),
        ("_copy/memo.py", "import jax.numpy as jnp"),
        ("_copy/_torch.py", "import jax"),
        ("_verify/state.py", "from .._copy import memo"),
        ("_keras/__init__.py", "from keras.src import backend"),
        ("_keras/__init__.py", "from keras import src"),
        ("_keras/__init__.py", "import keras\nkeras.src.backend"),
        ("_cli.py", "import tensorflow as tf"),
        ("_cli/clone.py", "from ramet._graph.op import Op"),
        ("_cli/clone.py", "from ramet._graph import no_such_name"),
    ],
)
def test_forbidden_import_is_found(file: str, source: str) -> None:
    assert len(objections(source, file)) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("_graph/call.py", "from ..errors import RametError\nfrom .value import Value"),
        ("_select.py", "from ._graph import Graph"),
        ("_copy/_torch_module.py", "import torch\nfrom .._keras import structure"),
        ("_copy/backend/jax.py", "import flax\nfrom ... import _keras"),
        ("_verify.py", "import keras\nfrom ramet import _keras, errors"),
        ("_keras/state.py", "import jax, tensorflow, torch"),
        ("_cli/clone.py", "from .. import _copy, _verify"),
    ],
)
def test_permitted_import_is_accepted(file: str, source: str) -> None:
    assert objections(source, file) == []


def test_import_ramet_loads_no_heavy_library() -> None:
    # Compared with the modules loaded before: site-packages may load others at start-up.
    program = (
        "import sys; before = set(sys.modules); import ramet;"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    loaded = set(run.stdout.split())

    assert "ramet" in loaded
    assert loaded & {"keras", "jax", "torch", "tensorflow", "numpy", "rich"} == set()


def test_pytest_collects_every_folder_of_tests(request):
    left_out = request.config.getini("norecursedirs")
    folders = {path.parent for path in Path(__file__).parent.rglob("test_*.py")}

    assert [folder.name for folder in folders if any(fnmatch.fnmatch(folder.name, glob) for glob in left_out)] == []
