"""Files of everything that Keras can save are safe according to `ramet scan`, and can be loaded under the guard."""

import contextlib
import importlib.util
import subprocess
import sys
import warnings
from pathlib import Path

import absl.logging
import keras
import pytest

from ramet._files import scan
from ramet._files.scanner.walk import scan_config
from ramet._keras.guard import guarded
from tests.support.corpus import NO_H5, NOT_CLEAN, NOT_TRAINED, TORCH_OPTIMIZERS, missing, samples, train_if_possible

SAMPLES = {sample.name: sample for sample in samples()}


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    """Silence the advice of Keras against `.h5`, and its warnings about models that were never built."""
    verbosity = absl.logging.get_verbosity()
    absl.logging.set_verbosity(absl.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
    absl.logging.set_verbosity(verbosity)


@pytest.mark.parametrize("name", SAMPLES)
def test_file_with_every_class_is_safe(tmp_path, name):
    sample = SAMPLES[name]
    model = sample.make()
    if sample.train is not None:
        model.train_on_batch(*sample.train())
    elif name not in NOT_TRAINED:
        train_if_possible(model)
    paths = [tmp_path / "m.keras"] + ([] if name in NO_H5 else [tmp_path / "m.h5"])
    for path in paths:
        model.save(path)

    assert {path.name: scan(path, isolated=False).findings for path in paths} == {path.name: () for path in paths}
    # Nothing in it is mistaken for an attack while it is loaded. Keras itself may fail to load it.
    with guarded(tmp_path) as guard, contextlib.suppress(Exception):
        keras.saving.load_model(tmp_path / "m.keras")
    assert guard.refused == []


def test_every_public_class_of_keras_is_accounted_for():
    assert not missing(), (
        f"tests/support/corpus.py has no model with {', '.join(missing())}: add one to its tables, or the reason why files "
        "with it are not clean to NOT_CLEAN."
    )


def test_only_classes_without_a_sample_have_a_reason():
    assert not NOT_CLEAN.keys() & SAMPLES.keys()
    assert NO_H5.keys() <= SAMPLES.keys()


def _operations():
    """Return every raw operation of Keras by the name that a functional model writes into its config."""
    waiting, found = [keras.Operation], {}
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls.__module__.startswith("keras.src.ops.") and not cls.__module__.endswith(("operation", "function")):
            found[f"{cls.__module__}.{cls.__name__}"] = cls
    return found


def test_every_raw_operation_is_safe():
    found = _operations()
    for name, cls in found.items():
        record = {"module": cls.__module__, "class_name": cls.__name__, "config": {}, "registered_name": cls.__name__}

        assert list(scan_config({"layers": [record]}, "m", "config")) == [], name

    assert len(found) > 200


@pytest.mark.parametrize("name", TORCH_OPTIMIZERS)
def test_torch_optimizers_are_safe_on_every_backend(name):
    module = f"keras.src.backend.torch.optimizers.torch_{name.lower()}"
    record = {"module": module, "class_name": name, "config": {"name": "x"}, "registered_name": name}

    assert list(scan_config({"compile_config": {"optimizer": record}}, "m", "config")) == []


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("keras.src.backend.torch.optimizers.torch_adam", "torch"),
        ("keras.src.backend.torch.optimizers.torch_adam", "optimizers"),
        ("keras.src.backend.torch.optimizers", "torch_adam.Adam"),
        ("keras.src.backend.torch.optimizers.torch_adam", "SGD"),
        ("keras.src.backend.torch.core", "Variable"),
        ("keras._legacy.backend", "Adam"),
        ("keras._legacy", "layers.ThresholdedReLU"),
        ("keras._legacy.saving", "ThresholdedReLU"),
    ],
)
def test_only_the_listed_classes_of_these_modules_are_safe(module, name):
    record = {"module": module, "class_name": name, "config": {}, "registered_name": name}

    findings = list(scan_config({"compile_config": {"optimizer": record}}, "m", "config"))

    assert [finding.severity for finding in findings] == ["unsafe"]


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("tf_keras") is None,
    reason="tf_keras, which writes these files, is not installed; `make test` installs it",
)
def test_keras_2_files_are_safe(tmp_path):
    command = [sys.executable, "-m", "tests.files.clean_tf_keras", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-2000:]

    found = {path.name: scan(path, isolated=False).findings for path in sorted(tmp_path.iterdir())}

    assert len(found) >= 300
    assert {name: findings for name, findings in found.items() if findings} == {}
