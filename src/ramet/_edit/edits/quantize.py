"""`quantize` by Keras' own method, and the way back: float weights computed from quantized ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import keras

from ramet._copy import copy_model
from ramet._edit.base import Edit, QuantizationMode, SelectorLike
from ramet._edit.patch import made_twice, patch
from ramet._edit.plans import PlanItems, Skip, Step, Touch
from ramet._edit.round_trip import round_trip
from ramet._edit.session import EditSession, inside_first, layers_below
from ramet._edit.trainable import TrainingForecast
from ramet._keras import layers, policies, quantization, structure
from ramet._report import with_article
from ramet._select import anything
from ramet.errors import EditError


@dataclass(frozen=True, repr=False)
class Quantize(Edit):
    """Quantize the weights of each matching layer and of the layers inside it, as the `quantize` method of Keras does.

    Layers that Keras cannot quantize are skipped, and a plan gives the reasons. Integer weights are not trained and
    lose their optimizer slots. `ramet.edits.cast` is the way back to float weights. Modes that need calibration data,
    `"gptq"` and `"awq"`, are refused.

    Args:
        selector: The layers to quantize; all by default.
        mode: `"int8"`, `"int4"` or `"float8"`, as far as the installed Keras supports it.
        required: Raise an error if no layer is quantized.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> layers = [keras.layers.Dense(3, name="dense"), keras.layers.BatchNormalization(name="norm")]
    >>> model = keras.Sequential([keras.Input((4,)), *layers], name="net")
    >>> print(ramet.plan(model, e.quantize()))
    Plan for 'net': 1 edit, 1 op touched
    <BLANKLINE>
    1. quantize(mode='int8'): 1 op
      dense  Dense, quantized to int8
      skipped norm: BatchNormalization has no quantize method
    >>> ramet.edit(model, e.quantize()).get_layer("dense").kernel.dtype
    'int8'
    """

    kind = "quantize"
    preserves_function = False
    adds_layers = False

    selector: SelectorLike = None
    mode: QuantizationMode = "int8"
    required: bool = field(default=True, kw_only=True)

    def plan(self, session: EditSession) -> PlanItems:
        _check_mode(self.mode)
        found: list[Touch | Skip] = []
        for path, layer in self._leaves(session):
            reason = quantization.objection(layer, self.mode) or _refusal(layer, self.mode)
            if reason is not None:
                found.append(Skip(path, reason))
                continue
            tied = any(session.is_tied(variable) for variable in layers.own_variables(layer))
            what = f"{type(layer).__name__}, quantized to {self.mode}{', no longer tied' if tied else ''}"
            found.append(Touch(path, what, claims=frozenset({"dtype policy"})))
        cannot = f"Cannot quantize '{session.model.name}' to {self.mode}: no matching layer can be quantized."
        fix = "select other layers, or pass required=False."
        yield from keep_interesting(self, found, session, cannot=cannot, fix=fix)
        if any(isinstance(item, Touch) and _calling_holders(item.path, session) for item in found):
            yield (
                "layers inside other layers are saved by a DTypePolicyMap on the layer around them; "
                "Keras loads such a file, but cannot save the loaded model again."
            )

    def apply(self, step: Step, session: EditSession) -> None:
        """Quantize each layer as Keras does, and record it in the configs of the layers around it."""
        for item in step.touched:
            layer = session.op(item.path)
            try:
                quantization.quantize(layer, self.mode)
            except (TypeError, ValueError, NotImplementedError) as error:
                raise EditError(
                    f"Cannot quantize '{item.path}' to {self.mode}: {type(layer).__name__} refuses it.",
                    found=" ".join(str(error).split())[:200],
                    fix="select other layers.",
                    path=item.path,
                ) from error
            session.changed.append(item.path)
        outermost = [holders[-1] for item in step.touched if (holders := _calling_holders(item.path, session))]
        for holder in {id(one): one for one in outermost}.values():
            _record_policies(holder, session)

    def forecast_training(self, step: Step, forecast: TrainingForecast) -> None:
        forecast.changed = True
        if self.mode != "float8":
            for item in step.touched:
                forecast.fix_base_weights(item.path)

    def _leaves(self, session: EditSession) -> Iterator[tuple[str, Any]]:
        """Yield the layers without layers inside, among the matches and inside them; each once."""
        seen: set[int] = set()
        for candidate in session.find(self.selector, required=self.required):
            op = session.op(candidate.path)
            if not isinstance(op, keras.Layer):
                continue
            for layer in sorted(inside_first(op), key=session.position_of):
                if id(layer) in seen or not isinstance(layer, keras.Layer) or structure.layers_of(layer):
                    continue
                seen.add(id(layer))
                path = session.path_of(layer)
                if not session.is_input(path):
                    yield path, layer


def keep_interesting(
    edit: Any, found: list[Touch | Skip], session: EditSession, *, cannot: str, fix: str
) -> list[Touch | Skip]:
    """Return a plan without skipped layers that have no weights and were not selected themselves.

    Raises:
        EditError: `cannot` and `fix`, if no layer is touched although the edit requires it.
    """
    selected = set() if edit.selector == anything() else {one.path for one in session.find(edit.selector)}
    kept = []
    for item in found:
        layer = session.op(item.path)
        if isinstance(item, Touch) or layer.weights or not layer.built or item.path in selected:
            kept.append(item)
    if edit.required and not any(isinstance(item, Touch) for item in kept):
        skipped = [f"'{item.path}': {item.reason}" for item in kept if isinstance(item, Skip)]
        raise EditError(cannot, found="; ".join(skipped[:5]) or "no layer with weights", fix=fix)
    return kept


def dequantize(session: EditSession, path: str) -> None:
    """Give a quantized layer of the twin dequantized float weights and its float policy."""
    layer = session.op(path)
    check_dequantizes(layer, path)
    values = quantization.dequantized(layer)
    enabled, source = getattr(layer, "lora_enabled", False), quantization.source_policy(layer)
    policies.put_policy(layer, policies.effective_policy(layer))
    settings: dict[str, Any] = {"dtype": keras.dtype_policies.serialize(keras.dtype_policies.get(source))}
    if "quantization_config" in layer.get_config():
        settings["quantization_config"] = None
    as_is, changed = made_twice(layer, path, settings)
    order = layers.variable_keys(layers.own_variables(changed))
    session.successors |= patch(layer, as_is, changed, path, quantized=True)
    for variable in layers.own_variables(layer):
        if variable.name in values:
            variable.assign(keras.ops.cast(values[variable.name], variable.dtype))
            variable.trainable = layer.trainable and not enabled  # LoRA keeps the base frozen
            layers.list_as_trainable(layer, variable, order)
            session.successors[id(variable)] = None
    session.changes.redo(layer)
    session.changed.append(path)


def check_dequantizes(layer: Any, path: str) -> None:
    """Refuse a quantized layer whose float weights cannot be computed."""
    if not quantization.can_dequantize(layer):
        mode = quantization.mode_of(layer)
        owner = "" if mode in ("gptq", "awq") else f" of {with_article(type(layer).__name__)}"
        raise EditError(
            f"Cannot make float weights for '{path}': it is quantized to {mode}, whose storage format is not known.",
            found=f"weights{owner} quantized to {mode}",
            fix="start from the float model; this quantization cannot be reversed here.",
            path=path,
        )


def _check_mode(mode: Any) -> None:
    known = [name for name in quantization.modes() if name not in quantization.CALIBRATED]
    if mode in quantization.CALIBRATED and mode in quantization.modes():
        raise EditError(
            f"Cannot quantize to {mode}: it needs calibration data.",
            expected=", ".join(map(repr, known)),
            fix=f"make a twin and calibrate it: twin = ramet.clone(model); twin.quantize({mode!r}, config=...).",
        )
    if mode not in known:
        raise EditError(
            f"Cannot quantize to {mode!r}: Keras {keras.__version__} has no such mode.",
            expected=", ".join(map(repr, known)),
            fix="pass one of these.",
        )


def _refusal(layer: Any, mode: str) -> str | None:
    """Return why a user's layer refuses to be quantized, tried on a copy; the reasons of Keras' own layers are known."""
    if not quantization.is_foreign(layer):
        return None
    try:
        quantization.quantize(copy_model(layer), mode)
    except Exception as error:  # noqa: BLE001  # a user's class may raise anything
        return f"{type(layer).__name__} refuses: {' '.join(str(error).split())[:120]}"
    return None


def _calling_holders(path: str, session: EditSession) -> list[Any]:
    """Return the layers around a layer that call it by their own code, the nearest first; wrappers save what they hold."""
    above = [session.op(name) for name in session.ancestors(path)]
    holders = [op for op in above if structure.function_of(op) is None and not isinstance(op, keras.Model)]
    return [op for op in holders if not isinstance(op, keras.layers.Wrapper)]


def _record_policies(holder: Any, session: EditSession) -> None:
    """Put a map of policies on a layer whose config does not record that layers inside are quantized, if that helps."""
    if _is_saved(holder, session):
        return
    inner = layers_below(holder)
    quantized = {part.path: policies.effective_policy(part) for part in inner if quantization.mode_of(part) is not None}
    around = [part for part in inner if structure.layers_of(part)]
    before = [(part, policies.held_policy(part)) for part in around]
    policy_map = keras.dtype_policies.DTypePolicyMap(policies.effective_policy(holder).name, quantized)
    for part in around:
        policies.put_policy(part, policy_map)
    if not _is_saved(holder, session):
        for part, policy in before:
            policies.put_policy(part, policy)


def _is_saved(holder: Any, session: EditSession) -> bool:
    now = round_trip(holder)
    if now.error is not None or not now.differences:
        return now.error is None
    return not now.lost(round_trip(session.original_of(holder)))


quantize = Quantize
