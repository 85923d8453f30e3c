"""Tests of a single op: its path against globs, its class against names and classes, its config against settings."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping

from ramet._graph import Argument, Constant, FrozenDict, FrozenList, Key, Op, freeze, freeze_dict
from ramet._select.catalog import Candidate

_ABSENT = object()  # equal to no setting
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


# Paths.


def glob_test(globs: Iterable[str], *, ignore_case: bool = False) -> Callable[[Candidate], bool]:
    """Return a function that tests whether one of the globs matches one of an op's paths."""
    # A full path is found literally: names may contain characters that have a meaning in a glob.
    literal = frozenset(globs)
    whole = _pattern((glob for glob in literal if "/" in glob), ignore_case=ignore_case)
    last = _pattern((glob for glob in literal if "/" not in glob), ignore_case=ignore_case)

    def test(candidate: Candidate) -> bool:
        for path in candidate.paths:
            name = path.rpartition("/")[2]
            if path in literal or name in literal:
                return True
            if (whole is not None and whole.match(path)) or (last is not None and last.match(name)):
                return True
        return False

    return test


def _pattern(globs: Iterable[str], *, ignore_case: bool) -> re.Pattern[str] | None:
    """Return one pattern for all globs. Globs without a wildcard need none, unless case is ignored."""
    needed = [glob for glob in globs if ignore_case or any(char in glob for char in "*?[")]
    if not needed:
        return None
    return re.compile("|".join(map(fnmatch.translate, needed)), re.IGNORECASE if ignore_case else 0)


# Classes.


def class_test(classes: tuple[type | str, ...]) -> Callable[[Candidate], bool]:
    """Return a function that tests whether an op is of one of the classes: by its live op if there is one, else by names."""
    types = tuple(item for item in classes if isinstance(item, type))
    names = frozenset(item for item in classes if isinstance(item, str))
    dotted = frozenset(name for name in names if "." in name)
    known: dict[type, bool] = {}  # most ops of a model are of a few classes

    def test_live(cls: type) -> bool:
        return issubclass(cls, types) or any(
            base.__name__ in names or _has_dotted_name(dotted, base.__module__, base.__name__) for base in cls.__mro__
        )

    def test(candidate: Candidate) -> bool:
        op = candidate.op
        if op.registered_name in names:
            return True
        if candidate.live is not None:
            cls = type(candidate.live)
            if cls not in known:
                known[cls] = test_live(cls)
            return known[cls]
        if op.class_name in names or _has_dotted_name(dotted, op.module, op.class_name):
            return True
        return any(_is_class(item, op) for item in types)

    return test


def _has_dotted_name(dotted: frozenset[str], module: str | None, name: str) -> bool:
    if module is None:
        return False
    pairs = (item.rpartition(".") for item in dotted)
    return any(own == name and _is_same_module(other, module) for other, _, own in pairs)


def _is_class(cls: type, op: Op) -> bool:
    """Return whether the names of an op describe this class; data has no base classes."""
    if cls.__name__ != op.class_name:
        return False
    if op.module is not None:
        return _is_same_module(op.module, cls.__module__)
    # A file gives no module for a registered class, which is never one of Keras' own.
    package = (op.registered_name or "").rpartition(">")[0]
    return not package or cls.__module__.partition(".")[0] != "keras"


def _is_same_module(first: str, second: str) -> bool:
    """Return whether two names may denote one module: `keras.layers` publishes `keras.src.layers.core.dense`."""
    if first == second:
        return True
    public, private = sorted((first, second), key=lambda name: ".src." in f"{name}.")
    published = private.replace(".src.", ".", 1)
    return private != published and f"{published}.".startswith(f"{public}.")


# Settings.


def freeze_settings(settings: Mapping[str, object]) -> FrozenDict:
    """Return settings as a user passes them, as frozen data."""
    return freeze_dict({key: freeze(value, _describe) for key, value in settings.items()})


def _describe(item: object) -> object:
    """Return plain data for an object: its class and config, its numbers, or its name."""
    if isinstance(item, type) or (callable(item) and hasattr(item, "__qualname__")):
        name = getattr(item, "__qualname__", "")
        return Constant("object", "class" if isinstance(item, type) else "function", summary=name.rpartition(".")[2])
    if isinstance(item, Mapping):
        return {key if isinstance(key, str | int | float | bytes | None) else str(key): item[key] for key in item}
    if isinstance(item, list | tuple | set | frozenset):
        return list(item)
    if hasattr(item, "get_config"):
        return {"class_name": type(item).__name__, "config": dict(item.get_config())}
    if hasattr(item, "tolist"):  # arrays and numbers of numpy
        return item.tolist()
    for plain in (int, float, str):  # enum members and other subclasses
        if isinstance(item, plain):
            return plain(item)
    return Constant("object", f"{type(item).__module__}.{type(item).__qualname__}", summary=str(item)[:60])


def has_settings(config: FrozenDict | None, wanted: FrozenDict) -> bool:
    """Return whether a config contains all wanted settings; False for an op without a config."""
    return config is not None and all(_is_same(value, _look_up(config, str(key))) for key, value in wanted.pairs)


def _look_up(config: FrozenDict, key: str) -> object:
    """Return the setting with this key; dots reach into nested configs, including those of layers and objects."""
    if key in config:
        return config[key]
    found: object = config
    for part in key.split("."):
        if isinstance(found, FrozenDict) and part not in found:
            found = found.get("config")
        if isinstance(found, FrozenDict) and part in found:
            found = found[part]
        elif isinstance(found, FrozenList | tuple) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            return _ABSENT
    return found


def _is_same(wanted: object, found: object) -> bool:
    waiting = [(wanted, found)]
    while waiting:
        ours, theirs = waiting.pop()
        if isinstance(ours, FrozenDict) and isinstance(theirs, FrozenDict):
            keys = _compared_keys(ours, theirs)
            if keys is None:
                return False
            waiting.extend((ours[key], theirs[key]) for key in keys)
        elif isinstance(ours, FrozenList | tuple) and isinstance(theirs, FrozenList | tuple):
            if len(ours) != len(theirs):
                return False
            waiting.extend(zip(ours, theirs, strict=True))
        elif not _is_same_leaf(ours, theirs):
            return False
    return True


def _compared_keys(ours: FrozenDict, theirs: FrozenDict) -> set[Key] | None:
    """Return the keys whose values must be equal; None if the dicts cannot be."""
    if _is_object(ours) and _is_object(theirs):
        # Class and config identify an object; the other keys only give its registration and its build config.
        return {"class_name", "config"}
    return set(ours) if set(ours) == set(theirs) else None


def _is_object(value: FrozenDict) -> bool:
    return "class_name" in value and "config" in value


def _is_same_leaf(wanted: object, found: object) -> bool:
    if isinstance(wanted, str):
        return wanted in _names(found)
    if isinstance(wanted, Constant) and wanted.class_name in ("class", "function") and wanted.summary:
        return wanted.summary in _names(found)
    if _is_number(wanted) and _is_number(found):
        return wanted == found or (wanted != wanted and found != found)  # noqa: PLR0124  # NaN matches NaN
    return type(wanted) is type(found) and wanted == found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


def _names(value: object) -> set[object]:
    """Return the names that match a setting: a string itself, the names of a function, class or object."""
    if isinstance(value, str):
        return _short_names(value)
    if isinstance(value, Constant):
        return _short_names(value.summary) if value.class_name in ("class", "function") else {value.summary}
    if not isinstance(value, FrozenDict) or not _is_object(value):
        return set()
    config: Argument = value["config"]
    if isinstance(config, str):  # a function
        return _short_names(config)
    names: set[object] = {value.get("registered_name")}
    if isinstance(value["class_name"], str):
        names |= {value["class_name"], _WORDS.sub("_", value["class_name"]).lower()}
    if isinstance(config, FrozenDict):
        names.add(config.get("name"))
    return names


def _short_names(name: str | None) -> set[object]:
    """Return the whole name, and the name without its package or module."""
    if name is None:
        return set()
    return {name, name.rpartition(">")[2], name.rpartition(".")[2]}
