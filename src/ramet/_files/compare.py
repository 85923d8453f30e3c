"""What changed between two files."""

from __future__ import annotations

from ramet._diff import Diff, diff_graphs
from ramet._diff.weight import Weights, compare_weights
from ramet._files.model_file import ModelFile
from ramet._graph import FrozenDict, freeze_dict


def diff_files(before: ModelFile, after: ModelFile, weights_before: Weights | None = None) -> Diff:
    """The diff of two files. A model and weights alone have only weights in common: nothing else is compared then.

    Args:
        before: The first file.
        after: The second.
        weights_before: The first one's weights, where reading them is to be watched.
    """
    weights = weights_before or before.weights, after.weights
    if (before.kind == "weights") != (after.kind == "weights"):
        paths = dict.fromkeys([*before.weights, *after.weights])
        compared, changes = compare_weights([(path, path) for path in paths], *weights)
        return Diff(before.graph.name, after.graph.name, tuple(changes), (), compared)
    # Keras 2 wrote these settings in another form: they would all seem changed.
    compiled = (_compiled(before), _compiled(after)) if before.kind == after.kind == "model" else None
    return diff_graphs(before.graph, after.graph, weights, compiled)


def _compiled(file: ModelFile) -> FrozenDict | None:
    return None if file.compile_config is None else freeze_dict(file.compile_config)
