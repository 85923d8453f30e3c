"""`drop_dropout`: remove the layers that act only in training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras

from ramet._edit.base import Edit, SelectorLike
from ramet._edit.plans import PlanItems, Skip, Step, Touch
from ramet._edit.session import EditSession
from ramet._edit.settings import update_settings
from ramet._keras import structure
from ramet._report import with_article
from ramet._select import Candidate

_DROPOUT = (
    keras.layers.Dropout,
    keras.layers.SpatialDropout1D,
    keras.layers.SpatialDropout2D,
    keras.layers.SpatialDropout3D,
    keras.layers.GaussianDropout,
    keras.layers.AlphaDropout,
    keras.layers.GaussianNoise,
)
_RATES = ("dropout", "recurrent_dropout")


@dataclass(frozen=True, repr=False)
class DropDropout(Edit):
    """Remove dropout and noise layers, which act only in training.

    Inside a layer that applies dropout itself, such as `LSTM(dropout=0.2)` or a wrapper, the rate is set to 0 instead.
    The model computes the same at inference. The edit skips layers that are called with `training=True`, and dropout
    layers that the code of another class creates and calls.

    Args:
        selector: The layers to look at; all by default. Layers without dropout or noise are ignored.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> layers = [keras.layers.Dropout(0.5, name="drop"), keras.layers.Dense(3, name="dense")]
    >>> model = keras.Sequential([keras.Input((4,)), *layers], name="net")
    >>> print(ramet.plan(model, e.drop_dropout()))
    Plan for 'net': 1 edit, 1 op touched
    <BLANKLINE>
    1. drop_dropout(): 1 op, function preserved
      drop  Dropout, removed
    >>> [layer.name for layer in ramet.edit(model, e.drop_dropout()).layers]
    ['dense']
    """

    kind = "drop_dropout"
    preserves_function = True
    adds_layers = False

    selector: SelectorLike = None

    def plan(self, session: EditSession) -> PlanItems:
        for candidate in session.find(self.selector):
            layer = session.op(candidate.path)
            if isinstance(layer, _DROPOUT):
                yield from _planned(candidate, session)
            elif isinstance(layer, keras.Layer) and structure.function_of(layer) is None:  # a graph has dropout layers
                rates = [name for name in _RATES if _has_rate(candidate.op.config, name)]
                if rates:
                    yield _set_to_zero(candidate, *rates)

    def apply(self, step: Step, session: EditSession) -> None:
        for item in step.touched:
            if item.detail is not None:
                update_settings(session, item.path, dict(item.detail))
                continue
            for call in session.calls(item.path).values():
                session.changes.at(call).keep = (0,)
            session.changed.append(item.path)


def _planned(candidate: Candidate, session: EditSession) -> PlanItems:
    """Yield what happens to a dropout or noise layer; nothing if a rate of the layer around it decides."""
    path, holder = candidate.path, session.holder(candidate.path)
    setting = "stddev" if isinstance(session.op(path), keras.layers.GaussianNoise) else "rate"
    calls = session.calls(path).values()
    if structure.function_of(holder) is None:
        if isinstance(holder, keras.layers.Wrapper):
            yield _set_to_zero(candidate, setting)
        elif not any(hasattr(holder, name) or hasattr(holder, f"_{name}") for name in _RATES):
            yield Skip(path, f"it is created and called by the code of {with_article(type(holder).__name__)}")
    elif any(_training_argument(call) for call in calls):
        yield Skip(path, "it is called with training=True, so it also acts at inference")
    elif any(len(call.input_tensors) != 1 or len(call.outputs) != 1 for call in calls):
        yield _set_to_zero(candidate, setting)
    else:
        yield Touch(path, f"{candidate.op.class_name}, removed", claims=frozenset({"layer"}))


def _set_to_zero(candidate: Candidate, *names: str) -> Touch:
    what = f"{candidate.op.class_name}, {' and '.join(names)} set to 0"
    # Nothing is claimed: an edit that replaces the layer may come with this one.
    return Touch(candidate.path, what, claims=frozenset(), detail=dict.fromkeys(names, 0.0))


def _training_argument(call: Any) -> Any:
    named = structure.arguments_by_name(call.operation, call.arguments.args, call.arguments.kwargs)
    return named.get("training")


def _has_rate(config: object, name: str) -> bool:
    value = getattr(config, "get", lambda _: None)(name)
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


drop_dropout = DropDropout
