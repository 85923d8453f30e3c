"""Model files as data: nothing in them is imported, evaluated or unpickled.

A path goes in. `open_model_file` returns a `ModelFile` with metadata, config, graph and weights, each read on first use;
`list_file` lists the content of one, `diff_files` compares two, and `scan` reports what loading a file with Keras would
run or reach. Untrusted files are expected: sizes, depths and counts are limited (`Limits`), and HDF5 is read in a separate
process. Each file format is one module in `formats`.
"""

from ramet._files.comparison import diff_files
from ramet._files.container import private_copy
from ramet._files.limits import Limits
from ramet._files.model_file import ModelFile, open_model_file
from ramet._files.scanner import Finding, ScanReport, judge_value, scan, unsafe_file
from ramet._files.scanner.names import TORCH_OPTIMIZERS, is_known_name
from ramet._files.show import FileListing, list_file

__all__ = [
    "TORCH_OPTIMIZERS",
    "FileListing",
    "Finding",
    "Limits",
    "ModelFile",
    "ScanReport",
    "diff_files",
    "is_known_name",
    "judge_value",
    "list_file",
    "open_model_file",
    "private_copy",
    "scan",
    "unsafe_file",
]
