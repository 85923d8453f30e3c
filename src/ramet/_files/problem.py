"""What can be wrong with a model file."""

from __future__ import annotations

from ramet._graph import escape
from ramet.errors import HostileFileError, ModelFileError, OutOfBudgetError

__all__ = ["HostileFileError", "ModelFileError", "OutOfBudgetError", "described", "misfit"]

_SHOWN = 40


def misfit(expected: str, found: object, place: str) -> ModelFileError:
    """The error for a part of a config that is not what it should be.

    Args:
        expected: What should stand there.
        found: What stands there.
        place: Where: `config.layers[3].name`.
    """
    return ModelFileError(
        f"Cannot read the model: '{escape(place)}' of its config is not {expected}.", found=described(found), path=place
    )


def described(value: object) -> str:
    """A JSON value in a few words."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return f"the number {value}" if value.bit_length() < 64 else "a huge number"
    if isinstance(value, float):
        return f"the number {value}"
    if isinstance(value, str):
        # `ascii` escapes whatever a terminal would act on.
        return f"the text {value[:_SHOWN]!a}{'...' if len(value) > _SHOWN else ''}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return f"an object of {len(value)} fields" if isinstance(value, dict) else type(value).__name__
