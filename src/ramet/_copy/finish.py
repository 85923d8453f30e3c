"""After the walk: what is derived from identity is made again for the twin.

Keras keeps calls under keys made from ids, optimizers know variables by id, trackers list ids. Copied as they are, saving
fails, `fit` fails, and untracking silently does nothing.
"""

from __future__ import annotations

from typing import Any

from ramet._copy.copier import Copier
from ramet._keras import calls, names


def finish(copier: Copier) -> None:
    """Rebuild everything that holds identities. Only here are objects touched that were shared by wish."""
    positions = copier.place_calls()
    if copier.has_wishes:
        _call_shared_ops(copier, positions)
    copier.write_histories(positions)
    _name_calls(copier, positions)
    _list_losses(copier)
    copier.list_tracked()
    _index_variables(copier)
    for put, value in copier.record("ids"):
        if value in copier.memo:
            put(id(copier.memo[value]))


def _list_losses(copier: Copier) -> None:
    """The ids of the loss tensors that each op knows."""
    memo = copier.memo
    for old, new in copier.record("ops"):
        ids = old.__dict__.get(names.LOSS_IDS)
        if ids:
            set.update(new.__dict__[names.LOSS_IDS], [id(memo[key]) for key in list(ids) if key in memo])


def _call_shared_ops(copier: Copier, positions: dict[int, int]) -> None:
    """An op shared by wish (`share=`) is called in both graphs: it is told of the twin's calls, as Keras would."""
    for old_call, new_call in copier.record("calls"):
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
        originals.update((id(new), old) for old, new in copier.record("tensors"))
    return originals.get(id(tensor), tensor)


def _name_calls(copier: Copier, positions: dict[int, int]) -> None:
    """The keys under which functional models know their calls."""
    for old, new in copier.record("ops"):
        keys = old.__dict__.get(names.NODES)
        if keys is None:
            continue
        new.__dict__[names.NODES] = copier.name_calls(keys, old.operations, positions)
        if names.NNX_OPS in old.__dict__:
            ops = [copier.copy(op) for op in old.__dict__[names.NNX_OPS].values()]
            new.__dict__[names.NNX_OPS] = {id(op): op for op in ops}


def _index_variables(copier: Copier) -> None:
    for old, new in copier.record("optimizers"):
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
        if plain is not target:  # TensorFlow compares with this before it writes a checkpoint
            target._self_last_wrapped_dict_snapshot = dict(plain)
