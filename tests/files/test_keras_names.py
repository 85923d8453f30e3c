"""The list of names that a safe file may hold, beside the Keras that is installed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ramet._files.scan import names
from ramet._files.scan.keras_names import CLASSES, FUNCTIONS


@pytest.fixture(scope="module")
def installed():
    """Asked in a process of its own: it imports modules of Keras that are best left alone, such as other backends."""
    script = Path(__file__).parents[2] / "tools" / "keras_names.py"
    done = subprocess.run(
        [sys.executable, str(script), "--ask", "keras"], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_every_class_of_the_installed_keras_is_on_the_list(installed):
    missing = [name for name in installed["classes"] if not names.is_class(*name.rpartition(".")[::2])]

    assert missing == [], "run `python tools/keras_names.py` with this release"


def test_every_function_of_the_installed_keras_is_on_the_list(installed):
    missing = [name for name in installed["functions"] if not names.is_function(*name.rpartition(".")[::2])]

    assert missing == [], "run `python tools/keras_names.py` with this release"


def test_nothing_on_the_list_is_something_else_in_the_installed_keras():
    """A class on the list is a class, and a function is a function, under the names that Keras resolves."""
    from keras.src import api_export

    wrong = []
    for listed, is_class in ((CLASSES, True), (FUNCTIONS, False)):
        for module, own in listed.items():
            for name in own.split():
                value = api_export.get_symbol_from_name(f"{module}.{name}")
                if value is not None and isinstance(value, type) != is_class:
                    wrong.append(f"{module}.{name}")

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
def test_what_loads_downloads_or_configures_is_not_on_the_list(name):
    module, _, own = name.rpartition(".")

    assert not names.is_class(module, own)
    assert not names.is_function(module, own)
