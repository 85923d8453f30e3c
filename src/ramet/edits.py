"""The edits: each function makes one, `ramet.edit` carries them out, `ramet.plan` says what they would do.

A selector may be given as such, as a glob over paths, as a class, as a layer of the model, or as a list of these. A layer is
given as a function that takes the old layer (of the twin, never of the model passed in) and returns the new one.

>>> from ramet import edits as e, of_class
>>> e.replace(of_class("ReLU"), lambda old: ...)
replace(of_class('ReLU'), layer=<lambda>, weights=True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ramet._arguments import as_tuple, check_flag, check_text
from ramet._edit import Edit
from ramet._select import anything, as_selector
from ramet.errors import ArgumentError, shown

__all__ = [
    "cast",
    "drop_dropout",
    "flatten",
    "fold_batchnorm",
    "freeze",
    "insert_after",
    "insert_before",
    "lora",
    "merge_lora",
    "prefix",
    "quantize",
    "remove",
    "rename",
    "replace",
    "resize_input",
    "splice",
    "split_activation",
    "swap_head",
    "unfreeze",
    "update",
    "wrap",
]

Calls = int | str | Iterable[int | str] | None


def replace(selector: Any, layer: Any, *, weights: bool = True, required: bool = True) -> Edit:
    """Another layer in the place of each that matches, at every call and wherever it is held.

    Args:
        selector: Which layers.
        layer: A function from the old layer to the new one.
        weights: Whether weights with the same name and shape are taken over.
        required: Whether it is an error that nothing matches.
    """
    check_flag("replace", "weights", weights)
    return _edit("replace", selector, required=required, layer=layer, weights=weights)


def wrap(selector: Any, layer: Any, *, required: bool = True) -> Edit:
    """A layer around each that matches: the function returns one that holds the layer it is given."""
    return _edit("wrap", selector, required=required, layer=layer)


def insert_before(selector: Any, layer: Any, *, calls: Calls = None, required: bool = True) -> Edit:
    """A new layer before each that matches; one for each tensor that its first argument holds.

    Args:
        selector: Before which layers.
        layer: A function from the old layer to the new one.
        calls: The calls of a shared layer, by number from 1 on or by id; all when left out. The new layer is shared as
            the old one is.
        required: Whether it is an error that nothing matches.
    """
    return _edit("insert_before", selector, required=required, layer=layer, calls=_listed("insert_before", calls))


def insert_after(selector: Any, layer: Any, *, calls: Calls = None, required: bool = True) -> Edit:
    """A new layer after each that matches; one for each of its outputs. See `insert_before`."""
    return _edit("insert_after", selector, required=required, layer=layer, calls=_listed("insert_after", calls))


def remove(
    selector: Any, *, calls: Calls = None, keep: int | Iterable[int] | None = None, required: bool = True
) -> Edit:
    """Leave out each layer that matches: what read it reads what it read.

    Args:
        selector: Which layers.
        calls: The calls of a shared layer, by number from 1 on or by id; all when left out.
        keep: Which of its inputs stands for its output, where it has several.
        required: Whether it is an error that nothing matches.
    """
    if keep is not None and (isinstance(keep, bool) or not isinstance(keep, int)):
        keep = as_tuple("remove", "keep", keep, "the number of an input from 0 on, or a list of these")
        if any(isinstance(number, bool) or not isinstance(number, int) for number in keep):
            raise ArgumentError(
                f"Cannot remove with keep={shown(keep)}: these are not numbers of inputs.",
                fix="pass whole numbers from 0 on, one for each output.",
            )
    return _edit("remove", selector, required=required, calls=_listed("remove", calls), keep=keep)


def splice(after: Any, before: Any, layer: Any) -> Edit:
    """Replace what lies between two layers by a new layer or model: it reads the first, and the second reads it.

    Args:
        after: The last layer that stays on the way in.
        before: The first layer that stays on the way out.
        layer: The layer or model, or a function that gets the list of layers that go.
    """
    return _edit("splice", after, before=as_selector(before), layer=layer)


def rename(selector: Any, name: str | Callable[[str], str], *, required: bool = True) -> Edit:
    """Another name for a layer or model, or for several by a function of the old name; variable paths follow."""
    if not callable(name):
        check_text("rename", "name", name)
    return _edit("rename", selector, required=required, name=name)


def prefix(text: str, selector: Any = None, *, required: bool = True) -> Edit:
    """A text before the name of each layer and model that matches (all but inputs when left out)."""
    check_text("prefix", "text", text)
    return _edit("prefix", anything() if selector is None else selector, required=required, text=text)


def update(selector: Any, *, weights: str = "refuse", required: bool = True, **settings: Any) -> Edit:
    """Change settings of each layer that matches: `update("drop*", rate=0.3)`. They are in force everywhere.

    Args:
        selector: Which layers.
        weights: What happens to weights whose shape changes: "refuse", "slice", "pad", "mean", "repeat" or "fresh".
        required: Whether it is an error that nothing matches.
        **settings: Names and values, as the constructor of the layer takes them.
    """
    return _edit("update", selector, required=required, settings=tuple(settings.items()), weights=weights)


def freeze(selector: Any = None, *, required: bool = True) -> Edit:
    """Let each layer or model that matches (all when left out), with everything inside it, be trained no more."""
    return _edit("freeze", anything() if selector is None else selector, required=required)


def unfreeze(selector: Any = None, *, required: bool = True) -> Edit:
    """Let each layer or model that matches be trained, with everything inside it. Of several edits the last one counts."""
    return _edit("unfreeze", anything() if selector is None else selector, required=required)


def cast(policy: Any, selector: Any = None, *, required: bool = True) -> Edit:
    """Another dtype policy, like "mixed_bfloat16", for each layer that matches (all when left out) and what is inside.

    Quantised layers get float weights again, the ones that their quantised weights stand for. Policies that quantise are
    refused: that is what `quantize` is for.
    """
    return _edit("cast", anything() if selector is None else selector, required=required, policy=policy)


def resize_input(shape: Iterable[int | None], *, input: str | None = None, weights: str = "refuse") -> Edit:
    """Another shape for an input, without the batch; its names stay.

    Positions are followed from the input to the weights that belong to them, through `Flatten`, `Reshape` and the like. With
    "pad", the old values plus anything in new channels give the outputs of the old model. What has no right answer,
    such as a dense layer on flattened positions of a resized convolution, is refused.

    Args:
        shape: The sizes; None for any.
        input: The name of the input, where there are several.
        weights: What happens to weights that no longer fit: "refuse", "slice" (the first ones), "pad" (zeros), "mean" (of
            the old ones, for those that are added), "repeat" or "fresh".
    """
    sizes = as_tuple("resize_input", "shape", shape, "the sizes without the batch, such as (32, 32, 4)")
    if input is not None:
        check_text("resize_input", "input", input)
    return Edit("resize_input", None, (("shape", sizes), ("input", input), ("weights", weights)))


def swap_head(classes: int, *, head: Any = None, activation: Any = None, weights: str = "fresh") -> Edit:
    """Another number of classes, with new weights in the layer that makes them.

    Args:
        classes: How many.
        head: Which layer it is; the last one with units or filters on the way to the output when left out.
        activation: Another activation, such as "softmax"; the old one when left out.
        weights: "fresh", or what to make of the old ones: "slice", "pad", "mean" or "repeat".
    """
    selector = None if head is None else as_selector(head)
    return Edit("swap_head", selector, (("classes", classes), ("activation", activation), ("weights", weights)))


def flatten(selector: Any = None) -> Edit:
    """Lay nested models open into the graph around them (all when left out); shared ones stay shared."""
    return _edit("flatten", anything() if selector is None else selector, required=False)


def fold_batchnorm(selector: Any = None) -> Edit:
    """Fold each batch normalisation into the convolution or dense layer before or after it, only where that is exact."""
    return _edit("fold_batchnorm", anything() if selector is None else selector, required=False)


def drop_dropout(selector: Any = None) -> Edit:
    """Leave out dropout and noise, which only act in training; inside other layers, set the rate to 0."""
    return _edit("drop_dropout", anything() if selector is None else selector, required=False)


def split_activation(selector: Any = None) -> Edit:
    """Make the activation of dense and convolutional layers a layer of its own after them."""
    return _edit("split_activation", anything() if selector is None else selector, required=False)


def merge_lora(selector: Any = None) -> Edit:
    """Add the low-rank updates of layers with LoRA to their weights, and leave LoRA out."""
    return _edit("merge_lora", anything() if selector is None else selector, required=False)


def lora(
    selector: Any = None,
    rank: int = 4,
    *,
    alpha: float | None = None,
    freeze_rest: bool = True,
    seed: int | None = None,
    required: bool = True,
) -> Edit:
    """Enable LoRA on each layer that matches and supports it, and freeze everything else.

    Inside a layer that has no LoRA of its own, such as `MultiHeadAttention`, the layers that support it get it. What
    supports it are `Dense`, `EinsumDense`, `Embedding`, convolutions, and layers of your own with an `enable_lora`; quantised
    ones, too.

    Args:
        selector: Which layers; all that support it when left out.
        rank: The rank of the update.
        alpha: What the update is multiplied with, over the rank; the rank when left out.
        freeze_rest: Whether everything but low-rank matrices is frozen; otherwise only the weights that LoRA updates are.
        seed: Makes the low-rank matrices repeatable, whatever else is drawn.
        required: Whether it is an error that no layer gets LoRA.
    """
    return _edit(
        "lora", _all_if_none(selector), required=required, rank=rank, alpha=alpha, freeze_rest=freeze_rest, seed=seed
    )


def quantize(selector: Any = None, mode: str = "int8", *, required: bool = True) -> Edit:
    """Quantise the weights of each layer that matches, and of what is inside, as Keras' `quantize` does.

    Args:
        selector: Which layers; all when left out. Layers that Keras cannot quantise are skipped, and a plan says why.
        mode: "int8", "int4" or "float8".
        required: Whether it is an error that no layer is quantised.
    """
    return _edit("quantize", _all_if_none(selector), required=required, mode=mode)


def _all_if_none(selector: Any) -> Any:
    return anything() if selector is None else selector


def _edit(kind: str, selector: Any, *, required: bool = True, **settings: Any) -> Edit:
    check_flag(kind, "required", required)
    return Edit(kind, as_selector(selector), tuple(settings.items()), required)


def _listed(kind: str, calls: Calls) -> Any:
    if calls is None or isinstance(calls, int | str):
        return calls
    return as_tuple(kind, "calls", calls, "numbers of calls from 1 on, their ids, or a list of these")
