"""The actual effects of loading a file, in a process that records and blocks every unusual event.

`python -m tests.files.watch keras` reads a list of paths as JSON from its standard input, and writes the events that occurred
while each was loaded. It shares no code with ramet: the scan is compared with it.
"""

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from pathlib import Path

LOADERS = ("keras", "tf_keras")
_ROOT = Path(__file__).parents[2]
_EVENTS = (
    *("ctypes.dlopen", "os.exec", "os.fork", "os.posix_spawn", "os.remove", "os.rename", "os.rmdir", "os.system"),
    *("pickle.find_class", "shutil.rmtree", "socket.bind", "socket.connect", "socket.getaddrinfo"),
    *("socket.gethostbyname", "subprocess.Popen", "urllib.Request", "webbrowser.open"),
)
# Modules that no model file needs; payloads name them.
_MODULES = ("this", "antigravity", "conftest", "keras_hub", "keras_cv", "keras_nlp")


_SECONDS = 10


class TooLateError(BaseException):
    """Raised in a loader that does not terminate."""


def _too_late(_number, _frame):
    raise TooLateError


class HappenedError(Exception):
    """Raised instead of the effect that a file would have had."""


class Watch:
    """Records events while it is active."""

    def __init__(self):
        self.noted = None
        self.own = ""
        stdlib = sysconfig.get_paths()["stdlib"]
        folders = {
            sys.prefix,
            sys.base_prefix,
            stdlib,
            *sys.path,
            "/proc",
            "/sys",
            "/dev",
            "/etc/localtime",
            "/usr/share",
        }
        self._libraries = tuple(os.path.realpath(folder) for folder in folders if folder)
        self._is_busy = False
        sys.addaudithook(self._hook)

    def _hook(self, event, args):
        if self.noted is None or self._is_busy:
            return
        self._is_busy = True
        try:
            what = self._odd(event, args)
        finally:
            self._is_busy = False
        if what:
            self.noted.append(what)
            raise HappenedError(what)

    def _odd(self, event, args):
        if event == "open" and isinstance(args[0], str | bytes):
            path = os.path.realpath(os.fsdecode(args[0]))
            if not path.startswith((self.own, *self._libraries)) and not path.endswith("/keras.json"):
                return f"open {path}"
        elif event == "marshal.loads":
            if "importlib" not in sys._getframe(3).f_code.co_filename:
                return "marshal.loads"
        elif event == "import" and args[0].partition(".")[0] in _MODULES:
            return f"import {args[0]}"
        return event if event in _EVENTS else ""


def _of_tensorflow(watch):
    """Watch TensorFlow, which opens files in C++ through these functions, and by operations."""
    from tensorflow.python import pywrap_tfe
    from tensorflow.python.lib.io import _pywrap_file_io

    def noting(function, what, is_odd):
        def noted(*args, **kwargs):
            if watch.noted is not None and is_odd(args):
                watch.noted.append(f"{what} {args[:3]}")
                raise HappenedError(what)
            return function(*args, **kwargs)

        return noted

    def is_elsewhere(args):
        return isinstance(args[0], str | bytes) and not os.path.realpath(os.fsdecode(args[0])).startswith(watch.own)

    for name in ("ReadFileToString", "BufferedInputStream", "WritableFile", "GetMatchingFiles"):
        setattr(_pywrap_file_io, name, noting(getattr(_pywrap_file_io, name), name, is_elsewhere))

    def is_file(args):
        return "vocab_file" in map(str, args) and args[list(map(str, args)).index("vocab_file") + 1] != ""

    def is_operation(args):
        return is_file(args) or str(args[1]) in ("ReadFile", "WriteFile", "InitializeTableFromTextFileV2", "RestoreV2")

    pywrap_tfe.TFE_Py_FastPathExecute = noting(pywrap_tfe.TFE_Py_FastPathExecute, "operation", is_operation)


def main(loader):
    """Write the events by path."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    load = loader_of(loader)
    answers.write(json.dumps({path: load(path) for path in json.load(sys.stdin)}))
    answers.flush()


def loader_of(name):
    """Return a function that loads a file and returns the events, if any."""
    library = importlib.import_module(name)
    # Imported first, because backends open files and libraries, which would look suspicious later.
    for other in ("tensorflow", "torch"):
        with contextlib.suppress(ImportError):
            importlib.import_module(other)
    watch = Watch()
    if "tensorflow" in sys.modules:
        _of_tensorflow(watch)

    def load(path):
        noted = []
        watch.own = os.path.realpath(Path(path).parent)
        with tempfile.TemporaryDirectory(dir=watch.own) as tempfile.tempdir, contextlib.suppress(BaseException):
            watch.noted = noted
            # A loader may not terminate on a meaningless config.
            signal.signal(signal.SIGALRM, _too_late)
            signal.setitimer(signal.ITIMER_REAL, _SECONDS, 0.1)
            try:
                library.models.load_model(path)
            finally:
                watch.noted = None
                signal.setitimer(signal.ITIMER_REAL, 0)
        return noted

    return load


def watched(paths, loader="keras"):
    """Return the unusual events while a loader loads files: a list for each file."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.files.watch", loader],
        input=json.dumps([str(path) for path in paths]),
        capture_output=True,
        text=True,
        check=False,
        cwd=_ROOT,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    return {path: found[str(path)] for path in paths}


if __name__ == "__main__":
    main(sys.argv[1])
