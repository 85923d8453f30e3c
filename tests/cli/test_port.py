"""`ramet port` on good, bad and unusual files."""

import json
import signal
import subprocess
import sys
import time
import zipfile

import h5py
import numpy as np
import pytest

from ramet._cli.port import COMMAND
from ramet._port import porting
from tests.files.build import DENSE_WEIGHTS, METADATA, archive, legacy, one_layer, weights
from tests.files.build import dense as current_dense
from tests.files.hostile import MARKER
from tests.port.rescued_files import (
    BIAS,
    KERNEL,
    TRAINING,
    WEIGHTS,
    dense,
    lambda_layer,
    old_file,
    old_layer,
    old_model,
    written_by_tf_keras,
)
from tests.support.platforms import posix

__all__ = ["written_by_tf_keras"]

pytestmark = pytest.mark.no_backend


def content(path):
    """Return config and metadata of an archive."""
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("config.json")), json.loads(file.read("metadata.json"))


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def layer_names(path):
    return [layer["config"]["name"] for layer in content(path)[0]["config"]["layers"]]


# The examples of the help.


def test_help_lists_the_examples_that_are_tested_here(ramet):
    done = ramet("port", "--help")

    assert all(f"  {line}\n" in done.out for line, _ in COMMAND.examples)
    assert [line for line, _ in COMMAND.examples] == [
        "ramet port old.h5 new.keras",
        "ramet port new.keras old.keras --to 3.8",
        "ramet port old.h5 new.keras --plan",
        "ramet port old.h5 new.keras --against tf_keras",
        "ramet port models/*.h5 --into ported/",
    ]


def test_file_of_keras_2_is_ported_to_the_newest_keras(ramet, tmp_path):
    old_file(tmp_path / "old.h5", old_layer("LeakyReLU", "leaky", alpha=0.1))

    done = ramet("port", "old.h5", "new.keras")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("old.h5 (Keras 2.15.0) to Keras 3.15: written to 'new.keras'\n")
    assert "alpha=0.1 is now negative_slope=0.1" in done.out
    assert "used  2 arrays" in done.out
    config, metadata = content(tmp_path / "new.keras")
    assert layer_names(tmp_path / "new.keras") == ["x", "d", "leaky"]
    assert config["config"]["layers"][2]["config"]["negative_slope"] == 0.1
    assert metadata["keras_version"].startswith("3.15")
    with zipfile.ZipFile(tmp_path / "new.keras") as file, h5py.File(file.open("model.weights.h5")) as stored:
        np.testing.assert_array_equal(stored["layers/dense/vars/0"], KERNEL)
        np.testing.assert_array_equal(stored["layers/dense/vars/1"], BIAS)


def test_file_of_keras_3_is_ported_to_an_older_release(ramet, tmp_path):
    archive(tmp_path / "new.keras", one_layer(current_dense(quantization_config=None)))

    done = ramet("port", "new.keras", "old.keras", "--to", "3.8")

    assert (done.code, done.err) == (0, "")
    config, metadata = content(tmp_path / "old.keras")
    assert metadata["keras_version"].startswith("3.8")
    assert "quantization_config" not in json.dumps(config)


@pytest.mark.parametrize("extension", [".h5", ".keras"])
def test_file_of_keras_3_is_ported_to_tf_keras(ramet, tmp_path, extension):
    archive(tmp_path / "new.keras")

    done = ramet("port", "new.keras", f"old{extension}", "--to", "tf_keras")

    assert (done.code, done.err) == (0, ""), done.out
    assert done.out.startswith("new.keras (Keras 3.15.1) to tf_keras: written to")
    if extension == ".h5":
        with h5py.File(tmp_path / "old.h5") as file:
            assert json.loads(file.attrs["model_config"])["config"]["layers"][0]["config"]["batch_input_shape"] == [
                None,
                4,
            ]
            assert file["model_weights/d/d/kernel:0"].shape == (4, 2)
    else:
        assert "batch_input_shape" in json.dumps(content(tmp_path / "old.keras")[0])


def test_plan_writes_nothing(ramet, tmp_path):
    old_file(tmp_path / "old.h5")

    for arguments in (("old.h5", "new.keras", "--plan"), ("old.h5", "--plan")):
        done = ramet("port", *arguments)

        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("old.h5 (Keras 2.15.0) to Keras 3.15: can be ported\n")
    assert names_in(tmp_path) == ["old.h5"]


def test_plan_of_a_refused_file_lists_every_reason(ramet, tmp_path):
    layers = [old_layer("LocallyConnected1D", f"local{number}", filters=2, kernel_size=[1]) for number in range(3)]
    legacy(tmp_path / "old.h5", old_model(*layers))

    done = ramet("port", "old.h5", "--plan")

    assert done.code == 1
    assert done.out.startswith("old.h5 (Keras 2.15.0) to Keras 3.15: refused, ")
    for number in range(3):
        assert f"local{number}" in done.out


def test_model_of_a_class_of_its_own_is_refused(ramet, tmp_path):
    legacy(tmp_path / "old.h5", {"class_name": "Mine", "config": {}})

    for arguments in (["old.h5", "new.keras"], ["old.h5", "--plan"]):
        done = ramet("port", *arguments)

        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("Cannot port the model: its class 'Mine' is your own")
    assert names_in(tmp_path) == ["old.h5"]


@pytest.mark.slow
def test_outputs_are_compared_with_tf_keras(ramet, written_by_tf_keras):
    done = ramet("port", written_by_tf_keras / "model.h5", "new.keras", "--against", "tf_keras", "--backend", "jax")

    assert (done.code, done.err) == (0, ""), done.out
    assert "Compared with tf_keras: equal outputs" in done.out


def test_many_files_give_one_table(ramet, tmp_path):
    (tmp_path / "models").mkdir()
    old_file(tmp_path / "models" / "good.h5")
    old_file(tmp_path / "models" / "custom.h5", old_layer("Mine", "mine"))
    (tmp_path / "models" / "broken.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(50))

    done = ramet("port", *sorted((tmp_path / "models").glob("*.h5")), "--into", "ported")

    assert done.code == 1
    assert done.out.startswith("3 files: 1 ported, 1 refused, 1 failed\n")
    assert "✓ good.h5    Keras 2.15.0 to Keras 3.15" in done.out
    assert "✗ custom.h5  refused: mine: its class 'Mine'" in done.out
    assert "fix: pass the module that defines the class" in done.out
    assert "✗ broken.h5  Cannot read 'broken.h5': the file is broken" in done.out
    assert done.err == "ramet port FILE --plan shows every reason.\n"
    assert names_in(tmp_path / "ported") == ["good.keras"]


def test_model_of_the_users_own_class_counts_as_refused(ramet, tmp_path):
    legacy(tmp_path / "own.h5", {"class_name": "Own", "config": {"units": 3}}, {"d": {"d/kernel:0": KERNEL}})
    old_file(tmp_path / "good.h5")

    done = ramet("port", "own.h5", "good.h5", "--into", "ported")

    assert done.code == 1
    assert done.out.startswith("2 files: 1 ported, 1 refused\n")
    assert "✗ own.h5   refused: Cannot port the model: its class 'Own' is your own" in done.out


def test_plan_of_many_files_says_what_could_be_ported(ramet, tmp_path):
    old_file(tmp_path / "good.h5")

    done = ramet("port", "good.h5", "--into", "ported", "--plan")

    assert done.out.startswith("1 file: 1 can be ported\n")
    assert names_in(tmp_path) == ["good.h5"]


def test_function_is_used_in_those_of_many_files_that_have_the_layer(ramet, tmp_path, monkeypatch):
    old_file(tmp_path / "lambda.h5", lambda_layer(tmp_path))
    old_file(tmp_path / "plain.h5")
    (tmp_path / "functions_of_many.py").write_text("def triple(x):\n    return 3 * x\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    done = ramet("port", "lambda.h5", "plain.h5", "--into", "out", "--function", "scale=functions_of_many:triple")
    typo = ramet("port", "lambda.h5", "new.keras", "--function", "scale=functions_of_many:tripel")

    assert (done.code, done.err) == (0, ""), done.out
    assert done.out.startswith("2 files: 2 ported\n")
    assert typo.code == 2
    assert "closest:  'triple'" in typo.err


def test_many_good_files_give_exit_code_0(ramet, tmp_path):
    for number in range(5):
        old_file(tmp_path / f"m{number}.h5")

    done = ramet("port", *(f"m{number}.h5" for number in range(5)), "--into", "ported")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("5 files: 5 ported\n")
    assert len(names_in(tmp_path / "ported")) == 5


def test_json_of_many_files_is_one_list(ramet, tmp_path):
    old_file(tmp_path / "good.h5")

    done = ramet("port", "good.h5", "missing.h5", "--into", "ported", "--json")

    records = json.loads(done.out)
    assert done.code == 1
    assert records[0]["written"] is True
    assert records[1]["source"] == "missing.h5"
    assert records[1]["error"].startswith("Cannot read 'missing.h5'")


def test_files_that_would_get_the_same_name_are_refused(ramet, tmp_path):
    old_file(tmp_path / "m.h5")
    archive(tmp_path / "m.keras")

    done = ramet("port", "m.h5", "m.keras", "--into", "ported")

    assert done.code == 2
    assert "two of them would become 'm.keras'" in done.err
    assert not (tmp_path / "ported").exists()


def test_files_of_the_same_name_keep_their_folders(ramet, tmp_path):
    for folder in ("a", "b/c"):
        (tmp_path / folder).mkdir(parents=True)
        old_file(tmp_path / folder / "model.h5")

    done = ramet("port", "a/model.h5", "b/c/model.h5", "--into", "ported")

    assert (done.code, done.err) == (0, "")
    assert "✓ b/c/model.h5  " in done.out
    found = sorted(path.relative_to(tmp_path).as_posix() for path in (tmp_path / "ported").rglob("*.keras"))
    assert found == ["ported/a/model.keras", "ported/b/c/model.keras"]


# Other output.


def test_json_has_every_note_and_array(ramet, tmp_path):
    old_file(tmp_path / "old.h5", *(old_layer("LeakyReLU", f"leaky{n}", alpha=0.1 + n) for n in range(20)))

    done = ramet("port", "old.h5", "new.keras", "--json")

    record = json.loads(done.out)
    assert done.code == 0
    keys = ["ramet", "version", "source", "target", "from", "to", "written", "current", "notes", "refusals", "arrays"]
    assert list(record) == [*keys, "comparison"]
    assert record["ramet"] == "port"
    assert {note["path"] for note in record["notes"]} >= {f"leaky{n}" for n in range(20)}
    assert {fate["fate"] for fate in record["arrays"].values()} == {"used"}
    assert len(record["arrays"]) == 2


# The output file.


def test_existing_file_is_replaced_only_with_force(ramet, tmp_path):
    old_file(tmp_path / "old.h5")
    (tmp_path / "new.keras").write_text("precious")

    done = ramet("port", "old.h5", "new.keras")

    assert done.code == 2
    assert "it exists" in done.err
    assert "--force" in done.err
    assert (tmp_path / "new.keras").read_text() == "precious"
    assert ramet("port", "old.h5", "new.keras", "--force").code == 0
    assert zipfile.is_zipfile(tmp_path / "new.keras")


def test_refused_file_does_not_replace_the_target(ramet, tmp_path):
    old_file(tmp_path / "old.h5", old_layer("Mine", "mine"))
    (tmp_path / "new.keras").write_text("precious")

    assert ramet("port", "old.h5", "new.keras", "--force").code == 1
    assert (tmp_path / "new.keras").read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("old.h5", "new.h5"), "Cannot write 'new.h5': unsupported file extension."),
        (("old.h5", "new.txt"), "Cannot write 'new.txt': unsupported file extension."),
        (("old.h5",), "the output file is missing"),
        (("old.h5", "a.keras", "b.keras"), "add --into FOLDER"),
        (("old.h5", "new.keras", "--to", "9.9"), "9.9"),
        (("old.h5", "new.keras", "--to", "\x1b[31m"), "\\x1b[31m"),
        (("old.h5", "new.keras", "--weights", "w.h5"), "it is not the JSON of a model"),
        (("old.h5", "--into", "folder", "--weights", "w.h5"), "--weights with --into"),
        (("old.h5", "new.keras", "--function", "scale"), "LAYER=MODULE:NAME"),
        (("old.h5", "new.keras", "--to", "tf-keras"), "closest:  'tf_keras'"),
        (("old.h5", "new.keras", "--against", "no/python"), "Cannot compare with 'no/python': no such file"),
        (("old.h5", "new.keras", "--plan", "--against", "tf_keras"), "Cannot use --against with --plan"),
        (("old.h5", "--into", "old.h5"), "Cannot port files into 'old.h5': it is not a folder."),
    ],
)
def test_wrong_arguments_give_exit_code_2(ramet, tmp_path, arguments, message):
    old_file(tmp_path / "old.h5")

    done = ramet("port", *arguments)

    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert names_in(tmp_path) == ["old.h5"]


@posix
def test_file_that_cannot_be_written_gives_exit_code_3(ramet, tmp_path):
    old_file(tmp_path / "old.h5")
    (tmp_path / "file").write_text("")

    done = ramet("port", "old.h5", "file/new.keras")

    assert done.code == 3
    assert done.err.startswith("Cannot write 'file/new.keras': ")


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(28, "No space left on device")])
def test_interrupted_port_leaves_no_file(ramet, tmp_path, monkeypatch, error):
    old_file(tmp_path / "old.h5")

    def fail(*_):
        raise error

    monkeypatch.setattr(porting, "write_h5_weights", fail)

    done = ramet("port", "old.h5", "new.keras")

    assert done.code in (130, 3)
    assert names_in(tmp_path) == ["old.h5"]


_SLOW = """
import sys, time
from ramet.__main__ import main
from ramet._port import porting
def wait(*_):
    print("writing", flush=True)
    time.sleep(60)
porting.write_h5_weights = wait
sys.exit(main(["port", "old.h5", "new.keras"]))
"""


@posix
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_port_ended_by_a_signal_leaves_no_file(tmp_path, handle_interrupts, name, code):
    old_file(tmp_path / "old.h5")
    process = subprocess.Popen(
        [sys.executable, "-c", _SLOW], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout.readline() == b"writing\n"
    time.sleep(0.1)

    process.send_signal(getattr(signal, name))

    process.stdout.close()
    # A process may also end by the signal itself.
    assert process.wait(30) in (code, -getattr(signal, name))
    assert names_in(tmp_path) == ["old.h5"]


# Bad input.


def test_missing_file_is_reported(ramet):
    done = ramet("port", "missing.h5", "new.keras")

    assert done.code == 3
    assert done.err.startswith("Cannot read 'missing.h5': ")


def test_checkpoint_and_folder_without_a_model_are_refused(ramet, tmp_path):
    (tmp_path / "saved").mkdir()
    for name in ("checkpoint", "ckpt.index"):
        (tmp_path / "saved" / name).write_bytes(b"")
    (tmp_path / "empty").mkdir()

    for name in ("saved", "saved/ckpt"):
        done = ramet("port", name, "new.keras")

        assert done.code == 3
        assert "it is a checkpoint of TensorFlow, which contains weights, but no model" in done.err
    assert "it is a folder that contains no model" in ramet("port", "empty", "new.keras").err


def test_weights_only_say_what_is_needed(ramet, tmp_path):
    (tmp_path / "only.weights.h5").write_bytes(weights(DENSE_WEIGHTS))

    done = ramet("port", "only.weights.h5", "new.keras")

    assert done.code == 3
    assert "it contains weights, but no model" in done.err
    assert "--weights only.weights.h5" in done.err


@pytest.mark.parametrize("encode", [json.dumps, lambda config: json.dumps(json.dumps(config))], ids=["once", "twice"])
def test_json_of_a_model_is_ported_with_its_weights(ramet, tmp_path, encode):
    (tmp_path / "model.json").write_text(
        encode({**old_model(dense()), "keras_version": "2.15.0", "backend": "tensorflow"})
    )
    old_file(tmp_path / "weights.h5")

    without = ramet("port", "model.json", "new.keras")
    done = ramet("port", "model.json", "new.keras", "--weights", "weights.h5")

    assert without.code == 2
    assert "ramet port model.json new.keras --weights weights.h5" in without.err
    assert (done.code, done.err) == (0, "")
    assert layer_names(tmp_path / "new.keras") == ["x", "d"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '"text"', "null", '{"class_name": 3}', '{"a": 1, "a": 2}', "[" * 5_000, '"\\ud800"']
)
def test_json_that_is_no_model_is_refused(ramet, tmp_path, text):
    (tmp_path / "model.json").write_text(text)
    old_file(tmp_path / "w.h5")

    done = ramet("port", "model.json", "new.keras", "--weights", "w.h5")

    assert (done.code, done.out) == (3, "")
    assert not (tmp_path / "new.keras").exists()


def test_memory_for_the_json_of_a_model_depends_on_its_weights(ramet, tmp_path, monkeypatch):
    from ramet._cli import bounded

    (tmp_path / "model.json").write_text(json.dumps(old_model(dense())))
    old_file(tmp_path / "w.h5")
    measured = []
    size = bounded._size
    monkeypatch.setattr(bounded, "_size", lambda path: measured.append(str(path)) or size(path))

    assert ramet("port", "model.json", "new.keras", "--weights", "w.h5").code == 0
    assert measured == ["model.json", "w.h5"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model.h5", "model.keras", "saved"])
def test_every_format_of_tf_keras_is_ported(ramet, tmp_path, written_by_tf_keras, name):
    done = ramet("port", written_by_tf_keras / name, "new.keras")

    assert (done.code, done.err) == (0, ""), done.out
    assert layer_names(tmp_path / "new.keras") == ["x", "hidden", "leaky", "head"]


@pytest.mark.slow
def test_saved_model_without_keras_is_refused(ramet, written_by_tf_keras):
    done = ramet("port", written_by_tf_keras / "plain", "new.keras")

    assert done.code == 3
    assert "keras.layers.TFSMLayer" in done.err


def test_lambda_is_refused_and_rescued_with_a_function(ramet, tmp_path, monkeypatch):
    old_file(tmp_path / "old.h5", lambda_layer(tmp_path))
    (tmp_path / "own_functions.py").write_text("def triple(x):\n    return 3 * x\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    refused = ramet("port", "old.h5", "new.keras")
    done = ramet("port", "old.h5", "new.keras", "--function", "scale=own_functions:triple")

    assert refused.code == 1
    assert "--function scale=module:name" in refused.out
    assert (done.code, done.err) == (0, "")
    assert "its code is replaced by the function triple" in done.out
    assert content(tmp_path / "new.keras")[0]["config"]["layers"][-1]["config"]["function"]["config"] == "triple"
    assert not (tmp_path / MARKER).exists()


def test_custom_layer_is_refused_and_rescued_with_its_module(ramet, tmp_path, monkeypatch):
    old_file(tmp_path / "old.h5", old_layer("OwnLayer", "mine", factor=3))
    source = "import keras\nclass OwnLayer(keras.layers.Layer):\n    pass\n"
    (tmp_path / "own_layers.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))

    refused = ramet("port", "old.h5", "new.keras")
    done = ramet("port", "old.h5", "new.keras", "--import", "own_layers")

    assert refused.code == 1
    assert "--import" in refused.out
    assert (done.code, done.err) == (0, "")
    written = content(tmp_path / "new.keras")[0]["config"]["layers"][-1]
    assert (written["class_name"], written["config"]["factor"]) == ("OwnLayer", 3)


def test_unsafe_file_is_refused_before_anything_else(ramet, tmp_path):
    old_file(tmp_path / "old.h5", old_layer("StringLookup", "words", vocabulary="/etc/passwd"))

    done = ramet("port", "old.h5", "new.keras")

    assert (done.code, done.out) == (1, "")
    assert "/etc/passwd" in done.err
    assert not (tmp_path / "new.keras").exists()


def test_current_file_is_copied(ramet, tmp_path):
    archive(tmp_path / "new.keras")

    bare = ramet("port", "new.keras", "--to", "3.15")
    plan = ramet("port", "new.keras", "--plan", "--to", "3.15")
    done = ramet("port", "new.keras", "copy.keras", "--to", "3.15")

    for one in (bare, plan, done):
        assert (one.code, one.err) == (0, "")
        assert one.out.startswith("new.keras (Keras 3.15.1) to Keras 3.15: already current")
    assert "already current, copied to 'copy.keras'" in done.out
    assert content(tmp_path / "copy.keras")[0] == content(tmp_path / "new.keras")[0]


def test_file_for_tf_keras_is_copied_to_tf_keras(ramet, tmp_path):
    old_file(tmp_path / "old.h5", training=TRAINING)

    done = ramet("port", "old.h5", "copy.h5", "--to", "tf_keras")

    assert (done.code, done.err) == (0, "")
    assert "already current" in done.out
    assert (tmp_path / "copy.h5").read_bytes() == (tmp_path / "old.h5").read_bytes()


def test_file_of_keras_2_is_written_in_another_format(ramet, tmp_path):
    old_file(tmp_path / "old.h5")
    (tmp_path / "model.json").write_text(json.dumps(old_model(dense())))

    h5 = ramet("port", "old.h5", "copy.keras", "--to", "tf_keras")
    text = ramet("port", "model.json", "copy.h5", "--to", "tf_keras", "--weights", "old.h5")

    assert (h5.code, text.code) == (0, 0), (h5.err, text.err)
    assert "batch_input_shape" in json.dumps(content(tmp_path / "copy.keras")[0])
    with h5py.File(tmp_path / "copy.h5") as file:
        np.testing.assert_array_equal(file["model_weights/d/d/kernel:0"], KERNEL)


def test_copy_for_tf_keras_does_not_contain_code(ramet, tmp_path):
    old_file(tmp_path / "old.h5", lambda_layer(tmp_path))

    done = ramet("port", "old.h5", "copy.h5", "--to", "tf_keras")

    assert done.code == 1
    assert "its function is Python code in the file" in done.out
    assert not (tmp_path / "copy.h5").exists()


def test_control_characters_do_not_reach_the_terminal(ramet, tmp_path):
    odd = "a\x1b[2Jb\n\u202e"
    layers = [old_layer("Mine\x1b[31m", odd), old_layer("LeakyReLU", f"{odd}/c", alpha=0.5, **{"k\x07ey": "v\x1b"})]
    training = {"loss": "l\x1b[0m", "optimizer_config": {"class_name": "\x1bAdam", "config": {}}}
    legacy(tmp_path / "old.h5", old_model(dense(), *layers), {**WEIGHTS, "w\x1b": {"w\x1b/k:0": BIAS}}, training)

    for arguments in (
        ("old.h5", "--plan"),
        ("old.h5", "n.keras"),
        ("old.h5", "--into", "out"),
        ("old.h5", "--plan", "--json"),
    ):
        done = ramet("port", *arguments)

        assert done.code == 1
        for line in (done.out + done.err).splitlines():
            assert line.isprintable(), ascii(line)


def test_metadata_with_another_version_is_no_obstacle(ramet, tmp_path):
    for version in ("3.99.0", "3", "", "x\x1b", "3.3.0.dev20240101"):
        path = archive(tmp_path / "new.keras", files=None)
        with zipfile.ZipFile(path) as file:
            parts = {name: file.read(name) for name in file.namelist()}
        with zipfile.ZipFile(path, "w") as file:
            for name, data in parts.items():
                text = json.dumps({**METADATA, "keras_version": version}) if name == "metadata.json" else data
                file.writestr(name, text)

        done = ramet("port", "new.keras", "--plan", "--to", "3.8")

        assert done.code in (0, 3), (version, done.err)
        assert (done.out + done.err).replace("\n", "").isprintable()
