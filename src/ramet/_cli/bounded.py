"""Limits on memory and processor time for reading files, which depend on the size of the files.

Readers count what they build from a file and stop at their own limits. These limits catch what the readers do not count.
"""

from __future__ import annotations

import _thread
import contextlib
import glob
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from ramet._files import Limits
from ramet._report import count, escape
from ramet.errors import OutOfBudgetError

_FIX = "treat the file as broken or hostile; if you trust it, read it in Python with ramet's functions."
# Seconds of processor time after which a command that did not stop is interrupted again.
_AGAIN = 0.2


class _OutOfTime(BaseException):
    """Raised at any point of the program. It is not an `Exception`, so that readers do not catch it."""


@contextlib.contextmanager
def bounded(paths: Sequence[Path]) -> Iterator[None]:
    """Limit memory and processor time inside the block to what valid files of this size could need."""
    # Numeric libraries reserve memory for each thread, gigabytes on large machines.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    allowed = Limits().within(sum(map(_size, paths)))
    names = ", ".join(f"'{escape(path.name)}'" for path in paths)
    try:
        with _memory(allowed.memory), _time(allowed.seconds):
            yield
    except (_OutOfTime, SystemError) as error:
        # Inside a library that does not expect an exception, Python raises a SystemError instead.
        if isinstance(error, SystemError) and not isinstance(error.__cause__, _OutOfTime):
            raise
        needed = f"{count(allowed.seconds, 'second')} of processor time"
    except MemoryError:
        needed = f"{allowed.memory:,} bytes of memory"
    else:
        return
    raise OutOfBudgetError(f"Cannot read {names}: it takes more than {needed}.", fix=_FIX) from None


def _size(path: Path) -> int:
    try:
        if path.is_dir():
            return sum(item.stat().st_size for item in path.rglob("*") if item.is_file())
        # Shards are in the same folder as their map.
        shards = path.parent.glob(glob.escape(path.name.removesuffix(".weights.json")) + "_*.weights.h5")
        beside = shards if path.name.endswith(".weights.json") else ()
        return path.stat().st_size + sum(item.stat().st_size for item in beside)
    except OSError:  # the reader reports the problem
        return 0


@contextlib.contextmanager
def _memory(most: int) -> Iterator[None]:
    try:
        import resource

        # The memory in use already. Only Linux reports it, and only Linux enforces this limit.
        taken = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    soft = taken + most
    if before[0] != resource.RLIM_INFINITY:
        soft = min(soft, before[0])
    resource.setrlimit(resource.RLIMIT_AS, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextlib.contextmanager
def _time(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _timer(seconds) if hasattr(signal, "setitimer") else _watch(seconds):
        yield


@contextlib.contextmanager
def _timer(seconds: float) -> Iterator[None]:
    """Let the system send a signal after so many seconds of processor time."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _OutOfTime

    before = signal.signal(signal.SIGPROF, stop)
    # Repeatedly, because the first may be raised where every exception is caught.
    signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def _watch(seconds: float) -> Iterator[None]:
    """Do the same on Windows, where no timer sends signals: a thread looks at the clock, and imitates Ctrl-C.

    It has to wait for functions in C that keep other threads from running, which a signal of the system does not.
    """
    end = time.process_time() + seconds
    is_late, is_over = threading.Event(), threading.Event()

    def watch() -> None:
        while not is_over.wait(_AGAIN):
            if time.process_time() >= end:
                is_late.set()
                _thread.interrupt_main()

    def stop(number: int, frame: FrameType | None) -> None:
        if not is_late.is_set():
            signal.default_int_handler(number, frame)
        elif not is_over.is_set():
            raise _OutOfTime

    before = signal.signal(signal.SIGINT, stop)
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
