"""From a graph to boxes: nesting, blocks, masks, ports."""

import pytest

from ramet._draw.blocks import find_blocks
from ramet._graph import Graph, Op, Ref
from tests.draw.drawings import at, drawn, edges, inside
from tests.draw.sample import chain, inception, tree, twice
from tests.graph import big, sample
from tests.graph.sample import call, dense, input_op, layer

pytestmark = pytest.mark.no_backend


def test_masks_are_marked_where_they_begin_pass_and_end() -> None:
    drawing = drawn(sample.masked())

    assert {box.key: box.mask for box in drawing.boxes if box.mask} == {"embedding": "made", "attention": "dropped"}
    assert [edge for edge in edges(drawing, drawing.boxes[0]) if edge[2]] == [
        ("embedding", "lstm", "carried"),
        ("not_equal", "lstm", "implicit"),
        ("lstm", "attention", "carried"),
        ("keep", "attention", "explicit"),
    ]


def test_content_of_a_shared_model_is_at_its_first_call() -> None:
    drawing = drawn(sample.nested())

    assert inside(drawing, at(drawing, "encoder")) == ["encoder/x", "encoder/d", "Output"]
    assert inside(drawing, at(drawing, "encoder#2")) == []
    assert at(drawing, "encoder#2").same == at(drawing, "encoder").number


def test_content_of_nested_shared_models_is_drawn_once() -> None:
    drawing = drawn(twice(30))

    assert len(drawing.boxes) < 200
    assert sum(box.same is not None for box in drawing.boxes) == 30


def test_model_without_calls_is_a_tree_of_boxes() -> None:
    drawing = drawn(tree())

    assert inside(drawing, drawing.boxes[0]) == ["attention", "dense_0", "dense_1", "dense_2", "dense_3"]
    assert inside(drawing, at(drawing, "attention")) == ["attention/query", "attention/key", "attention/value"]


def test_big_model_starts_as_blocks_found_by_name() -> None:
    drawing = drawn(big.grow(200))

    top = [drawing.boxes[number] for number in drawing.boxes[0].children]
    blocks = [box for box in top if box.kind == "block"]
    assert [box.title for box in blocks[:3]] == ["block_0", "block_1", "block_2"]
    assert not any(box.is_open for box in blocks)
    assert len(top) < 40


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("block_3_expand_BN", "block_3"),
        ("conv2_block1_0_bn", "conv2_block1"),
        ("block1a_expand_conv", "block1a"),
        ("tiny_stage_0_block_1_depthwise", "tiny_stage_0_block_1"),
        ("blocks.0.attn", "blocks.0"),
    ],
)
def test_block_is_named_after_the_beginning_of_its_names(name: str, block: str) -> None:
    from ramet._draw.blocks import _COUNTED

    found = _COUNTED.match(name)
    assert found is not None
    assert found[0] == block


def test_repeated_blocks_are_found_without_names() -> None:
    blocks = find_blocks(inception(10))

    assert [(label, len(places)) for label, places in blocks] == [(f"block {number}", 5) for number in range(1, 11)]


def test_blocks_that_would_form_a_cycle_are_not_used() -> None:
    # Blocks a and b receive values from each other.
    names = [f"{'ab'[number % 2]}_1_part{number}x" for number in range(40)]

    # The fallback: one class repeats.
    assert find_blocks(chain(*names)) == [("block 1", list(range(1, 41)))]


def test_edges_enter_a_block_through_a_port() -> None:
    drawing = drawn(inception(10))

    block = next(box for box in drawing.boxes if box.title == "block 2")
    ports = [number for number in block.children if drawing.boxes[number].kind == "port"]
    assert len(ports) == 2
    assert sum(edge.source == ports[1] or edge.source == ports[0] for edge in block.edges) == 3
    assert block.shapes == ("(None, 8)",)


def test_deeply_nested_models_are_drawn() -> None:
    graph = Graph("inner", "Functional", ops=(input_op("x"), dense("d", 8, 8)), calls=(call("x"), call("d", Ref("x"))))
    graph = graph.with_changes(inputs=Ref("x"), outputs=Ref("d"))
    for _ in range(2_000):
        ops = (input_op("x"), Op("m", "model", "Functional", graph=graph))
        graph = Graph(
            "outer", "Functional", ops=ops, calls=(call("x"), call("m", Ref("x"))), inputs=Ref("x"), outputs=Ref("m")
        )
    drawing = drawn(graph)

    assert len(drawing.boxes) == 3 * 2_001 + 1


def test_number_of_bends_is_limited() -> None:
    # Every call receives the values of all earlier calls, which would need half a million bends.
    names = [f"layer{chr(97 + number % 26)}x{number}" for number in range(150)]
    calls = [call("x")]
    for name in names:
        calls.append(call(name, tuple(Ref(one.id) for one in calls)))
    ops = (input_op("x"), *(layer(name, "Add") for name in names))
    drawing = drawn(Graph("dense", "Functional", ops=ops, calls=tuple(calls), inputs=Ref("x"), outputs=Ref(names[-1])))

    assert sum(len(box.bends) for box in drawing.boxes) <= 4_000
    assert sum(len(box.edges) for box in drawing.boxes) >= 150 * 151 // 2


def test_invalid_graph_is_drawn_as_far_as_possible() -> None:
    calls = (call("x"), call("d", Ref("x", 7)), call("lost", Ref("nowhere")), call("e", Ref("f")), call("f", Ref("e")))
    graph = Graph("broken", "Functional", ops=(input_op("x"), dense("d", 8, 8)), calls=calls, outputs=Ref("away"))
    drawing = drawn(graph)

    assert inside(drawing, drawing.boxes[0]) == ["x", "d", "lost", "e", "f"]
    assert [box.title for box in drawing.boxes[1:]] == ["Input", "Dense", "?", "?", "?"]
    assert drawing.groups == []
    assert len(drawing.boxes[0].edges) == 3
