"""Output files: written beside, then renamed, so that the old file or the new one is there, and never half of one."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from ramet._cli.terminal import one_line
from ramet.errors import ArgumentError, ModelFileError

__all__ = ["check_target", "written_beside"]


def check_target(path: Path, *endings: str) -> None:
    """Refuse, before any work is done, a file that could not be written in the end.

    Args:
        path: Of the file.
        endings: What its name may end in.
    """
    if path.suffix.lower() not in endings:
        raise ArgumentError(
            f"Cannot write '{path}': the file extension is not supported.",
            expected=f"a name that ends in {' or '.join(filter(None, [', '.join(endings[:-1]), endings[-1]]))}",
            fix=f"write to '{path.with_suffix(endings[0]).name}'." if path.stem else "give it a name.",
        )
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise ModelFileError(
            f"Cannot write '{path}': there is no folder '{folder}'.",
            fix=f"make it: mkdir -p '{folder}'.",
            path=str(path),
        )
    if not os.access(folder, os.W_OK):
        raise ModelFileError(f"Cannot write '{path}': the folder '{folder}' is not writable.", path=str(path))
    if path.exists() and not path.is_file():
        raise ModelFileError(
            f"Cannot write '{path}': something that is no file stands there.", fix="give another name.", path=str(path)
        )


@contextlib.contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """A file to write in the place of `path`, which it replaces at the end of the block, if nothing failed.

    It is removed whatever ends the block: an error, Ctrl-C, or the signal to terminate.
    """
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem[:100]}.", suffix=target.suffix)
    os.close(handle)
    beside = Path(name)
    try:
        with _ended_by_signal():
            yield beside
            beside.chmod(_mode_of(target))
            _flush(beside)
            beside.replace(target)
    except OSError as error:
        reason = one_line(error.strerror or str(error))
        raise ModelFileError(f"Cannot write '{path}': {reason}.", path=str(path)) from error
    finally:
        beside.unlink(missing_ok=True)


def _mode_of(target: Path) -> int:
    """The rights of the file that is replaced, or those of any new file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _flush(path: Path) -> None:
    """Have the bytes on the disk before the name is: a machine that stops in between keeps the old file."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


@contextlib.contextmanager
def _ended_by_signal() -> Iterator[None]:
    """Let SIGTERM end the block as an exception would, so that it cleans up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
