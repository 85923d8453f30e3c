"""The two models that are compared, and what is found out about them once for all checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import keras

from ramet._graph import Graph
from ramet._keras import Place, capture, collector_paused, global_generator, places_below, start_alike, structure
from ramet._verify import cases, run
from ramet._verify.beside import Beside
from ramet._verify.cases import Case
from ramet._verify.compare import Copies, Tolerance, is_other_float, measured
from ramet._verify.findings import not_run, short
from ramet._verify.memento import Memento
from ramet._verify.reach import Reached, reach
from ramet._verify.report import Difference
from ramet._verify.specs import Signature, signatures_of
from ramet._verify.variables import named_objects, variables_by_path


class Side:
    """One of the two models."""

    def __init__(self, model: Any, shared: frozenset[int] = frozenset()) -> None:
        self.model, self._shared = model, shared

    @cached_property
    def places(self) -> list[Place]:
        """Every op below it."""
        return places_below(self.model)

    @cached_property
    def graph(self) -> Graph:
        """The model as data."""
        return capture(self.model)

    @cached_property
    def variables(self) -> dict[str, Any]:
        """Every variable by path."""
        return variables_by_path(self.model, self.places)

    @cached_property
    def names(self) -> dict[int, str]:
        """The paths of ops, variables, metrics and the optimizer, by id."""
        return named_objects(self.model, self.places)

    @cached_property
    def reached(self) -> dict[int, Reached]:
        """Everything that can be reached from it, but for what both models are meant to share."""
        with collector_paused():
            return reach([self.model], but=self._shared)


class Pair:
    """The original and the other.

    Args:
        model: The original.
        twin: The other.
        tolerance: None for bit-equality.
        seed: Of inputs and random layers.
        inputs: Example inputs, where the model does not tell what it takes.
        targets: Example targets for training.
        share: What is meant to be one object in both.
        differentiates: Whether the first run of each model also gives its gradients.
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
        self._touched = False
        self._results: dict[tuple[bool, str, bool], run.Result] = {}

    @cached_property
    def memento(self) -> Memento:
        """Both models as they were found, what they share, and Keras' own random generator."""
        with collector_paused():
            reached = self.ours.reached | self.theirs.reached | reach([*self._share, global_generator()])
            return Memento((found.value for found in reached.values()), self.copies)

    def result(self, side: Side, case: Case, *, training: bool = False) -> run.Result:
        """What a model gives for a case; run once, and remembered."""
        key = (side is self.ours, case.name, training)
        if key not in self._results:
            self._results[key] = run.run(self, side, case, training=training)
        return self._results[key]

    def begin(self) -> None:
        """Let both models be as they were found, and random layers draw what they drew before."""
        self.end()
        self.memento  # noqa: B018  # taken before anything is done to the models
        self._touched = True
        start_alike(self.seed)

    def end(self) -> None:
        """Let both models be as they were found, if anything was done to them."""
        if self._touched:
            self.memento.put_back()
            self._touched = False

    @cached_property
    def beside(self) -> Beside:
        """What attributes hold on both sides."""
        others = {place.path: place.op for place in self.theirs.places}
        pairs = [(place.op, others[place.path]) for place in self.ours.places if place.path in others]
        with collector_paused():
            return Beside(pairs, self.ours.names, measured(self.tolerance))

    @cached_property
    def has_other_dtypes(self) -> bool:
        """Whether a tolerance was given, and an op or variable has another floating-point dtype in the other model."""
        if self.tolerance is None:
            return False
        sides = []
        for graph in (self.ours.graph, self.theirs.graph):
            held = {path: op.dtype_policy for path, op in graph.walk()}
            sides.append(held | {path: spec.dtype for path, spec in graph.variables()})
        return any(is_other_float(dtype, sides[1].get(path)) for path, dtype in sides[0].items())

    @cached_property
    def draws(self) -> bool:
        """Whether the original holds random generators: what they draw depends on the dtype it is drawn for."""
        return any(structure.generators_of(place.op) for place in self.ours.places)

    @cached_property
    def state(self) -> tuple[list[Difference], float | None]:
        """How the variables differ to begin with, and the largest relative difference where there is a tolerance."""
        self.end()
        ours, theirs = (run.state_of(side) for side in (self.ours, self.theirs))  # read now, not kept
        tolerance = measured(self.tolerance)
        found = list(run.compare_by_path(ours, theirs, tolerance))
        return found, None if tolerance is None else tolerance.largest

    @cached_property
    def differing_state(self) -> frozenset[str]:
        """The paths of variables that differ to begin with."""
        return frozenset(one.path for one in self.state[0])

    @property
    def cases(self) -> list[Case]:
        """The inputs that the original takes; those it refuses are left out and named in `left_out`."""
        if isinstance(self._cases, str):
            not_run(self._cases)
        return self._cases

    @cached_property
    def _cases(self) -> list[Case] | str:
        if self.inputs is not None:
            given = Case("given", *self._given_arguments(), trains=True, is_first=True)
            refusal = self.result(self.ours, given).error
            return [given] if refusal is None else f"the original refuses the inputs given: {short(refusal)}"
        error: Exception | None = None
        for signature, size, whole in self._tries():
            first = cases.ordinary(signature, self.seed, size, whole=whole)
            answer = run.run(self, self.ours, first)
            if answer.error is None:
                self._results[True, first.name, False] = answer
                more = cases.others(signature, self.seed, size, whole=whole, padded=self._masks_are_made)
                return [first, *(case for case in more if self._is_taken(case))]
            error = error or answer.error
        return f"the original refuses inputs made from its specs: {short(error or ValueError())}; pass inputs=..."

    def _given_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The example inputs as arguments: a dict for a layer on its own names the arguments of its call."""
        layer = self.ours.model
        named = isinstance(self.inputs, dict) and not isinstance(layer, keras.Model)
        if named and self.inputs.keys() <= structure.parameters_of(layer).keys():
            return (), dict(self.inputs)
        return (self.inputs,), {}

    def _tries(self) -> Iterator[tuple[Signature, int, bool]]:
        """Ways to make inputs: for which signature, which size of free dimensions, and whether of whole numbers."""
        for signature in signatures_of(self.ours.model, self.ours.places):
            free = any(size is None for spec in signature.leaves() for size in spec.shape[1:])
            for size in cases.SIZES if free else cases.SIZES[:1]:
                yield from ((signature, size, whole) for whole in (False, True))

    def _is_taken(self, case: Case) -> bool:
        error = self.result(self.ours, case).error
        if error is not None:
            self.left_out.append(f"{case.name} ({short(error, 80)})")
        return error is None

    @property
    def _masks_are_made(self) -> bool:
        ops = [place.op for place in self.ours.places]
        return any(isinstance(op, keras.layers.Masking) or getattr(op, "mask_zero", False) for op in ops)
