"""Commands, run in this process or a separate one, on files made without Keras."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from ramet.__main__ import main
from tests.files.build import DENSE_WEIGHTS, archive, dense, one_layer


@dataclass(frozen=True)
class Done:
    """The result of a command."""

    code: int
    out: str
    err: str


@pytest.fixture
def ramet(capsys, tmp_path, monkeypatch):
    """Return a function that runs a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = main(list(map(str, arguments)))
        captured = capsys.readouterr()
        return Done(int(code), captured.out, captured.err)

    return run


@pytest.fixture
def handle_interrupts():
    """Handle Ctrl-C: tests in the background of a shell start with it ignored, and so would their subprocesses."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def spawn(tmp_path, handle_interrupts):
    """Return a function that runs a command as a user does: in a separate process, in an empty folder."""

    def run(*arguments, **settings):
        command = [sys.executable, "-m", "ramet", *map(str, arguments)]
        environment = {**os.environ, **settings.pop("env", {})}
        done = subprocess.run(
            command,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            stdin=subprocess.DEVNULL,
            env=environment,
            **settings,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def tiny(tmp_path):
    """A file with one dense layer of two units."""
    return archive(tmp_path / "tiny.keras")


@pytest.fixture
def other(tmp_path):
    """The same model with another activation and another bias."""
    arrays = DENSE_WEIGHTS | {"layers/dense/vars/1": np.asarray([0, 3], "float32")}
    return archive(tmp_path / "other.keras", one_layer(dense(activation="relu")), arrays)
