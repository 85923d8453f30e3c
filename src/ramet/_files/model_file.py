"""An open model file: its metadata, config, graph and weights. Nothing in it is run."""

from __future__ import annotations

import contextlib
import math
import os
import weakref
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Self, TypeAlias

from ramet._files.assembly import AssembledModel, assemble
from ramet._files.container import CONFIG, METADATA, Entry, path_with_name
from ramet._files.draft import WeightTree
from ramet._files.formats import WeightsReader, open_file
from ramet._files.json_data import Json, misfit, read_json
from ramet._files.keras_2 import names_weights, to_keras_3
from ramet._files.limits import Limits
from ramet._files.listing import Listing
from ramet._files.serialized import parse_layer
from ramet._files.store import WeightsFile
from ramet._files.weights import Weights
from ramet._graph import Graph
from ramet._report import escape, joined
from ramet.errors import HostileFileError, ModelFileError

if TYPE_CHECKING:
    import numpy as np

ModelKind: TypeAlias = Literal["model", "legacy model", "weights"]
_ASSETS = "assets/"
_OPTIMIZER = "optimizer"
_METADATA_KEYS = ("keras_version", "date_saved", "backend")


def open_model_file(path: str | os.PathLike[str], limits: Limits | None = None, *, isolated: bool = True) -> ModelFile:
    """Open a model file as data: a `.keras` archive or folder, a `.weights.h5`, a `.weights.json` with its shards, or a `.h5`.

    Args:
        path: The path of the file.
        limits: Upper bounds for its content.
        isolated: Whether weights are read in a separate process, which an untrusted file requires: HDF5 is read by a C
            library. `False` reads them in this process, which is faster.

    Raises:
        ModelFileError: There is no such file, or it is broken, or not a model.
        HostileFileError: It exceeds a limit, or breaks a rule that every file written by Keras keeps.
    """
    return ModelFile(path_with_name(path), limits or Limits(), isolated=isolated)


class ModelFile:
    """A model file. Config, graph and weights are read on first use; it can be used in a `with` block.

    Attributes:
        path: The path of the file.
        kind: "model", "legacy model" (HDF5 as of Keras 2), or "weights" alone.
        entries: The files in it.
    """

    def __init__(self, path: Path, limits: Limits, *, isolated: bool) -> None:
        self.path = path
        file_format, self._container = open_file(path, limits)
        self._limits = self._container.limits
        self._raw: dict[str, IO[bytes]] = {}
        # The last is closed first: a weights file may be inside an archive.
        self._opened = contextlib.ExitStack()
        self._opened.callback(self._container.close)
        self._end = weakref.finalize(self, self._opened.close)
        self.entries: tuple[Entry, ...] = self._container.entries
        try:
            for problem in self._container.problems():
                what = f"'{problem.entry}' in '{escape(path.name)}'" if problem.entry else f"'{escape(path.name)}'"
                raise HostileFileError(
                    f"Cannot read {what}: {problem.reason}.",
                    fix="save the model again with Keras; `ramet scan` lists all problems of the file.",
                    path=problem.entry or str(path),
                )
            self._weights_file = WeightsFile.find(path, self._container, file_format, isolated=isolated)
            self.kind: ModelKind = "model"
            if not file_format.has_config:
                self.kind = "legacy model" if "model_config" in self.listing.texts else "weights"
        except ModelFileError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ModelFile '{escape(self.path.name)}': {self.kind}>"

    def close(self) -> None:
        """Close the file. Nothing more can be read from it."""
        self._end()

    @cached_property
    def metadata(self) -> dict[str, str]:
        """`keras_version`, `date_saved` and `backend`, as far as the file contains them."""
        found = self.raw_metadata
        return {key: text for key in _METADATA_KEYS if isinstance(text := found.get(key), str)}

    @cached_property
    def raw_metadata(self) -> dict[str, Json]:
        """All metadata, unchanged."""
        if self.kind == "model" and any(entry.name == METADATA for entry in self.entries):
            found = self._json(METADATA)
            return found if isinstance(found, dict) else {"metadata": found}
        texts = self.listing.texts
        return {key: texts[key] for key in _METADATA_KEYS if key in texts}

    @cached_property
    def config(self) -> dict[str, Json] | None:
        """The config of the model, unchanged; None for weights alone."""
        if self.kind == "weights":
            return None
        if self.kind == "legacy model":
            name = "model_config"
            found = read_json(self.listing.texts[name], name, self._limits)
        else:
            name = "config"
            found = self._json(CONFIG)
        if not isinstance(found, dict):
            raise misfit("an object", found, name)
        return found

    @cached_property
    def compile_config(self) -> dict[str, Json] | None:
        """The compile settings; None for a model that was not compiled."""
        legacy = self.kind == "legacy model"
        found = self.training_config if legacy else (self.config or {}).get("compile_config")
        return found if isinstance(found, dict) and found else None

    @cached_property
    def training_config(self) -> Json:
        """The compile settings of a Keras 2 model, unchanged; None if the file has none."""
        text = self.listing.texts.get("training_config")
        return None if text is None else read_json(text, "training_config", self._limits)

    @property
    def layer_configs(self) -> dict[str, dict[str, Json]]:
        """The serialized layers and models in the config, by path; the path of the model itself is empty."""
        return self._assembled.configs

    @cached_property
    def assets(self) -> tuple[Entry, ...]:
        """Files that layers have saved beside config and weights, such as vocabularies."""
        return tuple(entry for entry in self.entries if entry.name.startswith(_ASSETS))

    @property
    def graph(self) -> Graph:
        """The graph of the model, as far as the file contains it."""
        return self._assembled.graph

    @cached_property
    def weights(self) -> Weights:
        """The variables of the model, by path."""
        return self._weights(self._assembled.arrays)

    @cached_property
    def optimizer_weights(self) -> Weights:
        """The variables of the optimizer, by number; those of an optimizer inside it below its attribute."""
        if self.kind == "legacy model":
            arrays = {
                path.partition("/")[2]: path for path in self.listing.arrays if path.startswith("optimizer_weights/")
            }
        else:
            tree = WeightTree(self.listing)
            arrays = {key: real for key, real, _ in tree.arrays(_OPTIMIZER)}
            for saved in tree.saved_in(_OPTIMIZER):
                inside = saved.group.partition("/")[2]
                arrays |= {f"{inside}/{key}": real for key, real, _ in tree.arrays(saved.group)}
        return self._weights(arrays)

    @cached_property
    def other_weights(self) -> Weights:
        """The arrays of the weights file that belong to no variable of the model or the optimizer, by their paths there."""
        used = {weights.array_path(path) for weights in (self.weights, self.optimizer_weights) for path in weights}
        return self._weights({path: path for path in self.listing.arrays if path not in used})

    @cached_property
    def members(self) -> tuple[Entry, ...]:
        """All files except config, metadata and weights: assets of layers, and anything else."""
        read = {CONFIG, METADATA, *self.shards, *([self._weights_file.entry] if self._weights_file else ())}
        return tuple(entry for entry in self.entries if entry.name not in read)

    def read_array(self, path: str) -> np.ndarray[Any, Any]:
        """Return an array by its path in the weights file: from the disk, if it is contiguous there."""
        spec = self.listing.arrays[path]
        found = self._weights({path: path}).open(path)
        return found.part(0, math.prod(spec.shape)).reshape(spec.shape)

    def open_weights(self) -> IO[bytes]:
        """Open the weights file for reading."""
        assert self._weights_file is not None, "only existing weights are read"
        return self._container.open(self._weights_file.entry)

    def open_member(self, name: str) -> IO[bytes]:
        """Open one of the members for reading."""
        return self._container.open(name)

    @cached_property
    def listing(self) -> Listing:
        """The groups and arrays of the weights file; empty if there is no weights file."""
        return Listing() if self._weights_file is None else self._store.listing()

    @property
    def shards(self) -> tuple[str, ...]:
        """The files with the weights, if they were saved in shards; empty for weights in a single file."""
        return () if self._weights_file is None else self._weights_file.shards

    def reuse(self, other: ModelFile) -> None:
        """Take over config and graph of another file, if both describe the same model byte for byte.

        Two checkpoints of one run differ only in values: their configs need not be read twice, nor their graphs compared.
        """
        same = self.kind == other.kind and self._description == other._description
        ours, theirs = self.listing, other.listing
        if same and (ours.groups, ours.arrays) == (theirs.groups, theirs.arrays):
            self.__dict__.update(config=other.config, _assembled=other._assembled)

    def start(self) -> None:
        """Open the weights early: a separate process takes a while to start."""
        if self._weights_file is not None:
            _ = self._store

    @cached_property
    def _assembled(self) -> AssembledModel:
        config = self.config
        version = self.metadata.get("keras_version", "")
        if config is not None and (self.kind == "legacy model" or version.startswith("2.")):
            config = to_keras_3(config, version=version)
        root = None if config is None else parse_layer(config, "config")
        named = self.kind == "legacy model" or (self.kind == "weights" and names_weights(self.listing))
        found = assemble(root, self.listing, self._limits, legacy=named)
        if self.kind == "weights" and not found.arrays:
            self._refuse_unknown()
        return found

    def _refuse_unknown(self) -> None:
        """Raise for a weights file without any variable, unless it is that of a model without variables."""
        others = [path for path in self.listing.arrays if path.partition("/")[0] != _OPTIMIZER]
        if not others and self.listing.group("").groups:
            return
        raise ModelFileError(
            f"Cannot read the weights in '{escape(self.path.name)}': no array is where Keras saves the weights of a layer.",
            expected="weights written by save_weights() of Keras 3 (.weights.h5) or of Keras 2 (.h5)",
            found=joined([f"'{escape(path)}'" for path in others]) or "no arrays",
            path=str(self.path),
        )

    @property
    def _description(self) -> object:
        version = self.metadata.get("keras_version")
        if self.kind != "model":
            return self.listing.texts.get("model_config"), version
        return self._container.read(CONFIG, self._limits.text_size), version

    def _weights(self, arrays: dict[str, str]) -> Weights:
        return Weights(arrays, self.listing, lambda: self._store, self._open_raw)

    def _open_raw(self, path: str) -> IO[bytes]:
        assert self._weights_file is not None, "only existing weights are read"
        entry = self._weights_file.entry_of(path, self._store)
        if entry not in self._raw:
            self._raw[entry] = self._container.open(entry)
            self._opened.callback(self._raw[entry].close)
        return self._raw[entry]

    @cached_property
    def _store(self) -> WeightsReader:
        assert self._weights_file is not None, "only existing weights are read"
        store = self._weights_file.open()
        self._opened.callback(store.close)
        return store

    def _json(self, name: str) -> Any:
        return read_json(self._container.read(name, self._limits.text_size), name, self._limits)
