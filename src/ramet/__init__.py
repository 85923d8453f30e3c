"""Exact, independent twins of Keras models."""

from ramet import errors
from ramet._api import clone, register_copy

__all__ = ["clone", "errors", "register_copy"]
__version__ = "0.1.0"
