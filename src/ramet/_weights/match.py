"""The options of `transfer` about paths: matching weights by path, order or end of the path, `rename=` and `select=`."""

from __future__ import annotations

import difflib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias

from ramet._keras import capture_model, locations_below
from ramet._select import find
from ramet.errors import ArgumentError, shown

How: TypeAlias = Literal["path", "rename", "order", "end"]
Rename: TypeAlias = Mapping[str, str] | Callable[[str], str]

_NUMBER = re.compile(r"_\d+$")
# Paths are matched by their ends if one model is nested at most this many levels deeper than the other.
_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class WeightInfo:
    """The description of one weight."""

    owner: str  # the path of the op it belongs to; empty for the root
    name: str
    shape: tuple[int, ...]
    dtype: str
    class_name: str | None = None  # of the op, if known
    stem: str = ""  # the owner's path, with `_#` for the numbers in names that Keras generated

    @property
    def path(self) -> str:
        """The path of the weight."""
        return f"{self.owner}/{self.name}" if self.owner else self.name


@dataclass(frozen=True, slots=True)
class Match:
    """A weight of the source, and how it was matched."""

    source: WeightInfo
    how: How


def own_stem(part: str, name: str, class_name: str) -> str:
    """Return the last part of an op's path, with `_#` for its number if Keras generated the name of the op from its class.

    >>> (
    ...     own_stem("conv2d_3", "conv2d_3", "Conv2D"),
    ...     own_stem("dense", "dense", "Dense"),
    ...     own_stem("head", "head", "Dense"),
    ... )
    ('conv2d_#', 'dense_#', 'head')
    """
    generated = "".join(filter(str.isalnum, class_name)).lower()
    return _automatic(part) if _NUMBER.sub("", name).replace("_", "") == generated else part


def _automatic(name: str) -> str:
    return f"{_NUMBER.sub('', name)}_#"


def add_stem(stems: dict[str, str], path: str, part: str) -> None:
    """Add the stem of an op to those of the ops before it. Ops come after the op that they are inside of."""
    stems[path] = f"{stems.get(path.rpartition('/')[0], '')}/{part}".lstrip("/") if path else ""


def guess_stem(owner: str, automatic: set[str]) -> str:
    """Return the stem of a path whose ops are unknown: names that the other side has as generated names count as such.

    >>> guess_stem("block_1/dense_3", {"dense_#"})
    'block_1/dense_#'
    """
    stems = ((part, _automatic(part)) for part in owner.split("/"))
    return "/".join(stem if stem in automatic else part for part, stem in stems)


def match(sources: list[WeightInfo], targets: list[WeightInfo], renamed: Mapping[str, str]) -> dict[str, Match]:
    """Return the match of each weight of the target that has one, by path.

    `renamed` has the path in the target of each weight of the source that the user renamed.
    """
    known = {weight.path for weight in targets}
    found: dict[str, Match] = {}
    rest = []
    for weight in sources:
        if weight.path not in renamed:
            rest.append(weight)
        elif renamed[weight.path] in known:
            found[renamed[weight.path]] = Match(weight, "rename")
    for how, pairs in (("order", _by_order), ("path", _by_path), ("end", _by_end)):
        used = {one.source.path for one in found.values()}
        ours = [weight for weight in rest if weight.path not in used]
        theirs = [weight for weight in targets if weight.path not in found]
        found |= {target.path: Match(source, how) for source, target in pairs(ours, theirs)}  # type: ignore[arg-type]  # as listed above
    return found


def _by_path(sources: list[WeightInfo], targets: list[WeightInfo]) -> Iterator[tuple[WeightInfo, WeightInfo]]:
    by_path = {weight.path: weight for weight in sources}
    yield from ((by_path[weight.path], weight) for weight in targets if weight.path in by_path)


def _by_order(sources: list[WeightInfo], targets: list[WeightInfo]) -> Iterator[tuple[WeightInfo, WeightInfo]]:
    """Yield the weights of ops with generated names if both sides have equally many, pairwise alike, with other numbers.

    Two models of one architecture, built one after the other, have `dense, dense_1` and `dense_2, dense_3`, or, worse,
    `dense_1, dense_2` and `dense_2, dense_3`: matched by path, a layer would get the weights of its neighbor.
    """
    ours, theirs = by_stem(sources), by_stem(targets)
    for stem, wanted in theirs.items():
        there = ours.get(stem, {})
        is_generated = "_#" in stem and len(there) == len(wanted) and there.keys() != wanted.keys()
        if is_generated and all(map(_are_alike, there.values(), wanted.values())):
            for mine, yours in zip(there.values(), wanted.values(), strict=True):
                yield from _by_name(mine, yours)


def _by_end(sources: list[WeightInfo], targets: list[WeightInfo]) -> Iterator[tuple[WeightInfo, WeightInfo]]:
    """Yield the weights of ops whose path is the end of another's, if no other op matches; one model is nested deeper."""
    ours, theirs = _by_owner(sources), _by_owner(targets)
    edges = {(owner, owner[cut:]) for owner in ours for cut in _cuts(owner) if owner[cut:] in theirs}
    edges |= {(owner[cut:], owner) for owner in theirs for cut in _cuts(owner) if owner[cut:] in ours}
    fitting = [(mine, yours) for mine, yours in sorted(edges) if _are_alike(ours[mine], theirs[yours])]
    counts, others = Counter(mine for mine, _ in fitting), Counter(yours for _, yours in fitting)
    for mine, yours in fitting:
        if counts[mine] == others[yours] == 1:
            yield from _by_name(ours[mine], theirs[yours])


def _cuts(owner: str) -> list[int]:
    """Return the positions at which the shorter ends of a path begin."""
    return [slash.end() for slash in itertools.islice(re.finditer("/", owner), _MAX_DEPTH)]


def by_stem(weights: Iterable[WeightInfo]) -> dict[str, dict[str, list[WeightInfo]]]:
    """Return the weights of each op, by its stem and its path."""
    found: dict[str, dict[str, list[WeightInfo]]] = {}
    for weight in weights:
        found.setdefault(weight.stem, {}).setdefault(weight.owner, []).append(weight)
    return found


def _by_owner(weights: list[WeightInfo]) -> dict[str, list[WeightInfo]]:
    return {owner: owned for owners in by_stem(weights).values() for owner, owned in owners.items() if owner}


def _are_alike(ours: list[WeightInfo], theirs: list[WeightInfo]) -> bool:
    """Return whether two ops own the same weights: names, shapes, and classes as far as known."""
    classes = {ours[0].class_name, theirs[0].class_name} - {None}
    shapes = [{weight.name: weight.shape for weight in weights} for weights in (ours, theirs)]
    return len(classes) <= 1 and shapes[0] == shapes[1]


def _by_name(ours: list[WeightInfo], theirs: list[WeightInfo]) -> Iterator[tuple[WeightInfo, WeightInfo]]:
    """Yield the weights of two alike ops in pairs. A file may list them in another order than a model."""
    by_name = {weight.name: weight for weight in ours}
    yield from ((by_name[weight.name], weight) for weight in theirs)


def renamed_paths(paths: Iterable[str], rename: Rename | None) -> dict[str, str]:
    """Return the new path of each path that `rename=` changes.

    A rule of a mapping applies to a path or to the beginning of one. A `*` in it matches any characters of one part, and
    the `*`s of the new path are replaced by the same characters, in order. The first rule that matches is applied. The empty
    string is the beginning of every path.

    >>> renamed_paths(["encoder/dense/kernel", "head/bias"], {"encoder": "backbone"})
    {'encoder/dense/kernel': 'backbone/dense/kernel'}
    >>> renamed_paths(["block_1/kernel", "block_2/kernel"], {"block_*": "stage_*/conv"})
    {'block_1/kernel': 'stage_1/conv/kernel', 'block_2/kernel': 'stage_2/conv/kernel'}
    >>> renamed_paths(["dense/kernel"], {"": "backbone"})
    {'dense/kernel': 'backbone/dense/kernel'}
    >>> renamed_paths(["a/kernel"], lambda path: path.replace("a", "b"))
    {'a/kernel': 'b/kernel'}
    """
    if rename is None:
        return {}
    if not isinstance(rename, Mapping) and not callable(rename):
        raise ArgumentError(
            f"Cannot transfer with rename={shown(rename)}: it is neither a dict nor a function.",
            expected="a dict from old to new paths, or a function from an old path to a new one",
            found=f"an object of class {type(rename).__name__}",
            fix="pass rename={'old/path': 'new/path'}.",
        )
    paths = list(paths)
    new = _by_rules(paths, rename) if isinstance(rename, Mapping) else {path: rename(path) for path in paths}
    first: dict[str, str] = {}
    for path, name in new.items():
        if not isinstance(name, str):
            raise ArgumentError(
                f"Cannot rename '{path}' to {name!r}: it is not a path.",
                fix="return a string from the function.",
                path=path,
            )
        other = first.setdefault(name, path)
        if other != path:
            raise ArgumentError(
                f"Cannot rename '{other}' and '{path}' to '{name}': one path cannot get the weights of both.",
                fix="choose different new paths.",
                path=name,
            )
    return {path: name for path, name in new.items() if name != path}


def _by_rules(paths: list[str], rules: Mapping[str, str]) -> dict[str, str]:
    compiled = [(rule, _pattern(rule, new), new.strip("/")) for rule, new in rules.items()]
    used: set[str] = set()
    found: dict[str, str] = {}
    for path in paths:
        for rule, pattern, new in compiled:
            matched = pattern.fullmatch(f"/{path}")
            if matched is None:
                continue
            used.add(rule)
            *stars, rest = matched.groups()
            parts = new.split("*")
            name = parts[0] + "".join(star + part for star, part in zip(stars, parts[1:], strict=False))
            found[path] = f"{name}{rest or ''}".lstrip("/")
            break
    for rule in rules:
        if rule not in used:
            known = list(dict.fromkeys(part for path in paths for part in (path, path.rpartition("/")[0]) if part))
            raise ArgumentError(
                f"Cannot rename '{rule}': no weight of the source has a path that begins with it.",
                closest=difflib.get_close_matches(rule, known[:5000], n=3),
                fix="pass a path, or the beginning of one up to a '/'.",
                path=rule,
            )
    return found


def _pattern(rule: object, new: object) -> re.Pattern[str]:
    if not isinstance(rule, str) or not isinstance(new, str):
        raise ArgumentError(f"Cannot rename {rule!r} to {new!r}: paths are strings.", fix="pass strings.")
    stars = rule.count("*")
    if new.count("*") > stars:
        raise ArgumentError(
            f"Cannot rename '{rule}' to '{new}': the new path has more '*' than the old one.",
            fix="use at most as many '*' in the new path as in the old one.",
        )
    # A path is matched with a leading '/', so that the empty rule matches every path.
    beginning = f"/{rule.strip('/')}".rstrip("/")
    return re.compile("([^/]*)".join(map(re.escape, beginning.split("*"))) + "(/.*)?", re.DOTALL)


def selected_paths(target: Any, weights: list[WeightInfo], select: Any) -> set[str]:
    """Return the paths of the selected weights of a live model; all of them without a selection.

    `select` is a glob over paths of weights or ops (without a `/`, over their last parts), or a selector of ops.
    """
    if select is None:
        return {weight.path for weight in weights}
    if isinstance(select, str):
        found = {weight.path for weight in weights if _matches(weight, select)}
    else:
        live = {location.path: location.op for location in locations_below(target)}
        chosen = {one.path for one in find(capture_model(target), select, live)}
        found = {weight.path for weight in weights if any(owner in chosen for owner in _owners(weight))}
    if not found:
        raise ArgumentError(
            f"Cannot transfer to '{target.name}': select={select!r} matches none of its weights.",
            fix="list the paths with print(ramet.capture(model)).",
        )
    return found


def _matches(weight: WeightInfo, glob: str) -> bool:
    paths = [weight.path, *_owners(weight)]
    return any(fnmatchcase(path if "/" in glob else path.rpartition("/")[2], glob) for path in paths)


def _owners(weight: WeightInfo) -> list[str]:
    """Return the paths of the op of a weight and of the ops around it."""
    owner, found = weight.owner, []
    while owner:
        found.append(owner)
        owner = owner.rpartition("/")[0]
    return found
