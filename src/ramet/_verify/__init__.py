"""Two models compared: structure, settings, state, behaviour. The code that makes twins is never used here."""

from ramet._verify.across import verify_across
from ramet._verify.door import verify
from ramet._verify.findings import NotRun
from ramet._verify.live_diff import diff_models
from ramet._verify.picture import findings_of, picture_of
from ramet._verify.report import Check, Report
from ramet._verify.same_function import check_same_function
from ramet._verify.worker import main

__all__ = [
    "Check",
    "NotRun",
    "Report",
    "check_same_function",
    "diff_models",
    "findings_of",
    "main",
    "picture_of",
    "verify",
    "verify_across",
]
