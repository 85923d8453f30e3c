"""The files in an archive, and the groups and arrays of a weights file: what does not belong there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import PurePosixPath

from ramet._files.entry import Entry, EntryProblem
from ramet._files.listing import H5Problem
from ramet._files.scan.finding import Finding, Severity
from ramet._files.source import CONFIG, METADATA, WEIGHTS

__all__ = ["scan_arrays", "scan_entries"]

_EXPECTED = frozenset({CONFIG, METADATA, WEIGHTS, "model.weights.json"})
# Beside a model in a folder that was downloaded from a model hub.
_HUB = frozenset({".gitattributes", "README.md", "LICENSE"})
_CODE = frozenset(
    [
        ".bat",
        ".cmd",
        ".com",
        ".dll",
        ".dylib",
        ".exe",
        ".jar",
        ".ps1",
        ".py",
        ".pyc",
        ".pyd",
        ".pyo",
        ".sh",
        ".so",
        ".vbs",
    ]
)
_PICKLES = frozenset([".bin", ".ckpt", ".dill", ".joblib", ".npz", ".p", ".pickle", ".pkl", ".pt", ".pth"])
# tf_keras would load these instead of the config in the same folder.
# Weights in NumPy's format, which Keras reads if there are none in HDF5.
_NPZ = "model.weights.npz"
_SAVED = "a TensorFlow SavedModel"
_SAVED_MODEL = frozenset({"saved_model.pb", "saved_model.pbtxt", "saved_model.cpb", "keras_metadata.pb"})
_MAGIC = (
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\xca\xfe\xba\xbe", "a program"),
    (b"\xcf\xfa\xed\xfe", "a program"),
    (b"#!", "a script"),
)
_UNPACKED = "Keras unpacks all files of an archive that holds more than three, and runs none of them."

_ADVISORIES = {"external": ("CVE-2026-1669",), "virtual": ("CVE-2026-1669",), "bomb": ("CVE-2026-0897",)}


def scan_entries(
    entries: tuple[Entry, ...],
    problems: list[EntryProblem],
    start_of: Callable[[Entry], bytes],
    expected: Collection[str] = (),
) -> Iterator[Finding]:
    """What is wrong with the files of an archive.

    Args:
        entries: the files.
        problems: the rules they break.
        start_of: the first bytes of one of them.
        expected: names of files that belong to the model besides those of every model.
    """
    for problem in problems:
        what = f"The file '{problem.entry}' in the archive" if problem.entry else "The archive"
        yield Finding(
            "unsafe",
            problem.kind,
            f"{what}: {problem.reason}.",
            "Keras has never written such an archive; unpacking it may fill the disk, or write outside of its folder.",
            problem.entry or "the archive",
            safe_mode="Not checked.",
        )
    for entry in entries:
        if entry.name in _EXPECTED or entry.name in expected or entry.name.endswith("/") or entry.name in _HUB:
            continue
        if entry.name == _NPZ:
            what = f"The weights are in '{_NPZ}', which may hold pickled objects."
            effect = "Older versions of Keras unpickle them while they load the model, which runs whatever they say."
            yield Finding("unsafe", "pickle", what, effect, entry.name, safe_mode="Not checked.")
            continue
        kind = _foreign(entry, start_of)
        if kind is not None:
            what = f"The archive holds {kind}, '{entry.name}'."
            # tf_keras loads a folder that contains a SavedModel as one, whatever its config contains.
            severity: Severity = "unsafe" if kind == _SAVED else "trust"
            yield Finding(severity, "foreign file", what, _UNPACKED, entry.name, safe_mode="Not checked.")
        elif not entry.name.startswith("assets/"):
            what = f"The archive holds a file that Keras does not read, '{entry.name}'."
            yield Finding("note", "foreign file", what, _UNPACKED, entry.name)


def scan_arrays(problems: tuple[H5Problem, ...], file: str) -> Iterator[Finding]:
    """What is wrong with the groups and arrays of a weights file."""
    for problem in problems:
        yield Finding(
            "unsafe",
            problem.kind,
            f"'{problem.path}' in the weights: {problem.reason}.",
            "Keras has never written such weights; reading them may reach other files, or fill the memory.",
            f"{file}: {problem.path}",
            safe_mode="Not checked by most versions; Keras of 2026 refuses most of these.",
            advisories=_ADVISORIES.get(problem.kind, ()),
        )


def _foreign(entry: Entry, start_of: Callable[[Entry], bytes]) -> str | None:
    """What a file is that no model needs, by its name and by how it begins; None for a harmless one."""
    path = PurePosixPath(entry.name)
    if path.name.lower() in _SAVED_MODEL:
        return _SAVED
    if path.suffix.lower() in _CODE:
        return "code"
    start = start_of(entry)
    # Pickles of protocol 2 and later begin with their number and end with a stop; text does not begin like that.
    if path.suffix.lower() in _PICKLES or (start[:1] == b"\x80" and start[1:2] in b"\x02\x03\x04\x05"):
        return "pickled objects"
    return next((word for magic, word in _MAGIC if start.startswith(magic)), None)
