"""What a file would keep of an edited model, and what becomes of classes whose own config would lose the edit.

A model of a class that makes its own config keeps the class if the config describes the result, or does so with other settings
(another `num_classes` after another head). Otherwise it becomes a plain functional model, whose config lists its layers and
calls. Where that is not possible either, the edit is refused; `unsaved=True` lets it through, and whoever asks for the config
later is warned (`ramet._keras.unsaved`).
"""

from __future__ import annotations

from typing import Any

import keras

from ramet._edit.alike import alike
from ramet._edit.order import inside_first
from ramet._edit.round_trip import NO_LORA, Difference, RoundTrip, canonical, round_trip
from ramet._edit.scene import Scene
from ramet._keras import (
    exchange,
    file_config,
    is_marked,
    layers,
    mark,
    names_untouched,
    overridden,
    reading_configs,
    structure,
    unmark,
)
from ramet.errors import LostOnSaveError, listed

# What a class does differently from a plain functional model when it is called or trained.
_BEHAVIOUR = (
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
_TRIES = 12


def plain_class() -> type:
    """The class of `keras.Model(inputs, outputs)`."""
    with names_untouched():
        tensor = keras.Input((1,))
        return type(keras.Model(tensor, keras.ops.negative(tensor)))


def makes_its_parts(op: Any) -> bool:
    """Whether the class of an op makes what is inside it, instead of a config that lists it."""
    if structure.function_of(op) is not None:
        return not structure.saves_its_calls(op)
    return bool(structure.inside(op)) and not isinstance(op, keras.Sequential)


def settle_saving(scene: Scene, result: Any, rebuilt: set[int], *, unsaved: bool) -> list[str]:
    """Decide for every class around an edit whether it stays; from the inside out.

    Returns what a plan says about it. Raises LostOnSaveError unless a file keeps the edit or `unsaved` allows that it does not.

    Args:
        scene: The edit session.
        result: The edited model.
        rebuilt: The ids of the models whose calls were made again.
        unsaved: Whether an edit may be lost.
    """
    inside = {id(scene.successor(op)): path for op, path in scene.changes_inside()}
    flags = {id(scene.successor(op)): path for op, path in scene.flags_inside()}
    notes: list[str] = []
    for op in inside_first(result):
        if not makes_its_parts(op) or not (id(op) in inside or id(op) in flags or id(op) in rebuilt):
            continue
        case = _Case(op, scene.original_of(op), inside.get(id(op)) or scene.place_of(op), scene.changed_settings)
        if id(op) in inside or id(op) in rebuilt:
            case.settle(unsaved=unsaved)
        if id(op) in flags:
            case.settle_flags()
        where = "the result" if op is result else f"'{scene.place_of(op)}'"
        notes += [f"{where} {note}" for note in case.notes]
    return notes


class _Case:
    """One layer or model that makes its parts itself, after an edit inside it."""

    def __init__(self, op: Any, original: Any, path: str, changed: list[tuple[Any, Any]]) -> None:
        self.op, self.original, self.path, self.changed = op, original, path, changed
        self.notes: list[str] = []
        self._was_marked = is_marked(op)
        self._before: RoundTrip | None = None

    @property
    def before(self) -> RoundTrip:
        """What a file keeps of the original: an edit is not blamed for what was lost already."""
        if self._before is None:
            self._before = RoundTrip() if self.original is None else round_trip(self.original)
        return self._before

    def settle(self, *, unsaved: bool) -> None:
        """Keep the class, change its config, or give it up; refuse what none of it saves."""
        unmark(self.op)
        now = round_trip(self.op)
        lost = self._lost(now)
        if not lost:
            if self._was_marked and now.differences:
                mark(self.op, _sentences(now.differences))
            return
        if self._takes_config() or self._becomes_plain():
            return
        if self.before.error is not None and structure.function_of(self.op) is not None:
            return  # no file could bring the original back, either
        if not unsaved:
            raise self._refusal(lost)
        self.notes.append(f"loses the edit when it is saved: {type(self.op).__name__} makes its parts itself.")
        mark(self.op, lost)

    def settle_flags(self) -> None:
        """Flags that a config does not describe are set all the same, and saving warns."""
        if not makes_its_parts(self.op):
            return
        now = round_trip(self.op)
        lost = [] if now.error is not None else now.lost_flags(self.before)
        if lost:
            known = list(self.op.__dict__["get_config"].lost) if is_marked(self.op) else []
            mark(self.op, [*known, *_sentences(lost)])
            flags = [one for one in lost if not one.what.endswith(NO_LORA)]  # the notes of `lora` speak of the others
            names = listed([one.path or structure.name_of(self.op) for one in flags])
        if lost and flags:
            self.notes.append(f"does not save these flags: {type(self.op).__name__} makes its parts itself ({names}).")

    def _lost(self, now: RoundTrip) -> list[str]:
        if now.error is not None:
            return [f"made again from its config, it raises {type(now.error).__name__}: {_first_line(now.error)}"]
        if not now.differences:
            return []
        return _sentences(now.lost(self.before))

    def _takes_config(self) -> bool:
        """Whether another config for the same class describes the result. Then the model has that config from now on.

        Which settings to change is found by their values: where the edit made 5 units of 3, a setting that was 3 may have to be
        5. Whether it is the right one shows when the model is made of that config: the parts have to be the same.
        """
        try:
            with reading_configs():
                config = file_config(self.op.get_config())
        except Exception:  # noqa: BLE001  # a user's get_config may raise anything
            return False
        options = _other_configs(config, self.changed)
        for changes in options[:_TRIES]:
            wanted = {**config, **changes}
            made = round_trip(self.op, wanted)
            if made.error is None and not made.lost(RoundTrip()) and self._takes(made.again, config, wanted):
                said = ", ".join(f"{name}={value!r}" for name, value in changes.items() if not isinstance(value, dict))
                said = said or ", ".join(changes)
                self.notes.append(f"stays a {type(self.op).__name__}, its config has {said} now.")
                return True
        return False

    def _takes(self, changed: Any, config: dict[str, Any], wanted: dict[str, Any]) -> bool:
        """Take over every plain attribute that the other config decides; undo it unless the config then is the other one."""
        as_it_was = round_trip(self.op, config).again
        if as_it_was is None:
            return False
        before, after, ours = (layers.settings_of(one) for one in (as_it_was, changed, self.op))
        different = {
            name: value
            for name, value in after.items()
            if name in before and name in ours and _is_plain(value) and not alike(before[name], value)
        }
        self.op.__dict__.update(different)
        with reading_configs():
            if canonical(file_config(self.op.get_config())) == canonical(wanted):
                return True
        self.op.__dict__.update({name: ours[name] for name in different})
        return False

    def _becomes_plain(self) -> bool:
        """Whether the model is as good as a plain functional one, and a file keeps that; then it is one from now on."""
        if (
            not isinstance(self.op, keras.Model)
            or structure.function_of(self.op) is None
            or isinstance(self.op, keras.Sequential)
        ):
            return False
        own = type(self.op)
        if self._behaves():
            return False
        exchange.become(self.op, plain_class())
        now = round_trip(self.op)
        if (now.error is not None or now.lost(RoundTrip())) and self.before.error is None:
            exchange.become(self.op, own)
            return False
        self.notes.append(f"becomes a plain functional model: {own.__name__} would not save the edit.")
        return True

    def _behaves(self) -> list[str]:
        """The methods of the class that make it something else than a plain functional model."""
        found = overridden(self.op, _BEHAVIOUR)
        again = self.before.again
        if overridden(self.op, ("__call__",)) and again is not None and not _hands_on(again):
            found.insert(0, "__call__")
        return found

    def _refusal(self, lost: list[str]) -> LostOnSaveError:
        kind = type(self.op).__name__
        methods = self._behaves() if structure.function_of(self.op) is not None else []
        found = lost[0]
        if methods:
            found += f"; a plain functional model would not have its {' and '.join(methods)}"
        return LostOnSaveError(
            f"Cannot edit '{self.path}': a saved file would not keep it, because {kind} makes its parts itself.",
            found=found,
            fix="pass unsaved=True for a model that is used but not saved, or write the change into the class.",
            path=self.path,
        )


def _hands_on(model: Any) -> bool:
    """Whether `__call__` hands its inputs on as they are, and returns what comes back. The model is not used afterwards."""
    inputs = structure.inputs_of(structure.function_of(model))
    try:
        with names_untouched():
            outputs = keras.tree.flatten(model(inputs))
    except Exception:  # noqa: BLE001  # a user's method may raise anything
        return False
    calls = [structure.producing_call(tensor) for tensor in outputs]
    given = [id(tensor) for tensor in keras.tree.flatten(inputs)]
    return all(
        call is not None and call.operation is model and [id(tensor) for tensor in call.input_tensors] == given
        for call in calls
    )


def _other_configs(config: dict[str, Any], changed: list[tuple[Any, Any]]) -> list[dict[str, Any]]:
    """Changes to a config that settings of layers inside suggest: each alone, then all of them together."""
    found: dict[str, Any] = {}
    for old, new in changed:
        known = _written(old)
        for name, value in config.items():
            if name not in ("name", "trainable") and not isinstance(value, bool) and canonical(value) == known:
                found.setdefault(name, file_config(new))
    alone = [{name: value} for name, value in found.items()]
    return alone if len(alone) < 2 else [*alone, dict(found)]


def _written(value: Any) -> str | None:
    try:
        return canonical(file_config(value))
    except Exception:  # noqa: BLE001  # what is no data stands in no config
        return None


def _is_plain(value: Any) -> bool:
    """Whether a value is data: nothing that belongs to the model it was found in."""
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
    """What a loaded object has, as messages name it."""
    return [f"made again from its config, {_said(one)}" for one in differences]


def _said(one: Difference) -> str:
    if one.what.startswith(("a ", "none ", "one more ")):
        return f"it holds {one.what}"
    return one.what if one.what.startswith("other calls") or not one.what.startswith("'") else f"its {one.what}"


def _first_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
