"""What a file would keep of an edited model: a class that makes its own config does not say what was changed inside."""

from __future__ import annotations

from typing import Any

import keras

from ramet._capture.settings import op_settings
from ramet._keras import exchange, structure
from ramet._keras.counters import names_untouched
from ramet._keras.structure import inside
from ramet._surgery.naming import chosen_by_keras
from ramet._surgery.probe import drawn_alike
from ramet.errors import LostOnSaveError


def becomes_plain(model: Any) -> bool:
    """Whether a model with a call graph must give up its class for its new calls to be saved."""
    return structure.function_of(model) is not None and not structure.saves_its_calls(model)


def become_plain(model: Any) -> None:
    """A model whose class would not save its calls becomes a plain functional one."""
    if becomes_plain(model):
        exchange.become(model, plain_class())


def plain_class() -> type:
    """The class of `keras.Model(inputs, outputs)`."""
    with names_untouched():
        tensor = keras.Input((1,))
        return type(keras.Model(tensor, keras.ops.negative(tensor)))


def check_saved(holder: Any, path: str) -> None:
    """Refuse a change inside a layer or model that makes its parts itself, and would make the old ones again.

    Asked is the class: made again from its config, does the holder have the parts it has now?
    """
    try:
        with names_untouched():
            again = drawn_alike(lambda: _made_again(holder))
    except Exception as error:  # a user's class may raise anything; then it cannot be saved anyway
        raise _lost(holder, path, f"made again from its config, it raises {type(error).__name__}: {error}") from error
    parts = inside(again)
    # By their places: names that Keras chose are others each time.
    for place, op in enumerate(inside(holder)):
        other = parts[place] if place < len(parts) else None
        if other is None or type(other) is not type(op):
            found = "none" if other is None else f"a {type(other).__name__}"
            raise _lost(holder, path, f"made again from its config, it holds {found} in the place of '{op.name}'")
        if not same_settings(op, other):
            raise _lost(holder, path, f"made again from its config, its '{op.name}' has other settings")


def _made_again(holder: Any) -> Any:
    """As a file makes it: some layers make their parts when they are built."""
    again = type(holder).from_config(holder.get_config())
    if holder.built and not again.built and isinstance(holder, keras.Layer) and not isinstance(holder, keras.Model):
        again.build_from_config(holder.get_build_config() or {})
    return again


def same_settings(op: Any, other: Any) -> bool:
    """Whether two ops say the same config, besides names that Keras chose and flags, which no config of a holder tells."""
    unsaid = {"trainable", "name"} if chosen_by_keras(op) and chosen_by_keras(other) else {"trainable"}
    return bool(_said(op, unsaid) == _said(other, unsaid))


def _said(op: Any, unsaid: set[str]) -> Any:
    config = op_settings(op)["config"]
    return None if config is None else [(key, setting) for key, setting in config.pairs if key not in unsaid]


def _lost(holder: Any, path: str, why: str) -> LostOnSaveError:
    return LostOnSaveError(
        f"Cannot edit '{path}': a saved file would not keep it, because {type(holder).__name__} makes its parts itself.",
        found=why,
        fix="pass unsaved=True for a model that is used but not saved, or write the change into the class.",
        path=path,
    )
