"""The workflows of public CI: pinned actions, and the same versions of Python as everywhere else. `actionlint` checks the rest."""

import re
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_backend

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
VERSIONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))

if not WORKFLOWS:
    pytest.skip("source distributions contain no workflows; a checkout runs this", allow_module_level=True)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_of_others_are_pinned_to_a_commit_with_its_version(path):
    used = re.findall(r"uses: (?!\./)(.*)", path.read_text(encoding="utf-8"))

    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)] == []


def test_supported_versions_of_python_are_tested_and_built():
    tested = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))[1]
    makefile = re.search(r"^PYTHONS +\?= (.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1]

    assert re.findall(r"[\d.]+", tested) == VERSIONS
    assert re.findall(r"[\d.]+", makefile) == VERSIONS
    assert PROJECT["tool"]["cibuildwheel"]["build"] == [f"cp{version.replace('.', '')}-*" for version in VERSIONS]


def test_newest_supported_python_may_use_the_compiled_walk():
    from ramet._copy._compiled import NEWEST_TESTED

    assert ".".join(map(str, NEWEST_TESTED)) == VERSIONS[-1]
