"""The scripts in examples/ run, on the backend under test, and stay short."""

import ast
import os
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import keras
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
def test_an_example_runs(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    keras.utils.clear_session(free_memory=False)  # as a reader would run it: with no name given before

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(script), run_name="__main__")

    assert capsys.readouterr().out.strip()


@pytest.mark.slow
def test_an_example_runs_by_itself(tmp_path, backend):
    """One in a process of its own, where nothing is imported before."""
    environment = {**os.environ, "KERAS_BACKEND": backend}
    run = subprocess.run(
        [sys.executable, str(SCRIPTS[0])], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.strip()
