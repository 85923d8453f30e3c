"""From a graph to boxes: what is inside what, what is marked, what starts folded."""

import pytest

from ramet._diff import diff_graphs
from ramet._draw.block import find_blocks
from ramet._draw.box import Box, Scene
from ramet._draw.change import mark_changes
from ramet._draw.finding import mark_findings
from ramet._draw.scene import draw_scene
from ramet._draw.sharing import mark_sharing
from ramet._graph import Graph, Op, Ref
from tests.draw.sample import before_and_after, chain, inception, tree, twice, wide_tree
from tests.graph import big, sample
from tests.graph.sample import call, config, dense, input_op, layer

pytestmark = pytest.mark.no_backend


def drawn(graph: Graph) -> Scene:
    scene = draw_scene(graph)
    mark_sharing(scene, graph)
    return scene


def inside(scene: Scene, box: Box) -> list[str]:
    return [scene.boxes[number].key or scene.boxes[number].title for number in box.children]


def at(scene: Scene, key: str) -> Box:
    return next(box for box in scene.boxes if box.key == key)


def edges(scene: Scene, box: Box) -> list[tuple[str, str, str]]:
    def name(number: int) -> str:
        return scene.boxes[number].key or scene.boxes[number].title

    return [(name(edge.source), name(edge.target), edge.mask) for edge in box.edges]


def test_a_shared_layer_has_a_box_for_each_call_and_one_mark() -> None:
    scene = drawn(sample.small())

    assert inside(scene, scene.boxes[0]) == ["x", "d", "d#2", "add", "Output"]
    assert [(group.label, group.boxes) for group in scene.groups] == [
        ("A", [at(scene, "d").number, at(scene, "d#2").number])
    ]


def test_what_stands_at_two_places_and_what_is_tied_carry_marks() -> None:
    scene = drawn(sample.nested())

    marked = {box.key: [scene.groups[group].label for group in box.groups] for box in scene.boxes if box.groups}
    assert marked == {
        "encoder": ["A"],
        "encoder#2": ["A"],
        "encoder/d": ["B", "C"],
        "decoder/d": ["B", "C"],
        "decoder/out": ["C"],
    }


def test_tied_variables_of_a_model_without_calls_carry_a_mark() -> None:
    scene = drawn(wide_tree())

    assert [(group.text, group.boxes) for group in scene.groups] == [("one variable: a/kernel", [1, 2])]


def test_masks_are_told_where_they_begin_travel_and_end() -> None:
    scene = drawn(sample.masked())

    assert {box.key: box.mask for box in scene.boxes if box.mask} == {"embedding": "made", "attention": "dropped"}
    assert [edge for edge in edges(scene, scene.boxes[0]) if edge[2]] == [
        ("embedding", "lstm", "carried"),
        ("not_equal", "lstm", "implicit"),
        ("lstm", "attention", "carried"),
        ("keep", "attention", "explicit"),
    ]


def test_a_shared_model_is_opened_at_its_first_call() -> None:
    scene = drawn(sample.nested())

    assert inside(scene, at(scene, "encoder")) == ["encoder/x", "encoder/d", "Output"]
    assert inside(scene, at(scene, "encoder#2")) == []
    assert at(scene, "encoder#2").same == at(scene, "encoder").number


def test_what_is_inside_a_shared_model_carries_its_mark() -> None:
    scene = drawn(sample.nested())

    assert {box.key: scene.groups[box.within].label for box in scene.boxes if box.within is not None} == {
        "encoder/d": "A"
    }


def test_models_that_call_each_other_twice_many_levels_deep_have_one_inside_each() -> None:
    scene = drawn(twice(30))

    assert len(scene.boxes) < 200
    assert sum(box.same is not None for box in scene.boxes) == 30


def test_a_model_without_calls_is_a_tree_of_boxes() -> None:
    scene = drawn(tree())

    assert inside(scene, scene.boxes[0]) == ["attention", "dense_0", "dense_1", "dense_2", "dense_3"]
    assert inside(scene, at(scene, "attention")) == ["attention/query", "attention/key", "attention/value"]


def test_a_big_model_starts_folded_to_its_blocks_by_name() -> None:
    scene = drawn(big.grow(200))

    top = [scene.boxes[number] for number in scene.boxes[0].children]
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
def test_the_beginning_of_a_name_says_the_block(name: str, block: str) -> None:
    from ramet._draw.block import _COUNTED

    found = _COUNTED.match(name)
    assert found is not None
    assert found[0] == block


def test_a_big_model_starts_folded_to_what_repeats_when_names_say_nothing() -> None:
    blocks = find_blocks(inception(10))

    assert [(label, len(places)) for label, places in blocks] == [(f"block {number}", 5) for number in range(1, 11)]


def test_blocks_that_would_make_a_cycle_are_not_drawn() -> None:
    # The block a takes from b, and b from a.
    names = [f"{'ab'[number % 2]}_1_part{number}x" for number in range(40)]

    # What is left is that one class repeats.
    assert find_blocks(chain(*names)) == [("block 1", list(range(1, 41)))]


def test_an_edge_into_a_block_passes_a_port() -> None:
    scene = drawn(inception(10))

    block = next(box for box in scene.boxes if box.title == "block 2")
    ports = [number for number in block.children if scene.boxes[number].kind == "port"]
    assert len(ports) == 2
    assert sum(edge.source == ports[1] or edge.source == ports[0] for edge in block.edges) == 3
    assert block.shapes == ("(None, 8)",)


def test_a_diff_marks_boxes_and_draws_what_was_removed() -> None:
    before, after = before_and_after()
    diff = diff_graphs(before, after)
    scene = draw_scene(after, diff)
    mark_changes(scene, diff)

    assert {box.name: box.status for box in scene.boxes if box.status} == {
        "first": "changed",
        "second → zweite": "renamed",
        "gone": "removed",
        "new": "added",
    }
    assert [edge for edge in edges(scene, scene.boxes[0]) if "-gone" in edge] == [
        ("zweite", "-gone", ""),
        ("-gone", "last", ""),
    ]
    notes = {(note.kind, note.what, note.old, note.new) for note in scene.notes if note.kind == "setting"}
    assert notes == {("setting", "activation", "not set", "'gelu'")}


def found(graph: Graph, *findings: tuple[str, str]) -> list[tuple[str, str, str]]:
    scene = draw_scene(graph)
    mark_findings(scene, graph, findings)
    return [(note.text, scene.boxes[note.box].key or scene.boxes[note.box].title, note.at) for note in scene.notes]


def test_what_a_check_found_is_told_at_the_nearest_box() -> None:
    findings = [
        ("encoder/d/kernel", "differs by 3"),
        ("decoder.rate", "1 became 2"),
        ("decoder", "odd"),
        ("no/where", "x"),
    ]

    assert found(sample.nested(), *findings) == [
        ("encoder/d/kernel: differs by 3", "encoder/d", ""),
        ("decoder.rate: 1 became 2", "decoder", ""),
        ("odd", "decoder", ""),
        ("no/where: x", "Functional", ""),
    ]


def test_a_name_with_signs_in_it_is_no_attribute() -> None:
    assert found(chain("a.b", "a", "c[0]"), ("a.b", "one"), ("a.b.units", "two"), ("c[0]", "three")) == [
        ("one", "a.b", ""),
        ("a.b.units: two", "a.b", ""),
        ("three", "c[0]", ""),
    ]


def test_an_output_is_told_at_its_box() -> None:
    nested, split = sample.nested(), sample.split()

    assert [place for _, place, _ in found(nested, ("outputs[1]", "x"), ("outputs", "x"))] == ["Output", "Functional"]
    assert [place for _, place, _ in found(split, ("outputs['class']", "x"))] == ["Output"]
    assert [place for _, place, _ in found(chain("a"), ("outputs", "x"))] == ["Output"]


def test_a_run_inside_a_later_call_of_a_shared_model_is_told_there() -> None:
    assert found(sample.nested(), ("encoder/d#2", "differs"), ("encoder/d#3", "never ran"), ("encoder#2", "too")) == [
        ("encoder/d#2: differs", "encoder#2", "encoder#2/d"),
        ("encoder/d#3: never ran", "encoder/d", ""),
        ("too", "encoder#2", ""),
    ]


def test_what_was_found_at_something_renamed_or_removed_is_told_at_its_box() -> None:
    before, after = before_and_after()
    diff = diff_graphs(before, after)
    scene = draw_scene(after, diff, before)
    mark_findings(scene, after, [("second/kernel", "moved"), ("gone", "is not there")], diff)
    mark_changes(scene, diff)

    assert [(note.text, scene.boxes[note.box].key) for note in scene.notes[:2]] == [
        ("second/kernel: moved", "zweite"),
        ("gone: is not there", "-gone"),
    ]
    assert [at(scene, key).status for key in ("zweite", "-gone")] == ["differs", "removed"]


def test_a_changed_argument_is_told_at_its_call() -> None:
    after = sample.small()
    calls = tuple(one.with_changes(kwargs=config(training=True)) if one.id == "d#2" else one for one in after.calls)
    diff = diff_graphs(after, after.with_changes(calls=calls))
    scene = draw_scene(after)
    mark_changes(scene, diff)

    assert [(scene.boxes[note.box].key, note.kind, note.old, note.new) for note in scene.notes] == [
        ("d#2", "call", "not set", "True")
    ]


def test_what_was_removed_keeps_the_op_it_was() -> None:
    before, after = before_and_after()
    diff = diff_graphs(before, after)

    assert at(draw_scene(after, diff, before), "-gone").op is before.op("gone")
    assert at(draw_scene(after, diff), "-gone").op is None


def test_a_chain_of_nested_models_as_deep_as_one_likes_is_drawn() -> None:
    graph = Graph("inner", "Functional", ops=(input_op("x"), dense("d", 8, 8)), calls=(call("x"), call("d", Ref("x"))))
    graph = graph.with_changes(inputs=Ref("x"), outputs=Ref("d"))
    for _ in range(2_000):
        ops = (input_op("x"), Op("m", "model", "Functional", graph=graph))
        graph = Graph(
            "outer", "Functional", ops=ops, calls=(call("x"), call("m", Ref("x"))), inputs=Ref("x"), outputs=Ref("m")
        )
    scene = drawn(graph)

    assert len(scene.boxes) == 3 * 2_001 + 1


def test_edges_without_end_cost_no_more_than_their_budget() -> None:
    # Every call takes from all before it: half a million bends, were they all drawn.
    names = [f"layer{chr(97 + number % 26)}x{number}" for number in range(150)]
    calls = [call("x")]
    for name in names:
        calls.append(call(name, tuple(Ref(one.id) for one in calls)))
    ops = (input_op("x"), *(layer(name, "Add") for name in names))
    scene = drawn(Graph("dense", "Functional", ops=ops, calls=tuple(calls), inputs=Ref("x"), outputs=Ref(names[-1])))

    assert sum(len(box.bends) for box in scene.boxes) <= 4_000
    assert sum(len(box.edges) for box in scene.boxes) >= 150 * 151 // 2


def test_a_broken_graph_is_drawn_as_far_as_it_goes() -> None:
    calls = (call("x"), call("d", Ref("x", 7)), call("ghost", Ref("nowhere")), call("e", Ref("f")), call("f", Ref("e")))
    graph = Graph("broken", "Functional", ops=(input_op("x"), dense("d", 8, 8)), calls=calls, outputs=Ref("away"))
    scene = drawn(graph)

    assert inside(scene, scene.boxes[0]) == ["x", "d", "ghost", "e", "f"]
    assert [box.title for box in scene.boxes[1:]] == ["Input", "Dense", "?", "?", "?"]
    assert scene.groups == []
    assert len(scene.boxes[0].edges) == 3
