"""Random arguments and graphs, small and the same in every run."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from ramet._graph import (
    Call,
    Constant,
    FrozenDict,
    Graph,
    Op,
    Ref,
    Slice,
    Value,
    VariableSpec,
    call_id,
    freeze,
    freeze_dict,
    refs,
)

few = settings(derandomize=True, max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))

names = st.text("abcx_#2.", min_size=1, max_size=4)
any_text = st.text(max_size=6)
keys = st.one_of(any_text, st.integers(), st.booleans(), st.none(), st.binary(max_size=3))
shapes = st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=3).map(tuple)
dtypes = st.sampled_from(["float32", "bfloat16", "int32", "bool"])
constants = st.one_of(
    st.builds(
        Constant.array, st.just("ndarray"), st.lists(st.integers(0, 5), max_size=2), dtypes, st.binary(max_size=4)
    ),
    st.builds(Constant, st.just("object"), any_text, summary=st.none() | any_text),
)
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True),
    st.complex_numbers(),
    any_text,
    st.binary(max_size=3),
    st.just(...),
)


def arguments(leaves: st.SearchStrategy[Any] = plain | constants) -> st.SearchStrategy[Any]:
    """Draw frozen data with these leaves."""

    def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(
            st.lists(inner, max_size=3).map(tuple),
            st.lists(inner, max_size=3).map(freeze),
            st.dictionaries(keys, inner, max_size=3).map(freeze),
            st.builds(Slice, inner, inner, inner),
        )

    return st.recursive(leaves, containers, max_leaves=6)


configs = st.dictionaries(any_text, arguments(), max_size=3).map(freeze_dict)
variables = st.lists(
    st.builds(VariableSpec, names, st.none() | shapes, dtypes, st.booleans(), st.booleans()),
    max_size=2,
    unique_by=lambda spec: spec.id,
).map(tuple)


@st.composite
def ops(draw: st.DrawFn, name: str, *, depth: int) -> Op:
    """Draw a layer, an operation, or (up to a depth) a model or a layer with children."""
    kind: Any = draw(st.sampled_from(["layer", "operation", *(["model", "parent"] if depth else [])]))
    op = Op(
        name,
        "layer" if kind == "parent" else kind,
        draw(st.sampled_from(["Dense", "Add", "Mine"])),
        module=draw(st.none() | any_text),
        trainable=draw(st.booleans()),
        dtype_policy=draw(st.none() | dtypes),
        built=draw(st.booleans()),
        flags=draw(configs),
        variables=draw(variables),
        name=draw(st.sampled_from(["", "other"])),
    )
    config = draw(st.none() | configs)
    op = op.with_changes(config=config, no_config=draw(any_text) if config is None else None)
    if kind == "model":
        inner = draw(graphs(depth=depth - 1))
        return op.with_changes(graph=inner.with_changes(name=op.name, class_name=op.class_name))
    if kind == "parent":
        inside = draw(st.lists(names, max_size=2, unique=True))
        return op.with_changes(children=tuple(draw(ops(child, depth=depth - 1)) for child in inside))
    return op


@st.composite
def graphs(draw: st.DrawFn, *, depth: int = 1) -> Graph:
    """Draw a consistent functional graph: inputs, then calls of new and earlier ops, with masks, constants and nested models."""
    free = draw(st.lists(names, min_size=2, max_size=6, unique=True))
    inputs = draw(st.integers(1, len(free) - 1))
    held = [Op(name, "input", "InputLayer", config=FrozenDict()) for name in free[:inputs]]
    calls = [Call(name, name, outputs=(draw(_values()),)) for name in map(call_id, free[:inputs])]
    calls = [call.with_changes(op=op.id) for call, op in zip(calls, held, strict=True)]
    known = [Ref(call.id) for call in calls]
    for name in free[inputs:]:
        op = draw(ops(name, depth=depth))
        held.append(op)
        for number in range(1, draw(st.integers(1, 2)) + 1):
            call = draw(_calls(op, number, known))
            calls.append(call)
            known += [Ref(call.id, number) for number in range(len(call.outputs))]
    ends = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3))
    starts = [Ref(call.id) for call in calls[:inputs]]
    return Graph(
        draw(any_text),
        "Functional",
        ops=tuple(held),
        calls=tuple(calls),
        inputs=draw(st.sampled_from([tuple(starts), freeze(starts), freeze({ref.call: ref for ref in starts})])),
        outputs=draw(st.sampled_from([ends[0], tuple(ends), freeze(dict(enumerate(ends)))])),
    )


@st.composite
def _values(draw: st.DrawFn, masks: tuple[Any, ...] = (None, "unrecorded")) -> Value:
    flags = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    return Value(draw(shapes), draw(dtypes), *flags, draw(st.none() | any_text), draw(st.sampled_from(masks)))


@st.composite
def _calls(draw: st.DrawFn, op: Op, number: int, known: list[Ref]) -> Call:
    earlier = st.sampled_from(known)
    count = len(list(refs(op.graph.outputs))) if op.graph is not None else draw(st.integers(1, 3))
    kwargs = draw(st.dictionaries(names, arguments(plain | constants | earlier), max_size=2))
    kinds: list[tuple[int | str, Any]] = []
    if draw(st.booleans()):
        kwargs["mask"] = draw(earlier)
        kinds = [("mask", draw(st.sampled_from(["implicit", "explicit"])))]
    positions = list(range(count))
    structure = [tuple(positions), freeze(positions), freeze({str(position): position for position in positions})]
    return Call(
        call_id(op.id, number),
        op.id,
        tuple(draw(st.lists(arguments(plain | constants | earlier), max_size=2))),
        freeze_dict(kwargs),
        tuple(draw(_values((None, *known))) for _ in positions),
        0 if count == 1 else draw(st.sampled_from(structure)),
        tuple(kinds),
    )
