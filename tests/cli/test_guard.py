"""The second line of defense: attacks that pass the scan are refused during loading."""

import argparse
import contextlib
import marshal
import ntpath
import os
import pickle
import shutil
import socket
import subprocess
import sys
import threading
import types
import urllib.request
from pathlib import Path

import keras
import pytest

import ramet._files
from ramet import _arguments
from ramet._cli import loading
from ramet._keras import guard
from ramet._keras.guard import Guard, RefusedError, guarded
from ramet.errors import UnsafeFileError
from tests.support.platforms import linux, posix

pytestmark = pytest.mark.no_backend

BACKEND = keras.backend.backend()


def _read(outside):
    (outside / "secret").read_text()


def _write(outside):
    (outside / "written").write_text("x")


def _delete(outside):
    (outside / "secret").unlink()


def _rename(outside):
    (outside / "secret").rename(outside / "renamed")


def _program(outside):
    subprocess.run(["touch", str(outside / "written")], check=True)


def _shell(outside):
    os.system(f"touch {outside / 'written'}")  # the refusal is tested


def _process(outside):
    if os.fork() == 0:
        os._exit(0)


def _connection(outside):
    with socket.socket() as one:
        one.connect(("127.0.0.1", 9))


def _address(outside):
    socket.getaddrinfo("localhost", 80)


def _download(outside):
    urllib.request.urlopen("http://127.0.0.1:9/x", timeout=1)


def _unpickle(outside):
    pickle.loads(pickle.dumps(Path))


def _code(outside):
    marshal.loads(marshal.dumps(compile("1", "x", "eval")))


def _module(outside):
    sys.path.insert(0, str(outside))
    try:
        __import__("ramet_test_module")
    finally:
        sys.path.remove(str(outside))


def _thread(outside):
    """Read in a thread, where errors are lost; the attempt is recorded anyway."""
    thread = threading.Thread(target=_quietly, args=(outside,))
    thread.start()
    thread.join()


def _quietly(outside):
    with contextlib.suppress(Exception):
        _read(outside)


def _hdf5(outside):
    import h5py

    h5py.File(outside / "written", "w").close()


def _environment(outside):
    Path("/proc/self/environ").read_bytes()


def _operation(outside):
    import tensorflow as tf

    tf.io.read_file(str(outside / "secret"))


def _operation_in_a_graph(outside):
    import tensorflow as tf

    tf.function(lambda: tf.io.write_file(str(outside / "written"), "x"))()


def _table(outside):
    import tensorflow as tf

    tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(str(outside / "secret"), tf.string, 0, tf.int64, 1), -1)


def _printed(outside):
    import tensorflow as tf

    tf.print("x", output_stream=f"file://{outside / 'written'}")


def _library(outside):
    import tensorflow as tf

    tf.load_op_library(str(outside / "secret"))


def _by_tensorflow(outside):
    import tensorflow as tf

    with tf.io.gfile.GFile(str(outside / "secret")) as file:
        file.read()


def _saved_model(outside):
    import tensorflow as tf

    tf.saved_model.load(str(outside))


ATTACKS = {
    "read": _read,
    "write": _write,
    "delete": _delete,
    "rename": _rename,
    "program": _program,
    "shell": _shell,
    "process": _process,
    "connection": _connection,
    "address": _address,
    "download": _download,
    "unpickle": _unpickle,
    "code": _code,
    "module": _module,
    "thread": _thread,
    "swallowed": _quietly,
    "hdf5": _hdf5,
    "environment": _environment,
    # Also where TensorFlow is imported only while the file is loaded.
    "tensorflow": _by_tensorflow,
    "saved_model": _saved_model,
    "operation": _operation,
    "operation_in_a_graph": _operation_in_a_graph,
    "table": _table,
    "printed": _printed,
    "library": _library,
}


@keras.saving.register_keras_serializable("ramet-tests")
class Planted(keras.layers.Layer):
    """A layer that runs an attack when it is created from a file."""

    attack = None

    @classmethod
    def from_config(cls, config):
        if cls.attack is not None:
            cls.attack()
        return super().from_config(config)


@pytest.fixture
def outside(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outside")
    (folder / "secret").write_text("secret")
    (folder / "ramet_test_module.py").write_text("")
    return folder


@pytest.fixture
def planted(tmp_path):
    keras.Sequential([keras.Input((2,)), Planted()]).save(tmp_path / "m.keras")
    yield tmp_path / "m.keras"
    Planted.attack = None


def _options(**settings):
    return argparse.Namespace(**{"trust": False, "modules": [__name__], "no_compile": False, **settings})


def _load(path, **settings):
    options = _options(**settings)
    with loading.checked([path], options) as (copy,):
        return loading.load(copy, options, {})


NEEDS = {"program": posix, "shell": posix, "process": posix, "environment": linux}


@pytest.mark.parametrize("name", [pytest.param(name, marks=NEEDS.get(name, ())) for name in ATTACKS])
def test_attack_is_refused_during_loading(planted, outside, name):
    before = sorted(path.name for path in outside.iterdir())
    Planted.attack = lambda: ATTACKS[name](outside)

    with pytest.raises(UnsafeFileError, match="while it was loaded, it tried to"):
        _load(planted)

    assert sorted(path.name for path in outside.iterdir()) == before


def test_harmless_file_is_loaded(planted):
    assert _load(planted).layers[-1].__class__ is Planted


def test_program_is_refused_while_the_caller_is_imported(outside, monkeypatch):
    """Libraries may start programs while they are imported, but only if their import began under guard."""
    (outside / "ramet_test_caller.py").write_text(
        "import subprocess\n"
        "from pathlib import Path\n"
        "from ramet._keras.guard import guarded\n"
        "with guarded(Path(__file__).parent):\n"
        "    subprocess.run(['true'])\n"
    )
    monkeypatch.syspath_prepend(outside)

    with pytest.raises(RefusedError, match="start a program"):
        __import__("ramet_test_caller")


@pytest.fixture
def on_windows(monkeypatch, tmp_path):
    """Return a guard with paths of Windows. Its `realpath` never asks the disk, and fails for other machines."""

    def realpath(path):
        assert "evil" not in path, "the machine in the path was asked"
        return ntpath.normpath(path).removeprefix("\\\\?\\")

    paths = types.SimpleNamespace(
        abspath=ntpath.abspath, splitdrive=ntpath.splitdrive, normcase=ntpath.normcase, realpath=realpath
    )
    made = Guard(tmp_path)
    made._writable = ("c:\\temp\\ramet-1", "\\\\.\\nul")
    made._readable = (*made._writable, "c:\\python311", "\\\\files\\tools\\python")
    monkeypatch.setattr(
        guard, "os", types.SimpleNamespace(path=paths, sep="\\", fsdecode=os.fsdecode, PathLike=os.PathLike)
    )
    return made


@pytest.mark.parametrize(
    "path",
    [
        *("C:\\Python311\\Lib\\json.py", "c:/python311/lib/json.py", "\\\\?\\C:\\Python311\\python.exe"),
        *("C:\\TEMP\\ramet-1\\m.keras", "\\\\FILES\\Tools\\Python\\Lib\\json.py", "\\\\.\\NUL"),
    ],
)
def test_paths_of_windows_are_compared_as_windows_does(on_windows, path):
    on_windows.check_path(path, writing=False)


@pytest.mark.parametrize(
    "path",
    [
        *("C:\\Users\\me\\secret", "C:\\Python311x\\a.py", "C:\\Python311\\..\\secret", "D:\\Python311\\a.py"),
        *("\\\\evil\\share\\x", "//evil/share/x", "\\\\?\\UNC\\evil\\share\\x", "\\\\.\\UNC\\evil\\share\\x"),
        *("\\\\.\\pipe\\evil", "\\\\?\\GLOBALROOT\\evil\\x", "\\\\files\\tools\\secret", b"\\\\evil\\share\\x"),
    ],
)
def test_other_paths_of_windows_are_refused_without_asking_another_machine(on_windows, path):
    with pytest.raises(RefusedError, match=r"tried to (read|open)"):
        on_windows.check_path(path, writing=False)


def test_libraries_are_not_writable_on_windows(on_windows):
    with pytest.raises(RefusedError, match="tried to write"):
        on_windows.check_path("C:\\Python311\\a.py", writing=True)


@pytest.mark.parametrize(
    "event",
    [
        *("os.startfile", "os.startfile/2", "os.add_dll_directory", "winreg.OpenKey", "winreg.SetValue"),
        *("_winapi.CreateProcess", "_winapi.CreateFile", "_winapi.CreateJunction", "_winapi.TerminateProcess"),
    ],
)
def test_events_of_windows_are_refused(tmp_path, event):
    """Audit events can be raised on any system."""
    with guarded(tmp_path), pytest.raises(RefusedError):
        sys.audit(event, "x")


def test_registry_may_be_read_while_a_library_is_imported(outside, monkeypatch):
    """Python's `platform` does so on Windows."""
    (outside / "ramet_test_library.py").write_text("import sys\nsys.audit('winreg.OpenKey', 1, 'x', 2)\n")
    monkeypatch.syspath_prepend(outside)

    with guarded(outside):
        __import__("ramet_test_library")


def test_trusted_file_is_not_restricted(planted, outside):
    Planted.attack = lambda: _write(outside)

    _load(planted, trust=True)

    assert (outside / "written").exists()


def test_guard_ends_with_the_block(planted, outside):
    _load(planted)

    _read(outside)
    _write(outside)
    with guarded(outside.parent / "other"), pytest.raises(RefusedError):
        _read(outside)
    _read(outside)


def _swapped_after_the_scan(monkeypatch, module, path):
    scan = module.scan

    def swap(copy, **settings):
        found = scan(copy, **settings)
        path.write_bytes(b"something else")
        return found

    monkeypatch.setattr(module, "scan", swap)


def test_scanned_copy_is_loaded(planted, monkeypatch):
    """A file that is replaced after the scan is not loaded."""
    _swapped_after_the_scan(monkeypatch, ramet._files, planted)

    assert _load(planted).layers[-1].__class__ is Planted
    assert planted.read_bytes() == b"something else"


def test_verify_function_loads_the_scanned_copy(planted, monkeypatch):
    other = planted.with_name("other.keras")
    shutil.copyfile(planted, other)
    _swapped_after_the_scan(monkeypatch, guard, planted)

    assert ramet.verify(planted, other, only="state").ok
    assert planted.read_bytes() == b"something else"


def test_verify_function_refuses_an_attack_during_loading(planted, outside):
    Planted.attack = lambda: _read(outside)

    with pytest.raises(UnsafeFileError, match="while it was loaded, it tried to read"):
        ramet.verify(planted, planted)


def test_verify_function_refuses_an_unsafe_file(tmp_path, monkeypatch):
    monkeypatch.setattr(_arguments, "is_installed", lambda name: True)
    keras.Sequential([keras.Input((2,)), keras.layers.Lambda(lambda x: x)]).save(tmp_path / "m.keras")

    for more in ({}, {"backends": ["jax", "torch"]}):
        with pytest.raises(UnsafeFileError, match="it is unsafe"):
            ramet.verify(tmp_path / "m.keras", *([] if more else [tmp_path / "m.keras"]), **more)


_TRAINED = """
import keras, numpy as np
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, "relu"), keras.layers.BatchNormalization(), keras.layers.Dense(2)])
model.compile(keras.optimizers.AdamW(keras.optimizers.schedules.CosineDecay(0.1, 10)), keras.losses.Huber(), metrics=["mae"])
model.fit(np.ones((4, 4)), np.ones((4, 2)), verbose=0)
model.save("m.keras")
model.save("m.h5")
keras.Sequential([keras.Input((1,), dtype="string"), keras.layers.TextVectorization(vocabulary=["a", "/etc/passwd"])]).save("v.keras")
"""


@pytest.mark.slow
def test_harmless_files_are_loaded_in_a_fresh_process(tmp_path):
    """Libraries are imported while a file is loaded, which opens files, loads libraries and starts programs."""

    # A package in a folder of PYTHONPATH: libraries look for plugins there.
    packages = tmp_path / "packages"
    (packages / "plugin-1.0.dist-info").mkdir(parents=True)
    (packages / "plugin-1.0.dist-info" / "METADATA").write_text("Name: plugin\nVersion: 1.0\n")
    (packages / "plugin-1.0.dist-info" / "entry_points.txt").write_text("[some.plugins]\nplugin = plugin\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), os.environ.get("PYTHONPATH", "")])}

    def run(*command):
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
        )
        assert done.returncode == 0, done.stderr

    (tmp_path / "r.toml").write_text('[[edit]]\nfreeze = "dense"\n')
    run("-c", _TRAINED)
    for name in ("m.keras", "m.h5", "v.keras"):
        run("-m", "ramet", "clone", name, "twin.keras")
    run("-m", "ramet", "edit", "m.keras", "new.keras", "--recipe", "r.toml")


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() != "jax", reason="plugins of JAX; the run on JAX covers them")
def test_plugin_of_jax_may_load_its_library(tmp_path):
    """JAX starts plugins, such as the one for CUDA, when it looks for devices; they load libraries."""
    plugin = tmp_path / "packages" / "jax_plugins" / "device" / "__init__.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(
        "def initialize():\n    import ctypes\n    ctypes.CDLL(None)\n    open('started', 'w').close()\n",
        encoding="utf-8",
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path / "packages"), os.environ.get("PYTHONPATH", "")]),
    }
    keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]).save(tmp_path / "m.keras")
    done = subprocess.run(
        [sys.executable, "-m", "ramet", "clone", "m.keras", "twin.keras"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "started").exists()
