"""One file on several backends, from the command line."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ramet._cli.loading import checked, live
from ramet._cli.option import loading_arguments
from ramet.errors import ArgumentError

if TYPE_CHECKING:
    from ramet._verify import Report

__all__ = ["verify_one_file"]


def verify_one_file(options: argparse.Namespace) -> Report:
    """The report on whether a file gives the same outputs on all backends."""
    if options.only or options.skip:
        raise ArgumentError(
            "Cannot choose checks for one file: only its outputs are compared.",
            fix="leave out --only and --skip, or name two files.",
        )
    with live(options), checked([options.model], options) as (file,):
        from ramet._verify import verify_across

        worker = ("ramet._cli.worker", *loading_arguments(options))
        return verify_across(file, options.backends, options.tolerance, options.seed, worker)
