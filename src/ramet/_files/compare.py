"""What changed between two files: the models they describe, and everything else that they hold."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import IO

from ramet._diff import ABSENT, Change, Diff, Kind, compare_weights, diff_graphs, differences
from ramet._files.leftover import compare_raw_configs, shares_settings
from ramet._files.model_file import ModelFile
from ramet._files.weights import Weights
from ramet._graph import Argument, FrozenDict, freeze, freeze_dict

__all__ = ["diff_files"]

_BLOCK = 1 << 20
# The largest text whose first changed line is looked for.
_TEXT = 1 << 24
_DATE = "date_saved"
_RATE = "learning_rate"
# What Keras writes beside the groups of layers and variables: it follows from their names.
_NAMES = frozenset({"name", "layer_names", "weight_names"})
_LAYOUT = "how the bytes are packed (zip, JSON and HDF5 layout, compression, time stamps of entries)"


def diff_files(before: ModelFile, after: ModelFile, on_read: Callable[[str], None] = lambda _: None) -> Diff:
    """The diff of two files. A model and weights alone have only weights in common: nothing else is compared then.

    Args:
        before: The first file.
        after: The second.
        on_read: Called with the path of each variable before it is read.
    """
    for file in (before, after):
        file.start()
    after.adopt(before)
    graphs, left_out = _compare_graphs(before, after, on_read)
    changes = [*graphs.changes]
    if not any(change.kind == "compile" and change.what == "compiled" for change in changes):
        changes += _compare_optimizers(before, after, on_read)
    kinds = {change.kind for change in changes}
    silent = not (kinds - {"weights", "compile", "optimizer"} or graphs.consequences)
    if before.kind == after.kind:
        changes += compare_raw_configs(before, after, told=not silent or "compile" in kinds)
        changes += _compare_metadata(before, after)
        changes += _compare_members(before, after)
        changes += _compare_weights_files(before, after, on_read, silent=silent)
        if not silent:
            left_out.append("names written beside groups of weights (they follow those of the layers)")
    else:
        left_out.append("metadata, assets and what else only one of the two formats has")
    if any(_DATE in file.raw_metadata for file in (before, after)):
        left_out.append("the dates on which the files were saved")
    if any(map(shares_settings, (before, after))):
        left_out.append(
            "which layers share an initializer, a regularizer or the like (each layer gets its own on loading)"
        )
    left_out += _not_followed(before, after)
    left_out.append(_LAYOUT)
    return Diff(graphs.before, graphs.after, tuple(changes), graphs.consequences, graphs.compared, tuple(left_out))


def _compare_graphs(before: ModelFile, after: ModelFile, on_read: Callable[[str], None]) -> tuple[Diff, list[str]]:
    weights = before.weights, after.weights
    if (before.kind == "weights") != (after.kind == "weights"):
        paths = dict.fromkeys([*before.weights, *after.weights])
        compared, changes = compare_weights([(path, path) for path in paths], *weights, on_read=on_read)
        diff = Diff(before.graph.name, after.graph.name, tuple(changes), (), compared)
        return diff, ["layers, settings and compile settings (one of the files holds weights alone)"]
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
    if all(_has_a_plain_rate(file) for file in (before, after)):
        names["1"] = _RATE
    return _compare_by_path(old, new, "optimizer", lambda path: f"optimizer/{names.get(path, path)}", on_read)


def _is_counter(weights: Weights, path: str) -> bool:
    """Whether a variable is a single whole number: the first of an optimizer of Keras 3 counts its steps."""
    return path in weights and weights.spec(path).shape == () and weights.spec(path).dtype.startswith("int")


def _has_a_plain_rate(file: ModelFile) -> bool:
    """Whether the second variable of the optimizer is its learning rate: where a schedule stands in its place, it has none."""
    optimizer = (file.compile_config or {}).get("optimizer")
    config = optimizer.get("config") if isinstance(optimizer, dict) else None
    plain = isinstance(config, dict) and isinstance(config.get(_RATE), float)
    return file.kind == "model" and plain and "1" in file.optimizer_weights


def _compare_by_path(
    before: Weights, after: Weights, kind: Kind, name: Callable[[str], str], on_read: Callable[[str], None]
) -> list[Change]:
    """Arrays that have the same path in both files; those of one file alone are added or gone."""
    pairs = [(path, path) for path in dict.fromkeys([*before, *after])]
    return compare_weights(pairs, before, after, kind=kind, name=name, on_read=on_read)[1]


def _compare_metadata(before: ModelFile, after: ModelFile) -> list[Change]:
    old, new = (freeze_dict({k: v for k, v in file.raw_metadata.items() if k != _DATE}) for file in (before, after))
    return [Change("file", "metadata", "metadata", what, was, now) for what, was, now in differences(old, new)]


def _compare_members(before: ModelFile, after: ModelFile) -> Iterator[Change]:
    old, new = ({entry.name: entry for entry in file.members} for file in (before, after))
    for name in sorted({*old, *new}):
        if name in old and name in new:
            with before.open_member(name) as ours, after.open_member(name) as theirs:
                if old[name].size != new[name].size or not _same_bytes(ours, theirs):
                    facts = _facts(ours), _facts(theirs)
                    measure = freeze_dict(_first_line(ours, theirs))
                    yield Change("file", name, name, "content", *facts, measure)
        elif name in old:
            with before.open_member(name) as file:
                yield Change("file", name, None, "content", old=_facts(file))
        else:
            with after.open_member(name) as file:
                yield Change("file", None, name, "content", new=_facts(file))


def _same_bytes(one: IO[bytes], other: IO[bytes]) -> bool:
    while True:
        ours, theirs = one.read(_BLOCK), other.read(_BLOCK)
        if ours != theirs:
            return False
        if not ours:
            return True


def _facts(file: IO[bytes]) -> Argument:
    file.seek(0)
    digest, size = hashlib.sha256(), 0
    while block := file.read(_BLOCK):
        digest.update(block)
        size += len(block)
    return freeze({"size": size, "sha256": digest.hexdigest()})


def _first_line(one: IO[bytes], other: IO[bytes]) -> dict[str, object]:
    """The number of the first line that differs, and what it says on both sides; nothing for what is no text."""
    texts = []
    for file in (one, other):
        file.seek(0)
        data = file.read(_TEXT + 1)
        try:
            texts.append(data.decode("utf-8").split("\n"))
        except UnicodeDecodeError:
            return {}
        if len(data) > _TEXT:
            return {}
    ours, theirs = texts
    place = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(map(len, texts)))
    return {"lines": [len(ours), len(theirs)], "first": place + 1}


def _compare_weights_files(
    before: ModelFile, after: ModelFile, on_read: Callable[[str], None], *, silent: bool
) -> Iterator[Change]:
    """Arrays of no variable, attributes, and, where the models are the same, groups."""
    yield from _compare_by_path(
        before.other_weights, after.other_weights, "file", lambda path: f"weights: {path}", on_read
    )
    old, new = before.listing.attributes, after.listing.attributes
    for path in sorted({*old, *new}):
        ours, theirs = old.get(path, {}), new.get(path, {})
        known = all(path in file.listing.groups or path in file.listing.arrays for file in (before, after))
        if not known and not silent:
            continue
        for name in sorted({*ours, *theirs}):
            if ours.get(name) != theirs.get(name) and (silent or name not in _NAMES):
                where = f"weights: {path or '/'}"
                yield Change(
                    "file", where, where, f"attribute {name}", _or_absent(ours.get(name)), _or_absent(theirs.get(name))
                )
    if silent:
        for path in sorted(before.listing.groups.keys() ^ after.listing.groups.keys()):
            where = f"weights: {path}"
            is_old = path in before.listing.groups
            yield Change("file", where if is_old else None, None if is_old else where, "group")
    problems = [{(one.kind, one.path): one.reason for one in file.listing.problems} for file in (before, after)]
    for kind, path in sorted({*problems[0], *problems[1]}):
        was, now = (found.get((kind, path)) for found in problems)
        if was != now:
            yield Change("file", f"weights: {path}", f"weights: {path}", kind, _or_absent(was), _or_absent(now))


def _or_absent(text: str | None) -> Argument:
    return ABSENT if text is None else text


def _not_followed(before: ModelFile, after: ModelFile) -> list[str]:
    count = max(len(file.listing.problems) for file in (before, after))
    return [f"what {count:,} odd objects in the weights file hold (ramet scan lists them)"] if count else []
