"""Verbs for models as data, and for parts of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ramet._graph import Graph


def capture(model: Any) -> Graph:
    """The graph of a model: ops, calls and values as frozen data to print, walk, compare and write as JSON.

    Nothing is called, and nothing of the model changes. A subclassed model and a layer on its own have no call graph: they
    are captured as a tree of layers, and the graph's `kind` is "subclassed" or "layer".

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="d")], name="tiny")
    >>> print(ramet.capture(model))
    tiny (Sequential)  10 parameters
      x  Input  (None, 4) float32
      d  Dense  (None, 2)          <- x  -> output
    """
    from ramet._keras import capture as take

    return take(model)


def cut(model: Any, outputs: Any, inputs: Any = None) -> Any:
    """Return the part of a model that leads to some of its layers, as a functional model with its weights.

    The layers are twins: the original is not changed, and nothing is shared with it.

    Args:
        model: A functional or a built Sequential model.
        outputs: Where the part ends: the path of a layer, `"block4/conv2"`, through nested models too (`"shared#2"` for its
            second call, `"shared"` or `"shared#1"` for its first); a layer of the model; or a tensor of the model, such as `model.get_layer("a").output`. Or a
            list, tuple or dict of these.
        inputs: Where the part begins, in the same form; the model's own inputs when left out. An output of a layer that is
            passed here becomes an input of the same shape and dtype, called `<layer>_output`, or by its key in
            a dict; an input of the model stays that input.

    Raises:
        UnknownPathError: there is no layer at a path.
        ArgumentError: a layer or tensor is not part of the model or is called several times, an output needs other inputs
            than these, or does not depend on them.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")])
    >>> ramet.cut(model, outputs="a").output_shape
    (None, 3)
    >>> tail = ramet.cut(model, outputs="b", inputs="a")
    >>> tail.input_shape, tail.output_shape
    ((None, 3), (None, 2))
    """
    from ramet._build import cut as take_part

    return take_part(model, outputs, inputs)
