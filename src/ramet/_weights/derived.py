"""State of layers that no weight holds: constants made from weights, and vocabularies."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import keras

__all__ = ["needs_refresh", "other_vocabularies", "refresh"]


def needs_refresh(layer: Any) -> bool:
    """Whether a layer computes with constants that it makes from its weights."""
    return isinstance(layer, keras.layers.Normalization) and getattr(layer, "input_mean", None) is None


def refresh(layer: Any) -> None:
    """Make the constants of a layer again, from the weights it has now."""
    layer.finalize_state()


def other_vocabularies(source: dict[str, Any], target: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The path of each layer of the target whose vocabulary is not that of the source's, and how they differ.

    Args:
        source: Live layers by path.
        target: Live layers by path.
    """
    ours, theirs = _vocabularies(source), _vocabularies(target)
    rest, others = ([path for path in ours if path not in theirs], [path for path in theirs if path not in ours])
    # Under other names, as many are taken to be the same ones in order.
    partner = dict(zip(others, rest, strict=True)) if len(rest) == len(others) else {}
    for path, words in theirs.items():
        known = ours.get(partner.get(path, path))
        if known is not None and known != words:
            yield path, f"a vocabulary is no weight: {len(known)} words in the source, {len(words)} here, not the same"


def _vocabularies(layers: dict[str, Any]) -> dict[str, list[str]]:
    """The words that lookup layers know, by path."""
    found: dict[str, list[str]] = {}
    for path, layer in layers.items():
        if hasattr(layer, "get_vocabulary"):
            # A layer of any class may have such a method; one that has no words to tell is no lookup layer.
            with contextlib.suppress(Exception):
                found[path] = [str(word) for word in layer.get_vocabulary()]
    return found
