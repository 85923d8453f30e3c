"""Edits as data: what shall be done to which layers, what that would touch, and recipes read from a file."""

from ramet._edit.edit import PRESERVING, Edit, as_edits
from ramet._edit.plan import Plan, Skip, Step, Touch

__all__ = ["PRESERVING", "Edit", "Plan", "Skip", "Step", "Touch", "as_edits"]
