"""Files of one Keras 3 release for another one. The oracle is that release, in a process of its own."""

import importlib.util
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import keras
import numpy as np
import pytest

from ramet._files.json_data import walk_json
from ramet._port import releases, version_rules, versions
from ramet._port.notes import Notes
from ramet._port.porting import plan_port
from ramet.errors import ArgumentError
from tests.port import old_keras
from tests.port.version_models import MODELS

SOURCE = versions.resolve_version(keras.__version__)
NEWEST = versions.known_versions()[-1]
RELEASES = releases.settings_table()["releases"]
# Features that a model uses and a release does not have, by model: the first release that has them.
NEEDS = {
    "RMSNormalization": "3.9",
    "AutoContrast": "3.6",
    "RandomCrop": "3.8",
    "operations": "3.2",
    "norm_operation": "3.9",
    "scores": "3.8",
    "initializers": "3.2",
}
# What a release writes as another model, which it loads as such itself: Keras 3.2 numbers calls of nested models wrongly.
WRITTEN_WRONGLY = {("3.2", "nested")}
# Models that older releases run on torch only with torchvision, of which there is no build for every machine.
NEED_TORCHVISION = {"Resizing", "UpSampling2D"} if keras.backend.backend() == "torch" else set()


def port(source, target, path):
    """Port a file; return the report, with the reasons if it is refused."""
    return plan_port(
        source, to=target, weights=None, functions=None, custom=(), isolated=False, target=path, force=False
    )


def rewrite(config, target, source=SOURCE):
    notes = Notes()
    return versions.rewrite_for(config, source=source, target=target, notes=notes), notes


def saved_config(model, path):
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("config.json"))


def differs(found, expected):
    if found.keys() != expected.keys():
        return f"{sorted(found)} instead of {sorted(expected)}"
    for name, value in expected.items():
        if found[name].shape != value.shape:
            return f"{name}: shape {found[name].shape} instead of {value.shape}"
        distance = np.abs(found[name] - value).max(initial=0)
        if distance > 1e-5 * max(np.abs(value).max(initial=0), 1e-3):
            return f"{name}: difference {distance}"
    return ""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Save every model once, with its inputs and what it computes."""
    folder = tmp_path_factory.mktemp("saved")
    expected = {}
    for name, build in MODELS.items():
        keras.utils.clear_session(free_memory=False)
        keras.utils.set_random_seed(0)
        model, inputs = build()
        rng = np.random.default_rng(1)
        for weight in model.weights:
            if keras.backend.is_float_dtype(weight.dtype):
                weight.assign(rng.uniform(0.1, 1, weight.shape))
        model.save(folder / f"{name}.keras")
        np.savez(folder / f"{name}.npz", **{f"input{number}": value for number, value in enumerate(inputs)})
        expected[name] = old_keras.answer(model, inputs)[1]
    return folder, expected


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES[:-1])
def test_ported_models_compute_the_same_in_an_older_release(release, saved, tmp_path):
    old_keras.require(release)
    folder, expected = saved
    target = versions.resolve_version(release)
    jobs, refused, untrained = {}, {}, set()

    def wanted(name):
        arrays = expected[name]
        return {key: arrays[key] for key in arrays if key.startswith("output")} if name in untrained else arrays

    for name in expected.keys() - NEED_TORCHVISION:
        report = port(folder / f"{name}.keras", target, tmp_path / f"{name}.keras")
        untrained |= {name} if any(note.kind == "left out" for note in report.notes) else set()
        if report.refusals:
            refused[name] = [str(refusal) for refusal in report.refusals]
        else:
            jobs[name] = [str(tmp_path / f"{name}.keras"), str(folder / f"{name}.npz")]
    known = versions.known_versions()
    lacking = {name for name in expected if known.index(NEEDS.get(name, known[0])) > known.index(target)}
    assert refused.keys() == lacking, refused
    answers = old_keras.load_all(release, jobs, tmp_path, keras.backend.backend())
    failed = {name: answer["error"] for name, answer in answers.items() if "error" in answer}
    assert failed == {}
    wrong = {name: differs(answer["arrays"], wanted(name)) for name, answer in answers.items()}
    assert {name: reason for name, reason in wrong.items() if reason} == {}

    # And back: what this release writes is ported to the installed one.
    for name in answers:
        if (target, name) in WRITTEN_WRONGLY:
            continue
        again = tmp_path / f"{name} again.keras"
        assert port(tmp_path / release / f"{name}.keras", SOURCE, again).refusals == (), name
        model = keras.saving.load_model(again)
        with np.load(folder / f"{name}.npz") as inputs:
            found = old_keras.answer(model, [inputs[key] for key in sorted(inputs.files)])[1]
        assert differs(found, wanted(name)) == "", name


def windows():
    """Yield layers with a window, by a name: sizes and strides with `padding="same"`, and what pads or averages."""
    layers = keras.layers
    for size, stride in [(1, 2), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 2), (4, 3)]:
        same = {"strides": stride, "padding": "same"}
        yield f"conv {size} {stride}", layers.Conv2D(3, size, **same)
        yield f"depthwise {size} {stride}", layers.DepthwiseConv2D(size, **same)
        yield f"transposed {size} {stride}", layers.Conv2DTranspose(3, size, **same)
        yield f"average {size} {stride}", layers.AveragePooling2D(size, **same)
        yield f"maximum {size} {stride}", layers.MaxPooling2D(size, **same)
    if "output_padding" not in layers.Conv2DTranspose(3, 3).get_config():
        return  # releases such as 3.12 do not save it
    yield "padded", layers.Conv2DTranspose(3, 3, strides=2, padding="same", output_padding=1)
    yield "not padded", layers.Conv2DTranspose(3, 3, strides=2, output_padding=0, padding="same")
    yield "valid, not padded", layers.Conv2DTranspose(3, 3, strides=2, output_padding=0)
    yield "valid", layers.Conv2DTranspose(3, 3, strides=2)


@pytest.mark.slow
def test_layers_that_a_release_computes_otherwise_on_torch_have_a_caution(tmp_path):
    x = np.random.default_rng(0).normal(size=(2, 8, 8, 2)).astype("float32")
    np.savez(tmp_path / "x.npz", input0=x)
    expected = {}
    for name, layer in windows():
        model = keras.Sequential([keras.Input((8, 8, 2)), layer])
        model.save(tmp_path / f"{name}.keras")
        expected[name] = old_keras.answer(model, [x])[1]
    for release in ("3.3.3", "3.8.0"):
        old_keras.require(release)
        folder = tmp_path / f"ported {release}"
        target = versions.resolve_version(release)
        reports = {name: port(tmp_path / f"{name}.keras", target, folder / f"{name}.keras") for name in expected}
        # Releases before 3.11 do not take an output_padding of 0.
        assert {name for name, report in reports.items() if report.refusals} == {"not padded"} & expected.keys()
        jobs = {
            name: [str(folder / f"{name}.keras"), str(tmp_path / "x.npz")] for name in expected.keys() - {"not padded"}
        }
        answers = old_keras.load_all(release, jobs, tmp_path, keras.backend.backend())

        different = {name for name in jobs if differs(answers[name].get("arrays", {}), expected[name])}
        cautioned = {name for name, report in reports.items() if any("on torch" in note.text for note in report.notes)}
        # For some sizes of images, it does not matter.
        assert different <= (cautioned if keras.backend.backend() == "torch" else set())
        common = {"conv 3 1", "conv 3 2", "depthwise 3 2", "maximum 2 2", "transposed 2 2", "transposed 4 2", "valid"}
        assert cautioned.isdisjoint(common)


# Settings, one by one.


def additions():
    """Return every setting of a class that the newest release has and an older one does not, with that release."""
    found = []
    newest = releases.release_of(SOURCE)
    for name in releases.settings_table()["classes"]:
        now = newest.find(name)
        for version in versions.known_versions()[:-1] if now else ():
            then = releases.release_of(version).find(name)
            added = (now.settings.keys() - then.settings.keys() - then.keys) if then else ()
            found += [(name, setting, version) for setting in sorted(added)]
    return found


def mutate(default):
    """Return a value that is not the default."""
    return not default if isinstance(default, bool) else 3 if default != 3 else 4


def serialized(class_path, config, **more):
    module, _, own = class_path.rpartition(".")
    return {"module": module, "class_name": own, "config": config, "registered_name": None, **more}


def in_model(layer):
    inner = {"name": "net", "trainable": True, "layers": [layer]}
    return serialized("keras.Sequential", inner)


@pytest.mark.no_backend
def test_every_new_setting_is_dropped_as_a_default_and_refused_otherwise():
    cases = additions()
    assert len(cases) > 500
    changed = {name for limit in version_rules._LIMITS if limit.is_change for name in limit.classes}
    wrong = []
    for name, setting, version in cases:
        default = releases.release_of(SOURCE).find(name).settings[setting]
        call = {"args": [], "kwargs": {}}
        if setting == "name" or name in (*versions._POLICIES, *changed):
            continue
        if not releases.has_no_default(default):
            config = in_model(serialized(name, {"name": "it", setting: default}, name="it"))
            found, notes = rewrite(config, version)
            if notes.refusals or setting in found["config"]["layers"][0]["config"]:
                wrong.append((name, setting, version, "default"))
        config = in_model(serialized(name, {"name": "it", setting: mutate(default)}, name="it", inbound_nodes=[call]))
        found, notes = rewrite(config, version)
        layer = found["config"]["layers"][0]
        is_refused = any(
            refusal.path == "it" and setting in refusal.reason and refusal.fix for refusal in notes.refusals
        )
        is_moved = layer["inbound_nodes"][0]["kwargs"].get(setting) == mutate(default)
        is_renamed = any(note.kind == "rewritten" and setting in note.text for note in notes)
        if not (is_refused or is_moved or is_renamed):
            wrong.append((name, setting, version, "other"))
    assert wrong == []


@pytest.mark.no_backend
def test_every_missing_class_is_refused():
    newest = releases.release_of(SOURCE)
    policies = versions._POLICIES
    for name in releases.settings_table()["classes"]:
        for version in versions.known_versions()[:-1]:
            old = releases.release_of(version)
            if newest.find(name) is None or old.find(name) is not None or name in policies:
                continue
            _, notes = rewrite(in_model(serialized(name, {"name": "it"}, name="it")), version)
            is_moved = version_rules.renamed_classes(name) or any(note.kind == "rewritten" for note in notes)
            assert is_moved or [refusal.path for refusal in notes.refusals] == ["it"], (name, version)


@pytest.mark.no_backend
@pytest.mark.parametrize("target", ["3.3", "3.8"])
def test_an_activation_that_the_target_lacks_is_refused(target):
    model = in_model(serialized("keras.layers.Dense", {"name": "head", "activation": "sparsemax"}))
    _, notes = rewrite(model, "3.3")
    assert [refusal.path for refusal in notes.refusals] == ["head"]
    assert "activation='sparsemax' does not exist in Keras 3.3" in notes.refusals[0].reason
    assert (
        rewrite(in_model(serialized("keras.layers.Dense", {"name": "head", "activation": "relu"})), target)[1].refusals
        == ()
    )


@pytest.mark.no_backend
@pytest.mark.filterwarnings("ignore:.*was passed an input with a mask attached to it:UserWarning")
@pytest.mark.parametrize(("mask", "nested"), [(True, False), (True, True), (False, False)])
def test_attention_to_masked_values_is_refused_where_a_release_fails_on_it(mask, nested, tmp_path):
    words = keras.Input((6,), dtype="int32")
    x, y = keras.Input((6, 4)), keras.layers.Embedding(9, 4, mask_zero=mask)(words)
    scored = keras.layers.Attention(name="scored")
    inner = keras.Model(x, scored([x, x]), name="inner")
    keras.Model(words, inner(y) if nested else scored([y, y])).save(tmp_path / "model.keras")

    for target in ("3.8", "3.11", "3.12"):
        refusals = port(tmp_path / "model.keras", target, tmp_path / f"{target}.keras").refusals
        # Keras 3.3 and 3.8 end with "Incompatible shapes for broadcasting".
        expected = ["inner/scored" if nested else "scored"] if mask and target != "3.12" else []
        assert sorted({refusal.path for refusal in refusals}) == expected


@pytest.mark.no_backend
@pytest.mark.parametrize("source", ["3.15", "3.9", "3.8", "3.5"])
def test_a_layer_as_activation_is_refused_whatever_release_wrote_it(source):
    # Keras 3.0 to 3.9 write such files, and cannot load them.
    activation = serialized("keras.layers.LeakyReLU", {"name": "leaky", "negative_slope": 0.1})
    config = in_model(serialized("keras.layers.Dense", {"name": "head", "units": 2, "activation": activation}))
    for target in ("3.10", "3.8", "3.5"):
        notes = Notes()
        versions.rewrite_for(config, source=source, target=target, notes=notes)
        assert [refusal.path for refusal in notes.refusals] == (["head"] if target != "3.10" else []), target


@pytest.mark.no_backend
def test_a_custom_class_is_not_changed_but_the_layers_in_it_are():
    inner = serialized("keras.layers.Dense", {"name": "inner", "units": 2, "quantization_config": None})
    custom = {"module": "my.code", "class_name": "Block", "registered_name": "my>Block"}
    config = in_model(
        {**custom, "config": {"name": "block", "trainable": True, "quantization_config": 3, "layer": inner}}
    )
    found, notes = rewrite(config, "3.8", NEWEST)
    block = found["config"]["layers"][0]["config"]
    assert block["quantization_config"] == 3
    assert "quantization_config" not in block["layer"]["config"]
    assert [note.path for note in notes] == ["block/inner"]
    assert "quantization_config=None is the default of Keras 3.1" in next(iter(notes)).text


@pytest.mark.no_backend
def test_the_given_config_is_not_changed_and_the_same_release_changes_nothing():
    config = in_model(serialized("keras.layers.Dense", {"name": "it", "units": 2, "quantization_config": None}))
    before = json.dumps(config)
    rewrite(config, "3.3")
    assert json.dumps(config) == before
    assert rewrite(config, SOURCE)[0] == config


@pytest.mark.no_backend
def test_deeply_nested_models_are_rewritten():
    layer = serialized("keras.layers.Dense", {"name": "it", "units": 2, "quantization_config": None})
    for depth in range(5000):
        layer = serialized("keras.Sequential", {"name": f"m{depth}", "layers": [layer]})
    found, notes = rewrite(layer, "3.3", NEWEST)
    assert notes.refusals == ()
    assert not any(isinstance(item, dict) and "quantization_config" in item for item in walk_json(found))


@pytest.mark.no_backend
def test_an_optimizer_that_the_target_lacks_is_left_out(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="head")])
    model.compile(keras.optimizers.Muon(), "mse")
    found, notes = rewrite(saved_config(model, tmp_path / "model.keras"), "3.8")
    assert notes.refusals == ()
    assert "compile_config" not in found
    assert [note.path for note in notes if note.kind == "left out"] == [""]


@pytest.mark.no_backend
def test_a_metric_setting_that_the_target_lacks_leaves_out_the_metrics_only(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="head")])
    model.compile("sgd", "mse", metrics=[keras.metrics.SparseTopKCategoricalAccuracy(from_sorted_ids=True)])
    found, notes = rewrite(saved_config(model, tmp_path / "model.keras"), "3.3")
    assert notes.refusals == ()
    assert found["compile_config"]["metrics"] is None
    assert found["compile_config"]["loss"] == "mse"
    assert any(note.kind == "left out" and "metrics" in note.text for note in notes)


@pytest.mark.no_backend
@pytest.mark.parametrize("kind", ["BinaryIoU", "MeanIoU"])
def test_overlaps_count_with_floats_before_keras_3_8(kind, tmp_path):
    settings = {"BinaryIoU": {}, "MeanIoU": {"num_classes": 2}}[kind]
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="head")])
    model.compile("sgd", "mse", metrics=[getattr(keras.metrics, kind)(**settings)])
    config = saved_config(model, tmp_path / "model.keras")
    dtypes = {}
    for target in ("3.7", "3.8"):
        found, _ = rewrite(json.loads(json.dumps(config)), target)
        dtypes[target] = found["compile_config"]["metrics"][0]["config"]["dtype"]

    # An older release fails at the first batch if it counts with integers.
    assert dtypes["3.7"] == "float32"
    assert dtypes["3.8"] == config["compile_config"]["metrics"][0]["config"]["dtype"]


@pytest.mark.no_backend
@pytest.mark.parametrize("quantized", [False, True])
def test_low_rank_and_quantized_layers_are_refused_where_they_do_not_exist(quantized, tmp_path):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, name="head")], name="net")
    if quantized:
        model.quantize("int8")
    else:
        model.layers[0].enable_lora(2, lora_alpha=5)
    config = saved_config(model, tmp_path / "model.keras")
    _, notes = rewrite(config, "3.2")
    assert {refusal.path for refusal in notes.refusals} == {"head"}
    assert rewrite(config, SOURCE)[1].refusals == ()


@pytest.mark.no_backend
@pytest.mark.parametrize(("target", "is_kept"), [("3.6", False), ("3.7", True)])
def test_a_reduction_that_the_target_lacks_leaves_out_how_the_model_was_compiled(target, is_kept, tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="head")])
    model.compile("sgd", keras.losses.MeanSquaredError(reduction="mean_with_sample_weight"))
    found, notes = rewrite(saved_config(model, tmp_path / "model.keras"), target)
    assert notes.refusals == ()
    assert ("compile_config" in found) is is_kept
    model.compile("sgd", keras.losses.MeanSquaredError(reduction="mean"))
    found, notes = rewrite(saved_config(model, tmp_path / "model.keras"), target)
    reduction = found["compile_config"]["loss"]["config"]["reduction"]
    assert reduction == ("mean" if is_kept else "sum_over_batch_size")


@pytest.mark.no_backend
@pytest.mark.parametrize(("target", "is_refused"), [("3.9", False), ("3.10", True), ("3.13", True), ("3.14", False)])
def test_inputs_that_no_layer_uses_are_refused_where_they_cannot_be_loaded(target, is_refused, tmp_path):
    used, other = keras.Input((2,), name="used"), keras.Input((2,), name="other")
    dense = keras.layers.Dense(1, name="dense")
    model = keras.Model([used, other], [dense(used), keras.layers.Dense(1, name="gone")(other)])
    config = saved_config(model, tmp_path / "model.keras")
    # Some releases cannot make such a model, so the layer that uses the input is taken away.
    graph = config["config"]
    graph["layers"] = [layer for layer in graph["layers"] if layer["name"] != "gone"]
    graph["output_layers"] = graph["output_layers"][:1]
    _, notes = rewrite(config, target, NEWEST)
    assert bool(notes.refusals) is is_refused


@pytest.mark.no_backend
@pytest.mark.parametrize(
    ("layer", "settings", "last", "first"),
    [
        ("TextVectorization", {"output_mode": "tf_idf", "vocabulary": None}, "3.13", "3.14"),
        ("StringLookup", {"output_mode": "tf_idf", "vocabulary": None}, "3.3", "3.14"),
        ("RandomGrayscale", {}, "3.10", "3.11"),
        ("RandomGrayscale", {}, "3.10", "3.9"),
        ("Pipeline", {"layers": []}, "3.6", "3.7"),
        ("MultiHeadAttention", {"num_heads": 2, "key_dim": 2, "output_shape": 3}, "3.6", "3.7"),
    ],
)
def test_layers_that_a_release_cannot_load_are_refused(layer, settings, last, first):
    config = in_model(serialized(f"keras.layers.{layer}", {"name": "it", **settings}, name="it"))
    assert [refusal.path for refusal in rewrite(config, last)[1].refusals] == ["it"]
    assert rewrite(config, first)[1].refusals == ()


@pytest.mark.no_backend
@pytest.mark.parametrize(("dtype", "is_refused"), [("uint8", True), ("float32", False)])
def test_resizing_integers_in_a_sequential_model_is_refused(dtype, is_refused, tmp_path):
    # Keras 3.3 returns floats, and 3.6 rounds.
    model = keras.Sequential([keras.Input((2, 2, 1), dtype=dtype), keras.layers.Resizing(1, 1, name="resize")])
    _, notes = rewrite(saved_config(model, tmp_path / "model.keras"), "3.3")
    assert bool(notes.refusals) is is_refused


@pytest.mark.no_backend
def test_a_functional_model_of_a_class_of_its_own_gets_the_inputs_and_outputs_that_the_target_reads(tmp_path):
    x = keras.Input((2,), name="x")
    model = keras.Model(x, keras.layers.Dense(1, name="head")(x))
    config = saved_config(model, tmp_path / "model.keras")
    config |= {"module": "mine", "class_name": "Net", "registered_name": "mine>Net"}
    found, _ = rewrite(config, "3.3")
    assert found["config"]["input_layers"] == [["x", 0, 0]]
    assert found["config"]["output_layers"] == [["head", 0, 0]]


@pytest.mark.no_backend
def test_what_is_trained_otherwise_is_a_caution(tmp_path):
    dense = keras.layers.Dense(1, name="head", activity_regularizer="l2")
    model = keras.Sequential([keras.Input((2,)), dense])
    config = saved_config(model, tmp_path / "model.keras")
    assert [note.path for note in rewrite(config, "3.13", NEWEST)[1] if note.kind == "caution"] == ["head"]
    assert not any(note.kind == "caution" for note in rewrite(config, "3.14", NEWEST)[1])


@pytest.mark.no_backend
def test_layers_are_renamed_if_operations_could_get_their_names(tmp_path):
    model, _ = MODELS["operations_beside_layers"]()
    names = [layer.name for layer in model.layers if isinstance(layer, keras.layers.Concatenate)]
    _, notes = rewrite(saved_config(model, tmp_path / "model.keras"), "3.8")
    assert [note.path for note in notes if note.kind == "renamed"] == names
    assert not any(note.kind == "renamed" for note in rewrite(saved_config(model, tmp_path / "model.keras"), "3.12")[1])


@pytest.mark.no_backend
def test_settings_move_between_an_operation_and_its_calls(tmp_path):
    model, _ = MODELS["slices"]()
    config = saved_config(model, tmp_path / "model.keras")
    found, notes = rewrite(config, "3.8")
    operation = next(layer for layer in found["config"]["layers"] if layer["class_name"] == "Slice")
    assert "shape" not in operation["config"]
    assert operation["inbound_nodes"][0]["kwargs"]["shape"] == [2, 2, 3]
    again, back = rewrite(found, SOURCE, source="3.8")
    operation = next(layer for layer in again["config"]["layers"] if layer["class_name"] == "Slice")
    assert operation["config"]["shape"] == [2, 2, 3]
    assert "shape" not in operation["inbound_nodes"][0]["kwargs"]
    assert (*notes.refusals, *back.refusals) == ()


@pytest.mark.no_backend
def test_operations_and_new_layers_are_found_in_hdf5_files_which_name_no_modules(tmp_path):
    x = keras.Input((4,), name="x")
    y = keras.layers.RMSNormalization(name="norm")(keras.layers.Add(name="layer")([x, x]) + x * 2.0)
    model = keras.Model(x, y)
    model.get_layer("norm").set_weights([np.arange(4.0)])
    model.save(tmp_path / "model.h5")
    assert port(tmp_path / "model.h5", SOURCE, tmp_path / "new.keras").refusals == ()
    found = keras.saving.load_model(tmp_path / "new.keras")
    given = np.arange(8.0).reshape(2, 4)
    np.testing.assert_allclose(np.array(found(given)), np.array(model(given)), rtol=1e-6)


# Releases and the table.


@pytest.mark.no_backend
@pytest.mark.parametrize(
    ("text", "expected"), [("3.8", "3.8"), ("3.8.0", "3.8"), ("3.10.0", "3.10"), ("3.15.1", "3.15")]
)
def test_a_release_is_found_by_its_first_two_numbers(text, expected):
    assert versions.resolve_version(text) == expected


@pytest.mark.no_backend
@pytest.mark.parametrize("text", ["2.15.0", "3", "3.99", "", "latest"])
def test_an_unknown_release_is_refused_with_the_known_ones(text):
    with pytest.raises(ArgumentError) as caught:
        versions.resolve_version(text)
    assert "3.0, 3.1" in caught.value.expected
    assert "tf_keras" in caught.value.expected


@pytest.mark.no_backend
def test_keras_and_numpy_are_not_imported():
    code = "import sys, ramet._port.versions; print({'keras', 'numpy'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.no_backend
@pytest.mark.skipif(keras.__version__ not in RELEASES, reason="the table has another patch of this release")
def test_the_table_describes_the_installed_release():
    script = Path(__file__).parents[2] / "tools" / "keras_settings.py"
    spec = importlib.util.spec_from_file_location("keras_settings", script)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    done = subprocess.run([sys.executable, str(script), "--ask"], capture_output=True, text=True, check=True)
    installed = json.loads(done.stdout.splitlines()[-1])
    table = json.loads(tool.TABLE.read_text(encoding="utf-8"))
    assert tool.split(table)[keras.__version__] == installed, "run `python tools/keras_settings.py`"
    assert tool.to_json(tool.merge(table["releases"], tool.split(table))) == tool.TABLE.read_text(encoding="utf-8")
