"""The program as a whole: help, streams, exit codes, imports."""

import json
import os
import platform
import subprocess
import sys
import sysconfig
from importlib import metadata

import keras
import pytest

from ramet._arguments import BACKENDS
from ramet._cli import show
from ramet._cli.program import COMMANDS
from ramet._copy import uses_compiled_walk
from tests.files.build import archive
from tests.files.hostile import ARCHIVES
from tests.support.platforms import posix

pytestmark = pytest.mark.no_backend

NAMES = [command.name for command in COMMANDS]


def test_help_lists_commands_exit_codes_and_examples(ramet):
    done = ramet("--help")

    assert done.code == 0
    assert done.err == ""
    assert all(f"\n    {name} " in done.out for name in NAMES)
    assert "exit codes:\n" in done.out
    assert "examples:\n" in done.out


@pytest.mark.parametrize("name", NAMES)
def test_help_of_every_command_has_examples(ramet, name):
    done = ramet(name, "--help")

    assert done.code == 0
    assert done.out.startswith(f"usage: ramet {name} ")
    assert "\nexamples:\n  " in done.out


def test_help_goes_to_standard_error_without_a_command(ramet):
    done = ramet()

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("usage: ramet ")


def test_versions_are_printed(ramet):
    done = ramet("--version")

    assert done.code == 0
    first, *lines = done.out.splitlines()
    assert first == f"ramet {metadata.version('ramet')}"
    shown = {line[:14].strip(): line[14:] for line in lines}
    assert list(shown) == ["walk", "Keras", "backend", "jax", "torch", "tensorflow", "Python", "platform"]
    assert (shown["walk"] == "compiled") is uses_compiled_walk()
    assert shown["Keras"] == keras.__version__
    assert shown["backend"] == "jax (KERAS_BACKEND)"
    assert shown["jax"] == metadata.version("jax")
    assert shown["Python"].startswith(f"{platform.python_version()} ({platform.python_implementation()}")


@pytest.mark.parametrize(("installed", "note"), [(True, ""), (False, "; not installed")])
def test_backend_of_the_settings_file_is_shown_without_the_variable(ramet, tmp_path, monkeypatch, installed, note):
    def version(package):
        if package.removesuffix("-cpu") in BACKENDS and not installed:
            raise metadata.PackageNotFoundError(package)
        return "1.2.3"

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.delenv("KERAS_BACKEND")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    default = ramet("--version").out
    (tmp_path / "keras.json").write_text('{"backend": "torch"}', encoding="utf-8")

    assert f"\n  backend     tensorflow (Keras' default{note})\n" in default
    assert f"\n  backend     torch (keras.json{note})\n" in ramet("--version").out


def test_version_shows_why_the_walk_is_not_compiled(ramet, monkeypatch):
    monkeypatch.setenv("RAMET_PURE_PYTHON", "1")

    assert "\n  walk        Python (RAMET_PURE_PYTHON is set)\n" in ramet("--version").out


@pytest.mark.parametrize("enabled", [True, False])
def test_version_shows_a_free_threaded_python(ramet, monkeypatch, enabled):
    monkeypatch.delenv("RAMET_PURE_PYTHON", raising=False)
    monkeypatch.setattr(sysconfig, "get_config_var", {"Py_GIL_DISABLED": 1}.get)
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: enabled, raising=False)
    shown = ramet("--version").out

    assert f"CPython, free-threaded, GIL {'enabled' if enabled else 'disabled'})\n" in shown
    assert "\n  walk        Python (the compiled walk needs the GIL, and this is a free-threaded Python)\n" in shown


WRONG = {
    "misspelled command": (["shwo", "m.keras"], "  closest:  'show'\n"),
    "option without dashes": (["version"], "  closest:  '--version'\n"),
    "missing file": (["show"], "the following arguments are required: file"),
    "unknown option": (
        ["show", "tiny.keras", "--jsn"],
        "ramet show: unrecognized arguments: --jsn\n  closest:  '--json'\n  fix: see `ramet show --help`.",
    ),
    "unknown option of the program": (
        ["--verison"],
        "ramet: unrecognized arguments: --verison\n  closest:  '--version'\n",
    ),
    "too many files": (["show", "tiny.keras", "b.keras"], "ramet show: unrecognized arguments: b.keras\n  fix:"),
    "abbreviated option": (["show", "tiny.keras", "--js"], "unrecognized arguments: --js"),
    "standard input": (["show", "-"], "'-' is not supported"),
    "standard output": (["clone", "tiny.keras", "-"], "'-' is not supported"),
    "unsupported picture format": (["show", "tiny.keras", "--draw", "m.gif"], "expected: a name that ends in .html"),
    "direction without a picture": (["show", "tiny.keras", "--rankdir", "LR"], "add --draw model.svg"),
    "scale of a page": (
        ["diff", "tiny.keras", "tiny.keras", "--draw", "m.html", "--scale", "3"],
        "only .png files have pixels",
    ),
    "zero columns": (["show", "tiny.keras", "--draw", "m.svg", "--columns", "0"], "expected: an integer of at least 1"),
    "unsupported model format": (["clone", "tiny.keras", "out.h5"], "expected: a name that ends in .keras"),
    "missing second file": (["verify", "tiny.keras"], "fix: name another file"),
    "missing output file": (["edit", "tiny.keras", "--recipe", "r.toml"], "fix: name it"),
    "unknown backend": (["clone", "a.keras", "b.keras", "--backend", "mxnet"], "invalid choice: 'mxnet'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_gives_exit_code_2_and_a_fix(ramet, tiny, case):
    arguments, words = WRONG[case]

    done = ramet(*arguments)

    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert "Traceback" not in done.err


def test_missing_file_gives_exit_code_3(ramet, tiny):
    commands = [
        ("show", "no.keras"),
        ("scan", "no.keras"),
        ("diff", "tiny.keras", "no.keras"),
        ("verify", "no.keras", "x"),
    ]
    for command in commands:
        done = ramet(*command)
        assert (done.code, done.out) == (3, ""), command
        assert done.err.startswith("Cannot read 'no.keras'"), command


def test_missing_folder_gives_exit_code_3(ramet, tiny):
    done = ramet("clone", tiny, "nowhere/out.keras")

    assert (done.code, done.out) == (3, "")
    assert "fix: create the folder first." in done.err


def test_broken_file_gives_exit_code_3(ramet, tmp_path):
    (tmp_path / "text.keras").write_text("no model")
    (tmp_path / "text.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + b"\0" * 100)

    for name in ("text.keras", "text.h5"):
        done = ramet("show", name)
        assert (done.code, done.out) == (3, "")
        assert done.err.startswith("Cannot read ")


@pytest.mark.parametrize("name", ARCHIVES)
def test_hostile_archive_gives_a_message_without_a_traceback(ramet, tmp_path, name):
    path = ARCHIVES[name](tmp_path / "m.keras")

    done = ramet("show", path)

    assert done.code in (0, 3)
    assert "Traceback" not in done.err
    assert "bug" not in done.err


def test_bug_gives_exit_code_4_and_asks_for_a_report(ramet, tiny, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(show, "_list", fail)

    done, traced = ramet("show", tiny), ramet("show", tiny, "--debug")

    assert (done.code, done.out) == (4, "")
    assert done.err.split("\n")[0] == "This is a bug in ramet: ZeroDivisionError: a bug"
    assert "report it with the output of `ramet --version`" in done.err
    assert "Traceback" not in done.err
    assert traced.code == 4
    assert "Traceback (most recent call last)" in traced.err


def test_debug_prints_the_traceback(ramet):
    done = ramet("show", "no.keras", "--debug")

    assert done.code == 3
    assert "Traceback (most recent call last)" in done.err


# Modules that a command must not import.
KERAS = ("keras", "jax", "torch", "tensorflow")
UNWANTED = {
    "--help": (*KERAS, "rich", "numpy", "h5py"),
    "edit --help": (*KERAS, "rich", "numpy", "h5py"),
    "--completion bash": (*KERAS, "rich", "numpy", "h5py"),
    "--version": (*KERAS, "rich", "numpy", "h5py"),
    "show tiny.keras": (*KERAS, "rich", "h5py"),
    "show tiny.keras --weights": (*KERAS, "rich", "h5py"),
    "show tiny.keras --html m.html": (*KERAS, "h5py"),
    "scan tiny.keras": (*KERAS, "rich", "h5py"),
    "diff tiny.keras tiny.keras": (*KERAS, "rich", "h5py"),
    "clone no.keras out.keras": KERAS,
}


@pytest.mark.parametrize("line", UNWANTED)
def test_command_imports_only_what_it_needs(tiny, line):
    program = (
        "import sys; from ramet.__main__ import main; main(sys.argv[1:]);"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, *line.split()]
    done = subprocess.run(command, cwd=tiny.parent, capture_output=True, text=True, check=True, timeout=60)

    assert set(done.stderr.split("\n")[-2].split()) & set(UNWANTED[line]) == set()


def test_results_go_to_stdout_and_messages_to_stderr(spawn, tiny):
    shown, missing = spawn("show", tiny, "--json"), spawn("show", "no.keras")

    assert (shown.code, shown.err) == (0, "")
    assert json.loads(shown.out)["ramet"] == "show"
    assert (missing.code, missing.out) == (3, "")
    assert missing.err.startswith("Cannot read 'no.keras'")


@posix
def test_closed_pipe_is_not_reported(tiny):
    command = [sys.executable, "-m", "ramet", "show", str(tiny)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        errors = process.stderr.read()

    assert (process.returncode, errors) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full; Linux runs this")  # noqa: PTH110
def test_full_disk_is_reported(tiny):
    command = [sys.executable, "-m", "ramet", "show", str(tiny)]
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)

    assert done.returncode == 3
    assert done.stderr.startswith("Cannot ")
    assert done.stderr.endswith(": No space left on device.\n")
    assert done.stderr.count("\n") == 1


def test_unsupported_characters_are_written_as_codes(spawn, tmp_path):
    archive(tmp_path / "mödel.keras")

    done = spawn("show", "mödel.keras", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})

    assert done.code == 0
    assert done.out.startswith("m\\xf6del.keras: tiny")


@pytest.mark.parametrize("command", ["show", "scan"])
def test_saved_model_is_named_with_a_way_out(ramet, tmp_path, command):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "saved_model.pb").write_bytes(b"")

    done = ramet(command, "old")

    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("Cannot read 'old': it is a SavedModel, which only `ramet port` reads.")
    assert "fix: port it and pass the new file: ramet port old new.keras." in done.err


def test_current_folder_has_its_name_in_messages(ramet, tmp_path):
    done = ramet("show", ".")

    assert (done.code, done.out) == (3, "")
    assert done.err.startswith(f"Cannot read '{tmp_path.name}': the folder contains no 'config.json'.")
