"""Drafts of the ops in a file, each with its path: from the config, and from the weights file for what no config contains.

Keras saves weights by walking the attributes of a model: the group of a layer is named after the attribute that holds it
or, in a list or a dict, after its class with a number. The variables of a layer are in the group `vars` inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ramet._files.keras_layers import class_of_group, class_of_inner_layer
from ramet._files.listing import ArraySpec, Listing
from ramet._files.scanner.names import own_name, snake_case
from ramet._files.serialized import SerializedLayer, inner_layers
from ramet._graph import OpKind

# The class of a layer that is only in the weights file.
UNKNOWN = "?"

_VARIABLES = "vars"
# The name that Keras 2.13 gave the list of a model's layers.
_OLD_LAYERS = "_layer_checkpoint_dependencies"
# The attribute with the metrics that a model was compiled with.
_METRICS = "metrics"
# Wrappers that hold a layer of their config in another attribute.
_ATTRIBUTES = {("Bidirectional", "layer"): "forward_layer"}


@dataclass(frozen=True, slots=True)
class SavedObject:
    """One object that was saved inside another.

    Attributes:
        attribute: The attribute that holds it; for an item of a list, the attribute that holds the list.
        group: Its path in the file.
        item: For an item of a list or dict, the name of its group, which contains the class; else None.
    """

    attribute: str
    group: str
    item: str | None = None


class WeightTree:
    """The groups of a weights file as a tree of saved objects."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        # Some files were written with backslashes: their groups are on one level, with long names.
        self._real = {_with_slashes(path): path for path in (*listing.arrays, *listing.groups)}
        self._inside: dict[str, dict[str, None]] = {}
        for path in self._real:
            while path:
                parent, _, name = path.rpartition("/")
                names = self._inside.setdefault(parent, {})
                if name in names:
                    break
                names[name] = None
                path = parent

    def has(self, group: str) -> bool:
        """Return whether there is such a group."""
        return group in self._inside or group in self._real

    def layers_group(self, group: str) -> str | None:
        """Return the group with the layers of a functional or Sequential model; None for any other object."""
        for name in ("layers", _OLD_LAYERS):
            path = _join(group, name)
            if path in self._inside and _VARIABLES not in self._inside[path]:
                return path
        return None

    def name(self, group: str) -> str | None:
        """Return the Keras name of an object, or None if the file does not contain it."""
        path = _join(group, _VARIABLES)
        return self._listing.group(self._real.get(path, path)).name

    def arrays(self, group: str) -> list[tuple[str, str, ArraySpec]]:
        """Return an object's own variables as key, path in the file and spec; numbered ones in order."""
        path = _join(group, _VARIABLES)
        found = []
        for key in sorted(self._inside.get(path, ()), key=_by_number):
            real = self._real.get(_join(path, key), "")
            if real in self._listing.arrays:
                found.append((key, real, self._listing.arrays[real]))
        return found

    def saved_in(self, group: str, skip: Iterable[str] = ()) -> Iterator[SavedObject]:
        """Yield the objects saved inside an object: in its attributes, and in lists in its attributes."""
        left_out = {_VARIABLES, *skip}
        for attribute in self._inside.get(group, ()):
            if attribute in left_out:
                continue
            waiting: list[tuple[str, str | None]] = [(_join(group, attribute), None)]
            while waiting:
                path, item = waiting.pop()
                inside = self._inside.get(path, {})
                if _VARIABLES in inside:
                    yield SavedObject(attribute, path, item)
                else:
                    waiting += [(_join(path, name), name) for name in reversed(inside)]


def _join(group: str, name: str) -> str:
    return f"{group}/{name}" if group else name


def _with_slashes(path: str) -> str:
    """Return the path with forward slashes; unchanged if a name would become empty, which means the group around it."""
    slashed = path.replace("\\", "/")
    return slashed if all(slashed.split("/")) else path


def _by_number(key: str) -> tuple[int, int, str]:
    return (0, int(key), "") if key.isascii() and key.isdigit() and len(key) < 10 else (1, 0, key)


@dataclass
class DraftOp:
    """One op of a file, before it is frozen into a graph.

    Attributes:
        layer: The layer in the config; None for an op that is only in the weights file.
        name: Its Keras name.
        class_name: The name of its class; `UNKNOWN` if the file does not contain it.
        kind: Input, layer, model or operation.
        group: Its group in the weights file, or None.
        id: Unique among its siblings.
        path: From below the root.
        called: The ops of its call graph, or those inside it if it has none.
        extras: What a model with a call graph contains besides.
        sequence: For a Sequential model, its ops in the order of the calls: a layer may be called twice.
        same_as: The path of the first occurrence of this very object, or None.
        is_state: Whether its variables are not parameters: those of metrics and optimizers.
    """

    layer: SerializedLayer | None
    name: str
    class_name: str
    kind: OpKind
    group: str | None
    id: str = ""
    path: str = ""
    called: list[DraftOp] = field(default_factory=list)
    extras: list[DraftOp] = field(default_factory=list)
    sequence: list[DraftOp] = field(default_factory=list)
    same_as: str | None = None
    is_state: bool = False


def draft_ops(root: SerializedLayer | None, tree: WeightTree) -> list[DraftOp]:
    """Return drafts of all ops, the model itself first, and each op before those inside it.

    Args:
        root: The model in the config; None for weights without a config.
        tree: The weights file.
    """
    top = _listed_draft(root, "") if root else DraftOp(None, "weights", UNKNOWN, "model", "")
    top.kind = "model"
    first: dict[int, str] = {}
    found: list[DraftOp] = []
    waiting = [top]
    while waiting:
        draft = waiting.pop()
        found.append(draft)
        number = draft.layer.shared_id if draft.layer else None
        if number is not None and number in first:
            draft.same_as = first[number]
            continue
        if number is not None:
            first[number] = draft.path
        _fill(draft, tree)
        children = draft.called + draft.extras
        for child, own_id in zip(children, _unique_ids(child.name for child in children), strict=True):
            child.id = own_id
            child.path = f"{draft.path}/{own_id}" if draft.path else own_id
        waiting.extend(reversed(children))
    return found


def _fill(draft: DraftOp, tree: WeightTree) -> None:
    """Add the ops inside an op."""
    layer = draft.layer
    layers_group = tree.layers_group(draft.group) if draft.group is not None else None
    if layer is not None and (layer.is_functional or layer.is_sequential):
        layers = list(layer.layers()) if layer.config.get("layers") is not None else []
        draft.called = _listed_drafts(layers, layers_group, tree)
        if not layer.is_functional:
            shared: dict[int, DraftOp] = {}
            for child in draft.called:
                number = child.layer.shared_id if child.layer else None
                draft.sequence.append(child if number is None else shared.setdefault(number, child))
            draft.called = list({id(child): child for child in draft.sequence}.values())
        skip = ["optimizer", *([layers_group.rpartition("/")[2]] if layers_group else [])]
        draft.extras = [_saved_draft(saved, draft, tree) for saved in _saved(draft, tree, skip)]
        return
    saved = _saved(draft, tree, ["optimizer"] if draft.kind == "model" else [])
    if layer is None:
        draft.called = [_saved_draft(one, draft, tree) for one in saved]
        return
    # First the layers in the config of a layer, then those that are only in the weights file.
    unmatched = _UnmatchedObjects(saved, tree)
    for key, inner in inner_layers(layer):
        match = unmatched.take(_ATTRIBUTES.get((layer.class_name, key), key), inner)
        draft.called.append(_listed_draft(inner, match.group if match else None))
    draft.called += [_saved_draft(one, draft, tree) for one in unmatched.left]


def _saved(draft: DraftOp, tree: WeightTree, skip: Iterable[str]) -> list[SavedObject]:
    return [] if draft.group is None else list(tree.saved_in(draft.group, skip))


def _listed_drafts(layers: list[SerializedLayer], layers_group: str | None, tree: WeightTree) -> list[DraftOp]:
    """Return drafts of the layers that a config lists, with their groups among the saved layers: `dense`, `dense_1`, ..."""
    counts: Counter[str] = Counter()
    drafts = []
    for layer in layers:
        group = None
        if layer.kind != "operation":
            base = snake_case(layer.class_name)
            name = f"{base}_{counts[base]}" if counts[base] else base
            group = f"{layers_group}/{name}" if layers_group else None
            if layers_group and layers_group.endswith(_OLD_LAYERS) and not tree.has(f"{layers_group}/{base}_1"):
                counts[base] += 1  # Keras 2.13 lists layers with weights twice
            counts[base] += 1
        drafts.append(_listed_draft(layer, group if group and tree.has(group) else None))
    return drafts


class _UnmatchedObjects:
    """Saved objects that have not been matched with a layer of a config yet."""

    def __init__(self, saved: list[SavedObject], tree: WeightTree) -> None:
        self.left = dict.fromkeys(saved)
        self._by_attribute: dict[str, list[SavedObject]] = {}
        self._by_name: dict[str | None, list[SavedObject]] = {}
        # Items are taken from the end, so the first comes last.
        for item in reversed(saved):
            base = item.attribute.lstrip("_")
            key = base if item.item is None else f"{base} {class_of_group(item.item)}"
            self._by_attribute.setdefault(key, []).append(item)
            self._by_name.setdefault(tree.name(item.group), []).append(item)

    def take(self, attribute: str, inner: SerializedLayer) -> SavedObject | None:
        """Return the saved object of a layer in a config: by its attribute and class, or else by its name."""
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


def _saved_draft(saved: SavedObject, owner: DraftOp, tree: WeightTree) -> DraftOp:
    """Return the draft of an op that is only in the weights file."""
    class_name = class_of_group(saved.item) if saved.item else class_of_inner_layer(owner.class_name, saved.attribute)
    kind: OpKind = "layer"
    layers_group = tree.layers_group(saved.group)
    if layers_group is not None:
        kind = "model"
        class_name = class_name or ("Functional" if tree.has(f"{layers_group}/input_layer") else "Sequential")
    elif class_name == "InputLayer":
        kind = "input"
    name = tree.name(saved.group) or saved.item or (snake_case(class_name) if class_name else saved.attribute)
    # Keras 2.13 and later save the metrics that a model was compiled with.
    is_state = owner.is_state or (owner.kind == "model" and saved.attribute == _METRICS)
    if _is_optimizer(saved.group, tree):
        is_state, class_name = True, class_name or "Optimizer"
    return DraftOp(None, name, class_name or UNKNOWN, kind, saved.group, is_state=is_state)


def _is_optimizer(group: str, tree: WeightTree) -> bool:
    """Return whether a group is an optimizer, which a custom model may keep in any attribute.

    Each optimizer begins with two scalars: the step count, and the learning rate or the scale of the loss. No layer does.
    """
    first = [spec for _, _, spec in tree.arrays(group)[:2]]
    return (
        len(first) == 2
        and not any(spec.shape for spec in first)
        and first[0].dtype in ("int32", "int64")
        and first[1].dtype.startswith("float")
    )


def _listed_draft(layer: SerializedLayer, group: str | None) -> DraftOp:
    return DraftOp(layer, layer.name or snake_case(layer.class_name), own_name(layer.class_name), layer.kind, group)


def _unique_ids(names: Iterable[str]) -> list[str]:
    """Return the names as parts of paths, with `#2` appended to the second of the same name."""
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
