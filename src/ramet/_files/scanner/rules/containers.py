"""Files in an archive that Keras would not put there, and archives and weights that Keras cannot have written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from ramet._files.container import EntryProblem
from ramet._files.listing import H5Problem
from ramet._files.scanner.finding import Finding
from ramet._files.scanner.rule import NOT_CHECKED, Member, Rule

# Weights in NumPy's format, which Keras reads if there are none in HDF5.
_NPZ = "model.weights.npz"
_CODE = frozenset(".bat .cmd .com .dll .dylib .exe .jar .ps1 .py .pyc .pyd .pyo .sh .so .vbs".split())  # noqa: SIM905
_PICKLES = frozenset(".bin .ckpt .dill .joblib .npz .p .pickle .pkl .pt .pth".split())  # noqa: SIM905
_SAVED = "a TensorFlow SavedModel"
# tf_keras would load these instead of the config in the same folder.
_SAVED_MODEL = frozenset({"saved_model.pb", "saved_model.pbtxt", "saved_model.cpb", "keras_metadata.pb"})
_MAGIC = (
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\xca\xfe\xba\xbe", "a program"),
    (b"\xcf\xfa\xed\xfe", "a program"),
    (b"#!", "a script"),
)
_UNPACKED = "Keras unpacks every file of an archive that has more than three, and runs none of them."
_ADVISORIES = {"external": ("CVE-2026-1669",), "virtual": ("CVE-2026-1669",), "bomb": ("CVE-2026-0897",)}


def _broken_archive(problem: EntryProblem) -> Iterator[Finding]:
    what = f"The file '{problem.entry}' in the archive" if problem.entry else "The archive"
    yield Finding(
        "unsafe",
        problem.kind,
        f"{what}: {problem.reason}.",
        "Keras has never written such an archive; unpacking it may fill the disk, or write outside of its folder.",
        problem.entry or "the archive",
        safe_mode=NOT_CHECKED,
    )


def _pickled_weights(member: Member) -> Iterator[Finding]:
    if member.name == _NPZ:
        what = f"The weights are in '{_NPZ}', which may contain pickled objects."
        effect = "Older versions of Keras unpickle them while they load the model, which runs any code in them."
        yield member.finding("unsafe", "pickle", what, effect, NOT_CHECKED)


def _foreign_file(member: Member) -> Iterator[Finding]:
    if member.name == _NPZ:
        return
    kind = _kind_of(member)
    if kind is not None:
        # tf_keras loads a folder that contains a SavedModel as one, whatever its config contains.
        severity = "unsafe" if kind == _SAVED else "trust"
        what = f"The archive contains {kind}, '{member.name}'."
        yield member.finding(severity, "foreign file", what, _UNPACKED, NOT_CHECKED)  # type: ignore[arg-type]
    elif not member.name.startswith("assets/"):
        what = f"The archive contains a file that Keras does not read, '{member.name}'."
        yield member.finding("note", "foreign file", what, _UNPACKED)


def _kind_of(member: Member) -> str | None:
    """Return what a file is that no model needs, by its name and its first bytes; None for a harmless one."""
    path = PurePosixPath(member.name)
    if path.name.lower() in _SAVED_MODEL:
        return _SAVED
    if path.suffix.lower() in _CODE:
        return "code"
    start = member.start
    # Pickles of protocol 2 and later begin with their number and end with a stop; text does not begin like that.
    if path.suffix.lower() in _PICKLES or (start[:1] == b"\x80" and start[1:2] in b"\x02\x03\x04\x05"):
        return "pickled objects"
    return next((word for magic, word in _MAGIC if start.startswith(magic)), None)


def _broken_weights(problem: H5Problem) -> Iterator[Finding]:
    yield Finding(
        "unsafe",
        problem.kind,
        f"'{problem.path}' in the weights: {problem.reason}.",
        "Keras has never written such weights; reading them may open other files, or fill the memory.",
        problem.path,
        safe_mode="Not checked by most versions; Keras versions of 2026 refuse most of these.",
        advisories=_ADVISORIES.get(problem.kind, ()),
    )


BROKEN_ARCHIVE = Rule(
    "archive that Keras cannot have written",
    "archive problem",
    _broken_archive,
    example=EntryProblem("traversal", "../evil", "its name leads out of the archive"),
)
PICKLED_WEIGHTS = Rule(
    "pickled weights",
    "member",
    _pickled_weights,
    example=(_NPZ, b"PK"),
    harmless=("assets/words.txt", b"a"),
)
FOREIGN_FILE = Rule(
    "file that does not belong to a model",
    "member",
    _foreign_file,
    example=("assets/tool", b"\x7fELF"),
    harmless=("assets/words.txt", b"a"),
)
BROKEN_WEIGHTS = Rule(
    "weights that Keras cannot have written",
    "weights problem",
    _broken_weights,
    example=H5Problem("external", "layers/dense/vars/0", "it is stored in another file"),
)
