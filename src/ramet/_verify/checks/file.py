"""Whether both models, saved and loaded, hold the same. Keras saves no random and no RNN state."""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np

from ramet._keras.counters import names_untouched
from ramet._keras.randomness import start_alike
from ramet._verify.compare import differ
from ramet._verify.findings import Findings, not_run, short
from ramet._verify.pair import Pair, Side
from ramet._verify.report import Check, Difference
from ramet._verify.run import compare_by_path, quiet, state_of


def check(pair: Pair) -> Check:
    """Save both, compare what the files hold, load both and compare their state."""
    findings = Findings("file")
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "ours.keras", Path(folder) / "theirs.keras"
        error = _save(pair, pair.ours, ours)
        if error is not None:
            not_run(f"Keras cannot save the original: {short(error)}")
        error = _save(pair, pair.theirs, theirs)
        if error is not None:
            findings.say(pair.theirs.model.name, f"cannot be saved: {short(error)}")
            return findings.check("")
        for difference in _compare_files(ours, theirs, pair.tolerance):
            findings.add(difference)
        loaded = _compare_loaded(findings, pair, ours, theirs)
    return findings.check(f"files of the same content; {loaded}")


def _save(pair: Pair, side: Side, path: Path) -> Exception | None:
    with quiet(), names_untouched():
        pair.begin()
        try:
            side.model.save(path)
        except Exception as error:  # noqa: BLE001  # a config of the user's may raise anything
            return error
        finally:
            pair.end()
    return None


def _compare_files(ours: Path, theirs: Path, tolerance: Any) -> list[Difference]:
    found = []
    with zipfile.ZipFile(ours) as one, zipfile.ZipFile(theirs) as other:
        mine, yours = set(one.namelist()), set(other.namelist())
        found += [Difference(name, "is in one of the files only") for name in sorted(mine ^ yours)]
        configs = [_settled(json.loads(archive.read("config.json"))) for archive in (one, other)]
        if configs[0] != configs[1]:
            found.append(Difference("config.json", _first_difference(configs[0], configs[1])))
        weights = [name for name in sorted(mine & yours) if name.endswith(".h5")]
        for name in weights:
            with one.open(name) as a, other.open(name) as b, h5py.File(a) as first, h5py.File(b) as second:
                found += _compare_weights(first, second, tolerance)
    return found


def _settled(config: Any) -> Any:
    """A config without the addresses that Keras writes into it."""
    waiting = [config]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            part.pop("shared_object_id", None)
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return config


def _first_difference(ours: Any, theirs: Any) -> str:
    path, waiting = "", [("", ours, theirs)]
    while waiting:
        path, a, b = waiting.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            waiting.extend((f"{path}.{key}", a.get(key), b.get(key)) for key in {*a, *b} if a.get(key) != b.get(key))
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            waiting.extend((f"{path}[{i}]", x, y) for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
        else:
            return f"{path.lstrip('.')}: {a!r:.60} became {b!r:.60}"
    return path


def _compare_weights(ours: Any, theirs: Any, tolerance: Any) -> list[Difference]:
    mine, yours = _datasets(ours), _datasets(theirs)
    found = [Difference(path, "is in one of the files only") for path in sorted(mine.keys() ^ yours.keys())]
    pairs = [
        (path, np.asarray(mine[path][()]), np.asarray(yours[path][()])) for path in sorted(mine.keys() & yours.keys())
    ]
    return found + [one for path, a, b in pairs if (one := differ(path, a, b, tolerance)) is not None]


def _datasets(file: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    file.visititems(lambda path, item: found.update({path: item}) if isinstance(item, h5py.Dataset) else None)
    return found


def _compare_loaded(findings: Findings, pair: Pair, ours: Path, theirs: Path) -> str:
    first, second = (_load(pair, side, path) for side, path in ((pair.ours, ours), (pair.theirs, theirs)))
    if isinstance(first, Exception):
        return f"Keras cannot load the original's: {short(first, 80)}"
    if isinstance(second, Exception):
        findings.say(pair.theirs.model.name, f"its file cannot be loaded: {short(second)}")
        return ""
    for difference in compare_by_path(first, second, pair.tolerance, "loaded, "):
        findings.add(difference)
    findings.count("variables", len(first))
    return f"loaded, {len(first)} variables agree"


def _load(pair: Pair, side: Side, path: Path) -> dict[str, list[Any]] | Exception:
    classes = {type(place.op).__name__: type(place.op) for place in side.places}
    with quiet(), names_untouched():
        pair.begin()
        try:
            # The file was written a moment ago, from a model that runs in this very process: nothing new is trusted.
            loaded = keras.saving.load_model(path, custom_objects=classes, safe_mode=False)
            start_alike(pair.seed)
            return state_of(Side(loaded))
        except Exception as error:  # noqa: BLE001  # what a user's class does not know how to load
            return error
        finally:
            pair.end()
