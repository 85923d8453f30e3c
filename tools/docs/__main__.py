"""`python -m tools.docs`: build the docs site into build/site.

The pages are collected in build/docs first: those of the repository, with links that fit the site, and the generated ones.
The examples of each page run, on the backend of Keras in use, and what they draw is put beside the page. A page with an
example that fails, or a link without a target, fails the build.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tools.docs import performance, reference
from tools.docs.contents import PAGES, PARTS, ROOT
from tools.docs.examples import run_page

_SOURCE, _SITE = ROOT / "build" / "docs", ROOT / "build" / "site"
_NOTEBOOK = "examples/tour.ipynb"
# Where links to files that are not pages lead.
_EXAMPLES = {"examples": "guides/scripts", _NOTEBOOK: "guides/notebook", "docs/guides": "guides/index"}
_LINK = re.compile(r"\[(?P<words>[^\[\]]*)\]\((?!https?:|mailto:|#)(?P<file>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
# Code and raw HTML, in which nothing is a link.
_CODE = re.compile(r"(^ *```(?!`|\{).*?^ *```$|^`{6}\{raw\}.*?^`{6}$)", re.MULTILINE | re.DOTALL)
_SHOWN = re.compile(r"""(?:<iframe[^>]*\bsrc="|!\[[^\]]*\]\()([\w./-]+)""")


def main() -> int:
    """Build the site and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="pages whose examples run at the same time")
    parser.add_argument("--no-run", action="store_true", help="do not run examples; pictures are missing then")
    options = parser.parse_args()
    shutil.rmtree(_SOURCE, ignore_errors=True)
    texts = {name: (ROOT / source).read_text(encoding="utf-8") for name, source in PAGES.items() if source}
    texts |= reference.pages() | {"guides/notebook": _notebook(), "guides/scripts": _scripts()}
    for name, text in (texts | _parts(texts)).items():
        _write(f"{name}.md", _linked(_filled(_relinked(text, name))))
    shutil.copytree(ROOT / "docs" / "pictures", _SOURCE / "pictures")
    if not options.no_run and not _run_all(options.jobs):
        return 1
    return _build(strict=not options.no_run)


def _write(name: str, text: str) -> None:
    path = _SOURCE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# Links and generated parts.


def _relinked(text: str, name: str) -> str:
    """Return a page with links to files of the repository turned into links to pages."""
    source = _NOTEBOOK if name == "guides/notebook" else PAGES.get(name)
    if source is None:
        return text
    pages = {origin: page for page, origin in PAGES.items() if origin}

    def replace(found: re.Match[str]) -> str:
        target = os.path.normpath(Path(source).parent / found["file"])
        here, words = Path(name).parent, found["words"]
        if target in pages:
            if words.endswith(".md"):  # a reader of the site knows pages by their titles
                words = _title((ROOT / target).read_text(encoding="utf-8"))
            return f"[{words}]({os.path.relpath(f'{pages[target]}.md', here)}{found['anchor'] or ''})"
        if target in _EXAMPLES:
            return f"[{words}]({os.path.relpath(f'{_EXAMPLES[target]}.md', here)})"
        if target.startswith("docs/"):
            return f"[{words}]({os.path.relpath(target.removeprefix('docs/'), here)})"
        raise ValueError(f"{source}: the link to '{target}' has no page on the site")

    return _outside_code(text, lambda part: _LINK.sub(replace, part))


def _linked(text: str) -> str:
    """Return a page whose public names, in backticks, are links to the reference."""
    names = {path: path for path in reference.public_names()}
    names |= {path.rpartition(".")[2]: path for path in names if path.startswith("ramet.errors.")}

    def replace(found: re.Match[str]) -> str:
        word = found[1].removesuffix("()")
        return f"{{py:obj}}`{found[1]} <{names[word]}>`" if word in names else found[0]

    def link(part: str) -> str:
        lines = part.split("\n")
        # Neither in headings nor inside the text of a link.
        return "\n".join(
            line if line.startswith("#") else re.sub(r"(?<![\[`{}])`([\w.]+(?:\(\))?)`(?![\]`])", replace, line)
            for line in lines
        )

    return _outside_code(text, link)


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Apply a function to what is outside of fenced code and raw HTML. The directives of the reference contain Markdown."""
    return "".join(part if index % 2 else change(part) for index, part in enumerate(_CODE.split(text)))


def _filled(text: str) -> str:
    """Return a page with its marked places filled in."""
    generated = {
        "demo table": _demo_table,
        "benchmark table": performance.table,
        "benchmark plot": performance.plot,
        "error table": reference.error_table,
    }
    return re.sub(rf"<!-- ({'|'.join(generated)}) -->", lambda found: generated[found[1]](), text)


def _demo_table() -> str:
    """Run the demo and return its table."""
    from ramet._cli.demo_show import compare, real_model

    rows = [
        ("", "`ramet.clone`", "`keras.models.clone_model` + `set_weights`"),
        ("---",) * 3,
        *compare(real_model()).rows(),
    ]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def _parts(texts: dict[str, str]) -> dict[str, str]:
    """Return the first page of each part, which lists the others, and the home page with the contents."""
    pages = {}
    for part in PARTS:
        lines = [f"# {part.title}", part.about, ""]
        for name in part.pages:
            link = os.path.relpath(f"{name}.md", part.folder)
            lines.append(f"- [{_title(texts[name])}]({link}): {_summary(texts[name])}")
        tree = "\n".join(os.path.relpath(name, part.folder) for name in part.pages)
        pages[f"{part.folder}/index"] = "\n".join([*lines, "", f"```{{toctree}}\n:hidden:\n\n{tree}\n```", ""])
    contents = "\n".join(f"{part.folder}/index" for part in PARTS)
    pages["index"] = f"{texts['index']}\n```{{toctree}}\n:hidden:\n\n{contents}\n```\n"
    return pages


def _title(text: str) -> str:
    return re.search(r"^# (.*)$", text, re.MULTILINE)[1]  # type: ignore[index]  # every page has a title


def _summary(text: str) -> str:
    """Return the first sentence of a page."""
    prose = re.sub(r"^#.*$", "", _CODE.sub("", text), flags=re.MULTILINE)
    paragraph = " ".join(prose.strip().split("\n\n")[0].split())
    sentence = re.match(r".*?[.?!](?= |$)|.*", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph))
    return sentence[0] if sentence else ""


def _scripts() -> str:
    """Return a page with the scripts in examples/, under the question that each of them answers."""
    parts = ["# Short scripts", "A script for each of these questions. They run on every backend."]
    for path in sorted((ROOT / "examples").glob("*.py")):
        _, question, code = path.read_text(encoding="utf-8").split('"""', 2)
        parts += [
            f"## {question.split('?')[0].strip()}?",
            *filter(None, [question.split("?", 1)[1].strip()]),
            f"```python\n{code.strip()}\n```",
        ]
    return "\n\n".join(parts) + "\n"


def _notebook() -> str:
    """Return the notebook tour as a page: its cells, and what a person sees below them."""
    parts = []
    for cell in json.loads((ROOT / _NOTEBOOK).read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/html" in data:
                parts.append(f"``````{{raw}} html\n<div>{''.join(data['text/html'])}</div>\n``````")
            else:
                parts.append(f"```text\n{''.join(data.get('text/plain', output.get('text', '')))}\n```")
    return "\n\n".join(parts) + "\n"


# Examples.


def _drawn_by(page: Path, name: str) -> list[str]:
    """Return the files that a page shows and that are not in the repository, so its examples must write them."""
    shown = _SHOWN.findall(page.read_text(encoding="utf-8"))
    return [file for file in shown if not (ROOT / "docs" / Path(name).parent / file).exists()]


def _run_all(jobs: int) -> bool:
    """Run the examples of every page, put what they drew beside the page, and return whether all went well."""
    # The examples of CONTRIBUTING.md are parts of files, which tests/test_contributing.py puts in their places.
    sources = {name: ROOT / source for name, source in PAGES.items() if source and source.startswith("docs/")}
    shown = [_drawn_by(page, name) for name, page in sources.items()]
    ok, taken = True, {}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for name, result in zip(sources, pool.map(run_page, sources.values(), shown), strict=True):
            if isinstance(result, str):
                ok = False
                print(f"failed: {result}", file=sys.stderr)
                continue
            count, files = result
            print(f"{name}: {count} examples, {len(files)} pictures", flush=True)
            for file, content in files.items():
                target = (_SOURCE / name).parent / file
                if taken.setdefault(target, name) != name:
                    ok = False
                    print(f"failed: {name} and {taken[target]} both draw {file}", file=sys.stderr)
                target.write_bytes(content)
    return ok


def _build(*, strict: bool) -> int:
    from sphinx.cmd.build import main as sphinx

    shutil.rmtree(_SITE, ignore_errors=True)
    arguments = ["-q", "--keep-going", *(["--fail-on-warning"] if strict else []), "-c", str(Path(__file__).parent)]
    code = sphinx([*arguments, "-d", str(ROOT / "build" / "doctrees"), str(_SOURCE), str(_SITE)])
    for page in _SOURCE.rglob("*.html"):  # drawn by examples, and shown in frames, of which Sphinx knows nothing
        shutil.copy2(page, _SITE / page.relative_to(_SOURCE))
    if code == 0:
        print(f"wrote {_SITE.relative_to(ROOT)}/index.html")
    return code


if __name__ == "__main__":
    sys.exit(main())
