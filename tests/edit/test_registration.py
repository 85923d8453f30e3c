"""Every edit is complete: registered, declared, documented, tested, and readable from a recipe.

The first test fails with a list of what is missing for an edit, and where to add it.
"""

import dataclasses
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import keras
import pytest

import ramet
from ramet import edits
from ramet._edit import Edit
from ramet._edit import edits as package
from ramet._edit.layer_config import LayerConfig

pytestmark = pytest.mark.no_backend

ROOT = Path(__file__).parents[2]
# A value for each argument that some edit requires, for the round trip through a recipe.
EXAMPLES = {
    "after": "a",
    "before": "b",
    "classes": 3,
    "layer": LayerConfig.from_table({"class_name": "TimeDistributed", "config": {}}),
    "name": "c",
    "policy": "float16",
    "selector": "a",
    "shape": (4, 4),
    "text": "p_",
}


def all_edits() -> list[type[Edit]]:
    """Return every edit that a file in `ramet._edit.edits` defines, registered or not."""
    found = {}
    for one in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{one.name}")
        for name, value in vars(module).items():
            own = isinstance(value, type) and issubclass(value, Edit) and value.__module__ == module.__name__
            if own and not value.__name__.startswith("_"):
                found[name] = value
    return list({id(cls): cls for cls in found.values()}.values())


def problems_of(cls: type[Edit]) -> list[str]:
    """Return what is missing for an edit, each with the place to add it."""
    file = f"src/ramet/_edit/edits/{cls.__module__.rpartition('.')[2]}.py"
    found = []
    if getattr(edits, cls.kind, None) is not cls:
        line = f"from {cls.__module__} import {cls.kind} as {cls.kind}"
        found.append(
            f"It is not registered. Add `{cls.kind} = {cls.__name__}` to {file} and `{line}` to src/ramet/edits.py."
        )
    params = vars(cls).get("__dataclass_params__")
    if params is None or not params.frozen or params.repr:
        found.append(f"It is not a frozen dataclass. Add `@dataclass(frozen=True, repr=False)` to the class in {file}.")
    if cls.__abstractmethods__:
        found.append(
            f"It does not implement {', '.join(sorted(cls.__abstractmethods__))}. Add it to the class in {file}."
        )
    text = vars(cls).get("__doc__") or ""
    undescribed = [
        name for name in inspect.signature(cls).parameters if not re.search(rf"^ *\**{name}: ", text, re.MULTILINE)
    ]
    if not text or text.startswith(f"{cls.__name__}("):
        found.append(f"It has no docstring, which is its documentation. Add one to the class in {file}.")
    elif undescribed:
        found.append(f"Its docstring does not describe {', '.join(undescribed)}. Add it under `Args:` in {file}.")
    elif ">>> " not in text:
        found.append(f"Its docstring has no example. Add one at its end in {file}.")
    if cls.preserves_function and f"`{cls.kind}`" not in inspect.getdoc(ramet.edit):
        found.append("It preserves the function. Add it to the list under `check` in the docstring of `edit`.")
    if f"`{cls.kind}" not in (ROOT / "docs" / "edits.md").read_text(encoding="utf-8"):
        found.append("It is not in the table of docs/edits.md. Add a row.")
    tests = (path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    if not any(f"e.{cls.kind}(" in test for test in tests):
        found.append(f"No test uses `e.{cls.kind}(...)`. Add tests/edit/test_{cls.kind}.py.")
    return found + recipe_problems(cls)


def recipe_problems(cls: type[Edit]) -> list[str]:
    parameters = inspect.signature(cls).parameters.values()
    needed = [one.name for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    unknown = [name for name in needed if name not in EXAMPLES]
    if cls.__abstractmethods__:
        return []
    if unknown:
        return [
            f"Its arguments {unknown} have no example. Add one for each to EXAMPLES in tests/edit/test_registration.py."
        ]
    edit = cls(**{name: EXAMPLES[name] for name in needed})
    if edit.kind not in edits.__all__:
        return []  # recipes find only registered edits
    again = ramet.read_recipe(ramet.Recipe("recipe", (edit,)).to_toml()).edits
    return [] if again == (edit,) else [f"{edit!r} comes back from a recipe as {again[0]!r}. Check its fields."]


@pytest.mark.parametrize("cls", all_edits(), ids=lambda cls: cls.kind)
def test_edit_is_complete(cls):
    problems = problems_of(cls)

    assert not problems, "\n".join([f"The edit {cls.__name__} is not complete:", *problems])


def test_every_registered_name_is_an_edit_of_that_kind():
    assert edits.__all__ == sorted(cls.kind for cls in all_edits())
    assert all(getattr(edits, name).kind == name for name in edits.__all__)


def test_equal_edits_have_equal_hashes():
    one, other = edits.remove("a", calls=[1, 2]), edits.remove("a", calls=(1, 2))

    assert one == other
    assert hash(one) == hash(other)
    assert one != edits.remove("a")
    assert one.located("edit 1 in slim.toml") == one


def test_an_edit_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        edits.freeze("a").selector = None


@pytest.mark.parametrize("fact", ["kind", "preserves_function", "adds_layers"])
def test_a_missing_fact_is_named_when_the_class_is_defined(fact):
    facts = {"kind": "toy", "preserves_function": True, "adds_layers": False}
    del facts[fact]

    with pytest.raises(TypeError, match=f"Cannot define the edit Toy: it does not declare `{fact}`"):
        type("Toy", (Edit,), facts)


def test_an_unregistered_edit_is_reported_with_what_is_missing():
    class Toy(Edit):
        kind = "toy"
        preserves_function = True
        adds_layers = False

        def __init__(self):
            pass

        def plan(self, session):
            raise NotImplementedError

    found = "\n".join(problems_of(Toy))

    for part in (
        "not registered",
        "frozen dataclass",
        "implement apply",
        "docstring",
        "docs/edits.md",
        "`check`",
        "No test",
    ):
        assert part in found


def test_the_class_is_the_public_constructor():
    assert isinstance(edits.freeze("a"), edits.freeze)
    assert isinstance(edits.freeze("a"), ramet.Edit)
    assert inspect.getdoc(edits.freeze).startswith("Freeze each matching layer")


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (edits.freeze(), "freeze()"),
        (edits.freeze("a", required=False), "freeze(named('a'), required=False)"),
        (edits.prefix("x_", "a"), "prefix(text='x_', selector=named('a'))"),
        (edits.swap_head(3, head="a"), "swap_head(classes=3, head=named('a'), weights='fresh')"),
        (edits.swap_head(3, head=ramet.anything()), "swap_head(classes=3, head=anything(), weights='fresh')"),
        (edits.splice("a", "b", keras.layers.ReLU), "splice(named('a'), before=named('b'), layer=ReLU)"),
        (edits.resize_input([4, None]), "resize_input(shape=(4, None), weights='refuse')"),
        (edits.update("a", rate=0.3), "update(named('a'), rate=0.3, weights='refuse')"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_edit_prints_as_the_call_that_makes_it(edit, text):
    assert repr(edit) == text
