"""Model files as data: nothing in them is imported, evaluated or unpickled.

A path goes in. `open_model_file` returns a `ModelFile` with metadata, config, graph and weights, each read on first use;
`list_file` lists the content of one, `diff_files` compares two, and `scan` reports what loading a file with Keras would
run or reach. Untrusted files are expected: sizes, depths and counts are limited (`Limits`), and HDF5 is read in a separate
process. Each file format is one module in `formats`.
"""

from ramet._files.calls import is_history
from ramet._files.comparison import diff_files
from ramet._files.container import check_readable, path_with_name, private_copy
from ramet._files.draft import WeightTree
from ramet._files.json_data import Json, describe_json, items_of, map_objects, misfit, read_json, walk_json
from ramet._files.keras_2 import legacy_layers, names_weights
from ramet._files.limits import Limits, cannot_read
from ramet._files.listing import ArraySpec, Listing
from ramet._files.model_file import ModelFile, open_model_file
from ramet._files.scanner import Finding, ScanReport, judge_value, scan, scan_config, unsafe_file
from ramet._files.scanner.names import TORCH_OPTIMIZERS, is_known_name, snake_case
from ramet._files.show import FileListing, list_file

__all__ = [
    "TORCH_OPTIMIZERS",
    "ArraySpec",
    "FileListing",
    "Finding",
    "Json",
    "Limits",
    "Listing",
    "ModelFile",
    "ScanReport",
    "WeightTree",
    "cannot_read",
    "check_readable",
    "describe_json",
    "diff_files",
    "is_history",
    "is_known_name",
    "items_of",
    "judge_value",
    "legacy_layers",
    "list_file",
    "map_objects",
    "misfit",
    "names_weights",
    "open_model_file",
    "path_with_name",
    "private_copy",
    "read_json",
    "scan",
    "scan_config",
    "snake_case",
    "unsafe_file",
    "walk_json",
]
