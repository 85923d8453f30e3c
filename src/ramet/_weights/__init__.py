"""Weights of one model in another: `transfer` once, `sync` at every training step.

Two models go in; the weights of the target are changed in place. `transfer` also reads model files and mappings of arrays, adapts
weights of other shapes by a policy, and returns a `TransferReport`. `sync` needs two models with the same weights, and updates
them in one call on the device. Edits use the policies, too.
"""

# No file is named after a public function: mypy would take `ramet.sync` for the module, because of import cycles.
from ramet._weights.policy import adapt, blocks_of, check_policy, is_inexact
from ramet._weights.report import TransferReport
from ramet._weights.syncing import sync
from ramet._weights.transferring import transfer
from ramet._weights.variables import refresh

__all__ = [
    "TransferReport",
    "adapt",
    "blocks_of",
    "check_policy",
    "is_inexact",
    "refresh",
    "sync",
    "transfer",
]
