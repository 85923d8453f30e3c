"""Every value of a config, at any depth and in any position."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._files.scan.finding import Finding
from ramet._files.scan.layers import judge_layer, judge_name, judge_text
from ramet._files.scan.objects import judge_object
from ramet._files.scan.place import Place
from ramet._files.text import Json

__all__ = ["scan_config"]

# Lists of words and numbers that are data whatever they say: a vocabulary may hold anything.
_DATA = frozenset({"vocabulary", "idf_weights", "keras_history", "shape", "value"})
# Names, not texts: they are judged as names, where they stand.
_NAMES = frozenset({"class_name", "module", "registered_name", "name", "spec_name"})


def scan_config(config: Json, file: str, root: str, *, legacy: bool = False) -> Iterator[Finding]:
    """What a load would run or reach because of a config.

    Args:
        config: plain data.
        file: the name of the file it stands in.
        root: what the whole of it is called in places.
        legacy: whether the file is of the HDF5 format of Keras 2.
    """
    waiting = [Place(config, root, legacy=legacy)]
    while waiting:
        place = waiting.pop()
        for finding in _judge(place):
            yield _at_file(finding, file)
        if not (place.key in _DATA and isinstance(place.value, list)):
            waiting += reversed(place.inside())


def _judge(place: Place) -> Iterator[Finding]:
    if isinstance(place.value, dict):
        yield from judge_object(place)
        yield from judge_layer(place)
    elif isinstance(place.value, str) and place.key not in _NAMES:
        yield from judge_name(place)
        yield from judge_text(place)


def _at_file(finding: Finding, file: str) -> Finding:
    return Finding(
        finding.severity,
        finding.kind,
        finding.what,
        finding.effect,
        f"{file}: {finding.place}",
        finding.path,
        finding.safe_mode,
        finding.advisories,
    )
