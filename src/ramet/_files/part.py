"""Every op that a file tells of, each with its path: from the config, and from the weights file for what no config says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ramet._files.known import class_of_group, class_of_part, own_name, snake_case
from ramet._files.record import Record, inner_records
from ramet._files.weight_tree import Saved, WeightTree, group_names
from ramet._graph import OpKind

__all__ = ["UNKNOWN", "Part", "parts_below"]

# The class of a layer that only the weights file knows.
UNKNOWN = "?"

# Where a model keeps the metrics it was compiled with.
_METRICS = "metrics"
# A wrapper that calls a layer in its config otherwise than on itself.
_ATTRIBUTES = {("Bidirectional", "layer"): "forward_layer"}


@dataclass
class Part:
    """One op of a file.

    Attributes:
        record: what the config says; None for an op that only the weights file knows.
        name: what Keras calls it.
        class_name: of its class; `UNKNOWN` where the file does not say.
        kind: input, layer, model or operation.
        group: its group in the weights file; None where it has none.
        id: unique among its siblings.
        path: from below the root.
        called: the ops of its call graph, or those it holds if it has none.
        extras: what a model with a call graph holds besides.
        order: for a row of layers, which of `called` comes when: a layer may stand there twice.
        same_as: the path where this very object stands first.
        is_state: whether its variables are state that counts as no parameter: those of metrics and optimizers.
    """

    record: Record | None
    name: str
    class_name: str
    kind: OpKind
    group: str | None
    id: str = ""
    path: str = ""
    called: list[Part] = field(default_factory=list)
    extras: list[Part] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    same_as: str | None = None
    is_state: bool = False


def parts_below(root: Record | None, tree: WeightTree) -> list[Part]:
    """All ops in the order of a reader, the model itself first. What is inside an op always comes after it."""
    top = _part_of(root, "") if root else Part(None, "weights", UNKNOWN, "model", "")
    top.name = top.name or snake_case(top.class_name)
    top.kind = "model"
    first: dict[int, str] = {}
    found: list[Part] = []
    waiting = [top]
    while waiting:
        part = waiting.pop()
        found.append(part)
        number = part.record.shared if part.record else None
        if number is not None and number in first:
            part.same_as = first[number]
            continue
        if number is not None:
            first[number] = part.path
        _fill(part, tree)
        children = part.called + part.extras
        for child, own_id in zip(children, _unique_ids(child.name for child in children), strict=True):
            child.id = own_id
            child.path = f"{part.path}/{own_id}" if part.path else own_id
        waiting.extend(reversed(children))
    return found


def _fill(part: Part, tree: WeightTree) -> None:
    record = part.record
    listed = tree.layers_group(part.group) if part.group is not None else None
    if record is not None and (record.is_functional or record.is_sequential):
        records = list(record.layers()) if record.setting("layers") is not None else []
        children = _listed(records, listed, tree)
        if record.is_functional:
            part.called = children
        else:
            part.called, part.order = _row(children)
        skip = ["optimizer", *([listed.rpartition("/")[2]] if listed else [])]
        part.extras = [_saved_part(saved, part, tree) for saved in _saved(part, tree, skip)]
        return
    skip = ["optimizer"] if part.kind == "model" else []
    part.called = (
        _told(record, part, tree, skip) if record else [_saved_part(s, part, tree) for s in _saved(part, tree, skip)]
    )


def _saved(part: Part, tree: WeightTree, skip: Iterable[str]) -> list[Saved]:
    return [] if part.group is None else list(tree.saved_in(part.group, skip))


def _listed(records: list[Record], listed: str | None, tree: WeightTree) -> list[Part]:
    """The layers that a config lists, with their groups in the list of layers that was saved."""
    saved = [record for record in records if record.kind != "operation"]
    names = dict(zip(map(id, saved), group_names(record.class_name for record in saved), strict=True))
    children = []
    for record in records:
        group = f"{listed}/{names[id(record)]}" if listed and id(record) in names else None
        children.append(_part_of(record, group if group and tree.has(group) else None))
    return children


def _row(children: list[Part]) -> tuple[list[Part], list[int]]:
    """A row of layers without repetitions, and the order in which they are called."""
    places: dict[tuple[str, int], int] = {}
    once: list[Part] = []
    order = []
    for child in children:
        number = child.record.shared if child.record else None
        key = ("place", id(child)) if number is None else ("number", number)
        if key not in places:
            places[key] = len(once)
            once.append(child)
        order.append(places[key])
    return once, order


def _told(record: Record, part: Part, tree: WeightTree, skip: Iterable[str]) -> list[Part]:
    """The layers inside a layer: those its config tells of, then those that only the weights file knows."""
    free = _Free(_saved(part, tree, skip), tree)
    children = []
    for key, inner in inner_records(record):
        saved = free.take(_ATTRIBUTES.get((record.class_name, key), key), inner)
        children.append(_part_of(inner, saved.group if saved else None))
    return children + [_saved_part(saved, part, tree) for saved in free.left]


class _Free:
    """Saved objects that no layer of a config has been found for yet."""

    def __init__(self, saved: list[Saved], tree: WeightTree) -> None:
        self.left = dict.fromkeys(saved)
        self._by_attribute: dict[str, list[Saved]] = {}
        self._by_name: dict[str | None, list[Saved]] = {}
        # Taken from the end: the first comes last.
        for item in reversed(saved):
            self._by_attribute.setdefault(_attribute(item), []).append(item)
            self._by_name.setdefault(tree.name(item.group), []).append(item)

    def take(self, attribute: str, inner: Record) -> Saved | None:
        """The saved object that a layer in a config is: by its attribute and class, or else by its name."""
        base = attribute.lstrip("_")
        class_key = f"{base} {own_name(inner.class_name)}"
        lists = [self._by_attribute.get(class_key), self._by_attribute.get(base), self._by_name.get(inner.name or "")]
        for found in lists:
            while found:
                item = found.pop()
                if item in self.left:
                    del self.left[item]
                    return item
        return None


def _attribute(saved: Saved) -> str:
    """What holds a saved object; with its class, for an item of a list."""
    base = saved.attribute.lstrip("_")
    return base if saved.item is None else f"{base} {class_of_group(saved.item)}"


def _saved_part(saved: Saved, owner: Part, tree: WeightTree) -> Part:
    """An op that only the weights file knows."""
    class_name = class_of_group(saved.item) if saved.item else class_of_part(owner.class_name, saved.attribute)
    kind: OpKind = "layer"
    listed = tree.layers_group(saved.group)
    if listed is not None:
        kind = "model"
        class_name = class_name or ("Functional" if tree.has(f"{listed}/input_layer") else "Sequential")
    elif class_name == "InputLayer":
        kind = "input"
    name = tree.name(saved.group) or saved.item or (snake_case(class_name) if class_name else saved.attribute)
    # Keras 2.13 and later save the metrics that a model was compiled with.
    is_state = owner.is_state or (owner.kind == "model" and saved.attribute == _METRICS)
    if _is_optimizer(saved.group, tree):
        is_state, class_name = True, class_name or "Optimizer"
    return Part(None, name, class_name or UNKNOWN, kind, saved.group, is_state=is_state)


def _is_optimizer(group: str, tree: WeightTree) -> bool:
    """Whether a group holds an optimizer, which a model of one's own may keep under any attribute.

    Each begins with two scalars: the steps taken, and the learning rate or the scale of the loss. No layer does.
    """
    first = [spec for _, _, spec in tree.arrays(group)[:2]]
    return (
        len(first) == 2
        and not any(spec.shape for spec in first)
        and first[0].dtype in ("int32", "int64")
        and first[1].dtype.startswith("float")
    )


def _part_of(record: Record, group: str | None) -> Part:
    name = record.name or snake_case(record.class_name)
    return Part(record, name, own_name(record.class_name), record.kind, group)


def _unique_ids(names: Iterable[str]) -> list[str]:
    """The names as parts of paths, with `#2` after the second of the same name."""
    taken: dict[str, int] = {}
    ids = []
    for name in names:
        base = name.replace("/", "_") or "unnamed"
        candidate = base
        while candidate in taken:
            taken[base] += 1
            candidate = f"{base}#{taken[base]}"
        taken.setdefault(candidate, 1)
        ids.append(candidate)
    return ids
