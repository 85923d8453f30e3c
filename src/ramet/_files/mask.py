"""Which masks in the arguments of calls Keras has found by itself.

An Embedding with `mask_zero` and a Masking layer make masks; Keras writes the operations that do into the model, and their
result into the calls of layers further on. Such a mask is implicit: it belongs to the value that the call takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ramet._graph import Argument, Call, MaskKind, Op, Ref, refs

__all__ = ["mask_kinds"]


def mask_kinds(calls: Sequence[Call], ops: dict[str, Op]) -> dict[str, tuple[tuple[int | str, MaskKind], ...]]:
    """For each call with masks among its arguments by name: whether each is implicit or explicit."""
    made = {call.id: call for call in calls}
    # What the masking layers took that stand before a call: sets are shared along a chain, which has few of them.
    reached: dict[str, frozenset[Ref]] = {}
    found: dict[str, tuple[tuple[int | str, MaskKind], ...]] = {}
    for call in calls:
        op = ops[call.op]
        kinds = tuple((name, _kind(call, name, mask, made, reached, ops)) for name, mask in _masks(call, op))
        if kinds:
            found[call.id] = kinds
        masked = _masked_input(call, op)
        before = {reached[ref.call] for ref in call.refs()} if masked is None else {frozenset({masked})}
        reached[call.id] = before.pop() if len(before) == 1 else frozenset().union(*before)
    return found


def _masks(call: Call, op: Op) -> Iterator[tuple[str, Argument]]:
    if op.kind not in ("layer", "model"):
        return
    for name, value in call.kwargs.pairs:
        if isinstance(name, str) and (name == "mask" or name.endswith("_mask")) and next(refs(value), None) is not None:
            yield name, value


def _kind(
    call: Call, name: str, mask: Argument, made: dict[str, Call], reached: dict[str, frozenset[Ref]], ops: dict[str, Op]
) -> MaskKind:
    """Implicit if each part of the mask is made from what a masking layer took on the way to the call's own input."""
    masked = call.kwargs.get(name.removesuffix("_mask")) if name != "mask" else None
    if masked is None:
        masked = call.args[0] if call.args else None
    wanted = {source for ref in refs(mask) if (source := _tested(ref, made, ops)) is not None}
    if not wanted or len(wanted) < len({ref.call for ref in refs(mask)}):
        return "explicit"
    before: set[Ref] = set().union(*(reached[ref.call] for ref in refs(masked)))
    return "implicit" if wanted <= before else "explicit"


def _masked_input(call: Call, op: Op) -> Ref | None:
    """What a call that makes a mask takes; None for all other calls."""
    makes = op.class_name == "Masking" or (
        op.class_name == "Embedding" and op.config is not None and op.config.get("mask_zero") is True
    )
    return next(call.refs(), None) if makes else None


def _tested(mask: Ref, made: dict[str, Call], ops: dict[str, Op]) -> Ref | None:
    """The value that a mask was made from: by `not_equal`, and for Masking by `any` of it; None for other masks."""
    call = made[mask.call]
    if ops[call.op].class_name == "Any":
        inner = next(call.refs(), None)
        if inner is None:
            return None
        call = made[inner.call]
    return next(call.refs(), None) if ops[call.op].class_name == "NotEqual" else None
