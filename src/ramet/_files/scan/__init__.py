"""What loading a model file would run or reach, told without loading it."""

from ramet._files.scan.config import judge_value
from ramet._files.scan.door import scan
from ramet._files.scan.finding import Finding, ScanReport, Severity, Verdict

__all__ = ["Finding", "ScanReport", "Severity", "Verdict", "judge_value", "scan"]
