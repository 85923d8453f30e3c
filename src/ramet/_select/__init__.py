"""Selectors, and the ops that they match in a model given as data.

The input is a selector, made by a public constructor (`named`, `of_class`, ...), and a graph, together with the live ops by
path if there is a model. The output is a tuple of candidates (`find`, `Search`), a printable `Selection` (`select_in`), or an
error that suggests the closest ops (`require`). This room does not know Keras.
"""

from ramet._select.catalog import Candidate, Catalog
from ramet._select.constructors import anything, feeds, named, nth, of_class, reads, where, with_config
from ramet._select.no_match import LIST_OPS, require
from ramet._select.search import Search, find
from ramet._select.selection import Selection, select_in
from ramet._select.selector import Exactly, Named, OfClass, Selector, Where, as_selector

__all__ = [
    "LIST_OPS",
    "Candidate",
    "Catalog",
    "Exactly",
    "Named",
    "OfClass",
    "Search",
    "Selection",
    "Selector",
    "Where",
    "anything",
    "as_selector",
    "feeds",
    "find",
    "named",
    "nth",
    "of_class",
    "reads",
    "require",
    "select_in",
    "where",
    "with_config",
]
