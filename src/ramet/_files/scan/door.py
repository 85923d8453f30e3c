"""The door: a file is opened, everything in it is judged, nothing in it is run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ramet._files.container import Container
from ramet._files.entry import Entry
from ramet._files.limits import Limits
from ramet._files.listing import Listing
from ramet._files.problem import HostileFileError, ModelFileError
from ramet._files.scan.config import scan_config
from ramet._files.scan.content import scan_arrays, scan_entries
from ramet._files.scan.finding import Finding, ScanReport, worst_first
from ramet._files.source import CONFIG, METADATA, WEIGHTS, FileKind, open_source
from ramet._files.store import ChildStore, LocalStore, Store
from ramet._files.text import Json, read_json

__all__ = ["scan"]

_START = 16


def scan(path: str | os.PathLike[str], limits: Limits | None = None, *, isolated: bool = True) -> ScanReport:
    """What loading a model file with Keras would run or reach.

    Nothing in the file is imported, evaluated or unpickled.

    Args:
        path: a `.keras` archive or folder, a `.weights.h5`, or a `.h5` of Keras 2.
        limits: how much it may hold.
        isolated: whether the weights file is looked at in a process of its own, as it should be.

    Raises:
        ModelFileError: there is no such file, or it is broken, or no model.
    """
    where = Path(path)
    asked = limits or Limits()
    try:
        source, container = open_source(where, asked)
    except HostileFileError as error:
        return ScanReport(where.name, "model", "", (_refused(error),))
    try:
        return _Scan(where, source, container, asked, isolated=isolated).report()
    finally:
        container.close()


class _Scan:
    """One file being scanned."""

    def __init__(self, path: Path, source: FileKind, container: Container, limits: Limits, *, isolated: bool) -> None:
        self._path = path
        self._limits = limits
        self._container = container
        self._isolated = isolated
        self._is_archive = source != "hdf5"
        self._names = {entry.name for entry in container.entries}

    def report(self) -> ScanReport:
        findings = list(scan_entries(self._container.entries, self._container.problems(), self._start_of))
        if not self._is_archive:
            # A weights file or a model of Keras 2: there is no archive around it.
            findings = []
        listing = self._listing(findings)
        version, kind = "", "model"
        if self._is_archive:
            findings += self._judged(CONFIG, "config")
            metadata = self._json(METADATA, []) if METADATA in self._names else None
            version = _text(metadata, "keras_version")
        else:
            version = listing.texts.get("keras_version", "")
            kind = "legacy model" if "model_config" in listing.texts else "weights"
            for key in ("model_config", "training_config"):
                findings += self._judged_text(listing, key)
        return ScanReport(self._path.name, kind, version, worst_first(findings))

    def _judged(self, name: str, root: str) -> list[Finding]:
        if name not in self._names:
            raise ModelFileError(f"Cannot scan '{self._path.name}': it holds no '{name}'.", path=name)
        found: list[Finding] = []
        config = self._json(name, found)
        return found or list(scan_config(config, name, root))

    def _judged_text(self, listing: Listing, key: str) -> Iterator[Finding]:
        text = listing.texts.get(key)
        if text is None:
            return
        try:
            config = read_json(text.encode("utf-8", "surrogatepass"), key, self._limits)
        except HostileFileError as error:
            yield _refused(error)
            return
        yield from scan_config(config, self._path.name, key, legacy=True)

    def _json(self, name: str, findings: list[Finding]) -> Json:
        try:
            return read_json(self._container.read(name, self._limits.text_size), name, self._limits)
        except HostileFileError as error:
            findings.append(_refused(error))
            return None

    def _listing(self, findings: list[Finding]) -> Listing:
        entry = WEIGHTS if self._is_archive else self._path.name
        if entry not in self._names:
            return Listing()
        try:
            store = self._store(entry)
            try:
                listing = store.listing()
            finally:
                store.close()
        except HostileFileError as error:
            findings.append(_refused(error))
            return Listing()
        findings += scan_arrays(listing.problems, entry)
        return listing

    def _store(self, entry: str) -> Store:
        if self._isolated:
            return ChildStore(self._path, entry, self._limits)
        return LocalStore(self._container.open(entry), self._limits)

    def _start_of(self, entry: Entry) -> bytes:
        if entry.encrypted or entry.link or not entry.size:
            return b""
        try:
            with self._container.open(entry.name) as file:
                return file.read(_START)
        except ModelFileError:
            return b""


def _text(metadata: Json, key: str) -> str:
    found = metadata.get(key) if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else ""


def _refused(error: HostileFileError) -> Finding:
    found = f" Found: {error.found}." if error.found else ""
    return Finding(
        "unsafe",
        "refused",
        f"{error.summary}{found}",
        "It could not be looked at any further: what loading it would do is not known.",
        error.path or "the file",
    )
