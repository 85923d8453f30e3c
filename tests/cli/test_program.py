"""The program as a whole: help, streams, exit codes, what it imports."""

import json
import os
import subprocess
import sys

import pytest

from ramet._cli import show
from ramet._cli.parser import COMMANDS
from ramet._copy._compiled import is_at_work
from tests.files.build import archive
from tests.files.hostile import ARCHIVES

pytestmark = pytest.mark.no_backend

NAMES = [command.name for command in COMMANDS]


def test_the_help_lists_commands_exit_codes_and_examples(ramet):
    done = ramet("--help")

    assert done.code == 0
    assert done.err == ""
    assert all(f"\n    {name} " in done.out for name in NAMES)
    assert "exit codes:\n" in done.out
    assert "examples:\n" in done.out


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_every_command_teaches_by_examples(ramet, name):
    done = ramet(name, "--help")

    assert done.code == 0
    assert done.out.startswith(f"usage: ramet {name} ")
    assert "\nexamples:\n  " in done.out


def test_without_a_command_the_help_goes_to_standard_error(ramet):
    done = ramet()

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("usage: ramet ")


def test_the_versions_are_told(ramet):
    done = ramet("--version")

    assert done.code == 0
    assert done.out.startswith("ramet 0.")
    assert ("not compiled" in done.out) is not is_at_work()
    assert "keras 3." in done.out


WRONG = {
    "a command that is nearly one": (["shwo", "m.keras"], "  closest:  'show'\n"),
    "no file": (["show"], "the following arguments are required: file"),
    "an unknown option": (["show", "tiny.keras", "--jsn"], "unrecognized arguments: --jsn"),
    "a shortened option": (["show", "tiny.keras", "--js"], "unrecognized arguments: --js"),
    "standard input": (["show", "-"], "'-' is not supported"),
    "standard output": (["clone", "tiny.keras", "-"], "'-' is not supported"),
    "a picture of no known kind": (["show", "tiny.keras", "--draw", "m.gif"], "expected: a name that ends in .html"),
    "a direction without a picture": (["show", "tiny.keras", "--rankdir", "LR"], "add --draw model.svg"),
    "pixels of a page": (
        ["diff", "tiny.keras", "tiny.keras", "--draw", "m.html", "--scale", "3"],
        "only a .png file has",
    ),
    "no column": (["show", "tiny.keras", "--draw", "m.svg", "--columns", "0"], "expected: a whole number from 1"),
    "a model of no known kind": (["clone", "tiny.keras", "out.h5"], "expected: a name that ends in .keras"),
    "nothing to compare with": (["verify", "tiny.keras"], "fix: name another file"),
    "nowhere to write": (["edit", "tiny.keras", "--recipe", "r.toml"], "fix: name one"),
    "an unknown backend": (["clone", "a.keras", "b.keras", "--backend", "mxnet"], "invalid choice: 'mxnet'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_gives_exit_code_2_and_a_way_out(ramet, tiny, case):
    arguments, words = WRONG[case]

    done = ramet(*arguments)

    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert "Traceback" not in done.err


def test_a_missing_file_gives_exit_code_3(ramet, tiny):
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


def test_a_folder_that_is_not_there_gives_exit_code_3_before_any_work(ramet, tiny):
    done = ramet("clone", tiny, "nowhere/out.keras")

    assert (done.code, done.out) == (3, "")
    assert "fix: make it: mkdir -p " in done.err


def test_a_broken_file_gives_exit_code_3(ramet, tmp_path):
    (tmp_path / "text.keras").write_text("no model")
    (tmp_path / "text.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + b"\0" * 100)

    for name in ("text.keras", "text.h5"):
        done = ramet("show", name)
        assert (done.code, done.out) == (3, "")
        assert done.err.startswith("Cannot read ")


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_hostile_archive_is_a_sentence_and_never_a_traceback(ramet, tmp_path, name):
    path = ARCHIVES[name](tmp_path / "m.keras")

    done = ramet("show", path)

    assert done.code in (0, 3)
    assert "Traceback" not in done.err
    assert "bug" not in done.err


def test_a_mistake_of_our_own_gives_exit_code_4_and_how_to_report_it(ramet, tiny, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(show, "show_text", fail)

    done, traced = ramet("show", tiny), ramet("show", tiny, "--debug")

    assert (done.code, done.out) == (4, "")
    assert done.err.split("\n")[0] == "This is a bug in ramet: ZeroDivisionError: of ours"
    assert "report it" in done.err
    assert "Traceback" not in done.err
    assert traced.code == 4
    assert "Traceback (most recent call last)" in traced.err


def test_the_traceback_of_a_refusal_is_shown_on_demand(ramet):
    done = ramet("show", "no.keras", "--debug")

    assert done.code == 3
    assert "Traceback (most recent call last)" in done.err


# What a command does not need.
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
def test_only_what_is_needed_is_imported(tiny, line):
    program = (
        "import sys; from ramet.__main__ import main; main(sys.argv[1:]);"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, *line.split()]
    done = subprocess.run(command, cwd=tiny.parent, capture_output=True, text=True, check=True, timeout=60)

    assert set(done.stderr.split("\n")[-2].split()) & set(UNWANTED[line]) == set()


def test_results_and_talk_go_their_own_ways_in_a_real_process(spawn, tiny):
    shown, missing = spawn("show", tiny, "--json"), spawn("show", "no.keras")

    assert (shown.code, shown.err) == (0, "")
    assert json.loads(shown.out)["ramet_show"] == 1
    assert (missing.code, missing.out) == (3, "")
    assert missing.err.startswith("Cannot read 'no.keras'")


def test_a_reader_that_went_away_is_no_error_to_speak_of(tiny):
    command = [sys.executable, "-m", "ramet", "show", str(tiny)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        said = process.stderr.read()

    assert (process.returncode, said) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full; Linux runs this")  # noqa: PTH110
def test_a_full_disk_behind_standard_output_is_told(tiny):
    command = [sys.executable, "-m", "ramet", "show", str(tiny)]
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)

    assert done.returncode == 3
    assert done.stderr.startswith("Cannot ")
    assert done.stderr.endswith(": No space left on device.\n")
    assert done.stderr.count("\n") == 1


def test_letters_that_the_terminal_does_not_know_are_told_by_code(spawn, tmp_path):
    archive(tmp_path / "mödel.keras")

    done = spawn("show", "mödel.keras", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})

    assert done.code == 0
    assert done.out.startswith("m\\xf6del.keras: tiny")
