"""Files: two files compared, and one file on several backends."""

from importlib.util import find_spec

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import _arguments
from ramet._verify import across, verify


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    x = keras.Input((4,), name="x")
    extra = keras.Input((4,), name="extra")
    y = layers.Dense(3, activation="tanh", name="d")(x)
    model = keras.Model({"x": x, "extra": extra}, {"y": y, "z": layers.Dense(2, name="e")(extra)}, name="net")
    path = tmp_path_factory.mktemp("saved") / "net.keras"
    model.save(path)
    return model, path


def test_two_files_are_compared(saved, tmp_path):
    model, path = saved
    other = ramet.clone(model)
    other.get_layer("d").bias.assign(np.ones(3))
    other.save(tmp_path / "other.keras")

    same, changed = (
        verify(path, second, only=("structure", "state")) for second in (str(path), tmp_path / "other.keras")
    )

    assert same.ok
    assert [check.name for check in changed.failed] == ["state"]
    assert changed["state"].differences[0].path == "d/bias"


@pytest.mark.skipif(find_spec("torch") is None, reason="needs two backends; installing torch lifts this")
@pytest.mark.skipif(keras.backend.backend() != "jax", reason="it starts every backend itself; the run on JAX covers it")
def test_file_gives_the_same_outputs_on_installed_backends(saved):
    report = verify(saved[1], backends=["jax", "torch"])

    assert report.ok, report
    assert [check.outcome for check in report] == ["passed", "passed"]
    assert report["torch"].summary == "6 outputs are as on jax, within the tolerance"


@pytest.fixture
def all_installed(monkeypatch):
    monkeypatch.setattr(_arguments, "is_installed", lambda name: True)


def test_missing_backend_is_refused(saved, monkeypatch):
    monkeypatch.setattr(_arguments, "is_installed", "jax".__eq__)

    with pytest.raises(ramet.errors.ArgumentError, match="the backend 'torch': it is not installed"):
        verify(saved[1], backends=["jax", "torch"])


def test_backend_that_cannot_run_the_file_fails(saved, monkeypatch, all_installed):
    def run(path, name, *_):
        return "ValueError: no kernel for this" if name == "torch" else {"outputs": [np.ones(2, "float32")]}

    monkeypatch.setattr(across, "_run", run)

    report = verify(saved[1], backends=["jax", "torch"])

    assert not report.ok
    assert [check.outcome for check in report] == ["passed", "failed"]
    assert report["torch"].summary == "the file cannot be run: ValueError: no kernel for this"
    assert repr(report) == "<Report 'net.keras' does not give the same outputs on every backend: 1 passed, 1 failed>"
    with pytest.raises(
        ramet.errors.VerifyError, match=r"Cannot accept 'net\.keras' on every backend: 1 of 2 checks failed"
    ):
        report.raise_if_failed()


@pytest.mark.parametrize("backends", [["jax"], ["jax", "jax"], []])
def test_outputs_need_two_backends(saved, all_installed, backends):
    with pytest.raises(ramet.errors.ArgumentError, match="outputs are compared between backends"):
        verify(saved[1], backends=backends)


def test_different_outputs_on_a_backend_fail(saved, monkeypatch, all_installed):
    numbers = {"jax": 1.0, "torch": 1.001}
    monkeypatch.setattr(across, "_run", lambda path, name, *_: {"outputs": [np.array([numbers[name], 2], "float32")]})

    strict, loose = (verify(saved[1], backends=["jax", "torch"], tolerance=tolerance) for tolerance in (None, 0.01))

    assert [check.outcome for check in strict] == ["passed", "failed"]
    assert loose.ok
    assert repr(loose) == "<Report 'net.keras' gives the same outputs on every backend: 2 passed>"


@pytest.mark.parametrize(
    ("model", "backends", "text"),
    [
        ("missing.keras", ["jax", "torch"], "the file does not exist"),
        ("missing.keras", ["numpy"], "does not support it"),
    ],
)
def test_missing_file_or_unknown_backend_is_refused(model, backends, text, all_installed):
    with pytest.raises(ramet.errors.ArgumentError, match=text):
        verify(model, backends=backends)


def test_live_model_cannot_be_run_on_several_backends(saved):
    with pytest.raises(ramet.errors.ArgumentError, match="takes one file"):
        verify(saved[0], backends=["jax"])
