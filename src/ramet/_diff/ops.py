"""Changes of ops: added, removed, moved, renamed and replaced ones, other settings, sharing made or lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ramet._diff.change import ABSENT, Change
from ramet._diff.comparison import Comparison, find_regrouped
from ramet._diff.tree import Node
from ramet._diff.values import Difference, differences
from ramet._graph import EMPTY, Argument, FrozenDict, FrozenList, Op, Ref, freeze

# How many neighbors of an added, removed or moved op are named.
_NEIGHBORS = 3
_FIELDS = ("module", "registered_name", "no_config", "trainable", "dtype_policy", "built")
# A model passes these on to the layers inside it.
_INHERITED = ("trainable", "dtype_policy")
# The config of an input repeats these facts about its value.
_FACTS_OF_VALUE = frozenset({"batch_shape", "shape", "dtype", "sparse", "ragged", "optional"})


# Class and settings.


def compare_settings(comparison: Comparison) -> None:
    """Find changed classes and settings, and the ops that they touch."""
    for one, other in comparison.pairing.objects():
        if comparison.pairing.signatures.alike(one, other, "identical"):
            continue
        before, after = one.op, other.op
        replaced = (before.class_name, before.kind) != (after.class_name, after.kind)
        if replaced:
            old, new = _class(before), _class(after)
            comparison.add(one, Change("replaced", one.path, other.path, "class", old, new))
            comparison.touched.add(one)
        for what, was, now in _settings(comparison, one, other):
            if replaced and what in ("module", "registered_name"):
                continue
            # Another class has other settings, and a model passes some of its own on.
            consequence = _is_inherited(comparison, one, what, was, now) if what in _INHERITED else replaced
            comparison.add(one, Change("setting", one.path, other.path, what, was, now), consequence=consequence)
            comparison.touched.add(one)


def _class(op: Op) -> Argument:
    return op.class_name if op.kind != "operation" else f"{op.class_name} operation"


def _settings(comparison: Comparison, one: Node, other: Node) -> Iterator[Difference]:
    before, after = one.op, other.op
    if before.id == after.id and before.name != after.name:
        yield "name", before.name, after.name
    for field in _FIELDS:
        old, new = getattr(before, field), getattr(after, field)
        if old != new and not (field == "dtype_policy" and _is_input_with_other_value(one, other)):
            yield field, old, new
    for what, old, new in _config(comparison, one, other):
        key = what.partition(".")[0].partition("[")[0]
        if not _is_reported_elsewhere(one, other, key):
            yield what, old, new
    yield from differences(before.flags, after.flags)


def _config(comparison: Comparison, one: Node, other: Node) -> Iterator[Difference]:
    """Return the differences of the configs, without those inside the configs of child ops, which are compared themselves."""
    before, after = ({child.op.name: child for child in node.children} for node in (one, other))

    def belongs_to_child(old: Argument, new: Argument) -> bool:
        child, twin = before.get(_name_in_config(old)), after.get(_name_in_config(new))
        if child is None or twin is None:
            return False
        return not comparison.pairing.signatures.alike(child.first, twin.first, "identical")

    old, new = one.op.config, other.op.config
    if old is None or new is None:
        # If the reasons for having no config differ, that is the change.
        is_reported = one.op.no_config != other.op.no_config
        return iter(() if is_reported or old is new else [("config", old, new)])
    return differences(old, new, skip=belongs_to_child)


def _name_in_config(value: Argument) -> str:
    """Return the name of the op that this config describes; "" if it describes none."""
    config = value.get("config") if isinstance(value, FrozenDict) and "class_name" in value else None
    name = config.get("name") if isinstance(config, FrozenDict) else None
    return name if isinstance(name, str) else ""


def _is_reported_elsewhere(one: Node, other: Node, key: str) -> bool:
    before, after = one.op, other.op
    if key in ("name", "trainable"):
        # A class that writes its own config may leave them out.
        return all((op.config or EMPTY).get(key, getattr(op, key)) == getattr(op, key) for op in (before, after))
    if key == "dtype" and before.dtype_policy != after.dtype_policy:
        return True
    return key in _FACTS_OF_VALUE and _is_input_with_other_value(one, other)


def _is_input_with_other_value(one: Node, other: Node) -> bool:
    """Return whether both are inputs with different values, which is a change of its own."""
    if one.op.kind != "input" or other.op.kind != "input":
        return False
    return bool(one.calls and other.calls) and one.calls[0].outputs != other.calls[0].outputs


def _is_inherited(comparison: Comparison, node: Node, field: str, old: Argument, new: Argument) -> bool:
    above = node.parent
    partner = None if above is None else comparison.pairing.after_of.get(above)
    if above is None or partner is None:
        return False
    return (getattr(above.op, field), getattr(partner.op, field)) == (old, new)


# Position and name.


def compare_positions(comparison: Comparison) -> None:
    """Find ops that were added, removed, renamed and moved."""
    pairing = comparison.pairing
    for tree, partners in ((pairing.before, pairing.after_of), (pairing.after, pairing.before_of)):
        for node in tree.nodes:
            if node not in partners and _is_outermost(node, partners):
                removed = Change("removed", node.path, None, node.op.class_name, old=_describe(node, partners))
                comparison.add(node, removed if tree is pairing.before else removed.mirrored())
    _find_renamed(comparison)
    _find_moved(comparison)


def _is_outermost(node: Node, partners: Mapping[Node, Node]) -> bool:
    """Return whether what holds it is in both models: the children of an added op belong to that change.

    The children of a shared op are at its first node. If the partner is a later node of a shared op, the change is the sharing.
    """
    above = node.parent
    return above is not None and above in partners and partners[above].op.same_as is None


def _describe(node: Node, partners: Mapping[Node, Node]) -> Argument:
    facts: dict[str, object] = {}
    inside, waiting = 0, list(node.children)
    while waiting:
        child = waiting.pop()
        inside += child not in partners
        waiting.extend(child.children)
    if inside:
        facts["inside"] = inside
    if node.op.same_as is not None:
        facts["same_as"] = node.op.same_as
    graph = node.around
    if graph is not None and node.calls:
        facts["takes"] = _inputs(node)
        consumers = (user for call in node.calls for user in graph.consumers(call.id) if user.op != node.op.id)
        facts["feeds"] = tuple(map(Ref, dict.fromkeys(user.id for user in consumers)))[:_NEIGHBORS]
        values = (Ref(call.id, number) for call in node.calls for number in range(len(call.outputs)))
        if any(map(graph.output_numbers, values)):
            facts["output"] = True
    elif node.parent is not None:
        facts["after"] = _previous(node)
    return freeze(facts)


def _inputs(node: Node) -> tuple[Ref, ...]:
    """Return the first values that an op receives, other than its own."""
    own = {call.id for call in node.calls}
    received = (ref for call in node.calls for ref in call.refs() if ref.call not in own)
    return tuple(dict.fromkeys(received))[:_NEIGHBORS]


def _previous(node: Node) -> str | None:
    return node.parent.children[node.number - 1].op.id if node.parent is not None and node.number else None


def _find_renamed(comparison: Comparison) -> None:
    pairing = comparison.pairing
    renamed: dict[Node, Change] = {}
    with_kept_names: set[Node] = set()
    for node in reversed(pairing.before.nodes):
        partner = pairing.after_of.get(node)
        if partner is None:
            continue
        old, new = node.op.id, partner.op.id
        if node is pairing.before.root:
            old, new = pairing.before.graph.name, pairing.after.graph.name
        if old != new:
            renamed[node] = Change("renamed", node.path, partner.path, "name", old, new)
        if (old == new or node in with_kept_names) and node.parent is not None:
            with_kept_names.add(node.parent)
    for node, change in renamed.items():
        above, partner = node.parent, pairing.after_of[node]
        # If a model and everything in it is renamed, the model is the change. A replacement has its own name.
        along = above in renamed and above not in with_kept_names and above is not pairing.before.root
        replaced = above is not None and node.first.op.class_name != partner.first.op.class_name
        comparison.add(node, change, consequence=along or replaced)


def _find_moved(comparison: Comparison) -> None:
    pairing = comparison.pairing
    for node in pairing.before.nodes:
        partner = pairing.after_of.get(node)
        if partner is not None and not pairing.share_parent(node, partner):
            old, new = (ABSENT if one.parent is None else one.parent.path for one in (node, partner))
            comparison.add(node, Change("moved", node.path, partner.path, "nesting", old, new))
    for level in comparison.levels:
        for node, partner in level.moved:
            change = Change("moved", node.path, partner.path, "order", _neighbors(node), _neighbors(partner))
            comparison.add(node, change)


def _neighbors(node: Node) -> Argument:
    """Return the inputs of an op; without calls, the op before it."""
    return _inputs(node) if node.calls else FrozenList((_previous(node),))


# Sharing.


def compare_sharing(comparison: Comparison) -> None:
    """Find nodes that hold one object in one model and several in the other."""
    pairing = comparison.pairing
    before, after = ({node: node.first for node in tree.nodes} for tree in (pairing.before, pairing.after))
    for node, (lost, made) in find_regrouped(before, after, pairing.after_of, pairing.before_of).items():
        old, new = (ABSENT if one is None else one.path for one in (lost, made))
        comparison.add(node, Change("sharing", node.path, pairing.after_of[node].path, "same_as", old, new))
