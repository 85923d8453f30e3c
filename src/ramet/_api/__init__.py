"""The public verbs, each a few lines. The live side is imported when a verb is called, not before."""

from ramet._api.cloning import clone, clone_model, register_copy
from ramet._api.comparing import diff, verify
from ramet._api.drawing import draw
from ramet._api.editing import edit, plan, read_recipe, select
from ramet._api.graphs import capture, cut
from ramet._api.weights import sync, transfer

__all__ = [
    "capture",
    "clone",
    "clone_model",
    "cut",
    "diff",
    "draw",
    "edit",
    "plan",
    "read_recipe",
    "register_copy",
    "select",
    "sync",
    "transfer",
    "verify",
]
