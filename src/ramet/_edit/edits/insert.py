"""`insert_before`, `insert_after` and `remove`: add or remove layers at all calls of an op, or at some."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import keras

from ramet._arguments import as_tuple
from ramet._edit.base import CallChoice, Edit, LayerSource, SelectorLike, is_integer
from ramet._edit.edits.replace import new_layer
from ramet._edit.names import settle_name
from ramet._edit.plans import PlanItems, Step, Touch
from ramet._edit.session import EditSession
from ramet._graph import split_call_id, without_first
from ramet._select import Candidate
from ramet.errors import ArgumentError, EditError, UnknownPathError, shown


@dataclass(frozen=True, repr=False)
class _AtCalls(Edit, abstract=True):
    """An edit that concerns all calls of an op, or those given by `calls`."""

    selector: SelectorLike
    calls: CallChoice = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.calls is not None and not isinstance(self.calls, int | str):
            expected = "numbers of calls, counted from 1, their ids, or a list of these"
            self._store("calls", as_tuple(self.kind, "calls", self.calls, expected))
            if not self.calls:
                raise ArgumentError(
                    f"Cannot {self.kind} at no calls: calls= is empty.",
                    expected=expected,
                    fix="name the calls, or leave out calls= for all of them.",
                )

    def _chosen_calls(self, candidate: Candidate, session: EditSession) -> tuple[str, ...]:
        """Return the ids of the calls that were given by number or id; none if the edit concerns all calls."""
        session.check_has_calls(self.kind, candidate)
        known = list(session.calls(candidate.path))
        found: list[str] = []
        for item in [self.calls] if isinstance(self.calls, int | str) else self.calls or ():
            call = without_first(item) if isinstance(item, str) and item not in known else item
            matches = [name for name in known if call in (name, (split_call_id(name) or ("", 0))[1])]
            if not matches:
                raise UnknownPathError(
                    f"Cannot {self.kind} at call {call!r} of '{candidate.path}': there is no such call.",
                    closest=known,
                    fix="pass numbers, counted from 1, or ids of calls.",
                    path=candidate.path,
                )
            found += matches
        return tuple(found)


def _calls_at(item: Touch, session: EditSession) -> list[Any]:
    """Return the calls of the twin at which an op is changed."""
    return [call for name, call in session.calls(item.path).items() if not item.calls or name in item.calls]


@dataclass(frozen=True, repr=False)
class _Insert(_AtCalls, abstract=True):
    """A new layer before or after each matching layer."""

    preserves_function = False
    adds_layers = True

    layer: LayerSource
    required: bool = field(default=True, kw_only=True)

    def plan(self, session: EditSession) -> PlanItems:
        side = self.kind.removeprefix("insert_")  # before or after
        for candidate in session.find(self.selector, required=self.required):
            path, calls = candidate.path, self._chosen_calls(candidate, session)
            if side == "before" and session.is_input(path):
                raise EditError(
                    f"Cannot insert before '{path}': nothing comes before an input.", fix="insert after it.", path=path
                )
            what = f"{candidate.op.class_name}, a new layer {side} it"
            # A layer beside an op leaves the op as it is, so nothing is claimed.
            yield Touch(path, what, calls=calls, claims=frozenset())

    def apply(self, step: Step, session: EditSession) -> None:
        """Insert one new layer for each tensor that a call takes or returns, the same one at every call of the op."""
        for item in step.touched:
            layers: list[Any] = []
            for call in _calls_at(item, session):
                change = session.changes.at(call)
                before = self.kind == "insert_before"
                tensors, chains = (_first_tensors(call), change.before) if before else (call.outputs, change.after)
                for number in range(len(tensors)):
                    if number == len(layers):
                        layers.append(new_layer(self.layer, session.op(item.path), item.path, session))
                        settle_name(layers[number], item.path, session)
                    chains.setdefault(number, []).append(layers[number])
            session.changed.append(item.path)


@dataclass(frozen=True, repr=False)
class InsertBefore(_Insert):
    """Insert a new layer before each matching layer: one for each tensor in its first argument.

    The matching layer itself is not changed. The model must have a call graph at this place.

    Args:
        selector: The layers to insert before.
        layer: A function that takes the matching layer, which belongs to the twin, and returns the new one. A layer is
            accepted, too; the result gets an exact copy of it, which all matches share. A new layer without a name of its own gets a free one.
        calls: The calls of a shared layer to change, by number, counted from 1, or by id (`"shared#2"`), or a list of these;
            all by default. The new layer is shared between them.
        required: Raise an error if nothing matches.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")])
    >>> new = ramet.edit(model, e.insert_before("b", lambda old: keras.layers.LayerNormalization(name="norm")))
    >>> [layer.name for layer in new.layers]
    ['a', 'norm', 'b']
    """

    kind = "insert_before"


@dataclass(frozen=True, repr=False)
class InsertAfter(_Insert):
    """Insert a new layer after each matching layer: one for each of its outputs.

    The matching layer itself is not changed. The model must have a call graph at this place.

    Args:
        selector: The layers to insert after.
        layer: A function that takes the matching layer, which belongs to the twin, and returns the new one. A layer is
            accepted, too; the result gets an exact copy of it, which all matches share. A new layer without a name of its own gets a free one.
        calls: The calls of a shared layer to change, by number, counted from 1, or by id (`"shared#2"`), or a list of these;
            all by default. The new layer is shared between them.
        required: Raise an error if nothing matches.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> x, shared = keras.Input((4,), name="x"), keras.layers.Dense(4, name="shared")
    >>> model = keras.Model(x, shared(shared(x)), name="net")
    >>> new = ramet.edit(model, e.insert_after("shared", lambda old: keras.layers.ReLU(name="relu"), calls=1))
    >>> print(ramet.capture(new))
    net (Functional)  20 parameters
      x         Input  (None, 4) float32
      shared    Dense  (None, 4)          <- x
      relu      ReLU   (None, 4)          <- shared
      shared#2  Dense  (None, 4)          <- relu  (shared)  -> output
    """

    kind = "insert_after"


@dataclass(frozen=True, repr=False)
class Remove(_AtCalls):
    """Remove each matching layer; its consumers are rewired to its input.

    The model must have a call graph at this place. A layer with several inputs, such as `Add`, needs `keep`.

    Args:
        selector: The layers to remove.
        calls: The calls of a shared layer to change, by number, counted from 1, or by id (`"shared#2"`), or a list of these;
            all by default. A layer that is still called elsewhere stays there.
        keep: The number of the input, from 0 on, that replaces the output of a layer with several inputs; a list of
            numbers for a layer with several outputs.
        required: Raise an error if nothing matches.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> x = keras.Input((4,), name="x")
    >>> y = keras.layers.Dropout(0.5, name="drop")(keras.layers.Dense(4, name="a")(x))
    >>> model = keras.Model(x, keras.layers.Add(name="add")([x, y]))
    >>> [layer.name for layer in ramet.edit(model, e.remove("drop")).layers]
    ['x', 'a', 'add']
    >>> [layer.name for layer in ramet.edit(model, e.remove("add", keep=1)).layers]
    ['x', 'a', 'drop']
    """

    kind = "remove"
    preserves_function = False
    adds_layers = False

    keep: int | Iterable[int] | None = field(default=None, kw_only=True)
    required: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if self.keep is not None and not is_integer(self.keep):
            keep = as_tuple("remove", "keep", self.keep, "the number of an input from 0 on, or a list of these")
            if not all(map(is_integer, keep)):
                raise ArgumentError(
                    f"Cannot remove with keep={shown(keep)}: these are not numbers of inputs.",
                    fix="pass whole numbers from 0 on, one for each output.",
                )
            self._store("keep", keep)
        super().__post_init__()

    def plan(self, session: EditSession) -> PlanItems:
        for candidate in session.find(self.selector, required=self.required):
            chosen = self._chosen_calls(candidate, session)
            calls = session.calls(candidate.path)
            kept = [self._kept_inputs(calls[name], candidate.path) for name in chosen or calls]
            claims = frozenset({f"call {name}" for name in chosen} or {"layer"})
            what = f"{candidate.op.class_name}, removed"
            yield Touch(candidate.path, what, calls=chosen, claims=claims, detail=kept[-1] if kept else None)

    def apply(self, step: Step, session: EditSession) -> None:
        for item in step.touched:
            for call in _calls_at(item, session):
                session.changes.at(call).keep = item.detail
            session.changed.append(item.path)

    def _kept_inputs(self, call: Any, path: str) -> tuple[int, ...]:
        """Return, for each output of a call, the number of the input that replaces it."""
        tensors, outputs = _first_tensors(call), call.outputs
        if not tensors or call.is_input:
            raise EditError(
                f"Cannot remove '{path}': it has no input that could replace its output, "
                "so its consumers would be cut off.",
                fix="replace it instead.",
                path=path,
            )
        if self.keep is None:
            numbers = tuple(range(len(tensors)))
        else:
            numbers = (self.keep,) if isinstance(self.keep, int) else tuple(self.keep)
        if len(numbers) != len(outputs) or any(not 0 <= number < len(tensors) for number in numbers):
            raise EditError(
                f"Cannot remove '{path}': it has {len(tensors)} inputs and {len(outputs)} outputs.",
                expected="one input to replace each output",
                fix="choose the input: remove(..., keep=0) replaces the output by the first input.",
                path=path,
            )
        return numbers


def _first_tensors(call: Any) -> list[Any]:
    """Return the tensors of a call's first argument: the data, and not masks and the like."""
    args, kwargs = call.arguments.args, call.arguments.kwargs
    first = args[0] if args else next(iter(kwargs.values()), None)
    return [tensor for tensor in keras.tree.flatten(first) if isinstance(tensor, keras.KerasTensor)]


insert_before = InsertBefore
insert_after = InsertAfter
remove = Remove
