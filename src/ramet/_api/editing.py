"""Verbs that find layers and change twins."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

from ramet.errors import ArgumentError

if TYPE_CHECKING:
    from ramet._edit import Plan, Recipe
    from ramet._select import Selection

T = TypeVar("T")


def select(model: Any, selector: Any) -> Selection:
    """The layers of a model that a selector means; print it for paths, shapes and counts.

    Args:
        model: A model or layer of any kind, or a graph.
        selector: A selector, a glob over paths, a class, a layer of the model, or a list of these.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.ReLU(name="b")])
    >>> ramet.select(model, ramet.of_class("Dense")).paths
    ('a',)
    """
    from ramet._graph import Graph
    from ramet._select import select_in

    if isinstance(model, Graph):
        return select_in(model, selector)
    from ramet._keras import capture, places_below

    return select_in(capture(model), selector, {place.path: place.op for place in places_below(model)})


def edit(model: T, *edits: Any, seed: int | None = None, unsaved: bool = False, check: bool = False) -> T:
    """An edited twin of a model; the model itself is not changed.

    What no edit touches comes along with its weights, flags, random state and optimizer slots. All selectors are asked about
    the model as it is passed in; two edits that would change the same thing are refused, `edit(edit(model, a), b)` makes
    them one after the other. Slots of the optimizer follow their variables, new variables get fresh ones, frozen ones lose
    theirs. A class with its own config is kept if that config, updated where necessary, describes the result; otherwise the
    result is a plain functional model, which `plan` notes.

    Args:
        model: A model or layer of any kind. What needs a call graph is refused where there is none.
        *edits: Edits, as `ramet.edits` makes them, recipes, or lists of these.
        seed: Makes the weights of new layers repeatable.
        unsaved: Allow edits inside a class that makes its own parts, and would make the old ones when it is loaded. Saving
            such a model gives a `LostOnSaveWarning`.
        check: Run both models on inputs made from the specs, and raise an error unless the outputs are the same: for edits
            that keep the function (`fold_batchnorm`, `flatten`, `drop_dropout`, `split_activation`, `merge_lora`, `rename`,
            `prefix`), others are refused.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(2, name="logits")])
    >>> ramet.edit(model, e.swap_head(classes=10)).output_shape
    (None, 10)
    """
    from ramet._arguments import check_flag, check_seed
    from ramet._edit import as_edits
    from ramet._edit import edit as carry_out

    check_seed("edit", seed)
    for name, flag in (("unsaved", unsaved), ("check", check)):
        check_flag("edit", name, flag)
    if check:
        changing = next((one for one in as_edits(edits) if not one.preserving), None)
        if changing is not None:
            raise ArgumentError(
                f"Cannot check {changing!r}: it changes what the model computes.",
                fix="leave check= out, or make this edit in a second step.",
            )
    edited: T = carry_out(model, *edits, seed=seed, unsaved=unsaved)
    if check:
        from ramet._verify import check_same_function

        check_same_function(model, edited)
    return edited


def plan(model: Any, *edits: Any) -> Plan:
    """What `edit` would do: what each edit touches, what it skips and why. Nothing is done.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential(
    ...     [keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")], name="m"
    ... )
    >>> print(ramet.plan(model, e.freeze("a")))
    Plan for 'm': 1 edit, 1 op touched
    <BLANKLINE>
    1. freeze(named('a')): 1 op
       a  Dense, frozen
    """
    from ramet._edit import plan as say

    return say(model, *edits)


def read_recipe(source: str | os.PathLike[str]) -> Recipe:
    r"""The recipe in a TOML file: edits for `edit` and `plan`. It never runs code from the file.

    Args:
        source: The path of a file, or the text itself (a string with a line break or `[[` in it).

    Raises:
        RecipeError: Something in it is not known or does not fit; the error says line and column, and what is closest.

    >>> import ramet
    >>> print(ramet.read_recipe("[[edit]]\nremove = 'drop*'"))
    Recipe 'recipe': 1 edit
    1. remove(named('drop*'))
    """
    from ramet import edits
    from ramet._edit import check_layers
    from ramet._edit import read_recipe as read

    recipe = read(source, {name: getattr(edits, name) for name in edits.__all__})
    check_layers(recipe.edits)
    return recipe
