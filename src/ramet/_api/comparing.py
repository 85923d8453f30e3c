"""Verbs that compare two models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ramet.errors import ArgumentError

if TYPE_CHECKING:
    from ramet._diff import Diff
    from ramet._verify import Report


def verify(
    model: Any,
    twin: Any = None,
    *,
    tolerance: float | Mapping[str, float] | None = None,
    only: Iterable[str] | str | None = None,
    skip: Iterable[str] | str | None = None,
    inputs: Any = None,
    targets: Any = None,
    seed: int = 0,
    share: Iterable[Any] = (),
    backends: Iterable[str] | None = None,
    progress: Callable[[str, int, int], None] | Literal[False] | None = None,
) -> Report:
    """The report on whether a model is an exact and independent twin of another: ten checks, each passed, failed or not run.

    Structure, settings, state, identity, outputs, masks, gradients, training, independence, file. Afterwards both models are
    as they were: values, random generators, optimizers that were not built, compiled functions. Nothing that makes twins is
    used to compare them. Each model is called seven times (on JAX eight), two of them with a backward pass, and saved once;
    the files are loaded unless they are equal byte by byte.

    Args:
        model: The original: a model, a layer on its own, or the path of a `.keras` file.
        twin: The other, likewise.
        tolerance: None for bit-equality; or how far floating-point numbers may be apart, as a part of the largest number of
            the original's array: one number, or one for each dtype. Then floating-point dtypes may differ, too: the numbers
            are compared by distance, and each check reports the largest relative difference (`check.largest`).
        only: The names of the checks to run.
        skip: The names of checks to leave out.
        inputs: Example inputs, for a model that does not tell what it takes; for a layer on its own with several arguments, a
            dict of them. Otherwise inputs are made from its specs, and what the original itself refuses is left out and
            counted.
        targets: Example targets for the training step.
        seed: Of inputs and random layers.
        share: What is meant to be one object in both, as in `ramet.clone(model, share=[...])`.
        backends: Run one file on each of these backends, in a process of its own, on the same inputs, and compare the
            outputs; within `tolerance`, or by default a part in ten thousand for float32.
        progress: None for a bar in a terminal when it takes long, False for none, or a function that is told the name of
            each check, its number, and of how many.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> report = ramet.verify(model, ramet.clone(model))
    >>> report.ok
    True
    >>> report["state"].summary
    '2 variables with 10 numbers are bit-equal'
    """
    from ramet._verify import verify as compare

    return compare(
        model,
        twin,
        tolerance=tolerance,
        only=only,
        skip=skip,
        inputs=inputs,
        targets=targets,
        seed=seed,
        share=share,
        backends=backends,
        progress=progress,
    )


def diff(before: Any, after: Any) -> Diff:
    """What is different between two models, or two model files: `print` it, or read `changes`; `to_json()` and `to_markdown()` write it.

    Layers added, removed, moved, renamed and replaced; settings, calls, masks, inputs and outputs; sharing made or lost;
    compile settings; how far weights moved; the state of the optimizer. Of live models also metrics, vocabularies, random and
    recurrent states and attributes; of files also assets, metadata and whatever else they hold. Numbers are compared bit by
    bit, and `not_compared` lists what is left out. Equal models give an empty diff, and neither model is changed. Files
    (`.keras`, `.h5`) are read as data: nothing in them is run, and no Keras is needed.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d")], name="tiny")
    >>> twin = ramet.clone(model)
    >>> twin.layers[0].trainable = False
    >>> diff = ramet.diff(model, twin)
    >>> print(diff)  # doctest: +ELLIPSIS
    tiny: 1 setting changed
    <BLANKLINE>
    Settings
      d  trainable: True -> False
    <BLANKLINE>
    In consequence
      variable trainable  d/kernel True -> False, and 1 more
    <BLANKLINE>
    Not compared
      compiled functions, caches, locks and addresses of objects
      ...
    """
    files = [isinstance(side, str | os.PathLike) for side in (before, after)]
    if all(files):
        from ramet._files import diff_files, read_archive

        with read_archive(before) as ours, read_archive(after) as theirs:
            return diff_files(ours, theirs)
    if any(files):
        raise ArgumentError(
            "Cannot compare a model with a file: a file does not tell everything that a model is.",
            fix="compare two files, model.save('now.keras') first; or two models, keras.saving.load_model(path).",
        )
    from ramet._verify import diff_models

    return diff_models(before, after)
