"""Trainable flags: setting them after all edits, and predicting for a plan what will be trained."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

import keras

from ramet._edit.plans import Step
from ramet._edit.session import EditSession, inside_first, layers_below
from ramet._keras import exchange, layers, lora, structure
from ramet.errors import listed

# The weights of a layer that quantization and LoRA fix.
BASE_WEIGHTS = ("kernel", "embeddings", "reverse_embeddings")


class Flag(enum.Enum):
    """A change of the flags below a path. Of several edits that concern a variable, the last one counts."""

    FROZEN = "frozen"
    TRAINABLE = "trainable"
    BASE_FROZEN = "everything but low-rank matrices is frozen"
    ADAPTERS = "low-rank matrices are trainable"


def set_flags(session: EditSession) -> None:
    """Set the recorded flags. Models around something trainable become trainable themselves, but not their other parts."""
    for path, flag in session.flags:
        op = session.successor(session.op_or_twin(path))
        if flag is Flag.BASE_FROZEN:
            _freeze_base(op)
            continue
        if flag is Flag.ADAPTERS:
            exchange.set_own_trainable(op, trainable=True)
            for matrix in (matrix for layer in layers_below(op) for matrix in lora.matrices(layer)):
                matrix.trainable = True
        else:
            _set_below(op, trainable=flag is Flag.TRAINABLE)
            # Keras sets the flag of every variable that was ever trainable, also of those that LoRA froze.
            for base in (base for layer in layers_below(op) if lora.is_enabled(layer) for base in lora.targets(layer)):
                base.trainable = False
        if flag is not Flag.FROZEN:
            for holder in session.holders(path):
                exchange.set_own_trainable(session.successor(holder), trainable=True)


def _set_below(root: Any, *, trainable: bool) -> None:
    """Set the flag of a layer, of everything inside it, and of their variables.

    TensorFlow ignores an assignment of the value that an attribute already has. Keras would then leave the flags of the
    variables unchanged, so the flags of the layers are inverted first.
    """
    same = [layer for layer in layers_below(root) if layer.trainable == trainable]
    for layer in same:
        exchange.set_own_trainable(layer, trainable=not trainable)
    root.trainable = trainable
    for layer in same:
        exchange.set_own_trainable(layer, trainable=trainable)


def _freeze_base(root: Any) -> None:
    """Freeze everything except low-rank matrices, which keep their flags."""
    trained = [m for layer in layers_below(root) for m in lora.matrices(layer) if m.trainable]
    kept = {id(matrix) for matrix in trained}
    flags = {id(layer): layer.trainable for layer in layers_below(root)}
    _set_below(root, trainable=False)
    for matrix in trained:
        matrix.trainable = True
    around: set[int] = set()
    for layer in layers_below(root):  # inner layers first
        parts = {id(part) for part in structure.ops_inside(layer)} | set(map(id, lora.matrices(layer)))
        if flags[id(layer)] and parts & (around | kept):
            around.add(id(layer))
            exchange.set_own_trainable(layer, trainable=True)


class TrainingForecast:
    """A prediction of what is trained after some edits, without applying them.

    Each edit records its effect by `Edit.forecast_training`; edits that change no flags record nothing.

    Args:
        session: The session of the plan, in which the twin is the model itself.
    """

    def __init__(self, session: EditSession) -> None:
        self.session = session
        self.changed = False  # whether any edit changed a flag
        self.narrowed = False  # whether any edit froze something, so that nothing may be left to train
        self._layers = layers_below(session.twin)
        self._flags = {id(op): bool(op.trainable) for op in self._layers}
        self._trained = {id(v): bool(v.trainable) for op in self._layers for v in layers.own_variables(op)}
        self._fixed = {id(v) for op in self._layers if lora.is_enabled(op) for v in lora.targets(op)}
        self._adapters: dict[int, bool] = {}  # layers that get low-rank matrices, and whether these are trained

    def set_below(self, path: str, *, trainable: bool) -> None:
        """Record that an op and everything inside it is frozen or made trainable."""
        self.changed = True
        self.narrowed = self.narrowed or not trainable
        for part in inside_first(self.session.op_or_twin(path)):
            self._flags[id(part)] = trainable
            if id(part) in self._adapters:
                self._adapters[id(part)] = trainable
            if isinstance(part, keras.Layer):
                trained = {id(v): trainable and id(v) not in self._fixed for v in layers.own_trainable(part)}
                self._trained.update(trained)
        if trainable:
            self._open_above(path)

    def fix_base_weights(self, path: str) -> None:
        """Record that the kernel or embedding of a layer is no longer trained: it is quantized or updated by LoRA."""
        self.changed = True
        layer = self.session.op(path)
        self._fixed |= {id(v) for v in layers.own_trainable(layer) if v.name in BASE_WEIGHTS}
        self._trained.update(dict.fromkeys(self._fixed, False))

    def freeze_all_but_adapters(self) -> None:
        """Record that everything is frozen except low-rank matrices, which keep their flags."""
        kept = {id(m): m.trainable for op in self._layers for m in lora.matrices(op)}
        adapters = dict(self._adapters)
        self.set_below("", trainable=False)
        self._adapters |= adapters
        self._trained |= kept
        for op in self._layers:
            self._flags[id(op)] = self._flags[id(op)] or any(kept.get(id(m)) for m in lora.matrices(op))

    def add_adapters(self, path: str) -> None:
        """Record that a layer gets low-rank matrices, which are trained."""
        self.changed = self.narrowed = True
        layer = self.session.op(path)
        self._adapters[id(layer)] = self._flags[id(layer)] = True
        self._open_above(path)

    def trained_layers(self) -> dict[int, Any]:
        """Return the layers that own a trained variable, by id, in the model's order."""
        if not self._flags[id(self.session.twin)]:
            return {}
        return {
            id(op): op
            for op in sorted(self._layers, key=self.session.position_of)
            if self._flags[id(op)]
            and (self._adapters.get(id(op)) or any(self._trained[id(v)] for v in layers.own_variables(op)))
        }

    def _open_above(self, path: str) -> None:
        for above in self.session.holders(path):
            self._flags[id(above)] = True


def notes_on_training(steps: list[Step], session: EditSession) -> Iterator[str]:
    """Yield warnings about what `fit` would do after these edits: train nothing, or nothing that affects the outputs."""
    steps = [step for step in steps if step.touched]
    if any(step.edit.adds_layers for step in steps):
        return  # what the new layers train is not known before they exist
    forecast = TrainingForecast(session)
    for step in steps:
        step.edit.forecast_training(step, forecast)
    if not forecast.changed:
        return
    trained = forecast.trained_layers()
    if not trained:
        yield "nothing is left to train: every weight is frozen, so fit() would change none of them."
        return
    names = listed([session.path_of(op) or session.model.name for op in trained.values()], 5)
    function = structure.function_of(session.twin)
    if function is None:
        if forecast.narrowed:
            yield (
                f"trainable afterwards: {names}. The model has no call graph, so it is not known whether its loss depends "
                "on them; if it does not, fit() fails on torch."
            )
    elif not any(id(op) in trained for op in _reached_by_gradients(function)):
        yield (
            f"no weight that stays trainable leads to an output ({names}): "
            "fit() fails on torch and changes nothing on the other backends."
        )


def _reached_by_gradients(function: Any) -> Iterator[Any]:
    """Yield every op that gradients from the outputs reach: integer tensors and stopped gradients end a path."""
    waiting = list(keras.tree.flatten(structure.outputs_of(function)))
    seen: set[int] = set()
    while waiting:
        tensor = waiting.pop()
        call = structure.producing_call(tensor)
        if call is None or id(tensor) in seen or "float" not in str(tensor.dtype):
            continue
        seen.add(id(tensor))
        op = call.operation
        inner = structure.function_of(op)
        if type(op).__name__ == "StopGradient":
            continue
        if inner is None:
            yield from inside_first(op)
        else:
            waiting += keras.tree.flatten(structure.outputs_of(inner))
        waiting += call.input_tensors
