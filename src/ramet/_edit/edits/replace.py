"""`replace` and `wrap`: put another layer in the place of one, or around it."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass, field
from typing import Any

import keras

from ramet._arguments import check_flag
from ramet._build import inherit_parent_path
from ramet._edit.base import Edit, LayerSource, SelectorLike, called
from ramet._edit.layer_config import LayerConfig, create_layer
from ramet._edit.names import settle_name
from ramet._edit.plans import PlanItems, Step, Touch
from ramet._edit.session import EditSession, inside_first
from ramet._keras import structure
from ramet._report import with_article
from ramet.errors import EditError


@dataclass(frozen=True, repr=False)
class Replace(Edit):
    """Replace each matching layer by another one, at every call and wherever it is held.

    Weights with the same name and shape are carried over, with their optimizer slots. The new layer must accept the
    inputs of the old one, and its consumers must accept its output; otherwise the error is a
    `ramet.errors.DoesNotFitError`.

    Args:
        selector: The layers to replace.
        layer: A function that takes the matching layer, which belongs to the twin, and returns the new one. A layer is
            accepted, too; the result gets an exact copy of it, which all matches share.
        weights: Carry over weights with the same name and shape.
        required: Raise an error if nothing matches.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.ReLU(name="b")])
    >>> new = ramet.edit(model, e.replace(keras.layers.ReLU, lambda old: keras.layers.Activation("gelu", name="gelu")))
    >>> [layer.name for layer in new.layers]
    ['a', 'gelu']
    """

    kind = "replace"
    preserves_function = False
    adds_layers = True

    selector: SelectorLike
    layer: LayerSource
    weights: bool = field(default=True, kw_only=True)
    required: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        check_flag(self.kind, "weights", self.weights)
        super().__post_init__()

    def plan(self, session: EditSession) -> PlanItems:
        return _planned(self, "replaced by another layer", session)

    def apply(self, step: Step, session: EditSession) -> None:
        for item in step.touched:
            old = session.op(item.path)
            new = new_layer(self.layer, old, item.path, session)
            if new is not old:
                _exchange(old, new, item.path, session)
                if self.weights:
                    session.carried.append((old, new))


@dataclass(frozen=True, repr=False)
class Wrap(Edit):
    """Wrap each matching layer in another one, which holds it.

    The wrapper keeps the layer itself with its weights, or, as `Bidirectional` does, a copy, which gets its weights.

    Args:
        selector: The layers to wrap.
        layer: A function that takes the layer, which belongs to the twin, and returns one that holds it.
        required: Raise an error if nothing matches.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")])
    >>> new = ramet.edit(model, e.wrap("a", lambda old: keras.layers.SpectralNormalization(old, name="spectral")))
    >>> [layer.name for layer in new.layers]
    ['spectral', 'b']
    >>> new.get_layer("spectral").layer.name
    'a'
    """

    kind = "wrap"
    preserves_function = False
    adds_layers = True

    selector: SelectorLike
    layer: LayerSource
    required: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.layer, LayerConfig):
            self._store("layer", dataclasses.replace(self.layer, holds_old=True))

    def plan(self, session: EditSession) -> PlanItems:
        return _planned(self, "wrapped", session)

    def apply(self, step: Step, session: EditSession) -> None:
        for item in step.touched:
            old = session.op(item.path)
            new = new_layer(self.layer, old, item.path, session)
            if new is not old:
                _check_wraps(new, old, item.path, session)
                _exchange(old, new, item.path, session)


def _planned(edit: Replace | Wrap, what: str, session: EditSession) -> PlanItems:
    for candidate in session.find(edit.selector, required=edit.required):
        if session.is_input(candidate.path):
            raise EditError(
                f"Cannot {edit.kind} '{candidate.path}': it is an input.",
                fix="use resize_input for another shape, or clone the model on other inputs.",
                path=candidate.path,
            )
        yield Touch(candidate.path, f"{candidate.op.class_name}, {what}", claims=frozenset({"layer"}))


def _exchange(old: Any, new: Any, path: str, session: EditSession) -> None:
    """Record that a new layer takes the place of an old one, under a free name."""
    # The old name is free again, unless the old layer lives on inside the new one.
    settle_name(new, path, session, without=[old])
    inherit_parent_path(new, old)
    session.changes.replace(old, new)
    session.changed.append(path)


def _check_wraps(new: Any, old: Any, path: str, session: EditSession) -> None:
    """Refuse a wrapper that holds neither the old layer nor, as Bidirectional does, a copy; a copy gets its weights."""
    parts = inside_first(new)[:-1]
    if any(part is old for part in parts):
        return
    copies = [
        part for part in parts if type(part) is type(old) and structure.name_of(part).endswith(structure.name_of(old))
    ]
    if not copies:
        raise EditError(
            f"Cannot wrap '{path}': the new layer does not hold the old one.",
            found=f"{with_article(type(new).__name__)} without it",
            fix="build the wrapper around the layer passed to the function, or use replace.",
            path=path,
        )
    # Of the two directions, take the one whose config is closest to that of the old layer.
    config = old.get_config()
    session.carried.append((old, min(copies, key=lambda copy: _differences(copy.get_config(), config))))


def _differences(config: dict[str, Any], expected: dict[str, Any]) -> int:
    return sum(config.get(name) != setting for name, setting in expected.items())


def new_layer(source: LayerSource, old: Any, path: str, session: EditSession) -> Any:
    """Return the layer that a factory makes for an old one, or a copy of the layer that was passed instead of a factory."""
    if isinstance(source, LayerConfig):
        source = functools.partial(create_layer, source)
    is_layer = isinstance(source, keras.Operation | type) or not callable(source)
    new = source if is_layer else called(source, old)
    if not isinstance(new, keras.Operation):
        raise EditError(
            f"Cannot put a layer at '{path}': {'it is not a layer' if is_layer else 'the function did not return one'}.",
            expected="a layer, or a function that takes the old layer and returns a new one",
            found=f"the class {new.__name__}" if isinstance(new, type) else f"an object of class {type(new).__name__}",
            fix="pass a function that returns a layer, e.g. lambda old: keras.layers.Activation('gelu').",
            path=path,
        )
    if session.is_original(new):
        raise EditError(
            f"Cannot put '{new.name}' at '{path}': it belongs to the model passed in, which must not change.",
            fix="use the layer passed to the function, which belongs to the twin, or a clone: ramet.clone(layer).",
            path=path,
        )
    # The edit may be applied again, and the user may go on with the layer: results share nothing with either.
    return session.copy_of(new) if is_layer else new


replace = Replace
wrap = Wrap
