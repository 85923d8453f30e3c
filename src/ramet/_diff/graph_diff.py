"""Comparing two graphs: `diff_graphs` runs the steps and collects the result."""

from __future__ import annotations

from collections.abc import Callable

from ramet._diff.change import Change, Diff
from ramet._diff.comparison import Comparison
from ramet._diff.connections import compare_connections
from ramet._diff.matching import Pairing
from ramet._diff.ops import compare_positions, compare_settings, compare_sharing
from ramet._diff.tree import OpTree
from ramet._diff.values import differences
from ramet._diff.variables import Weights, compare_variables, compare_weights
from ramet._graph import FrozenDict, Graph

Compiled = tuple[FrozenDict | None, FrozenDict | None]


def diff_graphs(
    before: Graph,
    after: Graph,
    weights: tuple[Weights, Weights] | None = None,
    compiled: Compiled | None = None,
    on_read: Callable[[str], None] = lambda _: None,
) -> Diff:
    """Return the differences between two models.

    Ops are paired first, then everything is compared pair by pair. The order of the steps matters: settings say which ops
    were touched, connections use that to tell changes from consequences, and variables use both.

    Args:
        before: The first model.
        after: The second model. If it is the very same graph, only weights and compile settings are compared.
        weights: Readers of the variables of both; None to compare only the descriptions of variables.
        compiled: The compile settings of both, None for a model that is not compiled; None to leave them out.
        on_read: Called with the path of each variable before it is read.
    """
    changes: list[Change] = []
    consequences: tuple[Change, ...] = ()
    if after is before:
        variables = [(path, path) for path in dict.fromkeys(spec.tied or path for path, spec in before.variables())]
    elif after.fingerprint < before.fingerprint:
        # If several readings are equally good, the same one must be chosen from both sides, so graphs are always compared
        # in the order of their fingerprints. test_the_reverse_diff_is_the_mirror_image guards this.
        swapped = None if compiled is None else (compiled[1], compiled[0])
        others = None if weights is None else (weights[1], weights[0])
        return diff_graphs(after, before, others, swapped, on_read).mirrored()
    else:
        comparison = Comparison(Pairing(OpTree(before), OpTree(after)))
        compare_settings(comparison)
        compare_positions(comparison)
        compare_connections(comparison)
        variables = compare_variables(comparison)
        compare_sharing(comparison)
        changes += comparison.changes()
        consequences = comparison.changes(consequences=True)
    changes += _compare_compiled(compiled)
    compared = None
    if weights is not None:
        compared, changed = compare_weights(variables, *weights, on_read=on_read)
        changes += changed
    return Diff(before.name, after.name, tuple(changes), consequences, compared)


def _compare_compiled(compiled: Compiled | None) -> list[Change]:
    old, new = compiled or (None, None)
    if old is None or new is None:
        if old is new:
            return []
        return [Change("compile", "", "", "compiled", old is not None, new is not None)]
    return [Change("compile", "", "", what, was, now) for what, was, now in differences(old, new)]
