"""Files that are replaced atomically."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType


@contextlib.contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """Yield a file to write, which replaces `path` at the end of the block if nothing was raised.

    At any moment, `path` is the old file or the new one, never a partial one: the content is written to a file in the same
    folder, which is then renamed. That file is removed however the block ends: by an error, Ctrl-C, or SIGTERM.
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
            beside.chmod(_mode_of(target))
            with beside.open("rb+") as file:
                # The content before the name: a machine that stops in between keeps the old file.
                os.fsync(file.fileno())
            beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


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
