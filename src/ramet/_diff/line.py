"""One change in words. What comes from a model (names, values) is marked, so that every page can show it safely."""

from __future__ import annotations

from collections.abc import Callable

from ramet._diff.change import ABSENT, Change
from ramet._diff.value_text import show
from ramet._graph import Argument, FrozenDict, FrozenList, Ref, escape

__all__ = ["Code", "Words", "code", "label", "tell", "words"]


class Code(str):
    """A piece of a sentence that comes from a model."""

    __slots__ = ()


Words = list[str]


def code(value: str) -> Code:
    """A name or a path as a piece of a sentence."""
    return Code(escape(value))


def label(change: Change) -> str:
    """What the change is about: where it stands; for what stands elsewhere now, where it stood."""
    path = change.before if _leads_on(change) else change.path
    return code(path) if path else "the model"


def _leads_on(change: Change) -> bool:
    return change.kind in ("renamed", "replaced") or (change.kind == "moved" and change.what == "nesting")


def tell(change: Change) -> str:
    """The change as a line of plain text."""
    return f"{label(change)}: {''.join(words(change))}"


def words(change: Change) -> Words:
    """What there is to say of a change, besides where it is."""
    return _WORDS.get(change.kind, _setting)(change)


def _value(value: Argument) -> str:
    if value == ABSENT:
        return "not set"
    return Code(show(value))


def _from_to(change: Change) -> Words:
    old, new = _value(change.old), _value(change.new)
    # Long values are cut short, and may differ where they are cut.
    return [old, " -> ", new, *([" (they differ further on)"] if old == new else [])]


def _setting(change: Change) -> Words:
    return [code(change.what), ": ", *_from_to(change)] if change.what else _from_to(change)


# Added and removed.


def _lone(change: Change) -> Words:
    told = change.new if change.kind == "added" else change.old
    facts = told if isinstance(told, FrozenDict) else FrozenDict()
    return [code(change.what), *_inside(facts), *_place(facts)]


def _inside(facts: FrozenDict) -> Words:
    count = facts.get("inside")
    return [f" with {count:,} inside"] if isinstance(count, int) else []


def _place(facts: FrozenDict) -> Words:
    found: Words = []
    if isinstance(same := facts.get("same_as"), str):
        found += [", the same as ", code(same)]
    takes, feeds = _refs(facts.get("takes")), _refs(facts.get("feeds"))
    if takes and feeds:
        found += [", between ", *takes, " and ", *feeds]
    elif takes:
        found += [", after ", *takes]
    elif feeds:
        found += [", before ", *feeds]
    elif isinstance(before := facts.get("after"), str):
        found += [", after ", code(before)]
    elif "after" in facts:
        found += [", at the beginning"]
    return found + ([", an output"] if facts.get("output") else [])


def _refs(value: Argument) -> Words:
    found: Words = []
    for ref in value if isinstance(value, tuple) else ():
        found += [", ", code(str(ref))] if found else [code(str(ref))]
    return found


# The rest.


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
        return [f"called {_times(change.new)} (was {_times(change.old)})"]
    if isinstance(change.old, Ref) and isinstance(change.new, Ref):
        return ["takes ", code(str(change.new)), " instead of ", code(str(change.old)), " (", code(change.what), ")"]
    return _setting(change)


def _times(count: Argument) -> str:
    if not isinstance(count, int):
        return "some times"
    return ("never", "once", "twice")[count] if 0 <= count < 3 else f"{count:,} times"


def _variable(change: Change) -> Words:
    if change.before is None or change.after is None:
        told = change.new if change.before is None else change.old
        facts = told if isinstance(told, FrozenDict) else FrozenDict()
        word = "new variable" if change.before is None else "variable is gone"
        return [f"{word}, ", _value(facts.get("shape")), " ", code(str(facts.get("dtype")))]
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
    count = len(change.new) if isinstance(change.new, tuple) else 0
    shown = [code(str(name)) for name in change.new[:3]] if isinstance(change.new, tuple) else []
    listed: Words = []
    for name in shown:
        listed += [", ", name] if listed else [name]
    more = f" and {count - 3:,} more" if count > 3 else ""
    return [f"{count:,} {change.what} stand elsewhere in the order, with the same connections: ", *listed, more]


def _weights(change: Change) -> Words:
    if not len(change.measure):
        return _from_to(change) if change.what in ("shape", "presence") else _setting(change)
    from ramet._diff.far import how_far

    return [how_far([change])]


def _file(change: Change) -> Words:
    if change.what == "content":
        return _content(change)
    if change.what == "group":
        return ["a new group" if change.before is None else "the group is gone"]
    return _weights(change)


def _content(change: Change) -> Words:
    """A file inside an archive or a folder: its size, and for a text where it begins to differ."""
    old, new = (side.get("size") if isinstance(side, FrozenDict) else None for side in (change.old, change.new))
    if not isinstance(old, int):
        return [f"a new file of {new:,} bytes" if isinstance(new, int) else "a new file"]
    if not isinstance(new, int):
        return [f"the file is gone; it had {old:,} bytes"]
    first = change.measure.get("first")
    line = f"; the first changed line is line {first:,}" if isinstance(first, int) else ""
    sizes = f"{old:,} bytes -> {new:,} bytes" if old != new else f"other content of {new:,} bytes"
    return [f"{sizes}{line}"]


_WORDS: dict[str, Callable[[Change], Words]] = {
    "added": _lone,
    "removed": _lone,
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
