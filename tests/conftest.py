"""Shared by all tests: quiet libraries, and the backend that is being tested."""

import functools
import gc
import os
import sys
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
# oneDNN's bfloat16 kernels use instructions that not every processor has; TensorFlow then dies without a word.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

# Half of a run on JAX is compiling programs that run once: they are neither optimised nor fused. A JAX that does not
# know a flag ends the process; JAX 0.11 no longer knows the second.
if os.environ.get("KERAS_BACKEND") == "jax":
    knows_emitters = tuple(int(part) for part in version("jaxlib").split(".")[:2]) < (0, 11)
    unfused = " --xla_cpu_use_fusion_emitters=false" if knows_emitters else ""
    os.environ.setdefault("XLA_FLAGS", f"--xla_backend_optimization_level=0{unfused}")
# A twin compiles what its original compiled.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent.parent / ".jax-cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import keras
import pytest

from ramet._files.weights_file import WeightsFile
from tests.support.backends import on_backend
from tests.support.memory import MemoryReport, free_what_was_compiled, kernels_kept


def pytest_addoption(parser):
    parser.addoption(
        "--cases",
        choices=("all", "once", "others"),
        default="all",
        help="'once' runs each case of a parametrised test on one of the three backends, 'others' the cases left out by it",
    )


@pytest.hookimpl(trylast=True)  # once the marks have been looked at
def pytest_collection_modifyitems(config, items):
    selected, left_out = on_backend(items, keras.backend.backend(), config.getoption("--cases"))
    items[:] = selected
    config.hook.pytest_deselected(items=left_out)  # pytest counts them in its last line


def pytest_configure(config):
    config.pluginmanager.register(MemoryReport(), "ramet-memory")


def pytest_collection_finish():
    """A fifth of a run would be collecting garbage: less often."""
    gc.set_threshold(100_000, 20, 20)
    gc.collect = without_calls_of_keras(gc.collect)


def without_calls_of_keras(collect):
    """Keras collects garbage for every variable that a layer deletes: that took half of the time of quantising."""

    @functools.wraps(collect)
    def collect_unless_keras(*args):
        caller = sys._getframe(1).f_globals["__name__"]
        return 0 if caller == keras.Layer.__module__ else collect(*args)

    return collect_unless_keras


@pytest.fixture(scope="module", autouse=True)
def garbage_collected_once():
    """Whoever collects garbage goes past what was there before the module.

    JAX keeps everything it ever compiled, and Keras collects in the middle of `quantize`: late in a run that took seconds.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def backend():
    """The backend Keras runs on."""
    return keras.backend.backend()


@pytest.fixture(autouse=True)
def bounded_memory():
    """No test begins in a process that holds much that nobody needs."""
    free_what_was_compiled()


@pytest.fixture(autouse=True)
def weights_read_here(request, monkeypatch):
    """Weights files are read in this process, except by tests marked `isolated`.

    Two thirds of the time of the tests of files went into starting processes.
    """
    if request.node.get_closest_marker("isolated") is None:
        monkeypatch.setattr(WeightsFile, "_store", WeightsFile._store_here)


@pytest.fixture(autouse=True)
def fresh_names():
    """Automatic names start over in each test, so that tests do not depend on each other."""
    with kernels_kept():
        keras.utils.clear_session(free_memory=False)
        keras.utils.set_random_seed(0)
