"""`ramet.__all__` lists exactly what is public, and the docstrings of public names are a complete reference."""

import ast
import builtins
import doctest
import inspect
import re
import types
from collections.abc import Iterator
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import ramet
from ramet import edits, errors, testing

# Every public name as users write it. Edits are classes, whose constructors take the arguments.
PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (ramet, edits, errors, testing)
    for name in module.__all__
}
FUNCTIONS = {name: thing for name, thing in PUBLIC.items() if inspect.isfunction(thing)}
CLASSES = {name: thing for name, thing in PUBLIC.items() if inspect.isclass(thing)}
EDITS = {name: thing for name, thing in CLASSES.items() if name.startswith("ramet.edits.")}
STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
SECTIONS = ("Args", "Attributes", "Returns", "Raises")


def section(thing: Any, title: str) -> str:
    """Return the text of a section of a docstring; empty if there is none."""
    found = re.search(rf"^{title}:\n((?: {{4}}.*\n|\n)+)", f"{inspect.getdoc(thing)}\n", re.MULTILINE)
    return found[1] if found else ""


def described(thing: Any, title: str) -> list[str]:
    """Return the names that a section of a docstring describes, in order."""
    return re.findall(r"^ {4}(\*{0,2}\w+): \S", section(thing, title), re.MULTILINE)


def parameters(thing: Any) -> list[str]:
    """Return the parameters of a function, or of a constructor, as a docstring names them."""
    found = inspect.signature(thing).parameters.values()
    return [f"{STARS.get(one.kind, '')}{one.name}" for one in found]


def attributes(cls: type) -> list[str]:
    """Return the public attributes that a class declares; the constructor of an error sets them."""
    found = list(inspect.get_annotations(cls))
    if issubclass(cls, errors.RametError):
        base: Any = cls.__mro__[1]
        inherited = vars(base("summary")) if issubclass(base, errors.RametError) else ()
        found = [name for name in vars(cls("summary")) if name not in inherited]
    return [name for name in found if not name.startswith("_")]


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class that are written in ramet."""
    for name in dir(cls):
        raw = inspect.getattr_static(cls, name)
        code = getattr(raw, "fget", None) or getattr(raw, "func", None) or getattr(raw, "__func__", raw)
        is_ours = inspect.isfunction(code) and code.__module__.startswith("ramet.")
        if is_ours and not name.startswith("_"):
            yield name, raw if isinstance(raw, property | cached_property) else getattr(cls, name)


def test_all_is_sorted_without_duplicates() -> None:
    assert list(ramet.__all__) == sorted(set(ramet.__all__))


@pytest.mark.parametrize("name", ramet.__all__)
def test_a_public_name_exists_and_is_listed_by_dir(name: str) -> None:
    assert hasattr(ramet, name)
    assert name in dir(ramet)


def test_nothing_public_is_missing_from_all() -> None:
    for name in ramet.__all__:  # names are loaded on first use
        getattr(ramet, name)
    public = {
        name
        for name, thing in vars(ramet).items()
        if not name.startswith("_") and not isinstance(thing, types.ModuleType)
    }

    # `from typing import TYPE_CHECKING` and `from __future__ import annotations` leave their own names behind.
    assert public - set(ramet.__all__) - {"TYPE_CHECKING", "annotations"} == set()


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_a_docstring_that_ends_with_an_example(name: str) -> None:
    # A class does not inherit this attribute.
    text = inspect.cleandoc(PUBLIC[name].__doc__ or "")
    examples = doctest.DocTestParser().get_examples(text)
    shown = "".join(f"{example.source}{example.want}" for example in examples)
    after = text[text.find(">>> ") :]

    assert examples
    assert not re.search(rf"^({'|'.join(SECTIONS)}):$", after, re.MULTILINE)
    # A class of results need not be named: a function returns it.
    if name not in CLASSES or name in EDITS or name.startswith("ramet.errors."):
        assert name.rpartition(".")[2] in shown


@pytest.mark.parametrize("name", [*FUNCTIONS, *EDITS])
def test_the_arguments_in_a_docstring_are_those_of_the_signature(name: str) -> None:
    assert described(PUBLIC[name], "Args") == parameters(PUBLIC[name])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_with_a_result_describes_it(name: str) -> None:
    has_result = inspect.signature(FUNCTIONS[name]).return_annotation != "None"

    assert bool(section(FUNCTIONS[name], "Returns")) == has_result


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in EDITS])
def test_the_attributes_in_a_docstring_are_those_of_the_class(name: str) -> None:
    assert described(CLASSES[name], "Attributes") == attributes(CLASSES[name])


@pytest.mark.parametrize("name", CLASSES)
def test_methods_and_properties_of_a_public_class_have_docstrings(name: str) -> None:
    found = dict(members(CLASSES[name]))
    with_arguments = {member: thing for member, thing in found.items() if described(thing, "Args")}
    expected = {member: [one for one in parameters(thing) if one != "self"] for member, thing in with_arguments.items()}

    assert [member for member, thing in found.items() if not inspect.getdoc(thing)] == []
    # The summary of a method may describe its only argument, but a list of arguments is complete.
    assert {member: described(thing, "Args") for member, thing in with_arguments.items()} == expected


@pytest.mark.parametrize("name", PUBLIC)
def test_the_errors_in_a_docstring_exist(name: str) -> None:
    thing = PUBLIC[name]
    documented = [thing, *(member for _, member in members(thing))] if inspect.isclass(thing) else [thing]
    raised = {error for one in documented for error in described(one, "Raises")}

    assert raised <= {*errors.__all__, *dir(builtins)}


def test_every_public_name_has_a_room() -> None:
    assert {*ramet._ROOMS, "edits", "errors"} == set(ramet.__all__)


def test_type_checkers_see_every_public_name() -> None:
    tree = ast.parse(Path(ramet.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = {
        name.name: (node.module or "").removeprefix("ramet.")
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module != "ramet"
        for name in node.names
    }

    assert imports == ramet._ROOMS


@pytest.mark.parametrize("name", ["capture", "clone", "cut", "diff", "draw", "edit", "plan", "scan", "select", "show"])
def test_a_public_function_is_defined_once(name: str) -> None:
    sources = Path(ramet.__file__).parent.rglob("*.py")
    found = [
        path.name for path in sources if re.search(rf"^def {name}\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]

    assert len(found) == 1


def test_the_annotations_of_public_functions_name_public_types() -> None:
    results = {
        "capture": "Graph",
        "diff": "Diff",
        "draw": "Picture",
        "plan": "Plan",
        "read_recipe": "Recipe",
        "scan": "ScanReport",
        "select": "Selection",
        "transfer": "TransferReport",
        "verify": "Report",
    }

    assert {name: inspect.signature(getattr(ramet, name)).return_annotation for name in results} == results


def test_version_is_that_of_the_installed_package() -> None:
    assert ramet.__version__ == metadata.version("ramet")
