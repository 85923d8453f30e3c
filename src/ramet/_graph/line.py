"""The words that tell of one call or one op in a line of text."""

from __future__ import annotations

from collections.abc import Callable

from ramet._graph.argument import FrozenDict, Ref
from ramet._graph.call import Call
from ramet._graph.graph import Graph
from ramet._graph.op import Op
from ramet._graph.render import escape, render

__all__ = ["TRAINING_DEFAULTS", "describe_call", "describe_op", "describe_values"]

_SHOWN = 3
_LONGEST = 100

# What `training` is where nobody says so, by class; False for all others. Keras writes it down with the call, as if it had
# been given. `test_defaults_of_training_are_those_of_keras` compares with the installed Keras.
TRAINING_DEFAULTS: dict[str, bool | None] = {
    **dict.fromkeys(
        [
            "AugMix",
            "AutoContrast",
            "CenterCrop",
            "ContrastLimitedAdaptiveHistogramEqualization",
            "CutMix",
            "Equalization",
            "MaxNumBoundingBoxes",
            "MixUp",
            "Pipeline",
            "RandAugment",
            "RandomBrightness",
            "RandomColorDegeneration",
            "RandomColorJitter",
            "RandomContrast",
            "RandomCrop",
            "RandomElasticTransform",
            "RandomErasing",
            "RandomFlip",
            "RandomGaussianBlur",
            "RandomGrayscale",
            "RandomHue",
            "RandomInvert",
            "RandomPerspective",
            "RandomPosterization",
            "RandomRotation",
            "RandomSaturation",
            "RandomSharpness",
            "RandomShear",
            "RandomTranslation",
            "RandomZoom",
            "Resizing",
            "Solarization",
        ],
        True,
    ),
    **dict.fromkeys(
        [
            "BatchNormalization",
            "Bidirectional",
            "Dense",
            "EinsumDense",
            "Functional",
            "GroupQueryAttention",
            "GroupedQueryAttention",
            "Lambda",
            "Model",
            "MultiHeadAttention",
            "Sequential",
            "TimeDistributed",
            "TorchModuleWrapper",
        ],
        None,
    ),
}


def describe_values(graph: Graph, call: Call) -> str:
    """The outputs of a call: `(None, 8)`, `2 x (None, 8)`, `(None, 8), (None, 4)`; with the dtype where it is new."""
    shapes = ["?" if value.shape is None else str(value.shape) for value in call.outputs]
    text = ", ".join(shapes[:_SHOWN])
    if len(shapes) > 1 and len(set(shapes)) == 1:
        text = f"{len(shapes)} x {shapes[0]}"
    elif len(shapes) > _SHOWN:
        text += f" and {len(shapes) - _SHOWN} more"
    flags = [word for word in ("sparse", "ragged", "optional") if any(getattr(value, word) for value in call.outputs)]
    return " ".join(filter(None, [text, _new_dtype(graph, call), *flags]))


def describe_op(op: Op) -> str:
    """What there is to say of an op without calls: how many parameters it has itself, and where else it stands."""
    count = sum(spec.size for spec in op.variables if spec.weight and spec.tied is None)
    words = [f"{count:,} parameter{'' if count == 1 else 's'}"] if count else []
    return "  ".join([*words, *_notes(op)])


def describe_call(graph: Graph, call: Call) -> str:
    """What a call takes, and what there is to know of it: `<- x, training=True  mask: not_equal implicit  (shared)`."""
    op = graph._index.ops.get(call.op)
    calls = graph.calls_of(call.op)

    def name(ref: Ref) -> str:
        producer = graph._index.calls.get(ref.call)
        several = producer is not None and len(producer.outputs) > 1
        return f"{escape(ref.call)}[{ref.output}]" if several or ref.output else escape(ref.call)

    masks = dict(call.mask_kinds)
    taken = [render(item, name, limit=_LONGEST) for place, item in enumerate(call.args) if place not in masks]
    taken += [
        f"{escape(str(key))}={render(item, name, limit=_LONGEST)}"
        for key, item in call.kwargs.pairs
        if key not in masks and not _is_default(op, key, item)
    ]
    words = [f"<- {_shortened(taken)}"] if taken else []
    for place, kind in call.mask_kinds:
        word = escape(place) if isinstance(place, str) else f"argument {place}"
        words.append(f"{word}: {render(call.argument(place), name, limit=_LONGEST)} {kind}")
    words += _masks_made(graph, call, name)
    words += _notes(op) if op else ["(no such op)"]
    if calls[0] is not call:
        words.append("(shared)")
    words += _outputs(graph, call)
    return "  ".join(words)


def _is_default(op: Op | None, key: object, value: object) -> bool:
    """Whether an argument says no more than a call without it."""
    if value is None:
        return True
    return key == "training" and op is not None and value is TRAINING_DEFAULTS.get(op.class_name, False)


def _shortened(taken: list[str]) -> str:
    text = ""
    for place, item in enumerate(taken):
        if place and len(text) + len(item) > 2 * _LONGEST:
            return f"{text} and {len(taken) - place} more"
        text += f", {item}" if place else item
    return text


def _new_dtype(graph: Graph, call: Call) -> str:
    """The dtypes of the outputs, when they are not that of the first argument."""
    place = graph._index.positions[call.id]
    for ref in graph._index.reads[place][:1]:
        producer = graph._index.calls.get(ref.call)
        if producer is not None and 0 <= ref.output < len(producer.outputs):
            taken = producer.outputs[ref.output].dtype
            if all(value.dtype == taken for value in call.outputs):
                return ""
    return ", ".join(dict.fromkeys(escape(value.dtype) for value in call.outputs))


def _masks_made(graph: Graph, call: Call, name: Callable[[Ref], str]) -> list[str]:
    """The masks that begin here: those of the outputs which none of the arguments has."""
    made = {value.mask for value in call.outputs if value.mask is not None}
    if not made:
        return []
    for ref in graph._index.reads[graph._index.positions[call.id]]:
        producer = graph._index.calls.get(ref.call)
        if producer is not None:
            made -= {value.mask for value in producer.outputs}
    words = sorted(name(mask) if isinstance(mask, Ref) else str(mask) for mask in made)
    return [f"makes mask: {', '.join(words)}"] if words else []


def _notes(op: Op) -> list[str]:
    notes = []
    if op.same_as is not None:
        notes.append(f"(same as {escape(op.same_as)})")
    if not op.trainable and (op.variables or op.inside):
        notes.append("(frozen)")
    return notes


def _outputs(graph: Graph, call: Call) -> list[str]:
    """Which outputs of the graph the call's values are: by name where they are a dict, else by number."""
    count = graph._index.output_count
    named = graph.outputs.pairs if isinstance(graph.outputs, FrozenDict) else ()
    words = []
    for place in range(len(call.outputs)):
        ref = Ref(call.id, place)
        for number in graph.output_numbers(ref):
            word = "output"
            if len(named) == count:
                word += f" {render(named[number][0])}"
            elif count > 1:
                word += f" {number}"
            words.append(f"[{place}] -> {word}" if len(call.outputs) > 1 else f"-> {word}")
    return words
