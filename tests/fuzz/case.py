"""One input of a campaign, made from the seed of the campaign and a number: reproducible in any process."""

import io
import json
import random
import zipfile
from dataclasses import dataclass

import h5py
import numpy as np

from tests.fuzz import seed as seeds
from tests.fuzz.mutate import junk, mutated_bytes, mutated_fields, mutated_values


@dataclass(frozen=True)
class Case:
    """The files of one input.

    Attributes:
        kind: The kind of mutation.
        name: The name of the file that is read.
        files: The bytes of all files, by name.
    """

    kind: str
    name: str
    files: dict[str, bytes]

    def write(self, folder):
        """Write all files into a folder and return the path of the file that is read."""
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        return folder / self.name


def make(seed, number):
    """Return the input with a number in the campaign with a seed."""
    # A string gives the same sequence everywhere; the hash of a tuple differs between processes.
    chance = random.Random(f"{seed}/{number}")
    kind = chance.choices(list(_MAKERS), [share for _, share in _MAKERS.values()])[0]
    name, files = _MAKERS[kind][0](chance)
    return Case(kind, name, files)


def _archive(chance, config=None, metadata=seeds.METADATA_TEXT, weights=None):
    """Return a valid archive, except for the given parts."""
    config = json.dumps(chance.choice(seeds.CONFIGS)).encode() if config is None else config
    weights = chance.choice(seeds.WEIGHTS) if weights is None else weights
    data = io.BytesIO()
    packed = zipfile.ZIP_DEFLATED if chance.random() < 0.2 else zipfile.ZIP_STORED
    with zipfile.ZipFile(data, "w", packed) as file:
        for name, content in (("metadata.json", metadata), ("config.json", config), ("model.weights.h5", weights)):
            # With the current time in it, the input would not be reproducible.
            info = zipfile.ZipInfo(name)
            info.compress_type = packed
            file.writestr(info, content)
        if chance.random() < 0.2:
            file.writestr(zipfile.ZipInfo("assets/layers/v/vocabulary.txt"), "a\nb")
    return data.getvalue()


def _archive_bytes(chance):
    whole = _archive(chance)
    start, end = 0, len(whole)
    weights = whole.find(b"\x89HDF")
    if weights >= 0 and chance.random() < 0.8:
        # Only headers, texts and directory: there are other mutations for weights.
        start, end = chance.choice([(0, weights), (whole.rfind(b"PK\x01\x02", 0, -60) - 200, end)])
    return "m.keras", {"m.keras": mutated_bytes(chance, whole, max(start, 0), end)}


def _archive_fields(chance):
    return "m.keras", {"m.keras": mutated_fields(chance, _archive(chance))}


def _config_bytes(chance):
    text = json.dumps(chance.choice(seeds.CONFIGS)).encode()
    return "m.keras", {"m.keras": _archive(chance, mutated_bytes(chance, text))}


def _config_values(chance):
    return "m.keras", {"m.keras": _archive(chance, mutated_values(chance, chance.choice(seeds.CONFIGS)))}


def _metadata(chance):
    return "m.keras", {"m.keras": _archive(chance, metadata=_mutated_text(chance, json.loads(seeds.METADATA_TEXT)))}


def _mutated_text(chance, value):
    if chance.random() < 0.5:
        return mutated_values(chance, value)
    return mutated_bytes(chance, json.dumps(value).encode())


def _weights_bytes(chance):
    if chance.random() < 0.2:
        whole = _legacy(chance, json.dumps(chance.choice(seeds.OLD_CONFIGS)).encode())
        return "m.h5", {"m.h5": mutated_bytes(chance, whole, 8)}
    content = mutated_bytes(chance, chance.choice(seeds.WEIGHTS), 8)
    if chance.random() < 0.5:
        return "m.weights.h5", {"m.weights.h5": content}
    return "m.keras", {"m.keras": _archive(chance, weights=content)}


def _weights_objects(chance):
    """Return valid HDF5 with groups, arrays, links and attributes that no model has."""
    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        for number in range(chance.randrange(1, 9)):
            group = _group(file, chance.choice(_GROUPS))
            group.attrs[chance.choice(("name", "weight_names", "layer_names", "layer_names0", "model_config"))] = (
                chance.choice(_ATTRIBUTES)
            )
            name = chance.choice((str(number), "vars", "name", "\x1b[2J", "a b", "é", "\\"))
            if name not in group:
                chance.choice(_OBJECTS)(group, name)
    content = data.getvalue()
    if chance.random() < 0.5:
        return "m.weights.h5", {"m.weights.h5": content}
    return "m.keras", {"m.keras": _archive(chance, weights=content)}


def _group(file, path):
    """Return the group at a path, or the last one before an object that is not a group."""
    group = file["/"]
    for name in filter(None, path.split("/")):
        if name in group and group.get(name, getlink=True).__class__ is not h5py.HardLink:
            return group
        if name in group and not isinstance(group[name], h5py.Group):
            return group
        group = group.require_group(name)
    return group


_GROUPS = (
    "layers/dense/vars",
    "layers/lstm/cell/vars",
    "layers/dense",
    "vars",
    "layers/functional/layers",
    "/",
    "x/y/z",
)
_ATTRIBUTES = (
    *("d", "", b"\xff\xfe", 3, 2.5, [b"a", b"b"], [1, 2], np.zeros((2, 2)), h5py.Empty("f"), "{", "[" * 2_000),
    *("\x1b[31m", '{"class_name": "Sequential", "config": []}', np.array(["x", "y"], dtype=h5py.string_dtype())),
)
_OBJECTS = (
    lambda group, name: group.create_dataset(name, data=np.ones((4, 2), "float32")),
    lambda group, name: group.create_dataset(name, data=np.zeros((0, 3))),
    lambda group, name: group.create_dataset(name, data=h5py.Empty("f")),
    lambda group, name: group.create_dataset(name, data=b"text"),
    lambda group, name: group.create_dataset(name, data=np.array(["t"], dtype=h5py.string_dtype())),
    lambda group, name: group.create_dataset(name, data=np.zeros(2, [("a", "i4"), ("b", "f8")])),
    lambda group, name: group.create_dataset(name, data=np.zeros(3, "V5")),
    lambda group, name: group.create_dataset(name, data=np.zeros(3, "complex64")),
    lambda group, name: group.create_dataset(name, data=np.array([1.5, np.nan, np.inf], ">f8")),
    lambda group, name: group.create_dataset(name, (2**40,), "float64", chunks=(1024,), compression="gzip"),
    lambda group, name: group.create_dataset(name, (4,), "uint8", external=[("/etc/passwd", 0, 4)]),
    lambda group, name: group.create_group(name),
    lambda group, name: group.__setitem__(name, np.dtype("float32")),
    lambda group, name: group.__setitem__(name, h5py.SoftLink("/layers")),
    lambda group, name: group.__setitem__(name, h5py.ExternalLink("other.h5", "/x")),
    lambda group, name: group.__setitem__(name, group.file["/"]),
)


def _legacy(chance, config, training=None):
    """Return a Keras 2 model with these texts as its configs."""
    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        file.attrs["keras_version"] = "2.15.0"
        file.attrs["model_config"] = np.void(config) if chance.random() < 0.1 else _stored(config)
        if training is not None:
            file.attrs["training_config"] = _stored(training)
        root = file.create_group("model_weights")
        for owner, named in seeds.OLD_ARRAYS.items():
            if f'"{owner}"'.encode() not in config:
                continue
            group = root.create_group(owner)
            group.attrs["weight_names"] = [name.encode() for name in named]
            for name, array in named.items():
                group[name] = array
    return data.getvalue()


def _stored(text):
    """Return a text that fits into an attribute: at most 64 kB, and no NUL."""
    return text.replace(b"\0", b" ")[:60_000]


def _legacy_configs(chance):
    config = _mutated_text(chance, chance.choice(seeds.OLD_CONFIGS))
    training = _mutated_text(chance, seeds.OLD_TRAINING) if chance.random() < 0.3 else None
    return "m.h5", {"m.h5": _legacy(chance, config, training)}


def _json(chance):
    """Return the JSON of a Keras 2 model, and its weights."""
    config = _mutated_text(chance, chance.choice(seeds.OLD_CONFIGS))
    if chance.random() < 0.1:
        config = json.dumps(config.decode("utf-8", "replace")).encode()  # encoded twice, a common mistake
    whole = _legacy(chance, json.dumps(chance.choice(seeds.OLD_CONFIGS)).encode())
    weights = mutated_bytes(chance, whole, 8) if chance.random() < 0.1 else whole
    return "m.json", {"m.json": config, "m.weights.h5": weights}


def _shards(chance):
    files = {"m.weights.json": _mutated_text(chance, seeds.SHARD_MAP), **seeds.SHARDS}
    if chance.random() < 0.3:
        files["m.weights.json"] = json.dumps(seeds.SHARD_MAP).encode()
        shard = chance.choice(list(seeds.SHARDS))
        files[shard] = mutated_bytes(chance, files[shard], 8)
    if chance.random() < 0.1:
        files["m.weights.json"] = json.dumps({**seeds.SHARD_MAP, "weight_map": junk(chance)}).encode()
    return "m.weights.json", files


# By kind of mutation: a function that makes an input, and its share in percent.
_MAKERS = {
    "archive bytes": (_archive_bytes, 13),
    "archive fields": (_archive_fields, 9),
    "config bytes": (_config_bytes, 13),
    "config values": (_config_values, 30),
    "metadata": (_metadata, 2),
    "Keras 2 configs": (_legacy_configs, 8),
    "HDF5 bytes": (_weights_bytes, 15),
    "HDF5 objects": (_weights_objects, 5),
    "shards": (_shards, 5),
    "Keras 2 JSON": (_json, 5),
}
KINDS = tuple(_MAKERS)
