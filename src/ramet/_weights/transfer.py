"""The door of `transfer`: match, decide what becomes of each weight, and only then write."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ramet._arguments import check_flag
from ramet._graph import escape
from ramet._keras import Place, quantization
from ramet._weights.blocks import blocks_of, merged_before, why_not_by_axis
from ramet._weights.derived import needs_refresh, other_vocabularies, refresh
from ramet._weights.loop import settle
from ramet._weights.match import Match, Slot, match
from ramet._weights.policy import adapt, check_policy, is_inexact
from ramet._weights.rename import Rename, renamed_paths
from ramet._weights.report import NOT_SELECTED, Outcome, TransferredWeight, TransferReport, UnusedWeight
from ramet._weights.selection import selected_paths
from ramet._weights.source import Source, open_source
from ramet._weights.variable import Weight, places_of, weights_at
from ramet._weights.write import write_all
from ramet.errors import ArgumentError, WeightsDoNotFitError, listed

__all__ = ["transfer"]


def transfer(
    source: Any,
    target: Any,
    *,
    policy: str = "refuse",
    select: Any = None,
    rename: Rename | None = None,
    dry_run: bool = False,
) -> TransferReport:
    """A report of what became of each weight of `target`, which is changed in place; see `ramet.transfer`."""
    check_policy(policy)
    check_flag("transfer", "dry_run", dry_run)
    if source is target:
        raise ArgumentError(
            f"Cannot transfer the weights of '{target.name}' to itself: source and target are one object.",
            fix="pass two models.",
        )
    places = places_of(target, "transfer")
    weights = weights_at(places)
    slots = [weight.slot for weight in weights]
    origin = open_source(source, slots)
    renamed = renamed_paths([slot.path for slot in origin.slots], rename)
    plan = _Plan(origin, policy, {place.path: place.op for place in places}, target)
    plan.decide(weights, match(origin.slots, slots, renamed), selected_paths(target, slots, select))
    if plan.rounded and not dry_run:
        raise _quantised(plan.rounded, origin.name, target.name)
    if plan.misfits and not dry_run:
        raise _misfit(plan.misfits, origin.name, target.name)
    if not plan.found_any and not dry_run and (weights or origin.slots):
        raise _nothing(plan, weights, plan.unused(renamed), origin, target.name)
    if not dry_run:
        settle([variable for variable, _ in plan.writes], "transfer")
        write_all(plan.writes)
        _refresh(places, {id(variable) for variable, _ in plan.writes}, weights)
    plan.compare_vocabularies(places)
    return TransferReport(
        origin.name.strip("'"), target.name, policy, tuple(plan.lines), tuple(plan.unused(renamed)), written=not dry_run
    )


@dataclass
class _Plan:
    """What is to be written, and what is to be said."""

    origin: Source
    policy: str
    layers: dict[str, Any]  # the target's, by path
    target: Any
    lines: list[TransferredWeight] = field(default_factory=list)
    writes: list[tuple[Any, Any]] = field(default_factory=list)  # a variable, and a variable or an array for it
    misfits: list[TransferredWeight] = field(default_factory=list)
    rounded: list[TransferredWeight] = field(default_factory=list)  # quantised on one side, or in another way
    used: dict[str, str] = field(default_factory=dict)  # source path -> why not, empty if it filled a weight

    def decide(self, weights: list[Weight], matches: dict[str, Match], selected: set[str]) -> None:
        """Find an outcome for each variable. A tied one is told once, where it stands first with a match."""
        for group in _by_variable(weights):
            asked = [weight for weight in group if weight.slot.path in selected]
            found = [weight for weight in asked if weight.slot.path in matches]
            weight = (found or asked or group)[0]
            slot, one = weight.slot, matches.get(weight.slot.path)
            if not asked:
                self._leave(slot, one, NOT_SELECTED)
            elif one is None:
                self._leave(slot, None, "no weight of the source matches")
            else:
                self._fill(weight, one)
                for other in found[1:]:
                    self._same_or_unused(one, matches[other.slot.path], slot.path)

    def _fill(self, weight: Weight, one: Match) -> None:
        slot, there = weight.slot, one.source
        live = self.origin.variable(there.path)
        if live is weight.variable:
            return self._tell(slot, one, "copied")  # the two models share it
        other = self._quantised_otherwise(there, slot)
        if other is not None:
            self._leave(slot, one, other)
            return self.rounded.append(self.lines[-1])
        if not self._dtype_fits(there, slot):
            return self._leave(slot, one, f"{there.dtype} cannot become {slot.dtype}")
        if there.shape == slot.shape:
            self.writes.append((weight.variable, self.origin.array(there.path) if live is None else live))
            return self._tell(slot, one, "copied")
        if self.policy == "refuse":
            self._leave(slot, one, f"the shapes differ: {there.shape} in the source")
            return self.misfits.append(self.lines[-1])
        if self.policy == "fresh":
            return self._leave(
                slot, one, f"the shapes differ: {there.shape} in the source; policy 'fresh' keeps its own"
            )
        layer = self.layers.get(slot.owner)
        self._check_by_axis(layer, there, slot)
        blocks = blocks_of(layer, slot.name, len(slot.shape))
        array = adapt(self.origin.array(there.path), slot.shape, self.policy, path=slot.path, blocks=blocks)
        self.writes.append((weight.variable, array))
        return self._tell(slot, one, "adapted")

    def _check_by_axis(self, layer: Any, there: Slot, slot: Slot) -> None:
        """Refuse what would scramble a weight: an axis that holds several things behind each other."""
        reason = why_not_by_axis(layer, slot.name, there.shape, slot.shape)
        if reason is None and len(there.shape) == len(slot.shape) and there.shape[:1] != slot.shape[:1]:
            behind = merged_before(self.target, layer) if slot.name == "kernel" else None
            if behind is not None:
                reason = f"its rows belong to values that '{behind}' puts behind each other"
        if reason is not None:
            raise WeightsDoNotFitError(
                f"Cannot put {there.shape} into '{slot.path}', which is {slot.shape}: {reason}.",
                expected=f"shape {slot.shape}",
                found=f"shape {there.shape} from '{there.path}'",
                fix="pass policy='fresh' to leave it as it is, or give the source the new shape first: "
                "ramet.edit(source, e.resize_input(shape, weights=...)).",
                path=slot.path,
            )

    @property
    def found_any(self) -> bool:
        """Whether anything is transferred, or kept on purpose."""
        return any(line.outcome != "left" for line in self.lines) or (
            self.policy == "fresh" and any(line.source is not None for line in self.lines)
        )

    def _quantised_otherwise(self, there: Slot, slot: Slot) -> str | None:
        """How the two sides are quantised, where that is not alike; or None."""
        here = quantization.mode_of(self.layers.get(slot.owner))
        if self.origin.layers:
            mode = quantization.mode_of(self.origin.layers.get(there.owner))
        else:  # arrays without a model: whole numbers beside a scale of theirs are quantised
            beside = {one.name: one for one in self.origin.slots if one.owner == there.owner}
            whole = any(f"{name}_scale" in beside and not is_inexact(one.dtype) for name, one in beside.items())
            if whole == (here is not None and here != "float8"):
                return None
            mode = "whole numbers" if whole else None
        if mode == here:
            return None
        told = [f"quantised to {way}" if way else "float" for way in (mode, here)]
        return f"{told[0]} in the source and {told[1]} in the target"

    def _dtype_fits(self, there: Slot, slot: Slot) -> bool:
        """Whether the values survive: floats are cast to floats, integers only where every one of them fits."""
        if there.dtype == slot.dtype:
            return True
        if is_inexact(there.dtype) and is_inexact(slot.dtype):
            return not there.dtype.startswith("complex") or slot.dtype.startswith("complex")
        integers = ("int", "uint")
        if there.dtype.startswith(integers) and slot.dtype.startswith(integers):
            array = self.origin.array(there.path)
            return bool(np.array_equal(array.astype(slot.dtype), array))
        return False

    def _tell(self, slot: Slot, one: Match | None, outcome: Outcome, reason: str | None = None) -> None:
        there = None if one is None else one.source
        if there is not None:
            self.used[there.path] = reason or ""
        self.lines.append(
            TransferredWeight(
                slot.path,
                outcome,
                slot.shape,
                slot.dtype,
                None if there is None else there.path,
                None if one is None else one.how,
                None if there is None else there.shape,
                None if there is None else there.dtype,
                reason,
            )
        )

    def _leave(self, slot: Slot, one: Match | None, reason: str) -> None:
        self._tell(slot, one, "left", reason)

    def _same_or_unused(self, taken: Match, other: Match, path: str) -> None:
        live = self.origin.variable(other.source.path)
        same = live is not None and live is self.origin.variable(taken.source.path)
        self.used[other.source.path] = "" if same else f"its weight is tied to '{path}' in the target"

    def unused(self, renamed: dict[str, str]) -> list[UnusedWeight]:
        """The weights of the source that filled none, and why. A tied one counts as used wherever it was."""
        filled = {id(self.origin.variable(path)) for path, reason in self.used.items() if not reason}
        found = []
        for slot in self.origin.slots:
            live = self.origin.variable(slot.path)
            reason = self.used.get(slot.path, "no weight of the target matches")
            if slot.path in renamed and slot.path not in self.used:
                reason = f"the target has no '{renamed[slot.path]}'"
            if reason and (live is None or id(live) not in filled):
                found.append(UnusedWeight(slot.path, slot.shape, reason))
        return found

    def compare_vocabularies(self, places: list[Place]) -> None:
        """Say which lookup layers know other words: no weight holds them."""
        here = {place.path: place.op for place in places if place.same_as is None}
        for path, reason in other_vocabularies(self.origin.layers, here):
            self.lines.append(TransferredWeight(f"{path}.vocabulary", "left", reason=reason))


def _by_variable(weights: list[Weight]) -> list[list[Weight]]:
    groups: dict[int, list[Weight]] = {}
    for weight in weights:
        groups.setdefault(id(weight.variable), []).append(weight)
    return list(groups.values())


def _refresh(places: list[Place], written: set[int], weights: list[Weight]) -> None:
    touched = {weight.slot.owner for weight in weights if id(weight.variable) in written}
    for place in places:
        if place.path in touched and place.same_as is None and needs_refresh(place.op):
            refresh(place.op)


def _nothing(
    plan: _Plan, weights: list[Weight], unused: list[UnusedWeight], origin: Source, target: str
) -> WeightsDoNotFitError:
    """The error for a transfer that would change nothing."""
    matched = next((line for line in plan.lines if line.source is not None), None)
    if not weights:
        reason = f"'{target}' has no weights"
    elif not origin.slots:
        reason = f"{origin.name} holds no weights"
    elif matched is not None:
        reason = f"no weight can be written ('{escape(matched.path)}': {matched.reason})"
    else:
        reason = "no weight of the one matches a weight of the other"
    found = "; ".join(f"'{escape(one.path)}' {one.shape}: {one.reason}" for one in unused[:3])
    return WeightsDoNotFitError(
        f"Cannot transfer from {origin.name} to '{target}': {reason}.",
        expected=f"paths such as {listed([escape(weight.slot.path) for weight in weights])}" if weights else None,
        found=f"{found}{f'; and {len(unused) - 3} more' if len(unused) > 3 else ''}" or None,
        fix="say which is which with rename={'old/path': 'new/path'}; dry_run=True shows what would match.",
    )


def _quantised(rounded: list[TransferredWeight], source: str, target: str) -> WeightsDoNotFitError:
    first = rounded[0]
    return WeightsDoNotFitError(
        f"Cannot transfer from {source} to '{target}': their layers are not quantised alike.",
        found=f"'{first.path}' is {first.reason}",
        fix="make both float, ramet.edit(model, e.cast('float32')), or quantise both in the same way, "
        "ramet.edit(model, e.quantize()); or select other layers with select=. Nothing was written.",
        path=first.path,
    )


def _misfit(misfits: list[TransferredWeight], source: str, target: str) -> WeightsDoNotFitError:
    shown = "; ".join(f"'{one.path}' is {one.shape}, and there is {one.source_shape}" for one in misfits[:3])
    more = f"; and {len(misfits) - 3} more" if len(misfits) > 3 else ""
    count = "a weight has another shape" if len(misfits) == 1 else f"{len(misfits)} weights have other shapes"
    return WeightsDoNotFitError(
        f"Cannot transfer from {source} to '{target}': {count}.",
        found=f"{shown}{more}",
        fix="choose a policy: 'slice', 'pad', 'mean' or 'repeat' to adapt them, 'fresh' to leave them as they are; "
        "nothing was written.",
        path=misfits[0].path,
    )
