"""The verbs `edit` and `plan`: planning the steps of all edits, checking for conflicts, and applying them to a twin."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any, TypeVar

import keras

from ramet._arguments import check_flag, check_seed
from ramet._copy import copy_model
from ramet._edit.base import RAISED_BY_USER, Edit, as_edits, described
from ramet._edit.plans import Plan, Step, Touch
from ramet._edit.rebuilding import apply_changes
from ramet._edit.saving import makes_its_parts
from ramet._edit.session import EditSession
from ramet._edit.trainable import notes_on_training
from ramet._keras import draw_from_seed, keep_name_counters, pause_collector, structure, suppress_config_warnings
from ramet._report import with_article
from ramet.errors import ArgumentError, EditConflictError, EditError, LostOnSaveError, NotAModelError, RametError

T = TypeVar("T")


def edit(model: T, *edits: Any, seed: int | None = None, unsaved: bool = False, check: bool = False) -> T:
    """Return an edited twin of a model; the model itself is not changed.

    Everything that no edit touches keeps its weights, flags, random state and optimizer slots. All selectors are
    resolved against the model as it is passed in; two edits that would change the same thing are refused, and
    `edit(edit(model, a), b)` applies them one after the other. Optimizer slots follow their variables: new variables
    get fresh slots, frozen ones lose theirs. A class with its own config is kept if that config, updated where
    necessary, describes the result; otherwise the result is a plain functional model, which `plan` notes.

    Args:
        model: A model or layer of any kind. Edits that need a call graph are refused if there is none.
        *edits: Edits from `ramet.edits`, recipes, or lists of these.
        seed: Makes the weights of new layers repeatable.
        unsaved: Allow edits inside a class that creates its own parts and would create the old ones when it is loaded.
            Saving such a model gives a `LostOnSaveWarning`.
        check: Run both models on inputs made from the input specs, and raise an error unless the outputs are the same.
            Only for edits that preserve the function (`fold_batchnorm`, `flatten`, `drop_dropout`, `split_activation`,
            `merge_lora`, `rename`, `prefix`); others are refused.

    Returns:
        The edited twin.

    Raises:
        NotAModelError: `model` is neither a model nor a layer.
        ArgumentError: Something other than edits was passed, or an argument has an invalid value.
        NoMatchError: A selector matches nothing, and the edit requires a match.
        EditError: An edit cannot be applied. Its subclasses are raised for edits that conflict (`EditConflictError`),
            need a call graph (`NeedsCallGraphError`), would be lost on saving (`LostOnSaveError`), or add a layer that
            does not fit (`DoesNotFitError`).
        WeightsDoNotFitError: Weights change their shape, and the edit's policy refuses or cannot adapt them.
        UnknownPathError: A call named by `calls=` does not exist.
        RebuildError: A layer refused the new shape of an input.
        CannotCopyError: Something inside the model cannot be copied.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(2, name="logits")])
    >>> ramet.edit(model, e.swap_head(classes=10)).output_shape
    (None, 10)
    """
    check_seed("edit", seed)
    check_flag("edit", "unsaved", unsaved)
    check_flag("edit", "check", check)
    chosen = _checked(model, edits)
    changing = next((one for one in chosen if check and not one.preserves_function), None)
    if changing is not None:
        raise ArgumentError(
            f"Cannot check {changing!r}: it changes what the model computes.",
            fix="leave out check=True, or apply this edit in a second step.",
        )
    holder = _in_holder(model)
    edited, _ = _edited(holder, chosen, seed=seed, unsaved=unsaved)
    result: T = edited if holder is model else edited.layer
    if check:
        from ramet._verify import check_same_function

        check_same_function(model, result)
    return result


def plan(model: Any, *edits: Any) -> Plan:
    """Return what `edit` would do: what each edit touches, and what it skips and why. Nothing is changed.

    Args:
        model: A model or layer of any kind.
        *edits: Edits from `ramet.edits`, recipes, or lists of these.

    Returns:
        The plan. Print it, read its `steps` and `notes`, or write it with `to_json()`.

    Raises:
        NotAModelError: `model` is neither a model nor a layer.
        ArgumentError: Something other than edits was passed, or an argument has an invalid value.
        NoMatchError: A selector matches nothing, and the edit requires a match.
        EditError: An edit cannot be applied. Problems that show only when layers are called, such as a layer that does
            not fit, are raised by `edit`.
        WeightsDoNotFitError: Weights change their shape, and the edit's policy refuses or cannot adapt them.
        UnknownPathError: A call named by `calls=` does not exist.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential(
    ...     [keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")], name="m"
    ... )
    >>> print(ramet.plan(model, e.freeze("a")))
    Plan for 'm': 1 edit, 1 op touched
    <BLANKLINE>
    1. freeze(named('a')): 1 op
      a  Dense, frozen
    """
    chosen = _checked(model, edits)
    holder = _in_holder(model)
    with suppress_config_warnings():
        session = EditSession(holder, holder)
        steps = _planned_steps(chosen, session)
        previews = [step.edit.preview(step, steps, session) for step in steps]
    notes = [*_notes_on_saving(holder, chosen, steps, session), *notes_on_training(steps, session)]
    return Plan(model.name, tuple(previews), tuple(notes))


def apply_alone(step: Step, model: Any) -> EditSession:
    """Apply one step to a twin that is thrown away, and return the session with what it recorded."""
    with draw_from_seed(0):
        session = EditSession(model, copy_model(model, compile=False))
        step.edit.apply(step, session)
        with keep_name_counters():
            apply_changes(session, unsaved=True)
    return session


def _checked(model: Any, edits: Any) -> tuple[Edit, ...]:
    if not isinstance(model, keras.Layer):
        is_file = isinstance(model, str | os.PathLike)
        raise NotAModelError(
            f"Cannot edit an object of class {type(model).__name__}: it is not a model or layer.",
            expected="a Keras model, or a layer",
            fix="load the file first, or use the command `ramet edit`." if is_file else "pass a model or a layer.",
        )
    return as_edits(edits)


def _in_holder(model: Any) -> Any:
    """Return the model, or a wrapper around a layer with no layers inside: selectors look inside what is edited."""
    if isinstance(model, keras.Model) or structure.ops_inside(model):
        return model
    with keep_name_counters():
        holder = keras.layers.Wrapper(model, name=model.name)
    holder.built = model.built
    return holder


def _edited(model: Any, edits: tuple[Edit, ...], *, seed: int | None, unsaved: bool) -> tuple[Any, list[str]]:
    """Return the edited twin, and notes about classes that create their own parts.

    Edits are applied in two stages. First each edit changes settings of the twin's layers in place and records in
    `session.changes` what should happen to calls. Then all recorded changes are applied together, each graph once. That
    way edits that concern the same graph do not rebuild it again and again, and no edit sees half-changed calls. It does
    see the settings, dtypes and variables that earlier edits have changed.
    """
    with pause_collector(), draw_from_seed(seed), suppress_config_warnings():
        session = EditSession(model, copy_model(model))
        for step in _planned_steps(edits, session):
            with _located_errors(step.edit, session):
                step.edit.apply(step, session)
        # Layers create ops while they are called, for masks.
        with keep_name_counters(), _translated_errors(session, "edit"):
            return apply_changes(session, unsaved=unsaved)


def _planned_steps(edits: tuple[Edit, ...], session: EditSession) -> list[Step]:
    steps = []
    for one in edits:
        with _located_errors(one, session):
            steps.append(Step.of(one, one.plan(session)))
    _check_conflicts(steps)
    return steps


@contextlib.contextmanager
def _located_errors(edit: Edit, session: EditSession) -> Iterator[None]:
    """Add the location in the recipe to errors about an edit that was read from one."""
    try:
        with _translated_errors(session, edit.kind):
            yield
    except RametError as error:
        if edit.where is not None:
            error.add_note(f"Raised by {edit.where}.")
        raise


@contextlib.contextmanager
def _translated_errors(session: EditSession, verb: str) -> Iterator[None]:
    """Turn whatever a user's class raises into an EditError with a path and the error as its cause."""
    try:
        yield
    except (RametError, MemoryError, RecursionError, Warning):
        raise
    except Exception as error:
        if getattr(error, RAISED_BY_USER, False):
            raise
        path = session.latest
        op = None if path is None else session.op_or_twin(path)
        what = f"'{session.model.name}'" if op is None else f"'{path}', {with_article(type(op).__name__)}"
        raise EditError(
            f"Cannot {verb} {what}: a class in the model raised an error.",
            found=described(error),
            fix="see the cause of this error: get_config, from_config, build or call of a class in the model raised it.",
            path=path,
        ) from error


def _check_conflicts(steps: list[Step]) -> None:
    """Refuse edits of which one would undo, or no longer find, what another one does."""
    known: dict[str, list[tuple[int, Step, Touch]]] = {}
    for number, step in enumerate(steps):
        for touch in step.touched:
            for other_number, other_step, other in known.get(touch.path, ()):
                if other_number != number and _in_conflict(touch, other):
                    raise EditConflictError(
                        f"Cannot edit '{touch.path}': two edits would change it.",
                        found=f"{other_step.edit!r} and {step.edit!r}",
                        fix="select it in only one of them, or edit twice: edit(edit(model, first), second).",
                        path=touch.path,
                    )
            known.setdefault(touch.path, []).append((number, step, touch))


def _in_conflict(one: Touch, other: Touch) -> bool:
    if not one.claims or not other.claims:
        return False  # e.g. an insertion beside an op, which leaves the op as it is
    # An edit that replaces or removes an op cannot be combined with any other change of it.
    return "layer" in one.claims | other.claims or bool(one.claims & other.claims)


def _notes_on_saving(model: Any, edits: tuple[Edit, ...], steps: list[Step], session: EditSession) -> list[str]:
    """Return what happens to classes that create their own parts. Only the result shows it: a twin is edited to find out."""
    paths = [touch.path for step in steps for touch in step.touched]
    around = {"", *(above for path in paths for above in session.ancestors(path))} if paths else set()
    if not any(makes_its_parts(session.op_or_twin(path)) for path in around):
        return []
    try:
        with keep_name_counters(), draw_from_seed(0):
            return _edited(model, edits, seed=None, unsaved=False)[1]
    except RametError as error:
        unless = " without unsaved=True" if isinstance(error, LostOnSaveError) else ""
        return [f"edit refuses this{unless}: {error.summary}"]
