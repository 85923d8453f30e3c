"""Scan model files: report what loading a file would run or reach, without loading it.

`scan` takes the path of a file and returns a `ScanReport` with findings. `judge_value` applies the same rules to a value
of a recipe. The rules are in `rules/`, one file per topic; `rule.py` defines what a rule is.
"""

from ramet._files.scanner.finding import Finding, ScanReport, unsafe_file
from ramet._files.scanner.walk import judge_value, scan, scan_config

__all__ = ["Finding", "ScanReport", "judge_value", "scan", "scan_config", "unsafe_file"]
