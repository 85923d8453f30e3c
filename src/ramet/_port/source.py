"""The file that is ported, in any format: what it is, its config, and its arrays."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

from ramet._files import (
    ArraySpec,
    Finding,
    Json,
    Limits,
    Listing,
    ModelFile,
    WeightTree,
    check_readable,
    legacy_layers,
    misfit,
    names_weights,
    open_model_file,
    path_with_name,
    read_json,
    scan,
    scan_config,
)
from ramet._port.draft import Model
from ramet._port.notes import Notes
from ramet._port.optimizer_state import OptimizerWeights
from ramet._port.other_formats import check_not_converted
from ramet._port.placement import Arrays, flip_kernels, place_named, place_structured
from ramet._port.saved_model import SavedModel, is_saved_model, read_saved_model
from ramet._report import escape
from ramet.errors import ArgumentError, ModelFileError

if TYPE_CHECKING:
    import numpy as np

_OPTIMIZER = "optimizer_weights"
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
_VERSION = re.compile(r"[\w.+-]{1,40}", re.ASCII)
Generation: TypeAlias = Literal["Keras 1", "Keras 2", "Keras 3"]


@dataclass(eq=False)
class SourceFile:
    """A model file that can be ported.

    Attributes:
        path: Its path.
        version: The version of Keras that wrote it; empty if the file does not contain it.
        config: The serialized model.
        training: How the model was compiled, as the file has it; None if it was not.
        arrays: The arrays of the file by path.
        read: Reads an array.
        place: Finds the values of the variables of a draft.
        findings: What the scan found.
        weights: Opens the weights file of Keras 3, to copy it as it is; None for other formats.
        members: Other files in the archive, by name: vocabularies.
        vocabularies: Vocabularies that are neither in the config nor members, by the path of the layer.
        structured: Whether the weights are in the layout of Keras 3.
        optimizer: The variables of the optimizer.
        groups: The groups with variables in the layout of Keras 3, which exist even if they have none: `layers/dropout`.
    """

    path: Path
    version: str
    config: dict[str, Json]
    training: Json
    arrays: dict[str, ArraySpec]
    read: Callable[[str], np.ndarray[Any, Any]]
    place: Callable[[Model, Arrays, Notes], None]
    findings: tuple[Finding, ...] = ()
    weights: Callable[[], IO[bytes]] | None = None
    members: dict[str, Callable[[], bytes]] = field(default_factory=dict)
    vocabularies: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    structured: bool = False
    optimizer: OptimizerWeights = field(default_factory=OptimizerWeights)
    groups: frozenset[str] = frozenset()

    @property
    def generation(self) -> Generation:
        """The generation of Keras that wrote the file."""
        return _generation(self.version, self.config)


def _generation(version: str, config: Json) -> Generation:
    if version.startswith("3") or (not version and _looks_like_keras_3(config)):
        return "Keras 3"
    if version.startswith(("0", "1")):
        return "Keras 1"
    return "Keras 2" if version.startswith("2") or _looks_like_keras_2(config) else "Keras 1"


def _looks_like_keras_3(config: Json) -> bool:
    module = config.get("module")
    if not isinstance(module, str):
        return False
    return module.startswith(("keras.src.models", "keras.models")) or (
        module == "keras" and '"batch_shape"' in json.dumps(config)
    )


def _looks_like_keras_2(config: Json) -> bool:
    """Return whether a config without a version has settings of Keras 2: `kernel_initializer` instead of `init`."""
    text = json.dumps(config)
    if any(f'"{key}"' in text for key in ("border_mode", "dim_ordering", "inner_activation", "W_regularizer")):
        return False  # ZeroPadding2D of Keras 1 has "padding", too
    return '"kernel_initializer"' in text or '"registered_name"' in text or '"rate"' in text or '"padding"' in text


def check_weights_argument(path: Path, weights: str | os.PathLike[str] | None) -> None:
    """Refuse weights for a file that is not the JSON of a model."""
    if weights is not None and path.suffix != ".json":
        raise ArgumentError(
            f"Cannot port '{escape(path.name)}' with other weights: it is not the JSON of a model.",
            fix="pass the file that model.to_json() wrote, or leave out the weights.",
        )


@contextlib.contextmanager
def open_source(
    path: str | os.PathLike[str], weights: str | os.PathLike[str] | None, *, isolated: bool
) -> Iterator[SourceFile]:
    """Open the file or folder to port.

    Args:
        path: A `.keras` file, an `.h5` file, the JSON of a model, or a SavedModel.
        weights: The weights that belong to the JSON of a model.
        isolated: Whether HDF5 is read in a separate process.
    """
    named = path_with_name(path)
    check_weights_argument(named, weights)
    if is_saved_model(named):
        yield _saved_model(named)
    elif named.suffix == ".json" and not named.name.endswith(".weights.json"):
        with _json_source(named, weights, isolated=isolated) as source:
            yield source
    else:
        findings = scan(named, isolated=isolated).findings
        with open_model_file(named, isolated=isolated) as file:
            yield _from_file(file, findings)


def _from_file(file: ModelFile, findings: tuple[Finding, ...]) -> SourceFile:
    if file.config is None:
        raise ModelFileError(
            f"Cannot port '{escape(file.path.name)}': it contains weights, but no model.",
            expected="a file written by model.save(), or the JSON of the model and its weights",
            fix="create the model in code and load the weights, or pass its JSON: "
            f"ramet port model.json new.keras --weights {escape(file.path.name)}.",
            path=str(file.path),
        )
    version = _version(file.metadata.get("keras_version", ""))
    if file.kind == "legacy model" and version == "":
        version = _version(file.listing.texts.get("keras_version", ""))
    is_archive = file.kind == "model"
    listing = file.listing
    placer = _structured(listing) if is_archive else _named(listing, _generation(version, file.config))
    members = {entry.name: _reader(file, entry.name) for entry in file.members} if is_archive else {}
    return SourceFile(
        file.path,
        version,
        file.config,
        file.compile_config,
        listing.arrays,
        file.read_array,
        placer,
        findings,
        file.open_weights if is_archive and listing.groups else None,
        members,
        structured=is_archive,
        optimizer=_numbered_optimizer(listing) if is_archive else _named_optimizer(listing, version),
        groups=_groups(listing) if is_archive else frozenset(),
    )


def _groups(listing: Listing) -> frozenset[str]:
    """Return the groups in the layout of Keras 3 that have a group for their variables."""
    return frozenset(
        path.removesuffix("vars").rstrip("/") for path in listing.groups if path.rpartition("/")[2] == "vars"
    )


def _numbered_optimizer(listing: Listing) -> OptimizerWeights:
    found = {int(key): path for key, path, _ in WeightTree(listing).arrays("optimizer") if _NUMBER.fullmatch(key)}
    return OptimizerWeights(tuple(found[number] for number in sorted(found)))


def _named_optimizer(listing: Listing, version: str) -> OptimizerWeights:
    names = listing.group(_OPTIMIZER).name_lists.get("weight_names", ())
    paths = tuple(f"{_OPTIMIZER}/{name}" for name in names)
    if any(path not in listing.arrays for path in paths):
        return OptimizerWeights()
    variables = {path: name for _, weights in legacy_layers(listing) for name, path in weights}
    release = [int(part) for part in re.findall(r"\d+", version)[:3]]
    return OptimizerWeights(paths, tuple(names), variables, is_sorted=release < [2, 0, 6])


def _version(value: Json) -> str:
    """Return the version that a file names, or nothing if that is no version."""
    return value if isinstance(value, str) and _VERSION.fullmatch(value) else ""


def _reader(file: ModelFile, name: str) -> Callable[[], bytes]:
    def read() -> bytes:
        with file.open_member(name) as member:
            return member.read()

    return read


def _named(listing: Listing, generation: Generation) -> Callable[[Model, Arrays, Notes], None]:
    def place(model: Model, arrays: Arrays, notes: Notes) -> None:
        layers = legacy_layers(listing)
        is_keras_1 = generation == "Keras 1"
        place_named(model, layers, listing.arrays, arrays, notes, is_keras_1=is_keras_1)
        names = [name for _, weights in layers for name, _ in weights]
        # Keras 1 does not write its backend, but names of weights end with ":0" in TensorFlow only.
        is_unnumbered = bool(names) and not any(":" in name for name in names)
        if listing.texts.get("backend") == "theano" or (is_keras_1 and is_unnumbered):
            flip_kernels(model, notes)

    return place


def _structured(listing: Listing) -> Callable[[Model, Arrays, Notes], None]:
    tree = WeightTree(listing)

    def find(group: str) -> list[tuple[str, str]]:
        return [(key, real) for key, real, _ in tree.arrays(group)]

    def place(model: Model, arrays: Arrays, notes: Notes) -> None:
        place_structured(model, find, tree.layers_group, tree.has, listing.arrays, arrays, notes)

    return place


# The JSON of a model, and its weights.


@contextlib.contextmanager
def _json_source(path: Path, weights: str | os.PathLike[str] | None, *, isolated: bool) -> Iterator[SourceFile]:
    limits = Limits().within(check_readable(path).st_size)
    with path.open("rb") as file:
        # One byte more than is allowed, so that a longer file is refused without being read.
        config = read_json(file.read(limits.text_size + 1), path.name, limits, legacy=True)
    if isinstance(config, str):
        # A common mistake: json.dump(model.to_json(), file) encodes the text once more.
        config = read_json(config, path.name, limits, legacy=True)
    check_not_converted(config, path.name)
    if not isinstance(config, dict) or not isinstance(config.get("class_name"), str):
        raise misfit("the JSON of a model, as model.to_json() returns it", config, path.name)
    inner = config.get("config")
    if not isinstance(inner, list) and not (isinstance(inner, dict) and "layers" in inner):
        raise ModelFileError(
            f"Cannot port '{escape(path.name)}': it describes a {config['class_name']!a}, not a functional or Sequential model.",
            fix="pass the text that model.to_json() returned.",
            path=str(path),
        )
    if weights is None:
        raise ArgumentError(
            f"Cannot port '{escape(path.name)}': it describes a model, but contains no weights.",
            fix=f'pass its weights: ramet port {escape(path.name)} new.keras --weights weights.h5 (weights="weights.h5").',
        )
    findings = [*scan_config(config, path.name, "config", legacy=True), *scan(weights, isolated=isolated).findings]
    version = _version(config.get("keras_version"))
    with open_model_file(weights, isolated=isolated) as file:
        listing = file.listing
        version = version or _version(file.metadata.get("keras_version") or listing.texts.get("keras_version"))
        is_named = file.kind == "legacy model" or names_weights(listing)
        place = _named(listing, _generation(version, config)) if is_named else _structured(listing)
        bare = {key: value for key, value in config.items() if key not in ("keras_version", "backend")}
        yield SourceFile(
            path,
            version,
            bare,
            None,
            listing.arrays,
            file.read_array,
            place,
            tuple(findings),
            None if is_named else file.open_weights,
            structured=not is_named,
            groups=frozenset() if is_named else _groups(listing),
        )


# SavedModel.


def _saved_model(path: Path) -> SourceFile:
    link = next((item for item in path.rglob("*") if item.is_symlink()), None)
    if link is not None:
        raise ModelFileError(
            f"Cannot read '{escape(path.name)}': '{escape(link.name)}' in it is a link.",
            fix=f"copy the folder with the files behind its links: cp -rL {escape(path.name)} copy.",
            path=str(link),
        )
    saved: SavedModel = read_saved_model(path, Limits())
    findings = tuple(scan_config(saved.config, path.name, "config", legacy=True))
    arrays, full_names = {}, {}
    for layer, variables in saved.variables.items():
        for name, array in variables.items():
            where = f"{layer}/{name}" if layer else name
            arrays[where] = array
            full_names[where] = saved.full_names[layer, name]
    state = {f"{_OPTIMIZER}/{name}": array for name, array in saved.optimizer.items()}
    specs = {where: ArraySpec(tuple(array.shape), array.dtype) for where, array in (arrays | state).items()}

    def place(model: Model, found: Arrays, notes: Notes) -> None:
        for where, doubt in saved.doubts.items():
            notes.add("caution", where, doubt)
        for where, reason in saved.missing.items():
            notes.refuse(where, reason, "load the model with tf_keras, and save it as .h5 or .keras.")
        groups = [
            (
                layer.source,
                [(f"{where}:0", where) for where in arrays if where.startswith(f"{layer.source}/")],
            )
            for layer in model.layers
        ]
        place_named(model, groups, specs, found, notes)

    vocabularies = {where: vocabulary.tokens for where, vocabulary in saved.vocabularies.items()}
    return SourceFile(
        path,
        _version(saved.keras_version) or "2",
        saved.config,
        saved.training_config,
        specs,
        lambda where: (arrays[where] if where in arrays else state[where]).read(),
        place,
        findings,
        vocabularies=vocabularies,
        optimizer=OptimizerWeights(tuple(state), tuple(saved.optimizer), full_names),
    )
