"""Changes and values in words.

Pieces that come from a model (names, values) are `Code`, so that every writer can show them safely.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from ramet._diff.change import ABSENT, Change
from ramet._diff.values import class_of
from ramet._graph import Argument, FrozenDict, FrozenList, Ref, map_leaves, render
from ramet._report import Code, count, escape, more, split_off

# Pieces of a sentence.
Words = list[str]

_LONGEST_VALUE = 100


def code(value: str) -> Code:
    """Return a name or a path as a piece of a sentence."""
    return Code(escape(value))


def label(change: Change) -> str:
    """Return the path of the changed thing: the new one, or the old one if the change is about the path itself."""
    changes_path = change.kind in ("renamed", "replaced") or (change.kind == "moved" and change.what == "nesting")
    path = change.before if changes_path else change.path
    return code(path) if path else "the model"


def words(change: Change) -> Words:
    """Return the description of a change, without its path."""
    return _WORDS.get(change.kind, _setting)(change)


def name_list(names: list[str], limit: int) -> Words:
    """Return the first names with commas between them, and the number of the others."""
    first, rest = split_off(names, limit)
    found: Words = []
    for name in first:
        found += [", ", code(name)] if found else [code(name)]
    return [*found, f" {more(rest)}"] if rest else found


def _value(value: Argument) -> str:
    return "not set" if value == ABSENT else Code(describe_value(value))


def _from_to(change: Change) -> Words:
    old, new = _value(change.old), _value(change.new)
    # Long values are cut, and may differ only beyond the cut.
    return [old, " -> ", new, *([" (they differ beyond the part shown)"] if old == new else [])]


def _setting(change: Change) -> Words:
    return [code(change.what), ": ", *_from_to(change)] if change.what else _from_to(change)


def _facts(value: Argument) -> FrozenDict:
    return value if isinstance(value, FrozenDict) else FrozenDict()


# Added and removed.


def _added_or_removed(change: Change) -> Words:
    facts = _facts(change.new if change.kind == "added" else change.old)
    found: Words = [code(change.what)]
    if isinstance(inside := facts.get("inside"), int):
        found += [f" with {inside:,} inside"]
    if isinstance(same := facts.get("same_as"), str):
        found += [", the same as ", code(same)]
    inputs, consumers = _refs(facts.get("takes")), _refs(facts.get("feeds"))
    if inputs and consumers:
        found += [", between ", *inputs, " and ", *consumers]
    elif inputs:
        found += [", after ", *inputs]
    elif consumers:
        found += [", before ", *consumers]
    elif isinstance(before := facts.get("after"), str):
        found += [", after ", code(before)]
    elif "after" in facts:
        found += [", at the beginning"]
    return found + ([", an output"] if facts.get("output") else [])


def _refs(value: Argument) -> Words:
    return name_list([str(ref) for ref in value], len(value)) if isinstance(value, tuple) else []


# The other kinds.


def _renamed(change: Change) -> Words:
    return ["-> ", code(str(change.new))]


def _moved(change: Change) -> Words:
    if change.what == "nesting":
        return ["-> ", code(change.after or "")]
    old, new = change.old, change.new
    if isinstance(old, tuple) and isinstance(new, tuple):
        return ["takes ", *(_refs(new) or ["nothing"]), " (was ", *(_refs(old) or ["nothing"]), ")"]
    return ["now ", *_after(new), " (was ", *_after(old), ")"]


def _after(value: Argument) -> Words:
    before = value[0] if isinstance(value, FrozenList) and len(value) else None
    return ["after ", code(before)] if isinstance(before, str) else ["at the beginning"]


def _replaced(change: Change) -> Words:
    found: Words = [code(str(change.old)), " -> ", code(str(change.new))]
    if (change.before or "").rpartition("/")[2] != (change.after or "").rpartition("/")[2]:
        found += [", now ", code(change.after or "")]
    return found


def _call(change: Change) -> Words:
    if change.what == "number of calls":
        old, new = _times(change.old), _times(change.new)
        return [f"called {new} (was {old})" if change.new != 0 else f"no longer called (was called {old})"]
    if isinstance(change.old, Ref) and isinstance(change.new, Ref):
        return ["takes ", code(str(change.new)), " instead of ", code(str(change.old)), " (", code(change.what), ")"]
    return _setting(change)


def _times(number: Argument) -> str:
    if not isinstance(number, int):
        return "several times"
    return ("never", "once", "twice")[number] if 0 <= number < 3 else f"{number:,} times"


def _variable(change: Change) -> Words:
    if change.before is None or change.after is None:
        is_new = change.before is None
        facts = _facts(change.new if is_new else change.old)
        word = "variable added, " if is_new else "variable removed, "
        return [word, _value(facts.get("shape")), " ", code(str(facts.get("dtype")))]
    return _setting(change)


def _sharing(change: Change) -> Words:
    thing = "variable" if change.what == "tied" else "object"
    found: Words = []
    if change.old != ABSENT:
        found += [f"no longer the same {thing} as ", code(str(change.old))]
    if change.new != ABSENT:
        found += [", but " if found else "", f"now the same {thing} as ", code(str(change.new))]
    return found


def _order(change: Change) -> Words:
    names = [str(name) for name in change.new] if isinstance(change.new, tuple) else []
    return [f"{len(names):,} {change.what} in a different order, with the same connections: ", *name_list(names, 3)]


def _weights(change: Change) -> Words:
    if not len(change.measure):
        return _from_to(change) if change.what in ("shape", "presence") else _setting(change)
    from ramet._diff.distance import describe_distance

    return [describe_distance([change])]


def _file(change: Change) -> Words:
    if change.what == "content":
        return _content(change)
    if change.what == "group":
        return ["group added" if change.before is None else "group removed"]
    return _weights(change)


def _content(change: Change) -> Words:
    """Describe a file inside an archive or a folder: its size, and the first line that differs in a text."""
    old, new = _facts(change.old).get("size"), _facts(change.new).get("size")
    if not isinstance(old, int):
        return [f"file added, {count(new, 'byte')}" if isinstance(new, int) else "file added"]
    if not isinstance(new, int):
        return [f"file removed, {count(old, 'byte')}"]
    first = change.measure.get("first")
    line = f"; the first changed line is line {first:,}" if isinstance(first, int) else ""
    sizes = f"{old:,} -> {count(new, 'byte')}" if old != new else f"other content, {count(new, 'byte')}"
    return [f"{sizes}{line}"]


_WORDS: dict[str, Callable[[Change], Words]] = {
    "added": _added_or_removed,
    "removed": _added_or_removed,
    "renamed": _renamed,
    "moved": _moved,
    "replaced": _replaced,
    "call": _call,
    "variable": _variable,
    "sharing": _sharing,
    "order": _order,
    "weights": _weights,
    "optimizer": _weights,
    "metric": _weights,
    "state": _weights,
    "file": _file,
}


# Values.


def describe_value(value: Argument, *, briefly: bool = False) -> str:
    """Return a value as text of about a hundred characters at most.

    Args:
        value: A value, such as the config of an optimizer: `Adam(learning_rate=0.001)`.
        briefly: Whether the settings of an object are left out: `Adam(...)`.
    """
    if not isinstance(value, FrozenDict) or not isinstance(name := class_of(value), str):
        return render(map_leaves(value, _with_given_digits), lambda ref: escape(str(ref)), limit=_LONGEST_VALUE)
    if briefly:
        return f"{escape(name)}(...)"
    config = value.get("config")
    if isinstance(config, FrozenDict):
        # Settings that are off are left out; the JSON has them.
        inner = ", ".join(
            f"{escape(str(key))}={describe_value(part, briefly=True)}"
            for key, part in config.pairs[:_LONGEST_VALUE]
            if key != "name" and part is not None and part is not False
        )
    else:
        inner = describe_value(config, briefly=True)
    text = f"{escape(name)}({inner})"
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def _with_given_digits(leaf: Argument) -> Argument:
    """Return a number that was stored in single precision with the digits it was given: 0.001, not 0.0010000000474974513."""
    if type(leaf) is not float or _single(leaf) != leaf:
        return leaf
    return next((short for digits in (6, 7, 8) if _single(short := float(f"{leaf:.{digits}g}")) == leaf), leaf)


def _single(number: float) -> float | None:
    try:
        found: float = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return None
    return found
