"""What must be the same on every system: text files have an encoding."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = {"read_text", "write_text"}

pytestmark = pytest.mark.no_backend


def sources() -> list[str]:
    folders = [ROOT / name for name in ("src", "bench", "tools", "examples")]
    return [path.relative_to(ROOT).as_posix() for folder in folders for path in sorted(folder.rglob("*.py"))]


def calls_without_encoding(source: str) -> Iterator[int]:
    """Yield the lines that read or write text in the encoding of the system, which is cp1252 on many Windows machines."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or any(keyword.arg in ("encoding", None) for keyword in node.keywords):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr in TEXT:
            yield node.lineno
        elif getattr(node.func, "id", getattr(node.func, "attr", "")) == "open":
            given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
            modes = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            # Without a mode, a method of that name may belong to anything.
            if (modes and set(modes[-1]) <= set("rwax+t")) or (isinstance(node.func, ast.Name) and len(given) == 1):
                yield node.lineno


@pytest.mark.parametrize("file", sources())
def test_text_files_have_an_encoding(file: str) -> None:
    assert list(calls_without_encoding((ROOT / file).read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "source",
    ["path.read_text()", "(folder / 'x').write_text(text)", "open(name)", "open(name, 'w')", "path.open(mode='rt')"],
)
def test_missing_encoding_is_found(source: str) -> None:
    assert list(calls_without_encoding(source)) == [1]


@pytest.mark.parametrize(
    "source",
    ["path.read_text(encoding='utf-8')", "path.open('rb')", "open(name, 'w', encoding='utf-8')", "store.open(entry)"],
)
def test_other_calls_are_accepted(source: str) -> None:
    assert list(calls_without_encoding(source)) == []
