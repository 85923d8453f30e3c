"""How many parameters ops have, with what is inside them."""

from __future__ import annotations

from collections.abc import Iterable

from ramet._select.candidate import Catalog

__all__ = ["Parameters"]


class Parameters:
    """The parameters of the ops of one model. A variable that stands several times in what is counted counts once."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._sums = [0] * len(catalog)
        # Whether something in the op stands elsewhere, too, so that sums alone could count it twice.
        self._shared = [False] * len(catalog)
        ops = catalog.candidates
        # What is inside an op is told after it.
        for number in reversed(range(len(ops))):
            specs = [spec for spec in ops[number].op.variables if spec.weight]
            inner = catalog.inside.get(number, {}).values()
            self._sums[number] = sum(spec.size for spec in specs) + sum(self._sums[other] for other in inner)
            self._shared[number] = any(spec.tied is not None for spec in specs) or any(
                self._shared[other] or len(ops[other].places) > 1 for other in inner
            )

    def of(self, number: int) -> int:
        """The parameters of one op and of what is inside it."""
        return self.together([number]) if self._shared[number] else self._sums[number]

    def together(self, numbers: Iterable[int]) -> int:
        """The parameters of several ops and of what is inside them, each counted once."""
        waiting = list(numbers)
        seen = set(waiting)
        sizes: dict[str, int] = {}
        while waiting:
            number = waiting.pop()
            candidate = self._catalog.candidates[number]
            for spec in candidate.op.variables:
                if spec.weight:
                    sizes[spec.tied or f"{candidate.path}/{spec.id}"] = spec.size
            inner = set(self._catalog.inside.get(number, {}).values()) - seen
            seen |= inner
            waiting += inner
        return sum(sizes.values())
