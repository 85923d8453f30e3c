"""Weights files that are read in a separate process: results, crashes, and limits on memory and time."""

import signal
import zipfile

import numpy as np
import pytest

from ramet._files import Limits, open_model_file, store
from ramet._files.store import ChildStore
from ramet.errors import HostileFileError, OutOfBudgetError
from tests.files.build import TINY, archive, sharded
from tests.support.platforms import linux, posix

pytestmark = [pytest.mark.no_backend, pytest.mark.isolated]

ENTRY = "model.weights.h5"
# The program of the separate process, with `listing` replaced by a function that does something else first.
PATCHED = """
import sys, json, time
sys.path[:] = json.loads(sys.argv[1])
from ramet._files import child
from ramet._files.h5 import H5File
original = H5File.listing
def listing(self):
    {first}
    return original(self)
H5File.listing = listing
child.main()
"""


def opened(tmp_path, limits=None):
    return ChildStore(archive(tmp_path / "m.keras"), ENTRY, limits or Limits())


def test_arrays_arrive_unchanged(tmp_path):
    arrays = {"layers/dense/vars/0": np.arange(8.0).reshape(4, 2), "layers/dense/vars/1": np.array([1, 2], "int8")}
    path = archive(tmp_path / "m.keras", TINY, arrays)

    with open_model_file(path) as file:
        read = {name: file.weights.read(name) for name in file.weights.paths()}

    assert np.array_equal(read["d/kernel"], arrays["layers/dense/vars/0"])
    assert (read["d/bias"].tolist(), read["d/bias"].dtype) == ([1, 2], np.int8)


def test_one_process_reads_all_shards(tmp_path, monkeypatch):
    shards = {f"m_{number:05}.weights.h5": {f"layers/d{number}/vars/0": [1.0]} for number in range(5)}
    path = sharded(tmp_path / "m.weights.json", shards)
    started = []
    start = ChildStore.__init__
    monkeypatch.setattr(ChildStore, "__init__", lambda self, *args: started.append(args) or start(self, *args))

    with open_model_file(path) as file:
        assert [float(file.weights.read(name)[0]) for name in file.weights] == [1.0] * 5

    assert len(started) == 1


def test_crash_of_the_process_is_reported(tmp_path):
    opened_store = opened(tmp_path)
    opened_store._child.kill()

    with pytest.raises(HostileFileError, match="crashed"):
        opened_store.listing()


@linux
def test_memory_of_the_process_is_limited(tmp_path):
    big = {"layers/dense/vars/0": np.zeros((2**10, 2**18), "uint8")}
    path = archive(tmp_path / "m.keras", TINY, big, compression=zipfile.ZIP_DEFLATED)

    with pytest.raises(OutOfBudgetError), open_model_file(path, Limits(memory=2**28)) as file:
        file.weights.read("d/0")


def test_process_that_computes_too_long_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_PROGRAM", PATCHED.format(first="while True: pass"))

    with pytest.raises(OutOfBudgetError, match="longer than is allowed"):
        opened(tmp_path, Limits(seconds=1)).listing()


def test_processor_time_of_all_answers_counts_together(tmp_path, monkeypatch):
    """Each answer alone stays below the limit of one second."""
    slow = "end = time.process_time() + 0.4\n    while time.process_time() < end: pass"
    monkeypatch.setattr(store, "_PROGRAM", PATCHED.format(first=slow))
    opened_store = opened(tmp_path, Limits(seconds=1))

    with pytest.raises(OutOfBudgetError, match="longer than is allowed"):  # noqa: PT012  # one of them is too many
        for _ in range(10):
            opened_store.listing()


@posix
def test_process_that_waits_for_a_busy_machine_is_not_ended(tmp_path, monkeypatch):
    """Time in which the process does not run is not the file's fault."""
    monkeypatch.setattr(store, "_PROGRAM", PATCHED.format(first="time.sleep(1.5)"))
    opened_store = opened(tmp_path, Limits(seconds=1))

    assert set(opened_store.listing().arrays) == {"layers/dense/vars/0", "layers/dense/vars/1"}


@posix
def test_process_that_never_answers_is_ended(tmp_path):
    opened_store = opened(tmp_path)
    opened_store._patience = 1
    opened_store._child.send_signal(signal.SIGSTOP)

    with pytest.raises(OutOfBudgetError, match="longer than is allowed"):
        opened_store.listing()


def test_patience_covers_all_answers_together(tmp_path):
    opened_store = opened(tmp_path)
    opened_store.listing()
    before = opened_store._patience
    opened_store.listing()

    assert opened_store._patience < before
    opened_store._patience = 0
    with pytest.raises(OutOfBudgetError, match="longer than is allowed"):
        opened_store.listing()


@pytest.fixture
def without_limits(monkeypatch):
    """Let neither this process nor the one that reads files have the limits of POSIX, as on Windows."""
    monkeypatch.setattr(store, "ENFORCES_PROCESSOR_TIME", False)
    monkeypatch.setattr(store, "_PATIENCE", 1)
    monkeypatch.delattr(signal, "SIGXCPU", raising=False)
    program = "import sys, signal; sys.modules['resource'] = None; vars(signal).pop('SIGXCPU', None)\n"
    monkeypatch.setattr(store, "_PROGRAM", program + store._PROGRAM)
    return program


def test_weights_are_read_without_the_limits_of_posix(tmp_path, without_limits):
    assert set(opened(tmp_path).listing().arrays) == {"layers/dense/vars/0", "layers/dense/vars/1"}


def test_time_on_the_clock_is_limited_without_the_limits_of_posix(tmp_path, monkeypatch, without_limits):
    monkeypatch.setattr(store, "_PROGRAM", without_limits + PATCHED.format(first="while True: pass"))

    with pytest.raises(OutOfBudgetError, match="longer than is allowed"):
        opened(tmp_path, Limits(seconds=2)).listing()


def test_process_that_ends_early_is_not_late_without_the_limits_of_posix(tmp_path, monkeypatch, without_limits):
    monkeypatch.setattr(store, "_PROGRAM", without_limits + PATCHED.format(first="import os; os._exit(0)"))

    with pytest.raises(HostileFileError, match="crashed"):
        opened(tmp_path).listing()
