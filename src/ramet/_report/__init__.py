"""Reports: results as data, and the writers for every format.

A result object (a graph, plan, diff, verify report, ...) derives from `Result` and returns its content as a `Document`: a
title and sections of rows, each with a style. The writers turn a document into plain text, colored text, Markdown or HTML.
They align columns, write "and 5 more", escape control characters, and keep names from a model from acting as markup.
Smaller objects, such as one row of a plan, derive from `Summarized` for a repr of one line.

JSON documents of every kind begin with the same header, `{"ramet": "<kind>", "version": 1, ...}`: see `json_text` and
`json_lines`. The room also holds the words that all rooms use (`count(2, "op")`, `more(5)`, `joined(names)`,
`escape(name)`), the progress bar, and the writer of files that are replaced atomically.

It knows neither models nor Keras, and imports nothing heavy.
"""

from ramet._report.document import Cell, Code, Document, Row, Section, Style
from ramet._report.files import replaced_file
from ramet._report.markup import html_block, to_html
from ramet._report.progress import ProgressBar, progress_callback
from ramet._report.result import Result, Summarized, attempt, envelope, json_lines, json_text
from ramet._report.text import SUBSTITUTES, encodable, has_color, is_terminal, paint, plain, to_ansi, to_text
from ramet._report.words import (
    abbreviate,
    count,
    escape,
    escape_lines,
    joined,
    joined_values,
    more,
    split_off,
    with_article,
)

__all__ = [
    "SUBSTITUTES",
    "Cell",
    "Code",
    "Document",
    "ProgressBar",
    "Result",
    "Row",
    "Section",
    "Style",
    "Summarized",
    "abbreviate",
    "attempt",
    "count",
    "encodable",
    "envelope",
    "escape",
    "escape_lines",
    "has_color",
    "html_block",
    "is_terminal",
    "joined",
    "joined_values",
    "json_lines",
    "json_text",
    "more",
    "paint",
    "plain",
    "progress_callback",
    "replaced_file",
    "split_off",
    "to_ansi",
    "to_html",
    "to_text",
    "with_article",
]
