"""Weights files, opened: in a separate process or, if the file is trusted, in this one."""

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
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ramet import errors
from ramet._files.child import BYTES_PER_SECOND, ENFORCES_PROCESSOR_TIME
from ramet._files.container import Container
from ramet._files.formats import FileFormat, WeightsReader
from ramet._files.formats.shards import ShardedStore, ShardMap, is_shard_map, read_shard_map
from ramet._files.limits import Limits
from ramet._files.listing import Listing
from ramet.errors import HostileFileError, ModelFileError, OutOfBudgetError

if TYPE_CHECKING:
    import numpy as np

# Plugins are libraries that HDF5 would search for and load to unpack an array; "::" turns that off.
_ENVIRONMENT = {"HDF5_PLUGIN_PRELOAD": "::", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_PROGRAM = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from ramet._files.child import main; main()"
# The system ends the process when its processor time is used up. It is given many times as long on the wall clock, as
# the machine may be busy with other things; only where nobody counts processor time, the clock must do.
_PATIENCE = 20 if ENFORCES_PROCESSOR_TIME else 1


class ChildStore:
    """A weights file that is read in a separate process, which may crash or exceed its limits without harm to this one."""

    def __init__(self, path: Path, entry: str, limits: Limits) -> None:
        command = [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path)]
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ENVIRONMENT},
        )
        self._patience = float(_PATIENCE * limits.seconds)
        self._is_late = False
        self._end = weakref.finalize(self, _stop, self._child)
        self._send({"path": str(path.absolute()), "entry": entry, "limits": asdict(limits)})
        # The process takes a while to start. Its first answer, whether it could open the file, is read when needed.
        self._opened = False

    def listing(self) -> Listing:
        """Return the groups and arrays, without their values."""
        return Listing.from_data(self._ask({"read": None})["listing"])

    def read(self, path: str) -> np.ndarray[Any, Any]:
        """Return an array by its path in the file."""
        import numpy as np

        answer = self._ask({"read": path})
        data = bytearray(answer["size"])
        self._patience += _PATIENCE * len(data) / BYTES_PER_SECOND
        with self._deadline():
            # A buffered reader fills the whole buffer, unless the process ends first.
            if self._answers.readinto(data) != len(data):
                raise self._crashed()
        return np.frombuffer(data, np.dtype(answer["dtype"])).reshape(answer["shape"])

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
            patience = self._patience
            try:
                self._answer()
            except ModelFileError:
                self.close()
                raise
            self._opened = True
            self._patience = patience  # starting a process may take long, which is not the file's fault
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
        """Kill the process when the patience for all its answers together is used up."""
        if self._patience <= 0:
            self._stop_late()
            raise self._crashed()
        timer = threading.Timer(self._patience, self._stop_late)
        timer.daemon = True
        timer.start()
        start = time.monotonic()
        try:
            yield
        finally:
            timer.cancel()
            self._patience -= time.monotonic() - start

    def _stop_late(self) -> None:
        self._is_late = True
        self._child.kill()

    def _crashed(self) -> ModelFileError:
        self.close()
        # A signal that ends a process is its exit code, negated; Windows has none.
        if self._is_late or (ENFORCES_PROCESSOR_TIME and self._child.returncode == -signal.SIGXCPU):
            return OutOfBudgetError(
                "Cannot read the weights: that takes longer than is allowed for weights of this size.",
                fix="treat the file as broken, or as an attack.",
            )
        return HostileFileError(
            "Cannot read the weights: the HDF5 library crashed.",
            found=f"the process that read them ended with {self._child.returncode}",
            fix="treat the file as broken, or as an attack.",
        )


def _stop(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:  # the rest of the request has no reader any more
                continue
    child.kill()
    child.wait()


@dataclass(eq=False)
class WeightsFile:
    """The weights of a model, not opened yet.

    Attributes:
        path: The path of the archive, the folder or the single file.
        entry: The name of the entry with the weights, or with the map of their shards.
        container: The container of the entry.
        file_format: The format of the container.
        isolated: Whether the weights are read in a separate process.
    """

    path: Path
    entry: str
    container: Container
    file_format: FileFormat
    isolated: bool = field(kw_only=True)

    @classmethod
    def find(cls, path: Path, container: Container, file_format: FileFormat, *, isolated: bool) -> WeightsFile | None:
        """Return the weights in a container, or None for a model without weights."""
        entry = file_format.weights(path.name, {entry.name for entry in container.entries})
        return None if entry is None else cls(path, entry, container, file_format, isolated=isolated)

    @property
    def shards(self) -> tuple[str, ...]:
        """The names of the shards; none for weights in a single file."""
        return () if self._map is None else self._map.shards

    def open(self) -> WeightsReader:
        """Open the weights."""
        if self._map is None:
            return self._open_entry(self.entry)
        return ShardedStore(self._map, self._open_entry, self.container.limits.objects)

    def entry_of(self, path: str, store: WeightsReader) -> str:
        """Return the name of the file that contains an array: the weights file, or a shard."""
        return store.holder(path) if isinstance(store, ShardedStore) else self.entry

    @cached_property
    def _map(self) -> ShardMap | None:
        limits = self.container.limits
        if not is_shard_map(self.entry):
            return None
        return read_shard_map(self.container.read(self.entry, limits.text_size), self.entry, limits)

    def _open_entry(self, entry: str, before: WeightsReader | None = None) -> WeightsReader:
        """Open a weights file in place of another: one process reads all shards."""
        if isinstance(before, ChildStore):
            before.open(entry)
            return before
        if before is not None:
            before.close()
        if self.isolated:
            return ChildStore(self.path, entry, self.container.limits)
        return self.file_format.reader(self.container.open(entry), self.container.limits)
