"""Every command in docs/cli.md runs and prints the output on the page."""

import re
import shlex
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_backend

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Text that differs between runs or machines.
VARYING = re.compile(r"\d{4}-\d\d-\d\d@[\d:]+|Keras \d+\.\d+\.\d+|\d+ attributes")


def commands(source):
    """Yield each command of a block, with its output."""
    for part in re.split(r"^\$ ", source, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield shlex.split(line), shown


def test_commands_print_the_documented_output(ramet):
    names = {}
    results = []
    for kind, source in BLOCK.findall(PAGE.read_text()):
        if kind == "python":
            exec(compile(source, str(PAGE), "exec"), names)
        for (program, *arguments), shown in commands(source) if kind == "console" else ():
            assert program == "ramet"
            done = ramet(*arguments)
            results.append((arguments, done.code))
            assert VARYING.sub("#", (done.out or done.err).rstrip()) == VARYING.sub("#", shown.rstrip()), arguments

    assert {arguments[0] for arguments, _ in results} == {"show", "scan", "diff", "clone", "edit", "verify"}
    assert {code for _, code in results} == {0, 1}
