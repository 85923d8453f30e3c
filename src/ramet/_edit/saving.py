"""Making sure that a saved file keeps an edit, or refusing it: what happens to classes with a config of their own.

A file holds what `get_config` returns. A class that writes its own config and creates its own parts (a task of a model hub, a
composite layer) would create the old parts again when it is loaded, whatever an edit changed. Whether it does cannot be read
off a list of classes, so it is tried: the object is made from its config as a file would do it (`round_trip`), and compared.
Then, for each such class around an edit, from the inside out:

1. The config describes the result: the class stays.
2. Another config of the class does, e.g. with another `num_classes` after `swap_head`: the class stays, with that config.
3. A plain functional model describes it, and the class adds nothing to how the model is called or trained: the model becomes
   a plain functional one. Only its class changes.
4. Otherwise the edit is refused. `unsaved=True` allows it, and reading the config later gives a warning.
"""

from __future__ import annotations

import functools
from typing import Any

import keras

from ramet._edit.base import described
from ramet._edit.patch import is_same_setting
from ramet._edit.round_trip import Difference, RoundTrip, canonical, round_trip
from ramet._edit.session import EditSession, inside_first
from ramet._keras import (
    exchange,
    file_config,
    is_marked_lossy,
    keep_name_counters,
    layers,
    lora,
    mark_lossy,
    marked_losses,
    overridden_methods,
    structure,
    suppress_config_warnings,
    unmark_lossy,
)
from ramet._report import with_article
from ramet.errors import LostOnSaveError, listed

# Methods by which a class behaves differently from a plain functional model when it is called or trained.
_BEHAVIOR = (
    "call",
    "compute_mask",
    "compute_loss",
    "compute_metrics",
    "train_step",
    "test_step",
    "predict_step",
    "make_train_function",
    "make_test_function",
    "make_predict_function",
)
_TRIES = 12  # configs


def makes_its_parts(op: Any) -> bool:
    """Return whether the class of an op creates what is inside it, instead of listing it in its config."""
    if structure.function_of(op) is not None:
        return not structure.saves_its_calls(op)
    return bool(structure.ops_inside(op)) and not isinstance(op, keras.Sequential)


def settle_saving(session: EditSession, result: Any, rebuilt: set[int], *, unsaved: bool) -> list[str]:
    """Decide for every class around an edit whether it stays, from the inside out. Return notes for a plan.

    The calls of the models whose ids are in `rebuilt` were made again.

    Raises:
        LostOnSaveError: A file would lose the edit, and `unsaved` does not allow it.
    """
    inside = _holders_in_result(session.changed, session)
    flags = _holders_in_result([*(path for path, _ in session.flags), *session.with_lora], session)
    notes: list[str] = []
    for op in inside_first(result):
        if session.flags and is_marked_lossy(op):
            _forget_settled_losses(op)
        if not makes_its_parts(op) or not (id(op) in inside or id(op) in flags or id(op) in rebuilt):
            continue
        path = session.old_path_of(op)
        case = _Case(op, session.original_of(op), inside.get(id(op)) or path, session.changed_settings)
        if id(op) in inside or id(op) in rebuilt:
            case.settle(unsaved=unsaved)
        if id(op) in flags:
            case.settle_flags()
        where = "the result" if op is result else f"'{path}'"
        notes += [f"{where} {note}" for note in case.notes]
    return notes


def _forget_settled_losses(op: Any) -> None:
    """Keep the mark of a lossy config only for what a file still loses: new flags may have undone the rest."""
    now = round_trip(op)
    still = _sentences(now.differences)
    lost = [one for one in marked_losses(op) if now.error is not None or one in still]
    unmark_lossy(op)
    if lost:
        mark_lossy(op, lost)


def _holders_in_result(paths: list[str], session: EditSession) -> dict[int, str]:
    """Return, by the id of everything in the result around these paths, the first path inside it."""
    found: dict[int, str] = {}
    for path in paths:
        for holder in session.holders(path):
            found.setdefault(id(session.successor(holder)), path)
    return found


class _Case:
    """One layer or model that creates its own parts, after an edit inside it."""

    def __init__(self, op: Any, original: Any, path: str, changed: list[tuple[Any, Any]]) -> None:
        self.op, self.original, self.path, self.changed = op, original, path, changed
        self.notes: list[str] = []
        self._was_marked = is_marked_lossy(op)

    @functools.cached_property
    def before(self) -> RoundTrip:
        """The round trip of the original: an edit is not blamed for what a file lost before it."""
        return round_trip(self.original)

    def settle(self, *, unsaved: bool) -> None:
        """Keep the class, change its config, or replace it by a plain one; refuse the edit if none of these saves it."""
        unmark_lossy(self.op)
        now = round_trip(self.op)
        lost = self._lost(now)
        if not lost:
            if self._was_marked and now.differences:
                mark_lossy(self.op, _sentences(now.differences))
            return
        if self._takes_config() or self._becomes_plain():
            return
        if self.before.error is not None and structure.function_of(self.op) is not None:
            return  # no file could restore the original, either
        if not unsaved:
            raise self._refusal(lost)
        self.notes.append(f"loses the edit when it is saved: {type(self.op).__name__} creates its own parts.")
        mark_lossy(self.op, lost)

    def settle_flags(self) -> None:
        """Mark the object if its config does not describe its flags: they are set anyway, and saving warns."""
        if not makes_its_parts(self.op):
            return
        now = round_trip(self.op)
        lost = now.lost(self.before, flags=True) if now.error is None else []
        if lost:
            mark_lossy(self.op, list(dict.fromkeys([*marked_losses(self.op), *_sentences(lost)])))
        flags = [one.path or structure.name_of(self.op) for one in lost if not one.what.endswith(lora.LOST)]
        if flags:  # `lora` notes the others
            names = f"{type(self.op).__name__} creates its own parts ({listed(flags)})"
            self.notes.append(f"does not save these flags: {names}.")

    def _lost(self, now: RoundTrip) -> list[str]:
        if now.error is not None:
            return [f"recreated from its config, it raises {described(now.error)}"]
        return _sentences(now.lost(self.before)) if now.differences else []

    def _takes_config(self) -> bool:
        """Change the config of the object if another config of its class describes the result; return whether it does.

        The settings to change are found by their values: if the edit changed units from 3 to 5, a setting that was 3 may
        have to be 5. A model made from the changed config proves it: its parts have to be the same.
        """
        try:
            with suppress_config_warnings():
                config = file_config(self.op.get_config())
        except Exception:  # noqa: BLE001  # a user's get_config may raise anything
            return False
        for changes in _suggested_changes(config, self.changed)[:_TRIES]:
            wanted = {**config, **changes}
            made = round_trip(self.op, wanted)
            if made.error is None and not made.lost(RoundTrip()) and self._takes(made.again, config, wanted):
                values = [f"{name}={value!r}" for name, value in changes.items() if not isinstance(value, dict)]
                self.notes.append(
                    f"stays {with_article(type(self.op).__name__)}, now with {', '.join(values or changes)} in its config."
                )
                return True
        return False

    def _takes(self, changed: Any, config: dict[str, Any], wanted: dict[str, Any]) -> bool:
        """Take over the plain attributes that the other config sets; undo it unless `get_config` then returns that config."""
        as_it_was = round_trip(self.op, config).again
        if as_it_was is None:
            return False
        before, after, ours = (layers.settings_of(one) for one in (as_it_was, changed, self.op))
        different = {
            name: value
            for name, value in after.items()
            if name in before and name in ours and _is_plain(value) and not is_same_setting(before[name], value)
        }
        self.op.__dict__.update(different)
        with suppress_config_warnings():
            if canonical(file_config(self.op.get_config())) == canonical(wanted):
                return True
        self.op.__dict__.update({name: ours[name] for name in different})
        return False

    def _becomes_plain(self) -> bool:
        """Make the model a plain functional one if it behaves like one and a file keeps it; return whether it does."""
        own = type(self.op)
        is_functional = structure.function_of(self.op) is not None and not isinstance(self.op, keras.Sequential)
        if not (is_functional and isinstance(self.op, keras.Model)) or self._own_behavior():
            return False
        with keep_name_counters():
            tensor = keras.Input((1,))
            exchange.change_class(self.op, type(keras.Model(tensor, keras.ops.negative(tensor))))
        now = round_trip(self.op)
        if (now.error is not None or now.lost(RoundTrip())) and self.before.error is None:
            exchange.change_class(self.op, own)
            return False
        self.notes.append(f"becomes a plain functional model: {own.__name__} would not save the edit.")
        return True

    def _own_behavior(self) -> list[str]:
        """Return the methods by which the class differs from a plain functional model."""
        found = overridden_methods(self.op, _BEHAVIOR)
        again = self.before.again
        if overridden_methods(self.op, ("__call__",)) and again is not None and not _forwards_call(again):
            found.insert(0, "__call__")
        return found

    def _refusal(self, lost: list[str]) -> LostOnSaveError:
        kind = type(self.op).__name__
        methods = self._own_behavior() if structure.function_of(self.op) is not None else []
        found = lost[0]
        if methods:
            found += f"; a plain functional model would lose its {' and '.join(methods)}"
        return LostOnSaveError(
            f"Cannot edit '{self.path}': a saved file would lose the edit, because {kind} creates its own parts.",
            found=found,
            fix="pass unsaved=True for a model that is used but not saved, or change the class itself.",
            path=self.path,
        )


def _forwards_call(model: Any) -> bool:
    """Return whether `__call__` only forwards its inputs and outputs. The model must not be used afterwards."""
    inputs = structure.inputs_of(structure.function_of(model))
    try:
        with keep_name_counters():
            outputs = keras.tree.flatten(model(inputs))
    except Exception:  # noqa: BLE001  # a user's method may raise anything
        return False
    calls = [structure.producing_call(tensor) for tensor in outputs]
    given = [id(tensor) for tensor in keras.tree.flatten(inputs)]
    return all(
        call is not None and call.operation is model and [id(tensor) for tensor in call.input_tensors] == given
        for call in calls
    )


def _suggested_changes(config: dict[str, Any], changed: list[tuple[Any, Any]]) -> list[dict[str, Any]]:
    """Return changes to a config suggested by changed settings of layers inside: each alone, then all together."""
    found: dict[str, Any] = {}
    for old, new in changed:
        try:
            known = canonical(file_config(old))
        except Exception:  # noqa: BLE001  # what is not data is in no config
            continue
        for name, value in config.items():
            if name not in ("name", "trainable") and not isinstance(value, bool) and canonical(value) == known:
                found.setdefault(name, file_config(new))
    alone = [{name: value} for name, value in found.items()]
    return alone if len(alone) < 2 else [*alone, dict(found)]


def _is_plain(value: Any) -> bool:
    """Return whether a value is plain data, independent of the model it was found in."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list | tuple):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend((*item, *item.values()))
        elif not isinstance(item, int | float | str | type(None) | keras.dtype_policies.DTypePolicy):
            return False
    return True


def _sentences(differences: list[Difference]) -> list[str]:
    """Describe differences of a loaded object for messages."""
    found = []
    for one in differences:
        holds = one.what.startswith(("a ", "an ", "none ", "one more "))
        before = "it holds " if holds else "its " if one.what.startswith("'") else ""
        found.append(f"recreated from its config, {before}{one.what}")
    return found
