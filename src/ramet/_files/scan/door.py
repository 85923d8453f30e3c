"""The door: a file is opened, everything in it is judged, nothing in it is run."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from ramet._files.container import Container
from ramet._files.entry import METHODS, Entry
from ramet._files.limits import Limits
from ramet._files.listing import Listing
from ramet._files.problem import HostileFileError, ModelFileError
from ramet._files.scan.config import scan_config
from ramet._files.scan.content import scan_arrays, scan_entries
from ramet._files.scan.finding import Finding, ScanReport, Severity, worst_first
from ramet._files.shard_map import SHARDED, first_shard, is_shard_map, unlisted
from ramet._files.source import CONFIG, METADATA, FileKind, open_source
from ramet._files.text import Json, read_json
from ramet._files.weights_file import WeightsFile, weights_file
from ramet._graph import escape

__all__ = ["scan"]

_START = 16

_Read = TypeVar("_Read")


def scan(path: str | os.PathLike[str], limits: Limits | None = None, *, isolated: bool = True) -> ScanReport:
    """What loading a model file with Keras would run or reach.

    Nothing in the file is imported, evaluated or unpickled.

    Args:
        path: a `.keras` archive or folder, a `.weights.h5`, a `.weights.json` with its shards, or a `.h5` of Keras 2.
        limits: how much it may hold.
        isolated: whether the weights file is looked at in a process of its own, as it should be.

    Raises:
        ModelFileError: there is no such file, or it is broken, or no model.
    """
    where = Path(path)
    try:
        source, container = open_source(where, limits or Limits())
    except HostileFileError as error:
        kind = "weights" if is_shard_map(where.name) else "model"
        return ScanReport(where.name, kind, "", (_refused(error),))
    try:
        work = _Scan(where, source, container, isolated=isolated)
        return work.archive() if source in ("archive", "folder") else work.single_file()
    finally:
        container.close()


class _Scan:
    """One file being scanned.

    What cannot be read does not end the scan: Keras makes the layers of a config before it reads weights, so that code in
    the config runs whatever the weights are.
    """

    def __init__(self, path: Path, source: FileKind, container: Container, *, isolated: bool) -> None:
        self._path = path
        self._limits = limits = container.limits
        self._container = container
        self._names = {entry.name for entry in container.entries}
        self._weights = weights_file(path, source, container, limits, isolated=isolated)
        self._findings: list[Finding] = []
        self._counts: Counter[Severity] = Counter()
        self._broken: list[ModelFileError] = []

    def archive(self) -> ScanReport:
        """The report on an archive or a folder: its files, its weights, its config."""
        shards = self._tried(lambda: self._weights.shards if self._weights is not None else ()) or ()
        problems = self._container.problems()
        first = first_shard(SHARDED)
        if shards and first in self._names and first not in shards:
            problems.append(unlisted(first))
        self._add(scan_entries(self._container.entries, problems, self._start_of, shards))
        self._listing()
        if CONFIG in self._names:
            self._add(scan_config(self._json(CONFIG), CONFIG, "config"))
        else:
            self._broken.append(
                ModelFileError(f"Cannot scan '{escape(self._path.name)}': it holds no '{CONFIG}'.", path=CONFIG)
            )
        return self._report("model", self._version())

    def single_file(self) -> ScanReport:
        """The report on a weights file, on shards, or on a model of Keras 2: there is no archive around them."""
        self._add(scan_entries((), self._container.problems(), self._start_of))
        listing = self._listing()
        kind = "legacy model" if "model_config" in listing.texts else "weights"
        return self._report(kind, listing.texts.get("keras_version", ""))

    def _report(self, kind: str, version: str) -> ScanReport:
        """The report. A file that cannot be read is no finding of its own, unless there is worse."""
        if self._broken and not any(finding.severity == "unsafe" for finding in self._findings):
            raise self._broken[0]
        findings = self._findings + [_refused(error) for error in self._broken] + list(self._not_listed())
        return ScanReport(self._path.name, kind, version, worst_first(findings))

    def _add(self, found: Iterable[Finding]) -> None:
        """Note findings: a limited number of each severity, and the number of the others. No valid file has 100,000."""
        for finding in found:
            if self._counts.total() >= self._limits.findings:
                self._give_up(finding.place)
                return
            self._counts[finding.severity] += 1
            if self._counts[finding.severity] <= self._limits.listed:
                self._findings.append(finding)

    def _give_up(self, place: str) -> None:
        what = f"There are more than {self._limits.findings:,} findings; the rest of the file was not judged."
        self._findings.append(Finding("unsafe", "refused", what, "What loading it would do is not known.", place))

    def _not_listed(self) -> Iterator[Finding]:
        for severity, count in self._counts.items():
            more = count - self._limits.listed
            if more > 0:
                what = f"There are {more:,} more findings of this severity than are listed."
                yield Finding(severity, "more", what, "They are like the others.", "the file")

    def _tried(self, read: Callable[[], _Read]) -> _Read | None:
        """What is read; None, and the reason is noted, where that cannot be done."""
        try:
            return read()
        except HostileFileError as error:
            self._add([_refused(error)])
        except ModelFileError as error:
            self._broken.append(error)
        return None

    def _json(self, name: str) -> Json:
        limits = self._limits
        return self._tried(lambda: read_json(self._container.read(name, limits.text_size), name, limits))

    def _read_text(self, text: str, key: str) -> Json:
        return read_json(text, key, self._limits, legacy=True)

    def _version(self) -> str:
        """The Keras that wrote the file. Nothing is run because of it: metadata that cannot be read say nothing."""
        try:
            data = self._container.read(METADATA, self._limits.text_size)
            found = read_json(data, METADATA, self._limits)
        except ModelFileError:
            return ""
        version = found.get("keras_version") if isinstance(found, dict) else None
        return version if isinstance(version, str) else ""

    def _listing(self) -> Listing:
        weights = self._weights
        listing = None if weights is None else self._tried(lambda: _listing_of(weights))
        if weights is None or listing is None:
            return Listing()
        self._add(scan_arrays(listing.problems, weights.entry))
        # The weights in an archive have no config. If they do, another reader could treat them as a model.
        for key in ("model_config", "training_config"):
            text = listing.texts.get(key)
            if text is not None:
                config = self._tried(functools.partial(self._read_text, text, key))
                self._add(scan_config(config, weights.entry, key, legacy=True))
        return listing

    def _start_of(self, entry: Entry) -> bytes:
        if entry.encrypted or entry.link or not entry.size or entry.method not in METHODS:
            return b""
        try:
            return self._container.start_of(entry.name, _START)
        except ModelFileError:
            return b""


def _listing_of(weights: WeightsFile) -> Listing:
    store = weights.open()
    try:
        return store.listing()
    finally:
        store.close()


def _refused(error: ModelFileError) -> Finding:
    found = f" Found: {error.found}." if error.found else ""
    return Finding(
        "unsafe",
        "refused",
        f"{error.summary}{found}",
        "It could not be looked at any further: what loading it would do is not known.",
        error.path or "the file",
    )
