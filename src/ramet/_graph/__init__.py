"""A model as data: ops, calls, values and graphs, all frozen.

Other rooms build a `Graph` from a live model or a file, and compare, search, draw or edit it. This room defines the data
(`nodes.py`, `argument.py`, `graph.py`), its rules (`lint`), its JSON in both directions (`Graph.to_json`, `Graph.from_json`),
and its text. It does not know Keras.
"""

from ramet._graph.argument import (
    EMPTY,
    Argument,
    Constant,
    Frozen,
    FrozenDict,
    FrozenList,
    Key,
    Ref,
    Shape,
    Slice,
    fold,
    freeze,
    freeze_dict,
    map_leaves,
    parts_of,
    refs,
    thaw,
)
from ramet._graph.graph import Graph
from ramet._graph.index import group
from ramet._graph.json_fields import JsonFields, JsonPath, describe_json, format_error, open_document
from ramet._graph.json_read import ArgumentReader
from ramet._graph.json_write import ArgumentWriter, Json
from ramet._graph.lint import lint
from ramet._graph.nodes import (
    UNRECORDED,
    Call,
    Mask,
    MaskKind,
    Op,
    OpKind,
    Value,
    VariableSpec,
    call_id,
    split_call_id,
    without_first,
)
from ramet._graph.render import render
from ramet._graph.text import fits_notebook, graph_rows

__all__ = [
    "EMPTY",
    "UNRECORDED",
    "Argument",
    "ArgumentReader",
    "ArgumentWriter",
    "Call",
    "Constant",
    "Frozen",
    "FrozenDict",
    "FrozenList",
    "Graph",
    "Json",
    "JsonFields",
    "JsonPath",
    "Key",
    "Mask",
    "MaskKind",
    "Op",
    "OpKind",
    "Ref",
    "Shape",
    "Slice",
    "Value",
    "VariableSpec",
    "call_id",
    "describe_json",
    "fits_notebook",
    "fold",
    "format_error",
    "freeze",
    "freeze_dict",
    "graph_rows",
    "group",
    "lint",
    "map_leaves",
    "open_document",
    "parts_of",
    "refs",
    "render",
    "split_call_id",
    "thaw",
    "without_first",
]
