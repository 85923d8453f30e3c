"""The objects of a SavedModel: layers, variables, tables and functions, with the attributes that lead from one to another.

There are two such graphs. The one in `saved_model.pb` has the kinds of objects, the one in the checkpoint has the keys of
their values. TensorFlow matches them by the names of attributes, from the root down, and so does this module.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from ramet._files import Limits, cannot_read
from ramet._port.checkpoint import Checkpoint, read_file
from ramet._port.protobuf import FieldBudget, Message, broken
from ramet._report import escape
from ramet.errors import ModelFileError, OutOfBudgetError

_LFS_POINTER = b"version https://git-lfs"
_OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


class Kind(IntEnum):
    """The kinds of objects, as the numbers of their fields in a SavedObject."""

    NONE = 0
    USER_OBJECT = 4
    ASSET = 5
    FUNCTION = 6
    VARIABLE = 7
    BARE_FUNCTION = 8
    CONSTANT = 9
    RESOURCE = 10
    CAPTURED_TENSOR = 12


@dataclass(frozen=True, slots=True)
class SavedObject:
    """An object in `saved_model.pb`.

    Attributes:
        children: The names of its attributes, and the numbers of the objects they refer to.
        kind: What it is.
        body: The message with the details of its kind.
    """

    children: tuple[tuple[str, int], ...]
    kind: Kind
    body: Message | None

    def child(self, name: str) -> int | None:
        """Return the number of the object that an attribute refers to, or None if there is no such attribute."""
        return next((node for label, node in self.children if label == name), None)


@dataclass(frozen=True, slots=True)
class Stored:
    """An object in a checkpoint.

    Attributes:
        children: The names of its attributes, and the numbers of the objects they refer to.
        values: For each of its values its name, the full name of the variable, and the key in the checkpoint.
        slots: The numbers of the variables that an optimizer of TensorFlow 2.0 to 2.10 keeps for each weight.
    """

    children: tuple[tuple[str, int], ...]
    values: tuple[tuple[str, str, str], ...]
    slots: tuple[int, ...]

    def value(self, name: str) -> tuple[str, str] | None:
        """Return the full name and the key of a value, or None if there is none."""
        return next(((full, key) for label, full, key in self.values if label == name), None)


class ObjectGraph:
    """Both graphs of a SavedModel, matched.

    Attributes:
        meta_graph: The MetaGraphDef, for readers of functions, constants and assets.
        objects: The objects of `saved_model.pb`, by number; the root is 0.
        stored: The objects of the checkpoint, by number; the root is 0.
        budget: The budget for work on this model.
    """

    def __init__(self, directory: Path, limits: Limits) -> None:
        path = directory / "saved_model.pb"
        self.budget = FieldBudget(path.name, limits)
        data = read_file(path, limits)
        if data.startswith(_LFS_POINTER):
            reason = "it is a pointer of Git LFS, not the file itself"
            raise cannot_read(path.name, reason, ModelFileError, fix="run `git lfs pull` where the file comes from.")
        meta_graph = next(Message(data, self.budget).messages(2), None)
        graph = None if meta_graph is None else meta_graph.message(7)
        if meta_graph is None:
            raise broken(path.name, "it has no graph")
        if graph is None:  # written by TensorFlow 1
            raise no_keras_model(directory)
        self._data = data
        self.meta_graph = meta_graph
        self.functions = graph
        self.objects = _saved_objects(graph, path.name, limits)
        self.checkpoint = Checkpoint(directory / "variables" / "variables", limits)
        self.stored = _stored_objects(self.checkpoint, limits)
        self._matches = self._match()

    def stored_for(self, node: int) -> Stored | None:
        """Return the object of the checkpoint that belongs to an object of the model, or None if there is none."""
        match = self._matches.get(node)
        return None if match is None else self.stored[match]

    def has_operation(self, name: str) -> bool:
        """Return whether an operation of a kind, such as "Sigmoid", occurs in the graph or in a function; at least, it seems so.

        The name is the second field of each operation. Looking for it as bytes is much faster than reading all of them.
        """
        return bytes([0x12, len(name)]) + name.encode() in self._data

    def _match(self) -> dict[int, int]:
        matches = {0: 0}
        waiting = deque([0])
        while waiting:
            node = waiting.popleft()
            names = dict(self.stored[matches[node]].children)
            for name, child in self.objects[node].children:
                match = names.get(name)
                if match is not None and child not in matches:
                    matches[child] = match
                    waiting.append(child)
        return matches


def no_keras_model(directory: Path, own_class: str = "") -> ModelFileError:
    """Return the error for a SavedModel that Keras cannot rebuild from a config, perhaps because of the class of the model."""
    if own_class:
        reason = f"its class {own_class!a} is your own, and creates its layers in code; without it, only "
        other = "load it with Keras 2, and load its weights into the class for Keras 3."
    else:
        reason, other = "it contains no Keras model, only computations that ", "save the model again with its config."
    return ModelFileError(
        f"Cannot read '{escape(directory.name)}': {reason}`keras.layers.TFSMLayer` can run"
        f"{' the model' if own_class else ''}.",
        expected="a Functional or Sequential model, saved with `model.save` of Keras 2",
        fix=f'use keras.layers.TFSMLayer("{escape(directory.name)}", call_endpoint="serving_default") as a layer, '
        f"or {other}",
        path=str(directory),
    )


def _saved_objects(graph: Message, what: str, limits: Limits) -> list[SavedObject]:
    found: list[SavedObject] = []
    for message in graph.scan(1):
        if len(found) >= limits.objects:
            raise cannot_read(what, f"it has more than {limits.objects:,} objects", OutOfBudgetError)
        kinds = [kind for kind in Kind if kind in message]
        if len(kinds) > 1:
            raise cannot_read(what, "an object in it is of several kinds")
        kind = kinds[0] if kinds else Kind.NONE
        # Of most objects, such as functions, only few are ever looked at.
        found.append(SavedObject(_children(message), kind, message.message(kind) if kinds else None))
    _check_children([item.children for item in found], what)
    return found


def _stored_objects(checkpoint: Checkpoint, limits: Limits) -> list[Stored]:
    what = "variables.index"
    array = checkpoint.array(_OBJECT_GRAPH_KEY)
    if array.dtype != "string" or array.shape:
        raise broken(what, "its object graph is not a text")
    found: list[Stored] = []
    for message in Message(array.read().item(), FieldBudget(what, limits)).scan(1):
        if len(found) >= limits.objects:
            raise cannot_read(what, f"it has more than {limits.objects:,} objects", OutOfBudgetError)
        values = tuple((value.text(1), value.text(2), value.text(3)) for value in message.messages(2))
        found.append(Stored(_children(message), values, tuple(slot.number(3) for slot in message.messages(3))))
    _check_children([item.children for item in found], what)
    for item in found:
        if any(not 0 <= slot < len(found) for slot in item.slots):
            raise broken(what, "an object in it refers to one that does not exist")
    return found


def _children(message: Message) -> tuple[tuple[str, int], ...]:
    return tuple((child.text(2), child.number(1)) for child in message.messages(1))


def _check_children(children: Sequence[tuple[tuple[str, int], ...]], what: str) -> None:
    if not children:
        raise broken(what, "it has no objects")
    if any(not 0 <= node < len(children) for inside in children for _, node in inside):
        raise broken(what, "an object in it refers to one that does not exist")
