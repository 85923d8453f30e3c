"""Files of Keras 2, ported and compared with the outputs of tf_keras.

tf_keras runs in a process of its own (`keras_2_models`), so that every backend is compared with it.
"""

import io
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path

import h5py
import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ramet import errors
from ramet._port import port
from tests.port import keras_2_models
from tests.port.keras_2_models import BUNDLES, CASES, COMPILED, MERGES, SIMPLE, folder_name

pytestmark = [
    pytest.mark.skipif(
        find_spec("tf_keras") is None, reason="tf_keras is not installed: `pip install tf_keras` enables these tests"
    ),
    # tf_keras saves integers of 64 bits, which JAX does not have unless asked.
    pytest.mark.filterwarnings("ignore:Explicitly requested dtype:UserWarning"),
    # The report says that the state of optimizers is left out, and Keras says so again.
    pytest.mark.filterwarnings("ignore:Skipping variable loading for optimizer:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*was passed an input with a mask attached to it:UserWarning"),
]

BACKEND = keras.backend.backend()
SOURCES = {"h5": "model.h5", "keras": "model.keras", "json": "model.json", "saved": "saved"}


def runs_here(case):
    if case.only is not None:
        return BACKEND in case.only
    return case.elsewhere or BACKEND == "tensorflow"


RUN = [name for name, case in CASES.items() if case.refused is None and not case.can_be_joined and runs_here(case)]
REFUSED = [name for name, case in CASES.items() if case.refused is not None] if BACKEND == "tensorflow" else []
TRAINED = list(COMPILED) if BACKEND == "tensorflow" else []
JOINED = [name for name, parts in BUNDLES.items() if runs_here(CASES[parts[0]])]


# Cases whose files are changed in tests.
ALWAYS = [name for name in ("concatenate masked", "nested three levels", "spectral normalization") if name not in RUN]
MORE = os.environ.get("RAMET_EXAMPLES")
several = settings(
    derandomize=not MORE,
    database=None,
    max_examples=int(MORE or 8),
    deadline=None,
    phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if MORE else [])],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
only_tensorflow = pytest.mark.skipif(
    BACKEND != "tensorflow", reason="tf_keras needs TensorFlow in this process; runs with KERAS_BACKEND=tensorflow"
)


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Let tf_keras write all files, once for all processes of a run; return a function for the folder of a case."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder = shared / f"keras_2_{BACKEND}"
    done = folder / "failed.json"
    try:
        folder.mkdir()
    except FileExistsError:  # another process writes them
        waiting_until = time.monotonic() + 600
        while not done.exists():
            assert time.monotonic() < waiting_until, "another process did not finish writing the files of tf_keras"
            time.sleep(0.2)
    else:
        request = folder / "request.json"
        request.write_text(json.dumps({"names": [*RUN, *REFUSED, *JOINED, *TRAINED, *ALWAYS], "folder": str(folder)}))
        root = Path(__file__).parents[2]
        settings = {**os.environ, "PYTHONPATH": str(root), "TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [sys.executable, "-m", "tests.port.keras_2_models", str(request)]
        subprocess.run(command, check=True, cwd=root, env=settings, capture_output=True)
    failed = json.loads(done.read_text())

    def folder_of(name):
        if name in failed:
            pytest.fail(f"tf_keras cannot make this model:\n{failed[name]}")
        return folder / folder_name(name)

    return folder_of


def ported(folder, kind, target):
    """Port one of the files of a case."""
    weights = folder / "model.weights.h5" if kind == "json" else None
    return port(folder / SOURCES[kind], target, weights=weights, isolated=False)


def arrays_of(path):
    with np.load(path) as found:
        return [found[key] for key in sorted(found.files)]


def tensor(array):
    if array.dtype.kind in "US":
        import tensorflow as tf

        return tf.constant(array)
    return keras.ops.convert_to_tensor(array)


def outputs_of(path, inputs, steps=1):
    model = keras.models.load_model(path)
    given = [tensor(array) for array in inputs]
    structure = given[0] if isinstance(model, keras.Sequential) else model._inputs_struct
    given = keras.tree.pack_sequence_as(structure, given)
    made = [item for _ in range(steps) for item in keras.tree.flatten(model(given, training=False))]
    return [np.asarray(item) if BACKEND == "tensorflow" else keras.ops.convert_to_numpy(item) for item in made]


def difference(found, expected):
    """Return the largest difference, relative to the largest value."""
    if found.shape != expected.shape:
        return f"shape {found.shape} instead of {expected.shape}"
    if expected.dtype.kind in "US":
        return 0.0 if (found.astype(str) == expected).all() else "other texts"
    if not expected.size:
        return 0.0
    expected = expected.astype("float64")
    largest = max(float(np.abs(expected).max()), 1e-6)
    return float(np.abs(found.astype("float64") - expected).max()) / largest


def content(path):
    """Return the config and the weights in a `.keras` file."""
    with zipfile.ZipFile(path) as archive:
        config = json.loads(archive.read("config.json"))
        arrays = {}
        with h5py.File(io.BytesIO(archive.read("model.weights.h5"))) as weights:
            weights.visititems(
                lambda name, item: arrays.update({name: item[()].tolist()}) if isinstance(item, h5py.Dataset) else None
            )
    return config, arrays


def compare(folder, formats, tolerances, tmp_path, steps=1):
    """Port all files of a model; return the cases with other outputs, by the format of the file."""
    inputs, expected = arrays_of(folder / "inputs.npz"), arrays_of(folder / "outputs.npz")
    owners = json.loads((folder / "facts.json").read_text())["owners"]
    wrong, seen = {}, []
    for kind in formats:
        target = tmp_path / f"{kind}.keras"
        report = ported(folder, kind, target)
        assert report.is_written
        assert all(what in ("used", "converted", "left out") and why for what, why in report.arrays.values())
        written = content(target)
        if written in seen:
            continue  # the same file as from another format
        seen.append(written)
        found = outputs_of(target, inputs, steps)
        assert len(found) == len(expected)
        for owner, one, other in zip(owners, found, expected, strict=True):
            by = difference(one, other)
            if isinstance(by, str) or not by <= tolerances[owner]:
                wrong[owner, kind] = by
    return wrong


@pytest.mark.parametrize("bundle", JOINED)
def test_layers_compute_the_same_in_keras_3(bundle, files, tmp_path):
    cases = {name: CASES[name] for name in BUNDLES[bundle]}
    tolerances = {name: case.tolerance for name, case in cases.items()}
    assert compare(files(bundle), next(iter(cases.values())).formats, tolerances, tmp_path) == {}


@pytest.mark.parametrize("name", RUN)
def test_models_compute_the_same_in_keras_3(name, files, tmp_path):
    case = CASES[name]
    assert compare(files(name), case.formats, {name: case.tolerance}, tmp_path, case.steps) == {}


@pytest.mark.parametrize("name", REFUSED)
def test_models_without_counterpart_are_refused(name, files, tmp_path):
    case = CASES[name]
    for kind in case.formats:
        plan = ported(files(name), kind, None)
        reasons = [f"{one.path}: {one.reason}" for one in plan.refusals]
        assert any(case.refused in reason for reason in reasons), reasons
        assert all(one.path and one.fix for one in plan.refusals)
        with pytest.raises(errors.PortError):
            ported(files(name), kind, tmp_path / "new.keras")
        assert not (tmp_path / "new.keras").exists()


def datasets(path):
    """Return the shapes of all arrays in an HDF5 file by path."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item.shape}) if isinstance(item, h5py.Dataset) else None)
    return found


def test_model_with_joined_masks_is_loaded_several_times(files, tmp_path):
    port(files("concatenate masked") / "model.h5", tmp_path / "new.keras", isolated=False)
    keras.utils.clear_session()

    # Keras names operations on masks by their number in the process: `concatenate`, then `concatenate_1`.
    loaded = [keras.models.load_model(tmp_path / "new.keras") for _ in range(3)]

    assert {one.layers[-1].name for one in loaded} == {"concatenate_1_layer"}


def test_every_array_is_accounted_for(files, tmp_path):
    source = files("nested three levels") / "model.h5"
    report = port(source, tmp_path / "new.keras", isolated=False)
    assert set(report.arrays) == set(datasets(source))
    assert {what for what, _ in report.arrays.values()} == {"used"}
    assert len({why for _, why in report.arrays.values()}) == len(report.arrays)
    assert len(content(tmp_path / "new.keras")[1]) == len(report.arrays)


def test_changed_weight_changes_one_variable(files, tmp_path):
    source = files("nested three levels") / "model.h5"
    port(source, tmp_path / "before.keras", isolated=False)
    _, before = content(tmp_path / "before.keras")
    changed_variables = set()
    for number, path in enumerate(datasets(source)):
        copy = tmp_path / f"copy{number}.h5"
        shutil.copyfile(source, copy)
        with h5py.File(copy, "r+") as file:
            file[path][...] = file[path][...] + 1
        port(copy, tmp_path / f"after{number}.keras", isolated=False)
        _, after = content(tmp_path / f"after{number}.keras")
        (changed,) = (name for name in before if before[name] != after[name])
        np.testing.assert_allclose(np.array(after[changed]) - np.array(before[changed]), 1, rtol=1e-5)
        changed_variables.add(changed)
    assert changed_variables == set(before)


def test_exchanged_weights_are_exchanged_in_the_new_file(files, tmp_path):
    folder = files("nested three levels")
    source = folder / "model.h5"
    first, second = [path for path, shape in datasets(source).items() if shape == (4, 4)][:2]
    port(source, tmp_path / "before.keras", isolated=False)
    copy = tmp_path / "copy.h5"
    shutil.copyfile(source, copy)
    with h5py.File(copy, "r+") as file:
        file[first][...], file[second][...] = file[second][...], file[first][...]
    port(copy, tmp_path / "after.keras", isolated=False)
    (_, before), (_, after) = content(tmp_path / "before.keras"), content(tmp_path / "after.keras")
    one, other = (name for name in before if before[name] != after[name])
    assert (after[one], after[other]) == (before[other], before[one])
    # The comparison of outputs would notice it.
    inputs, expected = arrays_of(folder / "inputs.npz"), arrays_of(folder / "outputs.npz")
    (found,) = outputs_of(tmp_path / "after.keras", inputs)
    assert difference(found, expected[0]) > 1e-2


def test_causal_setting_of_attention_becomes_an_argument_of_its_calls(files, tmp_path):
    """Keras 2.4 to 2.10 have `causal` among the settings of Attention."""
    if BACKEND != "tensorflow":
        pytest.skip("the file is written for TensorFlow only; KERAS_BACKEND=tensorflow runs it")
    bundle = next(name for name, parts in BUNDLES.items() if "attention causal" in parts)
    copy = tmp_path / "old.h5"
    shutil.copyfile(files(bundle) / "model.h5", copy)
    with h5py.File(copy, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        changed = 0
        for layer in config["config"]["layers"]:
            for item in [part for node in layer["inbound_nodes"] for part in node]:
                if layer["class_name"] == "Attention" and item[3].pop("use_causal_mask", False):
                    layer["config"]["causal"] = True
                    changed += 1
        file.attrs["model_config"] = json.dumps(config)
    assert changed
    folder = tmp_path / "case"
    folder.mkdir()
    for name in ("inputs.npz", "outputs.npz", "facts.json"):
        shutil.copyfile(files(bundle) / name, folder / name)
    shutil.move(copy, folder / "model.h5")
    tolerances = {name: CASES[name].tolerance for name in BUNDLES[bundle]}
    assert compare(folder, ("h5",), tolerances, tmp_path) == {}


def number(value):
    return float(keras.ops.convert_to_numpy(value))


@pytest.mark.parametrize("name", TRAINED)
def test_compiled_models_are_compiled_the_same(name, files, tmp_path):
    case, folder = COMPILED[name], files(name)
    facts = json.loads((folder / "facts.json").read_text())
    inputs, *labels = arrays_of(folder / "inputs.npz")
    for kind in case.formats:
        report = ported(folder, kind, tmp_path / f"{kind}.keras")
        left_out = [note.text for note in report.notes if note.kind == "left out"]
        model = keras.models.load_model(tmp_path / f"{kind}.keras")
        if case.left_out is not None:
            assert any(case.left_out in text for text in left_out)
            continue
        optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
        if name != "loss scale":
            assert type(optimizer).__name__ == facts["class"]
            config = optimizer.get_config()
            for key, value in facts["settings"].items():
                if key in ("learning_rate", "jit_compile", "ema_overwrite_frequency") or not value:
                    continue
                if key in config:
                    assert config[key] == pytest.approx(value), key
        if isinstance(facts["rate"], dict):
            schedule = config["learning_rate"]
            assert schedule["class_name"] == facts["rate"]["class_name"]
            wanted = {key: value for key, value in facts["rate"]["config"].items() if key != "name"}
            assert {key: schedule["config"][key] for key in wanted} == wanted
        elif name != "legacy decay":
            assert number(optimizer.learning_rate) == pytest.approx(facts["rate"])
        model.run_eagerly = True
        y = labels[0] if case.outputs == 1 else labels
        results = model.test_on_batch(inputs, y, return_dict=True)
        both = set(results) & set(facts["results"])
        assert "loss" in both
        assert len(both) == len(facts["results"]) or case.outputs > 1  # Keras 3 reports fewer losses of outputs
        assert {key: float(results[key]) for key in both} == pytest.approx(
            {key: facts["results"][key] for key in both}, rel=1e-4, abs=1e-6
        )
        model.train_on_batch(inputs, y)  # the optimizer works


def steps():
    kinds = (*SIMPLE, *MERGES, "attention", "again", "operator", "nested", "frozen")
    return st.lists(st.tuples(st.sampled_from(kinds), st.integers(0, 20), st.integers(0, 20)), min_size=2, max_size=9)


@only_tensorflow
@several
@given(steps=steps(), outputs=st.integers(1, 3), kind=st.sampled_from(("h5", "keras")))
@pytest.mark.filterwarnings("ignore")
def test_random_models_compute_the_same(steps, outputs, kind, tmp_path):
    keras_2_models.load_tf_keras()
    keras_2_models.k.backend.clear_session()
    model = keras_2_models.random_model(steps, outputs)
    source, target = tmp_path / f"old.{kind}", tmp_path / "new.keras"
    model.save(source)
    port(source, target, isolated=False, force=True)
    inputs = np.random.default_rng(0).normal(size=(2, 6, 4)).astype("float32")
    expected = [item.numpy() for item in keras_2_models.tf.nest.flatten(model(inputs, training=False))]
    found = outputs_of(target, [inputs])
    assert [difference(one, other) < 1e-5 for one, other in zip(found, expected, strict=True)] == [True] * len(expected)
