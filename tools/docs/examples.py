"""Run the examples of a Markdown page and compare what they print with what the page shows.

Blocks of a page run from top to bottom, in one namespace and in one folder:

- `python` is executed. If the next block is a `text` block, it shows the printed output, or the error that was raised.
- `console` runs each line that begins with `$ ramet`, in this process, and compares the output below it, if there is any.
  Commands that install or build something (`pip`, `make`) are not run.
- Blocks in any other language are only shown.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

_BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w+)\n(?P<source>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)
# Text that differs between runs, versions, backends or machines.
_VARYING = re.compile(
    r"\d{4}-\d\d-\d\d@[\d:]+|Keras \d+\.\d+\.\d+(?: on \w+)?|[\d,]+ (?:attributes|objects)|ramet \d+\.\d+\.\d+"
    r"|\d+(?:\.\d+)? m?s\b"
    r"|^  (?:walk|Keras|backend|jax|torch|tensorflow|Python|platform) {2,}.+$"  # of --version
)
_NOT_RUN = ("pip", "make")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    source: str
    line: int


class ExampleError(AssertionError):
    """An example failed, or printed something else than the page shows."""


def blocks_of(text: str) -> list[Block]:
    """Return the fenced blocks of a page; a block in a list is indented."""
    return [
        Block(
            found["language"],
            "".join(line.removeprefix(found["indent"]) for line in found["source"].splitlines(keepends=True)),
            text.count("\n", 0, found.start()) + 1,
        )
        for found in _BLOCK.finditer(text)
    ]


def run_examples(page: Path, folder: Path) -> int:
    """Run the examples of a page in a folder, and return their number.

    Raises:
        ExampleError: An example failed, or its output is not the one shown.
    """
    import keras

    keras.utils.clear_session(free_memory=False)  # automatic names start over, as for a reader
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "__main__"}
    count = 0
    with contextlib.chdir(folder), warnings.catch_warnings(), _wide_terminal():
        warnings.simplefilter("ignore")
        for block, following in pairwise([*blocks, Block("", "", 0)]):
            where = f"{page.name}, line {block.line}"
            if block.language == "python":
                shown = following.source if following.language == "text" else None
                _run_python(block, shown, names, where)
                count += 1
            elif block.language == "console":
                count += _run_commands(block, where)
    for value in names.values():
        _close_files(value)
    return count


def run_page(page: Path, shown: list[str]) -> tuple[int, dict[str, bytes]] | str:
    """Run the examples of a page in an empty folder.

    Args:
        page: The page.
        shown: The files that the examples must write.

    Returns:
        The number of examples and the content of these files, or what went wrong. It is called in a process of its own, so
        it raises nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            count = run_examples(page, Path(folder))
        except ExampleError as error:
            return str(error)
        missing = [file for file in shown if not Path(folder, file).exists()]
        if missing:
            return f"{page.name} shows {', '.join(missing)}, which its examples do not write"
        return count, {file: Path(folder, file).read_bytes() for file in shown}


def _run_python(block: Block, shown: str | None, names: dict[str, object], where: str) -> None:
    # The lines of a traceback are those of the page.
    code = compile("\n" * block.line + block.source, where.partition(",")[0], "exec")
    with _captured() as (out, _):
        try:
            exec(code, names)
        except Exception as error:
            if shown is None:
                raise ExampleError(f"{where}: {type(error).__name__}: {error}") from error
            text = str(error) if hasattr(error, "summary") else f"{type(error).__name__}: {error}"
            printed = f"{_text(out)}{text}"
        else:
            printed = _text(out)
    if shown is not None:
        _compare(printed, shown, where)


def _run_commands(block: Block, where: str) -> int:
    from ramet.__main__ import main

    count = 0
    for part in re.split(r"^\$ ", block.source, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        program, *arguments = shlex.split(line, comments=True)
        if program in _NOT_RUN:
            continue
        if program != "ramet":
            raise ExampleError(f"{where}: '{program}' is not run; show it in a block of another language")
        with _captured() as (out, err):
            main(arguments)
        count += 1
        if shown.strip():
            _compare(_text(out) or _text(err), shown, f"{where}: $ {line}")
    return count


def _compare(found: str, shown: str, where: str) -> None:
    lines = [
        [_VARYING.sub("#", line.rstrip()) for line in text.strip("\n").splitlines()] for text in (found.rstrip(), shown)
    ]
    if lines[0] != lines[1]:
        raise ExampleError(f"{where}: the output is not the one shown.\n\nfound:\n{found}\n\nshown:\n{shown}")


@contextlib.contextmanager
def _captured() -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


@contextlib.contextmanager
def _wide_terminal() -> Iterator[None]:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "120"
    try:
        yield
    finally:
        os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)


def _close_files(value: object) -> None:
    log = getattr(value, "log", None)
    if isinstance(log, io.IOBase):
        log.close()
