"""A diff as text, Markdown, HTML and JSON: readable, and safe whatever the names are."""

import copy
import html
import json
import pickle

import pytest

from ramet._diff import ABSENT, Change, Diff, diff_graphs
from ramet._graph import FormatError, FrozenDict, Graph, Op, Ref, freeze, freeze_dict
from tests.diff.edit import change_op, insert_after, rename
from tests.graph.sample import masked, small


def example() -> Diff:
    """Something of everything."""
    measure = freeze_dict({"size": 64, "changed": 64, "difference": 0.5, "largest": 0.25})
    old, new = (freeze_dict({"dtype": "float32", "norm": norm}) for norm in (2.0, 2.125))
    rates = [freeze({"class_name": "Adam", "config": {"name": "adam", "learning_rate": rate}}) for rate in (0.1, 0.2)]
    return Diff(
        "net",
        "net_2",
        (
            Change("renamed", "", "", "name", "net", "net_2"),
            Change("input", "image", "image", "shape", (None, 224, 224, 3), (None, 384, 384, 3)),
            Change("output", "", "", "outputs", Ref("head"), freeze([Ref("head"), Ref("aux")])),
            Change("added", None, "stem/norm", "BatchNormalization", new=freeze({"takes": (Ref("conv"),), "feeds": (Ref("relu"),)})),
            Change("added", None, "aux", "Dense", new=freeze({"takes": (Ref("pool"),), "feeds": (), "output": True})),
            Change("removed", "dropout", None, "Dropout", old=freeze({"takes": (Ref("pool"),), "feeds": (Ref("head"),)})),
            Change("moved", "pool", "neck/pool", "nesting", "", "neck"),
            Change("replaced", "act", "act", "class", "ReLU", "GELU"),
            Change("renamed", "backbone", "encoder", "name", "backbone", "encoder"),
            Change("setting", "head", "head", "units", 10, 100),
            Change("setting", "head", "head", "activation", "softmax", None),
            Change("setting", "encoder", "encoder", "trainable", True, False),
            Change("call", "shared", "shared", "number of calls", 2, 3),
            Change("call", "add", "add", "argument 0[1]", Ref("a"), Ref("b", 1)),
            Change("mask", "lstm", "lstm", "mask", Ref("not_equal"), ABSENT),
            Change("sharing", "out/kernel", "out/kernel", "tied", "embed/table"),
            Change("compile", "", "", "optimizer", *rates),
            Change("weights", "head/kernel", "head/kernel", "values", old, new, measure),
        ),
        (
            Change("value", "head", "head", "shape", (None, 10), (None, 100)),
            Change("value", "act", "act", "shape", (None, 10), (None, 100)),
            Change("variable", "head/kernel", "head/kernel", "shape", (64, 10), (64, 100)),
        ),
        40,
    )  # fmt: skip


TEXT = """\
net -> net_2: 2 added, 1 removed, 1 moved, 1 replaced, 2 renamed, 3 settings changed, 2 calls changed, 1 mask changed, \
1 input changed, 1 output changed, 1 sharing, 1 compile setting changed, weights of 1 of 40 variables

Inputs and outputs
  image      shape: (None, 224, 224, 3) -> (None, 384, 384, 3)
  the model  outputs: head -> [head, aux]

Added
  + stem/norm  BatchNormalization, between conv and relu
  + aux        Dense, after pool, an output

Removed
  - dropout  Dropout, between pool and head

Moved
  pool  -> neck/pool

Replaced
  act  ReLU -> GELU

Renamed
  the model  -> net_2
  backbone   -> encoder

Settings
  head     units: 10 -> 100
           activation: 'softmax' -> None
  encoder  trainable: True -> False

Calls
  shared  called 3 times (was twice)
  add     takes b[1] instead of a (argument 0[1])

Masks
  lstm  mask: not_equal -> not set

Sharing
  out/kernel  no longer the same variable as embed/table

Compile
  the model  optimizer: Adam(learning_rate=0.1) -> Adam(learning_rate=0.2)

Weights
  head  kernel: by 25.00% of the norm, 0.25 at most; 64 of 64 numbers

In consequence
  output shape    head (None, 10) -> (None, 100), and 1 more
  variable shape  head/kernel (64, 10) -> (64, 100)"""


def test_the_text_reads_like_a_good_commit():
    assert str(example()) == TEXT


def test_the_markdown_is_ready_for_a_pull_request():
    lines = diff_graphs(small(), change_op(insert_after(small(), "d", "norm", "Norm"), "d", trainable=False))

    assert lines.to_markdown() == (
        "**`small`: 1 added, 1 setting changed**\n\n"
        "### Added\n\n- `norm` `Norm`, between `d#2` and `add`\n\n"
        "### Settings\n\n- `d` `trainable`: `True` → `False`\n"
    )


def test_an_empty_diff_says_so():
    diff = diff_graphs(masked(), masked())

    assert str(diff) == "masked: no difference"
    assert diff.to_markdown() == "**`masked`: no difference**\n"
    assert repr(diff) == "<Diff of 'masked' and 'masked': no difference>"


def test_a_change_says_what_it_is():
    assert repr(Change("setting", "d", "d", "units", 1, 2)) == "<Change setting: d: units: 1 -> 2>"


def test_many_changes_are_cut_short_in_text_and_whole_in_json():
    changes = tuple(Change("setting", f"d{number}", f"d{number}", "units", 1, 2) for number in range(500))
    diff = Diff("a", "a", changes)

    assert len(str(diff).splitlines()) == 24
    assert str(diff).endswith("and 480 more; `to_json()` has all")
    assert len(json.loads(diff.to_json())["changes"]) == 500


def test_names_that_only_count_further_are_told_in_one_line():
    changes = tuple(
        Change("renamed", f"dense_{n}", f"dense_{n + 9}", "name", f"dense_{n}", f"dense_{n + 9}") for n in range(9)
    )

    assert str(Diff("a", "a", changes)).splitlines()[-1] == (
        "  9 names  differ only in their number: dense_0 -> dense_9, and so on"
    )


HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "line\nbreak",
    "<script>alert(1)</script>",
    "`; rm` ``two`` `",
    "[link](http://x) @team #1 ![i](x)",
    "a|b|c",
    "\u202eturned",
    "\x00",
    " ",
    "**bold** _it_",
    "$HOME {{x}} &amp;",
]


def hostile_diff(name: str) -> Diff:
    op = Op(name, "layer", name, config=freeze_dict({name: name}))
    graph = Graph(name, name, "subclassed", ops=(op, Op("other", "layer", name)))
    changed = graph.with_changes(
        name=f"{name}2", ops=(op.with_changes(config=freeze_dict({name: f"{name}!"}), class_name=f"{name}3"),)
    )
    return diff_graphs(graph, changed)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_can_act_on_a_terminal_or_a_page(name):
    diff = hostile_diff(name)

    assert diff.changes
    assert all(line.isprintable() for line in str(diff).split("\n"))
    assert all(line.isprintable() for line in diff.to_markdown().split("\n"))
    assert "<script" not in diff._repr_html_()
    assert repr(diff.changes[0]).isprintable()
    assert Diff.from_json(diff.to_json()) == diff


@pytest.mark.parametrize("name", HOSTILE)
def test_in_markdown_every_name_stands_in_a_code_span(name):
    outside = _outside_spans(hostile_diff(name).to_markdown())

    assert all(word not in outside for word in ("<script", "http", "@team", "|", "bold", "HOME", "rm"))


def _outside_spans(text: str) -> str:
    """The Markdown without its code spans, told apart by the rule of CommonMark: a run of backticks ends at an equal one."""
    kept, place = [], 0
    while place < len(text):
        if text[place] != "`":
            kept.append(text[place])
            place += 1
            continue
        run = len(text[place:]) - len(text[place:].lstrip("`"))
        end = place + run
        while True:
            end = text.index("`" * run, end)
            length = len(text[end:]) - len(text[end:].lstrip("`"))
            end += length
            if length == run:
                break
        place = end
    return "".join(kept)


def test_html_says_what_the_text_says():
    page = html.unescape(example()._repr_html_())

    assert "<code>stem/norm</code>" in page
    assert "by 25.00% of the norm" in page


def test_the_schema_of_the_json():
    diff = Diff("a", "b", (Change("setting", "d", "d", "units", 1, None), Change("added", None, "e", "E")), compared=3)

    assert json.loads(diff.to_json()) == {
        "ramet_diff": 1,
        "before": "a",
        "after": "b",
        "compared": 3,
        "changes": [
            {"kind": "setting", "before": "d", "after": "d", "what": "units", "old": 1, "new": None},
            {"kind": "added", "after": "e", "what": "E"},
        ],
        "consequences": [],
    }


def test_a_diff_survives_json_pickle_and_copy():
    diff = example()

    assert Diff.from_json(diff.to_json()) == diff
    assert pickle.loads(pickle.dumps(diff)) == diff
    assert copy.deepcopy(diff) is diff
    assert hash(Diff.from_json(diff.to_json())) == hash(diff)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{", "the whole text"),
        ("[]", "the whole text"),
        ("{}", "the whole text"),
        ('{"ramet_diff": 2}', "ramet_diff"),
        ('{"ramet_diff": 1, "before": "a", "after": 3}', "after"),
        ('{"ramet_diff": 1, "before": "a", "after": "b", "changes": [{"kind": "odd"}]}', "changes[0].kind"),
        ('{"ramet_diff": 1, "before": "a", "after": "b", "changes": [{"kind": "added", "x": 1}]}', "changes[0].x"),
        ('{"ramet_diff": 1, "before": "a", "after": "b", "extra": 1}', "extra"),
        ('{"ramet_diff": 1, "before": "a", "after": "b", "changes": [{"kind": "added", "measure": 1}]}', "changes[0].measure"),
        ("[" * 100_000, "the whole text"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_diff_is_refused_with_the_place(text, where):
    with pytest.raises(FormatError, match="Cannot read the diff: ") as caught:
        Diff.from_json(text)

    assert caught.value.path == where


def test_changes_tell_apart_what_python_holds_for_equal():
    one = Change("setting", "d", "d", "units", 1, 2)

    assert one != Change("setting", "d", "d", "units", True, 2)
    assert one != Change("setting", "d", "d", "units", 1.0, 2)
    assert Change("setting", "d", "d", "x", float("nan"), 2) == Change("setting", "d", "d", "x", float("nan"), 2)
    assert rename(small(), "d", "e") != small()
    assert FrozenDict() == one.measure
