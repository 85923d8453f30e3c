"""What the verbs return shows itself: one line as its repr, its text when printed, harmless HTML in a notebook."""

import html.parser
import re

import keras
import numpy as np
import pytest

import ramet
from ramet import edits as e
from ramet._diff.html import html as diff_html
from ramet._files.scan import Finding, ScanReport
from ramet._graph import Call, Graph, Ref
from ramet._graph.notebook import preformatted

layers = keras.layers
HOSTILE = "<img src=x onerror=alert(1)>&\u202e'\""


def make(name, units=4):
    x = keras.Input((4,), name="x")
    hidden = layers.Dense(units, activation="relu", name="hidden")(x)
    return keras.Model(x, layers.Dense(2, name="out")(hidden), name=name)


@pytest.fixture(scope="module")
def results():
    """One result of every verb, about models with a name that would like to be more than a name."""
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
    return {
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
    *("Graph", "Plan", "Step", "Touch", "Report", "Report that failed", "Check", "Difference", "Diff", "Change"),
    *("TransferReport", "TransferredWeight", "Selection", "Match", "Picture", "Recipe", "ScanReport", "Finding"),
)


@pytest.mark.parametrize("name", NAMES)
def test_the_repr_is_one_readable_line(results, name):
    text = repr(results[name])

    assert re.fullmatch(rf"<{name.partition(' ')[0]} .+>", text)
    assert text.isprintable()
    assert len(text) < 300
    assert "(path=" not in text  # no dump of fields


def test_what_the_reprs_say(results):
    model = make("net")
    plan = ramet.plan(model, e.freeze("hidden"), e.update("out", units=3, weights="fresh"))
    report = ramet.verify(model, ramet.clone(model), only=["structure", "state"], progress=False)

    assert repr(plan) == "<Plan for 'net': 2 edits, 2 ops touched>"
    assert repr(report) == "<Report 'net' is a twin of 'net': 2 passed>"
    assert repr(results["Report that failed"]["state"]).startswith("<Check 'state': failed, ")
    assert repr(ramet.select(model, "hidden")) == "<Selection named('hidden'): 1 of 3 ops, 20 parameters>"
    assert repr(ramet.select(model, "hidden")[0]) == "<Match 'hidden': Dense, 20 parameters>"
    assert repr(ramet.Recipe("slim", (e.freeze("hidden"),))) == "<Recipe 'slim': 1 edit>"
    assert repr(ramet.diff(model, ramet.clone(model))) == "<Diff of 'net' and 'net': no difference>"
    assert repr(e.freeze("hidden")) == "freeze(named('hidden'))"
    assert repr(ramet.named("a*") & ramet.nth(0)) == "named('a*') & nth(0)"


@pytest.mark.parametrize(
    "name", ["Plan", "Report", "Diff", "TransferReport", "Selection", "Recipe", "ScanReport", "Graph"]
)
def test_print_shows_more_than_the_repr(results, name):
    assert "\n" in str(results[name])
    assert str(results[name]) != repr(results[name])


class Tags(html.parser.HTMLParser):
    """The tags of a text, with those of the pages in its frames."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {key for key, _ in attrs}


@pytest.mark.parametrize("name", NAMES)
def test_html_holds_names_only_as_text(results, name):
    shown = results[name]._repr_html_()
    found = Tags(shown)

    assert found.tags <= {"div", "p", "pre", "table", "tr", "td", "th", "code", "strong", "small", "br", "iframe"}
    assert found.attributes <= {"style", "colspan", "title", "sandbox", "srcdoc"}
    assert "\u202e" not in shown
    # Frames may run their own script, and cannot reach the notebook.
    assert shown.count("<iframe") == shown.count('sandbox="allow-scripts"')


def test_a_graph_is_drawn_and_told_as_text_where_drawing_fails(results, monkeypatch):
    graph = results["Graph"]
    assert graph._repr_html_().startswith("<iframe")

    def fail(*_, **__):
        raise ImportError("no module named 'fast_sugiyama'")

    monkeypatch.setattr("ramet._draw.draw_graph", fail)
    assert graph._repr_html_() == preformatted(str(graph))
    assert "hidden" in graph._repr_html_()


def test_a_huge_graph_is_told_as_text_and_cut():
    dense = ramet.capture(make("small")).ops[1]
    calls = [Call("c0", "c0")]
    ops = [dense.with_changes(id=f"c{number}") for number in range(3001)]
    calls += [Call(f"c{number}", f"c{number}", args=(Ref(f"c{number - 1}"),)) for number in range(1, 3001)]
    shown = Graph("huge", "Functional", ops=tuple(ops), calls=tuple(calls), outputs=Ref("c3000"))._repr_html_()

    assert shown.startswith("<pre")
    assert "more lines; print it to see them all" in shown
    assert len(shown) < 200_000


@pytest.mark.parametrize("name", NAMES)
def test_a_renderer_that_fails_raises_nothing(results, name, monkeypatch):
    def fail(*_):
        raise RuntimeError("broken")

    kind = type(results[name])
    for method in ("_html", "_line", "__str__"):
        monkeypatch.setattr(kind, method, fail, raising=False)

    assert results[name]._repr_html_() is None
    assert repr(results[name]).startswith("<")
    assert printed(results[name], depth=1).startswith("<")


def test_a_picture_that_fails_costs_only_the_picture(results, monkeypatch):
    report = results["Report that failed"]
    assert report._repr_html_().count("<iframe") == 1

    monkeypatch.setattr("ramet._verify.picture.picture_of", lambda *_: 1 / 0)
    assert "<iframe" not in report._repr_html_()
    assert "✗ state" in report._repr_html_()


def test_a_report_is_printed_in_a_notebook_and_not_displayed(results, monkeypatch):
    """In a notebook, rich displays what it is told to print, wherever it is told to print it."""
    expected = str(results["Report"])
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *_: pytest.fail("it was displayed"))

    assert str(results["Report"]) == expected


def printed(result, depth):
    """What IPython prints, as far as its printer matters here."""

    class Printer:
        stack = tuple(range(depth))
        written = ""

        def text(self, text):
            self.written += text

    printer = Printer()
    result._repr_pretty_(printer, cycle=False)
    return printer.written


def test_ipython_shows_the_text_and_inside_a_list_one_line_each(results):
    plan = results["Plan"]

    assert printed(plan, depth=1) == str(plan)
    assert printed(plan, depth=2) == repr(plan)


def test_a_diff_page_aligns_its_cells(results):
    assert "text-align:left" in diff_html(results["Diff"])
