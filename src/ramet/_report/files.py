"""Files that are replaced atomically."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from ramet._report.words import escape
from ramet.errors import ModelFileError

# Seconds to wait before each further attempt to rename a file.
_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)


@contextlib.contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """Yield a file to write, which replaces `path` at the end of the block if nothing was raised.

    At any moment, `path` is the old file or the new one, never a partial one: the content is written to a file in the same
    folder, which is then renamed. That file is removed however the block ends: by an error, Ctrl-C, or SIGTERM. (On Windows,
    nothing runs in a process that another one ends, so the file stays there.)

    Raises:
        ModelFileError: The old file may not be replaced; on Windows, because a program has it open.
    """
    import tempfile  # slow: imports a dozen modules

    # A link stays a link: the file that it points to is replaced.
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem[:100]}.", suffix=target.suffix)
    os.close(handle)
    beside = Path(name)
    try:
        with _terminated_by_exception():
            yield beside
            with beside.open("rb+") as file:
                # The content before the name: a machine that stops in between keeps the old file.
                os.fsync(file.fileno())
            if os.name == "posix":
                # Windows knows only a flag for read-only files, which would keep the file from being renamed.
                beside.chmod(_mode_of(target))
            _rename(beside, target)
    finally:
        # Windows deletes no file that is open, which it may still be after an error; that error matters more.
        with contextlib.suppress(PermissionError):
            beside.unlink(missing_ok=True)


def _rename(beside: Path, target: Path) -> None:
    """Rename a file, in place of another one.

    Windows refuses this while a program has one of them open. Virus scanners and search indexes do so for a moment with
    every new file, which is why it is tried again.
    """
    for pause in (*_PAUSES, None):
        try:
            beside.replace(target)
        except PermissionError as error:
            if pause is None:
                raise ModelFileError(
                    f"Cannot write '{escape(str(target))}': {error.strerror}.",
                    fix="close the program that has the file open, or write to another name.",
                    path=str(target),
                ) from error
            time.sleep(pause)
        else:
            return


def _mode_of(target: Path) -> int:
    """Return the permissions of the file that is replaced, or of an ordinary new file, since `mkstemp` allows only the owner."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextlib.contextmanager
def _terminated_by_exception() -> Iterator[None]:
    """Let SIGTERM raise an exception inside the block, so that it cleans up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
