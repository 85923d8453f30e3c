"""Every value of a config, at any depth and in any position."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from ramet._files.scan.finding import Finding
from ramet._files.scan.layers import judge_layer, judge_name, judge_text, name_field, reaches
from ramet._files.scan.names import is_known_name
from ramet._files.scan.objects import judge_object
from ramet._files.scan.place import Place
from ramet._files.text import Json

__all__ = ["judge_value", "scan_config"]

# Lists of strings that are always data: a vocabulary may contain anything. Objects in them are judged as elsewhere.
_WORDS = frozenset({"vocabulary", "value"})
# Names, not texts: they are judged as names, where they stand.
_NAMES = frozenset({"class_name", "module", "registered_name", "name", "spec_name"})

# Fields of which an object has at least one, beside the name of its class.
_OBJECT = frozenset({"config", "module", "registered_name", "spec", "spec_name", "type_spec"})


def scan_config(config: Json, file: str, root: str, *, legacy: bool = False) -> Iterator[Finding]:
    """What a load would run or reach because of a config.

    Args:
        config: plain data.
        file: the name of the file it stands in.
        root: what the whole of it is called in places.
        legacy: whether the file is of the HDF5 format of Keras 2.
    """
    for _, finding in _judged(Place(config, root, legacy=legacy)):
        yield dataclasses.replace(finding, place=f"{file}: {finding.place}")


def judge_value(value: Json, key: str) -> Iterator[tuple[tuple[str | int, ...], Json, Finding]]:
    """Judge the value of a key in a config. Yield each finding with the keys and indices that lead to it."""
    for place, finding in _judged(Place(value, key, key)):
        yield place.steps, place.value, finding


def _judged(root: Place) -> Iterator[tuple[Place, Finding]]:
    waiting = [iter([root])]
    while waiting:
        place = next(waiting[-1], None)
        if place is None:
            waiting.pop()
            continue
        for finding in _judge(place):
            yield place, finding
        if isinstance(place.value, dict | list):
            waiting.append(place.inside(_plain(place)))


def _plain(place: Place) -> Callable[[str], bool]:
    """Return a test for harmless strings in a list at this position. There may be millions of them."""
    if place.key in _WORDS:
        return bool
    if name_field(place):
        return is_known_name
    return lambda text: not reaches(text)


def _judge(place: Place) -> Iterator[Finding]:
    if isinstance(place.value, dict):
        # An output of a model may be named "class_name": that alone does not make an object.
        if "class_name" in place.value and place.value.keys() & _OBJECT:
            yield from judge_object(place)
            yield from judge_layer(place)
    elif isinstance(place.value, str) and (isinstance(place.step, int) or place.key not in _NAMES):
        yield from judge_name(place)
        yield from judge_text(place)
