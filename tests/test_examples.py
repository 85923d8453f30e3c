"""Run the scripts in examples/ on the backend under test."""

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


def test_examples_are_numbered_consecutively():
    assert [int(script.name[:2]) for script in SCRIPTS] == list(range(1, len(SCRIPTS) + 1))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example_starts_with_a_question_and_ends_with_an_assertion(script):
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)

    question = ast.get_docstring(tree)
    assert question is not None
    assert question.endswith("?")
    assert isinstance(tree.body[-1], ast.Assert)
    assert any(isinstance(part, ast.Call) and getattr(part.func, "id", "") == "print" for part in ast.walk(tree))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example_runs(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    keras.utils.clear_session(free_memory=False)  # automatic names start over, as for a reader

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(script), run_name="__main__")

    assert capsys.readouterr().out.strip()


@pytest.mark.slow
def test_example_runs_in_a_process_of_its_own(tmp_path, backend):
    environment = {**os.environ, "KERAS_BACKEND": backend}
    run = subprocess.run(
        [sys.executable, str(SCRIPTS[0])], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.strip()
