"""Finish the twin after the walk: rebuild what is derived from identity, and apply `name=` and `seed=`.

Keras keeps calls under keys made from ids, optimizers know variables by id, and trackers list ids. If these were copied
unchanged, saving would fail, `fit` would fail, and untracking would silently do nothing. All twins must exist before
ids can be translated, so this is a separate step.
"""

from __future__ import annotations

import hashlib
import random
from typing import Any

import keras
import numpy as np

from ramet._copy.copier import Copier
from ramet._keras import calls, names, policies, structure


def finish(copier: Copier) -> None:
    """Rebuild everything that holds identities. Only this step writes to objects that are shared on request."""
    positions = copier.place_calls()
    if copier.has_requests:
        _call_shared_ops(copier, positions)
    copier.write_histories(positions)
    _name_calls(copier, positions)
    _list_losses(copier)
    copier.list_tracked()
    _index_variables(copier)
    for put, value in copier.records["ids"]:
        if value in copier.memo:
            put(id(copier.memo[value]))


def _list_losses(copier: Copier) -> None:
    """Translate the ids of the loss tensors that each op keeps."""
    memo = copier.memo
    for old, new in copier.records["ops"]:
        ids = old.__dict__.get(names.LOSS_IDS)
        if ids:
            set.update(new.__dict__[names.LOSS_IDS], [id(memo[key]) for key in list(ids) if key in memo])


def _call_shared_ops(copier: Copier, positions: dict[int, int]) -> None:
    """Add the twin's calls to ops that are shared on request (`share=`), as Keras would.

    Keras traverses a graph by the calls that ops list. Without them, the twin could be called but not saved
    or cut.
    """
    for old_call, new_call in copier.records["calls"]:
        op = new_call.operation
        if op is old_call.operation and op is not None:
            positions[id(new_call)] = len(calls.inbound(op))
            calls.put(getattr(op, names.INBOUND), [new_call])
        for tensor in new_call.input_tensors:
            found = calls.history(_original(tensor, copier))
            if found is not None and copier.find(found[0]) is found[0]:
                calls.put(getattr(found[0], names.OUTBOUND), [new_call])


def _original(tensor: Any, copier: Copier) -> Any:
    originals = copier.tables["originals"]
    if not originals:
        originals.update((id(new), old) for old, new in copier.records["tensors"])
    return originals.get(id(tensor), tensor)


def _name_calls(copier: Copier, positions: dict[int, int]) -> None:
    """Set the keys under which functional models keep their calls."""
    for old, new in copier.records["ops"]:
        keys = old.__dict__.get(names.NODES)
        if keys is None:
            continue
        new.__dict__[names.NODES] = copier.name_calls(keys, old.operations, positions)
        if names.NNX_OPS in old.__dict__:
            ops = [copier.copy(op) for op in old.__dict__[names.NNX_OPS].values()]
            new.__dict__[names.NNX_OPS] = {id(op): op for op in ops}


def _index_variables(copier: Copier) -> None:
    for old, new in copier.records["optimizers"]:
        indices = old.__dict__.get(names.VARIABLE_INDICES)
        if not indices:
            continue
        variables = list(old.__dict__[names.OPTIMIZED])
        key_of = getattr(new, names.VARIABLE_KEY)
        twin_indices = {key_of(copier.copy(variables[index])): index for index in indices.values()}
        target = new.__dict__[names.VARIABLE_INDICES]
        plain = getattr(target, "__wrapped__", target)
        dict.clear(plain)
        dict.update(plain, twin_indices)
        if plain is not target:  # TensorFlow compares it with this before it writes a checkpoint
            target._self_last_wrapped_dict_snapshot = dict(plain)


def rename(twin: Any, old_name: str, new_name: str, copier: Copier) -> None:
    """Rename the twin, and update the prefix of every path of its layers and variables.

    Names of layers may repeat inside a model, but paths of variables may not: torch registers parameters by path, and
    optimizers and layouts match on it. So a twin that is used in one model together with its original needs new paths.
    """

    def renamed(path: str) -> str:
        first, slash, rest = path.partition("/")
        return f"{new_name}{slash}{rest}" if first == old_name and (slash or not rest) else f"{new_name}/{path}"

    for old, new in copier.records["variables"]:
        new.__dict__[names.PATH] = renamed(old.path)
    for old, new in copier.records["ops"]:
        if old.__dict__.get(names.PATH) is not None:
            new.__dict__[names.PATH] = renamed(old.__dict__[names.PATH])
        parent = old.__dict__.get(names.PARENT_PATH)
        if parent is not None:
            new.__dict__[names.PARENT_PATH] = renamed(parent) if parent else new_name
    # Paths in a file have no such prefix, so maps of dtype policies keep the old paths and get the new ones as well.
    ops = [(old.__dict__.get(names.PATH), new) for old, new in copier.records["ops"]]
    moved = [(path, new.__dict__[names.PATH]) for path, new in ops if path]
    for _, new in ops:
        policies.add_paths(new, moved)
    twin.__dict__["name"] = new_name
    _rekey_torch(copier, renamed)


def _rekey_torch(copier: Copier, renamed: Any) -> None:
    """Rename the keys of torch parameters, which layers hold in a dictionary by path."""
    for _, new in copier.records["ops"]:
        modules = new.__dict__.get("_modules")
        held = modules.get(names.TORCH_PARAMS) if modules else None
        if held is None:
            continue
        parameters = {renamed(key): held[key] for key in held}
        held.clear()
        held.update(parameters)


def reseed(roots: list[Any], seed: int, copier: Copier) -> None:
    """Reseed generators and initializers, each by its path: distinct, and repeatable for the same seed."""
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
    seeded = {id(owners[id(new)][0]) for _, new in copier.records["generators"] if id(new) in owners}
    for topic in ("generators", "initializers"):
        for _, new in copier.records[topic]:
            owner, label = owners.get(id(new), (None, type(new).__name__))
            owner_path = paths.get(id(owner), getattr(owner, "name", "") or "")
            chosen = seed_for(owner_path, label)
            _apply(new, owner, chosen)
            if topic == "generators":
                _seed_parents(owner, chosen, parents, seeded)
    for _, op in copier.records["ops"]:
        # A layer that is not built yet may create its generator later, from its seed.
        if id(op) not in seeded and "seed" in op.__dict__ and not op.__dict__.get("built", True):
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
    """Write the seed to the config of a layer, because a file keeps nothing else."""
    if isinstance(owner.__dict__.get("seed", ""), int | None):
        owner.__dict__["seed"] = seed
    automatic = getattr(owner.__dict__.get(names.AUTO_CONFIG), "config", None)
    if automatic and isinstance(automatic.get("seed", ""), int | None):
        automatic["seed"] = seed


def _owners(copier: Copier) -> dict[int, tuple[Any, str]]:
    """Return the layer and the attribute that hold each generator and initializer of the twin."""
    wanted = {id(new) for topic in ("generators", "initializers") for _, new in copier.records[topic]}
    owners: dict[int, tuple[Any, str]] = {}
    for _, op in copier.records["ops"]:
        for name, value in op.__dict__.items():
            if name == names.SEED_GENERATORS:
                continue
            for label, part in _flat(name, value):
                if id(part) in wanted:
                    owners.setdefault(id(part), (op, label))
    return owners


def _flat(name: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        # A key may be a layer, whose repr a user may have defined.
        return [
            (f"{name}.{structure.name_of(key) if isinstance(key, keras.Operation) else key}", part)
            for key, part in value.items()
        ]
    if isinstance(value, list | tuple):
        return [(f"{name}.{index}", part) for index, part in enumerate(value)]
    return [(name, value)]


def _seed_parents(owner: Any, seed: int, parents: dict[int, Any], seeded: set[int]) -> None:
    """Write the seed to the configs of composite layers, which pass their seed to layers inside them."""
    parent = parents.get(id(owner))
    while parent is not None and id(parent) not in seeded and "seed" in parent.__dict__:
        seeded.add(id(parent))
        _write_config_seed(parent, seed)
        parent = parents.get(id(parent))


def _tree(roots: list[Any]) -> tuple[dict[int, str], dict[int, Any]]:
    """Return the path of every op below the roots (names joined by `/`, repeated names numbered `#2`), and its parent."""
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
