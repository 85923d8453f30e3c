"""The scripts in examples/ run, on the backend under test, and stay short."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))


def test_they_are_numbered_one_after_the_other():
    assert [int(script.name[:2]) for script in SCRIPTS] == list(range(1, len(SCRIPTS) + 1))
    assert len(SCRIPTS) >= 10


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_is_short_asks_a_question_and_ends_with_its_proof(script):
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)

    assert 20 <= len(text.splitlines()) <= 40
    question = ast.get_docstring(tree)
    assert question is not None
    assert question.endswith("?")
    assert isinstance(tree.body[-1], ast.Assert)
    assert any(isinstance(part, ast.Call) and getattr(part.func, "id", "") == "print" for part in ast.walk(tree))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_runs(script, tmp_path, backend):
    # In a process of its own, as a reader would run it: with nothing imported and no name given before.
    run = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.strip()
