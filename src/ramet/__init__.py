"""Exact, independent twins of Keras models."""

from ramet import errors
from ramet._api import capture, clone, clone_model, cut, register_copy

__all__ = ["capture", "clone", "clone_model", "cut", "errors", "register_copy"]
__version__ = "0.1.0"
