"""Fixtures and settings of all tests: quiet libraries, bounded memory, the backend under test."""

import functools
import gc
import os
import shutil
import sys
import traceback
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
# oneDNN's bfloat16 kernels use instructions that not every processor has; without them, TensorFlow crashes silently.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

# On JAX, half of the time went into compiling programs that run once, so they are neither optimized nor fused. JAX ends the
# process if it does not know a flag, and JAX 0.11 has dropped the second one.
if os.environ.get("KERAS_BACKEND") == "jax":
    knows_emitters = tuple(int(part) for part in version("jaxlib").split(".")[:2]) < (0, 11)
    unfused = " --xla_cpu_use_fusion_emitters=false" if knows_emitters else ""
    os.environ.setdefault("XLA_FLAGS", f"--xla_backend_optimization_level=0{unfused}")
# Cached, because a twin compiles the same programs as its original.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent.parent / ".jax-cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import keras
import pytest

from ramet._files.store import WeightsFile
from tests.support.backends import on_backend
from tests.support.memory import MemoryReport, free_compiled_programs, keep_kernels


def pytest_addoption(parser):
    parser.addoption(
        "--cases",
        choices=("all", "once", "others"),
        default="all",
        help="'once': run each case of a parametrized test on one of the three backends; 'others': run the remaining cases",
    )


@pytest.hookimpl(trylast=True)  # after marks were evaluated
def pytest_collection_modifyitems(config, items):
    selected, left_out = on_backend(items, keras.backend.backend(), config.getoption("--cases"))
    items[:] = selected
    config.hook.pytest_deselected(items=left_out)  # counted in the last line of pytest's output


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """Skip a test if Keras needs TensorFlow for it, as for lookup layers, and it is not installed."""
    try:
        return (yield)
    except ImportError as error:
        *_, last = traceback.walk_tb(error.__traceback__)
        if find_spec("tensorflow") is None and last[0].f_globals["__name__"].startswith("keras."):
            pytest.skip(f"needs TensorFlow; installing it lifts this: {error}")
        raise


def pytest_terminal_summary(terminalreporter):
    """Explain an empty run: tests without a backend run on JAX only."""
    counted = terminalreporter.stats
    if counted.get("deselected") and not any(counted.get(kind) for kind in ("passed", "failed", "error", "skipped")):
        terminalreporter.write_line("Tests marked no_backend run on JAX only: set KERAS_BACKEND=jax to run them.")


def pytest_configure(config):
    config.pluginmanager.register(MemoryReport(), "ramet-memory")


def pytest_collection_finish():
    """Collect garbage less often: it took a fifth of a run."""
    gc.set_threshold(100_000, 20, 20)
    gc.collect = ignore_calls_by_keras(gc.collect)


def ignore_calls_by_keras(collect):
    """Ignore collections by Keras, one for every variable that a layer deletes: they took half of the time of quantizing."""

    @functools.wraps(collect)
    def collect_unless_keras(*args):
        caller = sys._getframe(1).f_globals["__name__"]
        return 0 if caller == keras.Layer.__module__ else collect(*args)

    return collect_unless_keras


@pytest.fixture(scope="module", autouse=True)
def freeze_existing_objects():
    """Exclude objects that exist before a module from garbage collection.

    JAX keeps everything it ever compiled, so late in a run each collection took seconds.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def backend():
    """Return the backend that Keras runs on."""
    return keras.backend.backend()


@pytest.fixture(scope="session")
def browser():
    """Start Chromium once per session."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: `pip install playwright` enables these tests"
    )
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed: `apt-get install chromium` enables these tests")
    with playwright.sync_playwright() as running:
        # Containers often run as root, where the sandbox of Chromium cannot start.
        started = running.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def double():
    """Enable double precision, which JAX has only on request."""
    if keras.backend.backend() != "jax":
        yield
        return
    import jax

    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True)
def bounded_memory():
    """Free compiled programs before a test if the process has grown large."""
    free_compiled_programs()


@pytest.fixture(autouse=True)
def read_weights_in_process(request, monkeypatch):
    """Read weights files in this process, except in tests marked `isolated`.

    Starting processes took two thirds of the time of the tests for files.
    """
    if request.node.get_closest_marker("isolated") is None:
        start = WeightsFile.__init__
        monkeypatch.setattr(WeightsFile, "__init__", lambda *args, isolated: start(*args, isolated=False))


@pytest.fixture(autouse=True)
def reset_names_and_seeds():
    """Reset automatic names and seeds before each test, so that tests do not depend on each other."""
    with keep_kernels():
        keras.utils.clear_session(free_memory=False)
        keras.utils.set_random_seed(0)
