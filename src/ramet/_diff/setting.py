"""What was changed about an op itself: its class and its settings."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._diff.change import Change
from ramet._diff.findings import Findings
from ramet._diff.place import Place
from ramet._diff.value import Difference, differences
from ramet._graph import EMPTY, Argument, FrozenDict, Op

__all__ = ["compare_settings"]

_FIELDS = ("module", "registered_name", "no_config", "trainable", "dtype_policy", "built")
# A model hands these down to what is inside it.
_HANDED_DOWN = ("trainable", "dtype_policy")
# What an input says in its config, it says again in its value.
_SAID_BY_VALUE = frozenset({"batch_shape", "shape", "dtype", "sparse", "ragged", "optional"})


def compare_settings(found: Findings) -> None:
    """Nothing; changed classes and settings are found, and which ops they touch."""
    for one, other in found.objects():
        if found.match.digests.of[one].same == found.match.digests.of[other].same:
            continue
        before, after = one.op, other.op
        replaced = (before.class_name, before.kind) != (after.class_name, after.kind)
        if replaced:
            old, new = _class(before), _class(after)
            found.add(one, Change("replaced", one.path, other.path, "class", old, new))
            found.touched.add(one)
        for what, was, now in _settings(found, one, other):
            if replaced and what in ("module", "registered_name"):
                continue
            # Another class has other settings; a model hands some of its own down.
            flag = what in _HANDED_DOWN
            follows = _handed_down(found, one, what, was, now) if flag else replaced
            found.add(one, Change("setting", one.path, other.path, what, was, now), follows=follows)
            found.touched.add(one)


def _class(op: Op) -> Argument:
    return op.class_name if op.kind != "operation" else f"{op.class_name} operation"


def _settings(found: Findings, one: Place, other: Place) -> Iterator[Difference]:
    before, after = one.op, other.op
    if one.op.id == other.op.id and before.name != after.name:
        yield "name", before.name, after.name
    for field in _FIELDS:
        old, new = getattr(before, field), getattr(after, field)
        if old != new and not (field == "dtype_policy" and _value_changed(one, other)):
            yield field, old, new
    for what, old, new in _config(found, one, other):
        key = what.partition(".")[0].partition("[")[0]
        if not _said_elsewhere(one, other, key):
            yield what, old, new
    yield from differences(before.flags, after.flags)


def _config(found: Findings, one: Place, other: Place) -> Iterator[Difference]:
    """The differences of the configs, without those of ops inside, which tell them themselves."""
    before, after = _by_name(one), _by_name(other)
    digests = found.match.digests.of

    def told(old: Argument, new: Argument) -> bool:
        child, twin = before.get(_told(old)), after.get(_told(new))
        return child is not None and twin is not None and digests[child.first].same != digests[twin.first].same

    old, new = one.op.config, other.op.config
    if old is None or new is None:
        # Why there is none, `no_config` says.
        said = one.op.no_config != other.op.no_config
        return iter(() if said or old is new else [("config", old, new)])
    return differences(old, new, told=told)


def _by_name(place: Place) -> dict[str | None, Place]:
    return {child.op.name: child for child in place.inside}


def _told(value: Argument) -> str:
    """The name of the op whose config this is; "" for anything else."""
    config = value.get("config") if isinstance(value, FrozenDict) and "class_name" in value else None
    name = config.get("name") if isinstance(config, FrozenDict) else None
    return name if isinstance(name, str) else ""


def _said_elsewhere(one: Place, other: Place, key: str) -> bool:
    before, after = one.op, other.op
    old, new = (op.config or EMPTY for op in (before, after))
    if key in ("name", "trainable"):
        # A class that writes its own config may leave them out.
        return all(
            config.get(key, getattr(op, key)) == getattr(op, key) for config, op in ((old, before), (new, after))
        )
    if key == "dtype" and before.dtype_policy != after.dtype_policy:
        return True
    return key in _SAID_BY_VALUE and _value_changed(one, other)


def _value_changed(one: Place, other: Place) -> bool:
    """Whether both are inputs whose values differ, which is told as such."""
    if one.op.kind != "input" or other.op.kind != "input":
        return False
    return bool(one.calls and other.calls) and one.calls[0].outputs != other.calls[0].outputs


def _handed_down(found: Findings, place: Place, field: str, old: Argument, new: Argument) -> bool:
    above = place.parent
    partner = None if above is None else found.match.to.get(above)
    if above is None or partner is None:
        return False
    return (getattr(above.op, field), getattr(partner.op, field)) == (old, new)
