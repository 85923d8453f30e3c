"""Weights from one model to another, by path: `transfer` once, `sync` at every training step."""

from ramet._weights.blocks import blocks_of
from ramet._weights.derived import needs_refresh, refresh
from ramet._weights.policy import adapt, check_policy, is_inexact
from ramet._weights.report import TransferReport
from ramet._weights.sync import sync
from ramet._weights.transfer import transfer

__all__ = [
    "TransferReport",
    "adapt",
    "blocks_of",
    "check_policy",
    "is_inexact",
    "needs_refresh",
    "refresh",
    "sync",
    "transfer",
]
