"""The list of names that a safe file may contain agrees with the installed Keras."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ramet._files.scanner import names


@pytest.fixture(scope="module")
def installed():
    """Names in the installed Keras, read in a separate process because it imports every module of Keras."""
    script = Path(__file__).parents[2] / "tools" / "keras_names.py"
    done = subprocess.run(
        [sys.executable, str(script), "--ask", "keras"], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_every_class_of_keras_is_on_the_list(installed):
    missing = [name for name in installed["classes"] if not names.is_class(*name.rpartition(".")[::2])]

    assert missing == [], "run `python tools/keras_names.py` with this release"


def test_every_function_of_keras_is_on_the_list(installed):
    missing = [name for name in installed["functions"] if not names.is_function(*name.rpartition(".")[::2])]

    assert missing == [], "run `python tools/keras_names.py` with this release"


def test_classes_and_functions_are_not_mixed_up():
    """Each class on the list is a class in Keras, and each function is a function."""
    from keras.src import api_export

    wrong = []
    for listed, is_class in ((names.keras_names().classes, True), (names.keras_names().functions, False)):
        for name in listed:
            value = api_export.get_symbol_from_name(name)
            if value is not None and isinstance(value, type) != is_class:
                wrong.append(name)

    assert wrong == []


@pytest.mark.parametrize(
    "name",
    [
        "keras.utils.get_file",
        "keras.models.load_model",
        "keras.saving.load_model",
        "keras.config.enable_unsafe_deserialization",
        "keras.datasets.mnist.load_data",
        "keras.applications.MobileNet",
        "keras.applications.mobilenet.MobileNet",
        "keras.layers.deserialize",
        "keras.callbacks.RemoteMonitor",
        "keras.src.layers.core.dense_test.DenseTest",
        "keras.src.saving.saving_lib.load_model",
        "keras.export.ExportArchive",
        "keras._legacy.backend.function",
    ],
)
def test_functions_that_load_download_or_configure_are_not_on_the_list(name):
    module, _, own = name.rpartition(".")

    assert not names.is_class(module, own)
    assert not names.is_function(module, own)
