"""Private copies of files to load, which nobody else can change, and the error for a file that is not safe."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ramet._files.container import check_readable
from ramet._files.scanner import Finding
from ramet._report import escape, joined
from ramet.errors import ModelFileError, UnsafeFileError


@contextlib.contextmanager
def private_copy(path: Path) -> Iterator[Path]:
    """Yield a copy of a file or folder, with the same name, in a private folder: the scanned file is the loaded file."""
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
                f"Cannot load '{escape(str(path))}': it could not be copied to '{folder}' for scanning and loading.",
                found=escape(str(reason)),
                fix="free some space there, or set TMPDIR to a folder with enough space.",
                path=str(path),
            ) from None
        yield target


def unsafe_file(path: Path, findings: Sequence[Finding], fix: str) -> UnsafeFileError:
    """Return the error for a file with findings, of which the worst is the first."""
    return UnsafeFileError(
        f"Cannot load '{escape(path.name)}': it is not known to be safe.",
        found=joined([escape(finding.what) for finding in findings], 1),
        fix=fix,
        path=findings[0].path or findings[0].place,
    )
