"""Whether both models, saved and loaded, hold the same. Keras saves no random and no RNN state."""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import h5py
import keras
import numpy as np

from ramet._keras import names_untouched, start_alike
from ramet._verify.compare import differ
from ramet._verify.findings import Findings, not_run, short
from ramet._verify.pair import Pair, Side
from ramet._verify.report import Check
from ramet._verify.run import compare_by_path, quiet, state_of

_CHUNK = 1 << 20
_METADATA = "metadata.json"  # says when the file was written


def check(pair: Pair) -> Check:
    """Save both and compare what the files hold; unless they are equal byte by byte, load them and compare their state."""
    findings = Findings("file", within=pair.tolerance is not None)
    if not isinstance(pair.ours.model, keras.Model):
        not_run("a layer on its own is not saved to a file, only a model is")
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "ours.keras", Path(folder) / "theirs.keras"
        error = _save(pair, pair.ours, ours)
        if error is not None:
            not_run(f"Keras cannot save the original: {short(error)}")
        error = _save(pair, pair.theirs, theirs)
        if error is not None:
            findings.say(pair.theirs.model.name, f"cannot be saved: {short(error)}")
            return findings.check("")
        same_bytes = _compare_files(findings, pair, ours, theirs, Path(folder))
        if same_bytes and _classes(pair.ours) == _classes(pair.theirs):
            return findings.check("files equal byte by byte, so they load alike")
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


def _compare_files(findings: Findings, pair: Pair, ours: Path, theirs: Path, folder: Path) -> bool:
    """Take note of how two files differ; answers with whether all that is in them is the same, byte by byte."""
    same_bytes = True
    with zipfile.ZipFile(ours) as one, zipfile.ZipFile(theirs) as other:
        mine, yours = set(one.namelist()), set(other.namelist())
        for name in sorted(mine ^ yours):
            findings.say(name, "is in one of the files only")
        for name in sorted(mine & yours - {_METADATA}):
            with one.open(name) as first, other.open(name) as second:
                if _are_equal(first, second):
                    continue
            same_bytes = False
            copies = [_extracted(archive, name, folder / which) for archive, which in ((one, "1"), (other, "2"))]
            if name == "config.json":
                configs = [_settled(json.loads(copy.read_text(encoding="utf-8"))) for copy in copies]
                difference = _first_difference(configs[0], configs[1], findings.allow)
                if difference is not None:
                    findings.say(name, difference)
            elif name.endswith(".h5"):
                with h5py.File(copies[0]) as weights, h5py.File(copies[1]) as others:
                    _compare_weights(findings, weights, others, pair.tolerance)
            elif _is_repeatable(pair, name, copies[0], folder):
                findings.say(name, "has another content")
    return same_bytes and mine == yours


def _is_repeatable(pair: Pair, name: str, first: Path, folder: Path) -> bool:
    """Whether saving the original once more gives the same bytes for a member: assets may hold dates and the like."""
    again = folder / "again.keras"
    if _save(pair, pair.ours, again) is not None:
        return False
    with zipfile.ZipFile(again) as archive:
        if name not in archive.namelist():
            return False
        with first.open("rb") as member, archive.open(name) as other:
            return _are_equal(member, other)


def _extracted(archive: zipfile.ZipFile, name: str, path: Path) -> Path:
    """A member of an archive in a file of its own: HDF5 jumps about, and a jump in an archive reads all before it."""
    with archive.open(name) as member, path.open("wb") as file:
        shutil.copyfileobj(member, file, _CHUNK)
    return path


def _are_equal(first: IO[bytes], second: IO[bytes]) -> bool:
    while chunk := first.read(_CHUNK):
        if chunk != second.read(_CHUNK):
            return False
    return not second.read(1)


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


def _first_difference(ours: Any, theirs: Any, allow: Callable[[object, object], bool]) -> str | None:
    """The first entry of two configs that differs; floating-point dtypes may, where `allow` says so."""
    waiting = [("", ours, theirs)]
    while waiting:
        path, a, b = waiting.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            keys = [key for key in {**a, **b} if a.get(key) != b.get(key)]
            waiting.extend((f"{path}.{key}", a.get(key), b.get(key)) for key in reversed(keys))
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            waiting.extend((f"{path}[{i}]", x, y) for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
        elif a != b and not allow(a, b):
            return f"{path.lstrip('.')}: {a!r:.60} became {b!r:.60}"
    return None


def _compare_weights(findings: Findings, ours: Any, theirs: Any, tolerance: Any) -> None:
    mine, yours = _datasets(ours), _datasets(theirs)
    for path in sorted(mine.keys() ^ yours.keys()):
        findings.say(path, "is in one of the files only")
    for path in sorted(mine.keys() & yours.keys()):
        findings.add(differ(path, _read(mine[path]), _read(yours[path]), tolerance))


def _datasets(file: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    file.visititems(lambda path, item: found.update({path: item}) if isinstance(item, h5py.Dataset) else None)
    return found


def _read(dataset: Any) -> Any:
    """The array in a dataset; of a dtype that HDF5 does not know, the file holds bytes and the name of the dtype."""
    array = np.asarray(dataset[()])
    name = dataset.attrs.get("dtype")
    if array.dtype.kind == "V" and name is not None:
        import ml_dtypes

        array = array.view(getattr(ml_dtypes, str(name), array.dtype))
    return array


def _compare_loaded(findings: Findings, pair: Pair, ours: Path, theirs: Path) -> str:
    first, second = (_loaded(pair, side, path, pair.seed) for side, path in ((pair.ours, ours), (pair.theirs, theirs)))
    if isinstance(first, Exception):
        return f"Keras cannot load the original's: {short(first, 80)}"
    if isinstance(second, Exception):
        findings.say(pair.theirs.model.name, f"its file cannot be loaded: {short(second)}")
        return ""
    found = list(compare_by_path(first, second, pair.tolerance, "loaded, "))
    anew = _made_anew(pair, first, ours) if found else frozenset()
    for difference in found:
        if difference.path not in anew:
            findings.add(difference)
    count = len(first) - len(anew)
    findings.count("variables", count)
    return f"loaded, {count} variables agree" + (f"; {len(anew)} are made anew on loading" if anew else "")


def _made_anew(pair: Pair, first: dict[str, list[Any]], path: Path) -> frozenset[str]:
    """The variables that the original's file does not decide: they differ when it is loaded again.

    A layer that is made inside another one, and a `Dropout` without a seed, draw numbers whenever they are made.
    """
    again = _loaded(pair, pair.ours, path, pair.seed + 1)
    if isinstance(again, Exception):
        return frozenset()
    return frozenset(one.path for one in compare_by_path(first, again, None))


def _classes(side: Side) -> dict[str, type]:
    return {type(place.op).__name__: type(place.op) for place in side.places}


def _loaded(pair: Pair, side: Side, path: Path, seed: int) -> dict[str, list[Any]] | Exception:
    with quiet(), names_untouched():
        pair.begin()
        start_alike(seed)
        try:
            # The file was written a moment ago, from a model that runs in this very process: nothing new is trusted.
            loaded = keras.saving.load_model(path, custom_objects=_classes(side), safe_mode=False)
            return state_of(Side(loaded))
        except Exception as error:  # noqa: BLE001  # what a user's class does not know how to load
            return error
        finally:
            pair.end()
