"""The vocabularies of lookup layers, which archives keep in files of their own, and SavedModels in tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ramet._port.archive import saved_groups
from ramet._port.draft import Layer, Model
from ramet._port.notes import Notes
from ramet._port.placement import Arrays
from ramet._port.source import SourceFile
from ramet._port.variables import walk_layers

_LOOKUPS = frozenset({"IntegerLookup", "StringLookup", "TextVectorization"})


def vocabularies_into_settings(model: Model, members: Mapping[str, Callable[[], bytes]], notes: Notes) -> set[str]:
    """Move vocabularies from the files of an archive into the settings of their layers; return the files that were used."""
    groups = {id(layer): group for group, layer in saved_groups(model)}
    used: set[str] = set()
    for path, layer in walk_layers(model):
        if layer.class_name not in _LOOKUPS:
            continue
        group = groups.get(id(layer))
        mine = [name for name in members if group is not None and name.startswith(f"assets/{group}/")]
        used.update(mine)
        if not mine or layer.config.get("vocabulary") is not None:
            continue
        tokens = members[min(mine, key=len)]().decode("utf-8").split("\n")
        kept = tokens[:-1] if tokens and not tokens[-1] else tokens
        layer.config["vocabulary"] = [int(token) for token in kept] if layer.class_name == "IntegerLookup" else kept
        notes.add("rewritten", path, f"its vocabulary of {len(kept):,} tokens is now in its settings")
    return used


def place_vocabularies(
    model: Model, source: SourceFile, arrays: Arrays, notes: Notes
) -> dict[str, Callable[[], bytes]]:
    """Put vocabularies into the settings of their layers; return the members that the target needs besides.

    In an archive of Keras 2, a vocabulary is the member `assets/layers/string_lookup/vocabulary.txt`, as in Keras 3. Those of
    layers inside a class of the user stay members.
    """
    members = {name: read for name, read in source.members.items() if name.startswith("assets/")}
    for path, layer in walk_layers(model):
        if layer.class_name == "Discretization":
            _place_boundaries(layer, path, source, arrays, notes)
        found = source.vocabularies.get(path)
        if layer.class_name in _LOOKUPS and layer.config.get("vocabulary") is None and found is not None:
            layer.config["vocabulary"] = list(found)
            notes.add("rewritten", path, f"its vocabulary of {len(found):,} tokens is now in its settings")
    used = vocabularies_into_settings(model, members, notes)
    for path, layer in walk_layers(model):
        if layer.class_name not in _LOOKUPS:
            continue
        if layer.config.get("vocabulary") is None:
            reason = "the file has no vocabulary for it"
            notes.refuse(path, reason, "save the model as .keras or as a SavedModel in Keras 2, after adapt().")
        else:
            _place_frequencies(layer, source)
    return {name: read for name, read in members.items() if name not in used}


def _place_boundaries(layer: Layer, path: str, source: SourceFile, arrays: Arrays, notes: Notes) -> None:
    """Put the boundaries of an adapted Discretization into its settings; Keras 2 derives them from a summary of the data."""
    import numpy as np

    values, bins = layer.arrays.pop(("", 0), None), layer.config.get("num_bins")
    if values is None or type(bins) is not int or bins < 1:
        return
    points, weights = source.read(values.paths[0])
    if len(points) >= bins:
        # As adapt() of Keras does: the points at which the given parts of the data have been seen.
        seen = weights.cumsum()
        parts = 1.0 / bins + np.arange(0.0, 1.0, 1.0 / bins)
        points = np.interp(parts, seen / seen[-1], points)
    arrays.use(replace(values, how="from the summary of the data"), f"{layer.source}/bin_boundaries")
    layer.config |= {"bin_boundaries": [float(point) for point in points[:-1]], "num_bins": None}
    notes.add("rewritten", path, f"its {len(points) - 1} boundaries are now in its settings")


def _place_frequencies(layer: Layer, source: SourceFile) -> None:
    """Put the weights of the tokens for `tf_idf` into the settings, which Keras 3 requires besides a vocabulary."""
    values = layer.arrays.get(("", 0))
    if values is None or layer.config.get("idf_weights") is not None:
        return
    array = source.read(values.paths[0])
    vocabulary = layer.config["vocabulary"]
    unknown = layer.config.get("num_oov_indices", 1)
    # The file of an archive begins with the tokens for unknown words, which have a weight, too.
    if len(vocabulary) == len(array):
        vocabulary = layer.config["vocabulary"] = vocabulary[unknown:]
    layer.config["idf_weights"] = [float(value) for value in array[unknown : unknown + len(vocabulary)]]
