"""Keras' private names stand in src/ramet/_keras only: one room to mend when Keras changes."""

import ast
import functools
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "ramet"

# What live models are made of, below keras/src. The rest (applications, callbacks, datasets, ...) holds no
# state of a model, and its many generic names (`_run`, `_step`) would only raise false alarms.
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
# Set by setattr or by name in Keras itself, where reading the source for assignments cannot see them.
SET_BY_NAME = frozenset({"_keras_history", "_keras_mask"})

# (file below src/ramet, name): whose name it is there, although Keras has one that is spelt the same.
SPELT_ALIKE: dict[tuple[str, str], str] = {
    ("_edit/head.py", "_initializer"): "the end of the name of a public attribute",
    ("_edit/resizing.py", "_shape"): "the end of a key in a build config",
    ("_copy/tensorflow_plans.py", "_dtype"): "of TensorFlow's resource variables",
    ("_copy/tensorflow_plans.py", "_name"): "of TensorFlow's variable handles",
    ("_copy/tensorflow_plans.py", "_shape"): "of TensorFlow's resource variables",
    ("_copy/tensorflow_plans.py", "_shared_name"): "of TensorFlow's lookup tables",
}
_GROUPS = ("_dropout_layer", "_softmax", "_key_dense", "_output_dense", "_query_dense", "_value_dense")
SPELT_ALIKE |= {("_files/known.py", name): "the name of a group in files" for name in _GROUPS}


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
        assert path.exists(), f"Keras has moved src/{part}: bring PARTS up to date."
        for file in [path] if path.is_file() else path.rglob("*.py"):
            if not file.stem.endswith("_test"):
                found.update(filter(is_private, defined(ast.parse(file.read_bytes()))))
    return frozenset(found)


def defined(tree: ast.AST) -> Iterator[str]:
    """Yield the attributes assigned anywhere and what class bodies define."""
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
            # On self and cls stand the names of our own classes; `ramet._build` is a room of ours.
            case ast.Attribute(value=ast.Name(id="self" | "cls" | "ramet")):
                pass
            case ast.Attribute(attr=name) if is_private(name):
                yield node.lineno, name
            case ast.Constant(value=str(text)) if id(node) not in own:
                # Also in dotted form, as attrgetter takes it; a sentence is not a name.
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


def test_the_names_are_found_in_the_installed_keras() -> None:
    known = {
        *("_inbound_nodes", "_outbound_nodes", "_nodes_by_depth", "_operations", "_functional"),
        *("_keras_history", "_keras_mask", "_tracker", "_layers", "_loss_ids", "_metrics"),
        *("_value", "_trainable", "_dtype_policy", "_torch_params", "_jax_state"),
        *("_compile_config", "_trainable_variables_indices", "_run_through_graph", "_maybe_build"),
    }

    assert known - private_names() == set()


@pytest.mark.parametrize("file", files())
def test_a_private_name_of_keras_stands_in_its_room_only(file: str) -> None:
    found = [
        f"src/ramet/{file}:{line} uses '{name}', a private name of Keras: "
        "move it to ramet/_keras, or list it in SPELT_ALIKE with a reason."
        for line, name in leaks((PACKAGE / file).read_text(encoding="utf-8"))
        if (file, name) not in SPELT_ALIKE
    ]

    assert not found, "\n".join(found)


def test_every_exception_is_still_needed() -> None:
    # Whether the file uses the name, not whether this Keras has it: the oldest and the newest differ.
    needed = {
        (file, name)
        for file in {file for file, _ in SPELT_ALIKE}
        if (PACKAGE / file).exists()
        for _, name in used(ast.parse((PACKAGE / file).read_text(encoding="utf-8")))
    }

    assert SPELT_ALIKE.keys() - needed == set()


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
def test_a_use_of_a_private_name_is_found(source: str) -> None:
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
def test_what_is_ours_is_left_alone(source: str) -> None:
    assert leaks(source) == []
