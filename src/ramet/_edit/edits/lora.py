"""`lora` and `merge_lora`: low-rank updates beside the weights, and their merging into the weights."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import keras

from ramet._copy import copy_model
from ramet._edit.base import Edit, SelectorLike, is_integer
from ramet._edit.edits.quantize import Quantize, keep_interesting
from ramet._edit.plans import PlanItems, Skip, Step, Touch
from ramet._edit.saving import makes_its_parts
from ramet._edit.session import EditSession, inside_first
from ramet._edit.settings import update_settings
from ramet._edit.trainable import BASE_WEIGHTS, Flag, TrainingForecast
from ramet._keras import draw_from_seed, layers, quantization, structure
from ramet._keras import lora as keras_lora
from ramet._report import joined, with_article
from ramet.errors import EditError

_MERGED_ON_SAVE = (
    "saving merges each update into the weights, as Keras does: the loaded model computes the same, but its updates "
    "start at zero and can no longer learn; to go on training, apply merge_lora() and lora() again."
)
_ROUNDED_ON_SAVE = "saving rounds the merged weights of quantized layers again: the loaded model is close, not equal."
_LOST_ON_SAVE = (
    "a file does not keep LoRA inside {}, which creates its layers itself: saving merges each update into the weights; the "
    "loaded layers have no low-rank matrices and are trainable as their class creates them. To go on training, apply lora() "
    "again."
)
_TRAINABLE_ON_LOAD = (
    "a file keeps the flags of layers, not of single weights: in the loaded model, the other weights of a layer with LoRA, "
    "such as its bias, are trainable."
)


@dataclass(frozen=True, repr=False)
class Lora(Edit):
    """Enable LoRA on each matching layer that supports it, and freeze everything else.

    Keras implements LoRA in `Dense`, `EinsumDense`, `Embedding` and convolutions; layers of your own with an
    `enable_lora` method work, too, and so do quantized layers. Inside a layer without LoRA of its own, such as
    `MultiHeadAttention`, it is enabled on the layers that support it. The updates start at zero, so the outputs do not
    change before training. A plan lists the skipped layers, and notes what a saved file does not keep.

    Args:
        selector: The layers; all that support LoRA by default.
        rank: The rank of the updates.
        alpha: Updates are multiplied by `alpha / rank`; the rank by default.
        freeze_rest: Freeze everything except the low-rank matrices. With `False`, only the weights that LoRA updates
            are frozen.
        seed: Makes the low-rank matrices repeatable, whatever else is drawn.
        required: Raise an error if no layer gets LoRA.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential(
    ...     [keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")], name="net"
    ... )
    >>> new = ramet.edit(model, e.lora("a", rank=2, seed=0))
    >>> [weight.path for weight in new.trainable_weights]
    ['net/a/lora_kernel_a', 'net/a/lora_kernel_b']
    """

    kind = "lora"
    preserves_function = False
    adds_layers = False

    selector: SelectorLike = None
    rank: int = 4
    alpha: float | None = field(default=None, kw_only=True)
    freeze_rest: bool = field(default=True, kw_only=True)
    seed: int | None = field(default=None, kw_only=True)
    required: bool = field(default=True, kw_only=True)

    def plan(self, session: EditSession) -> PlanItems:
        self._check_numbers()
        chosen = list(self._layers_to_enable(session))
        found = [self._plan_layer(path, layer) for path, layer in chosen]
        cannot = f"Cannot enable LoRA in '{session.model.name}': no matching layer supports it."
        fix = "select Dense, EinsumDense, Embedding or convolutional layers, or pass required=False."
        if any(keras_lora.is_enabled(layer) for _, layer in chosen):
            fix = "merge it first, ramet.edit(ramet.edit(model, e.merge_lora()), e.lora(...)), or select other layers."
        yield from keep_interesting(self, found, session, cannot=cannot, fix=fix)
        yield from self._notes([item.path for item in found if isinstance(item, Touch)], session)

    def _plan_layer(self, path: str, layer: Any) -> Touch | Skip:
        reason = keras_lora.objection(layer)
        if reason is None and self.alpha is not None and not keras_lora.takes_alpha(layer):
            reason = f"the enable_lora of {type(layer).__name__} takes no alpha"
        count = reason or self._count_added(layer)
        if isinstance(count, str):
            return Skip(path, count)
        what = f"{type(layer).__name__}, rank {self.rank}, {count:,} parameters added"
        return Touch(path, what, claims=frozenset({"lora"}))

    def preview(self, step: Step, steps: list[Step], session: EditSession) -> Step:
        """Add a note if another edit quantizes the same layers."""
        quantized = {item.path for other in steps if isinstance(other.edit, Quantize) for item in other.touched}
        if _ROUNDED_ON_SAVE in step.notes or not any(item.path in quantized for item in step.touched):
            return step
        return dataclasses.replace(step, notes=(*step.notes, _ROUNDED_ON_SAVE))

    def apply(self, step: Step, session: EditSession) -> None:
        for item in step.touched:
            seed = None if self.seed is None else zlib.crc32(f"{self.seed}/{item.path}".encode())
            with draw_from_seed(seed):
                keras_lora.enable(session.op(item.path), self.rank, self.alpha)
        session.with_lora += [item.path for item in step.touched]
        if self.freeze_rest and step.touched:
            session.flags.append(("", Flag.BASE_FROZEN))
            session.flags += [(item.path, Flag.ADAPTERS) for item in step.touched]

    def forecast_training(self, step: Step, forecast: TrainingForecast) -> None:
        for item in step.touched:
            forecast.fix_base_weights(item.path)
        if self.freeze_rest:
            forecast.freeze_all_but_adapters()
        for item in step.touched:
            forecast.add_adapters(item.path)

    def _check_numbers(self) -> None:
        if not is_integer(self.rank) or self.rank < 1:
            raise EditError(f"Cannot enable LoRA with rank {self.rank!r}: not a rank.", fix="pass a positive integer.")
        if self.alpha is not None and not (is_integer(self.alpha) or isinstance(self.alpha, float)):
            raise EditError(
                f"Cannot enable LoRA with alpha {self.alpha!r}: not a number.", fix="pass a number, or None."
            )

    def _layers_to_enable(self, session: EditSession) -> Iterator[tuple[str, Any]]:
        """Yield the layers that could get LoRA, among the matches and inside them; each once.

        A layer with an `enable_lora` of its own comes as a whole; of others, the layers inside them come instead.
        """
        seen: set[int] = set()
        for candidate in session.find(self.selector, required=self.required):
            op = session.op(candidate.path)
            if not isinstance(op, keras.Layer):
                continue
            waiting = [op]
            while waiting:
                layer = waiting.pop()
                if id(layer) in seen or not isinstance(layer, keras.Layer):
                    continue
                seen.add(id(layer))
                whole = not isinstance(layer, keras.Model) and callable(getattr(layer, "enable_lora", None))
                parts = [] if whole else structure.ops_inside(layer)
                if parts:
                    waiting.extend(sorted(parts, key=session.position_of, reverse=True))
                    continue
                path = session.path_of(layer)
                if not session.is_input(path):
                    seen.update(map(id, inside_first(layer)))
                    yield path, layer

    def _count_added(self, layer: Any) -> int | str:
        """Return the number of parameters LoRA adds to a layer, tried on a copy if not known; or why it is not possible."""
        known = keras_lora.count_added_parameters(layer, self.rank)
        if known is not None:
            return known
        try:
            copy = copy_model(layer)
            before = copy.count_params()
            with draw_from_seed(0):
                keras_lora.enable(copy, self.rank, self.alpha)
            return int(copy.count_params() - before)
        except Exception as error:  # noqa: BLE001  # a user's class may raise anything
            return f"{type(layer).__name__} refuses: {' '.join(str(error).split())[:120]}"

    def _notes(self, touched: list[str], session: EditSession) -> Iterator[str]:
        if self.freeze_rest and touched:
            yield "everything except low-rank matrices is frozen; freeze_rest=False keeps the flags of other weights."
        holders = {path: _lossy_holder(path, session) for path in touched}
        kept = [session.op(path) for path, holder in holders.items() if holder is None]
        if kept:
            yield _MERGED_ON_SAVE
        if self.freeze_rest and any(_trains_other_weights(layer) for layer in kept):
            yield _TRAINABLE_ON_LOAD
        lossy = list(dict.fromkeys(holder for holder in holders.values() if holder is not None))
        if lossy:
            names = [
                f"'{name}'" if name else f"the model, {with_article(type(session.twin).__name__)}" for name in lossy
            ]
            yield _LOST_ON_SAVE.format(joined(names, 5))
        if any(quantization.mode_of(session.op(path)) is not None for path in touched):
            yield _ROUNDED_ON_SAVE


@dataclass(frozen=True, repr=False)
class MergeLora(Edit):
    """Merge the low-rank updates of layers with LoRA into their weights, and disable LoRA.

    The model computes the same. The merged weights are trainable again if their layer is; all other weights keep their
    flags, so combine it with `ramet.edits.unfreeze` to train everything. Quantized layers are refused, because their
    weights would be rounded again: make them float first with `ramet.edits.cast`.

    Args:
        selector: The layers to look at; all by default. Layers without LoRA are ignored.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential(
    ...     [keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")], name="net"
    ... )
    >>> tuned = ramet.edit(model, e.lora("a", rank=2))
    >>> merged = ramet.edit(tuned, e.merge_lora())
    >>> tuned.get_layer("a").lora_enabled, merged.get_layer("a").lora_enabled
    (True, False)
    >>> [weight.path for weight in merged.trainable_weights]
    ['net/a/kernel']
    """

    kind = "merge_lora"
    preserves_function = True
    adds_layers = False

    selector: SelectorLike = None

    def plan(self, session: EditSession) -> PlanItems:
        for candidate in session.find(self.selector):
            layer = session.op(candidate.path)
            if not keras_lora.is_enabled(layer):
                continue
            mode = quantization.mode_of(layer)
            if mode is not None:
                raise EditError(
                    f"Cannot merge LoRA into '{candidate.path}': it is quantized to {mode}, and would be rounded again.",
                    found=f"{candidate.op.class_name} with LoRA of rank {layer.lora_rank}",
                    fix="make the weights float first, model = ramet.edit(model, e.cast('float32')), then merge_lora(); "
                    "or select other layers.",
                    path=candidate.path,
                )
            what = f"{candidate.op.class_name}, rank {layer.lora_rank} merged"
            yield Touch(candidate.path, what, claims=frozenset({"layer"}))

    def apply(self, step: Step, session: EditSession) -> None:
        for item in step.touched:
            layer = session.op(item.path)
            merged, targets = keras_lora.merged_values(layer), keras_lora.targets(layer)
            update_settings(session, item.path, {"lora_rank": None})
            for variable in targets:
                variable.assign(keras.ops.cast(merged[variable.name], variable.dtype))
                variable.trainable = layer.trainable


def _lossy_holder(path: str, session: EditSession) -> str | None:
    """Return the path of the nearest layer or model around a path whose config does not list its layers, or None."""
    for above in (*session.ancestors(path), ""):
        holder = session.op_or_twin(above)
        if makes_its_parts(holder) and not isinstance(holder, keras.layers.Wrapper):
            return above
    return None


def _trains_other_weights(layer: Any) -> bool:
    """Return whether a layer has trained weights besides those that LoRA updates."""
    own = [] if structure.ops_inside(layer) else layers.own_trainable(layer)
    return any(variable.trainable and variable.name not in BASE_WEIGHTS for variable in own)


lora = Lora
merge_lora = MergeLora
