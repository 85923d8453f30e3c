"""Graphs as text."""

import pytest
from hypothesis import given

from ramet._graph import Constant, Graph, Ref, freeze
from tests.graph.big import grow
from tests.graph.sample import call, config, input_op, layer, masked, nested, small, split, value
from tests.graph.strategies import few, graphs

pytestmark = pytest.mark.no_backend


def test_shared_layer_has_one_line_per_call() -> None:
    assert (
        str(small())
        == """\
small (Functional)  72 parameters
  x    Input  (None, 8) float32
  d    Dense  (None, 8)          <- x
  d#2  Dense  (None, 8)          <- d  (shared)
  add  Add    (None, 8)          <- [d, d#2]  -> output"""
    )


def test_masks_arguments_and_new_dtypes_are_shown() -> None:
    assert (
        str(masked())
        == """\
masked (Functional)  1,600 parameters
  tokens     Input      (None, None) int32
  keep       Input      (None, None) bool optional
  embedding  Embedding  (None, None, 16) float32    <- tokens  makes mask: not_equal
  not_equal  NotEqual   (None, None) bool           <- tokens, 0
  lstm       LSTM       (None, None, 8)             <- embedding  mask: not_equal implicit
  attention  Attention  (None, None, 8)             <- [lstm, lstm]  mask: [keep, None] explicit  -> output"""
    )


def test_nested_models_are_indented_below_their_first_call() -> None:
    assert (
        str(nested())
        == """\
nested (Functional)  217 parameters
  a            Input               (None, 8) float32
  encoder      Functional          (None, 8)          <- a  (frozen)  -> output 0
  | x          Input               (None, 8) float32
  | d          Dense               (None, 8)          <- x  -> output
  encoder#2    Functional          (None, 8)          <- encoder  (frozen)  (shared)
  decoder      MyDecoder           (None, 8)          <- encoder#2  -> output 1
  | d          Dense                                  (same as encoder/d)
  | attention  MultiHeadAttention
  | | query    Dense                                  72 parameters
  | | key      Dense                                  72 parameters
  | out        Tied"""
    )


def test_outputs_of_a_call_are_numbered() -> None:
    assert (
        str(split())
        == """\
split (Functional)  10 parameters
  x      Input   (None, 8) float32
  split  Lambda  (None, 8), (None, 4)  <- x  [0] -> output 'rest'
  head   Dense   (None, 2)             <- split[1]  -> output 'class'"""
    )


def test_model_without_a_call_graph_prints_as_a_tree() -> None:
    graph = nested().op("decoder").graph
    assert graph is not None

    assert str(graph).splitlines()[0] == "decoder (MyDecoder)  144 parameters, no call graph"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"args": (Ref("x"), freeze((slice(None), 0)))}, "(None, 8) <- x, (:, 0)"),
        ({"args": (Ref("x"), Constant.array("ndarray", (3,), "int32", b"abc"))}, "(None, 8) <- x, <array (3,) int32>"),
        ({"args": (Ref("x"),) * 90}, "(None, 8) <- " + ", ".join("x" * 68) + " and 22 more"),
        ({"outputs": (value(4),) * 3, "structure": (0, 1, 2)}, "3 x (4,) <- x"),
        ({"outputs": tuple(value(n) for n in range(5))}, "(0,), (1,), (2,) and 2 more <- x"),
        ({"outputs": (value(4, dtype="int8", sparse=True),)}, "(4,) int8 sparse <- x"),
        ({"outputs": (value(4, mask="unrecorded"),)}, "(4,) <- x makes mask: unrecorded"),
        ({"args": (Ref("x"), Ref("x")), "mask_kinds": ((1, "explicit"),)}, "(None, 8) <- x argument 1: x explicit"),
        ({"args": (Ref("gone", 2),)}, "(None, 8) float32 <- gone[2]"),
        ({"args": (), "kwargs": config(a=[Ref("x")])}, "(None, 8) <- a=[x]"),
    ],
)
def test_line_shows_arguments_and_outputs_of_a_call(changes: dict[str, object], expected: str) -> None:
    graph = Graph("g", "G", calls=(call("x"), call("a").with_changes(**{"args": (Ref("x"),), **changes})))
    graph = graph.with_changes(ops=(input_op("x"), layer("a", "A")))

    line = str(graph).splitlines()[-1]

    assert " ".join(line.split()) == f"a A {expected}"


def test_control_characters_in_names_are_escaped() -> None:
    evil = "\x1b[2J\n\u202e"
    graph = Graph(
        evil,
        evil,
        ops=(layer(evil, evil), layer("t", evil, same_as=evil)),
        calls=(
            call(evil, evil, op=evil, kwargs=freeze({evil: Constant("object", evil)})),
            call("t", Ref(evil), outputs=(value(2, dtype=evil, mask=Ref(evil)),)),
        ),
        outputs=freeze({evil: Ref(evil)}),
    )

    text = str(graph)

    assert len(text.splitlines()) == 3
    assert text.replace("\n", "").isprintable()


def test_one_long_name_does_not_widen_the_other_lines() -> None:
    long = "x" * 1000
    graph = Graph("g", "G", ops=(input_op(long), layer("a", "A")), calls=(call(long), call("a", Ref(long))))

    lines = str(graph).splitlines()

    assert [len(line) < 200 for line in lines] == [True, False, True]


def test_graph_with_dangling_ids_can_be_printed() -> None:
    graph = Graph("g", "G", calls=(call("a", Ref("b", 7), outputs=()),), outputs=Ref("c"))

    assert str(graph) == "g (G)  0 parameters\n  a  ?  (None, 8) float32  <- b[7]  (no such op)"


def test_large_graph_has_one_line_per_call() -> None:
    graph = grow(500)
    inside = sum(len(op.graph.calls) for op in graph.ops if op.graph is not None)

    assert len(str(graph).splitlines()) == 1 + 500 + inside


@few
@given(graphs())
def test_every_graph_can_be_printed(graph: Graph) -> None:
    lines = str(graph).splitlines()

    assert len(lines) > len(graph.calls)
    assert all(line == line.rstrip() for line in lines)
