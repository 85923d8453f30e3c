"""The notebook examples/tour.ipynb: it runs, it shows what it has stored, and a browser shows that well.

RAMET_STORE_TOUR=1 stores the outputs of a run on JAX: look at them before committing.
"""

import html.parser
import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import ramet
from tests.graph import sample

TOUR = Path(__file__).parent.parent / "examples" / "tour.ipynb"
PICTURES = {"graph", "picture"}
# Kinds of results, by the cells that show them.
SHOWN = {
    "graph": "Graph",
    "selection": "Selection",
    "twin": "Report",
    "sync": "Diff",
    "plan": "Plan",
    "diff": "Diff",
    "picture": "Picture",
    "transfer": "TransferReport",
    "scan": "ScanReport",
    "show": "FileListing",
    "lambda": "ScanReport",
}


@pytest.fixture(scope="module")
def tour():
    """Return the notebook as it is stored."""
    return nbformat.read(TOUR, as_version=4)


def outputs(notebook):
    """Return the outputs of each cell that has any, by its id; what libraries write to stderr is not part of the tour."""
    found = {
        cell.id: [one for one in cell.get("outputs", []) if one.get("name") != "stderr"] for cell in notebook.cells
    }
    return {name: each for name, each in found.items() if each}


def text_of(output):
    return output["text"] if output.output_type == "stream" else output.data["text/plain"]


def htmls(notebook, *names):
    """Return the HTML of the results that the cells with these names show, or all cells."""
    return [
        one.data["text/html"]
        for name, each in outputs(notebook).items()
        for one in each
        if "data" in one and (not names or name in names)
    ]


# The file.


@pytest.mark.no_backend
def test_tour_is_stored_small_and_without_traces_of_a_machine(tour):
    text = TOUR.read_text(encoding="utf-8")
    code = [cell for cell in tour.cells if cell.cell_type == "code"]

    nbformat.validate(tour)
    assert len(text) < 300_000
    assert not re.search(r"/(home|root|tmp|Users|work|usr|opt|var)/|site-packages|0x[0-9a-f]{6,}", text)
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert all(cell.metadata == {} for cell in tour.cells)
    assert tour.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)?", cell.id) for cell in tour.cells)
    assert not [one for cell in code for one in cell.outputs if one.get("name") == "stderr"]


@pytest.mark.no_backend
def test_tour_shows_every_kind_of_result(tour):
    assert set(outputs(tour)) == {*SHOWN, "changed"}
    assert {"Graph", "Selection", "Plan", "Diff", "Report", "TransferReport", "Picture"} <= set(SHOWN.values())


@pytest.mark.no_backend
def test_links_of_the_tour_lead_to_files(tour):
    links = re.findall(r"\]\(([^)]*)\)", "\n".join(cell.source for cell in tour.cells if cell.cell_type == "markdown"))

    assert len(links) > 3
    assert [link for link in links if not (TOUR.parent / link).is_file()] == []


# The run.


def normalized(text, *, keep_counts):
    """Return a text without what differs from run to run: dates, versions, backends and measured numbers.

    Other backends and versions of Keras have other numbers of variables and attributes, too.
    """
    text = re.sub(r"\d{4}-\d\d-\d\d@[\d:]+", "DATE", text)
    text = re.sub(r"Keras [\d.]+\w*", "Keras VERSION", text)
    text = re.sub(r"\bon (jax|torch|tensorflow)\b", "on BACKEND", text)
    text = re.sub(r"(moved by )\d+( times| %)", r"\1N\2", text)
    text = re.sub(r"-?\d+\.\d+(e[-+]?\d+)?|\d+e[-+]\d+", "X", text)
    return text if keep_counts else re.sub(r"\d[\d,]*(?= (ops|attributes|variables|numbers|objects))", "N", text)


@pytest.mark.slow
def test_tour_runs_and_shows_what_it_has_stored(tour, backend, tmp_path):
    import keras

    run = nbformat.from_dict(tour)
    for cell in run.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        run, timeout=600, kernel_name="python3", record_timing=False, resources={"metadata": {"path": str(tmp_path)}}
    )
    # The kernel is a process of its own, without the settings of the tests.
    client.execute(env={**os.environ, "KERAS_BACKEND": backend})
    if os.environ.get("RAMET_STORE_TOUR") and backend == "jax":
        run.metadata = tour.metadata
        for cell in run.cells:
            cell.metadata = {}
            if cell.cell_type == "code":
                cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
        TOUR.write_text(nbformat.writes(run) + "\n", encoding="utf-8")

    stored, shown = outputs(nbformat.read(TOUR, as_version=4)), outputs(run)
    recorded = re.search(r"Keras ([\d.]+\w*) on jax", text_of(stored["twin"][0]))[1]
    keep_counts = backend == "jax" and recorded == keras.__version__
    assert list(shown) == list(stored)
    for name, each in shown.items():
        texts, expected = (
            [normalized(text_of(one), keep_counts=keep_counts) for one in some] for some in (each, stored[name])
        )
        assert texts == expected
        assert [one.output_type for one in each] == [one.output_type for one in stored[name]]
    for name in SHOWN:
        assert all(one.data["text/html"].startswith('<div class="ramet">') for one in shown[name])
        if keep_counts:
            # A change of the writers must reach the stored notebook. The data of a picture has weights, which vary.
            new, old = (
                [normalized(one.data["text/html"].partition("srcdoc=")[0], keep_counts=True) for one in some[name]]
                for some in (shown, stored)
            )
            assert new == old, "RAMET_STORE_TOUR=1 stores the new outputs"
    assert list(tmp_path.iterdir()) == []


# The browser.

CONTRAST = """() => {
  const parse = (color) => {
    const found = color.match(/[\\d.]+/g).map(Number);
    return color.startsWith("color(") ? [...found.slice(0, 3).map((one) => one * 255), found[3] ?? 1] : [...found.slice(0, 3), found[3] ?? 1];
  };
  const over = (top, bottom) => [0, 1, 2].map((i) => top[i] * top[3] + bottom[i] * (1 - top[3])).concat(1);
  const light = ([red, green, blue]) => {
    const [r, g, b] = [red, green, blue].map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  for (const block of document.querySelectorAll(".ramet")) {
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.data.trim() || element.tagName === "STYLE" || !element.checkVisibility()) continue;
      const above = [];
      for (let one = element; one; one = one.parentElement) above.unshift(one);
      let ground = [255, 255, 255, 1], opacity = 1;
      for (const one of above) {
        ground = over(parse(getComputedStyle(one).backgroundColor), ground);
        opacity *= +getComputedStyle(one).opacity;
      }
      const color = parse(getComputedStyle(element).color);
      const text = over([color[0], color[1], color[2], color[3] * opacity], ground);
      const [high, low] = [light(text), light(ground)].sort((one, other) => other - one);
      found.push([(high + 0.05) / (low + 0.05), walker.currentNode.data.trim()]);
    }
  }
  return found;
}"""


@pytest.fixture
def lab(browser, tour, tmp_path):
    """Open the tour as JupyterLab shows it in a theme; at the end, nothing may have been logged or requested."""
    from nbconvert import HTMLExporter

    pages, logged = [], []

    def open_tour(theme):
        # Without the scripts that nbconvert loads from the network.
        exporter = HTMLExporter(
            template_name="lab", theme=theme, mathjax_url="", require_js_url="", jquery_url="", mermaid_js_url=""
        )
        file = tmp_path / f"{theme}.html"
        file.write_text(exporter.from_notebook_node(tour)[0], encoding="utf-8")
        # A frame follows the scheme of the element that holds it only if the test emulates none.
        page = browser.new_page(color_scheme="null", viewport={"width": 1200, "height": 900})
        page.on("console", lambda message: logged.append(message.text))
        page.on("pageerror", lambda error: logged.append(str(error)))
        page.on("request", lambda request: logged.append(request.url) if request.url.startswith("http") else None)
        page.goto(file.as_uri())
        pages.append(page)
        return page

    yield open_tour
    for page in pages:
        page.close()
    assert logged == []


@pytest.mark.no_backend
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_results_are_readable_in_both_themes_of_jupyterlab(lab, tour, theme):
    page = lab(theme)
    page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
    found = page.evaluate(CONTRAST)

    assert page.locator(".ramet").count() == len(htmls(tour))
    assert len(found) > 200
    assert [(round(contrast, 2), text) for contrast, text in found if contrast < 4.5] == []


@pytest.mark.no_backend
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_follow_the_theme_of_jupyterlab(lab, theme):
    page = lab(theme)
    frames = page.locator("iframe")
    for number in range(frames.count()):
        frames.nth(number).scroll_into_view_if_needed()
        page.frame_locator("iframe").nth(number).locator(".box").nth(3).wait_for()

    assert frames.count() == len(PICTURES)
    dark = [frame.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") for frame in page.frames[1:]]
    assert dark == [theme == "dark"] * len(PICTURES)
    assert not page.locator("iframe + img").first.is_visible()


@pytest.mark.no_backend
def test_sections_open_and_close_by_keyboard(lab):
    page = lab("light")
    summary = page.locator("summary", has_text="Not compared").last
    inside = summary.locator("xpath=..").locator("td").first

    assert not inside.is_visible()
    summary.focus()
    page.keyboard.press("Enter")
    assert inside.is_visible()


class Untrusted(html.parser.HTMLParser):
    """The HTML that is left where a notebook is not trusted: without scripts, style sheets, frames and most attributes."""

    def __init__(self, text):
        super().__init__()
        self.parts, self._hidden = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag in ("style", "script"):
            self._hidden = True
        elif tag != "iframe":
            kept = [
                ' {}="{}"'.format(key, html.escape(value or ""))
                for key, value in attrs
                if key in ("src", "alt", "open") or (key == "style" and tag in ("td", "th"))
            ]
            self.parts.append(f"<{tag}{''.join(kept)}>")

    def handle_endtag(self, tag):
        self._hidden = False
        if tag not in ("style", "script", "iframe"):
            self.parts.append(f"</{tag}>")

    def handle_data(self, data):
        if not self._hidden:
            self.parts.append(html.escape(data))


@pytest.mark.no_backend
def test_untrusted_notebook_shows_drawings_and_tables(browser, tour):
    page = browser.new_page()
    # The rule of JupyterLab for cells.
    text = "".join("".join(Untrusted(one).parts) for one in htmls(tour))
    page.set_content(f"<style>td {{ text-align: right }}</style>{text}")
    images = page.eval_on_selector_all("img", "all => all.map(one => [one.naturalWidth, one.alt])")

    assert all(width > 100 and alt.startswith("picture of classifier") for width, alt in images)
    assert len(images) == len(PICTURES)
    assert page.locator("iframe, style:not(head style), script").count() == 0
    assert page.locator("strong", has_text="✗ tour.keras: unsafe").is_visible()
    sides = page.eval_on_selector_all("td", "all => all.map(one => getComputedStyle(one).textAlign)")
    assert set(sides) == {"left", "right"}
    assert sides.count("right") == 3  # the numbers of parameters in the selection
    page.close()


@pytest.mark.no_backend
@pytest.mark.parametrize(
    ("page", "is_dark"),
    [
        ('<html><body data-jp-theme-light="true">', False),
        ('<html><body data-jp-theme-light="false">', True),
        ('<html><body data-vscode-theme-kind="vscode-light">', False),
        ('<html><body data-vscode-theme-kind="vscode-dark">', True),
        ('<html><body data-vscode-theme-kind="vscode-high-contrast">', True),
        ('<html><body data-vscode-theme-kind="vscode-high-contrast-light">', False),
        ('<html theme="dark"><body>', True),
        ('<html theme="light"><body>', False),
        ('<html style="color-scheme:dark"><body>', True),
        # A page that declares nothing is white, even if the system is dark.
        ("<html><body>", False),
    ],
)
def test_colors_follow_the_theme_of_every_notebook(browser, page, is_dark):
    opened = browser.new_page(color_scheme="dark")
    finding = ramet.select(ramet.Graph("net", "Functional"), "x")._repr_html_()
    passed = finding.replace("<strong>", '<strong class="ramet-good">')
    opened.set_content(f"<!doctype html>{page}{passed}")
    color = opened.evaluate("getComputedStyle(document.querySelector('.ramet-good')).color")
    opened.close()

    assert color == ("rgb(63, 185, 80)" if is_dark else "rgb(23, 114, 47)")


@pytest.mark.no_backend
def test_showing_a_result_leaves_the_rest_of_the_notebook_alone(browser):
    other = '<div id="other"><table><tr><td>a</td></tr></table><p>b <code>c</code></p><details><summary>d</summary></details></div>'
    script = """() => [...document.querySelectorAll('#other, #other *')].map(one => {
      const style = getComputedStyle(one);
      return [...style].map(name => name + style.getPropertyValue(name)).join();
    })"""
    styles = []
    for shown in ("", ramet.select(sample.small(), "d")._repr_html_()):
        page = browser.new_page()
        page.set_content(f"{other}{shown}")
        styles.append(page.evaluate(script))
        page.close()

    assert styles[0] == styles[1]
