"""Older releases of Keras in processes of their own: the oracle for ported files.

A release is a folder that `pip install --no-deps --target <folder>/<release> keras==<release>` created, in the folder that the
environment variable RAMET_OLD_KERAS names, or in `build/old-keras`. What the first releases need besides (dm-tree and its
dependencies) is in the subfolder `needed`. As a script, this file loads models in such a process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = "RAMET_OLD_KERAS"


def folder_of(release):
    """Return the folder of an installed release, or None."""
    base = Path(os.environ.get(FOLDER) or Path(__file__).parents[2] / "build" / "old-keras")
    found = base / release
    return found if (found / "keras").is_dir() else None


def require(release):
    """Return the folder of an installed release, or skip the test."""
    import pytest

    found = folder_of(release)
    if found is None:
        target = f"build/old-keras/{release}"
        pytest.skip(
            f"Keras {release} is not installed: `pip install --no-deps --target {target} keras=={release}` lifts this, "
            f"or set {FOLDER} to a folder with one subfolder per release"
        )
    return found


def load_all(release, jobs, folder, backend):
    """Load model files in a release and call them; return the answer for each: outputs, state of the optimizer, or error.

    Args:
        release: The release, such as "3.8.0".
        jobs: For each name, the path of the model file and of an `.npz` file with its inputs.
        folder: A folder for the answers.
        backend: The backend of Keras.
    """
    import numpy as np

    installed = require(release)
    request = folder / f"{release}.json"
    request.write_text(json.dumps({"jobs": jobs, "folder": str(folder / release)}))
    path = os.pathsep.join(map(str, (installed, installed.parent / "needed")))
    environment = {**os.environ, "PYTHONPATH": path, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, __file__, str(request)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    answers = json.loads((folder / release / "answers.json").read_text())
    for name, answer in answers.items():
        with np.load(folder / release / f"{name}.npz") as arrays:
            answer["arrays"] = {key: arrays[key] for key in arrays.files}
    return answers


def _order(variable):
    """Return what comes first since Keras 3.10: averages, accumulated gradients, and the product of Nadam last."""
    path = getattr(variable, "path", variable.name)
    return (len(variable.shape) == 0, not path.endswith("_average"), not path.endswith("_gradient_accumulator"))


def answer(model, inputs):
    """Return what is compared: outputs, state of the optimizer, and how the model was compiled."""
    import keras
    import numpy as np

    found = model(inputs if len(inputs) > 1 else inputs[0], training=False)
    outputs = [found] if not isinstance(found, dict | list | tuple) else found
    outputs = [outputs[key] for key in sorted(outputs)] if isinstance(outputs, dict) else list(outputs)
    arrays = {
        f"output{number:02}": np.array(keras.ops.convert_to_numpy(item), "float64")
        for number, item in enumerate(outputs)
    }
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None and getattr(model, "compiled", True):
        slots = [
            (_order(variable), np.array(keras.ops.convert_to_numpy(variable), "float64"))
            for variable in optimizer.variables
        ]
        # In order, so that exchanged slots are found.
        for number, (_, slot) in enumerate([*slots[:2], *sorted(slots[2:], key=lambda slot: slot[0])]):
            arrays[f"slot{number:03}"] = slot
    return {"class": type(model).__name__, "names": [layer.name for layer in model.layers]}, arrays


def main(request):
    import traceback

    import keras
    import numpy as np

    asked = json.loads(Path(request).read_text())
    folder = Path(asked["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    answers = {}
    for name, (path, inputs) in asked["jobs"].items():
        arrays = {}
        try:
            with np.load(inputs, allow_pickle=False) as found:
                given = [found[key] for key in sorted(found.files)]
            keras.utils.clear_session()
            model = keras.saving.load_model(path)
            answers[name], arrays = answer(model, given)
            # Written again by this release, for tests of the other direction.
            model.save(folder / f"{name}.keras")
        except Exception:  # noqa: BLE001  # the answer of this release
            answers[name] = {"error": traceback.format_exc()[-1500:]}
        np.savez(folder / f"{name}.npz", **arrays)
    (folder / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    main(sys.argv[1])
