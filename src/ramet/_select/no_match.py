"""Selections that must not be empty: an error that suggests the closest names and classes."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from ramet._graph import Graph
from ramet._report import count, escape
from ramet._select.catalog import Catalog
from ramet._select.criteria import glob_test
from ramet._select.search import Search
from ramet._select.selection import Selection, code_of, select_in
from ramet._select.selector import And, Exactly, Named, OfClass, Selector
from ramet.errors import NoMatchError

# How to list the ops of a model in Python; commands put their own way in its place.
LIST_OPS = "print(ramet.capture(model))"
# Number of names compared in search of the closest, and of parts of a selector examined: enough to help, and quick.
_COMPARED = 5_000
_PARTS = 20
_NEAR = 3


_Hint: TypeAlias = tuple[tuple[str, ...], str]  # the closest paths or classes, and a fix


def require(selector: object, graph: Graph, live: Mapping[str, Any] | None = None) -> Selection:
    """Return the ops that match a selector; raise a `NoMatchError` with the closest ones if there are none.

    Args:
        selector: A selector, or anything that `as_selector` reads.
        graph: The graph of a model.
        live: The live ops by their paths.
    """
    selection = select_in(graph, selector, live)
    if selection.matches:
        return selection
    catalog = selection._catalog
    no_hint = ((), f"list the ops of the model with {LIST_OPS}.")
    closest, fix = _hint(selection.selector, catalog) or no_hint
    raise NoMatchError(
        f"Cannot find {code_of(selection.selector)} in '{escape(graph.name)}': no op matches.",
        found=_emptied_by(selection.selector, catalog),
        closest=closest,
        fix=fix,
    )


def _emptied_by(selector: Selector, catalog: Catalog) -> str | None:
    """Return, for an `&`, the number of matches of its first parts and the part that none of them matches."""
    if not isinstance(selector, And):
        return None
    search = Search(catalog)
    left: Selector | None = None
    size = len(catalog)
    for part in selector.several:
        joined = part if left is None else left & part
        matches = len(search.numbers(joined))
        if not matches:
            break
        left, size = joined, matches
    if left is None:
        return f"no op matches {code_of(selector.several[0])}"
    verb = "matches" if size == 1 else "match"
    return f"{count(size, 'op')} {verb} {code_of(left)}, but not {code_of(part)}"


def _hint(selector: Selector, catalog: Catalog) -> _Hint | None:
    """Return a suggestion for the first part of the selector that matches nothing by itself and resembles something."""
    search = Search(catalog)
    for part in itertools.islice(_leaves(selector), _PARTS):
        hint = None
        if isinstance(part, Exactly):
            return (), "pass a layer of this model (not of its twin), or its path as a string."
        if isinstance(part, Named | OfClass) and not search.numbers(part):
            hint = _name_hint(part, catalog) if isinstance(part, Named) else _class_hint(part, catalog)
        if hint is not None:
            return hint
    return None


def _leaves(selector: Selector) -> Iterator[Selector]:
    if not selector.parts:
        yield selector
    for part in selector.parts:
        yield from _leaves(part)


def _name_hint(part: Named, catalog: Catalog) -> _Hint | None:
    for glob in part.globs[:_PARTS]:
        near = _matching(glob, catalog, ignore_case=True)
        if near:
            return near, "use the same upper and lower case as the model."
        wider = f"*{glob.strip('*')}*"
        near = _matching(wider, catalog)
        if near:
            return near, f"write named({wider!r}) for a part of a name, or one of these paths."
        if "/" in glob:
            # The path may skip a level, or begin below the top.
            near = _matching(f"*{glob.replace('/', '*/')}", catalog)
            if near:
                return near, "write the whole path, or only its last part."
        near = _nearest(glob, catalog)
        if near:
            return near, f"write one of these paths, or list all with {LIST_OPS}."
    return None


def _matching(glob: str, catalog: Catalog, *, ignore_case: bool = False) -> tuple[str, ...]:
    test = glob_test([glob], ignore_case=ignore_case)
    return tuple(candidate.path for candidate in catalog.candidates if test(candidate))


def _nearest(glob: str, catalog: Catalog) -> tuple[str, ...]:
    """Return the paths most similar to a glob, compared by their last part unless the glob contains a `/`."""
    paths: dict[str, str] = {}
    for candidate in catalog.candidates[:_COMPARED]:
        path = candidate.path
        paths.setdefault(path if "/" in glob else path.rpartition("/")[2], path)
    return tuple(paths[name] for name in difflib.get_close_matches(glob.strip("*"), paths, n=_NEAR))


def _class_hint(part: OfClass, catalog: Catalog) -> _Hint | None:
    """Return the classes in the model with the most similar names."""
    lower = {candidate.op.class_name.lower(): candidate.op.class_name for candidate in catalog.candidates}
    for item in part.classes[:_PARTS]:
        wanted = (item if isinstance(item, str) else item.__name__).replace(">", ".").rpartition(".")[2]
        near = [lower[name] for name in difflib.get_close_matches(wanted.lower(), lower, n=_NEAR)]
        if near:
            return tuple(near), "write one of these classes."
    return None
