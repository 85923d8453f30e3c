"""The rules for the calls of one graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ramet._graph.argument import PLAIN, Argument, Constant, Ref, leaves, refs
from ramet._graph.call import Call, call_id
from ramet._graph.graph import Graph

__all__ = ["CALL_RULES"]

# Where (the id of a call, or nothing for the graph itself) and what.
Finding = tuple[str, str]

_MASK_KINDS = {"implicit", "explicit"}


def call_ids_are_unique(graph: Graph) -> Iterator[Finding]:
    """No two calls have one id."""
    for name, count in Counter(call.id for call in graph.calls).items():
        if count > 1:
            yield name, f"{count} calls have the id '{name}'."


def call_ids_count_the_calls_of_an_op(graph: Graph) -> Iterator[Finding]:
    """The n-th call of an op has the id that says so."""
    counts: Counter[str] = Counter()
    for call in graph.calls:
        counts[call.op] += 1
        right = call_id(call.op, counts[call.op])
        if call.id != right:
            yield call.id, f"call number {counts[call.op]} of the op '{call.op}' has the id '{call.id}', not '{right}'."


def calls_have_an_op(graph: Graph) -> Iterator[Finding]:
    """The op of each call stands among the ops of the graph."""
    known = {op.id for op in graph.ops}
    for call in graph.calls:
        if call.op not in known:
            yield call.id, f"the call '{call.id}' is a call of '{call.op}', and the graph has no such op."


def refs_resolve(graph: Graph) -> Iterator[Finding]:
    """Each ref in an argument points at a call, and at an output that the call has."""
    for call, reads in zip(graph.calls, graph._index.reads, strict=True):
        for ref in reads:
            if missing := _missing(graph, ref):
                yield call.id, f"the call '{call.id}' takes {missing}."


def refs_point_back(graph: Graph) -> Iterator[Finding]:
    """A call takes values of calls before it only: so there are no circles, and the order is one that can be run."""
    at = graph._index.positions
    for place, (call, reads) in enumerate(zip(graph.calls, graph._index.reads, strict=True)):
        for ref in reads:
            if at.get(ref.call, -1) >= place:
                yield call.id, f"the call '{call.id}' takes a value of '{ref.call}', which does not come before it."


def masks_resolve(graph: Graph) -> Iterator[Finding]:
    """The mask of each value points at a call, and at an output that the call has."""
    for call in graph.calls:
        for place, value in enumerate(call.outputs):
            if isinstance(value.mask, Ref) and (missing := _missing(graph, value.mask)):
                yield call.id, f"the mask of output {place} of '{call.id}' is {missing}."


def mask_kinds_name_masks(graph: Graph) -> Iterator[Finding]:
    """What is called a mask is an argument, told once, implicit or explicit; an implicit one comes from a call."""
    for call in graph.calls:
        seen: set[int | str] = set()
        for place, kind in call.mask_kinds:
            word = f"the argument {place!r} of '{call.id}'"
            given = place in call.kwargs if isinstance(place, str) else 0 <= place < len(call.args)
            if not given:
                yield call.id, f"{word} is said to be a mask, and there is no such argument."
            elif place in seen:
                yield call.id, f"{word} is said to be a mask twice."
            elif kind not in _MASK_KINDS:
                yield call.id, f"{word} is said to be a mask of the kind '{kind}', and there is no such kind."
            elif kind == "implicit" and next(refs(call.argument(place)), None) is None:
                yield call.id, f"{word} is said to be an implicit mask, and no call makes it."
            seen.add(place)


def structures_hold_every_output(graph: Graph) -> Iterator[Finding]:
    """The structure of a call's outputs has each output once, by its position."""
    for call in graph.calls:
        found = [leaf for leaf in leaves(call.structure) if leaf is not None]
        numbers = [leaf for leaf in found if type(leaf) is int]
        if len(numbers) != len(found) or sorted(numbers) != list(range(len(call.outputs))):
            yield call.id, f"the structure of '{call.id}' does not hold each of its {len(call.outputs)} outputs once."


def shapes_are_sizes(graph: Graph) -> Iterator[Finding]:
    """A shape is a tuple of numbers that are not negative, None where any size will do; or it is not known."""
    for call in graph.calls:
        for place, value in enumerate(call.outputs):
            if value.shape is not None and not is_shape(value.shape):
                yield call.id, f"output {place} of '{call.id}' has the shape {value.shape!r}."


def calls_hold_frozen_data(graph: Graph) -> Iterator[Finding]:
    """Arguments are frozen data all the way down."""
    for call in graph.calls:
        for word, value in (("arguments", call.args), ("arguments", call.kwargs), ("structure", call.structure)):
            if (foreign := first_foreign(value)) is not None:
                yield call.id, f"the {word} of '{call.id}' hold a {foreign}, which is no frozen data."


def inputs_are_calls_of_inputs(graph: Graph) -> Iterator[Finding]:
    """The graph's inputs are the calls of its input ops, each once, and these take no arguments."""
    if not graph.has_calls:
        return
    counts: Counter[str] = Counter()
    for leaf in leaves(graph.inputs):
        if not isinstance(leaf, Ref):
            if leaf is not None or graph.calls:
                yield "", f"the inputs hold {_word(leaf)}, which is no ref."
            continue
        counts[leaf.call] += 1
        call = graph._index.calls.get(leaf.call)
        op = call and graph._index.ops.get(call.op)
        if missing := _missing(graph, leaf):
            yield leaf.call, f"the inputs hold {missing}."
        elif op and op.kind != "input":
            yield leaf.call, f"the inputs hold '{leaf.call}', which is a call of a {op.kind}, not of an input."
    for name, count in counts.items():
        if count > 1:
            yield name, f"the inputs hold '{name}' {count} times."
    for call in graph.calls:
        op = graph._index.ops.get(call.op)
        if op and op.kind == "input":
            if call.id not in counts:
                yield call.id, f"the call '{call.id}' of an input is not among the inputs."
            if call.args or len(call.kwargs):
                yield call.id, f"the call '{call.id}' of an input takes arguments."


def outputs_resolve(graph: Graph) -> Iterator[Finding]:
    """The graph's outputs are refs to outputs that its calls have."""
    if not graph.calls:
        return
    for leaf in leaves(graph.outputs):
        if not isinstance(leaf, Ref):
            yield "", f"the outputs hold {_word(leaf)}, which is no ref."
        elif missing := _missing(graph, leaf):
            yield leaf.call, f"the outputs hold {missing}."


CALL_RULES = (
    call_ids_are_unique,
    call_ids_count_the_calls_of_an_op,
    calls_have_an_op,
    refs_resolve,
    refs_point_back,
    masks_resolve,
    mask_kinds_name_masks,
    structures_hold_every_output,
    shapes_are_sizes,
    calls_hold_frozen_data,
    inputs_are_calls_of_inputs,
    outputs_resolve,
)


def is_shape(shape: object) -> bool:
    """Whether it is a tuple of sizes."""
    return isinstance(shape, tuple) and all(size is None or (type(size) is int and size >= 0) for size in shape)


def first_foreign(value: Argument) -> str | None:
    """The class of the first thing in it that is no frozen data, or None."""
    for leaf in leaves(value):
        if type(leaf) not in PLAIN and not isinstance(leaf, Ref | Constant):
            return type(leaf).__qualname__
    return None


def _missing(graph: Graph, ref: Ref) -> str | None:
    call: Call | None = graph._index.calls.get(ref.call)
    if call is None:
        return f"a value of '{ref.call}', and there is no such call"
    if not 0 <= ref.output < len(call.outputs):
        return f"output {ref.output} of '{ref.call}', which has {len(call.outputs)}"
    return None


def _word(leaf: Argument) -> str:
    return "None" if leaf is None else f"a {type(leaf).__qualname__}"
