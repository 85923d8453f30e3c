"""`seed=`: every random choice of the twin made anew, from one number and the path of each generator."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import keras
import numpy as np

from ramet._copy.copier import Copier
from ramet._keras import names, structure


def reseed(roots: list[Any], seed: int, copier: Copier) -> None:
    """Reseed generators and initialisers, each by its path: distinct, and the same again for the same seed."""
    paths, parents = _tree(roots)
    taken: set[str] = set()

    def seed_for(owner_path: str, label: str) -> int:
        path, count = f"{owner_path}/{label}", 1
        while path in taken:
            count += 1
            path = f"{owner_path}/{label}#{count}"
        taken.add(path)
        digest = hashlib.blake2b(f"{seed}:{path}".encode(), digest_size=8).digest()
        return 1 + int.from_bytes(digest, "big") % (10**9 - 1)

    owners = _owners(copier)
    told = {id(owners[id(new)][0]) for _, new in copier.record("generators") if id(new) in owners}
    for topic in ("generators", "initializers"):
        for _, new in copier.record(topic):
            owner, label = owners.get(id(new), (None, type(new).__name__))
            owner_path = paths.get(id(owner), getattr(owner, "name", "") or "")
            chosen = seed_for(owner_path, label)
            _apply(new, owner, chosen)
            if topic == "generators":
                _tell_parents(owner, chosen, parents, told)
    for _, op in copier.record("ops"):
        # A layer that is not built yet may make its generator when it is, from the seed it was given.
        if id(op) not in told and "seed" in op.__dict__ and not op.__dict__.get("built", True):
            _write_config_seed(op, seed_for(paths.get(id(op), op.name), "seed"))


def _apply(generator: Any, owner: Any, seed: int) -> None:
    if isinstance(generator, keras.random.SeedGenerator):
        generator.state.assign(np.array([seed, 0]))
        generator.__dict__[names.INITIAL_SEED] = seed
        if owner is not None:
            _write_config_seed(owner, seed)
    elif isinstance(generator, keras.initializers.Initializer):
        if isinstance(generator.__dict__.get("seed"), int):
            generator.__dict__["seed"] = seed
            generator.__dict__[names.INIT_SEED] = seed
    elif isinstance(generator, random.Random):
        generator.seed(seed)
    elif hasattr(generator, "manual_seed"):  # torch
        generator.manual_seed(seed)
    elif hasattr(generator, "reset_from_seed"):  # TensorFlow
        generator.reset_from_seed(seed)
    elif hasattr(generator, "bit_generator"):  # NumPy
        generator.bit_generator.state = type(generator.bit_generator)(seed).state
    else:
        generator.seed(seed)


def _write_config_seed(owner: Any, seed: int) -> None:
    """Files keep only the seed that a layer's config says."""
    if isinstance(owner.__dict__.get("seed", ""), int | None):
        owner.__dict__["seed"] = seed
    automatic = getattr(owner.__dict__.get(names.AUTO_CONFIG), "config", None)
    if automatic and isinstance(automatic.get("seed", ""), int | None):
        automatic["seed"] = seed


def _owners(copier: Copier) -> dict[int, tuple[Any, str]]:
    """The layer and attribute that each generator and initialiser of the twin stands in."""
    wanted = {id(new) for topic in ("generators", "initializers") for _, new in copier.record(topic)}
    owners: dict[int, tuple[Any, str]] = {}
    for _, op in copier.record("ops"):
        for name, value in op.__dict__.items():
            if name == names.SEED_GENERATORS:
                continue
            for label, part in _flat(name, value):
                if id(part) in wanted:
                    owners.setdefault(id(part), (op, label))
    return owners


def _flat(name: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        # The keys may be layers, whose text is of their users' making.
        return [
            (f"{name}.{structure.name_of(key) if isinstance(key, keras.Operation) else key}", part)
            for key, part in value.items()
        ]
    if isinstance(value, list | tuple):
        return [(f"{name}.{index}", part) for index, part in enumerate(value)]
    return [(name, value)]


def _tell_parents(owner: Any, seed: int, parents: dict[int, Any], told: set[int]) -> None:
    """A composite layer hands its seed on to a layer inside it, and its config is all that a file keeps."""
    parent = parents.get(id(owner))
    while parent is not None and id(parent) not in told and "seed" in parent.__dict__:
        told.add(id(parent))
        _write_config_seed(parent, seed)
        parent = parents.get(id(parent))


def _tree(roots: list[Any]) -> tuple[dict[int, str], dict[int, Any]]:
    """The path of every op below the roots (names joined by `/`, repeated names told apart by `#2`), and its parent."""
    paths: dict[int, str] = {}
    parents: dict[int, Any] = {}
    waiting = [(root, root.name if len(roots) > 1 else "") for root in reversed(roots)]
    while waiting:
        op, path = waiting.pop()
        if id(op) in paths:
            continue
        paths[id(op)] = path
        counts: dict[str, int] = {}
        children = []
        for layer in getattr(op, names.LAYERS, None) or ():
            counts[layer.name] = counts.get(layer.name, 0) + 1
            name = layer.name if counts[layer.name] == 1 else f"{layer.name}#{counts[layer.name]}"
            children.append((layer, f"{path}/{name}" if path else name))
            parents.setdefault(id(layer), op)
        waiting.extend(reversed(children))
    return paths, parents
