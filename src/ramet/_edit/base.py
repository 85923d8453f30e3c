"""The base class of all edits, and the conversion of what users pass as edits."""

from __future__ import annotations

import abc
import copy
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from ramet._arguments import check_flag
from ramet._edit.plans import PlanItems, Step
from ramet._select import Selector, anything, as_selector
from ramet.errors import ArgumentError

if TYPE_CHECKING:
    import keras

    from ramet._edit.layer_config import LayerConfig
    from ramet._edit.session import EditSession
    from ramet._edit.trainable import TrainingForecast

# What users may pass for some arguments; recipes read an argument by the name of its type. A selector is stored as a `Selector`,
# whatever it was made from. A layer comes from a function of the old layer, as a layer, or as its description in a recipe.
SelectorLike: TypeAlias = "Selector | str | type | keras.Operation | Sequence[SelectorLike] | None"
LayerSource: TypeAlias = "Callable[[Any], Any] | keras.Operation | LayerConfig"
CallChoice = int | str | Iterable[int | str] | None
WeightPolicy = Literal["refuse", "slice", "pad", "mean", "repeat", "fresh"]
DtypePolicyLike: TypeAlias = "str | keras.dtype_policies.DTypePolicy"
QuantizationMode: TypeAlias = str  # the modes depend on the version of Keras
InputShape: TypeAlias = Iterable[int | None]

# The attribute that marks an error raised by a function that the user passed to an edit.
RAISED_BY_USER = "_ramet_raised_by_user"
# The facts that every edit declares, and what they mean.
_FACTS = {
    "kind": "its name in ramet.edits, such as 'freeze'",
    "preserves_function": "whether the edited model computes the same outputs (at inference)",
    "adds_layers": "whether it adds layers that are not known until it is applied",
}


@dataclass(frozen=True, repr=False)
class Edit(abc.ABC):
    """One change to a model, as a frozen value: the base class of everything in `ramet.edits`.

    `ramet.edit` applies edits, `ramet.plan` shows what they would do, and a `ramet.Recipe` stores them. Two edits are
    equal if their arguments are, and an edit prints as the code that makes it.

    Each edit is a frozen dataclass: its fields are the arguments that users pass, its class variables the facts about
    it, `plan` and `apply` what it does. The public name is an alias of the class (`ramet.edits.freeze is Freeze`), so
    the docstring of the class is the documentation. Recipes read and write the fields.

    Attributes:
        kind: The name of the edit in `ramet.edits`, such as `"freeze"`.
        preserves_function: Whether the edited model computes the same outputs at inference.
        adds_layers: Whether it adds layers that are not known until it is applied.
        where: The location of the edit in a recipe, for messages; `None` for an edit made in Python.

    >>> from ramet import edits as e
    >>> edit = e.freeze("encoder/*")
    >>> edit
    freeze(named('encoder/*'))
    >>> edit.kind, edit.preserves_function, edit.arguments()
    ('freeze', False, {'selector': named('encoder/*')})
    >>> edit == e.freeze("encoder/*")
    True
    """

    kind: ClassVar[str]
    preserves_function: ClassVar[bool]
    adds_layers: ClassVar[bool]

    where: str | None = field(default=None, init=False, compare=False)

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        for fact, meaning in _FACTS.items():
            if not abstract and not hasattr(cls, fact):
                raise TypeError(
                    f"Cannot define the edit {cls.__name__}: it does not declare `{fact}`, {meaning}. "
                    f"Add `{fact} = ...` to the class in {cls.__module__}."
                )

    def __post_init__(self) -> None:
        """Convert selectors and check the flag that most edits have. Edits with other arguments check these, too."""
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name == "required":
                check_flag(self.kind, "required", value)
            elif one.name == "selector" and value is None and one.default is None:
                self._store("selector", anything())
            elif one.type == "SelectorLike" and not (value is None and one.default is None):
                self._store(one.name, as_selector(value))

    def _store(self, name: str, value: Any) -> None:
        """Set a field of this frozen edit."""
        object.__setattr__(self, name, value)

    @abc.abstractmethod
    def plan(self, session: EditSession) -> PlanItems:
        """Yield what the edit would touch and what it skips, and notes. Nothing is changed."""

    @abc.abstractmethod
    def apply(self, step: Step, session: EditSession) -> None:
        """Apply a planned step to the twin: change layers in place, or record changes of calls in `session.changes`."""

    def preview(self, step: Step, steps: list[Step], session: EditSession) -> Step:
        """Return the step as a plan shows it, e.g. with the weights it adapts. `steps` are those of all edits."""
        return step

    def forecast_training(self, step: Step, forecast: TrainingForecast) -> None:  # noqa: B027  # a hook
        """Record in the forecast of a plan which weights are trained after the edit. Most edits change none."""

    def located(self, where: str) -> Self:
        """Return the same edit with its location in a recipe."""
        found = copy.copy(self)
        found._store("where", where)
        return found

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments by name, in order, without those that have their default value."""
        found: dict[str, Any] = {}
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = getattr(self, name)
            # Without a selector, an edit touches everything. Other selectors, such as `head=`, mean something else by None.
            everything = name == "selector" and parameter.default is None
            if parameter.kind is parameter.VAR_KEYWORD:
                found |= dict(value)
            elif value != (anything() if everything else parameter.default):
                found[name] = value
        return found

    def _shown(self) -> Iterator[tuple[str, Any]]:
        """Yield the fields to print, by name."""
        for name in inspect.signature(type(self)).parameters:
            if name != "required":
                yield name, getattr(self, name)

    def __repr__(self) -> str:
        shown = dict(self._shown())
        # `selector=anything()` is left out; a selector that is the first argument is printed without its name.
        chosen = next((name for name, value in shown.items() if isinstance(value, Selector)), None)
        if chosen == "selector" and shown[chosen] == anything():
            del shown[chosen]
            chosen = None
        optional = chosen is not None and not getattr(self, "required", True)
        parts = [repr(shown.pop(chosen))] if chosen is not None and chosen == next(iter(shown)) else []
        parts += [f"{name}={_text(value)}" for name, value in shown.items() if value is not None]
        parts += ["required=False"] if optional else []
        return f"{self.kind}({', '.join(parts)})"


def _text(value: Any) -> str:
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def as_edits(given: Iterable[Any]) -> tuple[Edit, ...]:
    """Return the edits in what was passed, in order: edits, recipes, and lists of these.

    Raises:
        ArgumentError: Something else was passed.
    """
    found: list[Edit] = []
    waiting = list(given)[::-1]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Edit):
            found.append(item)
        elif isinstance(item, list | tuple):
            waiting.extend(reversed(item))
        elif hasattr(item, "edits") and not isinstance(item, type):
            waiting.extend(reversed(item.edits))
        else:
            is_class = isinstance(item, type) and issubclass(item, Edit)
            what = f"the class {item.kind}" if is_class else f"an object of class {type(item).__name__}"
            raise ArgumentError(
                f"Cannot edit with {what}: it is not an edit{' until it is called' if is_class else ''}.",
                expected="edits from ramet.edits, or a recipe",
                fix="from ramet import edits as e, then for example e.freeze('encoder').",
            )
    return tuple(found)


def is_integer(value: Any) -> bool:
    """Return whether a value is an int, and not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def described(error: BaseException) -> str:
    """Return an error that a user's class raised, in one line."""
    return f"{type(error).__name__}: {textwrap.shorten(str(error), 200, placeholder=' ...')}"


def called(function: Callable[[Any], Any], argument: Any) -> Any:
    """Call a function that the user passed to an edit; its errors reach the user unchanged."""
    try:
        return function(argument)
    except Exception as error:
        setattr(error, RAISED_BY_USER, True)
        raise
