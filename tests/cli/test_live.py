"""The commands that load a model, on the backend under test."""

import importlib
import json
import sys
from importlib.util import find_spec

import keras
import numpy as np
import pytest

LAYERS = """\
import keras

print("imported")


class Twice(keras.layers.Layer):
    def call(self, x):
        return 2 * x


def relu(x):
    raise AssertionError("not the one that is meant")
"""


@pytest.fixture
def model(tmp_path):
    """A model in `model.keras`; with a layer that draws its own seed whenever it is made."""
    inputs = keras.Input((4,), name="x")
    hidden = keras.layers.Dense(3, activation="relu", name="hidden")(inputs)
    outputs = keras.layers.Dense(2, name="logits")(keras.layers.Dropout(0.5, name="drop")(hidden))
    made = keras.Model(inputs, outputs, name="net")
    made.save(tmp_path / "model.keras")
    return made


@pytest.fixture
def own_layer(tmp_path, monkeypatch, capsys):
    """A model with a layer of a user's module, in `own.keras`; the module has not been imported."""
    (tmp_path / "own_layers.py").write_text(LAYERS)
    monkeypatch.syspath_prepend(tmp_path)
    twice = importlib.import_module("own_layers").Twice
    keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu"), twice(name="t")]).save(
        tmp_path / "own.keras"
    )
    del sys.modules["own_layers"]
    capsys.readouterr()
    yield
    sys.modules.pop("own_layers", None)


def loaded(path):
    return keras.saving.load_model(path)


def test_clone_writes_a_twin(ramet, model, tmp_path):
    done = ramet("clone", "model.keras", "twin.keras")

    assert (done.code, done.out, done.err) == (0, "twin.keras: net (Functional), 23 parameters\n", "")
    x = np.ones((2, 4), "float32")
    assert np.array_equal(loaded(tmp_path / "twin.keras").predict(x, verbose=0), model.predict(x, verbose=0))


def test_fresh_clones_with_one_seed_are_alike_and_unlike_the_original(ramet, model, tmp_path):
    codes = [
        ramet("clone", "model.keras", f"{n}.keras", "--fresh", "--seed", seed).code for n, seed in enumerate([7, 7, 8])
    ]

    kernels = [loaded(tmp_path / f"{n}.keras").get_layer("hidden").kernel.numpy() for n in range(3)]
    assert codes == [0, 0, 0]
    assert np.array_equal(kernels[0], kernels[1])
    assert not np.array_equal(kernels[0], kernels[2])
    assert not np.array_equal(kernels[0], model.get_layer("hidden").kernel.numpy())


def test_a_named_clone_has_its_name_and_the_json_says_what_was_written(ramet, model, tmp_path, backend):
    done = ramet("clone", "model.keras", "target.keras", "--name", "target", "--json")

    assert done.code == 0
    assert loaded(tmp_path / "target.keras").name == "target"
    assert json.loads(done.out) == {
        "ramet_clone": 1,
        "source": "model.keras",
        "target": "target.keras",
        "name": "target",
        "class_name": "Functional",
        "parameters": 23,
        "weights": "copy",
        "seed": None,
        "backend": backend,
        "keras_version": keras.__version__,
    }


def test_a_model_with_layers_of_the_user_needs_their_module(ramet, own_layer, tmp_path):
    refused = ramet("clone", "own.keras", "out.keras")
    done = ramet("clone", "own.keras", "out.keras", "--import", "own_layers", "--json")

    assert (refused.code, refused.out) == (1, "")
    assert "--import" in refused.err
    assert done.code == 0, done.err
    # What the module prints is talk.
    assert "imported\n" in done.err
    assert json.loads(done.out)["parameters"] == 15
    assert (tmp_path / "out.keras").exists()


def test_a_module_that_cannot_be_imported_is_wrong_usage(ramet, model):
    done = ramet("clone", "model.keras", "out.keras", "--import", "no_such_module_at_all")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Cannot import 'no_such_module_at_all': it raised ModuleNotFoundError.\n")


def test_a_file_with_code_is_loaded_when_it_is_trusted(ramet, tmp_path):
    keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda x: x + 1, name="plus")]).save(
        tmp_path / "code.keras"
    )

    refused = ramet("clone", "code.keras", "out.keras")
    done = ramet("clone", "code.keras", "out.keras", "--trust")

    assert (refused.code, refused.out) == (1, "")
    assert done.code == 0, done.err
    assert done.err == "trusted: The file brings compiled Python code, a lambda. (plus)\n"
    assert (tmp_path / "out.keras").exists()


def test_a_file_that_keras_refuses_is_a_file_that_cannot_be_read(ramet, own_layer, tmp_path):
    (tmp_path / "empty_module.py").write_text("")

    done = ramet("clone", "own.keras", "out.keras", "--import", "empty_module")

    assert (done.code, done.out) == (3, "")
    assert done.err.startswith(f"Cannot load 'own.keras': Keras {keras.__version__} does not take the model in it.\n")
    assert "--import" in done.err


def test_weights_without_a_model_cannot_be_loaded(ramet, model, tmp_path):
    model.save_weights(tmp_path / "w.weights.h5")

    done = ramet("clone", "w.weights.h5", "out.keras")

    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("Cannot load 'w.weights.h5': it holds weights, and no model.")


def test_another_backend_than_the_running_one_is_refused(ramet, model, backend):
    other = {"jax": "torch", "torch": "jax", "tensorflow": "jax"}[backend]

    done = ramet("clone", "model.keras", "out.keras", "--backend", other)

    assert done.code == 2
    assert f"Keras runs on '{backend}' in this process already" in done.err


RECIPE = '[[edit]]\nremove = "drop*"\n\n[[edit]]\nswap_head = 5\n'


def test_a_plan_is_told_and_nothing_is_written(ramet, model, tmp_path):
    (tmp_path / "slim.toml").write_text(RECIPE)

    done = ramet("edit", "model.keras", "--recipe", "slim.toml", "--plan")
    record = json.loads(ramet("edit", "model.keras", "out.keras", "--recipe", "slim.toml", "--plan", "--json").out)

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Plan for 'net': 2 edits, 2 ops touched\n")
    assert [step["kind"] for step in record["steps"]] == ["remove", "swap_head"]
    assert "written" not in record
    assert not (tmp_path / "out.keras").exists()


def test_a_recipe_is_carried_out(ramet, model, tmp_path):
    (tmp_path / "slim.toml").write_text(RECIPE)

    done = ramet("edit", "model.keras", "out.keras", "--recipe", "slim.toml", "--seed", 1, "--json")

    edited = loaded(tmp_path / "out.keras")
    assert done.code == 0, done.err
    assert json.loads(done.out)["written"] == {"target": "out.keras", "name": "net", "parameters": 35}
    assert [layer.name for layer in edited.layers] == ["x", "hidden", "logits"]
    assert edited.output_shape == (None, 5)
    assert np.array_equal(edited.get_layer("hidden").kernel.numpy(), model.get_layer("hidden").kernel.numpy())


def test_a_recipe_that_cannot_be_read_is_a_file_that_cannot_be_read(ramet, model, tmp_path):
    (tmp_path / "bad.toml").write_text("edit = 3\n")

    done, missing = (ramet("edit", "model.keras", "o.keras", "--recipe", name) for name in ("bad.toml", "no.toml"))

    assert (done.code, missing.code) == (3, 3)
    assert done.err.startswith("bad.toml:1:1: ")
    assert missing.err.startswith("Cannot read 'no.toml': there is no such file.")


def test_an_edit_that_finds_nothing_is_refused(ramet, model, tmp_path):
    (tmp_path / "r.toml").write_text('[[edit]]\nremove = "zzz"\n')

    done = ramet("edit", "model.keras", "out.keras", "--recipe", "r.toml")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Cannot find ")
    assert not (tmp_path / "out.keras").exists()


def test_verify_draws_where_files_differ(ramet, model, tmp_path):
    model.get_layer("logits").bias.assign([0.0, 1.0])
    model.save(tmp_path / "other.keras")
    done = ramet("verify", "model.keras", "other.keras", "--only", "state,outputs", "--draw", "page.html")

    assert (done.code, done.err) == (1, "wrote page.html\n")
    assert "began at logits" in done.out
    assert "outputs: the first value that differs" in (tmp_path / "page.html").read_text()


def test_verify_refuses_one_picture_of_several_reports(ramet, model):
    done = ramet("verify", "model.keras", "model.keras", "--backends", "jax,torch", "--draw", "page.html")

    assert (done.code, done.err.partition("\n")[0]) == (
        2,
        "Cannot draw two files on several backends: each has a report of its own.",
    )


def test_two_files_of_one_model_verify_although_random_layers_draw_their_seeds_anew(ramet, model, tmp_path):
    ramet("clone", "model.keras", "twin.keras")

    done = ramet("verify", "model.keras", "twin.keras", "--skip", "training,gradients")

    assert done.code == 0, done.out
    assert done.out.startswith("'net' is a twin of 'net': 8 passed\n")


def test_files_that_differ_fail_a_check(ramet, model, tmp_path):
    kernel = model.get_layer("hidden").kernel
    kernel.assign(1.001 * kernel.numpy())
    model.save(tmp_path / "other.keras")

    done = ramet("verify", "model.keras", "other.keras", "--only", "state,structure", "--json")
    close = ramet("verify", "model.keras", "other.keras", "--only", "state", "--tolerance", "0.01")

    report = json.loads(done.out)
    assert done.code == 1
    assert [check["outcome"] for check in report["checks"]] == ["passed", "failed"]
    assert report["checks"][1]["differences"][0]["path"] == "hidden/kernel"
    assert close.code == 0


@pytest.mark.slow
def test_the_files_of_a_user_work_in_a_process_of_its_own(spawn, model, tmp_path, backend):
    """One run on the backend under test, chosen by `--backend`, in two processes."""
    cloned = spawn("clone", "model.keras", "twin.keras", "--backend", backend, env={"KERAS_BACKEND": ""})
    verified = spawn("verify", "model.keras", "twin.keras", "--backends", backend, "--only", "state,outputs", "--json")

    assert (cloned.code, cloned.out) == (0, "twin.keras: net (Functional), 23 parameters\n"), cloned.err
    record = json.loads(verified.out)
    assert verified.code == 0, verified.err
    assert (record["ramet_reports"], record["ok"], list(record["backends"])) == (1, True, [backend])
    assert record["backends"][backend]["ramet_report"] == 1


@pytest.mark.skipif(find_spec("torch") is None, reason="needs two backends; installing torch lifts this")
@pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="it starts every backend by itself; the run on JAX covers it"
)
def test_one_file_gives_the_same_outputs_on_every_backend_also_with_layers_of_the_user(spawn, own_layer):
    backends = [name for name in ("jax", "torch", "tensorflow") if find_spec(name)]

    done = spawn("verify", "own.keras", "--backends", ",".join(backends), "--import", "own_layers", "--json")

    report = json.loads(done.out)
    assert done.code == 0, done.err
    assert [(check["name"], check["outcome"]) for check in report["checks"]] == [
        (backend, "passed") for backend in backends
    ]
