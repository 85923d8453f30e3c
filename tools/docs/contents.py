"""The contents of the site: its parts, and the file behind each page."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Part:
    """One part of the site, with a page of its own that lists the others."""

    folder: str
    title: str
    about: str
    # The name of each page on the site, with its source in the repository; None for a generated page.
    pages: dict[str, str | None] = field(default_factory=dict)


def _in(folder: str, *names: str) -> dict[str, str | None]:
    return {f"{folder}/{name}": f"docs/{folder}/{name}.md" for name in names}


HOME = {"index": "docs/index.md"}
PARTS = (
    Part(
        "start",
        "Start",
        "Install ramet and see everything it does.",
        _in("start", "install", "ten-minutes") | {"platforms": "docs/platforms.md"},
    ),
    Part(
        "guides",
        "Guides",
        "One task per page, from an empty session to the result. Every page ran when this site was built.",
        _in(
            "guides",
            "target-networks",
            "ensembles",
            "transfer-learning",
            "replace-and-insert",
            "lora",
            "features",
            "checkpoints",
            "pull-requests",
            "audit",
            "rescue",
            "callbacks-and-threads",
            "custom-layers",
            "distribution",
        )
        | {"guides/notebook": None, "guides/scripts": None},
    ),
    Part(
        "reference",
        "Reference",
        "Every public name, generated from its docstring, and every command.",
        {
            "reference/functions": None,
            "reference/selectors": None,
            "reference/edits": None,
            "reference/results": None,
            "reference/errors": None,
            "reference/testing": None,
            "reference/commands": None,
            "edits": "docs/edits.md",
            "recipes": "docs/recipes.md",
            "cli": "docs/cli.md",
            "clone_model": "docs/clone_model.md",
        },
    ),
    Part(
        "understand",
        "Understand",
        "How it works, what it promises, and what it costs.",
        _in("understand", "twin", "copying", "masks", "sharing", "verify", "scan", "performance", "comparison")
        | {"design": "docs/design.md", "origins": "docs/origins.md"},
    ),
    Part(
        "help",
        "Help",
        "When something is refused, and other questions.",
        _in("help", "errors", "faq")
        | {"help/security": "SECURITY.md", "help/changelog": "CHANGELOG.md", "help/contributing": "CONTRIBUTING.md"},
    ),
)
PAGES: dict[str, str | None] = HOME | {name: source for part in PARTS for name, source in part.pages.items()}
