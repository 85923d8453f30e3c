"""Commands that load a model: clone, edit and verify, on the backend under test."""

import importlib
import json
import re
import sys
import zipfile
from importlib.util import find_spec

import h5py
import keras
import numpy as np
import pytest

from tests.files.build import legacy
from tests.support.corpus import TORCH_OPTIMIZERS

LAYERS = """\
import keras

print("imported")


class Twice(keras.layers.Layer):
    def call(self, x):
        return 2 * x


def relu(x):
    raise AssertionError("not the relu of Keras")
"""


@pytest.fixture
def model(tmp_path):
    """A model, saved as `model.keras`, with a layer that draws its own seed whenever it is created."""
    inputs = keras.Input((4,), name="x")
    hidden = keras.layers.Dense(3, activation="relu", name="hidden")(inputs)
    outputs = keras.layers.Dense(2, name="logits")(keras.layers.Dropout(0.5, name="drop")(hidden))
    made = keras.Model(inputs, outputs, name="net")
    made.save(tmp_path / "model.keras")
    return made


@pytest.fixture
def own_layer(tmp_path, monkeypatch, capsys):
    """A model with a layer from a user's module, saved as `own.keras`; the module is not imported."""
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


def test_fresh_clones_depend_on_the_seed_only(ramet, model, tmp_path):
    codes = [
        ramet("clone", "model.keras", f"{n}.keras", "--fresh", "--seed", seed).code for n, seed in enumerate([7, 7, 8])
    ]

    kernels = [loaded(tmp_path / f"{n}.keras").get_layer("hidden").kernel.numpy() for n in range(3)]
    assert codes == [0, 0, 0]
    assert np.array_equal(kernels[0], kernels[1])
    assert not np.array_equal(kernels[0], kernels[2])
    assert not np.array_equal(kernels[0], model.get_layer("hidden").kernel.numpy())


def test_clone_with_a_name_prints_json(ramet, model, tmp_path, backend):
    done = ramet("clone", "model.keras", "target.keras", "--name", "target", "--json")

    assert done.code == 0
    assert loaded(tmp_path / "target.keras").name == "target"
    assert json.loads(done.out) == {
        "ramet": "clone",
        "version": 1,
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


def test_model_with_custom_layers_needs_their_module(ramet, own_layer, tmp_path):
    refused = ramet("clone", "own.keras", "out.keras")
    done = ramet("clone", "own.keras", "out.keras", "--import", "own_layers", "--json")

    assert (refused.code, refused.out) == (1, "")
    assert "--import" in refused.err
    assert done.code == 0, done.err
    # Output of the module goes to standard error.
    assert "imported\n" in done.err
    assert json.loads(done.out)["parameters"] == 15
    assert (tmp_path / "out.keras").exists()


def test_module_that_cannot_be_imported_is_wrong_usage(ramet, model):
    done = ramet("clone", "model.keras", "out.keras", "--import", "no_such_module_at_all")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Cannot import 'no_such_module_at_all': it raised ModuleNotFoundError.\n")


def test_trusted_file_with_code_is_loaded(ramet, tmp_path):
    keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda x: x + 1, name="plus")]).save(
        tmp_path / "code.keras"
    )

    refused = ramet("clone", "code.keras", "out.keras")
    done = ramet("clone", "code.keras", "out.keras", "--trust")

    assert (refused.code, refused.out) == (1, "")
    assert done.code == 0, done.err
    assert done.err == "trusted: The file contains compiled Python code, a lambda. (plus)\n"
    assert (tmp_path / "out.keras").exists()


def test_file_that_keras_cannot_load_gives_exit_code_3(ramet, own_layer, tmp_path):
    (tmp_path / "empty_module.py").write_text("")

    done = ramet("clone", "own.keras", "out.keras", "--import", "empty_module")

    assert (done.code, done.out) == (3, "")
    assert done.err.startswith(f"Cannot load 'own.keras': Keras {keras.__version__} does not accept the model.\n")
    assert "--import" in done.err


def test_weights_without_a_model_cannot_be_loaded(ramet, model, tmp_path):
    model.save_weights(tmp_path / "w.weights.h5")

    done = ramet("clone", "w.weights.h5", "out.keras")

    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("Cannot load 'w.weights.h5': it contains weights, but no model.")


def test_backend_cannot_be_changed_in_a_running_process(ramet, model, backend):
    other = {"jax": "torch", "torch": "jax", "tensorflow": "jax"}[backend]

    done = ramet("clone", "model.keras", "out.keras", "--backend", other)

    assert done.code == 2
    assert f"Keras already runs on '{backend}' in this process" in done.err


RECIPE = '[[edit]]\nremove = "drop*"\n\n[[edit]]\nswap_head = 5\n'


def test_plan_is_printed_and_nothing_is_written(ramet, model, tmp_path):
    (tmp_path / "slim.toml").write_text(RECIPE)

    done = ramet("edit", "model.keras", "--recipe", "slim.toml", "--plan")
    record = json.loads(ramet("edit", "model.keras", "out.keras", "--recipe", "slim.toml", "--plan", "--json").out)

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Plan for 'net': 2 edits, 2 ops touched\n")
    assert [step["kind"] for step in record["steps"]] == ["remove", "swap_head"]
    assert "written" not in record
    assert not (tmp_path / "out.keras").exists()


def test_recipe_is_applied(ramet, model, tmp_path):
    (tmp_path / "slim.toml").write_text(RECIPE)

    done = ramet("edit", "model.keras", "out.keras", "--recipe", "slim.toml", "--seed", 1, "--json")

    edited = loaded(tmp_path / "out.keras")
    assert done.code == 0, done.err
    assert json.loads(done.out)["written"] == {"target": "out.keras", "name": "net", "parameters": 35}
    assert [layer.name for layer in edited.layers] == ["x", "hidden", "logits"]
    assert edited.output_shape == (None, 5)
    assert np.array_equal(edited.get_layer("hidden").kernel.numpy(), model.get_layer("hidden").kernel.numpy())


def test_recipe_that_cannot_be_read_gives_exit_code_3(ramet, model, tmp_path):
    (tmp_path / "bad.toml").write_text("edit = 3\n")

    done, missing = (ramet("edit", "model.keras", "o.keras", "--recipe", name) for name in ("bad.toml", "no.toml"))

    assert (done.code, missing.code) == (3, 3)
    assert done.err.startswith("Cannot read key 'edit' in bad.toml: ")
    assert missing.err.startswith("Cannot read 'no.toml': there is no such file.")


def test_edit_without_a_match_is_refused(ramet, model, tmp_path):
    (tmp_path / "r.toml").write_text('[[edit]]\nremove = "zzz"\n')

    done = ramet("edit", "model.keras", "out.keras", "--recipe", "r.toml")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Cannot find ")
    assert "list the ops of the model with `ramet show`." in done.err
    assert not (tmp_path / "out.keras").exists()


def test_verify_draws_the_differences(ramet, model, tmp_path):
    model.get_layer("logits").bias.assign([0.0, 1.0])
    model.save(tmp_path / "other.keras")
    done = ramet("verify", "model.keras", "other.keras", "--only", "state,outputs", "--draw", "page.html")

    assert (done.code, done.err) == (1, "wrote page.html\n")
    assert "differences begin at logits" in done.out
    assert "outputs: the first value that differs" in (tmp_path / "page.html").read_text()


def test_verify_cannot_draw_several_reports(ramet, model):
    done = ramet("verify", "model.keras", "model.keras", "--backends", "jax,torch", "--draw", "page.html")

    assert (done.code, done.err.partition("\n")[0]) == (
        2,
        "Cannot draw two files on several backends: each backend has its own report.",
    )


def test_files_of_one_model_are_equal_despite_random_layers(ramet, model, tmp_path):
    ramet("clone", "model.keras", "twin.keras")

    done = ramet("verify", "model.keras", "twin.keras", "--skip", "training,gradients")

    assert done.code == 0, done.out
    assert re.match(r"'net' matches 'net' in the checks that were chosen: \d+ passed\n", done.out)


def test_different_files_fail_a_check(ramet, model, tmp_path):
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
def test_clone_and_verify_work_in_a_separate_process(spawn, model, tmp_path, backend):
    """Run on the backend under test, selected by `--backend`, in two processes."""
    cloned = spawn("clone", "model.keras", "twin.keras", "--backend", backend, env={"KERAS_BACKEND": ""})
    verified = spawn("verify", "model.keras", "twin.keras", "--backends", backend, "--only", "state,outputs", "--json")

    assert (cloned.code, cloned.out) == (0, "twin.keras: net (Functional), 23 parameters\n"), cloned.err
    record = json.loads(verified.out)
    assert verified.code == 0, verified.err
    assert (record["ramet"], record["ok"], list(record["backends"])) == ("verify-backends", True, [backend])
    assert record["backends"][backend]["ramet"] == "verify"


@pytest.mark.skipif(find_spec("torch") is None, reason="needs two backends; installing torch lifts this")
@pytest.mark.skipif(keras.backend.backend() != "jax", reason="it starts every backend itself; the run on JAX covers it")
def test_file_with_custom_layers_gives_the_same_outputs_on_every_backend(spawn, own_layer):
    backends = [name for name in ("jax", "torch", "tensorflow") if find_spec(name)]

    done = spawn("verify", "own.keras", "--backends", ",".join(backends), "--import", "own_layers", "--json")

    report = json.loads(done.out)
    assert done.code == 0, done.err
    assert [(check["name"], check["outcome"]) for check in report["checks"]] == [
        (backend, "passed") for backend in backends
    ]


# Files trained on any backend, written by Keras 2, or refused with a reason and a fix.


INPUT = {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "dtype": "float32", "name": "x"}}
DENSE = {"class_name": "Dense", "config": {"name": "d", "units": 2, "activation": "linear", "use_bias": True}}
ARRAYS = {"d": {"d/kernel:0": np.arange(8.0).reshape(4, 2), "d/bias:0": np.ones(2)}}
# As Keras 2.15 writes them: metrics by name and class, losses by name.
METRIC = {"class_name": "MeanMetricWrapper", "config": {"name": "mse", "dtype": "float32", "fn": "mean_squared_error"}}
TRAINING = {
    "optimizer_config": {"class_name": "Custom>Adam", "config": {"name": "Adam", "learning_rate": 0.1}},
    "loss": "mse",
    "metrics": [[METRIC]],
    "loss_weights": None,
}


def _old(path, *layers, training=None, arrays=ARRAYS):
    """Save a Sequential model as Keras 2 does."""
    config = {"class_name": "Sequential", "config": {"name": "old", "layers": [INPUT, *layers]}}
    legacy(path, config, arrays, training)
    with h5py.File(path, "a") as file:
        file["model_weights"].attrs["layer_names"] = [name.encode() for name in arrays]


def _trained(path, optimizer="Adam"):
    """Save a model after one training step, run eagerly because compiling takes long."""
    x = keras.Input((4,), name="x")
    hidden = keras.layers.Dropout(0.1, seed=1)(keras.layers.Dense(3, name="h")(x))
    model = keras.Model(x, keras.layers.Dense(2, name="out")(hidden), name="m")
    model.compile(getattr(keras.optimizers, optimizer)(0.1), "mse", metrics=["mae"], run_eagerly=True)
    model.train_on_batch(np.ones((4, 4), "float32"), np.ones((4, 2), "float32"))
    model.save(path)
    return model


def _as_saved_by_torch(path, optimizer="Adam"):
    """Rename the optimizer of a file as files of torch name it."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    config = json.loads(members["config.json"])
    config["compile_config"]["optimizer"] |= {
        "module": f"keras.src.backend.torch.optimizers.torch_{optimizer.lower()}",
        "class_name": optimizer,
        "registered_name": optimizer,
    }
    members["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)


def test_trained_model_is_cloned_edited_and_verified(ramet, tmp_path):
    _trained(tmp_path / "m.keras")
    (tmp_path / "slim.toml").write_text('[[edit]]\nremove = "dropout*"\n')

    commands = [
        ("clone", "m.keras", "twin.keras"),
        ("verify", "m.keras", "twin.keras", "--only", "structure,state,outputs"),
        ("edit", "m.keras", "slim.keras", "--recipe", "slim.toml"),
        ("scan", "slim.keras"),
    ]
    done = {" ".join(command): ramet(*command) for command in commands}

    assert {name: one.code for name, one in done.items()} == dict.fromkeys(done, 0), [one.err for one in done.values()]


@pytest.mark.parametrize("optimizer", ["Adam", "SGD"])
def test_file_saved_on_torch_can_be_trained_on_every_backend(ramet, tmp_path, optimizer):
    assert optimizer in TORCH_OPTIMIZERS
    model = _trained(tmp_path / "m.keras", optimizer)
    _as_saved_by_torch(tmp_path / "m.keras", optimizer)

    done = ramet("clone", "m.keras", "twin.keras")

    assert done.code == 0, done.err
    twin = keras.saving.load_model(tmp_path / "twin.keras")
    assert type(twin.optimizer) is type(model.optimizer)
    batch = np.ones((4, 4), "float32"), np.ones((4, 2), "float32")
    np.testing.assert_allclose(twin.evaluate(*batch, verbose=0), model.evaluate(*batch, verbose=0), rtol=1e-5)
    twin.train_on_batch(*batch)


@pytest.mark.parametrize("verb", ["clone", "edit", "verify"])
def test_compile_settings_of_keras_2_can_be_left_out(ramet, tmp_path, verb):
    _old(tmp_path / "old.h5", DENSE, training={**TRAINING, "loss": {"class_name": "Nope", "config": {}}})
    (tmp_path / "none.toml").write_text('[[edit]]\nfreeze = "d"\n')
    command = {
        "clone": ("clone", "old.h5", "new.keras"),
        "edit": ("edit", "old.h5", "new.keras", "--recipe", "none.toml"),
        "verify": ("verify", "old.h5", "old.h5", "--only", "structure"),
    }[verb]

    refused, done = ramet(*command), ramet(*command, "--no-compile", "--import", "json")

    assert refused.code == 1
    assert done.code == 0, done.err


@pytest.mark.slow
def test_unsupported_compile_settings_are_reported_with_a_fix(ramet, tmp_path):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d")])
    model.compile("sgd", "mse")
    model.layers[0].kernel.assign(ARRAYS["d"]["d/kernel:0"])
    model.save(tmp_path / "old.h5")  # Keras itself does not load this file

    refused = ramet("clone", "old.h5", "new.keras")
    done = ramet("clone", "old.h5", "new.keras", "--no-compile")

    assert refused.code == 3
    assert refused.err == (
        f"Cannot load 'old.h5': Keras {keras.__version__} does not accept its compile settings.\n"
        "  found:    Keras does not find its own object 'mse' under the name in the file\n"
        "  fix: rewrite the file for Keras 3 with `ramet port old.h5 new.keras`; or add --no-compile to load its layers and "
        "weights without optimizer, loss and metrics.\n"
    )
    assert done.code == 0, done.err
    kernel = keras.saving.load_model(tmp_path / "new.keras").get_layer("d").kernel
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(kernel), ARRAYS["d"]["d/kernel:0"])


REFUSED = {
    "time_major": (
        {"class_name": "LSTM", "config": {"name": "l", "units": 2, "time_major": False}},
        "the layer 'l' (LSTM) has the setting 'time_major', which this version of Keras does not support",
    ),
    "groups": (
        {"class_name": "DepthwiseConv2D", "config": {"name": "c", "kernel_size": [3, 3], "groups": 1}},
        "the layer 'c' (DepthwiseConv2D) has the setting 'groups', which this version of Keras does not support",
    ),
    "raw_operation": (
        {"class_name": "TFOpLambda", "config": {"name": "tf.nn.relu", "function": "nn.relu"}},
        "the layer 'tf.nn.relu' is a raw TensorFlow operation (TFOpLambda) of Keras 2",
    ),
    "unknown": ({"class_name": "Mine", "config": {"name": "own"}}, "Keras has no layer 'Mine' (layer 'own')"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_layer_that_keras_3_does_not_support_is_named_with_the_reason(ramet, tmp_path, name):
    layer, reason = REFUSED[name]
    _old(tmp_path / "old.h5", layer, arrays={})

    done = ramet("clone", "old.h5", "new.keras", "--import", "json")

    lines = done.err.splitlines()
    assert (done.code, done.out) == (3, "")
    assert lines[0] == f"Cannot load 'old.h5': Keras {keras.__version__} does not accept the model."
    assert lines[1] == f"  found:    {reason}"
    assert lines[2].startswith("  fix: ")
    assert "`ramet port old.h5 new.keras`" in lines[2]
    assert len(lines) == 3


def test_config_is_never_printed(ramet, tmp_path):
    layer = {
        "class_name": "Dense",
        "config": {"name": "d", "units": "many", **{f"k{number}": 0 for number in range(99)}},
    }
    _old(tmp_path / "old.h5", layer, arrays={})

    done = ramet("clone", "old.h5", "new.keras")

    assert done.code == 3
    assert len(done.err) < 4_000
    assert "{" not in done.err
