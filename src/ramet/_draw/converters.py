"""PNG and PDF from an SVG, with the converter that is installed: CairoSVG, rsvg-convert, Inkscape or Chromium.

None of them is a dependency: a picture is an SVG first, and users who need pixels usually have one of the four.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ramet.errors import ArgumentError

Format: TypeAlias = Literal["png", "pdf"]

# Cairo draws no larger images, and most viewers show none.
_LONGEST_SIDE = 32_767
_MOST_PIXELS = 250_000_000
# The largest page of PDF readers: 200 inches.
_LONGEST_PAGE = 14_400.0
_SECONDS = 60
# Drawings of thousands of crossing lines take minutes to paint, and are illegible.
_LARGEST = 8 * 2**20
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
# On Windows and macOS, programs with a window are not on the PATH. By system and converter, the paths below its folders of programs.
_PLACES = {
    "win32": {
        "inkscape": ("Inkscape/bin/inkscape.exe",),
        "browser": ("Google/Chrome/Application/chrome.exe", "Microsoft/Edge/Application/msedge.exe"),
    },
    "darwin": {
        "inkscape": ("Inkscape.app/Contents/MacOS/inkscape",),
        "browser": (
            "Google Chrome.app/Contents/MacOS/Google Chrome",
            "Chromium.app/Contents/MacOS/Chromium",
            "Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
        ),
    },
}
# Variables of Windows with these folders.
_PROGRAM_FOLDERS = ("ProgramFiles", "ProgramFiles(x86)", "LocalAppData")
_INSTALL = "install one, for example with `pip install cairosvg`, or write .svg, which most editors can read."


def check_converter(suffix: str) -> None:
    """Refuse a format that no installed converter can write, before any work is done."""
    if not _converters():
        raise ArgumentError(
            f"Cannot write a {suffix} file: no SVG converter is installed.",
            expected="the Python package cairosvg, or rsvg-convert, Inkscape, Chromium, Chrome or Edge",
            fix=_INSTALL,
        )


def convert(svg: str, kind: Format) -> bytes:
    """Return the content of a PNG or PDF file that shows the SVG, which states its width and height in pixels.

    Raises:
        ArgumentError: No converter is installed, all of them failed, or the image would be too large.
    """
    width, height = _size(svg)
    if len(svg) > _LARGEST:
        raise ArgumentError(
            f"Cannot write a .{kind} file: the drawing has {len(svg):,} characters of SVG, too many to render.",
            expected=f"at most {_LARGEST:,}",
            fix="write .html, where boxes can be closed, or .svg.",
        )
    if kind == "pdf":
        svg, width, height = _on_a_page(svg, width, height)
    elif max(width, height) > _LONGEST_SIDE or width * height > _MOST_PIXELS:
        raise ArgumentError(
            f"Cannot write a .png file of {width:,.0f} x {height:,.0f} pixels: it is too large.",
            expected=f"at most {_LONGEST_SIDE:,} pixels per side, and {_MOST_PIXELS // 1_000_000} million in total",
            fix="pass a smaller scale=, fold the picture with columns=, or write .svg or .pdf.",
        )
    check_converter(f".{kind}")
    failed = []
    for name, run in _converters().items():
        try:
            content = run(svg, kind, width, height)
        except Exception as error:  # noqa: BLE001  # foreign code; another converter may work
            failed.append(f"{name}: {_reason(error)}")
            continue
        problem = _problem(content, kind, width, height)
        if problem is None:
            return content
        failed.append(f"{name}: {problem}")
    raise ArgumentError(
        f"Cannot write a .{kind} file: the installed converters failed.", found="; ".join(failed), fix=_INSTALL
    )


def _size(svg: str) -> tuple[float, float]:
    found = re.match(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"', svg)
    if found is None:
        raise ValueError("this SVG was not written by ramet")
    return float(found[1]), float(found[2])


def _on_a_page(svg: str, width: float, height: float) -> tuple[str, float, float]:
    """Return the SVG, scaled down if no PDF reader would open a page of its size. A pixel is 3/4 of a point."""
    factor = min(1.0, _LONGEST_PAGE / (0.75 * max(width, height)))
    if factor == 1.0:
        return svg, width, height
    smaller = f'width="{width * factor:.1f}" height="{height * factor:.1f}"'
    return re.sub(r'width="[\d.]+" height="[\d.]+"', smaller, svg, count=1), width * factor, height * factor


def _problem(content: bytes, kind: Format, width: float, height: float) -> str | None:
    """Return what is wrong with a file that a converter wrote without an error: browsers crop images that are too large."""
    if kind == "pdf":
        return None if content.startswith(b"%PDF-") else "the result is no PDF"
    if not content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "the result is no PNG"
    is_width, is_height = struct.unpack(">II", content[16:24])
    if abs(is_width - width) <= 2 and abs(is_height - height) <= 2:
        return None
    return f"the result has {is_width} x {is_height} pixels instead of {width:.0f} x {height:.0f}"


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        lines = (error.stderr or b"").decode(errors="replace").strip().splitlines()
        return f"exit code {error.returncode}{f', {lines[-1]}' if lines else ''}"
    return f"{type(error).__name__}: {error}"[:300]


# Commands of ramet limit their memory. Browsers reserve much more than they use, so converters run without the limit.
_UNLIMITED = ["/bin/sh", "-c", 'ulimit -S -v unlimited; exec "$@"', "sh"] if os.name == "posix" else []
_Convert: TypeAlias = Callable[[str, Format, float, float], bytes]


def _converters() -> dict[str, _Convert]:
    """Return the installed converters by name, the best first."""
    found: dict[str, _Convert] = {}
    if _cairosvg() is not None:
        found["cairosvg"] = _convert_with_cairosvg
    programs = {"rsvg-convert": ("rsvg-convert",), "inkscape": ("inkscape",), "browser": _BROWSERS}
    for name, commands in programs.items():
        program = _find(name, commands)
        if program is not None:
            found[Path(program).stem if name == "browser" else name] = partial(_convert_with_program, name, program)
    return found


def _find(name: str, commands: Sequence[str]) -> str | None:
    """Return the path of the first installed program."""
    for program in filter(None, map(shutil.which, commands)):
        # Windows looks in the current folder first, and the program there may have been downloaded together with a model.
        if Path(program).is_absolute():
            return program
    folders = (
        ["/Applications", str(Path("~/Applications").expanduser())]
        if sys.platform == "darwin"
        else [os.environ[variable] for variable in _PROGRAM_FOLDERS if variable in os.environ]
    )
    files = (Path(folder, place) for place in _PLACES.get(sys.platform, {}).get(name, ()) for folder in folders)
    return next((str(file) for file in files if file.is_file()), None)


def _cairosvg() -> Any:
    try:
        return importlib.import_module("cairosvg")
    except (ImportError, OSError):  # an OSError if the package is installed, but libcairo is not
        return None


def _convert_with_cairosvg(svg: str, kind: Format, width: float, height: float) -> bytes:
    # Lone surrogates are escaped already, and nothing is loaded, because the SVG has no links.
    content: bytes = getattr(_cairosvg(), f"svg2{kind}")(bytestring=svg.encode())
    return content


def _convert_with_program(name: str, program: str, svg: str, kind: Format, width: float, height: float) -> bytes:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        source, target = Path(folder, "picture.svg"), Path(folder, f"picture.{kind}")
        source.write_text(svg, encoding="utf-8")
        if name == "rsvg-convert":
            command = [f"--format={kind}", "--dpi-x=96", "--dpi-y=96", "--unlimited", f"--output={target}", str(source)]
        elif name == "inkscape":
            command = [str(source), f"--export-type={kind}", f"--export-filename={target}"]
        else:
            command = _browser_command(source, target, width, height)
        subprocess.run([*_UNLIMITED, program, *command], capture_output=True, check=True, timeout=_SECONDS)
        return target.read_bytes()


def _browser_command(source: Path, target: Path, width: float, height: float) -> list[str]:
    """Write a page around the SVG, because a browser puts an SVG of its own onto a page of standard size."""
    style = f"@page{{size:{width:.0f}px {height:.0f}px;margin:0}}body{{margin:0}}svg{{display:block}}"
    svg, page = source.read_text(encoding="utf-8"), source.with_suffix(".html")
    page.write_text(f'<!doctype html><meta charset="utf-8"><style>{style}</style><body>{svg}</body>', encoding="utf-8")
    command = ["--headless", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={source.parent}/profile"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # The sandbox of Chromium cannot start as root. The page has no script and no links.
        command.append("--no-sandbox")
    write = f"--screenshot={target}" if target.suffix == ".png" else f"--print-to-pdf={target}"
    return [*command, write, f"--window-size={width:.0f},{height:.0f}", "--no-pdf-header-footer", page.as_uri()]
