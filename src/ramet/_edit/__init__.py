"""Edits as data: what shall be done to which layers, what that would touch, and recipes read from a file."""

from ramet._edit.assert_edit import assert_edit
from ramet._edit.door import edit, plan
from ramet._edit.edit import PRESERVING, Edit, as_edits
from ramet._edit.from_config import check_layers
from ramet._edit.layer_config import FROM_OLD, LayerConfig, objects_in, refused
from ramet._edit.plan import AdaptedWeight, Plan, Skip, Step, Touch
from ramet._edit.recipe import Recipe, read_recipe
from ramet.errors import RecipeError

__all__ = [
    "FROM_OLD",
    "PRESERVING",
    "AdaptedWeight",
    "Edit",
    "LayerConfig",
    "Plan",
    "Recipe",
    "RecipeError",
    "Skip",
    "Step",
    "Touch",
    "as_edits",
    "assert_edit",
    "check_layers",
    "edit",
    "objects_in",
    "plan",
    "read_recipe",
    "refused",
]
