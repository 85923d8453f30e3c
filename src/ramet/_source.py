"""One way to read a model: every reading verb takes a live model, the path of a model file, or a graph.

`read_source` turns any of them into a `Source`: the graph, and where the values of the variables can be read. Rooms are
imported late, so that reading a file or a graph needs no Keras.
"""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ramet.errors import ArgumentError, LostOnSaveWarning, NotAModelError

if TYPE_CHECKING:
    from ramet._diff import Weights
    from ramet._files import ModelFile
    from ramet._graph import Graph

__all__ = ["Source", "form_of", "is_path", "read_source", "saved"]


@dataclass(frozen=True, slots=True)
class Source:
    """A model that has been read."""

    graph: Graph
    weights: Weights | None = None  # reads the values of its variables by path; None for a graph, which holds no values
    model: Any = None  # the live model or layer, if it is one
    file: ModelFile | None = None  # the open file, if it is one


def form_of(graph: Graph) -> Literal["live", "file", "unknown"]:
    """Return whether a graph was captured from a live model or read from a file; see `saved` for how they differ."""
    modules = {op.module or "" for _, op in graph.walk()}
    if any(module.startswith("keras.src") for module in modules):
        return "live"
    return "file" if any(module.startswith("keras.") for module in modules) else "unknown"


def is_path(source: Any) -> bool:
    """Return whether a source is the path of a file."""
    return isinstance(source, str | os.PathLike)


def read_source(source: Any, verb: str) -> Source:
    """Read a live model, a model file or a graph.

    Args:
        source: A live model or layer, the path of a model file, or a graph. A file is read as data: nothing in it runs.
        verb: The operation, for the message of an error.

    Raises:
        NotAModelError: The source is none of these.
        ModelFileError: The file is missing, broken, or not a model.
    """
    from ramet._graph import Graph

    if isinstance(source, Graph):
        return Source(source)
    if is_path(source):
        from ramet._files import open_model_file

        file = open_model_file(source)
        return Source(file.graph, file.weights, file=file)
    import keras

    if not isinstance(source, keras.Layer):
        raise NotAModelError(
            f"Cannot {verb} an object of class {type(source).__name__}: it is not a model.",
            expected="a Keras model or layer, the path of a model file, or a graph",
            fix="pass one of these.",
        )
    from ramet._keras import LiveWeights, capture_model

    return Source(capture_model(source), LiveWeights(source), model=source)


@contextlib.contextmanager
def saved(model: Any, like: Path) -> Iterator[Path]:
    """Save a live model to a temporary file, so that it can be compared with a file. The model is not changed.

    The graph of a live model and that of its file differ in form: Keras writes tuples as lists, modules by their public
    names, and leaves out what it can infer. Two files have the same form.

    Args:
        model: The live model.
        like: The file that it is compared with; an `.h5` file is written for an `.h5` file.
    """
    import keras

    from ramet._keras import keep_name_counters

    if not isinstance(model, keras.Model):
        raise ArgumentError(
            f"Cannot compare the layer '{model.name}' with a file: Keras saves models only.",
            fix="put the layer into a model first, or compare two layers.",
        )
    legacy = like.suffix in (".h5", ".hdf5") and not like.name.endswith(".weights.h5")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / ("model.h5" if legacy else "model.keras")
        logger = logging.getLogger("absl")  # Keras logs a warning there for every .h5 file
        enabled, logger.disabled = not logger.disabled, True
        try:
            with keep_name_counters(), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.save(path)
        except Exception as error:
            raise ArgumentError(
                f"Cannot compare '{model.name}' with a file: Keras cannot save the model.",
                found=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
                fix="load the file with keras.saving.load_model and compare two models.",
            ) from error
        finally:
            logger.disabled = not enabled
        lost = [one for one in caught if issubclass(one.category, LostOnSaveWarning)]
        if lost:
            raise ArgumentError(
                f"Cannot compare '{model.name}' with a file: saving the model would lose edits.",
                found=str(lost[0].message),
                fix="load the file with keras.saving.load_model and compare two models.",
            )
        yield path
