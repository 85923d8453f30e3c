"""`split_activation`: turn a layer's activation into a layer of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras

from ramet._edit.base import Edit, SelectorLike
from ramet._edit.names import free_name
from ramet._edit.plans import PlanItems, Skip, Step, Touch
from ramet._edit.session import EditSession
from ramet._edit.settings import CONVOLUTIONS, DEPTHWISE, SEPARABLE, TRANSPOSED, update_settings
from ramet._keras import structure
from ramet._report import with_article

# Classes that apply their activation last, to their output. Classes derived from them do so, too.
_ACTIVATION_LAST = (
    keras.layers.Dense,
    keras.layers.EinsumDense,
    *CONVOLUTIONS,
    *TRANSPOSED,
    *DEPTHWISE,
    *SEPARABLE,
)


@dataclass(frozen=True, repr=False)
class SplitActivation(Edit):
    """Turn the activation of dense and convolutional layers into a layer of its own after them.

    The model computes the same. The new layer is called `<name>_activation`. The edit skips layers that use their
    activation inside, such as recurrent ones, and classes of your own with a `call` method.

    Args:
        selector: The layers to look at; all by default. Layers without an activation are ignored.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu", name="a")])
    >>> new = ramet.edit(model, e.split_activation())
    >>> [layer.name for layer in new.layers]
    ['a', 'a_activation']
    >>> new.get_layer("a").activation.__name__
    'linear'
    """

    kind = "split_activation"
    preserves_function = True
    adds_layers = False

    selector: SelectorLike = None

    def plan(self, session: EditSession) -> PlanItems:
        for candidate in session.find(self.selector):
            layer = session.op(candidate.path)
            activation = getattr(layer, "activation", None)
            if (
                not isinstance(layer, keras.Layer)
                or isinstance(layer, keras.layers.Activation)
                or is_linear(activation)
            ):
                continue
            reason = _objection(layer, candidate.path, session)
            if reason is not None:
                yield Skip(candidate.path, reason)
                continue
            name = getattr(activation, "__name__", type(activation).__name__)
            what = f"{candidate.op.class_name}, {name} as a layer after it"
            yield Touch(candidate.path, what, claims=frozenset({"setting activation"}))

    def apply(self, step: Step, session: EditSession) -> None:
        for item in step.touched:
            layer = session.op(item.path)
            name = free_name(f"{layer.name}_activation", session.taken_names(item.path))
            session.take_name(item.path, name)
            after = keras.layers.Activation(layer.activation, name=name, dtype=layer.dtype_policy)
            update_settings(session, item.path, {"activation": "linear"})
            for call in session.calls(item.path).values():
                # Layers that other edits insert after this one come after its activation.
                session.changes.at(call).after.setdefault(0, []).insert(0, after)


def _objection(layer: Any, path: str, session: EditSession) -> str | None:
    """Return why the activation of a layer cannot be split off, or None."""
    if not isinstance(layer, _ACTIVATION_LAST):
        return f"{with_article(type(layer).__name__)} uses its activation inside"
    if "call" in type(layer).__dict__ and not type(layer).__module__.startswith("keras."):
        return f"{type(layer).__name__} has a call method of its own"
    if structure.function_of(session.holder(path)) is None:
        return "it is called by the code of the layer around it"
    return None


def is_linear(activation: Any) -> bool:
    """Return whether an activation changes nothing."""
    return activation is None or activation is keras.activations.linear


split_activation = SplitActivation
