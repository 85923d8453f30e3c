"""Try an installed ramet: `python -I tools/smoke.py compiled`, or `python` for the Python walk.

Run it in an environment without a checkout on the path; `tools/wheel.py` and the release workflow do. It uses every room
of the package once, from Python and through the installed command, and fails if another walk than the expected one is used.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import keras
import numpy as np

import ramet
from ramet import edits

RECIPE = '[[edit]]\nrename = "hidden"\nname = "first"\n\n[[edit]]\nswap_head = 5\n'


def small_model() -> keras.Model:
    """Return a compiled model that was trained for one step."""
    inputs = keras.Input((8,), name="features")
    hidden = keras.layers.Dense(16, activation="relu", name="hidden")(inputs)
    hidden = keras.layers.Dropout(0.5, name="drop")(hidden)
    model = keras.Model(inputs, keras.layers.Dense(3, name="logits")(hidden), name="classifier")
    model.compile("adam", "mse")
    model.train_on_batch(np.ones((4, 8)), np.ones((4, 3)))
    return model


def try_package(walk: str) -> None:
    """Use the package from Python."""
    from ramet._copy.copier import Copier

    assert Path(ramet.__file__).is_relative_to(sys.prefix), f"{ramet.__file__} is not in this environment"
    expected = "ramet._copy._compiled.walk" if walk == "compiled" else "ramet._copy.walk"
    used = Copier.__mro__[1].__module__
    assert used == expected, f"{used} is used instead of {expected}"

    model = small_model()
    twin = ramet.clone(model)
    assert ramet.verify(model, twin, progress=False).ok
    assert not ramet.diff(model, twin)
    edited = ramet.edit(model, edits.rename("hidden", "first"), edits.swap_head(classes=5))
    assert edited.output_shape == (None, 5)
    assert ramet.diff(model, edited)

    model.save("model.keras")
    assert not ramet.scan("model.keras").findings
    ramet.draw(model, "model.html", before=edited)
    page = Path("model.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "<script" in page
    ramet.draw("model.keras", "model.svg")
    assert Path("model.svg").read_text(encoding="utf-8").startswith("<svg")


def try_command() -> None:
    """Use the installed command."""
    Path("slim.toml").write_text(RECIPE, encoding="utf-8")
    run("--version")
    assert "hidden" in run("show", "model.keras")
    assert "model.keras" in run("scan", "model.keras")
    run("clone", "model.keras", "twin.keras")
    run("verify", "model.keras", "twin.keras")
    run("diff", "model.keras", "twin.keras")
    run("edit", "model.keras", "slim.keras", "--recipe", "slim.toml")
    changed = json.loads(run("diff", "model.keras", "slim.keras", "--json", code=1))
    assert changed["ramet"] == "diff"
    run("show", "slim.keras", "--html", "slim.html")
    assert "clone_model" in run("demo")


def run(*arguments: str, code: int = 0) -> str:
    """Run the command, check its exit code, and return its output."""
    program = Path(sysconfig.get_path("scripts")) / ("ramet.exe" if os.name == "nt" else "ramet")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == code, (
        f"ramet {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    )
    return done.stdout


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        try_package(*sys.argv[1:])
        try_command()
        os.chdir(sys.prefix)  # a folder in use cannot be removed on Windows
    print(f"ramet {ramet.__version__} works, with the walk expected ({sys.argv[1]})")
