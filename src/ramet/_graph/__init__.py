"""A model as data: ops, calls, values and graphs, frozen; order, rules, JSON and text. Nothing here knows Keras."""

from ramet._graph.argument import (
    EMPTY,
    Argument,
    Constant,
    FrozenDict,
    FrozenList,
    Key,
    Ref,
    Shape,
    Slice,
    leaves,
    map_leaves,
    map_refs,
    refs,
)
from ramet._graph.call import Call, MaskKind, call_id, split_call_id, without_first
from ramet._graph.change import map_ops, map_paths, renumber, reroute
from ramet._graph.decode import from_json
from ramet._graph.encode import to_json
from ramet._graph.fold import fold
from ramet._graph.freeze import freeze, freeze_dict, thaw
from ramet._graph.frozen import Frozen
from ramet._graph.graph import Graph, GraphKind
from ramet._graph.json_read import ArgumentReader
from ramet._graph.json_record import Place, Record, describe, misfit
from ramet._graph.json_write import ArgumentWriter, Json
from ramet._graph.levels import level_by_level
from ramet._graph.line import describe_call
from ramet._graph.lint import RULES, check, lint
from ramet._graph.notebook import Shown, preformatted, shown
from ramet._graph.op import Op, OpKind
from ramet._graph.problem import FormatError, GraphError, Problem, UnknownPathError
from ramet._graph.render import escape, render, shortened
from ramet._graph.value import UNRECORDED, Mask, Value, VariableSpec

__all__ = [
    "EMPTY",
    "RULES",
    "UNRECORDED",
    "Argument",
    "ArgumentReader",
    "ArgumentWriter",
    "Call",
    "Constant",
    "FormatError",
    "Frozen",
    "FrozenDict",
    "FrozenList",
    "Graph",
    "GraphError",
    "GraphKind",
    "Json",
    "Key",
    "Mask",
    "MaskKind",
    "Op",
    "OpKind",
    "Place",
    "Problem",
    "Record",
    "Ref",
    "Shape",
    "Shown",
    "Slice",
    "UnknownPathError",
    "Value",
    "VariableSpec",
    "call_id",
    "check",
    "describe",
    "describe_call",
    "escape",
    "fold",
    "freeze",
    "freeze_dict",
    "from_json",
    "leaves",
    "level_by_level",
    "lint",
    "map_leaves",
    "map_ops",
    "map_paths",
    "map_refs",
    "misfit",
    "preformatted",
    "refs",
    "render",
    "renumber",
    "reroute",
    "shortened",
    "shown",
    "split_call_id",
    "thaw",
    "to_json",
    "without_first",
]
