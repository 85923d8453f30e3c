"""`update`: change settings of layers, in the call, in training and in the saved file."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import keras

from ramet._arguments import check_flag
from ramet._edit.base import Edit, SelectorLike, WeightPolicy
from ramet._edit.plans import PlanItems, Skip, Step, Touch
from ramet._edit.session import EditSession
from ramet._edit.settings import adapted_weights, cannot_update, dtype_policy, update_settings
from ramet._keras import lora, quantization
from ramet._report import with_article
from ramet._select import as_selector
from ramet._weights import check_policy
from ramet.errors import EditError

# Settings that a config contains only if they are set.
_OPTIONAL = {"activity_regularizer"}


@dataclass(frozen=True, repr=False, init=False)
class Update(Edit):
    """Change settings of each matching layer.

    The new values take effect in the call, in training and in the saved file. To change the dtype of a quantized layer,
    use `ramet.edits.cast`; to enable LoRA, use `ramet.edits.lora`. Models are skipped: their settings are those of
    their layers.

    Args:
        selector: The layers to change.
        weights: How to adapt weights whose shape changes: `"refuse"`, `"slice"`, `"pad"`, `"mean"`, `"repeat"` or
            `"fresh"`, as in `ramet.edits.resize_input`.
        required: Raise an error if nothing matches.
        **settings: New settings by name, as the constructor of the layer takes them and its config lists them.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dropout(0.5, name="drop")])
    >>> ramet.edit(model, e.update("drop", rate=0.1)).get_layer("drop").rate
    0.1
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="a")])
    >>> ramet.edit(model, e.update("a", units=3, weights="pad")).output_shape
    (None, 3)
    """

    kind = "update"
    preserves_function = False
    adds_layers = False

    selector: SelectorLike
    settings: tuple[tuple[str, Any], ...]
    weights: WeightPolicy
    required: bool

    def __init__(
        self, selector: SelectorLike, *, weights: WeightPolicy = "refuse", required: bool = True, **settings: Any
    ) -> None:
        check_flag(self.kind, "required", required)
        self._store("selector", as_selector(selector))
        self._store("settings", tuple(settings.items()))
        self._store("weights", weights)
        self._store("required", required)

    def _shown(self) -> Iterator[tuple[str, Any]]:
        yield from (("selector", self.selector), *self.settings, ("weights", self.weights))

    def plan(self, session: EditSession) -> PlanItems:
        check_policy(self.weights)
        settings = dict(self.settings)
        for candidate in session.find(self.selector, required=self.required):
            config = candidate.op.config
            layer = session.op(candidate.path)
            if not isinstance(layer, keras.Layer) or config is None:
                reason = candidate.op.no_config or "a raw operation has no settings"
                raise cannot_update(candidate.path, f"its settings are not known ({reason})")
            _check_settings(layer, settings, candidate.path)
            known = {str(key) for key, _ in config.pairs} | _OPTIONAL
            for name in settings:
                if name not in known:
                    raise EditError(
                        f"Cannot update '{candidate.path}': {with_article(candidate.op.class_name)} has no setting '{name}'.",
                        closest=difflib.get_close_matches(name, sorted(known), n=3),
                        fix="use a name from its get_config(), or select other layers.",
                        path=candidate.path,
                    )
            if candidate.op.kind == "model":
                yield Skip(candidate.path, "a model, whose settings are those of its layers")
                continue
            values = ", ".join(f"{name}={value!r}" for name, value in settings.items())
            claims = frozenset(f"setting {name}" for name in settings)
            yield Touch(candidate.path, f"{candidate.op.class_name}, {values}", claims=claims)

    def preview(self, step: Step, steps: list[Step], session: EditSession) -> Step:
        adapted = [
            one
            for item in step.touched
            for one in adapted_weights(session.op(item.path), item.path, dict(self.settings), self.weights)
        ]
        return dataclasses.replace(step, adapted=tuple(adapted))

    def apply(self, step: Step, session: EditSession) -> None:
        for item in step.touched:
            update_settings(session, item.path, dict(self.settings), policy=self.weights)


def _check_settings(layer: Any, settings: dict[str, Any], path: str) -> None:
    """Refuse settings that a config alone cannot put into force."""
    if "dtype" in settings:
        dtype_policy(settings["dtype"], f"update '{path}'")
        if quantization.mode_of(layer) is not None:
            raise EditError(
                f"Cannot update the dtype of '{path}': it is quantized to {quantization.mode_of(layer)}.",
                fix="use e.cast(policy, selector), which gives it float weights.",
                path=path,
            )
    for name in ("lora_rank", "lora_alpha"):
        if name in settings:
            way = "e.merge_lora() first, then e.lora" if lora.is_enabled(layer) else "e.lora"
            raise EditError(
                f"Cannot update '{path}' with {name}={settings[name]!r}: LoRA is enabled by an edit of its own.",
                fix=f"use {way}(selector, rank=..., alpha=...).",
                path=path,
            )


update = Update
