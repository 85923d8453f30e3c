"""`cast`: give layers another dtype policy. Quantized layers become float again; `quantize` is the other direction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import keras

from ramet._edit.base import DtypePolicyLike, Edit, SelectorLike
from ramet._edit.edits.quantize import check_dequantizes, dequantize
from ramet._edit.plans import PlanItems, Step, Touch
from ramet._edit.session import EditSession, inside_first, layers_below
from ramet._edit.settings import dtype_policy, update_settings
from ramet._keras import layers, policies, quantization
from ramet._report import with_article
from ramet._select import anything
from ramet.errors import EditError


@dataclass(frozen=True, repr=False)
class Cast(Edit):
    """Change the dtype policy of each matching layer and of everything inside it, such as to `"mixed_bfloat16"`.

    Weights are cast to the variable dtype of the policy. Quantized layers get float weights again, dequantized from the
    quantized ones. The edit refuses policies that quantize (use `ramet.edits.quantize`), integer dtypes for float
    weights, and models with weights that belong to none of their layers.

    Args:
        policy: The name of a dtype policy, or a policy.
        selector: The layers to cast; all by default.
        required: Raise an error if nothing matches.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")])
    >>> new = ramet.edit(model, e.cast("mixed_bfloat16", "a"))
    >>> [(layer.compute_dtype, layer.variable_dtype) for layer in new.layers]
    [('bfloat16', 'float32'), ('float32', 'float32')]
    """

    kind = "cast"
    preserves_function = False
    adds_layers = False

    policy: DtypePolicyLike
    selector: SelectorLike = None
    required: bool = field(default=True, kw_only=True)

    def plan(self, session: EditSession) -> PlanItems:
        """Models are not cast themselves, so those with weights of their own are refused."""
        policy = dtype_policy(self.policy, "cast")
        if self.selector == anything():
            _check_no_own_weights(session.twin, policy, session.twin.name)
        found = {candidate.path: candidate for candidate in session.find(self.selector, required=self.required)}
        for path, candidate in found.items():
            layer = session.op(path)
            if isinstance(layer, keras.Model):
                _check_no_own_weights(layer, policy, path)
            if not isinstance(layer, keras.Layer) or isinstance(layer, keras.Model) or session.is_input(path):
                continue
            above = [name for name in session.ancestors(path) if not isinstance(session.op(name), keras.Model)]
            if any(name in found for name in above):
                continue  # it is cast together with the layer around it
            _check_floats(layer, policy, path, session)
            quantized = _quantized_parts(layer)
            for part in quantized:
                check_dequantizes(part, session.path_of(part))
            modes = ", ".join(dict.fromkeys(str(quantization.mode_of(part)) for part in quantized))
            replaced = f", float weights instead of {modes}" if modes else ""
            what = f"{candidate.op.class_name}, {policy.name}{replaced}"
            yield Touch(path, what, claims=frozenset({"dtype policy"}))

    def apply(self, step: Step, session: EditSession) -> None:
        policy = dtype_policy(self.policy, "cast")
        config = keras.dtype_policies.serialize(policy)
        for item in step.touched:
            layer = session.op(item.path)
            quantized = _quantized_parts(layer)
            for part in quantized:
                dequantize(session, session.path_of(part))
            for part in layers_below(layer) if quantized else ():  # a map of policies would still name quantized layers
                if policies.is_map(policies.held_policy(part)):
                    policies.put_policy(part, policies.effective_policy(part))
            try:
                update_settings(session, item.path, {"dtype": config})
                # Outer layers first: some of them set the policy of what is inside.
                for inner in reversed(inside_first(layer)[:-1]):
                    if isinstance(inner, keras.Layer) and policies.effective_policy(inner).name != policy.name:
                        update_settings(session, session.path_of(inner), {"dtype": config})
                    session.changes.redo(inner)
            except EditError as error:
                error.add_note(
                    "Or build a new model in this dtype and transfer the weights, ramet.transfer(model, new)."
                )
                raise


def _quantized_parts(layer: Any) -> list[Any]:
    return [part for part in layers_below(layer) if quantization.mode_of(part) is not None]


def _check_no_own_weights(model: Any, policy: Any, path: str) -> None:
    """Refuse to cast a model, or a single layer, with weights that do not belong to a layer inside it."""
    held = [v for v in layers.own_variables(model) if _is_float(v.dtype) and v.dtype != policy.variable_dtype]
    if held:
        raise EditError(
            f"Cannot cast '{path}' to {policy.name!r}: '{held[0].path}' belongs to none of the layers inside.",
            found=f"{with_article(type(model).__name__)} with weights of its own, {held[0].dtype}",
            fix="cast the layers inside, e.cast(policy, selector); or move the weight, or the single layer, into a layer "
            "of a model.",
            path=path,
        )


def _check_floats(layer: Any, policy: Any, path: str, session: EditSession) -> None:
    """Refuse to round float weights to integers."""
    if all(_is_float(one.variable_dtype) for one in policies.parts_of(policy)):
        return
    for part in layers_below(layer):
        held = [v for v in layers.own_variables(part) if _is_float(v.dtype)]
        if held:
            raise EditError(
                f"Cannot cast '{path}' to {policy.name!r}: its weights would be rounded to integers.",
                found=f"'{session.path_of(part)}/{held[0].name}' is {held[0].dtype}",
                fix="cast to a float dtype; to quantize, use e.quantize(selector, 'int8').",
                path=path,
            )


def _is_float(dtype: Any) -> bool:
    return "float" in str(keras.backend.standardize_dtype(dtype))


cast = Cast
