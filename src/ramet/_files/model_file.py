"""A model file, opened: what it says of itself, its graph, its weights. Nothing in it is run."""

from __future__ import annotations

import os
import weakref
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self, TypeAlias

from ramet._files.assemble import Assembled, assemble
from ramet._files.container import Container
from ramet._files.entry import Entry
from ramet._files.legacy import legacy_config, names_weights
from ramet._files.limits import Limits
from ramet._files.listing import Listing
from ramet._files.problem import HostileFileError, ModelFileError, misfit
from ramet._files.record import record_of
from ramet._files.source import CONFIG, METADATA, open_source
from ramet._files.store import Store
from ramet._files.text import Json, read_json
from ramet._files.translation import in_words_of_keras_3
from ramet._files.weight_tree import WeightTree
from ramet._files.weights import Weights
from ramet._files.weights_file import RawFile, weights_file
from ramet._graph import Graph, escape

__all__ = ["ModelFile", "ModelKind", "read_archive"]

ModelKind: TypeAlias = Literal["model", "legacy model", "weights"]
_ASSETS = "assets/"
_OPTIMIZER = "optimizer"
_METADATA_KEYS = ("keras_version", "date_saved", "backend")


def read_archive(path: str | os.PathLike[str], limits: Limits | None = None, *, isolated: bool = True) -> ModelFile:
    """A model file as data: a `.keras` archive or folder, a `.weights.h5`, a `.weights.json` with its shards, or a `.h5` of Keras 2.

    Args:
        path: of the file.
        limits: how much it may hold.
        isolated: whether weights are read in a process of their own, which is what a file needs that is not trusted:
            HDF5 is read by a C library. `False` reads them in this process, which is faster.

    Raises:
        ModelFileError: there is no such file, or it is broken, or no model.
        HostileFileError: it breaks a limit, or a rule that every file keeps which Keras has written.
    """
    return ModelFile(Path(path), limits or Limits(), isolated=isolated)


class ModelFile:
    """A model file. Config, graph and weights are read when they are asked for; it can be used in a `with` block.

    Attributes:
        path: of the file.
        kind: "model", "legacy model" (HDF5 as of Keras 2), or "weights" alone.
        entries: the files in it.
    """

    def __init__(self, path: Path, limits: Limits, *, isolated: bool) -> None:
        self.path = path
        source, self._container = open_source(path, limits)
        self._limits = limits = self._container.limits
        self._open: list[Store | Container | IO[bytes]] = [self._container]
        self._raw: dict[str, RawFile] = {}
        self._end = weakref.finalize(self, _close_all, self._open)
        self.entries: tuple[Entry, ...] = self._container.entries
        try:
            _refuse_problems(self._container, path)
            self._weights_file = weights_file(path, source, self._container, limits, isolated=isolated)
            self.kind: ModelKind = "model"
            if source in ("hdf5", "shards"):
                self.kind = "legacy model" if "model_config" in self.listing.texts else "weights"
        except ModelFileError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ModelFile '{escape(self.path.name)}': {self.kind}>"

    def close(self) -> None:
        """Let go of the file. Nothing more can be read from it."""
        self._end()

    @cached_property
    def metadata(self) -> dict[str, str]:
        """What the file says of itself: `keras_version`, `date_saved`, `backend`, as far as it does."""
        found = self.raw_metadata
        return {key: text for key in _METADATA_KEYS if isinstance(text := found.get(key), str)}

    @cached_property
    def raw_metadata(self) -> dict[str, Json]:
        """Everything that the file says of itself, as it is written."""
        if self.kind == "model" and self._has(METADATA):
            found = self._json(METADATA)
            return found if isinstance(found, dict) else {"metadata": found}
        texts = self.listing.texts
        return {key: texts[key] for key in _METADATA_KEYS if key in texts}

    @cached_property
    def config(self) -> dict[str, Json] | None:
        """The config of the model, as it is written; None for weights alone."""
        if self.kind == "weights":
            return None
        if self.kind == "legacy model":
            return legacy_config(self.listing, self._limits)
        found = self._json(CONFIG)
        if not isinstance(found, dict):
            raise misfit("an object", found, "config")
        return found

    @cached_property
    def compile_config(self) -> dict[str, Json] | None:
        """How the model was compiled; None for one that was not."""
        legacy = self.kind == "legacy model"
        found = self.training_config if legacy else (self.config or {}).get("compile_config")
        return found if isinstance(found, dict) and found else None

    @cached_property
    def training_config(self) -> Json:
        """How a model in the format of Keras 2 was compiled, as it is written; None where the file does not say."""
        text = self.listing.texts.get("training_config")
        return None if text is None else read_json(text, "training_config", self._limits)

    @property
    def records(self) -> dict[str, dict[str, Json]]:
        """What the config says of each layer and model, by its path; the model itself has an empty one."""
        return self._assembled.records

    @cached_property
    def assets(self) -> tuple[Entry, ...]:
        """The files beside config and weights that layers have saved: vocabularies and the like."""
        return tuple(entry for entry in self.entries if entry.name.startswith(_ASSETS))

    @property
    def graph(self) -> Graph:
        """The graph of the model, as far as the file tells it."""
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
        known = {weights.place(path) for weights in (self.weights, self.optimizer_weights) for path in weights.paths()}
        return self._weights({path: path for path in self.listing.arrays if path not in known})

    @cached_property
    def members(self) -> tuple[Entry, ...]:
        """The files beside config, metadata and weights: assets of layers, and whatever else is there."""
        read = {CONFIG, METADATA, *self.shards, *([self._weights_file.entry] if self._weights_file else ())}
        return tuple(entry for entry in self.entries if entry.name not in read)

    def open_member(self, name: str) -> IO[bytes]:
        """A file beside config and weights, opened to read."""
        return self._container.open(name)

    @cached_property
    def listing(self) -> Listing:
        """The groups and arrays of the weights file; an empty one where there is no weights file."""
        return Listing() if self._weights_file is None else self._opened().listing()

    @property
    def shards(self) -> tuple[str, ...]:
        """The files that the weights lie in, where they have been saved in shards; none where they lie in one file."""
        return () if self._weights_file is None else self._weights_file.shards

    @cached_property
    def _assembled(self) -> Assembled:
        config = self.config
        version = self.metadata.get("keras_version", "")
        if config is not None and (self.kind == "legacy model" or version.startswith("2.")):
            config = in_words_of_keras_3(config, version=version)
        record = None if config is None else record_of(config, "config")
        named = self.kind == "legacy model" or (self.kind == "weights" and names_weights(self.listing))
        found = assemble(record, self.listing, self._limits, legacy=named)
        if self.kind == "weights" and not found.arrays:
            self._refuse_unknown()
        return found

    def _refuse_unknown(self) -> None:
        """Raise for a weights file without any variable, unless it is known to be of a model that has none."""
        others = [path for path in self.listing.arrays if path.partition("/")[0] != _OPTIMIZER]
        if not others and self.listing.group("").groups:
            return
        more = f" and {len(others) - 3:,} more" if len(others) > 3 else ""
        raise ModelFileError(
            f"Cannot read the weights in '{escape(self.path.name)}': no array is where Keras saves the weights of a layer.",
            expected="weights as save_weights() of Keras 3 (.weights.h5) or of Keras 2 (.h5) writes them",
            found=", ".join(f"'{escape(path)}'" for path in others[:3]) + more if others else "no arrays at all",
            path=str(self.path),
        )

    def adopt(self, other: ModelFile) -> None:
        """Take over what was read of another file, if both describe the same model, byte for byte.

        Two checkpoints of one run differ in numbers alone: their configs need not be read twice, nor their graphs compared.
        """
        same = self.kind == other.kind and self._description == other._description
        ours, theirs = self.listing, other.listing
        if same and (ours.groups, ours.arrays) == (theirs.groups, theirs.arrays):
            self.__dict__.update(config=other.config, _assembled=other._assembled)

    @property
    def _description(self) -> object:
        if self.kind != "model":
            return self.listing.texts.get("model_config"), self.metadata.get("keras_version")
        return self._container.read(CONFIG, self._limits.text_size), self.metadata.get("keras_version")

    def start(self) -> None:
        """Open the weights ahead of need: a process of its own takes a while to start."""
        if self._weights_file is not None:
            self._opened()

    def _weights(self, arrays: dict[str, str]) -> Weights:
        return Weights(arrays, self.listing, self._opened, self._open_raw)

    def _open_raw(self, path: str) -> RawFile | None:
        if self._weights_file is None:
            return None
        entry = self._weights_file.entry_of(path, self._store)
        if entry not in self._raw:
            self._raw[entry] = self._weights_file.open_raw(entry)
            self._open.append(self._raw[entry].file)
        return self._raw[entry]

    def _opened(self) -> Store:
        return self._store

    @cached_property
    def _store(self) -> Store:
        assert self._weights_file is not None, "only weights that are there are asked for"
        store = self._weights_file.open()
        self._open.append(store)
        return store

    def _has(self, name: str) -> bool:
        return any(entry.name == name for entry in self.entries)

    def _json(self, name: str) -> Any:
        return read_json(self._container.read(name, self._limits.text_size), name, self._limits)


def _close_all(opened: list[Store | Container | IO[bytes]]) -> None:
    """Close what was opened, the last first; a weights file lies in the archive."""
    while opened:
        opened.pop().close()


def _refuse_problems(container: Container, path: Path) -> None:
    for problem in container.problems():
        what = f"'{problem.entry}' in '{escape(path.name)}'" if problem.entry else f"'{escape(path.name)}'"
        raise HostileFileError(
            f"Cannot read {what}: {problem.reason}.",
            fix="save the model again with Keras; `ramet scan` tells all that is wrong with the file.",
            path=problem.entry or str(path),
        )
