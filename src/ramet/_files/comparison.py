"""The diff of two files: the models they describe, and everything else in them.

A graph keeps what is known to matter. Two files that differ must never be called equal, so what is not in the graphs
(metadata, assets, arrays of no variable, keys of the config that belong to no layer) is compared as it is written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import IO

from ramet._diff import ABSENT, Change, Diff, compare_weights, diff_graphs, differences, equal
from ramet._files.json_data import Json, map_objects, walk_json
from ramet._files.model_file import ModelFile
from ramet._files.serialized import map_json
from ramet._files.weights import Weights
from ramet._graph import Argument, FrozenDict, freeze, freeze_dict

_BLOCK = 1 << 20
# The largest text whose first changed line is searched for.
_LARGEST_TEXT = 1 << 24
_DATE = "date_saved"
_RATE = "learning_rate"
# Attributes that Keras writes for the groups of layers and variables: they follow from the names in the model.
_NAME_ATTRIBUTES = frozenset({"name", "layer_names", "weight_names"})
_LAYOUT = "how the bytes are packed (zip, JSON and HDF5 layout, compression, time stamps of entries)"


def diff_files(before: ModelFile, after: ModelFile, on_read: Callable[[str], None] = lambda _: None) -> Diff:
    """Return the diff of two files. A model and weights alone have only weights in common, so only these are compared.

    Args:
        before: The first file.
        after: The second.
        on_read: Called with the path of each variable before it is read.
    """
    for file in (before, after):
        file.start()
    after.reuse(before)
    graphs, left_out = _compare_graphs(before, after, on_read)
    changes = [*graphs.changes]
    if not any(change.kind == "compile" and change.what == "compiled" for change in changes):
        changes += _compare_optimizers(before, after, on_read)
    kinds = {change.kind for change in changes}
    same_model = not (kinds - {"weights", "compile", "optimizer"} or graphs.consequences)
    if before.kind == after.kind:
        changes += _compare_configs(before, after, explained=not same_model or "compile" in kinds)
        changes += _compare_metadata(before, after)
        changes += _compare_members(before, after)
        changes += _compare_weights_files(before, after, on_read, same_model=same_model)
        if not same_model:
            left_out.append("names written beside groups of weights (they follow those of the layers)")
    else:
        left_out.append("metadata, assets and anything else that only one of the two formats has")
    if any(_DATE in file.raw_metadata for file in (before, after)):
        left_out.append("the dates on which the files were saved")
    if any(map(_shares_settings, (before, after))):
        left_out.append(
            "which layers share an initializer, a regularizer or the like (each layer gets its own on loading)"
        )
    problems = max(len(file.listing.problems) for file in (before, after))
    if problems:
        left_out.append(f"the contents of {problems:,} suspicious objects in the weights file (see ramet scan)")
    left_out.append(_LAYOUT)
    return Diff(graphs.before, graphs.after, tuple(changes), graphs.consequences, graphs.compared, tuple(left_out))


def _compare_graphs(before: ModelFile, after: ModelFile, on_read: Callable[[str], None]) -> tuple[Diff, list[str]]:
    weights = before.weights, after.weights
    if (before.kind == "weights") != (after.kind == "weights"):
        compared, changes = compare_weights(_pairs(*weights), *weights, on_read=on_read)
        diff = Diff(before.graph.name, after.graph.name, tuple(changes), (), compared)
        return diff, ["layers, settings and compile settings (one of the files contains only weights)"]
    # Keras 2 wrote compile settings in another form: they would all seem changed.
    alike = before.kind == after.kind
    compiled = (_compiled(before), _compiled(after)) if alike else None
    diff = diff_graphs(before.graph, after.graph, weights, compiled, on_read)
    return diff, [] if alike else ["compile settings (the two formats write them differently)"]


def _compiled(file: ModelFile) -> FrozenDict | None:
    return None if file.compile_config is None else freeze_dict(file.compile_config)


def _compare_optimizers(before: ModelFile, after: ModelFile, on_read: Callable[[str], None]) -> list[Change]:
    old, new = before.optimizer_weights, after.optimizer_weights
    if not len(old) or not len(new):
        if len(old) == len(new):
            return []
        return [Change("optimizer", "optimizer", "optimizer", "variables", len(old), len(new))]
    names = {"0": "iteration"} if all(_is_counter(side, "0") for side in (old, new)) else {}
    if all(_has_plain_rate(file) for file in (before, after)):
        names["1"] = _RATE

    def name(path: str) -> str:
        return f"optimizer/{names.get(path, path)}"

    return compare_weights(_pairs(old, new), old, new, kind="optimizer", name=name, on_read=on_read)[1]


def _pairs(before: Weights, after: Weights) -> list[tuple[str, str]]:
    """Pair arrays that have the same path in both files; those in one file alone are added or removed."""
    return [(path, path) for path in dict.fromkeys([*before, *after])]


def _is_counter(weights: Weights, path: str) -> bool:
    """Return whether a variable is a single integer: the first of a Keras 3 optimizer counts its steps."""
    return path in weights and weights.spec(path).shape == () and weights.spec(path).dtype.startswith("int")


def _has_plain_rate(file: ModelFile) -> bool:
    """Return whether the second variable of the optimizer is its learning rate: with a schedule, there is none."""
    optimizer = (file.compile_config or {}).get("optimizer")
    config = optimizer.get("config") if isinstance(optimizer, dict) else None
    plain = isinstance(config, dict) and isinstance(config.get(_RATE), float)
    return file.kind == "model" and plain and "1" in file.optimizer_weights


def _compare_metadata(before: ModelFile, after: ModelFile) -> list[Change]:
    old, new = (freeze_dict({k: v for k, v in file.raw_metadata.items() if k != _DATE}) for file in (before, after))
    return [Change("file", "metadata", "metadata", what, was, now) for what, was, now in differences(old, new)]


def _compare_members(before: ModelFile, after: ModelFile) -> Iterator[Change]:
    old, new = ({entry.name for entry in file.members} for file in (before, after))
    for name in sorted(old | new):
        if name not in new:
            with before.open_member(name) as file:
                yield Change("file", name, None, "content", old=_facts(file))
        elif name not in old:
            with after.open_member(name) as file:
                yield Change("file", None, name, "content", new=_facts(file))
        else:
            with before.open_member(name) as ours, after.open_member(name) as theirs:
                if not _same_bytes(ours, theirs):
                    facts = _facts(ours), _facts(theirs)
                    measure = freeze_dict(_first_line(ours, theirs))
                    yield Change("file", name, name, "content", *facts, measure)


def _same_bytes(one: IO[bytes], other: IO[bytes]) -> bool:
    while True:
        ours, theirs = one.read(_BLOCK), other.read(_BLOCK)
        if ours != theirs:
            return False
        if not ours:
            return True


def _facts(file: IO[bytes]) -> Argument:
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    return freeze({"size": file.tell(), "sha256": digest})


def _first_line(one: IO[bytes], other: IO[bytes]) -> dict[str, object]:
    """Return the number of lines on both sides and of the first that differs; empty for files that are not text."""
    texts = []
    for file in (one, other):
        file.seek(0)
        data = file.read(_LARGEST_TEXT + 1)
        try:
            texts.append(data.decode("utf-8").split("\n"))
        except UnicodeDecodeError:
            return {}
        if len(data) > _LARGEST_TEXT:
            return {}
    ours, theirs = texts
    index = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(map(len, texts)))
    return {"lines": [len(ours), len(theirs)], "first": index + 1}


def _compare_weights_files(
    before: ModelFile, after: ModelFile, on_read: Callable[[str], None], *, same_model: bool
) -> Iterator[Change]:
    """Compare arrays of no variable, attributes, and, if the models are the same, groups."""
    others = before.other_weights, after.other_weights
    pairs = _pairs(*others)
    yield from compare_weights(pairs, *others, kind="file", name=lambda path: f"weights: {path}", on_read=on_read)[1]
    old, new = before.listing.attributes, after.listing.attributes
    for path in sorted({*old, *new}):
        ours, theirs = old.get(path, {}), new.get(path, {})
        in_both = all(path in file.listing.groups or path in file.listing.arrays for file in (before, after))
        if not in_both and not same_model:
            continue
        for name in sorted({*ours, *theirs}):
            was, now = (found.get(name, ABSENT) for found in (ours, theirs))
            if was != now and (same_model or name not in _NAME_ATTRIBUTES):
                where = f"weights: {path or '/'}"
                yield Change("file", where, where, f"attribute {name}", was, now)
    if same_model:
        for path in sorted(before.listing.groups.keys() ^ after.listing.groups.keys()):
            where = f"weights: {path}"
            is_old = path in before.listing.groups
            yield Change("file", where if is_old else None, None if is_old else where, "group")
    problems = [{(one.kind, one.path): one.reason for one in file.listing.problems} for file in (before, after)]
    for kind, path in sorted({*problems[0], *problems[1]}):
        was, now = (found.get((kind, path), ABSENT) for found in problems)
        if was != now:
            yield Change("file", f"weights: {path}", f"weights: {path}", kind, was, now)


# What is in a config and not in the graph.

# Keys of a layer or a model that are in the graph, or among the compile settings.
_IN_GRAPH = frozenset(
    """
    module class_name config registered_name name inbound_nodes build_config compile_config shared_object_id
    """.split()  # noqa: SIM905  # a list of quoted names would be nine lines
)
_IN_GRAPH_OF_MODELS = frozenset(
    {"name", "trainable", "layers", "input_layers", "output_layers", "dtype", "build_input_shape"}
)
# Modules of settings without state. Keras creates one for each layer when it loads a file, so a model and its reloaded
# copy would always seem to share different ones.
_SETTINGS = frozenset({"builtins"}) | {
    f"keras.{kind}" for kind in ("activations", "constraints", "dtype_policies", "initializers", "regularizers")
}


def _compare_configs(before: ModelFile, after: ModelFile, *, explained: bool) -> Iterator[Change]:
    """Yield changes of keys that no graph has and, if nothing else has changed, of every other value.

    Args:
        before: The first file.
        after: The second, of the same kind.
        explained: Whether other differences between the models are known already: the remaining differences of their
            configs may follow from them.
    """
    if before.config is None or after.config is None:
        return
    found = False
    ours, theirs = before.layer_configs, after.layer_configs
    for path in ours if ours is not theirs else ():
        if path in theirs:
            for what, old, new in differences(_not_in_graph(ours[path]), _not_in_graph(theirs[path])):
                found = True
                yield Change("file", path, path, what, old, new)
    if explained or found:
        return
    texts = before.training_config, after.training_config
    for name, pair in (("config", (before.config, after.config)), ("training_config", texts)):
        if pair[0] is pair[1]:
            continue
        old, new = map(_frozen, pair)
        if not equal(old, new):
            for what, was, now in differences(old, new, name=name):
                yield Change("file", "", "", what, was, now)


def _shares_settings(file: ModelFile) -> bool:
    """Return whether layers in a file share initializers or other settings that the user passed as one object."""
    return any(
        isinstance(item, dict) and "shared_object_id" in item and _is_setting(item) and not _is_policy(item)
        for item in walk_json([file.config, file.training_config])
    )


def _not_in_graph(layer: dict[str, Json]) -> Argument:
    """Return the parts of a serialized layer that are not in the graph."""
    left = {key: value for key, value in layer.items() if key not in _IN_GRAPH}
    config = layer.get("config")
    if isinstance(config, dict) and isinstance(config.get("layers"), list):
        inside = {key: value for key, value in config.items() if key not in _IN_GRAPH_OF_MODELS}
        left |= {"config": inside} if inside else {}
    return _frozen(left)


def _frozen(config: Json) -> Argument:
    """Freeze a config, with shared objects numbered in its order: the original numbers differ from one save to the next."""
    numbers: dict[object, int] = {}
    for item in walk_json(config):
        if isinstance(item, dict) and type(item.get("shared_object_id")) is int and not _is_setting(item):
            numbers.setdefault(item["shared_object_id"], len(numbers))

    def renumber(fields: dict[str, Json]) -> Json:
        if type(fields.get("shared_object_id")) is int:
            number = fields.pop("shared_object_id")
            fields |= {} if _is_setting(fields) else {"shared object": numbers[number]}
        return fields

    return map_json(map_objects(config, renumber))


def _is_setting(value: dict[str, Json]) -> bool:
    module = value.get("module")
    return (isinstance(module, str) and module in _SETTINGS) or _is_policy(value)


def _is_policy(value: dict[str, Json]) -> bool:
    module, name = value.get("module"), str(value.get("class_name"))
    return module in ("keras", "keras.dtype_policies") and name.endswith(("DTypePolicy", "DTypePolicyMap"))
