"""`rename` and `prefix`: give ops other names; the paths of variables follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import keras

from ramet._arguments import check_text
from ramet._edit.base import Edit, SelectorLike, called
from ramet._edit.names import policies_follow, uses_of_names
from ramet._edit.plans import PlanItems, Skip, Step, Touch
from ramet._edit.session import EditSession
from ramet._keras import rewire, structure
from ramet._select import Candidate, anything
from ramet.errors import EditError


@dataclass(frozen=True, repr=False)
class _Renaming(Edit, abstract=True):
    """The shared part of `rename` and `prefix`: checking each new name, and the renaming itself."""

    preserves_function = True
    adds_layers = False

    def _plan_names(self, names: list[tuple[Candidate, Any]], session: EditSession, *, skip_used: bool) -> PlanItems:
        """Plan the new name of each candidate; a layer that code looks up by name is skipped, or else refused."""
        uses = uses_of_names(session.model)
        for candidate, new in names:
            old = candidate.op.name
            if not isinstance(new, str) or not new or "/" in new:
                raise _invalid_name(candidate.path, f"{new!r}: a name is a non-empty string without '/'")
            use = None if new == old else uses.get(old)
            if use is not None and skip_used:
                yield Skip(candidate.path, use)
            elif use is not None:
                raise EditError(
                    f"Cannot rename '{candidate.path}': {use}.",
                    fix="keep this name, or change that class or function first.",
                    path=candidate.path,
                )
            elif new != old:
                if old in session.output_names(candidate.path):
                    yield f"the output '{old}' becomes '{new}', and so do its loss and metrics in the logs."
                yield Touch(candidate.path, f"renamed to '{new}'", claims=frozenset({"name"}), detail=new)

    def apply(self, step: Step, session: EditSession) -> None:
        _check_free(step, session)
        with policies_follow(session.twin):
            for item in step.touched:
                op = session.op(item.path)
                if isinstance(op, keras.layers.InputLayer):
                    _rename_key(op, item, session)
                    session.changes.redo(op)
                rewire.rename_op(op, item.detail)
        for item in step.touched:
            session.take_name(item.path, item.detail)
            function = structure.function_of(session.holder(item.path))
            if function is not None:
                rewire.name_outputs(function)
            session.changed.append(item.path)


@dataclass(frozen=True, repr=False)
class Rename(_Renaming):
    """Rename each matching layer or model.

    The paths of its variables follow, and so do losses and metrics that are keyed by the name of an output, and the key
    of an input in a dict of inputs. The edit refuses a name that another layer of the same model has, and a layer that
    code looks up by its old name.

    Args:
        selector: The layers and models to rename.
        name: The new name, or a function from the old name to the new one.
        required: Raise an error if nothing matches.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential(
    ...     [keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")], name="net"
    ... )
    >>> new = ramet.edit(model, e.rename("a", "hidden"))
    >>> new.get_layer("hidden").kernel.path
    'net/hidden/kernel'
    >>> [layer.name for layer in ramet.edit(model, e.rename(["a", "b"], str.upper)).layers]
    ['A', 'B']
    """

    kind = "rename"

    selector: SelectorLike
    name: str | Callable[[str], str]
    required: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if not callable(self.name):
            check_text(self.kind, "name", self.name)
        super().__post_init__()

    def plan(self, session: EditSession) -> PlanItems:
        found = session.find(self.selector, required=self.required)
        names = [(one, called(self.name, one.op.name) if callable(self.name) else self.name) for one in found]
        return self._plan_names(names, session, skip_used=self.selector == anything())


@dataclass(frozen=True, repr=False)
class Prefix(_Renaming):
    """Put a text before the name of each matching layer and model, as `ramet.edits.rename` would.

    Inputs are skipped, because their names are the keys of their data. Without a selector, so are layers whose names
    the code of a class sets or looks up.

    Args:
        text: The text to put before each name.
        selector: The layers and models to rename; all by default.
        required: Raise an error if nothing matches.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")])
    >>> [layer.name for layer in ramet.edit(model, e.prefix("student_")).layers]
    ['student_a', 'student_b']
    """

    kind = "prefix"

    text: str
    selector: SelectorLike = None
    required: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        check_text(self.kind, "text", self.text)
        super().__post_init__()

    def plan(self, session: EditSession) -> PlanItems:
        everything = self.selector == anything()
        names = []
        for candidate in session.find(self.selector, required=self.required):
            if session.is_input(candidate.path):
                yield Skip(candidate.path, "an input, whose name is the key of its data")
            elif everything and structure.function_of(session.holder(candidate.path)) is None:
                yield Skip(candidate.path, "a part whose name is set by the code of the layer around it")
            else:
                names.append((candidate, f"{self.text}{candidate.op.name}"))
        yield from self._plan_names(names, session, skip_used=everything)


def _rename_key(op: Any, item: Touch, session: EditSession) -> None:
    """Rename the key of an input in a dict of inputs: Keras requires the key and the name to be the same."""
    holder = session.holder(item.path)
    function = structure.function_of(holder)
    if not rewire.named_by_key(function, op):
        return
    if holder is not session.twin:
        raise EditError(
            f"Cannot rename '{item.path}': '{holder.name}' is called with a dict that uses its name as a key.",
            fix="rename only inputs of the outermost model, or flatten the model first.",
            path=item.path,
        )
    rewire.rename_key(function, op.name, item.detail)


def _check_free(step: Step, session: EditSession) -> None:
    """Refuse a name that another op of the graph has; names given up by the same edit are free."""
    taken: dict[int, set[str]] = {}
    for item in step.touched:
        taken.setdefault(id(session.holder(item.path)), session.taken_names(item.path))
    for item in step.touched:
        taken[id(session.holder(item.path))].discard(structure.name_of(session.op(item.path)))
    for item in step.touched:
        names = taken[id(session.holder(item.path))]
        if item.detail in names:
            raise _invalid_name(item.path, f"'{item.detail}': the graph already has an op of that name")
        names.add(item.detail)


def _invalid_name(path: str, why: str) -> EditError:
    return EditError(f"Cannot rename '{path}' to {why}.", fix="choose another name.", path=path)


rename = Rename
prefix = Prefix
