"""The door: two graphs, and what is different between them."""

from __future__ import annotations

from collections.abc import Callable

from ramet._diff.change import Change, Diff
from ramet._diff.connection import compare_connections
from ramet._diff.findings import Findings
from ramet._diff.match import Match
from ramet._diff.place import lay_out
from ramet._diff.position import compare_positions
from ramet._diff.setting import compare_settings
from ramet._diff.sharing import compare_sharing
from ramet._diff.value import differences
from ramet._diff.variable import Variables
from ramet._diff.weight import Weights, compare_weights
from ramet._graph import FrozenDict, Graph

__all__ = ["diff_graphs"]

Compiled = tuple[FrozenDict | None, FrozenDict | None]


def diff_graphs(
    before: Graph,
    after: Graph,
    weights: tuple[Weights, Weights] | None = None,
    compiled: Compiled | None = None,
    on_read: Callable[[str], None] = lambda _: None,
) -> Diff:
    """What is different between two models; empty when nothing is.

    Args:
        before: the one model.
        after: the other; the very same graph, where only weights and compile settings can differ.
        weights: where the values of their variables are read; None to compare the descriptions only.
        compiled: their compile settings, None for a model that is not compiled; None to leave them out.
        on_read: called with the path of each variable before it is read.
    """
    if after is before:
        compared, changes = None, _compare_compiled(compiled)
        if weights is not None:
            paths = dict.fromkeys(spec.tied or path for path, spec in before.variables())
            compared, weighed = compare_weights([(path, path) for path in paths], *weights, on_read=on_read)
            changes += weighed
        return Diff(before.name, after.name, tuple(changes), (), compared)
    if after.fingerprint < before.fingerprint:
        # Where several readings are as good as each other one has to be taken, and it must be the same from both sides.
        # test_the_diff_from_the_other_side_mirrors_it guards this.
        swapped = None if compiled is None else (compiled[1], compiled[0])
        others = None if weights is None else (weights[1], weights[0])
        return diff_graphs(after, before, others, swapped, on_read).mirrored()
    match = Match(lay_out(before), lay_out(after))
    found = Findings(match)
    compare_settings(found)
    compare_positions(found)
    compare_connections(found)
    variables = Variables(found)
    variables.compare()
    compare_sharing(found)
    changes = [*found.changes(), *_compare_compiled(compiled)]
    compared = None
    if weights is not None:
        compared, weighed = compare_weights(variables.objects(), *weights, on_read=on_read)
        changes += weighed
    return Diff(before.name, after.name, tuple(changes), found.consequences(), compared)


def _compare_compiled(compiled: Compiled | None) -> list[Change]:
    if compiled is None:
        return []
    old, new = compiled
    if old is None or new is None:
        if old is new:
            return []
        return [Change("compile", "", "", "compiled", old is not None, new is not None)]
    return [Change("compile", "", "", what, was, now) for what, was, now in differences(old, new)]
