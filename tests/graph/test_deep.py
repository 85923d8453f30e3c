"""Nothing here recurses: deep arguments, deep models and long chains, at Python's default recursion limit."""

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
    from_json,
    leaves,
    lint,
    map_ops,
    map_paths,
    map_refs,
    refs,
    render,
    renumber,
    reroute,
    thaw,
    to_json,
)
from tests.graph.big import grow
from tests.graph.sample import call, config, dense, input_op, layer, value

pytestmark = pytest.mark.no_backend

LEVELS = 10_000
# One kind of container goes all the way; the others go deeper than Python could.
FEWER = 2_000


def everything_works_on(graph: Graph, make: Callable[[], Graph]) -> None:
    """Puts a graph through all that can be done with one."""
    assert lint(graph) == []
    again = from_json(to_json(graph))
    assert again == graph
    assert hash(again) == hash(graph)
    assert to_json(again) == to_json(graph)
    assert again == make()
    assert again.calls[-1] == graph.calls[-1]
    assert again.ops[-1] == graph.ops[-1]
    assert pickle.loads(pickle.dumps(graph)) == graph
    assert str(again) == str(graph)
    assert repr(again) == repr(graph)
    assert [call.id for call in graph.order()] == [call.id for call in graph.calls]
    assert renumber(graph) is graph
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
def test_arguments_nested_deeper_than_python_can_recurse(container: str) -> None:
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


def test_one_deep_argument_through_every_function() -> None:
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


def test_five_hundred_graphs_inside_each_other() -> None:
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


def test_three_thousand_layers_inside_each_other() -> None:
    def make() -> Graph:
        op = dense("d", 8, 8)
        for number in range(3_000):
            op = layer(f"w{number % 10}", "Wrapper", children=(op,))
        graph = Graph("tree", "Tree", "subclassed", ops=(op,))
        return graph.with_changes(ops=(layer("x", "X"), op))

    graph = make()
    assert lint(graph) == []
    assert from_json(to_json(graph)) == graph == make()
    assert graph.ops[1] == make().ops[1]
    assert len(str(graph).splitlines()) == 1 + 3_002
    assert map_ops(graph, lambda _, op: op.with_changes()) == graph
    assert graph.parameters == 72


def test_a_chain_of_twenty_thousand_calls() -> None:
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
    assert from_json(to_json(graph)) == graph
    assert len(str(graph).splitlines()) == 1 + 20_001


def test_a_big_graph_of_every_kind_of_call() -> None:
    graph = grow(2_000)

    everything_works_on(graph, lambda: grow(2_000))
