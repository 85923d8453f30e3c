"""`ramet scan` prints the findings, and commands that load a model use it."""

import json

import pytest

from tests.files.build import archive
from tests.files.hostile import CONFIGS, MARKER, TRUSTED

pytestmark = pytest.mark.no_backend


def test_clean_file_is_safe(ramet, tiny):
    done = ramet("scan", tiny)

    assert (done.code, done.out, done.err) == (0, "tiny.keras: safe\n", "")


@pytest.mark.parametrize("name", ["lambda_layer", "os_system", "get_file"])
def test_unsafe_file_gives_exit_code_1(ramet, tmp_path, name):
    archive(tmp_path / "m.keras", CONFIGS[name](tmp_path))

    done = ramet("scan", "m.keras")

    assert done.code == 1
    assert done.out.startswith("m.keras: unsafe")
    assert "  where:  " in done.out
    assert "  similar to:  CVE-" in done.out
    assert not (tmp_path / MARKER).exists()


def test_file_with_custom_classes_needs_trust(ramet, tmp_path):
    archive(tmp_path / "m.keras", TRUSTED["custom_class"](tmp_path))

    done = ramet("scan", "m.keras")

    assert (done.code, done.out.split("\n")[0]) == (0, "m.keras: needs trust (1 finding)")


def test_json_has_the_documented_fields(ramet, tmp_path):
    archive(tmp_path / "m.keras", CONFIGS["lambda_layer"](tmp_path))

    done = ramet("scan", "m.keras", "--json")

    record = json.loads(done.out)
    assert done.code == 1
    assert list(record) == ["ramet", "version", "file", "kind", "keras_version", "verdict", "findings"]
    assert record["verdict"] == "unsafe"
    fields = ["severity", "kind", "what", "effect", "place", "path", "safe_mode", "advisories", "name"]
    assert list(record["findings"][0]) == fields


@pytest.mark.parametrize("command", ["clone", "edit", "verify"])
def test_commands_that_load_refuse_an_unsafe_file(ramet, tmp_path, command):
    archive(tmp_path / "m.keras", CONFIGS["lambda_layer"](tmp_path))
    (tmp_path / "r.toml").write_text('[[edit]]\nremove = "d"\n')

    done = ramet(command, "m.keras", "out.keras", *(["--recipe", "r.toml"] if command == "edit" else []))

    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith("Cannot load 'm.keras': it is unsafe.\n  found:    ")
    assert "--trust" in done.err
    assert not (tmp_path / "out.keras").exists()
