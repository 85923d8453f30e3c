"""PNG and PDF from an SVG, by whichever converter is installed: CairoSVG, rsvg-convert, Inkscape or Chromium.

None of them is a dependency: a picture is an SVG first, and whoever needs pixels usually has one of the four already.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ramet.errors import ArgumentError

__all__ = ["Format", "check_converter", "convert"]

Format: TypeAlias = Literal["png", "pdf"]

# Cairo draws no larger image, and most viewers show none.
_LONGEST_SIDE = 32_767
_MOST_PIXELS = 250_000_000
# Readers of PDF stop at 200 inches.
_LONGEST_PAGE = 14_400.0
_SECONDS = 60
# Drawings of thousands of crossing lines take minutes to paint, and nobody can read them.
_LARGEST = 8 * 2**20
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_INSTALL = "install one, for example: pip install cairosvg; or write .svg, which any of them and most editors can read."


def check_converter(kind: Format) -> None:
    """Refuse, before any work is done, what no installed converter could write."""
    if not _converters():
        raise ArgumentError(
            f"Cannot write a .{kind} file: no converter from SVG is installed.",
            expected="the Python package cairosvg, or rsvg-convert, inkscape or chromium on the PATH",
            fix=_INSTALL,
        )


def convert(svg: str, kind: Format) -> bytes:
    """The content of a PNG or PDF file that shows the SVG.

    Args:
        svg: with its width and height in pixels.
        kind: "png" or "pdf".

    Raises:
        ArgumentError: no converter is installed, none could do it, or an image would be too large.
    """
    width, height = _size(svg)
    if len(svg) > _LARGEST:
        raise ArgumentError(
            f"Cannot write a .{kind} file: the drawing has {len(svg):,} characters of SVG, too many to paint.",
            expected=f"at most {_LARGEST:,}",
            fix="write .html, where groups can be folded, or .svg.",
        )
    if kind == "png":
        _check_size(width, height)
    else:
        svg, width, height = _on_a_page(svg, width, height)
    check_converter(kind)
    failed = []
    for name, make in _converters().items():
        try:
            made = make(svg, kind, width, height)
        except Exception as error:  # noqa: BLE001  # foreign code; there may be another converter
            failed.append(f"{name}: {_reason(error)}")
            continue
        problem = _problem(made, kind, width, height)
        if problem is None:
            return made
        failed.append(f"{name}: {problem}")
    raise ArgumentError(
        f"Cannot write a .{kind} file: the installed converters failed.", found="; ".join(failed), fix=_INSTALL
    )


def _size(svg: str) -> tuple[float, float]:
    found = re.match(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"', svg)
    if found is None:
        raise ValueError("an SVG that ramet did not make")
    return float(found[1]), float(found[2])


def _check_size(width: float, height: float) -> None:
    if max(width, height) <= _LONGEST_SIDE and width * height <= _MOST_PIXELS:
        return
    raise ArgumentError(
        f"Cannot write a .png file of {width:,.0f} x {height:,.0f} pixels: that is too large.",
        expected=f"at most {_LONGEST_SIDE:,} pixels a side, and {_MOST_PIXELS // 1_000_000} million in all",
        fix="pass a smaller scale=, fold the picture with columns=, or write .svg or .pdf.",
    )


def _on_a_page(svg: str, width: float, height: float) -> tuple[str, float, float]:
    """The SVG, made smaller where no reader would open a page of its size. A pixel is 3/4 of a point."""
    factor = min(1.0, _LONGEST_PAGE / (0.75 * max(width, height)))
    if factor == 1.0:
        return svg, width, height
    smaller = f'width="{width * factor:.1f}" height="{height * factor:.1f}"'
    return re.sub(r'width="[\d.]+" height="[\d.]+"', smaller, svg, count=1), width * factor, height * factor


def _problem(made: bytes, kind: Format, width: float, height: float) -> str | None:
    """What is wrong with a file that a converter made without complaint; browsers cut off what is too large for them."""
    if kind == "pdf":
        return None if made.startswith(b"%PDF-") else "it wrote no PDF"
    if not made.startswith(b"\x89PNG\r\n\x1a\n"):
        return "it wrote no PNG"
    is_width, is_height = struct.unpack(">II", made[16:24])
    if abs(is_width - width) <= 2 and abs(is_height - height) <= 2:
        return None
    return f"it wrote {is_width} x {is_height} pixels instead of {width:.0f} x {height:.0f}"


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        lines = (error.stderr or b"").decode(errors="replace").strip().splitlines()
        return f"exit code {error.returncode}{f', {lines[-1]}' if lines else ''}"
    return f"{type(error).__name__}: {error}"[:300]


# A command that reads a file has a limit of memory. Browsers reserve much more than they use, and are started without it.
_FREE = ["/bin/sh", "-c", 'ulimit -S -v unlimited; exec "$@"', "sh"] if os.name == "posix" else []
_Make: TypeAlias = Callable[[str, Format, float, float], bytes]


def _converters() -> dict[str, _Make]:
    """What is installed, the best first."""
    found: dict[str, _Make] = {}
    if _cairosvg() is not None:
        found["cairosvg"] = _by_cairosvg
    for program in ("rsvg-convert", "inkscape"):
        where = shutil.which(program)
        if where is not None:
            found[program] = _by_rsvg(where) if program == "rsvg-convert" else _by_inkscape(where)
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is not None:
        found[Path(browser).name] = _by_browser(browser)
    return found


def _cairosvg() -> Any:
    if importlib.util.find_spec("cairosvg") is None:
        return None
    try:
        return importlib.import_module("cairosvg")
    except (ImportError, OSError):
        # The package is there, but libcairo is not.
        return None


def _by_cairosvg(svg: str, kind: Format, width: float, height: float) -> bytes:
    # With lone surrogates already written as escapes; nothing is fetched, because nothing has an address.
    made: bytes = getattr(_cairosvg(), f"svg2{kind}")(bytestring=svg.encode())
    return made


def _by_rsvg(program: str) -> _Make:
    def make(svg: str, kind: Format, width: float, height: float) -> bytes:
        command = [program, f"--format={kind}", "--dpi-x=96", "--dpi-y=96", "--unlimited"]
        done = subprocess.run([*_FREE, *command], input=svg.encode(), capture_output=True, check=True, timeout=_SECONDS)
        return done.stdout

    return make


def _by_inkscape(program: str) -> _Make:
    def make(svg: str, kind: Format, width: float, height: float) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "picture.svg"), Path(folder, f"picture.{kind}")
            source.write_text(svg, encoding="utf-8")
            command = [program, str(source), f"--export-type={kind}", f"--export-filename={target}"]
            subprocess.run([*_FREE, *command], capture_output=True, check=True, timeout=_SECONDS)
            return target.read_bytes()

    return make


def _by_browser(program: str) -> _Make:
    def make(svg: str, kind: Format, width: float, height: float) -> bytes:
        pixels = f"{width:.0f},{height:.0f}"
        style = f"@page{{size:{width:.0f}px {height:.0f}px;margin:0}}body{{margin:0}}svg{{display:block}}"
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "picture.html"), Path(folder, f"picture.{kind}")
            source.write_text(
                f'<!doctype html><meta charset="utf-8"><style>{style}</style><body>{svg}</body>', encoding="utf-8"
            )
            command = [program, "--headless", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile"]
            if hasattr(os, "geteuid") and os.geteuid() == 0:
                # Chromium's own sandbox cannot start as root. The page has no script and no address.
                command.append("--no-sandbox")
            write = f"--screenshot={target}" if kind == "png" else f"--print-to-pdf={target}"
            command += [write, f"--window-size={pixels}", "--no-pdf-header-footer", source.as_uri()]
            subprocess.run([*_FREE, *command], capture_output=True, check=True, timeout=_SECONDS)
            return target.read_bytes()

    return make
