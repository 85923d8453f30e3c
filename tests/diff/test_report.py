"""A diff as text, Markdown, HTML and JSON: readable, and safe for any name."""

import copy
import html
import json
import pickle

import pytest

from ramet._diff import ABSENT, Change, Diff, diff_graphs
from ramet._graph import FrozenDict, Graph, Op, Ref, freeze, freeze_dict
from ramet.errors import FormatError
from tests.diff.edit import change_op, insert_after, rename
from tests.graph.sample import masked, small

pytestmark = pytest.mark.no_backend


def example() -> Diff:
    """Return a diff with a change of every kind."""
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
  head  kernel: moved by 25 % of the norm, largest change 0.25; 64 of 64 numbers changed

Consequences
  output shape    head (None, 10) -> (None, 100), and 1 more
  variable shape  head/kernel (64, 10) -> (64, 100)"""


def test_text_lists_all_sections():
    assert str(example()) == TEXT


def test_markdown_has_a_heading_for_each_section():
    lines = diff_graphs(small(), change_op(insert_after(small(), "d", "norm", "Norm"), "d", trainable=False))

    assert lines.to_markdown() == (
        "**`small`: 1 added, 1 setting changed**\n\n"
        "### Added\n\n- `norm` `Norm`, between `d#2` and `add`\n\n"
        "### Settings\n\n- `d` `trainable`: `True` → `False`\n"
    )


def test_empty_diff_prints_no_difference():
    diff = diff_graphs(masked(), masked())

    assert str(diff) == "masked: no difference"
    assert diff.to_markdown() == "**`masked`: no difference**\n"
    assert repr(diff) == "<Diff of 'masked' and 'masked': no difference>"


def test_repr_of_a_change_is_one_line():
    assert repr(Change("setting", "d", "d", "units", 1, 2)) == "<Change setting: d: units: 1 -> 2>"


def test_long_lists_are_cut_in_text_and_complete_in_json():
    changes = tuple(Change("added", None, f"d{number}", "Dense") for number in range(500))
    diff = Diff("a", "a", changes)

    assert len(str(diff).splitlines()) == 24
    assert str(diff).endswith("and 480 more; `to_json()` lists them all")
    assert len(json.loads(diff.to_json())["changes"]) == 500


def frozen(*names):
    return [Change("setting", name, name, "trainable", True, False) for name in names]


def test_similar_changes_share_a_row_and_rare_changes_come_first():
    blocks = [f"block_{number}" for number in range(59)]
    changes = (
        *frozen(*blocks[:30]),
        Change("setting", "top_dropout", "top_dropout", "rate", 0.2, 0.5),
        *frozen(*blocks[30:]),
        Change("setting", "head", "head", "units", 1000, 10),
    )

    assert str(Diff("net", "net", changes)).splitlines() == [
        "net: 61 settings changed",
        "",
        "Settings",
        "  top_dropout  rate: 0.2 -> 0.5",
        "  head         units: 1000 -> 10",
        "  59 layers    frozen (trainable: True -> False): block_0 to block_58",
    ]


def test_every_format_has_the_same_rows():
    changes = (*frozen("a", "b", "c", "d"), Change("setting", "e", "e", "units", 1, 2))
    diff = Diff("net", "net", changes)

    assert diff.to_markdown().splitlines()[-2:] == [
        "- `e` `units`: `1` → `2`",
        "- 4 layers frozen (`trainable`: `True` → `False`): `a` to `d`",
    ]
    page = diff._repr_html_()
    assert page.index("<code>units</code>") < page.index("4 layers") < page.index("frozen (<code>trainable</code>")


def test_few_similar_changes_have_rows_of_their_own():
    assert "layers" not in str(Diff("net", "net", tuple(frozen("a", "b", "c"))))


def test_one_setting_changed_to_many_values_is_one_row():
    changes = tuple(Change("setting", f"d{number}", f"d{number}", "rate", number / 100, 0.5) for number in range(16))

    assert str(Diff("net", "net", changes)).splitlines()[-1] == (
        "  16 layers  rate: 0.0 -> 0.5 in d0, and 15 more to other values"
    )


def weights_change(path, difference, norm=1.0, *, kind="weights", size=4):
    measure = freeze_dict({"size": size, "changed": 4, "difference": difference, "largest": difference})
    return Change(kind, path, path, "values", freeze_dict({"dtype": "float32", "norm": norm}), freeze_dict({}), measure)


def test_weights_that_moved_furthest_come_first():
    changes = tuple(weights_change(f"d{n}/kernel", difference) for n, difference in enumerate((0.1, 0.5, 0.1, 0.9)))
    lines = str(Diff("net", "net", changes)).splitlines()

    assert [line.split()[0] for line in lines[3:]] == ["d3", "d1", "d0", "d2"]


@pytest.mark.parametrize(
    ("difference", "norm", "words"),
    [
        (0.000003, 1.0, "by 0.0003 % of the norm"),
        (1e-12, 1.0, "by less than 0.000001 % of the norm"),
        (0.12345, 1.0, "by 12 % of the norm"),
        (0.012345, 1.0, "by 1.2 % of the norm"),
        (9.99, 1.0, "by 999 % of the norm"),
        (383.6988, 1.0, "by 384 times the old norm"),
        (5e9, 1.0, "by more than a million times the old norm"),
        (2.5, 0.0, "from zero to a norm of 2.5"),
    ],
)
def test_distances_are_printed_with_as_many_digits_as_needed(difference, norm, words):
    line = str(Diff("net", "net", (weights_change("d/kernel", difference, norm),))).splitlines()[-1]

    assert f"kernel: moved {words}, largest change {difference:.3g}" in line


def test_optimizer_is_summarized_by_its_counters_and_one_row():
    count, then = (freeze_dict({"dtype": "int64", "norm": number, "value": number}) for number in (3, 6))
    one = freeze_dict({"size": 1, "changed": 1, "difference": 3.0, "largest": 3.0})
    slots = [weights_change(f"optimizer/{n}", 0.5, kind="optimizer") for n in range(2, 8)]
    changes = (Change("optimizer", "optimizer/0", "optimizer/0", "values", count, then, one), *slots)

    assert str(Diff("net", "net", changes)).splitlines() == [
        "net: 7 optimizer variables changed",
        "",
        "Optimizer",
        "  optimizer/0  3 -> 6",
        "  6 variables  moved by 50 % of the norm, largest change 0.5; 24 of 24 numbers changed",
    ]


def test_every_format_lists_what_was_not_compared():
    diff = Diff("net", "net", not_compared=("the date", "<a> @team"))

    assert str(diff) == "net: no difference\n\nNot compared\n  the date\n  <a> @team"
    assert diff.to_markdown() == "**`net`: no difference**\n\n### Not compared\n\n- the date\n- `<a> @team`\n"
    assert ">the date</td>" in diff._repr_html_()
    assert ">&lt;a&gt; @team</td>" in diff._repr_html_()
    assert json.loads(diff.to_json())["not_compared"] == ["the date", "<a> @team"]
    assert Diff.from_json(diff.to_json()) == diff == diff.mirrored()
    assert not diff


def test_long_values_are_not_shown_as_equal():
    change = Change("setting", "d", "d", "text", "x" * 500 + "a", "x" * 500 + "b")

    assert repr(change).endswith("(they differ beyond the part shown)>")


def test_renumbered_names_share_a_row():
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
def test_hostile_names_are_harmless_in_every_format(name):
    diff = hostile_diff(name)

    assert diff.changes
    assert all(line.isprintable() for line in str(diff).split("\n"))
    assert all(line.isprintable() for line in diff.to_markdown().split("\n"))
    assert "<script" not in diff._repr_html_()
    assert repr(diff.changes[0]).isprintable()
    assert Diff.from_json(diff.to_json()) == diff


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_puts_every_name_into_a_code_span(name):
    outside = _outside_spans(hostile_diff(name).to_markdown())

    assert all(word not in outside for word in ("<script", "http", "@team", "|", "bold", "HOME", "rm"))


def _outside_spans(text: str) -> str:
    """Return the Markdown without its code spans, by the rule of CommonMark: a run of backticks ends at an equal run."""
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


def test_html_has_the_content_of_the_text():
    page = html.unescape(example()._repr_html_())

    assert "<code>stem/norm</code>" in page
    assert "by 25 % of the norm" in page


def test_json_schema():
    diff = Diff("a", "b", (Change("setting", "d", "d", "units", 1, None), Change("added", None, "e", "E")), compared=3)

    assert json.loads(diff.to_json()) == {
        "ramet": "diff",
        "version": 1,
        "before": "a",
        "after": "b",
        "compared": 3,
        "changes": [
            {"kind": "setting", "before": "d", "after": "d", "what": "units", "old": 1, "new": None},
            {"kind": "added", "after": "e", "what": "E"},
        ],
        "consequences": [],
    }


def test_header_of_earlier_versions_can_be_read():
    text = '{"ramet_diff": 1, "before": "a", "after": "b", "changes": [], "consequences": []}'

    assert Diff.from_json(text) == Diff("a", "b")


def test_diff_survives_json_pickle_and_copy():
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
        ('{"ramet": "graph", "version": 1}', "ramet"),
        ('{"ramet": "diff", "version": 2}', "version"),
        ('{"ramet": "diff"}', "the whole text"),
        ('{"ramet_diff": 2}', "ramet_diff"),
        ('{"ramet": "diff", "version": 1, "before": "a", "after": 3}', "after"),
        ('{"ramet": "diff", "version": 1, "before": "a", "after": "b", "changes": [{"kind": "odd"}]}', "changes[0].kind"),
        ('{"ramet": "diff", "version": 1, "before": "a", "after": "b", "changes": [{"kind": "added", "x": 1}]}', "changes[0].x"),
        ('{"ramet": "diff", "version": 1, "before": "a", "after": "b", "extra": 1}', "extra"),
        ('{"ramet": "diff", "version": 1, "before": "a", "after": "b", "changes": [{"kind": "added", "measure": 1}]}', "changes[0].measure"),
        ("[" * 100_000, "the whole text"),
    ],
)  # fmt: skip
def test_invalid_json_is_refused_with_its_location(text, where):
    with pytest.raises(FormatError, match="Cannot read the diff: ") as caught:
        Diff.from_json(text)

    assert caught.value.path == where


def test_changes_distinguish_values_that_python_takes_for_equal():
    one = Change("setting", "d", "d", "units", 1, 2)

    assert one != Change("setting", "d", "d", "units", True, 2)
    assert one != Change("setting", "d", "d", "units", 1.0, 2)
    assert Change("setting", "d", "d", "x", float("nan"), 2) == Change("setting", "d", "d", "x", float("nan"), 2)
    assert rename(small(), "d", "e") != small()
    assert FrozenDict() == one.measure
