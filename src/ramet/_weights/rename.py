"""`rename=`: the path on the target's side of weights that are called otherwise in the source."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from ramet.errors import ArgumentError, shown

__all__ = ["Rename", "renamed_paths"]

Rename: TypeAlias = Mapping[str, str] | Callable[[str], str]


def renamed_paths(paths: Iterable[str], rename: Rename | None) -> dict[str, str]:
    """The new path of each path that the user renamed; those that keep theirs are left out.

    A rule of a mapping is about a path or the beginning of one. A `*` in it stands for any characters of one part, and
    the `*`s of the new path stand for the same, in order. The first rule that fits counts. The empty string is the
    beginning of every path.

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
            f"Cannot transfer with rename={shown(rename)}: it does not say what is renamed.",
            expected="a dict from old paths to new ones, or a function from the one to the other",
            found=f"an object of class {type(rename).__name__}",
            fix="pass rename={'old/path': 'new/path'}.",
        )
    paths = list(paths)
    new = _by_rules(paths, rename) if isinstance(rename, Mapping) else {path: rename(path) for path in paths}
    for path, name in new.items():
        if not isinstance(name, str):
            raise ArgumentError(
                f"Cannot rename '{path}' to {name!r}: it is no path.",
                fix="return a string from the function.",
                path=path,
            )
    _check_distinct(new)
    return {path: name for path, name in new.items() if name != path}


def _by_rules(paths: list[str], rules: Mapping[str, str]) -> dict[str, str]:
    compiled = [(rule, _pattern(rule, new), new.strip("/")) for rule, new in rules.items()]
    used: set[str] = set()
    found: dict[str, str] = {}
    for path in paths:
        for rule, pattern, new in compiled:
            fit = pattern.fullmatch(f"/{path}")
            if fit is None:
                continue
            used.add(rule)
            *stars, rest = fit.groups()
            parts = new.split("*")
            name = parts[0] + "".join(star + part for star, part in zip(stars, parts[1:], strict=False))
            found[path] = f"{name}{rest or ''}".lstrip("/")
            break
    for rule in rules:
        if rule not in used:
            known = list(dict.fromkeys(part for path in paths for part in (path, path.rpartition("/")[0]) if part))
            raise ArgumentError(
                f"Cannot rename '{rule}': no weight of the source has a path that begins so.",
                closest=difflib.get_close_matches(rule, known[:5000], n=3),
                fix="name a path, or the beginning of one, up to a '/'.",
                path=rule,
            )
    return found


def _pattern(rule: object, new: object) -> re.Pattern[str]:
    if not isinstance(rule, str) or not isinstance(new, str):
        raise ArgumentError(f"Cannot rename {rule!r} to {new!r}: paths are strings.", fix="pass strings.")
    stars = rule.count("*")
    if new.count("*") > stars:
        raise ArgumentError(
            f"Cannot rename '{rule}' to '{new}': there is no '*' for each in the new path.",
            fix="write as many '*' in the old path as in the new one.",
        )
    # A path is matched with a '/' before it, so that the empty rule is about all of them.
    beginning = f"/{rule.strip('/')}".rstrip("/")
    return re.compile("([^/]*)".join(map(re.escape, beginning.split("*"))) + "(/.*)?", re.DOTALL)


def _check_distinct(new: Mapping[str, str]) -> None:
    first: dict[str, str] = {}
    for path, name in new.items():
        other = first.setdefault(name, path)
        if other != path:
            raise ArgumentError(
                f"Cannot rename '{other}' and '{path}' to one path: '{name}' can hold the weights of one of them.",
                fix="let the new paths differ.",
                path=name,
            )
