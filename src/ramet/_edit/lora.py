"""`lora` and `merge_lora`: low-rank updates beside the weights, and added to them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import keras

from ramet._build import drawn_from
from ramet._copy import clone
from ramet._edit.edit import Edit
from ramet._edit.flags import ADAPTERS, BASE_FROZEN
from ramet._edit.order import inside_first
from ramet._edit.plan import Skip, Step, Touch
from ramet._edit.saving import makes_its_parts
from ramet._edit.scene import Scene
from ramet._edit.updating import update
from ramet._keras import layers, lora, quantization, structure
from ramet._select import anything
from ramet.errors import EditError

_SAVED = (
    "saving merges each update into the weights, as Keras does: the loaded model computes the same, but its updates "
    "start at zero and cannot learn any more; to go on training, merge_lora() and lora() again."
)
_SAVED_QUANTISED = "saving rounds the merged weights of quantised layers again: the loaded model is close, not equal."
_SAVED_INSIDE = (
    "a file does not keep LoRA inside {}, which makes its layers itself: saving merges each update into the weights; the "
    "loaded layers have no low-rank matrices and are trainable as their class makes them. To go on training, lora() again."
)
_SAVED_TRAINABLE = (
    "a file keeps the flags of layers, not of single weights: in the loaded model, what else a layer with LoRA has, "
    "such as its bias, is trainable."
)


def touch_enable(edit: Edit, scene: Scene) -> Step:
    """Every layer that matches, or stands inside one that does, and that has an `enable_lora`."""
    _check_numbers(edit)
    meant = set() if edit.selector == anything() else {candidate.path for candidate in scene.find(edit)}
    touched, skipped = [], []
    for path, layer in _enabling(edit, scene):
        reason = lora.objection(layer)
        if reason is None and edit["alpha"] is not None and not lora.takes_alpha(layer):
            reason = f"the enable_lora of {type(layer).__name__} takes no alpha"
        count = None if reason else _added(layer, edit)
        if isinstance(count, str):
            reason = count
        if reason is not None:
            if layer.weights or not layer.built or path in meant:  # others go without saying
                skipped.append(Skip(path, reason))
            continue
        what = f"{type(layer).__name__}, rank {edit['rank']}, {count:,} parameters added"
        touched.append(Touch(path, what, claims=frozenset({"lora"})))
    if not touched and edit.required:
        raise EditError(
            f"Cannot enable LoRA in '{scene.model.name}': no layer that matches supports it.",
            found="; ".join(f"'{skip.path}': {skip.reason}" for skip in skipped[:5]) or "no layer with weights",
            fix="select Dense, EinsumDense, Embedding or convolutional layers, or pass required=False.",
        )
    return Step(edit, tuple(touched), tuple(skipped), tuple(_notes(edit, touched, scene)))


def carry_out_enable(edit: Edit, step: Step, scene: Scene) -> None:
    """Enable LoRA on each layer, as Keras does; everything else is frozen at the end, unless that is not wanted."""
    for item in step.touched:
        seed = None if edit["seed"] is None else zlib.crc32(f"{edit['seed']}/{item.path}".encode())
        with drawn_from(seed):
            lora.enable(scene.op(item.path), edit["rank"], edit["alpha"])
    scene.with_lora += [item.path for item in step.touched]
    if edit["freeze_rest"] and step.touched:
        scene.flags.append(("", BASE_FROZEN))
        scene.flags += [(item.path, ADAPTERS) for item in step.touched]


def touch(edit: Edit, scene: Scene) -> Step:
    """Every layer that has LoRA enabled."""
    touched = []
    for candidate in scene.find(edit):
        layer = scene.op(candidate.path)
        if not lora.is_enabled(layer):
            continue
        mode = quantization.mode_of(layer)
        if mode is not None:
            raise EditError(
                f"Cannot merge LoRA into '{candidate.path}': it is quantised to {mode}, and would be rounded again.",
                found=f"a {candidate.op.class_name} with LoRA of rank {layer.lora_rank}",
                fix="make the weights float first, model = ramet.edit(model, e.cast('float32')), then merge_lora(); "
                "or select other layers.",
                path=candidate.path,
            )
        claims = frozenset({"layer"})
        touched.append(
            Touch(candidate.path, f"{candidate.op.class_name}, rank {layer.lora_rank} merged", claims=claims)
        )
    return Step(edit, tuple(touched))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Put the updated weights in the place of the old ones, and leave LoRA out."""
    for item in step.touched:
        layer = scene.op(item.path)
        merged, targets = lora.merged(layer), lora.targets(layer)
        update(scene, item.path, {"lora_rank": None})
        for variable in targets:
            variable.assign(keras.ops.cast(merged[variable.name], variable.dtype))
            variable.trainable = layer.trainable


def _enabling(edit: Edit, scene: Scene) -> Iterator[tuple[str, Any]]:
    """The layers that could have LoRA, among those that an edit means and inside them; each once.

    A layer that has an `enable_lora` of its own is asked itself; of others, the layers inside them are.
    """
    seen: set[int] = set()
    for candidate in scene.find(edit):
        op = scene.op(candidate.path)
        if not isinstance(op, keras.Layer):
            continue
        waiting = [op]
        while waiting:
            layer = waiting.pop()
            if id(layer) in seen or not isinstance(layer, keras.Layer):
                continue
            seen.add(id(layer))
            asked = not isinstance(layer, keras.Model) and callable(getattr(layer, "enable_lora", None))
            parts = [] if asked else structure.inside(layer)
            if parts:
                waiting.extend(sorted(parts, key=scene.order_of, reverse=True))
                continue
            path = scene.path_of(layer)
            if not scene.is_input(path):
                seen.update(map(id, inside_first(layer)))
                yield path, layer


def _added(layer: Any, edit: Edit) -> int | str:
    """How many parameters LoRA adds to a layer, tried on a copy where it is not known; or why it cannot be enabled."""
    known = lora.added(layer, edit["rank"])
    if known is not None:
        return known
    try:
        copy = clone(layer)
        before = copy.count_params()
        with drawn_from(0):
            lora.enable(copy, edit["rank"], edit["alpha"])
        return int(copy.count_params() - before)
    except Exception as error:  # noqa: BLE001  # a user's class may raise anything
        return f"{type(layer).__name__} refuses: {' '.join(str(error).split())[:120]}"


def _notes(edit: Edit, touched: list[Touch], scene: Scene) -> Iterator[str]:
    if edit["freeze_rest"] and touched:
        yield "everything but low-rank matrices is frozen; freeze_rest=False leaves the other weights as they are."
    holders = {item.path: _making(item.path, scene) for item in touched}
    kept = [scene.op(path) for path, holder in holders.items() if holder is None]
    if kept:
        yield _SAVED
    if edit["freeze_rest"] and any(_others(layer) for layer in kept):
        yield _SAVED_TRAINABLE
    inside = list(dict.fromkeys(holder for holder in holders.values() if holder is not None))
    if inside:
        names = ", ".join(f"'{name}'" if name else f"the model, a {type(scene.twin).__name__}" for name in inside[:5])
        yield _SAVED_INSIDE.format(names + (f" and {len(inside) - 5} more" if len(inside) > 5 else ""))
    if any(quantization.mode_of(scene.op(item.path)) is not None for item in touched):
        yield _SAVED_QUANTISED


def with_quantised(steps: list[Step]) -> list[Step]:
    """Steps of a plan, where a step that enables LoRA says so if another one quantises the same layers."""
    quantised = {item.path for step in steps if step.edit.kind == "quantize" for item in step.touched}
    return [
        replace(step, notes=(*step.notes, _SAVED_QUANTISED))
        if step.edit.kind == "lora"
        and _SAVED_QUANTISED not in step.notes
        and any(item.path in quantised for item in step.touched)
        else step
        for step in steps
    ]


def _making(path: str, scene: Scene) -> str | None:
    """Where the nearest layer or model around a path is whose config does not list its layers, or None."""
    for above in (*scene.ancestors(path), ""):
        holder = scene.op_or_twin(above)
        if makes_its_parts(holder) and not isinstance(holder, keras.layers.Wrapper):
            return above
    return None


def _others(layer: Any) -> bool:
    """Whether a layer has weights that are trained besides those that LoRA updates."""
    if layers.own_trainable(layer) and not structure.inside(layer):
        base = ("kernel", "embeddings", "reverse_embeddings")
        return any(variable.trainable and variable.name not in base for variable in layers.own_trainable(layer))
    return False


def _check_numbers(edit: Edit) -> None:
    rank, alpha = edit["rank"], edit["alpha"]
    if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
        raise EditError(f"Cannot enable LoRA with rank {rank!r}: that is no rank.", fix="pass an int from 1 on.")
    if alpha is not None and (isinstance(alpha, bool) or not isinstance(alpha, int | float)):
        raise EditError(f"Cannot enable LoRA with alpha {alpha!r}: that is no number.", fix="pass a number, or None.")
