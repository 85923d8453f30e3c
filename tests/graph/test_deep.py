"""Deep arguments, deep models and long chains, at Python's default recursion limit."""

import pickle
import sys
from collections.abc import Callable

import pytest

from ramet._graph import (
    Argument,
    Call,
    FrozenDict,
    FrozenList,
    Graph,
    Op,
    Ref,
    Slice,
    call_id,
    freeze,
    lint,
    refs,
    render,
    thaw,
)
from ramet._graph.argument import leaves
from tests.graph.big import grow
from tests.graph.change import map_ops, map_paths, map_refs, reroute
from tests.graph.sample import call, config, dense, input_op, layer, value

pytestmark = pytest.mark.no_backend

LEVELS = 10_000
# One kind of container is nested this deep; the others are still deeper than Python can recurse.
FEWER = 2_000


def everything_works_on(graph: Graph, make: Callable[[], Graph]) -> None:
    """Use every operation on a graph."""
    assert lint(graph) == []
    again = Graph.from_json(graph.to_json())
    assert again == graph
    assert hash(again) == hash(graph)
    assert again.to_json() == graph.to_json()
    assert again == make()
    assert again.calls[-1] == graph.calls[-1]
    assert again.ops[-1] == graph.ops[-1]
    assert pickle.loads(pickle.dumps(graph)) == graph
    assert str(again) == str(graph)
    assert repr(again) == repr(graph)
    assert [call.id for call in graph.order()] == [call.id for call in graph.calls]
    assert reroute(graph, lambda ref: ref) == graph
    assert map_paths(map_ops(graph, lambda _, op: op.with_changes()), str) == graph
    last = [path for path, _ in graph.walk()][-1]
    assert graph.find(last).id == last.rpartition("/")[2]


@pytest.fixture(autouse=True)
def default_limit() -> None:
    assert sys.getrecursionlimit() == 1000


WRAPPINGS: dict[str, Callable[[Argument], Argument]] = {
    "tuple": lambda inner: (inner,),
    "list": lambda inner: FrozenList((inner,)),
    "dict": lambda inner: FrozenDict((("a", inner),)),
    "odd_dict": lambda inner: FrozenDict(((1, inner),)),
    "slice": lambda inner: Slice(None, inner),
}


@pytest.mark.parametrize("container", WRAPPINGS)
def test_arguments_may_be_nested_deeper_than_the_recursion_limit(container: str) -> None:
    def make() -> Graph:
        argument: Argument = Ref("x")
        for _ in range(FEWER):
            argument = WRAPPINGS[container](argument)
        return Graph(
            "deep",
            "Functional",
            ops=(input_op("x"), layer("a", "A", config=config(deep=thaw(argument)))),
            calls=(call("x"), call("a", argument, kwargs=FrozenDict((("k", argument),)))),
            inputs=Ref("x"),
            outputs=Ref("x") if container == "slice" else argument,
        )

    everything_works_on(make(), make)


def test_every_function_accepts_a_deep_argument() -> None:
    live: object = 1
    argument: Argument = 1
    for _ in range(LEVELS):
        live, argument = [live], FrozenList((argument,))

    frozen = freeze(live)

    assert frozen == argument
    assert hash(frozen) == hash(argument)
    assert frozen != FrozenList((argument,))
    assert list(leaves(argument)) == [1]
    assert list(refs(argument)) == []
    assert map_refs(argument, lambda ref: ref) == argument
    assert freeze(thaw(argument)) == argument
    assert render(argument) == "[" * 117 + "..."
    assert repr(argument).startswith("FrozenList([[[")


def test_five_hundred_nested_graphs_are_handled() -> None:
    def make() -> Graph:
        graph = Graph("g0", "Functional", ops=(input_op("x"),), calls=(call("x"),), inputs=Ref("x"), outputs=Ref("x"))
        for number in range(1, 501):
            model = Op(graph.name, "model", "Functional", config=config(), graph=graph)
            name = f"g{number}"
            graph = Graph(
                name,
                "Functional",
                ops=(input_op("x"), model),
                calls=(call("x"), call(model.id, Ref("x"))),
                inputs=Ref("x"),
                outputs=Ref(model.id),
            )
        return graph

    everything_works_on(make(), make)
    assert len(str(make()).splitlines()) == 1 + 1001


def test_three_thousand_nested_layers_are_handled() -> None:
    def make() -> Graph:
        op = dense("d", 8, 8)
        for number in range(3_000):
            op = layer(f"w{number % 10}", "Wrapper", children=(op,))
        graph = Graph("tree", "Tree", "subclassed", ops=(op,))
        return graph.with_changes(ops=(layer("x", "X"), op))

    graph = make()
    assert lint(graph) == []
    assert Graph.from_json(graph.to_json()) == graph == make()
    assert graph.ops[1] == make().ops[1]
    assert len(str(graph).splitlines()) == 1 + 3_002
    assert map_ops(graph, lambda _, op: op.with_changes()) == graph
    assert graph.parameters == 72


def test_chain_of_twenty_thousand_calls_is_handled() -> None:
    names = [call_id("d", number) for number in range(1, 20_001)]
    calls = [Call("x", "x", outputs=(value(None, 8),))]
    for name in names:
        calls.append(Call(name, "d", (Ref(calls[-1].id),), outputs=(value(None, 8),)))
    graph = Graph(
        "chain",
        "Functional",
        ops=(input_op("x"), dense("d", 8, 8)),
        calls=tuple(calls),
        inputs=Ref("x"),
        outputs=Ref(names[-1]),
    )

    assert lint(graph) == []
    assert graph.order() == graph.calls
    assert len(graph.ancestors_of(names[-1])) == 20_001
    assert len(graph.reachable_from("x")) == 20_001
    assert Graph.from_json(graph.to_json()) == graph
    assert len(str(graph).splitlines()) == 1 + 20_001


def test_large_graph_with_every_kind_of_call_is_handled() -> None:
    graph = grow(2_000)

    everything_works_on(graph, lambda: grow(2_000))
