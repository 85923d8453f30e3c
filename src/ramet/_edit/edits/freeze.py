"""`freeze` and `unfreeze`: choose what is trained, at all levels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import keras

from ramet._edit.base import Edit, SelectorLike
from ramet._edit.plans import PlanItems, Step, Touch
from ramet._edit.session import EditSession
from ramet._edit.trainable import Flag, TrainingForecast
from ramet._keras import layers, lora
from ramet._select import anything


@dataclass(frozen=True, repr=False)
class _SetTrainable(Edit, abstract=True):
    """The shared part of `freeze` and `unfreeze`."""

    preserves_function = False
    adds_layers = False
    trainable: ClassVar[bool]

    selector: SelectorLike = None
    required: bool = field(default=True, kw_only=True)

    def plan(self, session: EditSession) -> PlanItems:
        word = "trainable" if self.trainable else "frozen"
        whole = self._is_whole(session)
        for candidate in session.find(self.selector, required=self.required and not whole):
            op = session.op(candidate.path)
            if not isinstance(op, keras.Layer) or session.is_input(candidate.path):
                continue
            but = ", except for the weights that LoRA updates" if self.trainable and lora.is_enabled(op) else ""
            # Nothing is claimed: of several edits of flags, the last one counts.
            yield Touch(candidate.path, f"{candidate.op.class_name}, {word}{but}", claims=frozenset())
        if whole:
            yield f"the weights of '{session.twin.name}' itself: {word}"

    def apply(self, step: Step, session: EditSession) -> None:
        """Record the flags: they are set at the end, on the layers that are in these places then."""
        flag = Flag.TRAINABLE if self.trainable else Flag.FROZEN
        session.flags += [(path, flag) for path in self._paths(step, session)]

    def forecast_training(self, step: Step, forecast: TrainingForecast) -> None:
        for path in self._paths(step, forecast.session):
            forecast.set_below(path, trainable=self.trainable)

    def _paths(self, step: Step, session: EditSession) -> list[str]:
        whole = [""] if self._is_whole(session) else []
        return whole + [item.path for item in step.touched]

    def _is_whole(self, session: EditSession) -> bool:
        """Return whether the edit is about everything, and the model has weights that belong to none of its layers."""
        return self.selector == anything() and bool(layers.own_variables(session.twin))


@dataclass(frozen=True, repr=False)
class Freeze(_SetTrainable):
    """Freeze each matching layer or model, with everything inside it.

    Frozen variables lose their optimizer slots. Of several edits that set the same flag, the last one counts:
    `e.freeze(), e.unfreeze("head")` trains the head only. A plan notes if nothing is left to train, or if a class would
    not save the flags of the layers that it creates.

    Args:
        selector: The layers and models to freeze; all by default.
        required: Raise an error if nothing matches.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential(
    ...     [keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")], name="net"
    ... )
    >>> new = ramet.edit(model, e.freeze("a"))
    >>> [weight.path for weight in new.trainable_weights]
    ['net/b/kernel', 'net/b/bias']
    """

    kind = "freeze"
    trainable = False


@dataclass(frozen=True, repr=False)
class Unfreeze(_SetTrainable):
    """Make each matching layer or model trainable, with everything inside it.

    Of several edits that set the same flag, the last one counts. Weights that LoRA updates stay frozen; see
    `ramet.edits.lora`.

    Args:
        selector: The layers and models to make trainable; all by default.
        required: Raise an error if nothing matches.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential(
    ...     [keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")], name="net"
    ... )
    >>> new = ramet.edit(model, e.freeze(), e.unfreeze("b"))
    >>> [weight.path for weight in new.trainable_weights]
    ['net/b/kernel', 'net/b/bias']
    """

    kind = "unfreeze"
    trainable = True


freeze = Freeze
unfreeze = Unfreeze
