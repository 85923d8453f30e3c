"""A scan reports everything in a file that loading would run or reach, and nothing in a clean file."""

import json
import zipfile

import pytest

from ramet._files import Limits, list_file, open_model_file, scan
from ramet.errors import HostileFileError, ModelFileError, RametError
from tests.files.build import (
    DENSE_WEIGHTS,
    TINY,
    archive,
    called,
    dense,
    layer,
    legacy,
    one_layer,
    tensor,
    weights,
)
from tests.files.clean import CLEAN
from tests.files.hostile import ARCHIVES, CONFIGS, MARKER, TEXTS, TRUSTED, WEIGHTS, legacy_lambda

pytestmark = pytest.mark.no_backend

ADVISORIES = {
    "lambda_layer": "CVE-2024-3660",
    "os_system": "CVE-2025-1550",
    "subprocess_as_activation": "CVE-2025-1550",
    "builtin_eval": "CVE-2025-1550",
    "get_file": "CVE-2025-8747",
    "load_model": "CVE-2025-8747",
    "unsafe_deserialization_on": "CVE-2025-9906",
    "global_attribute": "CVE-2025-9906",
    "vocabulary_file": "CVE-2025-12058",
    "torch_module": "CVE-2025-49655",
    "saved_model_layer": "CVE-2026-1462",
}


def _advisories(report):
    return {advisory for finding in report.findings for advisory in finding.advisories}


def _look_at(path):
    """Read and list a file as far as possible."""
    try:
        with open_model_file(path, isolated=False) as file:
            lines = str(list_file(file)).splitlines()
    except RametError:
        return
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("name", CONFIGS)
def test_code_is_found_anywhere_in_a_config(tmp_path, name):
    path = archive(tmp_path / "m.keras", CONFIGS[name](tmp_path))

    report = scan(path, isolated=False)
    _look_at(path)

    assert report.verdict == "unsafe", str(report)
    assert ADVISORIES.get(name, "") in {"", *_advisories(report)}
    assert not (tmp_path / MARKER).exists()


@pytest.mark.parametrize("name", TRUSTED)
def test_code_that_must_be_installed_needs_trust(tmp_path, name):
    path = archive(tmp_path / "m.keras", TRUSTED[name](tmp_path))

    report = scan(path, isolated=False)

    assert report.verdict == "needs trust", str(report)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("\\\\host\\share\\x", "address"),
        ("//host/share/x", "address"),
        ("\\/host\\share", "address"),
        ("\\\\?\\UNC\\host\\share", "address"),
        ("c:\\users", "file"),
        ("C:/users", "file"),
        ("..\\secret", "file"),
        ("/etc/passwd", "file"),
    ],
)
def test_paths_of_every_system_are_found_on_every_system(tmp_path, text, kind):
    config = one_layer(dense(note=text))

    report = scan(archive(tmp_path / "m.keras", config), isolated=False)

    assert [finding.kind for finding in report.findings if finding.kind in ("address", "file")] == [kind]


@pytest.mark.parametrize("name", ARCHIVES)
def test_archive_that_keras_cannot_have_written_is_unsafe(tmp_path, name):
    path = ARCHIVES[name](tmp_path / "m.keras")

    assert scan(path, isolated=False).verdict == "unsafe"
    with pytest.raises(HostileFileError):
        open_model_file(path)


@pytest.mark.parametrize("name", TEXTS)
def test_config_that_keras_cannot_have_written_is_unsafe(tmp_path, name):
    path = archive(tmp_path / "m.keras", TEXTS[name])

    assert scan(path, isolated=False).verdict == "unsafe"
    with pytest.raises(HostileFileError), open_model_file(path, isolated=False) as file:
        _ = file.graph


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_that_keras_cannot_have_written_are_unsafe(tmp_path, name):
    edit, kind = WEIGHTS[name]
    path = archive(tmp_path / "m.keras", TINY, weights(DENSE_WEIGHTS, edit=edit))

    report = scan(path)

    assert [finding.kind for finding in report.findings] == [kind]
    assert report.verdict == "unsafe"
    with open_model_file(path, isolated=False) as file:
        assert file.weights.read("d/kernel" if "d/kernel" in file.weights else "d/0").shape == (4, 2)
        for odd in ("d/9", "d/2"):
            with pytest.raises(RametError):
                file.weights.read(odd)


def test_code_in_a_model_of_keras_2_is_found(tmp_path):
    report = scan(legacy_lambda(tmp_path / "old.h5"))

    assert (report.kind, report.verdict) == ("legacy model", "unsafe")
    assert "CVE-2025-9905" in _advisories(report)
    assert report.findings[0].path == "l"
    assert not (tmp_path / MARKER).exists()


@pytest.mark.parametrize("name", CLEAN)
def test_clean_file_has_no_findings(tmp_path, name):
    report = scan(CLEAN[name](tmp_path / "m"))

    assert (report.verdict, report.findings) == ("safe", ())


def test_code_is_found_even_if_the_weights_are_broken(tmp_path):
    for arrays in (b"no HDF5 at all", b""):
        report = scan(archive(tmp_path / "m.keras", CONFIGS["lambda_layer"](tmp_path), arrays))

        assert [finding.kind for finding in report.findings] == ["lambda", "refused"]


def test_unreadable_metadata_do_not_affect_a_scan(tmp_path):
    path = tmp_path / "m.keras"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("metadata.json", "{")
        file.writestr("config.json", json.dumps(TINY))

    assert (scan(path).verdict, scan(path).keras_version) == ("safe", "")


def test_optimizers_of_keras_2_are_safe(tmp_path):
    rows = [{"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "name": "x"}}]
    training = {"loss": "mse", "metrics": ["accuracy"], "optimizer_config": {"class_name": "Custom>Adam", "config": {}}}
    path = legacy(tmp_path / "m.h5", {"class_name": "Sequential", "config": {"layers": rows}}, {}, training)

    assert scan(path, isolated=False).findings == ()


def test_finding_has_a_layer_and_a_place(tmp_path):
    report = scan(archive(tmp_path / "m.keras", CONFIGS["lambda_in_a_wrapper_in_a_nested_model"](tmp_path)))

    (finding,) = report.findings
    assert finding.path == "steps/inner/l"
    assert finding.place == "config.json: config.config.layers[1].config.layer.config.layers[1].config.function"


def test_foreign_files_are_recognized_by_name_and_first_bytes(tmp_path):
    files = {
        "evil.so": b"x",
        "assets/data": b"\x80\x04\x95abc.",
        "assets/tool": b"\x7fELF",
        "notes.txt": b"x",
        "a.pkl": b"x",
    }

    report = scan(archive(tmp_path / "m.keras", files=files))

    severities = {finding.place: finding.severity for finding in report.findings}
    assert severities == {
        "evil.so": "trust",
        "assets/data": "trust",
        "assets/tool": "trust",
        "a.pkl": "trust",
        "notes.txt": "note",
    }
    assert report.verdict == "needs trust"


def test_report_can_be_written_as_json(tmp_path):
    report = scan(archive(tmp_path / "m.keras", CONFIGS["os_system"](tmp_path)))

    record = json.loads(report.to_json())

    assert (record["ramet"], record["version"], record["verdict"]) == ("scan", 1, "unsafe")
    assert set(record["findings"][0]) == {
        "advisories",
        "name",
        "effect",
        "kind",
        "path",
        "place",
        "safe_mode",
        "severity",
        "what",
    }


def test_terminal_control_characters_are_escaped(tmp_path):
    name = "\x1b[2J\x07\u202edlo\r\n"
    config = one_layer(layer(name, name, called(tensor("x")), module=name))
    path = archive(tmp_path / "m.keras", config, files={f"assets/{name}": "x"})

    report = scan(path)
    with open_model_file(path) as file:
        lines = str(list_file(file)).splitlines()

    assert all(line.isprintable() for line in str(report).splitlines())
    assert all(line.isprintable() for line in lines)
    assert any("\\x1b[2J" in line for line in lines)


def test_limits_can_be_tightened(tmp_path):
    path = archive(tmp_path / "m.keras")

    assert scan(path, Limits(text_size=10)).verdict == "unsafe"
    with pytest.raises(HostileFileError):
        open_model_file(path, Limits(entries=1))


def test_file_without_a_config_cannot_be_scanned(tmp_path):
    with pytest.raises(ModelFileError, match=r"does not contain 'config\.json'"):
        scan(archive(tmp_path / "m.keras", None))


def test_weights_that_may_be_pickles_are_unsafe(tmp_path):
    path = archive(tmp_path / "m.keras", arrays=None, files={"model.weights.npz": b"PK"})

    assert [(one.severity, one.kind) for one in scan(path).findings] == [("unsafe", "pickle")]


@pytest.mark.parametrize("name", ["saved_model.pb", "saved_model.pbtxt", "keras_metadata.pb"])
def test_folder_that_is_also_a_saved_model_is_unsafe(tmp_path, name):
    with zipfile.ZipFile(archive(tmp_path / "m.keras")) as file:
        file.extractall(tmp_path / "m")
    assert scan(tmp_path / "m").verdict == "safe"

    (tmp_path / "m" / name).write_bytes(b"")

    assert scan(tmp_path / "m").verdict == "unsafe"
