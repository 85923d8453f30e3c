"""Edits as data: what shall be done to which layers, what that would touch, and recipes read from a file."""

from ramet._edit.edit import PRESERVING, Edit, as_edits
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
    "objects_in",
    "read_recipe",
    "refused",
]
