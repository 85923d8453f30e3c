"""Verbs that bring weights from one model into another. These change the target in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ramet._weights import TransferReport


def transfer(
    source: Any,
    target: Any,
    *,
    policy: Literal["refuse", "slice", "pad", "mean", "repeat", "fresh"] = "refuse",
    select: Any = None,
    rename: Mapping[str, str] | Callable[[str], str] | None = None,
    dry_run: bool = False,
) -> TransferReport:
    """A report of what became of each weight of `target`, which is changed in place.

    Weights and batch statistics are matched by path, whatever the models are called; then, where they are wholly alike, by the
    order of names that Keras gave (`dense_3` and `dense_17`), or by the end of the path, if one of the models stands
    deeper. All of them are written, or none. Random states, metrics and the optimizer stay as they are.

    Args:
        source: A model, a layer, or a mapping from paths to arrays. It is not changed.
        target: A model or a layer; changed in place.
        policy: For weights of other shapes. `"refuse"`: nothing is written. `"slice"`: the first ones, to shrink.
            `"pad"`: zeros behind, to grow. `"mean"`: the mean of the old ones behind. `"repeat"`: the old ones over and over.
            `"fresh"`: the target keeps its own.
        select: Which weights of the target are meant: a glob over paths, or a selector of layers.
        rename: New paths, or beginnings of paths, by old ones (`{"encoder": "backbone", "block_*": "stage_*"}`), or a
            function from the path in the source to the path in the target.
        dry_run: `True` to write nothing, and be told what would be.

    Axes that hold several parts behind each other (the gates of an LSTM or GRU, the filters of a grouped convolution) are
    adapted part by part. Rows that belong to flattened or concatenated values are not adapted, because no policy could tell which
    is which: give the source the new input shape first, with `resize_input`.

    Raises:
        WeightsDoNotFitError: shapes differ, and the policy does not allow it or cannot adapt them; or nothing at all would be
            written, because no path matches or no dtype fits (not with `dry_run=True`).

    >>> import keras, ramet
    >>> old, new = (keras.Sequential([keras.Input((4,)), keras.layers.Dense(n, name="d")], name="net") for n in (2, 3))
    >>> print(ramet.transfer(old, new, policy="pad"))
    net -> net: 2 adapted
    <BLANKLINE>
    adapted by 'pad'
      d/kernel  (4, 2) -> (4, 3)
      d/bias    (2,) -> (3,)
    """
    from ramet._weights import transfer as carry_over

    return carry_over(source, target, policy=policy, select=select, rename=rename, dry_run=dry_run)


def sync(source: Any, target: Any, tau: Any = 1.0) -> None:
    """Nothing; the weights of `target` are changed in place: `tau * source + (1 - tau) * target`.

    For a target network, or an average of weights. Batch statistics are averaged as weights are; integers and booleans
    are copied; random and RNN states, metrics and the optimizer stay. With `tau=1`, every bit is copied. Floats narrower than
    single precision are averaged in single precision. On the device, in one compiled call, which is made once for two
    models; it keeps neither of them alive.

    In a callback it works on every backend, also when one of the models is being fit. In a `train_step` of one's own it
    works on TensorFlow and torch; on JAX it is refused there, unless under a `keras.StatelessScope`, which then keeps the
    new values.

    Args:
        source: A model or layer. It is not changed.
        target: One with the same weights by path, `ramet.clone(source)` say; changed in place.
        tau: How far the target moves: from 0, not at all, to 1, a copy. Another tau compiles nothing anew. A tensor is
            read first, except inside a TensorFlow function or a `keras.StatelessScope`, where its value is not checked.

    Raises:
        WeightsDoNotFitError: the weights are not the same by path, shape and kind of dtype. Nothing was written.
        ArgumentError: `tau` is no share, or the models are quantised, and such weights have no average.
        StateElsewhereError: the values are not in the models right now.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d")])
    >>> target = ramet.clone(model)
    >>> model.get_layer("d").bias.assign([1.0, 2.0]) is None
    False
    >>> ramet.sync(model, target, tau=0.5)
    >>> [float(x) for x in target.get_layer("d").bias.numpy()]
    [0.5, 1.0]
    """
    from ramet._weights import sync as bring_up_to_date

    bring_up_to_date(source, target, tau)
