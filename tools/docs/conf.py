"""Settings of Sphinx for the docs site. `python -m tools.docs` collects the pages and runs it."""

import re
from typing import Any

import ramet

project = "ramet"
author = "The ramet authors"
copyright = "The ramet authors. Apache License 2.0"  # noqa: A001  # the name Sphinx reads
release = version = ramet.__version__

extensions = ["myst_parser", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries = False
highlight_language = "text"
smartquotes = False  # two hyphens begin an option
suppress_warnings = ["myst.header"]  # the help texts of commands begin below a heading of their own

html_title = f"ramet {release}"
html_theme = "pydata_sphinx_theme"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "static/ramet.svg"
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # a page opened from disk cannot read others
html_theme_options = {
    "logo": {"image_light": "_static/ramet.svg", "image_dark": "_static/ramet.svg", "text": "ramet"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "show_prev_next": True,
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}


def setup(app: Any) -> None:
    """Register what Sphinx has no setting for."""
    app.connect("html-page-context", _mend_markup)


def _mend_markup(_app: Any, _name: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Mend what screen readers stumble over: headers without a text, and arguments as a list of definitions without terms."""
    body = re.sub(r'<th class="head">(?:<p></p>)?</th>', "<td></td>", context.get("body", ""))
    context["body"] = re.sub(r"<dl>(?=\s*<dd>)", '<dl role="none">', body)
