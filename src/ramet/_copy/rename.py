"""`name=`: a twin that can live beside its original inside one model.

Names of layers may repeat there, paths of variables may not: torch registers parameters by path, optimizers and layouts
match on it. So every path of the twin begins with the new name.
"""

from __future__ import annotations

from typing import Any

from ramet._copy.copier import Copier
from ramet._keras import names, policies


def rename(twin: Any, old_name: str, new_name: str, copier: Copier) -> None:
    """Give the twin its name, and every path of its layers and variables that prefix."""

    def renamed(path: str) -> str:
        first, slash, rest = path.partition("/")
        return f"{new_name}{slash}{rest}" if first == old_name and (slash or not rest) else f"{new_name}/{path}"

    paths = {}
    for old, new in copier.record("variables"):
        paths[new.path] = new.__dict__[names.PATH] = renamed(old.path)
    for old, new in copier.record("ops"):
        if old.__dict__.get(names.PATH) is not None:
            new.__dict__[names.PATH] = renamed(old.__dict__[names.PATH])
        parent = old.__dict__.get(names.PARENT_PATH)
        if parent is not None:
            new.__dict__[names.PARENT_PATH] = renamed(parent) if parent else new_name
    # A file has no such prefix, so the old paths stay in maps of dtype policies beside the new ones.
    ops = [(old.__dict__.get(names.PATH), new) for old, new in copier.record("ops")]
    moved = [(path, new.__dict__[names.PATH]) for path, new in ops if path]
    for _, new in ops:
        policies.also_at(new, moved)
    twin.__dict__["name"] = new_name
    _rekey_torch(copier, renamed)


def _rekey_torch(copier: Copier, renamed: Any) -> None:
    """torch: layers hold their parameters in a dictionary by path."""
    for _, new in copier.record("ops"):
        modules = new.__dict__.get("_modules")
        held = modules.get(names.TORCH_PARAMS) if modules else None
        if held is None:
            continue
        parameters = {renamed(key): held[key] for key in held}
        held.clear()
        held.update(parameters)
