"""The content of a model file as a result: every layer at any depth, with shapes, parameters and sharing."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ramet._files.json_data import Json
from ramet._files.model_file import ModelFile
from ramet._graph import Graph, graph_rows
from ramet._report import Code, Document, Result, Row, Section, count, envelope, joined

_NUMBERS = ("float", "int", "uint", "bool", "bfloat")
_DIGITS = 12


@dataclass(frozen=True, slots=True, repr=False)
class FileListing(Result):
    """The content of a model file, read without running anything in it: the result of `ramet.show`.

    Print it for a table, show it in a notebook, or write it with `to_json`, `to_markdown` or `to_html`.

    Attributes:
        file: The name of the file.
        kind: `"model"`, `"legacy model"` (HDF5 as of Keras 2) or `"weights"`.
        graph: The model as data.
        parameters: The number of parameters.
        trainable_parameters: The number of those that are trained.
        metadata: `keras_version`, `date_saved` and `backend`, as far as the file records them.
        compiled: Whether the file has compile settings.
        assets: The other files in it, with their sizes in bytes.
        optimizer_variables: The number of variables of the optimizer.
        variables: Shape, dtype, digest and range of each variable by path, if the numbers were read with
            `weights=True`; else `None`.
        facts: One line for each further fact.

    >>> import os, tempfile
    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d")], name="tiny")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "tiny.keras")
    ...     model.save(file)
    ...     listing = ramet.show(file, weights=True)
    >>> listing
    <FileListing 'tiny.keras': tiny (Sequential), 10 parameters>
    >>> listing.kind, listing.compiled, listing.graph.op("d").class_name
    ('model', False, 'Dense')
    >>> listing.variables["d/bias"]["largest"]
    0.0
    """

    file: str
    kind: str
    graph: Graph
    parameters: int
    trainable_parameters: int
    metadata: Mapping[str, str]
    compiled: bool
    assets: tuple[tuple[str, int], ...]
    optimizer_variables: int
    variables: Mapping[str, Mapping[str, Any]] | None
    facts: tuple[str, ...]

    @property
    def _name(self) -> str:
        return f"{self.graph.name} ({self.graph.class_name})" if self.kind != "weights" else "weights"

    def _summary(self) -> str:
        return f"'{self.file}': {self._name}, {count(self.parameters, 'parameter')}"

    def __report__(self) -> Document:
        frozen = self.parameters - self.trainable_parameters
        title = f"{self.file}: {self._name}, {count(self.parameters, 'parameter')}"
        title += f", {frozen:,} not trainable" if frozen else ""
        rows = tuple(graph_rows(self.graph, full=True))
        sections = [Section(rows=rows, right=frozenset({3}), widest=44, tree=True)]
        if self.variables is not None:
            weights = tuple(_variable_row(path, facts) for path, facts in self.variables.items())
            columns = ("path", "values", "digest", "range")
            sections.append(Section("Weights", weights, columns=columns, widest=80))
        return Document(title, tuple(sections), about=self.facts)

    def to_json(self) -> str:
        """Return the listing as JSON: `{"ramet": "show", "version": 1, ...}` with the attributes and the graph."""
        fields: dict[str, Any] = {
            "file": self.file,
            "kind": self.kind,
            "name": self.graph.name,
            "class_name": self.graph.class_name,
            "parameters": self.parameters,
            "trainable_parameters": self.trainable_parameters,
            "metadata": dict(self.metadata),
            "compiled": self.compiled,
            "assets": [{"name": name, "size": size} for name, size in self.assets],
            "optimizer_variables": self.optimizer_variables,
        }
        if self.variables is not None:
            fields["weights"] = [{"path": path, **facts} for path, facts in self.variables.items()]
        # The JSON of a graph has one line per op: inserted as it is, it stays readable.
        head = json.dumps(envelope("show", fields), indent=1)
        return f'{head[:-2]},\n "graph": {self.graph.to_json().strip()}}}'


def list_file(file: ModelFile, *, weights: bool = False, step: Callable[[str], None] | None = None) -> FileListing:
    """Return the content of a model file.

    Args:
        file: The open file.
        weights: Whether to read the numbers as well, for the range and a digest of each variable.
        step: A function that is called with the path of each variable before it is read.
    """
    graph = file.graph
    return FileListing(
        file=file.path.name,
        kind=file.kind,
        graph=graph,
        parameters=graph.parameters,
        trainable_parameters=sum(spec.size for _, spec in graph.variables() if spec.trainable and spec.tied is None),
        metadata=file.metadata,
        compiled=file.compile_config is not None,
        assets=tuple((asset.name, asset.size) for asset in file.assets),
        optimizer_variables=len(file.optimizer_weights),
        variables=dict(_variables(file, step or (lambda path: None))) if weights else None,
        facts=tuple(_facts(file)),
    )


def _facts(file: ModelFile) -> Iterator[str]:
    metadata = file.metadata
    if metadata:
        words = [f"Keras {metadata['keras_version']}"] if "keras_version" in metadata else []
        yield f"saved by {', '.join(words + [metadata[key] for key in ('backend', 'date_saved') if key in metadata])}"
    compiled = file.compile_config
    optimizer_variables = count(len(file.optimizer_weights), "optimizer variable")
    if compiled is not None:
        optimizer = compiled.get("optimizer") or compiled.get("optimizer_config")
        state = f", {optimizer_variables} saved" if len(file.optimizer_weights) else ""
        yield f"compiled with {_name_of(optimizer)}, loss {_name_of(compiled.get('loss'))}{state}"
    elif len(file.optimizer_weights):
        yield f"contains {optimizer_variables}"
    others = file.other_weights.paths()
    if others:
        size = sum(math.prod(file.other_weights.spec(path).shape) for path in others)
        paths = joined([f"'{path}'" for path in others])
        yield f"{count(size, 'parameter')} in arrays that belong to no layer: {paths}"
    if file.shards:
        yield f"the weights are in {count(len(file.shards), 'shard')}"
    for asset in file.assets:
        yield f"contains {asset.name}, {asset.size:,} bytes"
    if not file.graph.has_calls and file.config is not None:
        yield "no call graph: the file describes only its layers"


def _name_of(value: Json) -> str:
    """Return the name of an optimizer or a loss."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("class_name"), str):
        is_function = value["class_name"] == "function" and isinstance(value.get("config"), str)
        return str(value["config"] if is_function else value["class_name"])
    return "custom" if value else "none"


def _variables(file: ModelFile, step: Callable[[str], None]) -> Iterator[tuple[str, dict[str, Any]]]:
    for prefix, source in (("", file.weights), ("optimizer/", file.optimizer_weights)):
        for path in source:
            step(f"{prefix}{path}")
            spec = source.spec(path)
            facts: dict[str, Any] = {"shape": list(spec.shape), "dtype": spec.dtype, "digest": source.digest(path)}
            if spec.dtype.startswith(_NUMBERS):  # texts have no range
                facts |= source.statistics(path)
            yield f"{prefix}{path}", facts


def _variable_row(path: str, facts: Mapping[str, Any]) -> Row:
    values = ""
    if "mean" in facts:
        values = f"{facts['smallest']:.4g} to {facts['largest']:.4g}, mean {facts['mean']:.4g}"
        values += f", {facts['nans']:,} nan" if facts["nans"] else ""
    return Row((Code(path), f"{tuple(facts['shape'])} {facts['dtype']}", facts["digest"][:_DIGITS], values))
