"""At least one match, or an error that helps to find what was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ramet._graph import Graph, escape
from ramet._select.candidate import Catalog
from ramet._select.find import Search
from ramet._select.glob import glob_test
from ramet._select.kind import Exactly, Named, OfClass
from ramet._select.selection import Selection, select_in
from ramet._select.selector import And, Selector
from ramet._select.table import shortened
from ramet.errors import ArgumentError, NoMatchError, listed

__all__ = ["require"]

# Names compared when looking for the closest, and parts of a selector looked at: enough to help, little enough to answer
# at once.
_COMPARED = 5_000
_PARTS = 20
_NEAR = 3


@dataclass(frozen=True, slots=True)
class _Hint:
    closest: tuple[str, ...]
    fix: str


def require(what: object, graph: Graph | None = None, live: Mapping[str, Any] | None = None) -> Selection:
    """The selection, which has at least one match; else a `NoMatchError` that names what is closest.

    Args:
        what: a selection, or what stands for a selector to ask of a graph.
        graph: the graph of a model, for a selector.
        live: the live ops by their paths, for a selector.
    """
    if isinstance(what, Selection):
        selection = what
    elif graph is not None:
        selection = select_in(graph, what, live)
    else:
        raise ArgumentError(
            "Cannot require a match: there is no model to ask.",
            fix="pass a selection, or a selector and the graph of a model.",
        )
    if selection.matches:
        return selection
    catalog = selection._catalog
    hint = next(_hints(selection.selector, catalog), None)
    raise NoMatchError(
        f"Cannot find {shortened(selection.selector)} in '{escape(catalog.graph.name)}': no op matches.",
        found=_emptied_by(selection.selector, catalog),
        closest=hint.closest if hint else (),
        fix=hint.fix if hint else "list the ops there are with print(ramet.capture(model)).",
    )


def _emptied_by(selector: Selector, catalog: Catalog) -> str | None:
    """For an `&`: how far it went, and which part no op was left for."""
    if not isinstance(selector, And):
        return None
    search = Search(catalog)
    left: Selector | None = None
    count = len(catalog)
    for part in selector.several:
        joined = part if left is None else left & part
        matches = len(search.ask(joined))
        if not matches:
            break
        left, count = joined, matches
    if left is None:
        return f"no op that is {shortened(selector.several[0])}"
    verb = "op matches" if count == 1 else "ops match"
    return f"{count:,} {verb} {shortened(left)}, none of them {shortened(part)}"


def _hints(selector: Selector, catalog: Catalog) -> Iterator[_Hint]:
    """What may have been meant, for each part of the selector that matches nothing by itself."""
    search = Search(catalog)
    for part in _leaves(selector):
        hint = None
        if isinstance(part, Exactly):
            hint = _Hint((), "pass a layer of this very model (not of its twin), or its path as a string.")
        elif isinstance(part, Named | OfClass) and not search.ask(part):
            hint = _name_hint(part, catalog) if isinstance(part, Named) else _class_hint(part, catalog)
        if hint is not None:
            yield hint


def _leaves(selector: Selector) -> Iterator[Selector]:
    waiting = [selector]
    told = 0
    while waiting and told < _PARTS:
        item = waiting.pop()
        if item.parts:
            waiting.extend(reversed(item.parts))
        else:
            told += 1
            yield item


def _name_hint(part: Named, catalog: Catalog) -> _Hint | None:
    for glob in part.globs[:_PARTS]:
        near = _matching([glob], catalog, ignore_case=True)
        if near:
            return _Hint(near, "write upper and lower case as the model does.")
        wider = f"*{glob.strip('*')}*"
        near = _matching([wider], catalog)
        if near:
            return _Hint(near, f"write named({wider!r}) for a part of a name, or one of these paths.")
        if "/" in glob:
            # The path may go through a level that was left out, or begin below the top.
            deeper = f"*{glob.replace('/', '*/')}"
            near = _matching([deeper], catalog)
            if near:
                return _Hint(near, "write the whole path, or only its last part.")
        near = _nearest(glob, catalog)
        if near:
            return _Hint(near, "write one of these paths, or list all with print(ramet.capture(model)).")
    return None


def _matching(globs: list[str], catalog: Catalog, *, ignore_case: bool = False) -> tuple[str, ...]:
    test = glob_test(globs, ignore_case=ignore_case)
    return tuple(candidate.path for candidate in catalog.candidates if test(candidate))


def _nearest(glob: str, catalog: Catalog) -> tuple[str, ...]:
    """The paths that look most like a glob, compared by their last part unless the glob has a `/`."""
    paths: dict[str, str] = {}
    for candidate in catalog.candidates[:_COMPARED]:
        path = candidate.path
        paths.setdefault(path if "/" in glob else path.rpartition("/")[2], path)
    return tuple(paths[name] for name in difflib.get_close_matches(glob.strip("*"), paths, n=_NEAR))


def _class_hint(part: OfClass, catalog: Catalog) -> _Hint | None:
    """The class of the model whose name is closest, and where ops of it stand."""
    first: dict[str, list[str]] = {}
    for candidate in catalog.candidates:
        first.setdefault(candidate.op.class_name, []).append(candidate.path)
    lower = {name.lower(): name for name in first}
    for item in part.classes[:_PARTS]:
        wanted = (item if isinstance(item, str) else item.__name__).replace(">", ".").rpartition(".")[2]
        near = [lower[name] for name in difflib.get_close_matches(wanted.lower(), lower, n=_NEAR)]
        if near:
            return _Hint(tuple(first[near[0]]), f"the classes closest to it are {listed(near)}; write one of these.")
    return None
