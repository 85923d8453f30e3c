"""Edits of models: applying them to a twin, planning them, and reading and writing them as recipes.

A model and edits (frozen values, one class each in `edits/`) go in; an edited twin comes out of `edit`, and a `Plan`, which shows
what would happen, out of `plan`. Both start the same way: an `EditSession` captures the model, and each edit plans its step, that
is, which ops it touches and which it skips. `edit` then lets each edit change layers of the twin in place or record changes of
calls, and `rebuilding.py` applies these together, graph by graph. `recipe.py` reads edits from TOML files and writes them.
"""

from ramet._edit.base import Edit
from ramet._edit.engine import edit, plan
from ramet._edit.plans import Plan
from ramet._edit.recipe import Recipe, read_recipe

__all__ = ["Edit", "Plan", "Recipe", "edit", "plan", "read_recipe"]
