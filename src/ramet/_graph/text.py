"""Graphs as text: one line per call, with nested models indented below the call that first uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ramet._graph.argument import FrozenDict, Ref
from ramet._graph.graph import Graph
from ramet._graph.nodes import Call, Op
from ramet._graph.render import render
from ramet._report import Document, Row, Section, count, joined_values, more

# Levels that are drawn; below, the depth is a number.
_DRAWN_LEVELS = 12
_LONGEST_ARGUMENT = 100
# A drawing with more boxes than this would fill a notebook with megabytes. `ramet.draw` draws any number.
_MOST_BOXES = 3_000

# The value of `training` in calls that do not pass it, by class; False for all others. Keras records it with the call as if
# it had been passed. `test_defaults_of_training_are_those_of_keras` compares with the installed Keras.
# fmt: off
TRAINING_DEFAULTS: dict[str, bool | None] = {
    **dict.fromkeys([
        "AugMix", "AutoContrast", "CenterCrop", "ContrastLimitedAdaptiveHistogramEqualization", "CutMix", "Equalization",
        "MaxNumBoundingBoxes", "MixUp", "Pipeline", "RandAugment", "RandomBrightness", "RandomColorDegeneration",
        "RandomColorJitter", "RandomContrast", "RandomCrop", "RandomElasticTransform", "RandomErasing", "RandomFlip",
        "RandomGaussianBlur", "RandomGrayscale", "RandomHue", "RandomInvert", "RandomPerspective", "RandomPosterization",
        "RandomRotation", "RandomSaturation", "RandomSharpness", "RandomShear", "RandomTranslation", "RandomZoom",
        "Resizing", "Solarization",
    ], True),
    **dict.fromkeys([
        "BatchNormalization", "Bidirectional", "Dense", "EinsumDense", "Functional", "GroupQueryAttention",
        "GroupedQueryAttention", "Lambda", "Model", "MultiHeadAttention", "Sequential", "TimeDistributed",
        "TorchModuleWrapper",
    ], None),
}
# fmt: on


def graph_document(graph: Graph) -> Document:
    """Return a header and one line per call, or per op if the model has no call graph."""
    title = f"{graph.name} ({graph.class_name})  {count(graph.parameters, 'parameter')}"
    if not graph.has_calls:
        title += ", no call graph"
    return Document(title, (Section(rows=tuple(graph_rows(graph)), tree=True),), style="")


def graph_rows(graph: Graph, *, full: bool = False) -> Iterator[Row]:
    """Yield the rows of all levels, each followed by those inside it.

    Args:
        graph: The model.
        full: Whether each row has the dtype of every output, and a column with the number of the op's own parameters.
    """
    # Each row comes with the level inside it or None, so nothing recurses.
    levels = [_level(graph, 0, full=full)]
    while levels:
        for row, inner in levels[-1]:
            yield row
            if inner is not None:
                levels.append(inner)
                break
        else:
            levels.pop()


_Level = Iterator[tuple[Row, "_Level | None"]]


def _level(graph: Graph, depth: int, *, full: bool) -> _Level:
    if not graph.calls:
        yield from _tree(graph.held, depth, full=full)
        return
    for call in graph.calls:
        op = graph._index.ops.get(call.op)
        is_first = graph.calls_of(call.op)[0] is call
        class_name = "?" if op is None else "Input" if op.kind == "input" else op.class_name
        parameters = [_parameters(op) if op and is_first else ""] if full else []
        cells = (_indent(depth) + call.id, class_name, _outputs(graph, call, full=full), *parameters)
        yield Row((*cells, _arguments(graph, call))), _inside(op, depth + 1, full=full) if op and is_first else None
    yield from _tree(graph.extras, depth, full=full)


def _tree(ops: tuple[Op, ...], depth: int, *, full: bool) -> _Level:
    for op in ops:
        parameters, notes = _parameters(op), _notes(op)
        if not full and parameters:
            notes.insert(0, f"{parameters} {'parameter' if parameters == '1' else 'parameters'}")
        cells = (_indent(depth) + op.id, op.class_name, "", *([parameters] if full else []))
        yield Row((*cells, "  ".join(notes))), _inside(op, depth + 1, full=full)


def _inside(op: Op, depth: int, *, full: bool) -> _Level | None:
    if op.graph is not None:
        return _level(op.graph, depth, full=full)
    return _tree(op.children, depth, full=full) if op.children else None


def _indent(depth: int) -> str:
    return "| " * depth if depth <= _DRAWN_LEVELS else f"{'| ' * _DRAWN_LEVELS}({depth}) "


def _parameters(op: Op) -> str:
    """Return the number of parameters that belong to the op itself, or nothing for none."""
    own = sum(spec.size for spec in op.variables if spec.weight and spec.tied is None)
    return f"{own:,}" if own else ""


def _notes(op: Op) -> list[str]:
    notes = [f"(same as {op.same_as})"] if op.same_as is not None else []
    return [*notes, "(frozen)"] if not op.trainable and (op.variables or op.inside) else notes


# One call.


def _outputs(graph: Graph, call: Call, *, full: bool) -> str:
    """Return the outputs of a call: `(None, 8)`, `2 x (None, 8)`, `(None, 8), (None, 4)`; with a dtype that is new."""
    flags = ("sparse", "ragged", "optional")
    words = ["?" if value.shape is None else str(value.shape) for value in call.outputs]
    if not full:
        used = [flag for flag in flags if any(getattr(value, flag) for value in call.outputs)]
        return " ".join(filter(None, [joined_values(words), _new_dtypes(graph, call), *used]))
    for number, value in enumerate(call.outputs):
        # A model file does not record every dtype.
        dtype = [value.dtype] if value.dtype != "unknown" else []
        words[number] = " ".join([words[number], *dtype, *(flag for flag in flags if getattr(value, flag))])
    return joined_values(words)


def _new_dtypes(graph: Graph, call: Call) -> str:
    """Return the dtypes of the outputs, unless all are that of the first argument."""
    position = graph._index.positions[call.id]
    for ref in graph._index.reads[position][:1]:
        producer = graph._index.calls.get(ref.call)
        if producer is not None and 0 <= ref.output < len(producer.outputs):
            first = producer.outputs[ref.output].dtype
            if all(value.dtype == first for value in call.outputs):
                return ""
    return ", ".join(dict.fromkeys(value.dtype for value in call.outputs))


def _arguments(graph: Graph, call: Call) -> str:
    """Return the arguments of a call and its notes: `<- x, training=True  mask: not_equal implicit  (shared)`."""
    op = graph._index.ops.get(call.op)

    def name(ref: Ref) -> str:
        producer = graph._index.calls.get(ref.call)
        is_one_of_several = producer is not None and len(producer.outputs) > 1
        return f"{ref.call}[{ref.output}]" if is_one_of_several or ref.output else ref.call

    masks = dict(call.mask_kinds)
    arguments = [render(item, name, limit=_LONGEST_ARGUMENT) for i, item in enumerate(call.args) if i not in masks]
    arguments += [
        f"{key!s}={render(item, name, limit=_LONGEST_ARGUMENT)}"
        for key, item in call.kwargs.pairs
        if key not in masks and not _is_default(op, key, item)
    ]
    words = [f"<- {_within_limit(arguments)}"] if arguments else []
    for key, kind in call.mask_kinds:
        label = key if isinstance(key, str) else f"argument {key}"
        words.append(f"{label}: {render(call.argument(key), name, limit=_LONGEST_ARGUMENT)} {kind}")
    words += _new_masks(graph, call, name)
    words += _notes(op) if op else ["(no such op)"]
    if graph.calls_of(call.op)[0] is not call:
        words.append("(shared)")
    return "  ".join([*words, *_graph_outputs(graph, call)])


def _is_default(op: Op | None, key: object, value: object) -> bool:
    """Return whether the argument has its default value."""
    if value is None:
        return True
    return key == "training" and op is not None and value is TRAINING_DEFAULTS.get(op.class_name, False)


def _within_limit(arguments: list[str]) -> str:
    text = ""
    for number, item in enumerate(arguments):
        if number and len(text) + len(item) > 2 * _LONGEST_ARGUMENT:
            return f"{text} {more(len(arguments) - number)}"
        text += f", {item}" if number else item
    return text


def _new_masks(graph: Graph, call: Call, name: Callable[[Ref], str]) -> list[str]:
    """Return the masks of the outputs that none of the arguments has."""
    new = {value.mask for value in call.outputs if value.mask is not None}
    if not new:
        return []
    for ref in graph._index.reads[graph._index.positions[call.id]]:
        producer = graph._index.calls.get(ref.call)
        if producer is not None:
            new -= {value.mask for value in producer.outputs}
    words = sorted(name(mask) if isinstance(mask, Ref) else str(mask) for mask in new)
    return [f"makes mask: {', '.join(words)}"] if words else []


def _graph_outputs(graph: Graph, call: Call) -> list[str]:
    """Return the outputs of the graph that the call computes: by name if they are a dict, else by number."""
    total = graph._index.output_count
    named = graph.outputs.pairs if isinstance(graph.outputs, FrozenDict) else ()
    words = []
    for i in range(len(call.outputs)):
        for number in graph.output_numbers(Ref(call.id, i)):
            word = "output"
            if len(named) == total:
                word += f" {render(named[number][0])}"
            elif total > 1:
                word += f" {number}"
            words.append(f"[{i}] -> {word}" if len(call.outputs) > 1 else f"-> {word}")
    return words


def draw_picture(graph: Graph) -> Any:
    """Return the picture of a graph."""
    # The only import from a lower room to a higher one, made when a graph is displayed as a picture.
    from ramet._draw import draw_graph

    return draw_graph(graph)


def fits_notebook(graph: Graph) -> bool:
    """Return whether the picture of a graph is small enough to be shown in a notebook without being asked for."""
    return all(number < _MOST_BOXES for number, _ in enumerate(graph.walk()))
