"""The public verbs that only read: each takes a live model, the path of a model file, or a graph."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramet._arguments import check_flag
from ramet._source import form_of, is_path, read_source, saved
from ramet.errors import ArgumentError

if TYPE_CHECKING:
    from ramet._diff import Diff
    from ramet._draw import Picture, Rankdir
    from ramet._files import FileListing
    from ramet._graph import Graph
    from ramet._select import Selection
    from ramet._source import Source
    from ramet._verify import Report

__all__ = ["capture", "diff", "draw", "select", "show"]


def capture(model: Any) -> Graph:
    """Return the graph of a model: its ops, calls and values as frozen data to print, walk, compare and write as JSON.

    Nothing is run, and the model is not changed. A subclassed model and a single layer have no call graph: they are
    captured as a tree of layers, and the `kind` of the graph is "subclassed" or "layer".

    Args:
        model: A model or layer, the path of a model file, or a graph, which is returned as it is.

    Returns:
        The graph.

    Raises:
        NotAModelError: `model` is neither a model nor a layer, a path or a graph.
        ModelFileError: The file is missing, broken, or not a model.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="d")], name="tiny")
    >>> print(ramet.capture(model))
    tiny (Sequential)  10 parameters
      x  Input  (None, 4) float32
      d  Dense  (None, 2)          <- x  -> output
    """
    with contextlib.ExitStack() as files:
        return _read(model, "capture", files).graph


def select(model: Any, selector: Any) -> Selection:
    """Return the layers of a model that match a selector. Print the result for paths, shapes and counts.

    Args:
        model: A model or layer, the path of a model file, or a graph.
        selector: A selector, a glob over paths, a class, a layer of the model, or a list of these.

    Returns:
        The selection, a sequence of matches; empty if nothing matches.

    Raises:
        ArgumentError: `selector` is none of these.
        NotAModelError: `model` is neither a model nor a layer, a path or a graph.
        ModelFileError: The file is missing, broken, or not a model.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.ReLU(name="b")])
    >>> ramet.select(model, ramet.of_class("Dense")).paths
    ('a',)
    """
    from ramet._select import select_in

    with contextlib.ExitStack() as files:
        found = _read(model, "select layers of", files)
    if found.model is None:
        return select_in(found.graph, selector)
    from ramet._keras import locations_below

    return select_in(found.graph, selector, {one.path: one.op for one in locations_below(found.model)})


def diff(before: Any, after: Any) -> Diff:
    """Return the differences between two models. Print the result, read its `changes`, or write it with `to_json()`.

    The diff covers layers added, removed, moved, renamed and replaced; settings, calls, masks, inputs and outputs;
    sharing; compile settings; how far weights moved; and the state of the optimizer. Live models are also compared by
    metrics, vocabularies, random and recurrent state and attributes; files also by assets, metadata and whatever else
    they contain. Numbers are compared bit by bit, and `not_compared` lists what is left out. Equal models give an empty
    diff. Neither model is changed, and files are read as data: nothing in them runs.

    Args:
        before: A model or layer, the path of a model file (`.keras`, `.h5`, weights), or a graph.
        after: Another of these. A live model is compared with a file as if it had been saved. A graph holds no values,
            so only what it describes is compared; the graph of a live model cannot be compared with a file.

    Returns:
        The diff, which is false if there is no difference.

    Raises:
        ArgumentError: The two have different forms, or the model cannot be saved without loss.
        NotAModelError: An argument is neither a model nor a layer, a path or a graph.
        ModelFileError: A file is missing, broken, or not a model.

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
    Consequences
      variable trainable  d/kernel True -> False, and 1 more
    <BLANKLINE>
    Not compared
      compiled functions, caches, locks and addresses of objects
      ...
    """
    with contextlib.ExitStack() as files:
        return _diff_sources(*_read_pair(before, after, files))


def draw(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    before: Any = None,
    report: Report | None = None,
    rankdir: Rankdir = "TB",
    columns: int = 1,
    scale: float | None = None,
) -> Picture:
    """Draw a model in a notebook, as a page (`.html`) or as a picture (`.svg`, `.png`, `.pdf`).

    Boxes are colored by kind, and edges carry shapes; sharing, masks and the contents of nested models and layers are
    visible. A page is one file that opens from disk and works offline.

    Args:
        model: A model or layer, the path of a model file, which is read as data, or a graph.
        path: The file to write; its suffix selects the format. Nothing is written without it. PNG and PDF need a converter:
            the Python package cairosvg, or rsvg-convert, Inkscape, Chromium, Chrome or Edge.
        before: An earlier model, file or graph. The picture then shows the differences, including removed layers, and
            boxes are colored by how far their weights moved.
        report: A report of `ramet.verify` on the model. The page then opens at the first value that differs.
        rankdir: "TB" to draw from top to bottom, "LR" from left to right.
        columns: The number of columns to fold a long picture into; with `rankdir="LR"`, the number of lines.
        scale: The number of pixels per unit of a `.png`; 2 by default.

    Returns:
        The picture, which a notebook shows.

    Raises:
        ArgumentError: The suffix is not supported, no converter is installed, or an argument is out of range. Nothing
            is written.
        NotAModelError: `model` is neither a model nor a layer, a path or a graph.
        ModelFileError: The file is missing, broken, or not a model.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> ramet.draw(model).to_svg()[:4]
    '<svg'
    """
    from ramet._draw import check_direction, check_target, draw_graph

    check_direction(rankdir, columns)
    if path is not None:
        if not is_path(path):
            raise ArgumentError(
                f"Cannot draw to an object of class {type(path).__name__}: it is not a path.",
                fix='pass the name of a file, such as "model.html"; an earlier model is passed as before=.',
            )
        check_target(Path(path), scale)
    elif scale is not None:
        raise ArgumentError("Cannot scale a picture that is not written: scale= needs a .png path.", fix="omit scale=.")
    findings: list[tuple[str, str]] = []
    if report is not None:
        from ramet._verify import findings_of

        findings = findings_of(report)
    files = contextlib.ExitStack()
    try:
        changes = old_graph = None
        if before is None:
            new = _read(model, "draw", files)
        else:
            old, new = _read_pair(before, model, files)
            old_graph, changes = old.graph, _diff_sources(old, new)
        picture = draw_graph(
            new.graph, changes, new.weights, before=old_graph, findings=findings, rankdir=rankdir, columns=columns
        )
        # A page reads the weights when it is first shown, so the files stay open as long as the picture exists.
        weakref.finalize(picture, files.close)
        if path is not None:
            picture.save(path, scale=scale)
    except BaseException:
        files.close()
        raise
    return picture


def show(path: str | os.PathLike[str], *, weights: bool = False) -> FileListing:
    """Return the contents of a model file: layers, shapes, parameters, sharing, metadata and compile settings.

    The file is read as data: nothing in it runs, and Keras is not needed. Print the result, read its attributes, or
    write it with `to_json()`.

    Args:
        path: A `.keras` file or folder, a `.weights.h5` or `.weights.json` file, or a `.h5` file of Keras 2.
        weights: `True` to read the values of the variables, too, for the range and a digest of each.

    Returns:
        The listing.

    Raises:
        ModelFileError: The file is missing, broken, or not a model.
        ArgumentError: `path` is not a path.

    >>> import os, tempfile
    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="d")], name="tiny")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "tiny.keras")
    ...     model.save(file)
    ...     listing = ramet.show(file)
    >>> listing.parameters, listing.graph.name
    (10, 'tiny')
    """
    check_flag("show", "weights", weights)
    if not is_path(path):
        raise ArgumentError(
            f"Cannot show an object of class {type(path).__name__}: it is not the path of a model file.",
            fix="print(ramet.capture(model)) lists the layers of a live model.",
        )
    from ramet._files import list_file, open_model_file

    with open_model_file(path) as file:
        return list_file(file, weights=weights)


def _read(source: Any, verb: str, files: contextlib.ExitStack) -> Source:
    found = read_source(source, verb)
    if found.file is not None:
        files.enter_context(found.file)
    return found


def _read_pair(before: Any, after: Any, files: contextlib.ExitStack) -> tuple[Source, Source]:
    """Read two models in forms that can be compared: a live model beside a file is saved first."""
    sides = [_read(side, "compare", files) for side in (before, after)]
    forms = [form_of(side.graph) if side.file is None else "file" for side in sides]
    for number, side in enumerate(sides):
        other = sides[1 - number]
        if forms[number] == "file" or forms[1 - number] != "file":
            continue
        if side.model is not None:
            like = Path("model.keras") if other.file is None else other.file.path
            sides[number] = _read(files.enter_context(saved(side.model, like=like)), "compare", files)
        elif forms[number] == "live":
            raise ArgumentError(
                "Cannot compare the graph of a live model with a file: Keras writes settings to a file in another form.",
                fix="compare the model itself with the file, or its graph with that of another live model.",
            )
    return sides[0], sides[1]


def _diff_sources(before: Source, after: Source) -> Diff:
    if before.file is not None and after.file is not None:
        from ramet._files import diff_files

        return diff_files(before.file, after.file)
    if before.model is not None and after.model is not None:
        from ramet._verify import diff_models

        return diff_models(before.model, after.model)
    from ramet._diff import diff_graphs

    left_out = "values of variables, compile settings and attributes, which a graph does not hold"
    return dataclasses.replace(diff_graphs(before.graph, after.graph), not_compared=(left_out,))
