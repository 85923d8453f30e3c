"""Guarded loading: while Keras loads a file, nothing outside of it can be opened, started or accessed.

This is the second line of defense, and assumes that the scan, the first one, missed something. Python reports every
file that is opened, every process and every connection to an audit hook, before it happens. TensorFlow and HDF5 open
files in C: the few functions they use for this are wrapped. Anything else a C library does stays invisible. A sandboxed
child process would see more, but would have to send a live model back; the audit hook guards the process that needs the
model. A private copy of the file is scanned and loaded, so that swapping the file in between has no effect.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import site
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import keras

from ramet._files import private_copy, scan, unsafe_file
from ramet._report import escape
from ramet.errors import UnsafeFileError

# Files that Python and its libraries may read at any time: facts about the machine, random numbers, time zones.
_MACHINE = ("/proc", "/sys", "/dev/urandom", "/dev/random", "/usr/share/zoneinfo", "/etc/localtime")
# The environment and the memory of the process.
_SECRET = re.compile(r"/proc/\d+/(?:task/\d+/)?(?:environ|mem)")
# The drive in a path of Windows that may be longer than others: `\\?\c:`.
_LONG = re.compile(r"\\\\\?\\[a-z]:")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Actions that loading a valid file never takes, with their audit events. A name without a dot matches all events of a module.
_NEVER = {
    "open a connection": (
        *("ftplib", "http", "imaplib", "nntplib", "poplib", "smtplib", "telnetlib", "urllib"),
        *("socket.bind", "socket.connect", "socket.sendto", "socket.sendmsg"),
    ),
    "look up an address": ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"),
    "open a browser": ("webbrowser",),
    "start a program": (
        *("subprocess", "pty", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "os.startfile/2"),
        "_winapi",  # also opens pipes and processes, and links folders
    ),
    "start a process": ("os.fork", "os.forkpty"),
    "end a process": ("os.kill", "os.killpg"),
    "load a library": ("ctypes.dlopen", "os.add_dll_directory"),
    "open a database": ("sqlite3",),
    "unpickle an object": ("pickle",),
    "open the registry": ("winreg",),
    "write to the system log": ("syslog",),
}
_REFUSED = {event: what for what, events in _NEVER.items() for event in events}
# Events that change the files at their first one or two arguments.
_CHANGES = {
    **dict.fromkeys(("os.chmod", "os.chown", "os.chflags", "os.mkdir", "os.remove", "os.removexattr", "os.rmdir"), 1),
    **dict.fromkeys(("os.setxattr", "os.truncate", "os.utime"), 1),
    **dict.fromkeys(("os.link", "os.rename", "os.symlink"), 2),
}
# What libraries may do while they are imported: torch runs a program to detect the processor, and Python's `platform` and
# `mimetypes` read the registry of Windows.
_ALLOWED_IN_IMPORTS = ("load a library", "start a program", "start a process", "open the registry")


class RefusedError(Exception):
    """Loading a file tried something that valid files never do."""


class Guard:
    """The rules while a file is loaded.

    Attributes:
        refused: Descriptions of what was tried and refused. A loader may swallow the error.
    """

    def __init__(self, folder: Path) -> None:
        self.refused: list[str] = []
        # Imports that began earlier do not count: the guard may be used from a module that is itself being imported.
        self._outer_imports = {id(frame) for frame in _import_frames()}
        self._wrapped: dict[tuple[Any, str], Any] = {}
        self._writable = (_real(folder), *_caches(), _real(os.devnull))
        self._readable = (*self._writable, *_libraries(), *(map(_real, _MACHINE) if os.name == "posix" else ()))

    def check(self, event: str, args: tuple[Any, ...]) -> None:
        """Raise an error for an event that loading a valid file never causes."""
        if event == "import":
            self.wrap()  # a library may have been imported since
        elif event == "open":
            path, _, flags = args
            self.check_path(path, writing=bool((flags or 0) & _WRITING))
        elif event in _CHANGES:
            for path in args[: _CHANGES[event]]:
                self.check_path(path, writing=True)
        elif event == "marshal.loads":
            if sys._getframe(2).f_code.co_filename != "<frozen importlib._bootstrap_external>":
                self.refuse("create code from bytes")
        else:
            what = _REFUSED.get(event) or _REFUSED.get(event.partition(".")[0])
            if what is not None and not (what in _ALLOWED_IN_IMPORTS and self.is_importing()):
                self.refuse(what)

    def check_path(self, path: Any, *, writing: bool) -> None:
        """Raise an error for a path that belongs neither to the file nor to a library."""
        if not isinstance(path, str | bytes | os.PathLike):  # a descriptor, which was opened before
            return
        name = os.fsdecode(path)
        if self._is_elsewhere(name):
            self.refuse(f"open '{name}'")
        real = _real(name)
        allowed = self._writable if writing else self._readable
        if _SECRET.fullmatch(real) or not any(real == root or real.startswith(root + os.sep) for root in allowed):
            self.refuse(f"{'write' if writing else 'read'} '{real}'")

    def _is_elsewhere(self, path: str) -> bool:
        """Return whether a path of Windows leads to a device, or to another machine, on which there is no library.

        Even asking whether a file on another machine exists would send the user's credentials there.
        """
        full = os.path.abspath(path)  # noqa: PTH100  # `resolve` would ask
        drive = os.path.normcase(os.path.splitdrive(full)[0])
        if not drive.startswith("\\\\") or _LONG.fullmatch(drive):
            return False
        return all(drive != os.path.splitdrive(root)[0] for root in self._readable)

    def wrap(self) -> None:
        """Wrap the functions that open files in C, for libraries that are imported already."""
        for target, names, check in _IN_C:
            module, _, attribute = target.partition(":")
            holder = sys.modules.get(module)
            holder = getattr(holder, attribute, None) if attribute else holder
            for name in names if holder is not None and (holder, names[0]) not in self._wrapped else ():
                function = getattr(holder, name, None)
                if function is not None:
                    self._wrapped[holder, name] = function
                    setattr(holder, name, self._checked(check, name, function))

    def _checked(self, check: _Check, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*args: Any, **kwargs: Any) -> Any:
            check(self, name, args, kwargs)
            return function(*args, **kwargs)

        return checked

    def unwrap(self) -> None:
        """Restore the wrapped functions."""
        for (holder, name), function in self._wrapped.items():
            setattr(holder, name, function)
        self._wrapped.clear()

    def is_importing(self) -> bool:
        """Return whether a module is being imported under guard.

        Only installed modules can be, because others cannot be read.
        """
        return any(id(frame) not in self._outer_imports for frame in _import_frames())

    def refuse(self, what: str) -> None:
        """Record what was tried, and raise an error."""
        self.refused.append(what)
        raise RefusedError(f"the file tried to {what} while it was loaded")


def _real(path: str | os.PathLike[str]) -> str:
    """Return a path in a form that can be compared: without links; on Windows also in lower case, with backslashes."""
    return os.path.normcase(os.path.realpath(path))


def _import_frames() -> Iterator[FrameType]:
    """Yield the frames of this thread in which Python runs the code of a module that is being imported."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "exec_module" and frame.f_code.co_filename.startswith("<frozen importlib."):
            yield frame
        frame = frame.f_back


def _libraries() -> set[str]:
    """Return the folders of Python and its libraries, from which modules may still be imported."""
    folders = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *site.getsitepackages()}
    folders.add(site.getusersitepackages())
    # Other folders with installed packages, such as those in PYTHONPATH.
    here = _real(os.curdir)
    for folder in sys.path:
        if _real(folder) != here and any(Path(folder).glob("*.dist-info")):
            folders.add(folder)
    # Packages that are installed in place, ramet among them.
    for module in list(sys.modules.values()):
        spec = getattr(module, "__spec__", None)
        folders.update(spec.submodule_search_locations or () if isinstance(spec, ModuleSpec) else ())
    # Keras' own settings, and those of the Keras in TensorFlow, which may be imported late.
    home = os.environ.get("KERAS_HOME") or Path("~/.keras").expanduser()
    folders.add(str(Path(home) / "keras.json"))
    return {_real(folder) for folder in folders if folder}


def _caches() -> list[str]:
    """Return the folder of JAX's compilation cache, if there is one."""
    jax = sys.modules.get("jax")
    folder = None if jax is None else jax.config.jax_compilation_cache_dir
    return [_real(folder)] if folder else []


_lock = threading.Lock()
_active: list[Guard] = []  # at most one


@functools.cache
def _add_hook() -> None:
    """Add the only audit hook. It cannot be removed, and does nothing unless a guard is active."""

    def check(event: str, args: tuple[Any, ...]) -> None:
        for guard in _active:
            guard.check(event, args)

    sys.addaudithook(check)


@contextlib.contextmanager
def guarded(folder: Path) -> Iterator[Guard]:
    """Refuse, in all threads, to open, start or access anything except files in a folder and libraries."""
    # JAX looks for its devices when the first array is made, and loads their libraries then, not while it is imported.
    keras.ops.convert_to_tensor(0)
    with _lock:
        _add_hook()
        guard = Guard(folder)
        before = sys.dont_write_bytecode, tempfile.tempdir
        sys.dont_write_bytecode, tempfile.tempdir = True, str(folder)
        guard.wrap()
        _active.append(guard)
        try:
            yield guard
        finally:
            _active.clear()
            guard.unwrap()
            sys.dont_write_bytecode, tempfile.tempdir = before


def _check_paths(guard: Guard, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Check a function of TensorFlow that takes one or two paths."""
    writing = any(word in name for word in ("Append", "Copy", "Create", "Delete", "Rename", "Writable", "Write"))
    for path in args[: 2 if name.startswith(("Copy", "Rename")) else 1]:
        if isinstance(path, str | bytes):
            guard.check_path(path, writing=writing)


def _check_operation(guard: Guard, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Check a function that runs a TensorFlow operation, or adds it to a graph, by the name in its arguments."""
    position = _OPERATION_AT[name]
    operation = str(args[position] if len(args) > position else kwargs.get("op_type"))
    # The names of user-defined functions, which consist of operations, start like this.
    if not operation.startswith("__") and _FILE_OPERATION.search(operation):
        guard.refuse(f"run the TensorFlow operation {operation}")


def _check_hdf5(guard: Guard, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Check a function of h5py that opens or creates a file. A file that Python opened has no path."""
    driver = kwargs.get("fapl")
    if driver is None or driver.get_driver() != sys.modules["h5py.h5fd"].fileobj_driver:
        guard.check_path(args[0] if args else kwargs["name"], writing=name == "create")


def _check_library(guard: Guard, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Check a function of TensorFlow that loads code."""
    if not guard.is_importing():
        guard.refuse("load a library")


# The position of the operation's name among the arguments.
_OPERATION_AT = {"TFE_Py_FastPathExecute": 1, "TFE_Py_Execute": 2, "_create_op_internal": 1}
# TensorFlow operations that read, write or call something.
_FILE_OPERATION = re.compile(
    r"File|Reader|Dataset|Save|Restore|Checkpoint|PyFunc|PyCall|Summary|Library|LoadAndRemap|Iterator|Rpc|TPU"
    r"|^Print|DecodeProto|FixedUnigram"
)
# Functions that open files without an audit event: the module or class, the names, and the check of their arguments.
_Check: TypeAlias = Callable[[Guard, str, tuple[Any, ...], dict[str, Any]], None]
_IN_C: tuple[tuple[str, tuple[str, ...], _Check], ...] = (
    (
        "tensorflow.python.lib.io._pywrap_file_io",
        (
            *("FileExists", "DeleteFile", "ReadFileToString", "WriteStringToFile", "GetChildren", "GetMatchingFiles"),
            *("CreateDir", "RecursivelyCreateDir", "CopyFile", "RenameFile", "DeleteRecursively", "IsDirectory"),
            *("HasAtomicMove", "Stat", "WritableFile", "BufferedInputStream"),
        ),
        _check_paths,
    ),
    ("tensorflow.python.pywrap_tfe", ("TFE_Py_FastPathExecute", "TFE_Py_Execute"), _check_operation),
    ("tensorflow.python.framework.ops:Graph", ("_create_op_internal",), _check_operation),
    ("tensorflow.python.client.pywrap_tf_session", ("TF_LoadLibrary", "TF_LoadPluggableDeviceLibrary"), _check_library),
    ("h5py.h5f", ("open", "create"), _check_hdf5),
)
_FIX = "look at ramet.scan(path); if you trust the file, load it with keras.saving.load_model and pass the model."


@contextlib.contextmanager
def safe_copy(path: Path) -> Iterator[Path]:
    """Yield a private copy of a file that has no unsafe findings. The caller must register custom classes."""
    with private_copy(path) as copy:
        found = [one for one in scan(copy).findings if one.severity == "unsafe"]
        if found:
            raise unsafe_file(copy, found, _FIX)
        yield copy


def load_copy(path: Path) -> Any:
    """Return the model in a private copy, loaded under guard."""
    with guard_loading(path, _FIX):
        return keras.saving.load_model(path)


@contextlib.contextmanager
def guard_loading(path: Path, fix: str) -> Iterator[None]:
    """Raise an error for anything that was refused while a file was loaded, even if the loader swallowed it.

    The path is that of a private copy: files in its folder may be read and written. `fix` is part of the message.
    """
    with guarded(path.parent) as guard:
        try:
            yield
        finally:
            if guard.refused:
                raise UnsafeFileError(
                    f"Cannot load '{escape(path.name)}': while it was loaded, it tried to {escape(guard.refused[0])}.",
                    fix=fix,
                    path=str(path),
                )
