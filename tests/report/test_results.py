"""Results print themselves: one line as their repr, text when printed, HTML in a notebook, Markdown and JSON."""

import dataclasses
import html
import html.parser
import io
import json
import re

import keras
import numpy as np
import pytest

import ramet
from ramet import edits as e
from ramet._files import Finding, ScanReport, list_file, open_model_file
from ramet._graph import Call, Graph, Ref
from ramet._report import Result

layers = keras.layers
HOSTILE = "<img src=x onerror=alert(1)>&\u202e'\""


def make(name, units=4):
    x = keras.Input((4,), name="x")
    hidden = layers.Dense(units, activation="relu", name="hidden")(x)
    return keras.Model(x, layers.Dense(2, name="out")(hidden), name=name)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return one result of every verb, about models with a hostile name."""
    model, other = make(HOSTILE), make(HOSTILE, units=6)
    bad = ramet.clone(model)
    bad.get_layer("out").bias.assign(np.ones(2))
    plan = ramet.plan(model, e.freeze("hidden"), e.update("hidden", activation="gelu"))
    passed, failed = (
        ramet.verify(model, one, only=["state", "outputs"], progress=False) for one in (ramet.clone(model), bad)
    )
    diff = ramet.diff(model, other)
    moved = ramet.transfer(model, other, policy="pad", dry_run=True)
    found = ramet.select(model, ramet.of_class("Dense"))
    finding = Finding("unsafe", "lambda", f"code in {HOSTILE}", "runs it", "config.json", HOSTILE)
    path = tmp_path_factory.mktemp("files") / "m.keras"
    model.save(path)
    with open_model_file(path) as file:
        listing = list_file(file, weights=True)
    return {
        "FileListing": listing,
        "Graph": ramet.capture(model),
        "Plan": plan,
        "Step": plan.steps[0],
        "Touch": plan.steps[0].touched[0],
        "Report": passed,
        "Report that failed": failed,
        "Check": failed["state"],
        "Difference": failed["state"].differences[0],
        "Diff": diff,
        "Change": diff.changes[0],
        "TransferReport": moved,
        "TransferredWeight": moved.weights[0],
        "Selection": found,
        "Match": found[0],
        "Picture": ramet.draw(model),
        "Recipe": ramet.Recipe(HOSTILE, (e.freeze("hidden"),)),
        "ScanReport": ScanReport(HOSTILE, "model", "3.15.1", (finding,)),
        "Finding": finding,
    }


NAMES = (
    *(
        "FileListing",
        "Graph",
        "Plan",
        "Step",
        "Touch",
        "Report",
        "Report that failed",
        "Check",
        "Difference",
        "Diff",
        "Change",
    ),
    *("TransferReport", "TransferredWeight", "Selection", "Match", "Picture", "Recipe", "ScanReport", "Finding"),
)


@pytest.mark.parametrize("name", NAMES)
def test_repr_is_one_readable_line(results, name):
    text = repr(results[name])

    assert re.fullmatch(rf"<{name.partition(' ')[0]} .+>", text)
    assert text.isprintable()
    assert len(text) < 300
    assert "(path=" not in text  # no dump of fields


def test_reprs_summarize(results):
    model = make("net")
    plan = ramet.plan(model, e.freeze("hidden"), e.update("out", units=3, weights="fresh"))
    report = ramet.verify(model, ramet.clone(model), only=["structure", "state"], progress=False)

    assert repr(plan) == "<Plan for 'net': 2 edits, 2 ops touched>"
    assert repr(report) == "<Report 'net' matches 'net' in the checks that were chosen: 2 passed>"
    assert repr(results["Report that failed"]["state"]).startswith("<Check 'state': failed, ")
    assert repr(ramet.select(model, "hidden")) == "<Selection named('hidden'): 1 of 3 ops, 20 parameters>"
    assert repr(ramet.select(model, "hidden")[0]) == "<Match 'hidden': Dense, 20 parameters>"
    assert repr(ramet.Recipe("slim", (e.freeze("hidden"),))) == "<Recipe 'slim': 1 edit>"
    assert repr(ramet.diff(model, ramet.clone(model))) == "<Diff of 'net' and 'net': no difference>"
    assert repr(e.freeze("hidden")) == "freeze(named('hidden'))"
    assert repr(ramet.named("a*") & ramet.nth(0)) == "named('a*') & nth(0)"


RESULTS = ("FileListing", "Graph", "Plan", "Report", "Diff", "TransferReport", "Selection", "Recipe", "ScanReport")


@pytest.mark.parametrize("name", RESULTS)
def test_print_shows_more_than_the_repr(results, name):
    assert "\n" in str(results[name])
    assert str(results[name]) != repr(results[name])
    assert results[name].to_text() == str(results[name])


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_markdown_and_a_page(results, name):
    text, page = results[name].to_markdown(), results[name].to_html()

    assert text.startswith("**")
    assert text.replace("\n", "").isprintable()
    assert page.lower().startswith("<!doctype html>")
    assert "<img" not in page
    assert "\u202e" not in page


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("FileListing", "show"),
        ("Graph", "graph"),
        ("Plan", "plan"),
        ("Report", "verify"),
        ("Diff", "diff"),
        ("TransferReport", "transfer"),
        ("Selection", "selection"),
        ("ScanReport", "scan"),
    ],
)
def test_every_json_document_has_the_same_header(results, name, kind):
    text = results[name].to_json()

    assert list(json.loads(text).items())[:2] == [("ramet", kind), ("version", 1)]
    assert text.isascii()


@pytest.mark.parametrize("name", RESULTS)
def test_rich_prints_the_same_text(results, name):
    console = pytest.importorskip("rich.console").Console(file=io.StringIO(), width=1000, force_terminal=True)
    console.print(results[name])
    printed = re.sub(r"\x1b\[[\d;]*m", "", console.file.getvalue())

    assert [line.rstrip() for line in printed.rstrip().split("\n")] == results[name].to_text().split("\n")


class Tags(html.parser.HTMLParser):
    """The tags of a text, which are all closed in order, and their attributes."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.ids, self._open = set(), set(), [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {key for key, _ in attrs}
        self.ids += [value for key, value in attrs if key in ("id", "name")]
        if tag not in ("br", "img"):
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag


@pytest.mark.parametrize("name", NAMES)
def test_html_contains_names_only_as_text(results, name):
    page = results[name]._repr_html_()
    found = Tags(page)

    assert found.tags <= {
        *("div", "style", "p", "pre", "details", "summary", "table", "thead", "tbody", "tr", "td", "th"),
        *("code", "strong", "small", "br", "iframe", "img"),
    }
    assert found.attributes <= {"class", "style", "open", "title", "sandbox", "srcdoc", "alt", "src"}
    assert "\u202e" not in page
    # Frames may run their own scripts, but cannot reach the notebook. Images contain their data.
    assert page.count("<iframe") == page.count('sandbox="allow-scripts"')
    assert page.count("<img ") == page.count('" src="data:image/svg+xml;base64,')


@pytest.mark.parametrize("name", NAMES)
def test_same_result_can_be_shown_twice(results, name):
    page = results[name]._repr_html_()

    # Anything with an id would exist twice in the notebook.
    assert Tags(page + page).ids == []
    assert page == results[name]._repr_html_()


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("Report", "✓ &#x27;"),
        ("Report that failed", "✗ &#x27;"),
        ("TransferReport", "✓ "),
        ("ScanReport", "✗ "),
        ("Finding", "✗ "),
    ],
)
def test_html_starts_with_the_verdict(results, name, verdict):
    title = re.search("<strong[^>]*>(.*?)</strong>", results[name]._repr_html_())[1]

    assert title.startswith(verdict)
    # The rest is the first line of the text.
    text = html.unescape(re.sub("<[^>]*>", "", title)).replace("→", "->")
    assert text.partition(" ")[2] == results[name].to_text().partition("\n")[0]


def test_graph_is_drawn_or_printed_if_drawing_fails(results, monkeypatch):
    graph = results["Graph"]
    assert "<iframe" in graph._repr_html_()

    def fail(*_, **__):
        raise RuntimeError("broken")

    monkeypatch.setattr("ramet._draw.draw_graph", fail)
    assert graph._repr_html_() == Result._html(graph)
    assert "hidden" in graph._repr_html_()


def huge(number=3001):
    """Return a graph with a long chain of layers."""
    dense = ramet.capture(make("small")).ops[1]
    ops = [dense.with_changes(id=f"c{number}") for number in range(number)]
    calls = [Call(f"c{i}", f"c{i}", args=(Ref(f"c{i - 1}"),) if i else ()) for i in range(number)]
    return Graph("huge", "Functional", ops=tuple(ops), calls=tuple(calls), outputs=Ref(f"c{number - 1}"))


def test_huge_graph_is_printed_and_cut():
    page = huge()._repr_html_()

    assert "<iframe" not in page
    assert "and 2,601 more; print it to see them all" in page
    assert len(page) < 200_000


def test_large_picture_has_no_image_for_readers_without_frames():
    assert "<img" in huge(200)._repr_html_()
    assert "<img" not in huge(400)._repr_html_()


@pytest.mark.parametrize("side", [0, 1])
def test_failed_report_on_a_huge_model_has_no_picture(results, side):
    failed = results["Report that failed"]
    graphs = list(failed.graphs)
    graphs[side] = huge()
    report = dataclasses.replace(failed, graphs=tuple(graphs))

    assert "<iframe" not in report._repr_html_()
    assert "✗ state" in report._repr_html_()


def test_plan_with_many_edits_is_cut():
    model = make("net")
    page = ramet.plan(model, *[e.freeze("hidden")] * 1000)._repr_html_()

    assert "and 800 more sections; print it to see them all" in page
    assert page.count("<details") == 200
    assert len(page) < 100_000


@pytest.mark.parametrize("name", NAMES)
def test_failing_renderer_does_not_raise(results, name, monkeypatch):
    def fail(*_):
        raise RuntimeError("broken")

    kind = type(results[name])
    for method in ("_html", "_summary", "__str__"):
        monkeypatch.setattr(kind, method, fail, raising=False)

    assert results[name]._repr_html_() is None
    assert repr(results[name]).startswith("<")
    assert printed(results[name], depth=1).startswith("<")


def test_report_without_its_picture_is_shown_if_the_picture_fails(results, monkeypatch):
    report = results["Report that failed"]
    assert report._repr_html_().count("<iframe") == 1

    monkeypatch.setattr("ramet._verify.report.picture_of", lambda *_: 1 / 0)
    assert "<iframe" not in report._repr_html_()
    assert "✗ state" in report._repr_html_()


def printed(result, depth):
    """Return the text that IPython prints for a result at this depth of its printer."""

    class Printer:
        stack = tuple(range(depth))
        written = ""

        def text(self, text):
            self.written += text

    printer = Printer()
    result._repr_pretty_(printer, cycle=False)
    return printer.written


def test_ipython_shows_the_text_or_one_line_inside_a_list(results):
    plan = results["Plan"]

    assert printed(plan, depth=1) == str(plan)
    assert printed(plan, depth=2) == repr(plan)
