"""`resize_input`: change the shape of an input, and adapt the weights that depend on it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np

from ramet._arguments import as_tuple, check_text
from ramet._build import resized_input
from ramet._edit.base import Edit, InputShape, WeightPolicy
from ramet._edit.engine import apply_alone
from ramet._edit.plans import PlanItems, Step, Touch
from ramet._edit.refit import Refit
from ramet._edit.session import BUILD_FIRST, EditSession
from ramet._keras import structure
from ramet._weights import check_policy
from ramet.errors import ArgumentError, EditError, RametError


@dataclass(frozen=True, repr=False)
class ResizeInput(Edit):
    """Change the shape of an input; all names stay.

    Positions are followed from the input to the weights that belong to them, through `Flatten`, `Reshape` and the like.
    With `weights="pad"`, the old values plus anything in the new channels give the outputs of the old model. Cases
    without a right answer are refused, such as a dense layer on the flattened positions of a resized convolution.

    Args:
        shape: The sizes without the batch; `None` for any size.
        input: The name of the input, if the model has several.
        weights: How to adapt weights that no longer fit:

            - `"refuse"`: raise an error that lists them;
            - `"slice"`: keep the first values, to shrink;
            - `"pad"`: add zeros, to grow;
            - `"mean"`: use the mean of the old values for new positions;
            - `"repeat"`: repeat the old values;
            - `"fresh"`: initialize them again.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential(
    ...     [keras.Input((8, 8, 3), name="image"), keras.layers.Conv2D(2, 3, name="conv")], name="net"
    ... )
    >>> print(ramet.plan(model, e.resize_input((8, 8, 4), weights="pad")))
    Plan for 'net': 1 edit, 1 op touched
    <BLANKLINE>
    1. resize_input(shape=(8, 8, 4), weights='pad'): 1 op
      image  shape (8, 8, 3) -> (8, 8, 4)
      1 weight adapted:
        conv/kernel  (3, 3, 3, 2) -> (3, 3, 4, 2)  pad, axis 2
    """

    kind = "resize_input"
    preserves_function = False
    adds_layers = False

    shape: InputShape
    input: str | None = field(default=None, kw_only=True)
    weights: WeightPolicy = field(default="refuse", kw_only=True)

    def __post_init__(self) -> None:
        sizes = as_tuple(self.kind, "shape", self.shape, "the sizes without the batch, such as (32, 32, 4)")
        self._store("shape", sizes)
        if self.input is not None:
            check_text(self.kind, "input", self.input)

    def plan(self, session: EditSession) -> PlanItems:
        check_policy(self.weights)
        function = structure.function_of(session.twin)
        if function is None and isinstance(session.twin, keras.Sequential):
            raise EditError(f"Cannot resize the input of '{session.model.name}': it is not built.", fix=BUILD_FIRST)
        if function is None:
            raise EditError(
                f"Cannot resize the input of '{session.model.name}': it has no call graph.",
                fix="call it on inputs of another shape, which a layer or subclassed model accepts as its code allows; "
                "build a fresh one for other weights.",
            )
        tensors = keras.tree.flatten(structure.inputs_of(function))
        names = list(map(structure.input_name, tensors))
        known = zip(names, tensors, strict=True)
        found = [(name, old) for name, old in known if self.input in (None, name, old.name)]
        if len(found) != 1:
            raise EditError(
                f"Cannot resize the input of '{session.model.name}': it has the inputs {', '.join(map(repr, names))}.",
                fix="choose one: resize_input(shape, input='name').",
            )
        name, old = found[0]
        shape = _checked_shape(tuple(self.shape), name, old)
        what = f"shape {tuple(old.shape[1:])} -> {shape}"
        yield Touch(name, what, claims=frozenset({"shape"}), detail=(old.name, shape))

    def preview(self, step: Step, steps: list[Step], session: EditSession) -> Step:
        """Find the adapted weights by resizing a twin, which is thrown away: only there it shows where the shape arrives.

        If the edit is refused on its own but there are other edits, these may make the difference.
        """
        try:
            adapted = apply_alone(step, session.model).adapted
        except RametError as error:
            if len(steps) == 1:
                raise
            note = f"on its own, this edit is refused: {error.summary} Together with the others it may be possible."
            return dataclasses.replace(step, notes=(*step.notes, note))
        return dataclasses.replace(step, adapted=tuple(adapted))

    def apply(self, step: Step, session: EditSession) -> None:
        """Record the new input. Layers are fitted while calls are made again, each just before its call."""
        name, shape = step.touched[0].detail
        own = structure.inputs_of(structure.function_of(session.twin)) if session.inputs is None else session.inputs
        refit = session.changes.refit
        if not isinstance(refit, Refit):
            refit = session.changes.refit = Refit(session, self.weights)
        if refit.policy != self.weights:
            raise EditError(
                f"Cannot resize two inputs of '{session.model.name}' at once with weights='{refit.policy}' and "
                f"weights='{self.weights}'.",
                fix="pass the same policy, or resize one after the other: edit(edit(model, a), b).",
                path=step.touched[0].path,
            )

        def resized(tensor: Any) -> Any:
            if session.inputs is not None and tensor.name != name:
                return tensor
            new = structure.input_like(tensor, (tensor.shape[0], *(shape if tensor.name == name else tensor.shape[1:])))
            if tensor.name == name:
                refit.track(new, resized_input(tensor.shape, new.shape, self.weights))
            return new

        session.inputs = keras.tree.map_structure(resized, own)


def _checked_shape(shape: tuple[Any, ...], name: str, old: Any) -> tuple[int | None, ...]:
    if len(shape) != len(old.shape) - 1:
        raise EditError(
            f"Cannot resize '{name}' to {shape}: it needs {len(old.shape) - 1} sizes, without the batch.",
            expected=f"a shape like {tuple(old.shape[1:])}",
            fix="pass that many sizes; None for any size.",
            path=name,
        )
    for size in shape:
        if size is not None and (isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1):
            raise ArgumentError(
                f"Cannot resize '{name}' to {shape}: {size!r} is not a size.",
                expected="positive integers; None for any size",
                fix=f"pass a shape like {tuple(old.shape[1:])}.",
                path=name,
            )
    return tuple(None if size is None else int(size) for size in shape)


resize_input = ResizeInput
