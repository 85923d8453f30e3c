"""Model files as data: nothing in them is imported, evaluated or unpickled."""

from ramet._files.compare import diff_files
from ramet._files.entry import Entry
from ramet._files.limits import Limits
from ramet._files.listing import ArraySpec
from ramet._files.model_file import ModelFile, ModelKind, read_archive
from ramet._files.private_copy import private_copy, unsafe_file
from ramet._files.problem import HostileFileError, ModelFileError
from ramet._files.scan import Finding, ScanReport, Severity, Verdict, judge_value, scan
from ramet._files.scan.names import TORCH_OPTIMIZERS, is_known_name
from ramet._files.show import show_lines
from ramet._files.value import UNKNOWN_DTYPE
from ramet._files.weights import Statistics, Weights

__all__ = [
    "TORCH_OPTIMIZERS",
    "UNKNOWN_DTYPE",
    "ArraySpec",
    "Entry",
    "Finding",
    "HostileFileError",
    "Limits",
    "ModelFile",
    "ModelFileError",
    "ModelKind",
    "ScanReport",
    "Severity",
    "Statistics",
    "Verdict",
    "Weights",
    "diff_files",
    "is_known_name",
    "judge_value",
    "private_copy",
    "read_archive",
    "scan",
    "show_lines",
    "unsafe_file",
]
