"""The vocabularies of lookup layers in a SavedModel.

Keras 2 has kept them in three places: as two constants that the table is initialized from, as a text file in `assets`, or, up
to TensorFlow 2.5, as keys and values of a mutable table in the checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from ramet._files import cannot_read
from ramet._port.checkpoint import DTYPES, read_file
from ramet._port.object_graph import Kind, ObjectGraph
from ramet._port.protobuf import Message, broken
from ramet._report import escape
from ramet.errors import OutOfBudgetError

Values: TypeAlias = Sequence[bytes] | Sequence[int]

# The attributes of layers that hold the table of a vocabulary. Other tables count tokens while a layer is adapted.
TABLE_ATTRIBUTES = ("lookup_table", "_table")
_INTEGERS = {3: (7, 4), 9: (10, 8)}
_STRING = 7
# The name of an encoding is part of the file, and Python has some that do not decode text.
_ENCODINGS = ("utf-8", "utf8", "ascii", "latin-1", "latin1", "iso-8859-1", "cp1252")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The vocabulary of a lookup layer.

    Attributes:
        tokens: The tokens of the table, by their index. Tokens for padding and for unknown words are usually not in it.
        start: The index of the first token; None if the vocabulary is a text file, which does not contain indices.
    """

    tokens: tuple[str, ...] | tuple[int, ...]
    start: int | None


@dataclass(frozen=True, slots=True)
class TableLayer:
    """What the metadata of a lookup layer says about its table."""

    is_inverted: bool
    is_integer: bool
    encoding: str


class NoVocabulary(Exception):  # noqa: N818  # caught in this package, and never seen by a user
    """The vocabulary of a layer cannot be read; the text completes the sentence 'its vocabulary ...'."""


class TableReader:
    """The tables of one SavedModel."""

    def __init__(self, directory: Path, graph: ObjectGraph) -> None:
        self._directory = directory
        self._graph = graph
        self._limits = graph.budget.limits
        self._what = graph.budget.what
        self._bound: dict[str, tuple[int, ...]] | None = None
        self._constants: dict[str, Message] | None = None

    def read(self, node: int, layer: TableLayer) -> Vocabulary:
        """Return the vocabulary in a table.

        Raises:
            NoVocabulary: It is somewhere else, or in a form that is not supported.
        """
        stored = self._graph.stored_for(node)
        mutable = stored.value("table") if stored is not None else None
        if mutable is not None:
            keys, values = (self._stored(f"{mutable[1]}-{part}") for part in ("keys", "values"))
            return _vocabulary(keys, values, layer)
        inputs = [number for number in self._initializer_inputs(node) if number != node]
        kinds = [self._graph.objects[number].kind for number in inputs]
        if kinds == [Kind.ASSET]:
            return _from_file(self._asset(inputs[0]), layer)
        if kinds == [Kind.CONSTANT, Kind.CONSTANT]:
            keys, values = (self._constant(number) for number in inputs)
            return _vocabulary(keys, values, layer)
        if not kinds and self._graph.objects[node].child("_initialize") is not None:
            return Vocabulary((), None)
        raise NoVocabulary("is in a table that is initialized in an unknown way")

    def _stored(self, key: str) -> Values:
        if key not in self._graph.checkpoint:
            raise NoVocabulary("is missing in the checkpoint")
        array = self._graph.checkpoint.array(key)
        if len(array.shape) != 1 or array.dtype not in ("string", "int32", "int64"):
            raise NoVocabulary(f"is an array of {array.dtype} with the shape {list(array.shape)}")
        found: Values = array.read().tolist()
        return found

    def _initializer_inputs(self, node: int) -> tuple[int, ...]:
        """Return the objects that the function of a table that fills it was given, other than by its caller."""
        function = self._graph.objects[node].child("_initialize")
        if function is None:
            return ()
        saved = self._graph.objects[function]
        if saved.body is None or saved.kind not in (Kind.FUNCTION, Kind.BARE_FUNCTION):
            raise NoVocabulary("is in a table without a function that initializes it")
        name = next(saved.body.texts(1), "")
        if self._bound is None:
            self._bound = {}
            for entry in self._graph.functions.scan(2):
                value = entry.message(2)
                if value is not None:
                    self._bound[entry.text(1)] = tuple(value.numbers(2))
        inputs = self._bound.get(name, ())
        if any(not 0 <= number < len(self._graph.objects) for number in inputs):
            raise broken(self._what, "a function in it refers to an object that does not exist")
        return inputs

    def _constant(self, node: int) -> Values:
        body = self._graph.objects[node].body
        name = "" if body is None else body.text(1)
        if self._constants is None:
            self._constants = self._find_constants()
        tensor = self._constants.get(name)
        if tensor is None:
            raise NoVocabulary(f"is in the constant '{escape(name)}', which is missing")
        return self._tensor_values(tensor)

    def _find_constants(self) -> dict[str, Message]:
        """Return the values of all constants that are objects of the model, by the names of their operations."""
        wanted = {
            item.body.text(1) for item in self._graph.objects if item.kind is Kind.CONSTANT and item.body is not None
        }
        found: dict[str, Message] = {}
        graph = self._graph.meta_graph.message(2)
        for operation in graph.scan(1) if graph is not None else ():
            name = operation.text(1)
            if name not in wanted or operation.text(2) != "Const":
                continue
            if name in found:
                raise cannot_read(self._what, f"the constant '{escape(name)}' occurs twice")
            attributes = {entry.text(1): entry.message(2) for entry in operation.messages(5)}
            value = attributes.get("value")
            tensor = None if value is None else value.message(8)
            if tensor is not None:
                found[name] = tensor
        return found

    def _tensor_values(self, tensor: Message) -> Values:
        """Return the values of a TensorProto with one dimension."""
        dtype, shape = tensor.number(1), tensor.message(2)
        sizes = [] if shape is None else [dim.number(1) for dim in shape.messages(2)]
        if len(sizes) != 1 or sizes[0] < 0 or (dtype != _STRING and dtype not in _INTEGERS):
            raise NoVocabulary(f"is a constant of {DTYPES.get(dtype, 'unknown dtype')} with the shape {sizes}")
        (count,) = sizes
        if count > self._limits.objects:
            raise cannot_read(self._what, f"a vocabulary has {count:,} tokens", OutOfBudgetError)
        found: list[bytes] | list[int]
        if dtype == _STRING:
            found = [bytes(view) for view in tensor.views(8)]
        else:
            number_field, width = _INTEGERS[dtype]
            packed = tensor.data(4)
            found = list(tensor.numbers(number_field))
            if len(packed):
                if len(packed) != count * width:
                    raise broken(self._what, "a constant in it does not match its shape")
                starts = range(0, len(packed), width)
                found = [int.from_bytes(packed[start : start + width], "little", signed=True) for start in starts]
        # A constant may leave out values at its end that are equal to the last one.
        if len(found) > count or (count and not found):
            raise broken(self._what, "a constant in it does not match its shape")
        return [*found, *found[-1:] * (count - len(found))]

    def _asset(self, node: int) -> bytes:
        body = self._graph.objects[node].body
        number = 0 if body is None else body.number(1)
        names = [asset.text(2) for asset in self._graph.meta_graph.messages(6)]
        if not 0 <= number < len(names):
            raise broken(self._what, "it refers to an asset that does not exist")
        name = PurePosixPath(names[number])
        if name.is_absolute() or ".." in name.parts or "\\" in names[number] or ":" in names[number]:
            raise cannot_read(self._what, f"the asset '{escape(names[number])}' is outside of the SavedModel")
        folder = self._directory / "assets"
        path = folder / name
        # A link could lead to any file of this machine, whose lines would end up in the result.
        if not path.resolve().is_relative_to(self._directory.resolve() / "assets"):
            raise cannot_read(self._what, f"the asset '{escape(names[number])}' is outside of the SavedModel")
        return read_file(path, self._limits)


def _vocabulary(keys: Values, values: Values, layer: TableLayer) -> Vocabulary:
    """Return the vocabulary of a table that maps tokens to indices, or indices to tokens if it is inverted."""
    tokens, indices = (values, keys) if layer.is_inverted else (keys, values)
    if len(tokens) != len(indices):
        raise NoVocabulary("has more tokens than indices, or fewer")
    if not all(isinstance(index, int) for index in indices):
        raise NoVocabulary("has indices that are not numbers")
    # Mutable tables are saved in no particular order.
    order = sorted(range(len(indices)), key=indices.__getitem__)
    start = int(indices[order[0]]) if order else None
    if any(indices[position] != number for number, position in enumerate(order, start or 0)):
        raise NoVocabulary("has gaps between its indices")
    return Vocabulary(_decoded((tokens[position] for position in order), layer), start)


def _from_file(content: bytes, layer: TableLayer) -> Vocabulary:
    lines = content.replace(b"\r", b"").split(b"\n")
    if not lines[-1]:
        lines.pop()
    if not layer.is_integer:
        return Vocabulary(_decoded(lines, layer), None)
    # Python would also read "1_000" and digits of other scripts.
    if not all(line.removeprefix(b"-").isdigit() and len(line) < 20 for line in lines):
        raise NoVocabulary("is a file with lines that are not integers")
    return Vocabulary(tuple(int(line) for line in lines), None)


def _decoded(tokens: Iterable[bytes | int], layer: TableLayer) -> tuple[str, ...] | tuple[int, ...]:
    if layer.encoding.lower() not in _ENCODINGS:
        raise NoVocabulary(f"has the encoding '{escape(layer.encoding)}'")
    try:
        found = [token.decode(layer.encoding) if isinstance(token, bytes) else token for token in tokens]
    except UnicodeDecodeError:
        raise NoVocabulary(f"contains tokens that are not {layer.encoding}") from None
    return tuple(found)  # type: ignore[return-value]
