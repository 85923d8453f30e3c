"""File: both models, saved and loaded again, are the same. Keras saves neither random nor RNN state."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import h5py
import keras
import numpy as np

from ramet._keras import keep_name_counters, seed_generators
from ramet._verify.compare import compare_by_path, differences
from ramet._verify.findings import Findings, not_run, short
from ramet._verify.pair import Pair
from ramet._verify.report import Check
from ramet._verify.run import run_restored, state_of
from ramet._verify.side import Side

_CHUNK = 1 << 20
_METADATA = "metadata.json"  # records the time of writing
_ADDRESS = "shared_object_id"  # the address of an object, which Keras writes into configs


def check(pair: Pair) -> Check:
    """Save both models and compare the files; unless they are equal byte by byte, load them and compare their state."""
    findings = Findings("file", within=pair.tolerance is not None)
    if not isinstance(pair.ours.model, keras.Model):
        not_run("Keras saves models, not single layers")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        ours, theirs = Path(folder) / "ours.keras", Path(folder) / "theirs.keras"
        error = _save(pair, pair.ours, ours)
        if error is not None:
            not_run(f"Keras cannot save the original: {short(error)}")
        error = _save(pair, pair.theirs, theirs)
        if error is not None:
            findings.add_text(pair.theirs.model.name, f"cannot be saved: {short(error)}")
            return findings.check("")
        same_bytes = _compare_files(findings, pair, ours, theirs, Path(folder))
        if same_bytes and _classes(pair.ours) == _classes(pair.theirs):
            return findings.check("the files are equal byte by byte, so they load alike")
        loaded = _compare_loaded(findings, pair, ours, theirs)
    return findings.check(f"the files have the same content; {loaded}")


def _save(pair: Pair, side: Side, path: Path) -> Exception | None:
    with keep_name_counters():
        returned = run_restored(pair, lambda: side.model.save(path))
    return returned if isinstance(returned, Exception) else None


def _compare_files(findings: Findings, pair: Pair, ours: Path, theirs: Path, folder: Path) -> bool:
    """Add the differences between two files, and return whether all members are equal byte by byte."""
    same_bytes = True
    with zipfile.ZipFile(ours) as one, zipfile.ZipFile(theirs) as other:
        names, others = set(one.namelist()), set(other.namelist())
        for name in sorted(names ^ others):
            findings.add_text(name, "only in one of the files")
        for name in sorted(names & others - {_METADATA}):
            with one.open(name) as first, other.open(name) as second:
                if _are_equal(first, second):
                    continue
            same_bytes = False
            # HDF5 seeks a lot, and seeking inside an archive reads everything before.
            copies = [Path(one.extract(name, folder / "ours")), Path(other.extract(name, folder / "theirs"))]
            if name == "config.json":
                mine, yours = (json.loads(copy.read_text(encoding="utf-8")) for copy in copies)
                difference = _first_difference(mine, yours, findings.allow)
                if difference is not None:
                    findings.add_text(name, difference)
            elif name.endswith(".h5"):
                with h5py.File(copies[0]) as our_weights, h5py.File(copies[1]) as their_weights:
                    _compare_weights(findings, our_weights, their_weights, pair.tolerance)
            elif _is_repeatable(pair, name, copies[0], folder):
                findings.add_text(name, "different content")
    return same_bytes and names == others


def _is_repeatable(pair: Pair, name: str, first: Path, folder: Path) -> bool:
    """Return whether saving the original again gives the same bytes for a member: assets may contain dates."""
    again = folder / "again.keras"
    if _save(pair, pair.ours, again) is not None:
        return False
    with zipfile.ZipFile(again) as archive:
        if name not in archive.namelist():
            return False
        with first.open("rb") as member, archive.open(name) as other:
            return _are_equal(member, other)


def _are_equal(first: IO[bytes], second: IO[bytes]) -> bool:
    while chunk := first.read(_CHUNK):
        if chunk != second.read(_CHUNK):
            return False
    return not second.read(1)


def _first_difference(ours: Any, theirs: Any, allow: Callable[[object, object], bool]) -> str | None:
    """Return the first entry of two configs that differs, unless it is a dtype that `allow` accepts."""
    waiting = [("", ours, theirs)]
    while waiting:
        path, a, b = waiting.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            keys = [key for key in {**a, **b} if key != _ADDRESS and a.get(key) != b.get(key)]
            waiting.extend((f"{path}.{key}", a.get(key), b.get(key)) for key in reversed(keys))
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            differing = [(f"{path}[{i}]", x, y) for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
            waiting.extend(reversed(differing))
        elif a != b and not allow(a, b):
            return f"{path.lstrip('.')}: {a!r:.60} became {b!r:.60}"
    return None


def _compare_weights(findings: Findings, ours: Any, theirs: Any, tolerance: Any) -> None:
    mine, yours = _datasets(ours), _datasets(theirs)
    for path in sorted(mine.keys() ^ yours.keys()):
        findings.add_text(path, "only in one of the files")
    for path in sorted(mine.keys() & yours.keys()):
        findings.add(differences(path, [_read(mine[path])], [_read(yours[path])], tolerance))


def _datasets(file: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    file.visititems(lambda path, item: found.update({path: item}) if isinstance(item, h5py.Dataset) else None)
    return found


def _read(dataset: Any) -> Any:
    """Return the array in a dataset; for a dtype that HDF5 lacks, the file has bytes and the name of the dtype."""
    array = np.asarray(dataset[()])
    name = dataset.attrs.get("dtype")
    if array.dtype.kind == "V" and name is not None:
        import ml_dtypes

        array = array.view(getattr(ml_dtypes, str(name), array.dtype))
    return array


def _compare_loaded(findings: Findings, pair: Pair, ours: Path, theirs: Path) -> str:
    first, second = (_loaded(pair, side, path, pair.seed) for side, path in ((pair.ours, ours), (pair.theirs, theirs)))
    if isinstance(first, Exception):
        return f"Keras cannot load the original's file: {short(first, 80)}"
    if isinstance(second, Exception):
        findings.add_text(pair.theirs.model.name, f"its file cannot be loaded: {short(second)}")
        return ""
    found = list(compare_by_path(first, second, pair.tolerance, "after loading, "))
    drawn = _drawn_on_loading(pair, first, ours) if found else frozenset()
    findings.add(difference for difference in found if difference.path not in drawn)
    count = len(first) - len(drawn)
    findings.count("variables", count)
    return f"after loading, {count} variables agree" + (f"; {len(drawn)} are drawn anew on loading" if drawn else "")


def _drawn_on_loading(pair: Pair, first: dict[str, list[Any]], path: Path) -> frozenset[str]:
    """Return the variables that the original's file does not determine: they differ when it is loaded again.

    A layer that is created inside another one, and a `Dropout` without a seed, draw numbers whenever they are created.
    """
    again = _loaded(pair, pair.ours, path, pair.seed + 1)
    if isinstance(again, Exception):
        return frozenset()
    return frozenset(one.path for one in compare_by_path(first, again, None))


def _classes(side: Side) -> dict[str, type]:
    return {type(location.op).__name__: type(location.op) for location in side.locations}


def _loaded(pair: Pair, side: Side, path: Path, seed: int) -> dict[str, list[Any]] | Exception:
    def load() -> dict[str, list[Any]]:
        seed_generators(seed)
        # The file was just written from a model that runs in this process, so it brings no new code.
        return state_of(Side(keras.saving.load_model(path, custom_objects=_classes(side), safe_mode=False)))

    with keep_name_counters():
        return run_restored(pair, load)
