"""Graphs as JSON: equal graphs have equal text, reading returns an equal graph, and nothing in the text is trusted."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet._graph import Graph, Ref, freeze, lint
from ramet.errors import FormatError, GraphError
from tests.graph.sample import call, config, layer, masked, nested, small, split
from tests.graph.strategies import arguments, few, graphs

pytestmark = pytest.mark.no_backend

SAMPLES = [small(), split(), masked(), nested()]

SPLIT = """\
{"ramet": "graph", "version": 1,
 "graphs": [
  {"name": "split", "class_name": "Functional", "kind": "functional",
   "inputs": {"$ref": "x"},
   "outputs": {"rest": {"$ref": "split"}, "class": {"$ref": "head"}},
   "ops": [
    {"id": "x", "kind": "input", "class_name": "InputLayer", "config": {}},
    {"id": "split", "kind": "layer", "class_name": "Lambda", "config": {}},
    {"id": "head", "kind": "layer", "class_name": "Dense", "dtype_policy": "float32", "config": {"units": 2}, \
"variables": [{"id": "kernel", "shape": [4, 2], "dtype": "float32"}, {"id": "bias", "shape": [2], "dtype": "float32"}]}],
   "calls": [
    {"id": "x", "op": "x", "outputs": [{"shape": [null, 8], "dtype": "float32"}]},
    {"id": "split", "op": "split", "args": [{"$ref": "x"}], \
"outputs": [{"shape": [null, 8], "dtype": "float32"}, {"shape": [null, 4], "dtype": "float32"}], "structure": [0, 1]},
    {"id": "head", "op": "head", "args": [{"$ref": ["split", 1]}], \
"outputs": [{"shape": [null, 2], "dtype": "float32"}]}]}]}
"""


def test_json_has_one_line_per_op_and_call() -> None:
    assert split().to_json() == SPLIT


def test_header_of_earlier_versions_is_read() -> None:
    old = split().to_json().replace('{"ramet": "graph", "version": 1,', '{"ramet_graph": 1,')

    assert Graph.from_json(old) == split()


def test_unknown_shape_survives_the_round_trip() -> None:
    first, *rest = small().calls
    unknown = first.with_changes(outputs=tuple(value.with_changes(shape=None) for value in first.outputs))
    graph = small().with_changes(calls=(unknown, *rest))

    assert lint(graph) == []
    assert Graph.from_json(graph.to_json()).calls[0].outputs[0].shape is None
    assert "?" in str(graph)


@pytest.mark.parametrize("graph", SAMPLES, ids=lambda graph: graph.name)
def test_graph_survives_the_round_trip(graph: Graph) -> None:
    again = Graph.from_json(graph.to_json())

    assert again == graph
    assert again.to_json() == graph.to_json()


@few
@given(graphs(depth=2))
def test_random_graph_survives_the_round_trip(graph: Graph) -> None:
    again = Graph.from_json(graph.to_json())

    assert again == graph
    assert again.to_json() == graph.to_json()


@few
@given(arguments())
def test_random_arguments_keep_their_classes(value: Any) -> None:
    graph = Graph("g", "G", calls=(call("a", value),))

    again = Graph.from_json(graph.to_json()).calls[0].args

    assert again == graph.calls[0].args or repr(again) == repr(graph.calls[0].args)
    assert call("a", *again) == graph.calls[0]


def test_text_is_strict_json() -> None:
    graph = Graph("g", "G", calls=(call("a", float("nan"), float("inf"), 2**60, "\ud800", 1j),))

    def refuse(word: str) -> None:
        raise AssertionError(word)

    args = json.loads(graph.to_json(), parse_constant=refuse)["graphs"][0]["calls"][0]["args"]

    assert args == [
        {"$float": "nan"},
        {"$float": "inf"},
        {"$int": "0x1000000000000000"},
        "\ud800",
        {"$complex": "1j"},
    ]
    assert graph.to_json().isascii()


def test_writing_refuses_data_that_is_not_frozen() -> None:
    graph = Graph("g", "G", calls=(call("a", {1}),))  # type: ignore[arg-type]

    with pytest.raises(GraphError) as caught:
        graph.to_json()

    assert str(caught.value) == (
        "Cannot write a set as JSON: it is not frozen data.\n  fix: convert it to frozen data with `freeze`."
    )


def test_dict_with_a_tag_as_key_stays_a_dict() -> None:
    graph = Graph("g", "G", calls=(call("a", freeze({"$ref": "a"}), freeze({"$tuple": [1], "b": 2})),))

    assert Graph.from_json(graph.to_json()) == graph


def edited(path: str, value: object) -> str:
    """Return the JSON of the nested sample with another value at one location; `...` removes the field."""
    document = json.loads(nested().to_json())
    *above, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    target = document
    for part in above:
        target = target[part]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return json.dumps(document)


WRONG = [
    ("ramet", "diff", "ramet", "one of 'graph'", "'diff'"),
    ("ramet", ..., "the whole text", "a field 'ramet'", "none"),
    ("version", 2, "version", "1", "2"),
    ("version", True, "version", "1", "True"),
    ("version", ..., "the whole text", "a field 'version'", "none"),
    ("ramet_graph", 2, "ramet_graph", "1", "2"),
    ("more", 1, "more", "no such field", "1"),
    ("graphs", {}, "graphs", "a list", "an object"),
    ("graphs", [], "graphs", "at least one graph", "none"),
    ("graphs.0", None, "graphs[0]", "an object", "null"),
    ("graphs.0.name", 5, "graphs[0].name", "a string", "5"),
    ("graphs.0.name", ..., "graphs[0]", "a field 'name'", "none"),
    ("graphs.0.kind", "loop", "graphs[0].kind", "one of 'functional', 'layer', 'sequential', 'subclassed'", "'loop'"),
    ("graphs.0.calls.1.id", [], "graphs[0].calls[1].id", "a string", "a list"),
    ("graphs.0.calls.1.args", {}, "graphs[0].calls[1].args", "a list", "an object"),
    ("graphs.0.calls.1.kwargs", [], "graphs[0].calls[1].kwargs", "an object", "something else"),
    (
        "graphs.0.calls.1.outputs.0.shape",
        [-1],
        "graphs[0].calls[1].outputs[0].shape[0]",
        "an integer of 0 or more, or null",
        "-1",
    ),
    (
        "graphs.0.calls.1.outputs.0.shape",
        [True],
        "graphs[0].calls[1].outputs[0].shape[0]",
        "an integer of 0 or more, or null",
        "True",
    ),
    ("graphs.0.calls.1.outputs.0.sparse", 1, "graphs[0].calls[1].outputs[0].sparse", "true or false", "1"),
    ("graphs.0.calls.1.outputs.0.mask", "m", "graphs[0].calls[1].outputs[0].mask", "a '$ref', or 'unrecorded'", "'m'"),
    (
        "graphs.0.calls.1.mask_kinds",
        [["mask"]],
        "graphs[0].calls[1].mask_kinds[0]",
        "a position or name, and a kind",
        "a list",
    ),
    (
        "graphs.0.calls.1.mask_kinds",
        [["mask", "x"]],
        "graphs[0].calls[1].mask_kinds[0][1]",
        "one of 'explicit', 'implicit'",
        "'x'",
    ),
    (
        "graphs.0.calls.1.outputs.0.shape",
        [2**63],
        "graphs[0].calls[1].outputs[0].shape[0]",
        "an integer of 0 or more, or null",
        "a huge number",
    ),
    ("graphs.0.ops.1.kind", "node", "graphs[0].ops[1].kind", "one of 'input', 'layer', 'model', 'operation'", "'node'"),
    ("graphs.0.ops.1.depth", 2, "graphs[0].ops[1].depth", "at most 1", "2"),
    ("graphs.0.ops.1.depth", -1, "graphs[0].ops[1].depth", "an integer of 0 or more", "-1"),
    (
        "graphs.0.ops.1.graph",
        0,
        "graphs[0].ops[1].graph",
        "the number of a later graph that is not used elsewhere",
        "0",
    ),
    (
        "graphs.0.ops.1.graph",
        2,
        "graphs[0].ops[1].graph",
        "the number of a later graph that is not used elsewhere",
        "2",
    ),
    (
        "graphs.0.ops.1.graph",
        10**400,
        "graphs[0].ops[1].graph",
        "the number of a later graph that is not used elsewhere",
        "1" + "0" * 400,
    ),
    ("graphs.0.ops.1.graph", ..., "graphs[1]", "an op with the graph 1", "none"),
    (
        "graphs.0.root.variables.0.shape",
        "x" * 100,
        "graphs[0].root.variables[0].shape",
        "a list",
        "'" + "x" * 55 + "...",
    ),
    ("deep", [1], "deep[0]", 'one {"$deep": 0} in the text', "none"),
    ("deep", [{"$deep": 0}], "deep[0]", "the number of an earlier part of 'deep' that is not used elsewhere", "0"),
]


@pytest.mark.parametrize(
    ("path", "value", "where", "expected", "found"), WRONG, ids=[f"{row[0]}-{str(row[1])[:9]}" for row in WRONG]
)
def test_error_gives_location_expected_and_found(
    path: str, value: object, where: str, expected: str, found: str
) -> None:
    with pytest.raises(FormatError) as caught:
        Graph.from_json(edited(path, value))

    assert str(caught.value) == (
        f"Cannot read the graph: invalid JSON at {where}.\n  expected: {expected}\n  found:    {found}"
    )
    assert caught.value.path == where
    assert isinstance(caught.value, ValueError)


TAGS = "one of $bytes, $complex, $constant, $deep, $dict, $ellipsis, $float, $int, $ref, $slice, $tuple"


@pytest.mark.parametrize(
    ("argument", "expected", "found"),
    [
        ({"$what": 1}, TAGS, "'$what': 1"),
        ({"$ref": 1}, "valid content of '$ref'", "'$ref': 1"),
        ({"$ref": ["a", "b"]}, "valid content of '$ref'", "'$ref': a list"),
        ({"$ref": ["a", -1]}, "valid content of '$ref'", "'$ref': a list"),
        ({"$ref": "a", "b": 1}, "'$ref' alone", "2 fields"),
        ({"$tuple": {}}, "a list in '$tuple'", "an object"),
        ({"$slice": [1]}, "three items in '$slice'", "1"),
        ({"$dict": [[1]]}, "a list of pairs in '$dict'", "a list"),
        ({"$dict": 1}, "a list of pairs in '$dict'", "1"),
        ({"$dict": [[[], 1]]}, "keys that are plain data, without repetition", "others"),
        ({"$dict": [[1, 1], [1, 2]]}, "keys that are plain data, without repetition", "others"),
        ({"$float": "1.5"}, "valid content of '$float'", "'$float': '1.5'"),
        ({"$float": []}, "valid content of '$float'", "'$float': a list"),
        ({"$int": "x"}, "valid content of '$int'", "'$int': 'x'"),
        ({"$complex": 1}, "valid content of '$complex'", "'$complex': 1"),
        ({"$bytes": "x"}, "valid content of '$bytes'", "'$bytes': 'x'"),
        ({"$ellipsis": False}, "valid content of '$ellipsis'", "'$ellipsis': False"),
        ({"$constant": {"kind": "array"}}, "valid content of '$constant'", "'$constant': an object"),
        (
            {"$constant": {"kind": "array", "class_name": "A", "shape": [None]}},
            "valid content of '$constant'",
            "'$constant': an object",
        ),
        (
            {"$constant": {"kind": "array", "class_name": "A", "shape": 1}},
            "valid content of '$constant'",
            "'$constant': an object",
        ),
        ({"$deep": 0}, "the number of an earlier part of 'deep' that is not used elsewhere", "0"),
    ],
)
def test_error_in_a_nested_argument_gives_its_location(argument: object, expected: str, found: str) -> None:
    with pytest.raises(FormatError) as caught:
        Graph.from_json(edited("graphs.0.calls.1.args", [1, {"a": [{"$tuple": [argument]}]}]))

    assert (caught.value.expected, caught.value.found) == (expected, found)
    assert caught.value.path == "graphs[0].calls[1].args[1].a[0].$tuple[0]"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "Expecting value: line 1 column 1 (char 0)"),
        ('{"ramet_graph": NaN}', "the word NaN"),
        ('{"ramet_graph": 1, "ramet_graph": 1}', "an object with a repeated field"),
        ("[" * 100_000, "lists and objects nested too deeply"),
        ('{"a":' * 100_000, "lists and objects nested too deeply"),
    ],
    ids=["empty", "nan", "twice", "lists", "objects"],
)
def test_text_that_is_not_json_is_refused(text: str, found: str) -> None:
    with pytest.raises(FormatError) as caught:
        Graph.from_json(text)

    assert str(caught.value) == f"Cannot read the graph: the text is not JSON.\n  found:    {found}"


def test_number_with_too_many_digits_is_refused() -> None:
    with pytest.raises(FormatError, match="the text is not JSON"):
        Graph.from_json('{"ramet_graph": ' + "1" * 10_000 + "}")


def test_argument_nested_too_deeply_is_refused() -> None:
    argument: object = 1
    for _ in range(41):
        argument = [argument]

    with pytest.raises(FormatError) as caught:
        Graph.from_json(edited("graphs.0.calls.1.args", [argument]))

    assert caught.value.expected == "at most 40 levels (deeper parts belong in 'deep')"


def test_short_text_cannot_expand_to_a_huge_argument() -> None:
    # Each part contains the one before twice: 50 lines would expand to 2 to the power of 50 numbers.
    document = json.loads(small().to_json())
    document["deep"] = [1] + [[{"$deep": n}, {"$deep": n}] for n in range(50)]

    with pytest.raises(FormatError, match=r"invalid JSON at deep\[1\]\[1\]"):
        Graph.from_json(json.dumps(document))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["$ref", "$tuple", "$dict", "$deep", "$slice", "$int", "a"]), inner, max_size=2
        )
    ),
    max_leaves=5,
)


@few
@given(st.data())
def test_any_json_is_read_or_refused_with_a_location(data: st.DataObject) -> None:
    document = json.loads(data.draw(st.sampled_from([masked(), nested()])).to_json())
    target: Any = document
    while True:
        key = data.draw(st.sampled_from(sorted(target) if isinstance(target, dict) else list(range(len(target)))))
        if not isinstance(target[key], dict | list) or not target[key] or data.draw(st.integers(0, 3)) == 0:
            break
        target = target[key]
    target[key] = data.draw(json_values)

    try:
        graph = Graph.from_json(json.dumps(document))
    except FormatError as error:
        complete = bool(error.path and error.found)
    else:
        complete = Graph.from_json(graph.to_json()) == graph
    assert complete


def test_children_at_several_levels_keep_their_parents() -> None:
    leaf = layer("leaf", "Leaf")
    tree = layer(
        "a", "A", children=(layer("b", "B", children=(leaf,)), layer("c", "C"), layer("d", "D", children=(leaf,)))
    )
    graph = Graph("tree", "Tree", "subclassed", ops=(tree, leaf, tree.with_changes(id="e")), extras=(tree,))

    assert Graph.from_json(graph.to_json()) == graph


def test_order_of_outputs_and_settings_is_kept() -> None:
    graph = small().with_changes(outputs=freeze({"z": Ref("add"), "a": Ref("d")}))
    settings = layer("l", "L", config=config(z=1, a=2))

    again = Graph.from_json(graph.with_changes(extras=(settings,)).to_json())

    assert list(again.outputs) == ["z", "a"]  # type: ignore[arg-type]
    assert list(again.extras[0].config or ()) == ["z", "a"]
