"""Compare two models: structure, settings, state and behavior.

`verify` takes two models (live, in files, or as graphs), runs the checks in `checks/` and returns a `Report`; `diff_models`
takes two live models and returns a `Diff`. Both models are restored to their initial state. This room never uses the code
that makes twins: a check must not rely on the code under test.
"""

from ramet._verify.across import run_worker, verify_across
from ramet._verify.findings import NotRun
from ramet._verify.live_diff import diff_models
from ramet._verify.report import Check, Report, findings_of, picture_of
from ramet._verify.verification import check_same_function, verify

__all__ = [
    "Check",
    "NotRun",
    "Report",
    "check_same_function",
    "diff_models",
    "findings_of",
    "picture_of",
    "run_worker",
    "verify",
    "verify_across",
]
