"""Settings compared with what a config says, whichever way it is written down."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ramet._graph import Argument, Constant, FrozenDict, FrozenList, Key, freeze, freeze_dict

__all__ = ["freeze_settings", "has_settings"]

_ABSENT = object()
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def freeze_settings(settings: Mapping[str, object]) -> FrozenDict:
    """Settings as a user passes them, as frozen data."""
    return freeze_dict({key: freeze(value, _describe) for key, value in settings.items()})


def _describe(item: object) -> object:
    """What stands for an object: its class and config, its numbers, or its name."""
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
    """Whether a config says all that is wanted. An op without a config says nothing."""
    if config is None:
        return False
    for key, value in wanted.pairs:
        found = _look_up(config, str(key))
        if found is _ABSENT or not _same(value, found):
            return False
    return True


def _look_up(config: FrozenDict, key: str) -> object:
    """What stands under a key; dots reach inside, through the config of a layer or an object, too."""
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


def _same(wanted: object, found: object) -> bool:
    waiting = [(wanted, found)]
    while waiting:
        ours, theirs = waiting.pop()
        if isinstance(ours, FrozenDict) and isinstance(theirs, FrozenDict):
            keys = _keys(ours, theirs)
            if keys is None:
                return False
            waiting.extend((ours[key], theirs[key]) for key in keys)
        elif isinstance(ours, FrozenList | tuple) and isinstance(theirs, FrozenList | tuple):
            if len(ours) != len(theirs):
                return False
            waiting.extend(zip(ours, theirs, strict=True))
        elif not _same_leaf(ours, theirs):
            return False
    return True


def _keys(ours: FrozenDict, theirs: FrozenDict) -> set[Key] | None:
    """The keys whose values must be the same; None when the dicts cannot be."""
    if _is_object(ours) and _is_object(theirs):
        # Of an object, class and config decide; the rest tells where it was registered and how it was built.
        return {"class_name", "config"}
    return set(ours) if set(ours) == set(theirs) else None


def _is_object(value: FrozenDict) -> bool:
    return "class_name" in value and "config" in value


def _same_leaf(wanted: object, found: object) -> bool:
    if isinstance(wanted, str):
        return wanted in _names(found)
    if isinstance(wanted, Constant) and wanted.class_name in ("class", "function") and wanted.summary:
        return wanted.summary in _names(found)
    if _is_number(wanted) and _is_number(found):
        return wanted == found or (wanted != wanted and found != found)  # noqa: PLR0124  # NaN is meant by NaN
    return type(wanted) is type(found) and wanted == found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


def _names(value: object) -> set[object]:
    """What a setting may be called: a string by itself, a function, class or object by its name."""
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, Constant):
        return _short(value.summary) if value.class_name in ("class", "function") else {value.summary}
    if not isinstance(value, FrozenDict) or not _is_object(value):
        return set()
    config: Argument = value["config"]
    if isinstance(config, str):  # a function
        return _short(config)
    names: set[object] = {value.get("registered_name")}
    if isinstance(value["class_name"], str):
        names |= {value["class_name"], _WORDS.sub("_", value["class_name"]).lower()}
    if isinstance(config, FrozenDict):
        names.add(config.get("name"))
    return names


def _short(name: str | None) -> set[object]:
    """The whole name, and the name without the package it is registered in or the module it comes from."""
    if name is None:
        return set()
    return {name, name.rpartition(">")[2], name.rpartition(".")[2]}
