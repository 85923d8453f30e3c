"""Exact, independent twins of Keras models."""

from ramet import edits, errors
from ramet._api import (
    capture,
    clone,
    clone_model,
    cut,
    diff,
    draw,
    edit,
    plan,
    read_recipe,
    register_copy,
    select,
    sync,
    transfer,
    verify,
)
from ramet._edit import Recipe
from ramet._select import anything, feeds, named, nth, of_class, reads, where, with_config

__all__ = [
    "Recipe",
    "anything",
    "capture",
    "clone",
    "clone_model",
    "cut",
    "diff",
    "draw",
    "edit",
    "edits",
    "errors",
    "feeds",
    "named",
    "nth",
    "of_class",
    "plan",
    "read_recipe",
    "reads",
    "register_copy",
    "select",
    "sync",
    "transfer",
    "verify",
    "where",
    "with_config",
]
__version__ = "0.1.0"
