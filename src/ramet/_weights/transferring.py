"""`ramet.transfer`: match the weights of two models, decide on each of them, and only then write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import keras
import numpy as np

from ramet._arguments import check_flag
from ramet._keras import OpLocation, quantization
from ramet._report import escape, joined
from ramet._weights.match import Match, WeightInfo, match, renamed_paths, selected_paths
from ramet._weights.policy import adapt, blocks_of, check_policy, is_inexact, merging_op_before, why_not_by_axis
from ramet._weights.report import NOT_SELECTED, Outcome, TransferredWeight, TransferReport, UnusedWeight
from ramet._weights.source import WeightSource, open_source
from ramet._weights.variables import (
    ModelWeight,
    different_vocabularies,
    locations_in,
    refresh,
    settle_values,
    weights_at,
    write_all,
)
from ramet.errors import ArgumentError, NotAModelError, WeightsDoNotFitError, listed, shown


def transfer(
    source: Any,
    target: Any,
    *,
    policy: Literal["refuse", "slice", "pad", "mean", "repeat", "fresh"] = "refuse",
    select: Any = None,
    rename: Mapping[str, str] | Callable[[str], str] | None = None,
    dry_run: bool = False,
) -> TransferReport:
    """Copy weights from one model into another, in place, and return a report of each weight of `target`.

    Weights and batch statistics are matched by path; the names of the two models do not matter. Layers that own the
    same weights are also matched by the order of names that Keras generated (`dense_3` and `dense_17`), or by the end
    of the path if one of the models is nested deeper. Either all matched weights are written, or none. Random states,
    metrics and the optimizer stay as they are.

    Axes that hold several parts in a row (the gates of an LSTM or GRU, the filters of a grouped convolution) are
    adapted part by part. Rows that belong to flattened or concatenated values are not adapted, because no policy can
    tell which row belongs to which value: give the source the new input shape first, with `ramet.edits.resize_input`.

    Args:
        source: A model, a layer, the path of a model file or weights file (read as data: nothing in it runs), or a
            mapping from paths to arrays. It is not changed.
        target: A model or a layer; changed in place.
        policy: For weights of other shapes. `"refuse"`: write nothing and raise. `"slice"`: keep the first values, to
            shrink. `"pad"`: append zeros, to grow. `"mean"`: append the mean of the old values. `"repeat"`: repeat the
            old values. `"fresh"`: keep the values of the target.
        select: The weights of the target to write: a glob over paths, or a selector of layers.
        rename: New paths, or beginnings of paths, by old ones (`{"encoder": "backbone", "block_*": "stage_*"}`), or a
            function from the path in the source to the path in the target.
        dry_run: `True` to write nothing and only return the report.

    Returns:
        The report, with the outcome for each weight of `target`.

    Raises:
        WeightsDoNotFitError: Shapes differ, and the policy does not allow it or cannot adapt them; or nothing at all
            would be written, because no path matches or no dtype fits (not with `dry_run=True`).
        ArgumentError: An argument has an invalid value, or both models are the same object.
        NotAModelError: `target` is neither a model nor a layer.
        ModelFileError: The file is missing, broken, or not a model.
        StateElsewhereError: Another thread or a compiled step holds the values at the moment.

    >>> import keras, ramet
    >>> old, new = (keras.Sequential([keras.Input((4,)), keras.layers.Dense(n, name="d")], name="net") for n in (2, 3))
    >>> print(ramet.transfer(old, new, policy="pad"))
    net -> net: 2 adapted
    <BLANKLINE>
    Adapted by 'pad'
      d/kernel  (4, 2) -> (4, 3)
      d/bias    (2,) -> (3,)
    """
    check_policy(policy)
    check_flag("transfer", "dry_run", dry_run)
    if source is target:
        raise ArgumentError(
            f"Cannot transfer the weights of '{target.name}' to itself: source and target are the same object.",
            fix="pass two models.",
        )
    if not isinstance(target, keras.Layer):
        raise NotAModelError(
            f"Cannot transfer weights to {shown(target)}: it is not a model.",
            expected="a Keras model or layer as the target",
            fix="pass the source first, then the model to write to; only the source can be a file.",
        )
    locations = locations_in(target, "transfer")
    weights = weights_at(locations)
    infos = [weight.info for weight in weights]
    layers = {location.path: location.op for location in locations}
    with open_source(source, weights, layers) as opened:
        renamed = renamed_paths([weight.path for weight in opened.weights], rename)
        decisions = _Decisions(opened, policy, layers, target)
        decisions.decide(weights, match(opened.weights, infos, renamed), selected_paths(target, infos, select))
    unused = decisions.unused(renamed)
    if not dry_run:
        decisions.check_writable(weights, unused)
        variables = [variable for variable, _ in decisions.writes]
        settle_values(variables, "transfer")
        write_all(decisions.writes)
        written = set(map(id, variables))
        for owner in dict.fromkeys(weight.info.owner for weight in weights if id(weight.variable) in written):
            refresh(layers[owner])
    decisions.compare_vocabularies(locations)
    name = opened.label.strip("'")
    return TransferReport(name, target.name, policy, tuple(decisions.outcomes), tuple(unused), written=not dry_run)


@dataclass
class _Decisions:
    """The decision on each weight: the values to write, and the outcomes to report."""

    source: WeightSource
    policy: str
    layers: dict[str, Any]  # the target's layers by path
    target: Any
    outcomes: list[TransferredWeight] = field(default_factory=list)
    writes: list[tuple[Any, Any]] = field(default_factory=list)  # a variable, and the variable or array to write
    misfits: list[TransferredWeight] = field(default_factory=list)  # other shapes
    quantized: list[TransferredWeight] = field(default_factory=list)  # quantized in another way, or on one side only
    used: dict[str, str] = field(default_factory=dict)  # by path in the source, why it was not used; empty if it was

    def decide(self, weights: list[ModelWeight], matches: dict[str, Match], selected: set[str]) -> None:
        """Decide on each variable. A tied variable has one outcome, at its first location with a match."""
        groups: dict[int, list[ModelWeight]] = {}
        for weight in weights:
            groups.setdefault(id(weight.variable), []).append(weight)
        for group in groups.values():
            wanted = [weight for weight in group if weight.info.path in selected]
            matched = [weight for weight in wanted if weight.info.path in matches]
            weight = (matched or wanted or group)[0]
            found = matches.get(weight.info.path)
            if not wanted:
                self._leave(weight.info, found, NOT_SELECTED)
            elif found is None:
                self._leave(weight.info, None, "no weight of the source matches")
            else:
                self._fill(weight, found)
                for other in matched[1:]:
                    path = matches[other.info.path].source.path
                    same = self.source.identity(path) == self.source.identity(found.source.path)
                    self.used[path] = "" if same else f"its weight is tied to '{weight.info.path}' in the target"

    def _fill(self, weight: ModelWeight, found: Match) -> None:
        info, there = weight.info, found.source
        live = self.source.variables.get(there.path)
        if live is weight.variable:
            return self._add(info, found, "copied")  # the two models share it
        difference = self._quantization_difference(there, info)
        if difference is not None:
            self._leave(info, found, difference)
            return self.quantized.append(self.outcomes[-1])
        if not self._dtype_fits(there, info):
            return self._leave(info, found, f"{there.dtype} cannot become {info.dtype}")
        if there.shape == info.shape:
            self.writes.append((weight.variable, self.source.array(there.path) if live is None else live))
            return self._add(info, found, "copied")
        shapes = f"the shapes differ: {there.shape} in the source, {info.shape} in the target"
        if self.policy == "refuse":
            self._leave(info, found, shapes)
            return self.misfits.append(self.outcomes[-1])
        if self.policy == "fresh":
            return self._leave(info, found, f"{shapes}; policy 'fresh' keeps its values")
        layer = self.layers.get(info.owner)
        self._check_by_axis(layer, there, info)
        blocks = blocks_of(layer, info.name, len(info.shape))
        array = adapt(self.source.array(there.path), info.shape, self.policy, path=info.path, blocks=blocks)
        self.writes.append((weight.variable, array))
        return self._add(info, found, "adapted")

    def _check_by_axis(self, layer: Any, there: WeightInfo, info: WeightInfo) -> None:
        """Refuse to adapt an axis that holds several parts, because that would scramble the weight."""
        reason = why_not_by_axis(layer, info.name, there.shape, info.shape)
        if reason is None and len(there.shape) == len(info.shape) and there.shape[:1] != info.shape[:1]:
            merging = merging_op_before(self.target, layer) if info.name == "kernel" else None
            if merging is not None:
                reason = f"its rows belong to values that '{merging}' merges into one axis"
        if reason is not None:
            raise WeightsDoNotFitError(
                f"Cannot adapt weights of shape {there.shape} to '{info.path}' of shape {info.shape}: {reason}.",
                expected=f"shape {info.shape}",
                found=f"shape {there.shape} from '{there.path}'",
                fix="pass policy='fresh' to keep the target's values, or give the source the new shape first: "
                "ramet.edit(source, e.resize_input(shape, weights=...)).",
                path=info.path,
            )

    def _quantization_difference(self, there: WeightInfo, info: WeightInfo) -> str | None:
        """Return how the two sides are quantized if they differ, or None."""
        here = quantization.mode_of(self.layers.get(info.owner))
        if self.source.layers:
            mode = quantization.mode_of(self.source.layers.get(there.owner))
        else:  # arrays without a model: integers with a scale beside them are quantized
            beside = {one.name: one for one in self.source.weights if one.owner == there.owner}
            numbered = any(name.isdecimal() for name in beside)  # a weights file may only number the scale
            integers = any(
                (numbered or f"{name}_scale" in beside) and not is_inexact(one.dtype) for name, one in beside.items()
            )
            if integers == (here is not None and here != "float8"):
                return None
            mode = "integers" if integers else None
        if mode == here:
            return None
        ways = [f"quantized to {way}" if way else "float" for way in (mode, here)]
        return f"{ways[0]} in the source and {ways[1]} in the target"

    def _dtype_fits(self, there: WeightInfo, info: WeightInfo) -> bool:
        """Return whether the values survive a cast: floats to floats, and integers if every value fits."""
        if there.dtype == info.dtype:
            return True
        if is_inexact(there.dtype) and is_inexact(info.dtype):
            return not there.dtype.startswith("complex") or info.dtype.startswith("complex")
        integers = ("int", "uint")
        if there.dtype.startswith(integers) and info.dtype.startswith(integers):
            array = self.source.array(there.path)
            return bool(np.array_equal(array.astype(info.dtype), array))
        return False

    def _add(self, info: WeightInfo, found: Match | None, outcome: Outcome, reason: str | None = None) -> None:
        origin: dict[str, Any] = {}
        if found is not None:
            there = found.source
            self.used[there.path] = reason or ""
            origin = {"source": there.path, "how": found.how, "source_shape": there.shape, "source_dtype": there.dtype}
        self.outcomes.append(TransferredWeight(info.path, outcome, info.shape, info.dtype, **origin, reason=reason))

    def _leave(self, info: WeightInfo, found: Match | None, reason: str) -> None:
        self._add(info, found, "left", reason)

    def unused(self, renamed: dict[str, str]) -> list[UnusedWeight]:
        """Return the weights of the source that were not used, and why. A tied weight counts as used everywhere."""
        filled = {self.source.identity(path) for path, reason in self.used.items() if not reason}
        found = []
        for weight in self.source.weights:
            reason = self.used.get(weight.path, "no weight of the target matches")
            if weight.path in renamed and weight.path not in self.used:
                reason = f"the target has no '{renamed[weight.path]}'"
            if reason and self.source.identity(weight.path) not in filled:
                found.append(UnusedWeight(weight.path, weight.shape, reason))
        return found

    def compare_vocabularies(self, locations: list[OpLocation]) -> None:
        """Report lookup layers with different vocabularies, which are not weights. Only live sources are compared."""
        here = {location.path: location.op for location in locations if location.same_as is None}
        for path, reason in different_vocabularies(self.source.layers, here):
            self.outcomes.append(TransferredWeight(f"{path}.vocabulary", "left", reason=reason))

    def check_writable(self, weights: list[ModelWeight], unused: list[UnusedWeight]) -> None:
        """Raise if weights do not fit, or if nothing would be written."""
        summary = f"Cannot transfer from {self.source.label} to '{self.target.name}'"
        if self.quantized:
            first = self.quantized[0]
            raise WeightsDoNotFitError(
                f"{summary}: their layers are not quantized in the same way.",
                found=f"'{first.path}' is {first.reason}",
                fix="make both float, ramet.edit(model, e.cast('float32')), or quantize both in the same way, "
                "ramet.edit(model, e.quantize()); or select other layers with select=. Nothing was written.",
                path=first.path,
            )
        if self.misfits:
            misfits = [f"'{one.path}' is {one.shape}, but got {one.source_shape}" for one in self.misfits]
            count = len(self.misfits)
            raise WeightsDoNotFitError(
                f"{summary}: {'1 weight has another shape' if count == 1 else f'{count} weights have other shapes'}.",
                found=joined(misfits, 3, "; "),
                fix="choose a policy: 'slice', 'pad', 'mean' or 'repeat' to adapt them, 'fresh' to keep the target's "
                "values; nothing was written.",
                path=self.misfits[0].path,
            )
        matched = next((one for one in self.outcomes if one.source is not None), None)
        kept_on_purpose = self.policy == "fresh" and matched is not None
        if any(one.outcome != "left" for one in self.outcomes) or kept_on_purpose:
            return
        if not weights and not self.source.weights:
            return
        if not weights:
            reason = f"'{self.target.name}' has no weights"
        elif not self.source.weights:
            reason = f"{self.source.label} has no weights"
        elif matched is not None:
            reason = f"no weight can be written ('{escape(matched.path)}': {matched.reason})"
        else:
            reason = "no weights match"
        found = [f"'{escape(one.path)}' {one.shape}: {one.reason}" for one in unused]
        raise WeightsDoNotFitError(
            f"{summary}: {reason}.",
            expected=f"paths such as {listed([escape(weight.info.path) for weight in weights])}" if weights else None,
            found=joined(found, 3, "; ") or None,
            fix="pass rename={'old/path': 'new/path'}; dry_run=True returns a report of what would match.",
        )
