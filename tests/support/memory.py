"""Keep a test run within the memory of a laptop, and print how much it used."""

import contextlib
import ctypes
import gc
import os
import sys
from pathlib import Path
from unittest import mock

import keras
import pytest

# GB that each process of a run may use. A laptop with 8 GB runs two of them, and a browser.
LIMIT = 3.0
# JAX's caches are emptied before a test if the process uses more than this, and again after this much growth (GB).
ENOUGH = 2.1
GROWTH = 0.4
GIGABYTE = 1024**3

# Peaks by process. In a run with several processes, the controller collects them from its workers.
_PEAKS: dict[str, tuple[float, float]] = {}


_left = 0.0


def free_compiled_programs() -> None:
    """Empty JAX's caches if the process has grown large; needed programs are read again from the cache on disk.

    JAX keeps every program it ever compiled. In one process, `tests/edit` alone used 4 GB for them.
    """
    global _left  # noqa: PLW0603
    jax = sys.modules.get("jax")
    if jax is None or resident() < max(ENOUGH, _left + GROWTH):
        return
    gc.unfreeze()
    jax.clear_caches()
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    gc.freeze()
    _left = resident()


def resident() -> float:
    """Return the current memory of this process in GB, or its peak if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    except OSError:
        return peak()
    return pages * os.sysconf("SC_PAGE_SIZE") / GIGABYTE


def peak() -> float:
    """Return the peak memory of this process in GB, or 0 if the system does not report it."""
    try:
        # Not ru_maxrss: on Linux it includes the memory of the parent process at the start of this one.
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return _max_resident("RUSAGE_SELF")
    return next(
        (int(line.split()[1]) / 1024**2 for line in lines if line.startswith("VmHWM")), _max_resident("RUSAGE_SELF")
    )


def _max_resident(who: str) -> float:
    try:
        import resource
    except ImportError:
        return 0.0
    found = resource.getrusage(getattr(resource, who)).ru_maxrss
    return found / (GIGABYTE if sys.platform == "darwin" else 1024**2)


def problems(peaks: dict[str, tuple[float, float]]) -> list[str]:
    """Return a sentence for each process that exceeded the limit."""
    return [
        f"{name}: the tests used {own:.1f} GB, more than {LIMIT:g} GB. Run the modules one by one and compare their 'peak memory'"
        " lines; use smaller models, or keep fewer of them in module fixtures."
        for name, (own, _) in sorted(peaks.items())
        if own > LIMIT
    ]


class MemoryReport:
    """A pytest plugin that prints the peak memory of each process, and fails the run if one exceeds the limit."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        measured = (peak(), _max_resident("RUSAGE_CHILDREN"))
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["memory"] = measured
            return
        if not _PEAKS:
            _PEAKS["this process"] = measured
        if problems(_PEAKS) and not _is_zoo(session.config) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node) -> None:
        memory = getattr(node, "workeroutput", {}).get("memory")
        if memory is not None:
            _PEAKS[node.gateway.id] = tuple(memory)

    def pytest_terminal_summary(self, terminalreporter, config: pytest.Config) -> None:
        peaks = [
            f"{name} {own:.2f} GB (largest subprocess: at most {child:.2f} GB)"
            for name, (own, child) in sorted(_PEAKS.items())
        ]
        if peaks:
            terminalreporter.write_line(f"peak memory: {', '.join(peaks)}")
        if not _is_zoo(config):
            for sentence in problems(_PEAKS):
                terminalreporter.write_line(sentence, red=True)


def _is_zoo(config: pytest.Config) -> bool:
    """Return whether the large architectures run, to which the limit does not apply."""
    chosen = config.getoption("markexpr")
    return "zoo" in chosen and "not zoo" not in chosen


def keep_kernels():
    """Let Keras reset names and seeds on TensorFlow without dropping the kernels of its ops.

    Resetting drops them, and recreating them for every test took a fifth of a run on TensorFlow.
    """
    if keras.backend.backend() != "tensorflow":
        return contextlib.nullcontext()
    from tensorflow.python import pywrap_tfe

    return mock.patch.object(pywrap_tfe, "TFE_ContextClearCaches")
