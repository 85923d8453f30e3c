"""The copier: object graph in, object graph out. `clone.py` is the door."""

from ramet._copy._compiled import is_at_work
from ramet._copy.clone import clone
from ramet._copy.plans import register

__all__ = [
    "clone",
    "is_at_work",
    "register",
]
