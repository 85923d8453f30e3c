"""Weights files: read in a process of their own, or, when the file is trusted, in this one."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from ramet import errors
from ramet._files.limits import Limits
from ramet._files.listing import ArraySpec, Listing, from_record
from ramet._files.problem import HostileFileError, ModelFileError, OutOfBudgetError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ChildStore", "LocalStore", "Store"]

# Plugins are libraries that HDF5 would look for and load to unpack an array; "::" turns that off.
_ENVIRONMENT = {"HDF5_PLUGIN_PRELOAD": "::", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_BYTES_PER_SECOND = 2**24
_PROGRAM = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from ramet._files.child import main; main()"


class Store(Protocol):
    """An HDF5 file."""

    def listing(self) -> Listing:
        """Groups and arrays, without their numbers."""

    def read(self, path: str) -> np.ndarray[Any, Any]:
        """An array, by its path in the file."""

    def close(self) -> None:
        """Let go of the file."""


class LocalStore:
    """Reads in this process: for files that are trusted."""

    def __init__(self, file: IO[bytes], limits: Limits) -> None:
        from ramet._files.h5 import H5File

        self._source = file
        try:
            self._file = H5File(file, limits)
        except ModelFileError:
            file.close()
            raise

    def listing(self) -> Listing:
        """Groups and arrays, without their numbers."""
        return self._file.listing()

    def read(self, path: str) -> np.ndarray[Any, Any]:
        """An array, by its path in the file."""
        spec, array = self._file.read(path)
        return _typed(array, spec)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._source.close()


class ChildStore:
    """Reads in a process of its own, which may crash, be slow or need much memory without harm to this one."""

    def __init__(self, path: Path, entry: str, limits: Limits) -> None:
        command = [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path)]
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ENVIRONMENT},
        )
        self._seconds = float(limits.seconds)
        self._is_late = False
        self._end = weakref.finalize(self, _stop, self._child)
        self._send({"path": str(path.absolute()), "entry": entry, "limits": asdict(limits)})
        # The process takes a while to start, and whether it could open the file is asked for when something is read.
        self._opened = False

    def listing(self) -> Listing:
        """Groups and arrays, without their numbers."""
        return from_record(self._ask({"read": None})["listing"])

    def read(self, path: str) -> np.ndarray[Any, Any]:
        """An array, by its path in the file."""
        import numpy as np

        answer = self._ask({"read": path})
        data = bytearray(answer["size"])
        self._seconds += len(data) / _BYTES_PER_SECOND
        with self._deadline():
            # A buffered reader fills all of it, unless the process ends before.
            if self._answers.readinto(data) != len(data):
                raise self._crashed()
        array = np.frombuffer(data, np.dtype(answer["kind"])).reshape(answer["shape"])
        return _typed(array, ArraySpec(tuple(answer["shape"]), answer["dtype"]))

    def open(self, entry: str) -> None:
        """Continue with another file of the same container."""
        self._ask({"open": entry})

    def close(self) -> None:
        """End the process."""
        self._end()

    @property
    def _answers(self) -> io.BufferedReader:
        return cast("io.BufferedReader", self._child.stdout)

    def _ask(self, request: dict[str, Any]) -> Any:
        if not self._opened:
            seconds = self._seconds
            try:
                self._answer()
            except ModelFileError:
                self.close()
                raise
            self._opened = True
            self._seconds = seconds  # to start a process may take long, and is not the file's fault
        self._send(request)
        return self._answer()

    def _send(self, request: dict[str, Any]) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(request).encode("ascii") + b"\n")
            self._child.stdin.flush()
        except (OSError, ValueError):
            raise self._crashed() from None

    def _answer(self) -> Any:
        with self._deadline():
            try:
                line = self._answers.readline()
            except (OSError, ValueError):
                raise self._crashed() from None
        if not line.endswith(b"\n"):
            raise self._crashed()
        answer = json.loads(line)
        if "error" in answer:
            raise getattr(errors, answer["class"])(answer["error"].pop("summary"), **answer["error"])
        return answer

    @contextlib.contextmanager
    def _deadline(self) -> Iterator[None]:
        """Kill the process when the time for all its answers is spent: HDF5 loops forever on some broken files."""
        if self._seconds <= 0:
            self._stop_late()
            raise self._crashed()
        timer = threading.Timer(self._seconds, self._stop_late)
        timer.daemon = True
        timer.start()
        start = time.monotonic()
        try:
            yield
        finally:
            timer.cancel()
            self._seconds -= time.monotonic() - start

    def _stop_late(self) -> None:
        self._is_late = True
        self._child.kill()

    def _crashed(self) -> ModelFileError:
        self.close()
        if self._is_late or self._child.returncode == -getattr(signal, "SIGXCPU", 0):
            return OutOfBudgetError(
                "Cannot read the weights: that takes longer than weights of their size may.",
                fix="treat the file as broken, or as an attack.",
            )
        return HostileFileError(
            "Cannot read the weights: the HDF5 library crashed on them.",
            found=f"the process that read them ended with {self._child.returncode}",
            fix="treat the file as broken, or as an attack.",
        )


def _stop(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:  # what was still to be written has no reader any more
                continue
    child.kill()
    child.wait()


def _typed(array: Any, spec: ArraySpec) -> np.ndarray[Any, Any]:
    """The array with its own dtype: numpy knows bfloat16 by a library that Keras brings along."""
    import numpy as np

    found = np.asarray(array)
    if spec.dtype != "bfloat16":
        return found
    import ml_dtypes

    return found.view(ml_dtypes.bfloat16)
