"""Base classes of everything that ramet returns: how it prints, and how a notebook shows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ramet._report.document import Document
from ramet._report.markup import cut_lines, html_page, preformatted, to_html, to_markdown
from ramet._report.text import to_ansi, to_text
from ramet._report.words import escape

# Incremented whenever a reader of the JSON would have to change.
_VERSION = 1


class Summarized:
    """An object whose repr is one line: `<Touch 'dense': frozen>`.

    - `repr` is short in a log, a debugger and a failed assertion.
    - IPython prints `str(object)`, and a notebook shows it as HTML. If that fails, they show the repr: a display hook that
      raises would show a traceback instead of the result.
    """

    __slots__ = ()

    def _summary(self) -> str:
        """Return the words of the repr that follow the name of the class."""
        raise NotImplementedError

    def _html(self) -> str:
        return preformatted(str(self))

    def __repr__(self) -> str:
        try:
            return f"<{type(self).__name__} {escape(self._summary())}>"
        except Exception:  # noqa: BLE001  # a repr is often needed where something is wrong already
            return object.__repr__(self)

    def _repr_html_(self) -> str | None:
        return attempt(self._html)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: FBT001  # IPython's signature
        # Inside a list, the whole text of each item would hide the list.
        is_alone = not cycle and len(getattr(printer, "stack", ())) <= 1
        printer.text((attempt(lambda: cut_lines(str(self))) if is_alone else None) or repr(self))


class Result(Summarized):
    """A result that prints itself in every form: text, colored text, Markdown, HTML.

    A subclass defines `_summary` for its repr and `__report__` for everything else.
    """

    __slots__ = ()

    def __report__(self) -> Document:
        """Return the content of the report as data."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Return the report as plain text, as `print` shows it."""
        return to_text(self.__report__())

    def to_markdown(self) -> str:
        """Return the report as Markdown, for example for a pull request. Names from the model are shown as code."""
        return to_markdown(self.__report__())

    def to_html(self) -> str:
        """Return the report as an HTML page that works from disk."""
        return html_page(self.__report__())

    def _html(self) -> str:
        return to_html(self.__report__())

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        """Print in color with `rich.print(result)`."""
        from rich.text import Text

        yield Text.from_ansi(to_ansi(self.__report__(), width=options.max_width))


def attempt(make: Callable[[], str]) -> str | None:
    """Return what `make` returns, or None if it raises: a notebook then shows the next best form."""
    try:
        return make()
    except Exception:  # noqa: BLE001  # see `Summarized`
        return None


def envelope(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a JSON document with the header that all of them share: `{"ramet": kind, "version": 1, ...}`."""
    return {"ramet": kind, "version": _VERSION, **fields}


def json_text(kind: str, fields: Mapping[str, Any], *, indent: int | None = 2) -> str:
    """Return a JSON document of a kind. It is ASCII: names may contain control characters for terminals."""
    return json.dumps(envelope(kind, fields), indent=indent, allow_nan=False)


def json_lines(kind: str, fields: Mapping[str, Any], **lists: Iterable[Any]) -> str:
    """Return a JSON document with one line for each item of the lists, which suits long lists and line-based diffs."""
    parts = [json.dumps(envelope(kind, fields), allow_nan=False)[:-1]]
    for name, items in lists.items():
        lines = ",".join(f"\n  {json.dumps(item, allow_nan=False)}" for item in items)
        parts.append(f"{json.dumps(name)}: [{lines}]")
    return ",\n ".join(parts) + "}\n"
