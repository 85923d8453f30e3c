"""How results show themselves: one line as their repr, their text when printed, HTML in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from html import escape as quote
from typing import TYPE_CHECKING, Any

from ramet._graph.render import escape

if TYPE_CHECKING:
    from ramet._graph.graph import Graph

__all__ = ["Shown", "preformatted", "shown"]

# A text longer than this is cut in a notebook; printed, it is whole.
_LINES = 400
# A page with more boxes than this would fill a notebook with megabytes that nobody asked for; `ramet.draw` makes it all the same.
_MOST_OPS = 3_000


class Shown:
    """A result that shows itself.

    - `repr(result)` is one line, `<Plan for 'net': 2 edits, 14 ops touched>`: short in a log, a debugger and a failed assertion.
    - `print(result)` is the whole text, and so is a line of IPython that ends in it.
    - A notebook shows HTML, in which names are only ever text. Where that fails, it shows the text: a display hook that raises
      would put a traceback between somebody and the result.
    """

    __slots__ = ()

    def _line(self) -> str:
        """What stands in the brackets of the repr, after the name of the class."""
        raise NotImplementedError

    def _html(self) -> str:
        return preformatted(str(self))

    def __repr__(self) -> str:
        try:
            return f"<{type(self).__name__} {escape(self._line())}>"
        except Exception:  # noqa: BLE001  # a repr is asked for where something is wrong already
            return object.__repr__(self)

    def _repr_html_(self) -> str | None:
        return shown(self._html)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: FBT001  # IPython's signature
        # Inside a list, the whole text of each would hide the list.
        is_alone = not cycle and len(getattr(printer, "stack", ())) <= 1
        printer.text((shown(lambda: _cut(str(self))) if is_alone else None) or repr(self))


def shown(make: Callable[[], str]) -> str | None:
    """What `make` returns, or None where it fails: a notebook then shows the next best."""
    try:
        return make()
    except Exception:  # noqa: BLE001  # see `Shown`
        return None


def preformatted(text: str) -> str:
    """Text as it is printed, in the notebook's own colours, so that it can be read on a dark page as well."""
    body = quote("\n".join(map(escape, _cut(text).split("\n"))))
    return f'<pre style="font-family:monospace;white-space:pre;overflow-x:auto;line-height:1.3">{body}</pre>'


def _cut(text: str) -> str:
    lines = text.split("\n")
    if len(lines) <= _LINES:
        return text
    return "\n".join([*lines[:_LINES], f"... and {len(lines) - _LINES:,} more lines; print it to see them all"])


def graph_html(graph: Graph) -> str:
    """The picture of a graph; its text where drawing is not installed, fails, or would be too large."""
    return (shown(lambda: _picture(graph)) if _is_small(graph) else None) or preformatted(str(graph))


def _is_small(graph: Graph) -> bool:
    return all(number < _MOST_OPS for number, _ in enumerate(graph.walk()))


def _picture(graph: Graph) -> str:
    # The one import from a lower room to a higher one, made when a graph is shown: a picture is what a reader wants to see.
    from ramet._draw import draw_graph

    return draw_graph(graph)._repr_html_() or ""
