"""Private copies of files to load, which nobody else can change, and the error about a file that is not safe."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ramet._files.container import check_readable
from ramet._files.scan import Finding
from ramet._graph import escape
from ramet.errors import ModelFileError, UnsafeFileError

__all__ = ["private_copy", "unsafe_file"]


@contextlib.contextmanager
def private_copy(path: Path) -> Iterator[Path]:
    """Yield a copy of a file or folder, with the same name, in a private folder: what is scanned is what is loaded."""
    check_readable(path)
    with tempfile.TemporaryDirectory(prefix="ramet-") as folder:
        target = Path(folder) / path.name
        try:
            if path.is_dir():
                shutil.copytree(path, target, symlinks=True)
            else:
                shutil.copyfile(path, target)
        except (OSError, shutil.Error) as error:
            reason = getattr(error, "strerror", None) or str(error).partition("\n")[0][:200]
            raise ModelFileError(
                f"Cannot load '{escape(str(path))}': it could not be copied to '{folder}', where it is scanned and loaded.",
                found=escape(str(reason)),
                fix="make room there, or point TMPDIR to where there is.",
                path=str(path),
            ) from None
        yield target


def unsafe_file(path: Path, findings: Sequence[Finding], fix: str) -> UnsafeFileError:
    """Return the error about a file with findings.

    Args:
        path: The path of the file.
        findings: At least one, the worst first.
        fix: What the user can do.
    """
    more = f" and {len(findings) - 1} more" if len(findings) > 1 else ""
    return UnsafeFileError(
        f"Cannot load '{escape(path.name)}': it is not known to be safe.",
        found=f"{escape(findings[0].what)}{more}",
        fix=fix,
        path=findings[0].path or findings[0].place,
    )
