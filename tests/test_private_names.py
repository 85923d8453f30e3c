"""Keras' private names are used in src/ramet/_keras only, so that support for a new Keras is added in one room."""

import ast
import functools
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "ramet"

# The modules below keras/src that define live models. The rest (applications, callbacks, datasets, ...) holds no state of a
# model, and its many generic names (`_run`, `_step`) would only raise false alarms.
PARTS = (
    "backend",
    "distribution",
    "dtype_policies",
    "layers",
    "losses",
    "metrics",
    "models",
    "ops/function.py",
    "ops/node.py",
    "ops/operation.py",
    "ops/symbolic_arguments.py",
    "optimizers",
    "quantizers",
    "random",
    "trainers",
    "utils/tracking.py",
    "wrappers",
)
# Set by setattr or by name in Keras itself, so assignments in the source do not show them.
SET_BY_NAME = frozenset({"_keras_history", "_keras_mask"})

# Names in other rooms that are spelled like a private name of Keras, by room and name, with their meaning.
SPELLED_ALIKE: dict[tuple[str, str], str] = {
    ("__init__.py", "_build"): "a room",
    ("_edit", "_initializer"): "the suffix of a public attribute",
    ("_edit", "_shape"): "the suffix of a key in a build config",
    ("_copy", "_dtype"): "an attribute of TensorFlow's resource variables",
    ("_copy", "_name"): "an attribute of TensorFlow's variable handles",
    ("_copy", "_shape"): "an attribute of TensorFlow's resource variables",
    ("_copy", "_shared_name"): "an attribute of TensorFlow's lookup tables",
}
_GROUPS = ("_dropout_layer", "_softmax")
_SAVED = ("_dropout_layer", "_initialize", "_lookup_layer", "_metrics", "_shape", "_softmax")
SPELLED_ALIKE |= {("_port", name): "a name in saved files" for name in _SAVED}
SPELLED_ALIKE |= {("_files", name): "a group in weights files" for name in _GROUPS}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@functools.cache
def private_names() -> frozenset[str]:
    """Return every private attribute and method that the classes of Keras' models define."""
    spec = importlib.util.find_spec("keras")
    assert spec is not None
    assert spec.submodule_search_locations
    source = Path(spec.submodule_search_locations[0]) / "src"
    found = set(SET_BY_NAME)
    for part in PARTS:
        path = source / part
        assert path.exists(), f"Keras has moved src/{part}: update PARTS."
        for file in [path] if path.is_file() else path.rglob("*.py"):
            if not file.stem.endswith("_test"):
                found.update(filter(is_private, defined(ast.parse(file.read_bytes()))))
    return frozenset(found)


def defined(tree: ast.AST) -> Iterator[str]:
    """Yield the attributes assigned anywhere, and the names defined in class bodies."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ctx=ast.Store(), attr=name):
                yield name
            case ast.ClassDef(body=body):
                for statement in body:
                    match statement:
                        case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                            yield name
                        case ast.Assign(targets=targets):
                            yield from (t.id for t in targets if isinstance(t, ast.Name))


def used(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of each private name taken from another object, as an attribute or as a string."""
    own = {id(text) for text in own_slots(tree)}
    for node in ast.walk(tree):
        match node:
            # Names on self and cls belong to our own classes; `ramet._build` is one of our rooms.
            case ast.Attribute(value=ast.Name(id="self" | "cls" | "ramet")):
                pass
            case ast.Attribute(attr=name) if is_private(name):
                yield node.lineno, name
            case ast.Constant(value=str(text)) if id(node) not in own:
                # Including dotted forms, as for attrgetter; a sentence is not a name.
                if text.startswith("ramet.") or not text.replace(".", "").isidentifier():
                    continue
                yield from ((node.lineno, name) for name in text.split(".") if is_private(name))
            case ast.keyword(arg=str(name)) if is_private(name):
                yield node.lineno, name  # vars(layer).update(_path=...)
            case ast.MatchClass(kwd_attrs=names):
                yield from ((node.lineno, name) for name in names if is_private(name))


def own_slots(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the strings that name the slots of our own classes."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id="__slots__" | "__match_args__")], value=value):
                yield from ast.walk(value)


def files() -> list[str]:
    """Return the files outside the Keras room, relative to the package."""
    every = (path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    return sorted(file for file in every if Path(file).parts[0] not in {"_keras", "_keras.py"})


def leaks(source: str) -> list[tuple[int, str]]:
    return sorted({hit for hit in used(ast.parse(source)) if hit[1] in private_names()})


def test_private_names_are_found_in_the_installed_keras() -> None:
    known = {
        *("_inbound_nodes", "_outbound_nodes", "_nodes_by_depth", "_operations", "_functional"),
        *("_keras_history", "_keras_mask", "_tracker", "_layers", "_loss_ids", "_metrics"),
        *("_value", "_trainable", "_dtype_policy", "_torch_params", "_jax_state"),
        *("_compile_config", "_trainable_variables_indices", "_run_through_graph", "_maybe_build"),
    }

    assert known - private_names() == set()


@pytest.mark.parametrize("file", files())
def test_private_names_of_keras_are_used_in_its_room_only(file: str) -> None:
    found = [
        f"src/ramet/{file}:{line} uses '{name}', a private name of Keras: "
        "move it to ramet/_keras, or list it in SPELLED_ALIKE with a reason."
        for line, name in leaks((PACKAGE / file).read_text(encoding="utf-8"))
        if (Path(file).parts[0], name) not in SPELLED_ALIKE
    ]

    assert not found, "\n".join(found)


def test_every_exception_is_still_needed() -> None:
    # Checks whether the room uses the name, not whether this Keras has it: the oldest and the newest version differ.
    needed = {
        (Path(file).parts[0], name)
        for file in files()
        for _, name in used(ast.parse((PACKAGE / file).read_text(encoding="utf-8")))
    }

    assert SPELLED_ALIKE.keys() - needed == set()


@pytest.mark.parametrize(
    "source",
    [
        "layer._inbound_nodes",
        "self.model._functional",
        "layer._losses = []",
        "getattr(layer, '_tracker')",
        "attrgetter('layer._tracker')",
        "SKIPPED = {'_loss_ids'}",
        "vars(layer).update(_path='a')",
        "match x:\n    case Tensor(_keras_history=h): pass",
    ],
)
def test_use_of_a_private_name_is_found(source: str) -> None:
    assert len(leaks(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "class Memo:\n    __slots__ = ('_value',)\n    def get(self): return self._value",
        "layer.variables",
        "layer.__dict__",
        "from ramet import _build\nimport ramet\nramet._build",
        "import_module('ramet._build')",
        "raise ValueError('the variable has no _value')",
        "record._a_name_keras_does_not_have",
    ],
)
def test_our_own_names_are_allowed(source: str) -> None:
    assert leaks(source) == []
