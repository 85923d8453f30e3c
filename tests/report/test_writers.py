"""Documents as text, colored text, Markdown and HTML, compared with texts written by hand."""

import ctypes
import io
import re
import sys
import types

import pytest

from ramet._report import (
    Code,
    Document,
    Row,
    Section,
    Style,
    has_color,
    is_terminal,
    paint,
    to_ansi,
    to_html,
    to_text,
)
from ramet._report.markup import html_page, preformatted, to_markdown

pytestmark = pytest.mark.no_backend

DOCUMENT = Document(
    (Code("net"), " -> ", Code("net_2"), ": 2 changes"),
    (
        Section(
            "Added",
            (
                Row((Code("norm"), (Code("BatchNormalization"), ", after ", Code("conv"))), "+", "good"),
                Row((Code("block/norm"), ("a", " -> ", "b"))),
            ),
            more=1500,
            more_note=" layers",
        ),
        Section(rows=(Row((("skipped ", Code("relu"), ": it is shared"),), style="warning"),)),
        Section("2 weights adapted:", (Row(("w", "(1,)")),), level=2, style=""),
        Section(
            "Checks",
            (
                Row(("state", "2 differences"), "✗", "", "bad", (Row(("a: 1 became 2",), style="dim"),)),
                Row(("outputs", "equal"), "✓", "", "good"),
            ),
        ),
    ),
    about=("Keras 3",),
    complete="`to_json()`",
)


def test_document_as_plain_text() -> None:
    assert (
        to_text(DOCUMENT)
        == """\
net -> net_2: 2 changes
  Keras 3

Added
  + norm        BatchNormalization, after conv
    block/norm  a -> b
  and 1,500 more layers; `to_json()` lists them all
  skipped relu: it is shared
  2 weights adapted:
    w  (1,)

Checks
  ✗ state    2 differences
               a: 1 became 2
  ✓ outputs  equal"""
    )


def test_colored_text_takes_its_colors_from_the_data() -> None:
    bold, dim, red, green, yellow, end = (f"\x1b[{code}m" for code in (1, 2, 31, 32, 33, 0))

    assert to_ansi(DOCUMENT).split("\n") == [
        f"{bold}net -> net_2: 2 changes{end}",
        f"  {dim}Keras 3{end}",
        "",
        f"{bold}Added{end}",
        f"  {green}+ norm{end}        {green}BatchNormalization, after conv{end}",
        "    block/norm  a -> b",
        "  and 1,500 more layers; `to_json()` lists them all",
        f"  {yellow}skipped relu: it is shared{end}",
        "  2 weights adapted:",
        "    w  (1,)",
        "",
        f"{bold}Checks{end}",
        f"  {red}✗ state{end}    2 differences",
        f"               {dim}a: 1 became 2{end}",
        f"  {green}✓ outputs{end}  equal",
    ]


def test_verdict_is_bold_and_colored() -> None:
    assert to_ansi(Document("unsafe", style="bad")) == "\x1b[1m\x1b[31munsafe\x1b[0m\x1b[0m"


def test_colors_add_nothing_but_colors() -> None:
    assert re.sub(r"\x1b\[\d+m", "", to_ansi(DOCUMENT)) == to_text(DOCUMENT)


def test_text_that_looks_like_a_mark_is_not_colored() -> None:
    document = Document("title", (Section("s", (Row(("+ not added", "- not removed")),)),), style="")

    assert to_ansi(document) == "title\n\n\x1b[1ms\x1b[0m\n  + not added  - not removed"


def test_document_as_markdown() -> None:
    assert (
        to_markdown(DOCUMENT)
        == """\
**`net` → `net_2`: 2 changes**

Keras 3

### Added

- `norm` `BatchNormalization`, after `conv`
- `block/norm` a → b
- and 1,500 more layers

- skipped `relu`: it is shared

#### 2 weights adapted:

- w (1,)

### Checks

- ✗ state 2 differences
  - a: 1 became 2
- ✓ outputs equal
"""
    )


def body_of(page: str) -> str:
    """Return the HTML of a result without the block and the style sheet around it."""
    found = re.fullmatch(r'<div class="ramet"><style>[^<]+</style>(.*)</div>', page, re.DOTALL)
    assert found is not None
    return found[1]


def test_document_as_html() -> None:
    left = ' style="text-align:left"'
    document = Document(
        (Code("a"), " -> ", Code("b")),
        (
            Section("Added", (Row((Code("norm"), "x < y"), "+", "good"),), more=3),
            Section(rows=(Row(("state", "same", ""), "✓", "", "good", (Row(("more",),),)),)),
            Section("2 weights:", (Row(("w", "(1,)")),), level=2),
            Section("Empty"),
            Section("Odd", style="warning"),
        ),
        style="bad",
        about=("Keras 3",),
        complete="`to_json()`",
    )  # fmt: skip

    assert body_of(to_html(document)) == (
        '<p><strong class="ramet-bad">✗ <code>a</code> → <code>b</code></strong><br><small>Keras 3</small></p>'
        "<details open><summary>Added</summary>"
        f'<table><tbody><tr class="ramet-good"><td{left}>+ <code>norm</code></td><td{left}>x &lt; y</td></tr></tbody></table>'
        "<p><small>and 3 more; <code>to_json()</code> lists them all</small></p>"
        f'<table><tbody><tr><td class="ramet-good"{left}>✓ state</td><td{left}>same</td>'
        f"<td{left}><br><small>more</small></td></tr></tbody></table>"
        f"<p>2 weights:</p><table><tbody><tr><td{left}>w</td><td{left}>(1,)</td></tr></tbody></table></details>"
        '<p>Empty</p><p class="ramet-warning">⚠\ufe0e Odd</p>'
    )


@pytest.mark.parametrize(("style", "sign"), [("good", "✓ "), ("bad", "✗ "), ("warning", "⚠\ufe0e "), ("title", "")])
def test_verdict_has_a_sign_besides_its_color(style: Style, sign: str) -> None:
    assert f">{sign}t</strong>" in to_html(Document("t", style=style))


def rows(number: int, text: str = "r") -> tuple[Row, ...]:
    return tuple(Row((f"{text}{i}",)) for i in range(number))


def test_long_sections_are_closed_and_say_how_many_rows_they_have() -> None:
    page = to_html(Document("t", (Section("short", rows(12)), Section("long", rows(13)), Section("cut", rows(12), 5))))

    assert "<details open><summary>short</summary>" in page
    assert "<details><summary>long <small>(13 rows)</small></summary>" in page
    assert "<details><summary>cut <small>(17 rows)</small></summary>" in page
    assert "<details><summary>s <small>(1 row)</small></summary>" in to_html(
        Document("t", (Section("s", rows(1), folded=True),))
    )


def test_sections_after_the_first_few_dozen_rows_are_closed() -> None:
    page = to_html(Document("t", (Section(rows=rows(20)), *[Section("s", rows(5))] * 20)))

    assert (page.count("<details open>"), page.count("<details>")) == (8, 12)
    assert page.index("<details>") > page.rindex("<details open>")


def test_notebook_shows_the_first_rows_and_counts_the_others() -> None:
    document = Document("t", (Section(rows=rows(1000)), Section("next", rows(7)), Section("last", rows(7))))
    page, whole = to_html(document), html_page(document)

    assert (page.count("<tr"), whole.count("<tr")) == (400, 1014)
    assert "and 600 more; print it to see them all" in page
    assert "and 2 more sections; print it to see them all" in page
    assert "more" not in whole


def test_notebook_shows_the_first_lines_of_a_tree() -> None:
    document = Document("t", (Section(rows=rows(1000), tree=True),))

    assert "  r399</pre><p><small>and 600 more; print it to see them all</small></p>" in to_html(document)
    assert "  r999</pre></div>" in html_page(document)


def test_rows_left_out_by_the_report_and_by_the_notebook_are_added_up() -> None:
    document = Document("t", (Section("s", rows(500), more=50),), complete="`to_json()`")

    assert "and 150 more; <code>to_json()</code> lists them all" in to_html(document)


def test_notebook_shows_both_ends_of_a_long_cell() -> None:
    long = Code("a" * 5000 + "z" * 5000)
    page = to_html(
        Document(long, (Section(long, (Row((long, ("x", long)), details=(Row((long,)),)),)),), about=(long,))
    )

    assert page.count("<code>a") == page.count("z</code>") == 6
    assert page.count("...") == 6
    assert len(page) < 6000


def test_columns_without_values_are_left_out() -> None:
    section = Section(rows=(Row(("a", "", "1")), Row(("b",))), columns=("name", "calls", "size"))

    assert "calls" not in to_html(Document("t", (section,)))
    assert body_of(to_html(Document("t", (section,)))).count("<td") == 3


def test_style_sheet_applies_to_results_only() -> None:
    style = re.search("<style>(.*)</style>", to_html(Document("t")))
    assert style is not None
    selectors = [one for rule in re.findall(r"([^{}]+)\{", style[1]) for one in rule.split(",")]

    assert len(selectors) > 15
    assert all(re.search(r"(^| )\.ramet\b", selector) for selector in selectors)


def test_page_is_complete() -> None:
    page = html_page(Document(("<net> ", Code("a&b"))))

    assert page.startswith('<!doctype html><html lang="en"><head><meta charset="utf-8">')
    assert "<title>&lt;net&gt; a&amp;b</title>" in page
    assert page.endswith("<p><strong>&lt;net&gt; <code>a&amp;b</code></strong></p></div></body></html>\n")


TABLE = Document(
    "2 of 3 ops match",
    (
        Section(
            rows=(Row((Code("a|b"), "Dense", "1,024")), Row((Code("c"), "x|y", "8"))),
            more=1,
            columns=("path", "class", "parameters"),
            right=frozenset({2}),
        ),
    ),
    style="",
)


def test_columns_with_headings_become_a_table() -> None:
    assert to_text(TABLE) == "2 of 3 ops match\n  a|b  Dense  1,024\n  c    x|y    8\n  and 1 more"
    assert to_markdown(TABLE) == (
        "**2 of 3 ops match**\n\n"
        "| path | class | parameters |\n| --- | --- | ---: |\n"
        "| `a\\|b` | Dense | 1,024 |\n| `c` | `x\\|y` | 8 |\n\nand 1 more\n"
    )
    assert '<th style="text-align:right;white-space:nowrap">parameters</th>' in to_html(TABLE)
    assert '<td style="text-align:right;white-space:nowrap">1,024</td>' in to_html(TABLE)


def test_numbers_are_aligned_to_the_right() -> None:
    rows = (Row(("a", "1", "x")), Row(("b", "1,000", "y")))

    assert to_text(Document("t", (Section(rows=rows, right=frozenset({1})),))) == "t\n  a      1  x\n  b  1,000  y"


def test_tree_keeps_its_fixed_width() -> None:
    document = Document("net", (Section(rows=(Row(("block", "X")), Row(("| ``` |", "Y"))), tree=True),))

    assert to_markdown(document) == "**net**\n\n````\n  block    X\n  | ``` |  Y\n````\n"
    assert ">  block    X\n  | ``` |  Y</pre>" in to_html(document)


def test_one_long_cell_moves_only_its_own_line() -> None:
    rows = (Row(("a", "1")), Row(("x" * 50, "2")), Row(("bcd", "3")))

    assert to_text(Document("t", (Section(rows=rows),))).split("\n")[1:] == ["  a    1", f"  {'x' * 50}  2", "  bcd  3"]


def test_wide_characters_take_two_columns() -> None:
    rows = (Row(("層", "1")), Row(("abc", "2")), Row(("e\u0301", "3")))

    assert to_text(Document("t", (Section(rows=rows),))).split("\n")[1:] == ["  層   1", "  abc  2", "  e\u0301    3"]


def test_equal_first_cells_are_written_once_in_a_group() -> None:
    rows = (Row(("a", "1")), Row(("a", "2")), Row(("b", "3")), Row(("a", "4")))
    lines = to_text(Document("t", (Section(rows=rows, grouped=True),))).split("\n")

    assert lines == ["t", "  a  1", "     2", "  b  3", "  a  4"]


def test_last_cells_and_details_are_folded_at_a_width() -> None:
    row = Row(("state", "one two three four five six"), "✗", details=(Row(("seven eight nine ten eleven twelve",)),))

    assert to_text(Document("t", (Section(rows=(row,)),)), width=36).split("\n") == [
        "t",
        "  ✗ state  one two three four five",
        "           six",
        "             seven eight nine ten",
        "             eleven twelve",
    ]


def test_lines_are_not_folded_on_a_very_narrow_terminal() -> None:
    row = Row(("state", "one two three four"))

    assert to_text(Document("t", (Section(rows=(row,)),)), width=15) == "t\n  state  one two three four"


def test_very_long_words_are_broken_at_a_width() -> None:
    row = Row(("a", "x" * 100))
    lines = to_text(Document("t", (Section(rows=(row,)),)), width=40).split("\n")

    assert [len(line) for line in lines] == [1, 40, 40, 35]


HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "line\nbreak",
    "\u202eturned",
    "\x00",
    "<script>alert(1)</script>",
    "`; rm` ``two`` `",
    "[link](http://x.y) @team #1 ![i](x)",
    "www.example.com",
    "a|b|c",
    "**bold** _it_ ~~x~~",
    "$HOME {{x}} &amp;",
    "# title",
    " ",
]


def hostile_document(name: str) -> Document:
    rows = (Row((Code(name), name, (name, Code(name))), "+", "good", details=(Row((name,)),)),)
    table = Section(name, (Row((name, Code(name))),), columns=("a", "b"))
    return Document(name, (Section(name, rows), table, Section(rows=(Row((name,)),), tree=True)), about=(name,))


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_never_interpreted_as_markup(name: str) -> None:
    document = hostile_document(name)

    assert to_text(document).replace("\n", "").isprintable()
    assert to_text(document).count("\n") == to_text(hostile_document("x")).count("\n")
    assert re.sub(r"\x1b\[\d+m", "", to_ansi(document)) == to_text(document)
    assert to_markdown(document).replace("\n", "").isprintable()
    for page in (to_html(document), html_page(document)):
        assert page.replace("\n", "").isprintable()
        assert set(re.findall(r"<(\w+)", page)) <= {
            *("div", "p", "pre", "details", "summary", "table", "thead", "tbody", "tr", "td", "th"),
            *("code", "strong", "small", "br"),
            *("html", "head", "meta", "title", "style", "body"),
        }


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_leaves_names_unchanged(name: str) -> None:
    outside = _outside_code(to_markdown(hostile_document(name)))

    assert not any(word in outside for word in ("<", "http", "www", "@", "#1", "$", "bold", "it_", "[", "~"))
    assert all(line.count("|") == 3 for line in outside.split("\n") if line.startswith("|"))


def _outside_code(text: str) -> str:
    """Return Markdown without its code, by the rule of CommonMark: a run of backticks ends at an equal run."""
    kept, position = [], 0
    while position < len(text):
        match = re.match("`+", text[position:])
        if match is None:
            kept.append(text[position])
            position += 1
            continue
        fence = match[0]
        end = re.search(f"(?<!`){fence}(?!`)", text[position + len(fence) :])
        assert end is not None, f"unterminated code span: {text[position:]}"
        position += len(fence) + end.end()
    return "".join(kept).replace("\\|", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("by 12.5 % of the norm; 3 of 4 numbers", "by 12.5 % of the norm; 3 of 4 numbers"),
        ("the Dense layer 'out' (frozen).", "the Dense layer 'out' (frozen)."),
        ("see example.com", "`see example.com`"),
        ("dense_1", "`dense_1`"),
        ("a -> b", "a → b"),
    ],
)
def test_ordinary_words_are_not_escaped_in_markdown(text: str, expected: str) -> None:
    assert to_markdown(Document(text)) == f"**{expected}**\n"


def test_long_preformatted_text_is_cut() -> None:
    text = preformatted("\n".join(map(str, range(1000))))

    assert text.count("\n") == 400
    assert text.endswith("399\n... and 600 more lines; print it to see them all</pre>")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "wanted", "expected"),
    [
        (Terminal(), {}, True, True),
        (Terminal(), {"TERM": "xterm"}, True, True),
        (Terminal(), {}, False, False),
        (Terminal(), {"NO_COLOR": "1"}, True, False),
        (Terminal(), {"NO_COLOR": ""}, True, True),
        (Terminal(), {"TERM": "dumb"}, True, False),
        (io.StringIO(), {}, True, False),
    ],
)
def test_colors_are_written_to_terminals_that_allow_them(
    stream: io.StringIO, environment: dict[str, str], wanted: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert has_color(stream, wanted=wanted) is expected


def test_dumb_terminal_is_not_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")

    assert not is_terminal(Terminal())


def test_only_the_words_are_painted() -> None:
    assert paint("  a b  ", "good") == "  \x1b[32ma b\x1b[0m  "
    assert paint("   ", "good") == "   "
    assert paint("a", "") == "a"


class Console:
    """Functions of Windows that report and change the mode of a console."""

    def __init__(self, *, is_console: bool = True, knows_escapes: bool = True) -> None:
        self.mode, self._is_console, self._knows_escapes = 0b11, is_console, knows_escapes

    def GetConsoleMode(self, handle: ctypes.c_void_p, mode: object) -> int:  # noqa: N802
        assert handle.value == 7_000
        ctypes.cast(mode, ctypes.POINTER(ctypes.c_ulong)).contents.value = self.mode  # type: ignore[arg-type]
        return int(self._is_console)

    def SetConsoleMode(self, handle: ctypes.c_void_p, mode: int) -> int:  # noqa: N802
        assert handle.value == 7_000
        if self._knows_escapes:
            self.mode = mode
        return int(self._knows_escapes)


@pytest.mark.parametrize(
    ("console", "mode"),
    [
        (Console(), 0b111),
        (Console(knows_escapes=False), 0b11),
        (Console(is_console=False), 0b11),
    ],
)
def test_console_of_windows_is_told_to_obey_escape_sequences(
    monkeypatch: pytest.MonkeyPatch, console: Console, mode: int
) -> None:
    """A console of Windows prints escape sequences as they are, unless it is told to obey them."""

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

        def fileno(self) -> int:
            return 1

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "WinDLL", lambda name: {"kernel32": console}[name], raising=False)
    fake = types.SimpleNamespace(get_osfhandle={1: 7_000}.__getitem__)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)  # type: ignore[arg-type]

    assert has_color(Screen()) == (mode == 0b111)
    assert console.mode == mode
