"""The two models that are compared, and facts about them that several checks use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import keras

from ramet._keras import global_generator, pause_collector, seed_generators, structure
from ramet._verify import run
from ramet._verify.compare import Copies, Tolerance, compare_by_path, is_other_float, measured
from ramet._verify.findings import not_run, short
from ramet._verify.inputs import SIZES, Case, Signature, cases_for, signatures_of
from ramet._verify.reach import reach
from ramet._verify.report import Difference
from ramet._verify.side import Side, ops_in_both
from ramet._verify.side_by_side import SideBySide
from ramet._verify.snapshot import Snapshot


class Pair:
    """The original and the other model, with the arguments of `verify`.

    If `differentiates` is true, the first run of each model also computes its gradients.
    """

    def __init__(
        self,
        model: Any,
        twin: Any,
        *,
        tolerance: Tolerance = None,
        seed: int = 0,
        inputs: Any = None,
        targets: Any = None,
        share: Iterable[Any] = (),
        differentiates: bool = False,
    ) -> None:
        self._share = list(share)
        shared = frozenset(map(id, self._share))
        self.copies = Copies()
        self.ours, self.theirs = Side(model, shared), Side(twin, shared)
        self.tolerance, self.seed = measured(tolerance), seed
        self.inputs, self.targets = inputs, targets
        self.differentiates = differentiates
        self.left_out: list[str] = []
        self._is_changed = False
        self._results: dict[tuple[bool, str, bool], run.Result] = {}

    @cached_property
    def snapshot(self) -> Snapshot:
        """The initial state of both models, of shared objects, and of Keras' own random generator."""
        with pause_collector():
            reached = self.ours.reached | self.theirs.reached | reach([*self._share, global_generator()])
            return Snapshot((found.value for found in reached.values()), self.copies)

    def result(self, side: Side, case: Case, *, training: bool = False) -> run.Result:
        """Return the result of a model for a case; each is run only once."""
        key = (side is self.ours, case.name, training)
        if key not in self._results:
            self._results[key] = run.run(self, side, case, training=training)
        return self._results[key]

    def begin(self) -> None:
        """Restore both models and seed all random generators, before a model is run or changed."""
        self.end()
        self.snapshot  # noqa: B018  # taken before the models change
        self._is_changed = True
        seed_generators(self.seed)

    def end(self) -> None:
        """Restore both models, if they were run or changed."""
        if self._is_changed:
            self.snapshot.restore()
            self._is_changed = False

    @cached_property
    def side_by_side(self) -> SideBySide:
        """The comparison of all attributes."""
        with pause_collector():
            return SideBySide(ops_in_both(self.ours, self.theirs), self.ours.names, measured(self.tolerance))

    @property
    def equal(self) -> str:
        """The words for values that do not differ."""
        return "bit-equal" if self.tolerance is None else "equal within the tolerance"

    @cached_property
    def has_other_dtypes(self) -> bool:
        """True if a tolerance was given and an op or variable has another floating-point dtype in the other model."""
        if self.tolerance is None:
            return False
        sides = []
        for graph in (self.ours.graph, self.theirs.graph):
            held = {path: op.dtype_policy for path, op in graph.walk()}
            sides.append(held | {path: spec.dtype for path, spec in graph.variables()})
        return any(is_other_float(dtype, sides[1].get(path)) for path, dtype in sides[0].items())

    @cached_property
    def draws_other_numbers(self) -> bool:
        """True if the original has random generators, and its numbers have another dtype in the other model."""
        return self.has_other_dtypes and any(structure.generators_of(one.op) for one in self.ours.locations)

    @cached_property
    def state(self) -> tuple[list[Difference], float | None]:
        """The initial differences between variables, and the largest relative one if there is a tolerance."""
        self.end()
        ours, theirs = (run.state_of(side) for side in (self.ours, self.theirs))  # read now, not kept
        tolerance = measured(self.tolerance)
        found = list(compare_by_path(ours, theirs, tolerance))
        return found, None if tolerance is None else tolerance.largest

    @property
    def cases(self) -> list[Case]:
        """The inputs that the original accepts; those it refuses are left out and listed in `left_out`."""
        if isinstance(self._cases, str):
            not_run(self._cases)
        return self._cases

    @cached_property
    def _cases(self) -> list[Case] | str:
        if self.inputs is not None:
            given = Case("given", *self._given_arguments(), trains=True, is_first=True)
            refusal = self.result(self.ours, given).error
            return [given] if refusal is None else f"the original refuses the given inputs: {short(refusal)}"
        error: Exception | None = None
        for signature, size, whole in self._attempts():
            cases = cases_for(signature, self.seed, size, whole=whole, padded=self._creates_masks)
            first = next(cases)
            result = run.run(self, self.ours, first)
            if result.error is None:
                self._results[True, first.name, False] = result
                return [first, *(case for case in cases if self._is_accepted(case))]
            error = error or result.error
        return f"the original refuses inputs made from its specs: {short(error or ValueError())}; pass inputs=..."

    def _given_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the example inputs as arguments; for a single layer, a dict may name the arguments of its call."""
        layer = self.ours.model
        named = isinstance(self.inputs, dict) and not isinstance(layer, keras.Model)
        if named and self.inputs.keys() <= structure.parameters_of(layer).keys():
            return (), dict(self.inputs)
        return (self.inputs,), {}

    def _attempts(self) -> Iterator[tuple[Signature, int, bool]]:
        """Yield ways to make inputs: a signature, the size of free dimensions, and whether to use whole numbers."""
        for signature in signatures_of(self.ours.model, self.ours.locations):
            free = any(size is None for spec in signature.leaves() for size in spec.shape[1:])
            for size in SIZES if free else SIZES[:1]:
                yield from ((signature, size, whole) for whole in (False, True))

    def _is_accepted(self, case: Case) -> bool:
        error = self.result(self.ours, case).error
        if error is not None:
            self.left_out.append(f"{case.name} ({short(error, 80)})")
        return error is None

    @cached_property
    def _creates_masks(self) -> bool:
        ops = [location.op for location in self.ours.locations]
        return any(isinstance(op, keras.layers.Masking) or getattr(op, "mask_zero", False) for op in ops)
