"""Every check of `verify` is registered, documented, and fails for at least one mutation."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

from ramet._verify import checks as package
from ramet._verify import verify
from ramet._verify.checks import CHECKS, GRAPH_CHECKS
from tests.verify.test_mutations import MUTATIONS

FOLDER = Path(package.__file__).parent
FILES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", FILES)
def test_every_check_is_registered_under_the_name_of_its_file(name):
    module = importlib.import_module(f"{package.__name__}.{name}")

    assert hasattr(module, "check"), f"{FOLDER / name}.py has no function `check(pair)`."
    assert CHECKS.get(name) is module.check, (
        f'Add "{name}": {name}.check to CHECKS in {FOLDER / "__init__.py"}, or `verify` never runs it.'
    )


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_has_docstrings(name):
    path = FOLDER / f"{name}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""

    assert text.startswith(f"{name.capitalize()}: "), (
        f'The docstring of {path} must begin with "{name.capitalize()}: " and say in a line what is the same if it passes.'
    )
    assert inspect.getdoc(CHECKS[name]), f"`check` in {path} has no docstring: say what it compares."


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_fails_for_a_mutation(name):
    failing = [mutation.name for mutation in MUTATIONS if name in mutation.checks]

    assert failing, (
        f"No mutation makes the check '{name}' fail: add one to tests/verify/test_mutations.py, "
        f'@mutation(models.net, "{name}", at="path of the difference"). Also name the static checks that fail with it.'
    )


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_is_named_where_users_read_about_verify(name):
    from ramet._cli.verify import COMMAND

    for where, text in {"the docstring of `verify`": inspect.getdoc(verify), "_cli/verify.py": COMMAND.about}.items():
        assert re.search(rf"\b{name}\b", text), f"Name the check '{name}' in {where}."


def test_graph_checks_are_checks():
    assert set(GRAPH_CHECKS) <= set(CHECKS), (
        f"GRAPH_CHECKS in {FOLDER / '__init__.py'} has a name that is not in CHECKS."
    )
