"""PNG and PDF: the choice of the converter, the check of its result, and errors."""

import os
import shutil
import struct
import sys
import types
import zlib
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from ramet._draw import converters as module
from ramet._draw import draw_graph
from ramet._draw.svg import svg
from ramet.errors import ArgumentError
from tests.draw.sample import chain, hostile, unet

pytestmark = pytest.mark.no_backend


def png(width: int, height: int) -> bytes:
    """Return the smallest file that looks like a PNG of this size."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))


def size_of(file: Path) -> tuple[int, int]:
    width, height = struct.unpack(">II", file.read_bytes()[16:24])
    return width, height


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make these programs the only converters."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(module, "_cairosvg", lambda: None)

    def add(**programs: str) -> None:
        for name, code in programs.items():
            file = folder / name.replace("_", "-")
            file.write_text(f"#!{sys.executable}\nimport pathlib, sys\n{code}\n", encoding="utf-8")
            file.chmod(0o755)

    return add


needs_scripts = pytest.mark.skipif(
    os.name == "nt",
    reason="the converters of these tests are scripts with a #! line, which Windows does not run",
)


def test_missing_converter_is_reported_with_a_fix(tmp_path: Path, tools: Callable[..., None]) -> None:
    for name in ("m.png", "m.pdf"):
        with pytest.raises(ArgumentError) as caught:
            draw_graph(chain("a")).save(tmp_path / name)

        assert str(caught.value) == (
            f"Cannot write a {name[1:]} file: no SVG converter is installed.\n"
            "  expected: the Python package cairosvg, or rsvg-convert, Inkscape, Chromium, Chrome or Edge\n"
            "  fix: install one, for example with `pip install cairosvg`, or write .svg, which most editors can read."
        )
    assert [one.name for one in tmp_path.iterdir()] == ["bin"]


@needs_scripts
def test_next_converter_is_tried_if_one_fails(tmp_path: Path, tools: Callable[..., None]) -> None:
    tools(
        rsvg_convert="sys.stderr.write('no fonts\\n'); sys.exit(3)",
        inkscape="pathlib.Path(sys.argv[-1].partition('=')[2]).write_bytes(b'%PDF-1.5 made by the second')",
    )
    draw_graph(chain("a")).save(tmp_path / "m.pdf")

    assert (tmp_path / "m.pdf").read_bytes() == b"%PDF-1.5 made by the second"


@needs_scripts
def test_cropped_result_is_refused(tmp_path: Path, tools: Callable[..., None]) -> None:
    (tmp_path / "m.png").write_bytes(b"old")
    tools(
        rsvg_convert="sys.stderr.write('no fonts\\n'); sys.exit(3)",
        inkscape="pass",
        chromium=f"[file] = [one.partition('=')[2] for one in sys.argv if one.startswith('--screenshot')]\n"
        f"pathlib.Path(file).write_bytes({png(16, 16)!r})",
    )
    with pytest.raises(ArgumentError) as caught:
        draw_graph(chain("a")).save(tmp_path / "m.png")

    message = str(caught.value)
    assert message.startswith("Cannot write a .png file: the installed converters failed.\n")
    for part in (
        "rsvg-convert: exit code 3, no fonts;",
        "inkscape: FileNotFoundError",
        "chromium: the result has 16 x 16 pixels",
    ):
        assert part in message
    assert (tmp_path / "m.png").read_bytes() == b"old"


@needs_scripts
def test_program_in_the_current_folder_is_not_started(
    tmp_path: Path, tools: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows looks there first. Elsewhere, a PATH with "." does the same."""
    tools(inkscape="raise SystemExit('started')")
    monkeypatch.chdir(tmp_path / "bin")
    monkeypatch.setenv("PATH", ".")

    assert module._converters() == {}


@pytest.mark.parametrize(
    ("system", "place", "name"),
    [
        ("win32", "Microsoft/Edge/Application/msedge.exe", "msedge"),
        ("win32", "Google/Chrome/Application/chrome.exe", "chrome"),
        ("win32", "Inkscape/bin/inkscape.exe", "inkscape"),
        ("darwin", "Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "Google Chrome"),
        ("darwin", "Applications/Inkscape.app/Contents/MacOS/inkscape", "inkscape"),
    ],
)
def test_program_that_is_not_on_the_path_is_found(
    tmp_path: Path,
    tools: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    system: str,
    place: str,
    name: str,
) -> None:
    for variable in ("HOME", "USERPROFILE", "ProgramFiles(x86)"):
        monkeypatch.setenv(variable, str(tmp_path))
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).touch()
    assert name not in module._converters()
    monkeypatch.setattr(sys, "platform", system)
    # On Windows, `which` asks the system since Python 3.12.
    monkeypatch.setattr(shutil, "which", lambda _command: None)

    [found] = [convert for key, convert in module._converters().items() if key == name]

    assert found.args[1] == str(tmp_path / place)  # type: ignore[attr-defined]


def test_cairosvg_is_preferred_and_may_lack_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    fake = types.ModuleType("cairosvg")
    fake.__spec__ = ModuleSpec("cairosvg", None)
    fake.svg2pdf = lambda bytestring: seen.append(bytestring) or b"%PDF-1.4"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cairosvg", fake)
    picture = draw_graph(hostile())
    picture.save(tmp_path / "m.pdf")

    assert seen == [picture.to_svg().encode()]

    def broken(name: str) -> None:
        raise OSError("no library called 'cairo' was found")

    monkeypatch.setattr(module.importlib, "import_module", broken)
    assert "cairosvg" not in module._converters()


def test_scale_sets_only_the_number_of_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = draw_graph(chain("a"))
    width, height = module._size(picture.to_svg())
    made: list[tuple[float, float]] = []

    def make(text: str, kind: str, wide: float, high: float) -> bytes:
        made.append((wide, high))
        return png(round(wide), round(high))

    monkeypatch.setattr(module, "_converters", lambda: {"some": make})
    picture.save(tmp_path / "m.png")
    picture.save(tmp_path / "n.png", scale=0.5)

    assert made == [pytest.approx((2 * width, 2 * height)), pytest.approx((width / 2, height / 2), abs=0.06)]
    assert svg(picture._drawing, 2.0).partition("viewBox")[2] == picture.to_svg().partition("viewBox")[2]
    for scale in (0, -1, float("nan"), float("inf"), "2", True):
        with pytest.raises(ArgumentError, match="Cannot draw with scale="):
            picture.save(tmp_path / "o.png", scale=scale)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"Cannot scale 'm.svg': only .png files have pixels."):
        picture.save(tmp_path / "m.svg", scale=2)


def test_too_large_png_is_refused_before_it_is_rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_converters", lambda: {"some": lambda *_: pytest.fail("it was rendered")})
    with pytest.raises(ArgumentError) as caught:
        draw_graph(chain("a")).save(tmp_path / "m.png", scale=200)

    assert "at most 32,767 pixels per side" in str(caught.value)
    assert "columns=" in str(caught.value)


def test_pdf_page_is_scaled_down_to_the_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def make(text: str, kind: str, wide: float, high: float) -> bytes:
        made.append(text)
        return b"%PDF-"

    monkeypatch.setattr(module, "_converters", lambda: {"some": make})
    drawn = draw_graph(chain(*(f"d{number}" for number in range(12)))).to_svg()
    module.convert(drawn.replace(f'height="{module._size(drawn)[1]:.0f}"', 'height="40000"'), "pdf")

    assert 0.75 * max(module._size(made[0])) == pytest.approx(14_400, rel=1e-3)


REAL = {
    "rsvg-convert": lambda: shutil.which("rsvg-convert"),
    "inkscape": lambda: shutil.which("inkscape"),
    "chromium": lambda: shutil.which("chromium"),
    "cairosvg": module._cairosvg,
}


@pytest.mark.parametrize("name", REAL)
def test_installed_converter_works(name: str, tmp_path: Path) -> None:
    if REAL[name]() is None:
        pytest.skip(f"{name} is not installed; installing it enables this test")
    make = module._converters()[name]
    drawn = draw_graph(unet(), columns=2).to_svg()
    width, height = module._size(drawn)
    for kind in ("png", "pdf"):
        assert module._problem(make(drawn, kind, width, height), kind, width, height) is None  # type: ignore[arg-type]
