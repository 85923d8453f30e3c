"""Keep the memory of a test run below what a laptop has, and print how much it took."""

import contextlib
import ctypes
import gc
import os
import sys
from pathlib import Path
from unittest import mock

import keras
import pytest

# No process of a run may take more. A laptop with 8 GB runs two of them, and a browser beside them.
LIMIT = 3.0
# JAX's caches are emptied before a test that finds more than this, and again when so much has come on top of what was left.
ENOUGH = 2.1
GROWTH = 0.4
GIGABYTE = 1024**3

# The controller of a run in several processes fills it with what its workers report.
_PEAKS: dict[str, tuple[float, float]] = {}


_left = 0.0


def free_what_was_compiled() -> None:
    """Empty JAX's caches when the process has grown large; what is needed again is read from the cache on disk.

    JAX keeps every program it ever compiled. In one process, the tests of `tests/edit` alone came to 4 GB that way.
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
    """The memory this process holds now, in GB; its peak where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak()
    return pages * os.sysconf("SC_PAGE_SIZE") / GIGABYTE


def peak() -> float:
    """The most memory this process ever held, in GB; 0 where the system does not tell."""
    try:
        # Not ru_maxrss: on Linux it begins with what the parent process held when it started this one.
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return _largest("RUSAGE_SELF")
    return next((int(line.split()[1]) / 1024**2 for line in lines if line.startswith("VmHWM")), _largest("RUSAGE_SELF"))


def _largest(who: str) -> float:
    try:
        import resource
    except ImportError:
        return 0.0
    found = resource.getrusage(getattr(resource, who)).ru_maxrss
    return found / (GIGABYTE if sys.platform == "darwin" else 1024**2)


def problems(peaks: dict[str, tuple[float, float]]) -> list[str]:
    """A sentence for each process that took more than the limit."""
    return [
        f"{name}: the tests took {own:.1f} GB, more than {LIMIT:g} GB. Run the modules one by one and look at the line"
        " 'peak memory' of each; make smaller models, or hold fewer of them in module fixtures."
        for name, (own, _) in sorted(peaks.items())
        if own > LIMIT
    ]


class MemoryReport:
    """The pytest plugin that prints the peak of each process and fails a run in which one exceeds the limit."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        measured = (peak(), _largest("RUSAGE_CHILDREN"))
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
        shown = [
            f"{name} {own:.2f} GB (largest subprocess: at most {child:.2f} GB)"
            for name, (own, child) in sorted(_PEAKS.items())
        ]
        if shown:
            terminalreporter.write_line(f"peak memory: {', '.join(shown)}")
        if not _is_zoo(config):
            for sentence in problems(_PEAKS):
                terminalreporter.write_line(sentence, red=True)


def _is_zoo(config: pytest.Config) -> bool:
    """Whether the large architectures run, which need what they need."""
    chosen = config.getoption("markexpr")
    return "zoo" in chosen and "not zoo" not in chosen


def kernels_kept():
    """Let Keras reset names and seeds on TensorFlow without dropping the kernels of its ops.

    Both drop them, and a fifth of a run on TensorFlow was making them anew for every test.
    """
    if keras.backend.backend() != "tensorflow":
        return contextlib.nullcontext()
    from tensorflow.python import pywrap_tfe

    return mock.patch.object(pywrap_tfe, "TFE_ContextClearCaches")
