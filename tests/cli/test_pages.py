"""Every command in docs/cli.md runs, and prints what the page shows."""

import re
import shlex
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_backend

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What is another one with each run, or on another machine.
VARYING = re.compile(r"\d{4}-\d\d-\d\d@[\d:]+|Keras \d+\.\d+\.\d+|\d+ attributes")


def commands(source):
    """Each command of a block, with what it prints."""
    for part in re.split(r"^\$ ", source, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield shlex.split(line), shown


def test_the_commands_of_the_page_print_what_it_shows(ramet):
    names = {}
    told = []
    for kind, source in BLOCK.findall(PAGE.read_text()):
        if kind == "python":
            exec(compile(source, str(PAGE), "exec"), names)
        for (program, *arguments), shown in commands(source) if kind == "console" else ():
            assert program == "ramet"
            done = ramet(*arguments)
            told.append((arguments, done.code))
            assert VARYING.sub("#", (done.out or done.err).rstrip()) == VARYING.sub("#", shown.rstrip()), arguments

    assert {arguments[0] for arguments, _ in told} == {"show", "scan", "diff", "clone", "edit", "verify"}
    assert {code for _, code in told} == {0, 1}
