"""Marks on layers and models whose config does not describe an edit: whoever asks for the config is warned.

Everything that writes a model or makes it again (`save`, `save_model`, `ModelCheckpoint`, `to_json`, pickle, `clone_model`) asks
the class for its config. So the mark is an attribute `get_config` of the object itself, in front of the one of the class. A twin
gets a mark of its own, because the mark is copied like any other attribute.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from ramet.errors import LostOnSaveWarning, listed

_quiet: ContextVar[bool] = ContextVar("ramet_reads_configs", default=False)


class LossyConfig:
    """The method `get_config` of one object, with a warning.

    Args:
        owner: The layer or model whose class does not describe the edit.
        lost: What is lost, one sentence for each difference.
    """

    def __init__(self, owner: Any, lost: tuple[str, ...]) -> None:
        self.owner = owner
        self.lost = lost

    def __call__(self) -> Any:
        if not _quiet.get():
            _warn(self.owner, self.lost)
        return type(self.owner).get_config(self.owner)

    @property
    def _is_default(self) -> bool:
        # Keras makes a config of the arguments of `__init__` where a class leaves `get_config` as it is.
        return bool(getattr(type(self.owner).get_config, "_is_default", False))


def mark(op: Any, lost: list[str]) -> None:
    """Warn whenever the config of an op is asked for."""
    op.__dict__["get_config"] = LossyConfig(op, tuple(lost))


def unmark(op: Any) -> None:
    """Warn no more."""
    if is_marked(op):
        del op.__dict__["get_config"]


def is_marked(op: Any) -> bool:
    """Whether the config of an op is known to lose an edit."""
    return isinstance(op.__dict__.get("get_config"), LossyConfig)


@contextlib.contextmanager
def reading_configs() -> Iterator[None]:
    """Configs may be asked for without a warning: nothing is made of them that a user would miss an edit in."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def _warn(owner: Any, lost: tuple[str, ...]) -> None:
    frame = sys._getframe(2)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in ("keras", "ramet"):
        frame = frame.f_back
    lost = tuple(one.removeprefix("made again from its config, ") for one in lost)
    shown = (
        "made again from the config, " + "; ".join(lost[:3]) + (f"; and {len(lost) - 3} more" if len(lost) > 3 else "")
    )
    # A registry of its own: Python would show the same text from the same line only once, and every file loses the edit.
    warnings.warn_explicit(
        f"The config of {listed([str(owner.name)])} does not describe an edit, so a file will not keep it: "
        f"{type(owner).__name__} makes its parts itself.\n"
        f"  lost: {shown}\n"
        "  fix: write the change into the class; or keep the weights only, with save_weights().",
        LostOnSaveWarning,
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        registry={},
    )
