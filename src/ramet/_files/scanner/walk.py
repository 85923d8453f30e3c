"""Scan a file: walk everything in it once, apply the rules, run nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from ramet._files.container import CONFIG, METADATA, METHODS, WEIGHTS, Container, Entry, path_with_name
from ramet._files.formats import FileFormat, open_file
from ramet._files.formats.shards import SHARD_MAP, first_shard, is_shard_map, unlisted
from ramet._files.json_data import Json, read_json
from ramet._files.limits import Limits
from ramet._files.listing import Listing
from ramet._files.scanner.finding import Finding, ScanReport, Severity, worst_first
from ramet._files.scanner.rule import ConfigValue, Member, Rule, Subject
from ramet._files.scanner.rules import RULES
from ramet._files.scanner.rules.texts import plain_strings
from ramet._files.store import WeightsFile
from ramet._report import escape
from ramet.errors import ArgumentError, HostileFileError, ModelFileError

_EXPECTED = frozenset({CONFIG, METADATA, WEIGHTS, SHARD_MAP})
# Next to a model in a folder that was downloaded from a model hub.
_HUB = frozenset({".gitattributes", "README.md", "LICENSE"})
# The number of first bytes that identify the type of a file.
_START = 16
# An object has at least one of these fields besides the name of its class.
_OBJECT = frozenset({"config", "module", "registered_name", "spec", "spec_name", "type_spec"})
# These fields are names of classes and layers, not texts; objects are judged as a whole.
_NAMES = frozenset({"class_name", "module", "registered_name", "name", "spec_name"})

_Read = TypeVar("_Read")


def scan(path: str | os.PathLike[str], limits: Limits | None = None, *, isolated: bool = True) -> ScanReport:
    """Return what loading a model file with Keras would run or reach.

    Nothing in the file is imported, evaluated or unpickled, and Keras is not needed. The report lists code in the file,
    names of code, paths of other files, network addresses, and anything in the archive or the weights that Keras cannot
    have written. Its `verdict` is "safe", "needs trust" or "unsafe".

    Args:
        path: A `.keras` archive or folder, a `.weights.h5`, a `.weights.json` with its shards, or a `.h5` of Keras 2.
        limits: The largest sizes and counts that are read. The default suits any file that Keras has written.
        isolated: Whether the weights are read in a separate process, which protects this one from flaws in HDF5.

    Returns:
        The report.

    Raises:
        ModelFileError: The file does not exist, is broken, or is not a model.
        ArgumentError: `path` is not a path.

    >>> import os, tempfile
    >>> import keras, ramet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "model.keras")
    ...     keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]).save(file)
    ...     ramet.scan(file).verdict
    'safe'
    """
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(
            f"Cannot scan an object of class {type(path).__name__}: it is not the path of a model file.",
            fix="save the model first, and pass the path of its file.",
        )
    file = path_with_name(path)
    try:
        file_format, container = open_file(file, limits or Limits())
    except HostileFileError as error:
        kind = "weights" if is_shard_map(file.name) else "model"
        return ScanReport(file.name, kind, "", (_refused(error),))
    with contextlib.closing(container):
        running = _Scan(file, file_format, container, isolated=isolated)
        return running.archive() if file_format.has_config else running.single_file()


def judge_value(value: Json, key: str) -> Iterator[tuple[tuple[str | int, ...], Json, Finding]]:
    """Apply the rules to the value of a key in a config. Yield each finding with the keys and indices that lead to it."""
    for part, finding in apply_rules(ConfigValue(value, key, key)):
        yield part.steps, part.value, finding


def scan_config(config: Json, file: str, root: str, *, legacy: bool = False) -> Iterator[Finding]:
    """Apply the rules to a config.

    Args:
        config: The config as plain data.
        file: The name of the file that contains it.
        root: The name of the whole config in the places of findings.
        legacy: Whether the file has the HDF5 format of Keras 2.
    """
    for _, finding in apply_rules(ConfigValue(config, root, legacy=legacy)):
        yield dataclasses.replace(finding, place=f"{file}: {finding.place}")


def apply_rules(root: ConfigValue, rules: Sequence[Rule] = RULES) -> Iterator[tuple[ConfigValue, Finding]]:
    """Walk a config in the order of the file, and yield what the rules find, with the value where they find it."""
    object_rules, text_rules = _rules_for("object", rules), _rules_for("text", rules)
    stack = [iter([root])]
    while stack:
        part = next(stack[-1], None)
        if part is None:
            stack.pop()
            continue
        applicable: Sequence[Rule] = ()
        if isinstance(part.value, dict):
            # An output of a model may be named "class_name": that alone does not make an object.
            if "class_name" in part.value and part.value.keys() & _OBJECT:
                name = part.value["class_name"]
                name = name if isinstance(name, str) else ""
                applicable = [rule for rule in object_rules if not rule.classes or name in rule.classes]
        elif isinstance(part.value, str) and (isinstance(part.step, int) or part.key not in _NAMES):
            applicable = text_rules
        for rule in applicable:
            for finding in rule.find(part):
                yield part, finding
        if isinstance(part.value, dict | list):
            stack.append(part.children(plain_strings(part, text_rules)))


def _rules_for(subject: Subject, rules: Sequence[Rule] = RULES) -> list[Rule]:
    return [rule for rule in rules if rule.looks_at == subject]


class _Scan:
    """The scan of one file.

    A part that cannot be read does not end the scan: Keras creates the layers of a config before it reads the weights, so
    code in the config runs even if the weights are broken.
    """

    def __init__(self, path: Path, file_format: FileFormat, container: Container, *, isolated: bool) -> None:
        self._path = path
        self._limits = container.limits
        self._container = container
        self._names = {entry.name for entry in container.entries}
        self._weights = WeightsFile.find(path, container, file_format, isolated=isolated)
        self._findings: list[Finding] = []
        self._counts: Counter[Severity] = Counter()
        self._broken: list[ModelFileError] = []

    def archive(self) -> ScanReport:
        """Return the report on an archive or a folder: its files, its weights, its config."""
        shards = self._try(lambda: self._weights.shards if self._weights is not None else ()) or ()
        problems = self._container.problems()
        first = first_shard(SHARD_MAP)
        if shards and first in self._names and first not in shards:
            problems.append(unlisted(first))
        self._apply("archive problem", problems)
        expected = {*_EXPECTED, *_HUB, *shards}
        unexpected = (e for e in self._container.entries if e.name not in expected and not e.name.endswith("/"))
        self._apply("member", (Member(entry.name, self._start_of(entry)) for entry in unexpected))
        self._scan_weights()
        if CONFIG in self._names:
            self._add(scan_config(self._try(lambda: self._json(CONFIG)), CONFIG, "config"))
        else:
            name = escape(self._path.name)
            self._broken.append(ModelFileError(f"Cannot scan '{name}': it does not contain '{CONFIG}'.", path=CONFIG))
        return self._report("model", self._version())

    def single_file(self) -> ScanReport:
        """Return the report on a weights file, on shards, or on a model of Keras 2, which are not archives."""
        self._apply("archive problem", self._container.problems())
        listing = self._scan_weights()
        kind = "legacy model" if "model_config" in listing.texts else "weights"
        return self._report(kind, listing.texts.get("keras_version", ""))

    def _report(self, kind: str, version: str) -> ScanReport:
        """Return the report, or raise the first error if part of the file is broken and the rest is not unsafe."""
        if self._broken and not any(finding.severity == "unsafe" for finding in self._findings):
            raise self._broken[0]
        findings = self._findings + [_refused(error) for error in self._broken]
        for severity, count in self._counts.items():
            if count > self._limits.listed:
                what = f"{count - self._limits.listed:,} more findings of this severity are not listed."
                findings.append(Finding(severity, "more", what, "They are like the others.", "the file"))
        return ScanReport(self._path.name, kind, version, worst_first(findings))

    def _apply(self, subject: Subject, parts: Iterable[object]) -> None:
        rules = _rules_for(subject)
        self._add(finding for part in parts for rule in rules for finding in rule.find(part))

    def _add(self, found: Iterable[Finding]) -> None:
        """Keep a limited number of findings of each severity, and count the others. No valid file has 100,000."""
        for finding in found:
            if self._counts.total() >= self._limits.findings:
                what = f"There are more than {self._limits.findings:,} findings; the rest of the file was not scanned."
                effect = "The effect of loading the file is unknown."
                self._findings.append(Finding("unsafe", "refused", what, effect, finding.place))
                return
            self._counts[finding.severity] += 1
            if self._counts[finding.severity] <= self._limits.listed:
                self._findings.append(finding)

    def _try(self, read: Callable[[], _Read]) -> _Read | None:
        """Return what `read` returns; on an error, return None and keep the reason."""
        try:
            return read()
        except HostileFileError as error:
            self._add([_refused(error)])
        except ModelFileError as error:
            self._broken.append(error)
        return None

    def _json(self, name: str) -> Json:
        return read_json(self._container.read(name, self._limits.text_size), name, self._limits)

    def _version(self) -> str:
        """Return the version of Keras that wrote the file, or "" if it is unknown. No code runs because of metadata."""
        try:
            found = self._json(METADATA)
        except ModelFileError:
            return ""
        version = found.get("keras_version") if isinstance(found, dict) else None
        return version if isinstance(version, str) else ""

    def _scan_weights(self) -> Listing:
        weights = self._weights
        if weights is None:
            return Listing()

        def read() -> Listing:
            with contextlib.closing(weights.open()) as store:
                return store.listing()

        listing = self._try(read) or Listing()
        for rule in _rules_for("weights problem"):
            found = (finding for problem in listing.problems for finding in rule.find(problem))
            self._add(dataclasses.replace(finding, place=f"{weights.entry}: {finding.place}") for finding in found)
        # The weights in an archive have no config. If they do, another reader could treat them as a model.
        for key in ("model_config", "training_config"):
            text = listing.texts.get(key)
            if text is not None:
                config = self._try(functools.partial(read_json, text, key, self._limits, legacy=True))
                self._add(scan_config(config, weights.entry, key, legacy=True))
        return listing

    def _start_of(self, entry: Entry) -> bytes:
        if entry.encrypted or entry.link or not entry.size or entry.method not in METHODS:
            return b""
        try:
            return self._container.start_of(entry.name, _START)
        except ModelFileError:
            return b""


def _refused(error: ModelFileError) -> Finding:
    found = f" Found: {error.found}." if error.found else ""
    return Finding(
        "unsafe",
        "refused",
        f"{error.summary}{found}",
        "The scan could not continue there: the effect of loading the file is unknown.",
        error.path or "the file",
    )
