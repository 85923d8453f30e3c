"""The state of optimizers in ported files. The oracle is tf_keras, which goes on training the original."""

import os
import subprocess
import sys
from importlib.util import find_spec

import h5py
import keras
import numpy as np
import pytest

from ramet import port

pytestmark = pytest.mark.skipif(
    find_spec("tf_keras") is None, reason="tf_keras is not installed: `pip install tf_keras` enables these tests"
)

X = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
Y = X[:, :1] * 2 + X[:, 1:2]

# Layers of equal shapes, so that state of the wrong one would not be noticed by its shape; one frozen layer; and an order
# of layers that differs between Keras 2 and 3.
_SCRIPT = """
import sys
import numpy as np
import tensorflow as tf
import tf_keras as k

folder, rate = sys.argv[1], 0.01
x = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
y = x[:, :1] * 2 + x[:, 1:2]
new, old = k.optimizers, k.optimizers.legacy
optimizers = {
    "Adadelta": new.Adadelta(1.0),
    "Adagrad": new.Adagrad(rate),
    "Adam": new.Adam(rate),
    "Adam amsgrad": new.Adam(rate, amsgrad=True),
    "Adam schedule": new.Adam(new.schedules.ExponentialDecay(0.05, 3, 0.5)),
    "AdamW": new.AdamW(rate),
    "Adamax": new.Adamax(rate),
    "Ftrl": new.Ftrl(0.1),
    "Lion": new.Lion(rate),
    "Nadam": new.Nadam(rate),
    "RMSprop": new.RMSprop(rate, momentum=0.5, centered=True),
    "SGD": new.SGD(rate, momentum=0.9, nesterov=True),
    **{f"{each} by name": each for each in ("adam", "rmsprop", "sgd")},
    "averages": new.Adam(rate, use_ema=True),
    "former Adadelta": old.Adadelta(1.0),
    "former Adagrad": old.Adagrad(rate),
    "former Adam": old.Adam(0.05, decay=0.5, amsgrad=True),
    "former Adamax": old.Adamax(rate),
    "former plain Adam": old.Adam(rate),
    "former Ftrl": old.Ftrl(0.1),
    "former RMSprop": old.RMSprop(rate, epsilon=0.01),
    "former RMSprop momentum": old.RMSprop(rate, momentum=0.9, centered=True),
    "former SGD": old.SGD(rate, momentum=0.9),
}
for name, optimizer in optimizers.items():
    k.utils.set_random_seed(0)
    given = k.Input((4,))
    first = k.layers.Dense(3, name="z")(given)
    second = k.layers.LayerNormalization(name="norm")(k.layers.Dense(3, name="a")(given))
    third = k.layers.Bidirectional(k.layers.LSTM(3), name="both")(k.layers.Reshape((4, 1))(given)) if name == "Adam" else given
    inner = k.Sequential([k.Input((3,)), k.layers.Dense(3, name="p", trainable=False), k.layers.Dense(3, name="q")], name="in")
    if name in ("Adam", "former Adam"):
        third = tf.nn.relu6(third * 0.5) + 0.1  # operations, which have no weights
    end = inner(k.layers.Add()([first, second, k.layers.Dense(3, name="m")(third)]))
    model = k.Model(given, k.layers.Dense(1, name="end")(end))
    model.compile(optimizer, "mse")
    model.fit(x, y, epochs=3, verbose=0, shuffle=False)
    model.save(f"{folder}/{name}.h5")
    if name in ("Adam", "RMSprop", "Ftrl") or isinstance(optimizer, str):
        model.save(f"{folder}/{name}.keras")
    if name in ("Adam", "former Adam"):
        model.save(f"{folder}/{name}", save_format="tf")
    model.fit(x, y, epochs=3, verbose=0, shuffle=False)
    np.save(f"{folder}/{name}.npy", model.predict(x, verbose=0))
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a folder of models that tf_keras trained, and what each one computes after it was trained further."""
    folder = tmp_path_factory.mktemp("trained")
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, "-W", "ignore", "-c", _SCRIPT, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def left_out(report):
    return [note.text for note in report.notes if note.kind == "left out"]


def trained_further(path):
    model = keras.models.load_model(path)
    model.fit(X, Y, epochs=3, verbose=0, shuffle=False)
    return model.predict(X, verbose=0)


NAMED = [
    "Adadelta",
    "Adagrad",
    "Adam",
    "Adam amsgrad",
    "Adam schedule",
    "AdamW",
    "Adamax",
    "Ftrl",
    "Lion",
    "RMSprop",
    "SGD",
    "sgd by name",
]
FORMER = [f"former {name}" for name in ("Adadelta", "Adagrad", "Adam", "Adamax", "Ftrl", "RMSprop momentum", "SGD")]
NUMBERED = ["Adam.keras", "RMSprop.keras", "Ftrl.keras"]
NUMBERED += [f"{name} by name.keras" for name in ("adam", "rmsprop", "sgd")]
FOLDERS = ["Adam", "former Adam"]


@pytest.mark.parametrize("name", [*(f"{name}.h5" for name in NAMED + FORMER), *NUMBERED, *FOLDERS])
def test_training_goes_on_where_it_was(name, trained, tmp_path):
    report = port(trained / name, tmp_path / "new.keras")

    expected = np.load(trained / f"{name.partition('.')[0]}.npy")
    steps = keras.models.load_model(tmp_path / "new.keras").optimizer.iterations
    found = trained_further(tmp_path / "new.keras")
    assert left_out(report) == []
    assert int(keras.ops.convert_to_numpy(steps)) == 3
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * np.abs(expected).max())
    used = [detail for path, (fate, detail) in report.arrays.items() if path.startswith("optimizer") and fate == "used"]
    assert "optimizer/vars/0" in used


# What Keras before 2.4 saves for each weight, kind by kind, under the names of `tf.keras`; and whether it saves the count of
# iterations in every release.
COUNTED = {
    "former Adadelta": (("accum_grad", "accum_var"), False),
    "former Adagrad": (("accumulator",), False),
    "former Adam": (("m", "v", "vhat"), True),
    "former Adamax": (("m", "v"), True),
    "former SGD": (("momentum",), True),
}


def count_names(path, kinds, *, saves_iterations, unused=0, version="2.2.4"):
    """Give the variables of the optimizer in a file the names and the order that they had before Keras 2.4."""
    with h5py.File(path, "r+") as file:
        group = file["optimizer_weights"]
        names = [name.decode() if isinstance(name, bytes) else name for name in group.attrs["weight_names"]]
        if version < "2.0.6":
            names.sort(key=lambda name: name.rpartition("/")[0])
        file.attrs["keras_version"] = version
        values = [group[name][()] for kind in kinds for name in names if name.endswith(f"/{kind}:0")]
        iterations = next(group[name][()] for name in names if "iter" in name)
        count = len(values) // len(kinds)
        values += [np.zeros(1, "float32")] * count * unused
        found = {f"training/Optimizer/Variable{f'_{n}' if n else ''}:0": one for n, one in enumerate(values)}
        if saves_iterations:
            found = {"Optimizer/iterations:0": iterations, **found}
        del file["optimizer_weights"]
        group = file.create_group("optimizer_weights")
        for name, value in found.items():
            group[name] = value
        group.attrs["weight_names"] = [name.encode() for name in found]


@pytest.mark.parametrize("version", ["2.0.5", "2.2.4"])
@pytest.mark.parametrize("name", COUNTED)
def test_variables_that_are_only_counted_are_found(name, version, trained, tmp_path):
    kinds, saves_iterations = COUNTED[name]
    path = tmp_path / "old.h5"
    path.write_bytes((trained / f"{name}.h5").read_bytes())
    count_names(path, kinds, saves_iterations=saves_iterations, version=version)

    report = port(path, tmp_path / "new.keras")

    expected = np.load(trained / f"{name}.npy")
    assert left_out(report) == []
    found = trained_further(tmp_path / "new.keras")
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * np.abs(expected).max())
    iterations = keras.models.load_model(tmp_path / "new.keras").optimizer.iterations
    assert int(iterations) == (3 if saves_iterations else 0)


def test_variables_that_keras_saved_without_using_them_are_left_out(trained, tmp_path):
    path = tmp_path / "old.h5"
    path.write_bytes((trained / "former plain Adam.h5").read_bytes())
    count_names(path, ("m", "v"), saves_iterations=True, unused=1)

    report = port(path, tmp_path / "new.keras")

    expected = np.load(trained / "former plain Adam.npy")
    found = trained_further(tmp_path / "new.keras")
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * np.abs(expected).max())
    fates = [detail for path, (fate, detail) in report.arrays.items() if "optimizer" in path and fate == "left out"]
    assert set(fates) == {"Adam does not use it with these settings"}


def test_counted_variables_of_other_weights_are_left_out_with_a_note(trained, tmp_path):
    path = tmp_path / "old.h5"
    path.write_bytes((trained / "former Adam.h5").read_bytes())
    count_names(path, ("m", "v"), saves_iterations=True)

    report = port(path, tmp_path / "new.keras")

    assert left_out(report)[0].endswith("it has other variables than in Keras 3")


def test_variables_without_a_scope_are_found(trained, tmp_path):
    path = tmp_path / "old.h5"
    path.write_bytes((trained / "former SGD.h5").read_bytes())
    with h5py.File(path, "r+") as file:
        group = file["optimizer_weights"]
        names = [name.decode() if isinstance(name, bytes) else name for name in group.attrs["weight_names"]]
        for name in names:
            group[name.partition("/")[2]] = group[name][()]
        group.attrs["weight_names"] = [name.partition("/")[2].encode() for name in names]

    report = port(path, tmp_path / "new.keras")

    expected = np.load(trained / "former SGD.npy")
    found = trained_further(tmp_path / "new.keras")
    assert left_out(report) == []
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["Nadam", "averages"])
def test_state_that_keras_3_keeps_differently_is_left_out_with_a_note(name, trained, tmp_path):
    report = port(trained / f"{name}.h5", tmp_path / "new.keras")

    assert left_out(report)[0].startswith("the state of the optimizer, which starts again when training goes on: ")
    with pytest.warns(UserWarning, match="Skipping variable loading for optimizer"):
        keras.models.load_model(tmp_path / "new.keras")


def test_rmsprop_that_takes_other_steps_in_keras_3_is_noted(trained, tmp_path):
    report = port(trained / "former RMSprop.h5", tmp_path / "new.keras")

    expected = np.load(trained / "former RMSprop.npy")
    difference = np.abs(trained_further(tmp_path / "new.keras") - expected).max() / np.abs(expected).max()
    assert difference > 1e-4
    assert "in training, RMSprop of Keras 3 adds epsilon inside the square root" in str(report)


@pytest.mark.parametrize("change", ["missing", "another shape", "one too many", "iterations of another shape"])
def test_state_that_does_not_fit_the_model_is_left_out_with_a_note(change, trained, tmp_path):
    path = tmp_path / "old.h5"
    path.write_bytes((trained / "Adam.h5").read_bytes())
    with h5py.File(path, "r+") as file:
        group = file["optimizer_weights"]
        names = list(group.attrs["weight_names"])
        if change == "missing":
            names.remove("Adam/m/z/kernel:0")
        if change == "another shape":
            del group["Adam/m/z/kernel:0"]
            group["Adam/m/z/kernel:0"] = np.zeros((3, 4), "float32")
        if change == "iterations of another shape":
            del group["iteration:0"]
            group["iteration:0"] = np.zeros(1, "int64")
        if change == "one too many":
            group["Adam/m/gone/kernel:0"] = np.zeros((3, 4), "float32")
            names.append("Adam/m/gone/kernel:0")
        group.attrs["weight_names"] = names

    report = port(path, tmp_path / "new.keras")

    assert left_out(report)[0].startswith("the state of the optimizer")
    assert {fate for path, (fate, _) in report.arrays.items() if path.startswith("optimizer")} == {"left out"}


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "rmsprop", "nadam"])
def test_h5_file_of_keras_3_keeps_its_optimizer(optimizer, tmp_path):
    hidden = keras.layers.Dense(3, name="hidden")
    model = keras.Sequential([keras.Input((4,)), hidden, keras.layers.Dense(1, name="head")])
    model.compile(optimizer, "mse")
    model.fit(X, Y, epochs=2, verbose=0)
    model.save(tmp_path / "old.h5")

    report = port(tmp_path / "old.h5", tmp_path / "new.keras")

    if optimizer == "nadam":
        reason = "Nadam keeps it differently in archives"
        assert left_out(report) == [f"the state of the optimizer, which starts again when training goes on: {reason}"]
        return
    assert left_out(report) == []
    restored = keras.models.load_model(tmp_path / "new.keras").optimizer.variables
    for found, expected in zip(restored, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(found), keras.ops.convert_to_numpy(expected))


def test_state_of_other_weights_in_an_h5_file_of_keras_3_is_left_out(tmp_path):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, name="head")])
    model.compile("adam", "mse")
    model.fit(X, Y, verbose=0)
    model.save(tmp_path / "old.h5")
    with h5py.File(tmp_path / "old.h5", "r+") as file:
        group = file["optimizer_weights"]
        name = next(one for one in group.attrs["weight_names"] if "kernel_momentum" in str(one))
        del group[name]
        group[name] = np.zeros((3, 1), "float32")

    report = port(tmp_path / "old.h5", tmp_path / "new.keras")

    assert left_out(report) == [
        "the state of the optimizer, which starts again when training goes on: it belongs to other weights"
    ]
    with pytest.warns(UserWarning, match="Skipping variable loading for optimizer"):
        keras.models.load_model(tmp_path / "new.keras")


def test_arrays_that_the_target_does_not_get_are_left_out(tmp_path):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dropout(0.5), keras.layers.Dense(1, name="head")])
    model.compile(keras.optimizers.Lamb(), "mse")
    model.fit(X, Y, verbose=0)
    model.save(tmp_path / "new.keras")

    # Neither has this optimizer.
    for target, to in (("old.h5", "tf_keras"), ("old.keras", "3.4")):
        report = port(tmp_path / "new.keras", tmp_path / target, to=to)
        used = {path for path, (fate, _) in report.arrays.items() if fate == "used" and "seed_generator" not in path}
        assert used == {"layers/dense/vars/0", "layers/dense/vars/1"}
