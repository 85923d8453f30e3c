"""Who is meant: selectors, and what they find in a model as data. Nothing here knows Keras."""

from ramet._select.candidate import Candidate, Catalog, Place, candidates
from ramet._select.convert import as_selector
from ramet._select.find import Search, find
from ramet._select.kind import Exactly, Named, OfClass, Where
from ramet._select.make import anything, feeds, named, nth, of_class, reads, where, with_config
from ramet._select.require import require
from ramet._select.selection import Match, Selection, select_in
from ramet._select.selector import Selector, fold_once

__all__ = [
    "Candidate",
    "Catalog",
    "Exactly",
    "Match",
    "Named",
    "OfClass",
    "Place",
    "Search",
    "Selection",
    "Selector",
    "Where",
    "anything",
    "as_selector",
    "candidates",
    "feeds",
    "find",
    "fold_once",
    "named",
    "nth",
    "of_class",
    "reads",
    "require",
    "select_in",
    "where",
    "with_config",
]
