"""The page: one file with its data, style and script inside, and no address of anything."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from html import escape as quote
from importlib.resources import files
from typing import Any

from ramet._draw.palette import DARK, LIGHT, style_variables

__all__ = ["embed", "page"]

# In the order in which they need each other.
_SCRIPTS = (
    *("scene.js", "copy.js", "place.js", "edge.js", "paint.js", "crowd.js", "view.js"),
    *("note.js", "weight.js", "panel.js", "find.js", "keys.js", "start.js"),
)
_STYLES = ("page.css", "picture.css", "panel.css")
_IN_NOTEBOOK = 620


def page(data: dict[str, Any], title: str) -> str:
    """The page for these data."""
    script = _script()
    # Only this very script runs, whatever a name says, and nothing is fetched.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    parts = {
        "policy": policy,
        "style": _style(),
        "script": script,
        "title": quote(title),
        "data": _safe_json(data),
    }
    # In one pass: a name that looks like a place of the page stays a name.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _read("page.html"))


def embed(html: str) -> str:
    """The page in a frame of its own, for notebooks: neither can touch the other."""
    return (
        f'<iframe title="picture of a model" sandbox="allow-scripts" style="width:100%;height:{_IN_NOTEBOOK}px;border:0" '
        f'srcdoc="{quote(html)}"></iframe>'
    )


def _safe_json(data: dict[str, Any]) -> str:
    """JSON that no name in it can end: the characters that mean something to HTML are written as escapes."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _read(name: str) -> str:
    return files("ramet._draw").joinpath("page", name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    return '"use strict";\n(() => {\n' + "\n".join(map(_read, _SCRIPTS)) + "\n})();\n"


@cache
def _style() -> str:
    light, dark = style_variables(LIGHT), style_variables(DARK)
    themes = (
        f":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f":root[data-theme=dark]{{{dark}}}\n"
    )
    return themes + "\n".join(map(_read, _STYLES))
